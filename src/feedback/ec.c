/* ec.c - error compensation: e <- e + gamma*g, send C(e), e <- e - C(e). Key: danilova2022.
 *
 * The encoder hands out what the decoder will see, block by block, and that goes straight into e with a minus
 * sign: the frame is not decoded again, and a value that was sent exactly leaves an exact zero. */
#include <math.h>

#include "codec/codec.h"
#include "feedback/kinds.h"
#include "kernels/kernels.h"
#include "tithe/feedback.h"

/* All that can be refused is refused before e is touched. */
static tithe_status expect_sense(const tithe_codec *codec, const tithe_call *call, const encode_input *in,
                                 size_t capacity, tithe_error *error)
{
    if (!(in->gamma > 0) || !isfinite(in->gamma))
        return ti_fail(error, TITHE_E_ARGUMENT, 0, "The step size is %g, but must be positive and finite.",
                       in->gamma);
    const tithe_codec at = ti_codec_at(codec, call->level);
    const double omega = ti_codec_claims(&at, in->n).omega;
    if (omega >= 1)
        return ti_fail(
            error, TITHE_E_SPEC, 0,
            "%s has omega = %.3g, and what is kept would blow up from 1 on: write scale=contractive.",
            codec->spec, omega);
    const size_t bound = tithe_codec_bound(&at, in->n);
    if (capacity < bound)
        return ti_fail(error, TITHE_E_SPACE, capacity,
                       "The frame needs up to %zu bytes, but there is room for %zu.", bound, capacity);
    return TITHE_OK;
}

static tithe_status ec_encode(const tithe_codec *codec, const tithe_call *call, const encode_input *in,
                              uint8_t *frame, size_t capacity, tithe_type type, tithe_frame_info *info,
                              tithe_error *error)
{
    if (!codec || !call || (!in->x && in->n))
        return ti_fail(error, TITHE_E_ARGUMENT, 0, "Codec, call and e are all needed.");
    tithe_status status = ti_codec_expect_type(codec, type, error);
    if (!status) status = expect_sense(codec, call, in, capacity, error);
    if (status) return status;
    tithe_call scaled = *call;
    if (codec->selector->absolute) { /* the level is stated in units of the gradient */
        const double lambda = call->level > 0 ? call->level : codec->selector_params[0];
        scaled.level = in->gamma * lambda;
    }
    return ti_encode(codec, &scaled, in, frame, capacity, info, error);
}

tithe_status tithe_ec_encode(const tithe_codec *codec, const tithe_call *call, float *e, const float *g,
                             float gamma, size_t n, uint8_t *frame, size_t capacity, tithe_frame_info *info,
                             tithe_error *error)
{
    const encode_input in = {.x = e, .n = n, .keep = e, .gradient = g, .gamma = (double)gamma};
    return ec_encode(codec, call, &in, frame, capacity, TITHE_F32, info, error);
}

tithe_status tithe_ec_encode_f64(const tithe_codec *codec, const tithe_call *call, double *e, const double *g,
                                 double gamma, size_t n, uint8_t *frame, size_t capacity,
                                 tithe_frame_info *info, tithe_error *error)
{
    const encode_input in = {.x = e, .n = n, .keep = e, .gradient = g, .gamma = gamma};
    return ec_encode(codec, call, &in, frame, capacity, TITHE_F64, info, error);
}

/* ---- as a kind of feedback ----------------------------------------------------------------------------- */

static const float *form(const tithe_feedback_call *c)
{
    ti_kernels()->add_scaled(c->residual, c->g, c->gamma, c->n);
    return c->residual;
}

static tithe_status encode(const tithe_feedback_call *c, bool formed, tithe_frame_info *info,
                           tithe_error *error)
{
    const tithe_status status = tithe_ec_encode(c->codec, c->call, c->residual, formed ? NULL : c->g,
                                                c->gamma, c->n, c->frame, c->capacity, info, error);
    if (status && formed)
        ti_kernels()->add_scaled(c->residual, c->g, -c->gamma, c->n); /* as if it was not formed */
    return status;
}

static const tithe_param params[] = {{.name = "decay",
                                      .doc = "the residual is multiplied with this ahead of each step",
                                      .fallback = 1,
                                      .min = 1e-3,
                                      .max = 1},
                                     {.name = NULL}};

static double decay(const double *values)
{
    return values[0];
}

const tithe_feedback ti_feedback_ec = {
    .name = "ec",
    .summary = "error compensation: what was not sent is added to the next gradient",
    .paper = "danilova2022",
    .params = params,
    .keeps = true,
    .contracts = true,
    .scaled = true,
    .form = form,
    .encode = encode,
    .decay = decay,
};
