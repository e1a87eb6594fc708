/* ef21.c - EF21 (Richtarik, Sokolov, Fatkhullin): compress the change of the gradient, not the gradient.
 *
 * Each worker keeps an estimate h of its gradient that the server knows too, sends C(g - h), and both add it to h. The
 * step goes along the mean of all h. As the gradients settle, g - h vanishes, and with it the error of C. */
#include "codec/codec.h"
#include "feedback/kinds.h"
#include "kernels/kernels.h"

static const float *form(const tithe_feedback_call *c)
{
    for (size_t i = 0; i < c->n; i++) c->work[i] = c->g[i] - c->kept[i];
    return c->work;
}

/* h must become what the server will see, so it takes the decoded frame. */
static tithe_status encode(const tithe_feedback_call *c, bool formed, tithe_frame_info *info,
                           tithe_error *error)
{
    if (!formed) form(c);
    const tithe_codec at = ti_codec_at(c->codec, c->call->level);
    const double omega = ti_codec_claims(&at, c->n).omega;
    if (omega >= 1)
        return ti_fail(error, TITHE_E_SPEC, 0,
                       "%s has omega = %.3g, and EF21 needs a contraction: write scale=contractive.",
                       tithe_codec_spec(c->codec), omega);
    tithe_frame_info made;
    tithe_status status = tithe_encode(c->codec, c->call, c->work, c->n, c->frame, c->capacity, &made, error);
    if (!status) status = tithe_decode_add(c->codec, c->call, c->frame, made.bytes, 1, c->kept, c->n, error);
    if (!status && info) *info = made;
    return status;
}

const tithe_feedback ti_feedback_ef21 = {
    .name = "ef21",
    .summary = "EF21: the change since the last estimate is compressed, and both ends add it up",
    .paper = "richtarik2021",
    .keeps = true,
    .works = true,
    .contracts = true,
    .aggregates = true,
    .form = form,
    .encode = encode,
};
