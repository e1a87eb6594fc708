/* put.c - gradients in: feedback, level, frame. Different ranks may be put at the same time. */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "exchange/buckets.h"
#include "kernels/kernels.h"

static double squares(const float *x, size_t n)
{
    return ti_kernels()->sum_squares(x, n);
}

/* |x - C(x)|^2, from the frame: for feedback that does not keep it anyway. Takes up `work`. */
static tithe_status measure_unsent(const tithe_exchange *ex, const tithe_call *call, const exchange_worker *w,
                                   const float *x, float *work, double *unsent, tithe_error *error)
{
    if (work != x && ex->n) memcpy(work, x, ex->n * sizeof *work);
    const tithe_status status =
        tithe_decode_add(ex->config.codec, call, w->frame, w->info.bytes, -1, work, ex->n, error);
    *unsent = squares(work, ex->n);
    return status;
}

tithe_tuner_call ti_exchange_tuner_call(const tithe_exchange *ex, unsigned local, const exchange_lane *lane,
                                        const float *x, double gamma)
{
    return (tithe_tuner_call){.codec = ex->config.codec,
                              .cost = ti_exchange_cost(ex, local),
                              .count_paper = ex->config.count_paper,
                              .form = TITHE_EXCHANGE,
                              .x = x,
                              .n = ex->n,
                              .gamma = ex->config.feedback->scaled ? (float)gamma : 1,
                              .scratch = lane->tuner_scratch,
                              .scratch_size = ex->tuner_scratch_size};
}

static tithe_status choose_level(const tithe_exchange *ex, exchange_worker *w, exchange_lane *lane,
                                 const float *x, double gamma, tithe_call *call, tithe_error *error)
{
    const tithe_tuner_call c = ti_exchange_tuner_call(ex, (unsigned)(w - ex->workers), lane, x, gamma);
    tithe_choice choice;
    const tithe_status status = ex->config.tuner->choose(&c, &choice, error);
    if (status) return status;
    call->level = choice.level;
    call->largest = choice.largest;
    call->largest_count = choice.largest_count;
    w->reason = choice.reason;
    return TITHE_OK;
}

tithe_feedback_call ti_exchange_feedback_call(const tithe_exchange *ex, const exchange_worker *w,
                                              const tithe_call *call, const exchange_lane *lane,
                                              const float *g, double gamma)
{
    return (tithe_feedback_call){.codec = ex->config.codec,
                                 .call = call,
                                 .kept = w->kept,
                                 .g = g,
                                 .gamma = (float)gamma,
                                 .n = ex->n,
                                 .work = lane->work,
                                 .frame = w->frame,
                                 .capacity = ex->capacity};
}

tithe_status ti_exchange_encode(const tithe_exchange *ex, exchange_worker *w, const tithe_feedback_call *c,
                                bool formed, const float *x, tithe_error *error)
{
    const tithe_status status = ex->config.feedback->encode(c, formed, &w->info, error);
    if (status || !ex->config.measure) return status;
    if (ex->config.feedback->scaled) { /* what was not sent is what was kept */
        w->unsent = squares(w->kept, ex->n);
        return TITHE_OK;
    }
    return measure_unsent(ex, c->call, w, x, c->work, &w->unsent, error);
}

tithe_status ti_exchange_expect_finite(const float *g, size_t n, tithe_error *error)
{
    const size_t bad = ti_find_nonfinite(TITHE_F32, g, n);
    if (bad == n) return TITHE_OK;
    return ti_fail(error, TITHE_E_NONFINITE, bad, "The gradient holds %g at position %zu.", (double)g[bad],
                   bad);
}

static tithe_status put_frame(tithe_exchange *ex, exchange_worker *w, tithe_call *call, exchange_lane *lane,
                              const float *g, double gamma, tithe_error *error)
{
    const tithe_feedback *feedback = ex->config.feedback;
    const tithe_feedback_call c = ti_exchange_feedback_call(ex, w, call, lane, g, gamma);
    const bool look = ex->config.tuner || ex->config.measure;
    /* Before it gets into what is kept; where nobody looks, encode does both in one pass. */
    tithe_status status = look && feedback->keeps ? ti_exchange_expect_finite(g, ex->n, error) : TITHE_OK;
    if (status) return status;
    const float *x = look ? feedback->form(&c) : NULL;
    if (ex->config.measure) w->energy = squares(x, ex->n);
    if (ex->config.shared_level) return ti_exchange_curve(ex, w, lane, x, g, gamma, error);
    if (ex->config.tuner) status = choose_level(ex, w, lane, x, gamma, call, error);
    return status ? status : ti_exchange_encode(ex, w, &c, look, x, error);
}

/* Of the vector that the feedback keeps, where it is formed. */
static tithe_status put_formed(tithe_exchange *ex, exchange_worker *w, const tithe_call *call,
                               exchange_lane *lane, const float *g, double gamma, tithe_error *error)
{
    const tithe_status status = ti_exchange_expect_finite(g, ex->n, error);
    if (status) return status;
    const tithe_feedback_call c = ti_exchange_feedback_call(ex, w, call, lane, g, gamma);
    const float *x = ex->config.feedback->form(&c);
    if (ex->config.measure) w->energy = squares(x, ex->n);
    return TITHE_OK;
}

/* A whole gradient counts as one raw frame, which is not written. */
static tithe_status put_whole(tithe_exchange *ex, unsigned i, const float *g, tithe_error *error)
{
    const tithe_status status = ti_exchange_expect_finite(g, ex->n, error);
    if (status) return status;
    if (ex->n) memcpy(ex->vectors[i], g, ex->n * sizeof *g); /* g may be NULL for no numbers */
    ex->workers[i].info = (tithe_frame_info){.bytes = ex->raw_bytes, .entries = ex->n};
    if (ex->config.measure) ex->workers[i].energy = squares(g, ex->n);
    ex->workers[i].unsent = 0;
    return TITHE_OK;
}

static tithe_status find_worker(tithe_exchange *ex, unsigned rank, exchange_worker **w, tithe_error *error)
{
    if (!comm_is_local(ex->config.comm, rank))
        return ti_fail(error, TITHE_E_ARGUMENT, rank, "Rank %u does not live in this process.", rank);
    *w = &ex->workers[rank - ex->config.comm->first];
    if ((*w)->state != WORKER_IDLE)
        return ti_fail(error, TITHE_E_ARGUMENT, rank, "Rank %u was put twice in one step.", rank);
    return TITHE_OK;
}

tithe_status tithe_exchange_put(tithe_exchange *ex, unsigned rank, unsigned lane, const float *g,
                                double gamma, tithe_error *error)
{
    exchange_worker *w = NULL;
    tithe_status status = find_worker(ex, rank, &w, error);
    if (status) return status;
    if (lane >= ex->lane_count || (!g && ex->n) || !(gamma > 0) || !isfinite(gamma))
        return ti_fail(error, TITHE_E_ARGUMENT, 0,
                       "A gradient, a lane below %u and a positive step size are needed, not lane %u and %g.",
                       ex->lane_count, lane, gamma);
    if (ex->buckets) return ti_buckets_put(ex, rank, lane, g, gamma, error);
    const double start = clock_now();
    exchange_lane *l = &ex->lanes[lane];
    tithe_call call = ti_exchange_call(ex, rank, l->scratch, ex->scratch_size);
    if (ex->lane_count == 1) call.pool = ex->put_pool; /* nobody else uses it now */
    w->reason = "";
    if (ex->scheme->whole)
        status = put_whole(ex, rank - ex->config.comm->first, g, error);
    else if (ex->scheme->forms)
        status = put_formed(ex, w, &call, l, g, gamma, error);
    else
        status = put_frame(ex, w, &call, l, g, gamma, error);
    if (status) return status;
    w->state = WORKER_PUT;
    w->gamma = gamma;
    l->seconds += clock_now() - start;
    return TITHE_OK;
}

tithe_status tithe_exchange_put_layer(tithe_exchange *ex, unsigned rank, unsigned lane, size_t layer,
                                      const float *g, double gamma, tithe_error *error)
{
    if (layer >= ex->config.layer_count && layer > 0)
        return ti_fail(error, TITHE_E_ARGUMENT, layer, "There are %zu layers, and none is number %zu.",
                       ex->config.layer_count, layer);
    exchange_worker *w = NULL;
    const tithe_status status = find_worker(ex, rank, &w, error);
    if (status) return status;
    if (!g) return ti_fail(error, TITHE_E_ARGUMENT, layer, "The gradient of layer %zu is needed.", layer);
    if (ex->buckets && ex->config.layer_count)
        return ti_buckets_put_layer(ex, rank, lane, layer, g, gamma, error);
    if (ex->config.layer_count <= 1) return tithe_exchange_put(ex, rank, lane, g, gamma, error);
    return ti_fail(error, TITHE_E_ARGUMENT, layer,
                   "Layers come one by one only where there are buckets: set bucket_bytes.");
}

tithe_status tithe_exchange_skip(tithe_exchange *ex, unsigned rank, double gamma, tithe_error *error)
{
    exchange_worker *w = NULL;
    const tithe_status status = find_worker(ex, rank, &w, error);
    if (status) return status;
    if (!(gamma > 0) || !isfinite(gamma))
        return ti_fail(error, TITHE_E_ARGUMENT, 0, "A positive step size is needed, not %g.", gamma);
    if (ex->buckets) return ti_buckets_skip(ex, rank, gamma, error);
    w->state = WORKER_SKIPS;
    w->gamma = gamma;
    if (ex->vectors) memset(ex->vectors[rank - ex->config.comm->first], 0, ex->n * sizeof(float));
    return TITHE_OK;
}
