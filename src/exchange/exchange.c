/* exchange.c - the functions of exchange.h: what every exchange checks and says, whatever its kind. */
#include <math.h>
#include <string.h>

#include "base/sized.h"
#include "exchange/control.h"
#include "exchange/momentum.h"

/* Once it has failed, it fails: what others took for a step cannot be taken back. */
static tithe_status fail_again(const tithe_exchange *ex, tithe_error *error)
{
    if (ex->failed.code && error) *error = ex->failed;
    return ex->failed.code;
}

/* ---- gradients in ---------------------------------------------------------------------------------------- */

static tithe_status find_worker(tithe_exchange *ex, unsigned rank, exchange_worker **w, tithe_error *error)
{
    if (ex->failed.code) return fail_again(ex, error);
    if (!comm_is_local(ex->config.comm, rank))
        return ti_fail(error, TITHE_E_ARGUMENT, rank, "Rank %u does not live in this process.", rank);
    *w = &ex->workers[rank - ex->config.comm->first];
    if ((*w)->state != WORKER_IDLE)
        return ti_fail(error, TITHE_E_ARGUMENT, rank, "Rank %u was put twice in one step.", rank);
    return TITHE_OK;
}

static tithe_status expect_sense(const tithe_exchange *ex, unsigned lane, const float *g, size_t n,
                                 double gamma, tithe_error *error)
{
    if (lane < ex->lane_count && (g || !n) && gamma > 0 && isfinite(gamma)) return TITHE_OK;
    return ti_fail(error, TITHE_E_ARGUMENT, 0,
                   "A gradient, a lane below %u and a positive step size are needed, not lane %u and %g.",
                   ex->lane_count, lane, gamma);
}

/* Numbers of a gradient, with what lies around an exchange. `layer`: which, or MOMENTUM_WHOLE. */
static tithe_status put(tithe_exchange *ex, unsigned rank, unsigned lane, size_t layer, size_t begin,
                        size_t length, const float *g, double gamma, tithe_error *error)
{
    const float *sent = g;
    const bool moved = ex->momentum && ti_momentum_put(ex, rank, layer, begin, length, &sent);
    if (ex->control) ti_control_observe(ex, rank, g, sent, begin, length, gamma);
    const tithe_status status = layer == MOMENTUM_WHOLE
                                    ? ex->kind->put(ex, rank, lane, sent, gamma, error)
                                    : ex->kind->put_layer(ex, rank, lane, layer, sent, gamma, error);
    if (status && moved) ti_momentum_refused(ex, rank, layer);
    return status;
}

tithe_status tithe_exchange_put(tithe_exchange *ex, unsigned rank, unsigned lane, const float *g,
                                double gamma, tithe_error *error)
{
    exchange_worker *w = NULL;
    tithe_status status = find_worker(ex, rank, &w, error);
    if (!status) status = expect_sense(ex, lane, g, ex->n, gamma, error);
    return status ? status : put(ex, rank, lane, MOMENTUM_WHOLE, 0, ex->n, g, gamma, error);
}

/* Where a layer begins, and how many numbers it has. */
static tithe_status expect_layer(const tithe_exchange *ex, size_t layer, size_t *begin, size_t *length,
                                 tithe_error *error)
{
    const size_t count = ex->config.layer_count ? ex->config.layer_count : 1;
    if (layer >= count)
        return ti_fail(error, TITHE_E_ARGUMENT, layer, "There are %zu layers, and none is number %zu.", count,
                       layer);
    *begin = 0;
    for (size_t l = 0; l < layer; l++) *begin += ex->config.layers[l];
    *length = ex->config.layer_count ? ex->config.layers[layer] : ex->n;
    return TITHE_OK;
}

/* `length` becomes that of the layer. */
static tithe_status put_layer(tithe_exchange *ex, unsigned rank, unsigned lane, size_t layer, const float *g,
                              double gamma, size_t *length, tithe_error *error)
{
    exchange_worker *w = NULL;
    size_t begin = 0;
    tithe_status status = expect_layer(ex, layer, &begin, length, error);
    if (!status) status = find_worker(ex, rank, &w, error);
    if (!status) status = expect_sense(ex, lane, g, *length, gamma, error);
    return status ? status : put(ex, rank, lane, layer, begin, *length, g, gamma, error);
}

tithe_status tithe_exchange_put_layer(tithe_exchange *ex, unsigned rank, unsigned lane, size_t layer,
                                      const float *g, double gamma, tithe_error *error)
{
    size_t length = 0;
    return put_layer(ex, rank, lane, layer, g, gamma, &length, error);
}

tithe_status tithe_exchange_put_layers(tithe_exchange *ex, unsigned rank, unsigned lane, const size_t *layers,
                                       size_t count, const float *g, double gamma, tithe_error *error)
{
    tithe_status status = TITHE_OK;
    for (size_t i = 0, length = 0; i < count && !status; i++, g += length)
        status = put_layer(ex, rank, lane, layers[i], g, gamma, &length, error);
    return status;
}

tithe_status tithe_exchange_copy_layers(const tithe_exchange *ex, const float *vector, const size_t *layers,
                                        size_t count, float *g, tithe_error *error)
{
    tithe_status status = TITHE_OK;
    for (size_t i = 0, begin = 0, length = 0; i < count && !status; i++, g += length) {
        status = expect_layer(ex, layers[i], &begin, &length, error);
        if (!status && length) memcpy(g, vector + begin, length * sizeof *g);
    }
    return status;
}

tithe_status tithe_exchange_skip(tithe_exchange *ex, unsigned rank, double gamma, tithe_error *error)
{
    exchange_worker *w = NULL;
    const tithe_status status = find_worker(ex, rank, &w, error);
    if (status) return status;
    if (!(gamma > 0) || !isfinite(gamma))
        return ti_fail(error, TITHE_E_ARGUMENT, 0, "A positive step size is needed, not %g.", gamma);
    if (ex->momentum)
        return ti_fail(error, TITHE_E_ARGUMENT, rank,
                       "`momentum` needs all ranks in every step: rank %u cannot skip one.", rank);
    return ex->kind->skip(ex, rank, gamma, error);
}

/* ---- update out ------------------------------------------------------------------------------------------ */

tithe_status tithe_exchange_finish(tithe_exchange *ex, float *update, tithe_error *error)
{
    if (ex->failed.code) return fail_again(ex, error);
    tithe_status status = ex->kind->finish(ex, update, error);
    if (ex->control && status == TITHE_E_SKIPPED) ti_control_skip(ex);
    if (ex->control && !status) status = ti_control_after(ex, update, error);
    if (ex->momentum && (!status || status == TITHE_E_SKIPPED)) ti_momentum_finish(ex, !status, update);
    return status;
}

tithe_status tithe_exchange_serve(tithe_exchange *ex, tithe_error *error)
{
    return ex->kind->serve(ex, error);
}

tithe_status tithe_exchange_step(tithe_exchange *ex, float *g, double gamma, tithe_error *error)
{
    if (ex->config.comm->local != 1)
        return ti_fail(error, TITHE_E_ARGUMENT, 0, "This process holds %u ranks: put each, then finish.",
                       ex->config.comm->local);
    ex->in_place = ex->momentum ? NULL : g;
    tithe_status status = tithe_exchange_put(ex, ex->config.comm->first, 0, g, gamma, error);
    if (!status) status = tithe_exchange_finish(ex, g, error);
    ex->in_place = NULL;
    return status;
}

/* ---- what it says -------------------------------------------------------------------------------------- */

void tithe_exchange_total(const tithe_exchange *ex, tithe_exchange_totals *totals)
{
    sized_copy(totals, &ex->totals);
}

void tithe_exchange_rounds(const tithe_exchange *ex, unsigned bucket, tithe_rounds *rounds)
{
    tithe_rounds_start(rounds);
    if (bucket >= ti_exchange_parts(ex)) return;
    const tithe_exchange *part = ti_exchange_part(ex, bucket);
    exchange_stepped last = part->stepped;
    if (!last.scheme) { /* resumed */
        last = (exchange_stepped){part->scheme, part->shape};
        last.shape.collective = part->collective;
    }
    if (part->step > 0) last.scheme->rounds(&last.shape, rounds);
}

double tithe_exchange_seconds(const tithe_exchange *ex, const tithe_link *link)
{
    double sum = 0;
    for (unsigned p = 0; p < ti_exchange_parts(ex); p++) {
        tithe_rounds rounds;
        tithe_exchange_rounds(ex, p, &rounds);
        sum += tithe_rounds_seconds(&rounds, link);
    }
    return ex->control ? sum + ti_control_seconds(ex, link) : sum;
}

unsigned tithe_exchange_buckets(const tithe_exchange *ex)
{
    return ti_exchange_parts(ex);
}

void tithe_exchange_last(const tithe_exchange *ex, tithe_exchange_record *last)
{
    sized_copy(last, &ex->last);
}
