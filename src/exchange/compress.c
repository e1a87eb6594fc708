/* compress.c - from a vector to a frame: feedback, level, encoding. The same for a rank and for the server. */
#include <math.h>
#include <string.h>

#include "codec/codec.h"
#include "exchange/exchange.h"
#include "kernels/kernels.h"
#include "tuner/forming.h"

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
                              .scratch_size = way->tuner_scratch_size,
                              .segments = exchange_segments(way),
                              .segment_count = way->segment_count,
                              .segment_levels = lane->levels,
                              .lost = w->late.lost,
                              .pace = w->late.pace,
                              .before = w->late.before};
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

tithe_status ti_exchange_choose_level(const exchange_way *way, exchange_worker *w, const tithe_tuner_call *c,
                                      tithe_call *call, double *cost, tithe_error *error)
{
    tithe_choice choice;
    const tithe_status status = way->tuner->choose(c, &choice, error);
    if (status) return status;
    if (way->tuner->tunes)
        call->level = choice.level; /* otherwise the codec's, or what the caller made of it */
    call->largest = choice.largest;
    call->largest_count = choice.largest_count;
    call->segment_levels = choice.segment_levels;
    w->reason = choice.reason;
    w->late.kept = choice.progress;
    if (cost) *cost = choice.cost;
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
    if (status || !measure) return status;
    if (way->feedback->scaled)
        w->unsent = ti_exchange_squares(w->residual, way->n); /* what was not sent is what was kept */
    else
        status = measure_unsent(way, w, c, x, error);
    return status ? status : measure_sent(way, w, c, error);
}

enum { TOGETHER = 1 << 14 /* numbers that are still near when they are looked at once more */ };

static forming to_form(exchange_worker *w, const tithe_feedback_call *c)
{
    return (forming){
        .e = w->residual, .g = c->g, .gamma = c->gamma, .n = c->n, .late = w->late.vector ? &w->late : NULL};
}

static tithe_status form_compensated(exchange_worker *w, const tithe_feedback_call *c, const float **x,
                                     tithe_error *error)
{
    forming f = to_form(w, c);
    if (!ti_forming_rest(&f)) return ti_exchange_expect_finite(c->g, c->n, error);
    if (f.late) ti_late_judge(f.late, (double)c->gamma, f.squares);
    *x = w->residual;
    return TITHE_OK;
}

/* Part by part: first what is not finite is looked for, before it gets into what is kept. Of parts that came before it the residual has
 * changed by then: such a step is not taken, and where others follow, there is a copy. */
static tithe_status form_finite(const exchange_way *way, exchange_worker *w, const tithe_feedback_call *c,
                                const float **x, tithe_error *error)
{
    if (way->feedback->scaled) return form_compensated(w, c, x, error);
    for (size_t first = 0; first < c->n || first == 0; first += TOGETHER) {
        tithe_feedback_call part = *c;
        part.n = c->n - first < TOGETHER ? c->n - first : TOGETHER;
        part.g += first;
        part.residual += first;
        if (part.work) part.work += first;
        if (ti_kernels()->find_nonfinite(part.g, part.n) < part.n)
            return ti_exchange_expect_finite(c->g, c->n, error);
        const float *formed = way->feedback->form(&part);
        if (first == 0) *x = formed;
    }
    return TITHE_OK;
}

tithe_status ti_exchange_form(const exchange_way *way, exchange_worker *w, const tithe_feedback_call *c,
                              bool measure, const float **x, tithe_error *error)
{
    tithe_status status = TITHE_OK;
    if (way->feedback->keeps)
        status = form_finite(way, w, c, x, error);
    else
        *x = way->feedback->form(c);
    if (!status && measure) w->energy = ti_exchange_squares(*x, way->n);
    return status;
}

/* Where the tuner forms what it looks at, in one pass. */
static tithe_status compress_in_one(const exchange_way *way, exchange_worker *w, exchange_lane *lane,
                                    const tithe_feedback_call *c, tithe_call *call, bool measure,
                                    tithe_error *error)
{
    forming f = to_form(w, c);
    tithe_tuner_call t = ti_exchange_tuner_call(way, w, lane, w->residual, (double)c->gamma);
    t.forming = &f;
    tithe_status status = ti_exchange_choose_level(way, w, &t, call, NULL, error);
    if (f.wrong && ti_exchange_expect_finite(c->g, c->n, error)) return TITHE_E_NONFINITE;
    if (!status && measure) w->energy = ti_exchange_squares(w->residual, way->n);
    return status ? status : ti_exchange_encode(way, w, c, true, w->residual, measure, error);
}

tithe_status ti_exchange_compress(const exchange_way *way, exchange_worker *w, exchange_lane *lane,
                                  tithe_call *call, const float *g, double gamma, bool measure,
                                  tithe_error *error)
{
    const tithe_feedback_call c = ti_exchange_feedback_call(way, w, call, lane, g, gamma);
    /* where nobody looks, encode does all of it in one pass */
    const bool look = (way->tuner->tunes && !way->tuner->blind) || measure;
    if (look && way->tuner->forms && way->feedback->scaled && !ti_codec_by_layer(way->codec))
        return compress_in_one(way, w, lane, &c, call, measure, error);
    const float *x = NULL;
    tithe_status status = look ? ti_exchange_form(way, w, &c, measure, &x, error) : TITHE_OK;
    const tithe_tuner_call t = ti_exchange_tuner_call(way, w, lane, x, gamma);
    if (!status) status = ti_exchange_choose_level(way, w, &t, call, NULL, error);
    return status ? status : ti_exchange_encode(way, w, &c, look, x, measure, error);
}

/* ---- sums ------------------------------------------------------------------------------------------------ */

double ti_exchange_largest(const tithe_codec *codec)
{
    const tithe_call call = {0};
    const tithe_quant_call quant = ti_codec_quant_call(codec, &call, 1);
    tithe_claims claims = {0};
    codec->quantizer->claims(&quant, &claims);
    return claims.largest;
}

double ti_exchange_unit(const tithe_codec *codec, unsigned ranks)
{
    double unit = 1;
    while (ti_exchange_largest(codec) < EXCHANGE_SENSE && unit < ranks) unit *= 2;
    return unit;
}

static void multiply(float *x, size_t n, float factor)
{
    for (size_t i = 0; x && factor != 1 && i < n; i++) x[i] *= factor;
}

tithe_status ti_exchange_compress_back(tithe_exchange *ex, const exchange_way *way, exchange_worker *w,
                                       tithe_call *call, float *sum, tithe_error *error)
{
    const double unit = ti_exchange_unit(way->codec, ex->config.comm->size);
    /* A threshold is stated in units of the gradient, but the sum may be in those of the update. */
    if (way->codec->selector->absolute)
        call->level = (ex->config.feedback->scaled ? ex->gamma : 1) * way->codec->selector_params[0] / unit;
    /* what is kept is in units of the update, so that a step size that changes does no harm */
    const double gamma = ti_exchange_scaled(ex) ? 1 : ex->gamma;
    multiply(sum, way->n, (float)(1 / unit));
    multiply(w->residual, way->n, (float)(1 / unit));
    const tithe_status status =
        ti_exchange_compress(way, w, &ex->server_lane, call, sum, gamma, false, error);
    multiply(w->residual, way->n, (float)unit);
    return status;
}

double ti_exchange_weight_back(const tithe_exchange *ex)
{
    return ti_exchange_unit(ex->down.codec, ex->config.comm->size) *
           ti_exchange_weight(ex, ti_exchange_scaled(ex) || ex->down.feedback->keeps);
}
