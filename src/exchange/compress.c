/* compress.c - from a vector to a frame: feedback, level, encoding. The same for a rank and for the server. */
#include <math.h>
#include <string.h>

#include "codec/codec.h"
#include "exchange/exchange.h"
#include "kernels/kernels.h"

double ti_exchange_squares(const float *x, size_t n)
{
    return ti_kernels()->sum_squares(x, n);
}

tithe_status ti_exchange_expect_finite(const float *g, size_t n, tithe_error *error)
{
    const size_t bad = ti_find_nonfinite(TITHE_F32, g, n);
    if (bad == n) return TITHE_OK;
    return ti_fail(error, TITHE_E_NONFINITE, bad, "The gradient holds %g at position %zu.", (double)g[bad],
                   bad);
}

tithe_tuner_call ti_exchange_tuner_call(const exchange_way *way, const exchange_worker *w,
                                        const exchange_lane *lane, const float *x, double gamma)
{
    return (tithe_tuner_call){.state = way->tuner_state,
                              .codec = way->codec,
                              .cost = w->cost,
                              .count_paper = way->count_paper,
                              .form = TITHE_EXCHANGE,
                              .x = x,
                              .n = way->n,
                              .gamma = way->feedback->scaled ? (float)gamma : 1,
                              .scratch = lane->tuner_scratch,
                              .scratch_size = way->tuner_scratch_size};
}

tithe_feedback_call ti_exchange_feedback_call(const exchange_way *way, const exchange_worker *w,
                                              const tithe_call *call, const exchange_lane *lane,
                                              const float *g, double gamma)
{
    return (tithe_feedback_call){.codec = way->codec,
                                 .call = call,
                                 .residual = w->residual,
                                 .g = g,
                                 .gamma = (float)gamma,
                                 .n = way->n,
                                 .work = lane->work,
                                 .frame = w->frame,
                                 .capacity = way->capacity};
}

static tithe_status choose_level(const exchange_way *way, exchange_worker *w, const exchange_lane *lane,
                                 const float *x, double gamma, tithe_call *call, tithe_error *error)
{
    const tithe_tuner_call c = ti_exchange_tuner_call(way, w, lane, x, gamma);
    tithe_choice choice;
    const tithe_status status = way->tuner->choose(&c, &choice, error);
    if (status) return status;
    if (way->tuner->tunes)
        call->level = choice.level; /* otherwise the codec's, or what the caller made of it */
    call->largest = choice.largest;
    call->largest_count = choice.largest_count;
    w->reason = choice.reason;
    return TITHE_OK;
}

/* |x - C(x)|^2, from the frame: for feedback that does not keep it anyway. Takes up `work`. */
static tithe_status measure_unsent(const exchange_way *way, exchange_worker *w, const tithe_feedback_call *c,
                                   const float *x, tithe_error *error)
{
    if (c->work != x && way->n) memcpy(c->work, x, way->n * sizeof *x);
    const tithe_status status =
        tithe_decode_add(way->codec, c->call, w->frame, w->info.bytes, -1, c->work, way->n, error);
    w->unsent = ti_exchange_squares(c->work, way->n);
    return status;
}

/* |C(x)|^2: of a projection what is left of |x|^2, of everything else by a look at the frame. */
static tithe_status measure_sent(const exchange_way *way, exchange_worker *w, const tithe_feedback_call *c,
                                 tithe_error *error)
{
    const tithe_codec *codec = way->codec;
    const tithe_selector *selector = codec->selector;
    w->sent = fmax(0, w->energy - w->unsent);
    if (selector->projection && (!selector->scales || codec->contractive) && codec->quantizer->exact)
        return TITHE_OK;
    if (way->n) memset(c->work, 0, way->n * sizeof *c->work);
    const tithe_status status =
        tithe_decode_add(codec, c->call, w->frame, w->info.bytes, 1, c->work, way->n, error);
    w->sent = ti_exchange_squares(c->work, way->n);
    return status;
}

tithe_status ti_exchange_encode(const exchange_way *way, exchange_worker *w, const tithe_feedback_call *c,
                                bool formed, const float *x, bool measure, tithe_error *error)
{
    tithe_status status = way->feedback->encode(c, formed, &w->info, error);
    w->level = c->call->level;
    if (status || !measure) return status;
    if (way->feedback->scaled)
        w->unsent = ti_exchange_squares(w->residual, way->n); /* what was not sent is what was kept */
    else
        status = measure_unsent(way, w, c, x, error);
    return status ? status : measure_sent(way, w, c, error);
}

tithe_status ti_exchange_form(const exchange_way *way, exchange_worker *w, const tithe_feedback_call *c,
                              bool measure, const float **x, tithe_error *error)
{
    /* before it gets into what is kept */
    const tithe_status status =
        way->feedback->keeps ? ti_exchange_expect_finite(c->g, way->n, error) : TITHE_OK;
    if (status) return status;
    *x = way->feedback->form(c);
    if (measure) w->energy = ti_exchange_squares(*x, way->n);
    return TITHE_OK;
}

tithe_status ti_exchange_compress(const exchange_way *way, exchange_worker *w, exchange_lane *lane,
                                  tithe_call *call, const float *g, double gamma, bool measure,
                                  tithe_error *error)
{
    const tithe_feedback_call c = ti_exchange_feedback_call(way, w, call, lane, g, gamma);
    const bool look =
        way->tuner->tunes || measure; /* where nobody looks, encode does all of it in one pass */
    const float *x = NULL;
    tithe_status status = look ? ti_exchange_form(way, w, &c, measure, &x, error) : TITHE_OK;
    if (!status) status = choose_level(way, w, lane, x, gamma, call, error);
    return status ? status : ti_exchange_encode(way, w, &c, look, x, measure, error);
}

tithe_status ti_exchange_compress_back(tithe_exchange *ex, const exchange_way *way, exchange_worker *w,
                                       tithe_call *call, const float *sum, tithe_error *error)
{
    /* A threshold is stated in units of the gradient, but the sum may be in those of the update. */
    if (way->codec->selector->absolute && ex->config.feedback->scaled)
        call->level = ex->gamma * way->codec->selector_params[0];
    /* what is kept is in units of the update, so that a step size that changes does no harm */
    const double gamma = ti_exchange_scaled(ex) ? 1 : ex->gamma;
    return ti_exchange_compress(way, w, &ex->server_lane, call, sum, gamma, false, error);
}
