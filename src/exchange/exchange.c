/* exchange.c - the one path from gradients to an update: feedback, level, frame, scheme, update. */
#include "exchange/exchange.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "kernels/kernels.h"

/* ---- for the schemes ----------------------------------------------------------------------------------- */

tithe_call ti_exchange_call(const tithe_exchange *ex, unsigned rank, void *scratch, size_t scratch_size)
{
    return (tithe_call){
        .seed = ex->config.seed,
        .step = ex->step,
        .rank = rank,
        .form = TITHE_EXCHANGE,
        .segments = ex->config.layers,
        .segment_count = ex->config.layer_count,
        .scratch = scratch,
        .scratch_size = scratch_size,
    };
}

static unsigned taking_part(const tithe_exchange *ex)
{
    unsigned count = 0;
    for (unsigned i = 0; i < ex->config.comm->local; i++) count += ex->workers[i].state == WORKER_PUT;
    return count;
}

bool ti_exchange_scaled(const tithe_exchange *ex)
{
    return ex->config.feedback->scaled || ex->config.feedback->aggregates;
}

/* An aggregate is the mean over all ranks, whoever brings news in this step. */
double ti_exchange_weight(const tithe_exchange *ex, bool scaled)
{
    const unsigned ranks = ex->config.feedback->aggregates ? ex->config.comm->size : taking_part(ex);
    return (scaled ? 1 : ex->gamma) / ranks;
}

tithe_status ti_exchange_decode_all(tithe_exchange *ex, double weight, float *y, tithe_error *error)
{
    const double start = clock_now();
    tithe_status status = TITHE_OK;
    for (unsigned i = 0; i < ex->config.comm->local && !status; i++) {
        const exchange_worker *w = &ex->workers[i];
        if (w->state != WORKER_PUT) continue;
        tithe_call call = ti_exchange_call(ex, ex->config.comm->first + i, ex->lanes[0].scratch, ex->scratch_size);
        call.pool = ex->config.pool;
        status = tithe_decode_add(ex->config.codec, &call, w->frame, w->info.bytes, (float)weight, y, ex->n, error);
    }
    ex->totals.decode += clock_now() - start;
    return status;
}

void ti_exchange_count(tithe_exchange *ex, double down_bytes, double down_paper_bits)
{
    const tithe_exchange_config *c = &ex->config;
    tithe_exchange_totals *t = &ex->totals;
    for (unsigned i = 0; i < c->comm->local; i++) {
        const exchange_worker *w = &ex->workers[i];
        if (w->state != WORKER_PUT) continue;
        const double paper = tithe_codec_paper_bits(c->codec, ex->n, w->info.entries);
        t->uplink_bytes += (double)w->info.bytes;
        t->paper_bits += paper;
        t->cost += tithe_cost_of(c->cost, c->count_paper ? paper : 8.0 * (double)w->info.bytes);
    }
    const double down_bits = c->count_paper ? down_paper_bits : 8 * down_bytes;
    t->downlink_bytes += c->comm->local * down_bytes;
    t->downlink_cost += c->comm->local * tithe_cost_of(c->cost, down_bits);
}

/* ---- gradients in -------------------------------------------------------------------------------------- */

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

static tithe_status choose_level(const tithe_exchange *ex, exchange_lane *lane, const float *x, double gamma,
                                 tithe_call *call, exchange_worker *w, tithe_error *error)
{
    const tithe_tuner_call c = {.codec = ex->config.codec,
                                .cost = ex->config.cost,
                                .count_paper = ex->config.count_paper,
                                .form = TITHE_EXCHANGE,
                                .x = x,
                                .n = ex->n,
                                .gamma = ex->config.feedback->scaled ? (float)gamma : 1,
                                .scratch = lane->tuner_scratch,
                                .scratch_size = ex->tuner_scratch_size};
    tithe_choice choice;
    const tithe_status status = ex->config.tuner->choose(&c, &choice, error);
    if (status) return status;
    call->level = choice.level;
    w->reason = choice.reason;
    return TITHE_OK;
}

static tithe_status expect_finite(const float *g, size_t n, tithe_error *error)
{
    const size_t bad = ti_find_nonfinite(TITHE_F32, g, n);
    if (bad == n) return TITHE_OK;
    return ti_fail(error, TITHE_E_NONFINITE, bad, "The gradient holds %g at position %zu.", (double)g[bad], bad);
}

static tithe_status put_frame(tithe_exchange *ex, exchange_worker *w, tithe_call *call, exchange_lane *lane,
                              const float *g, double gamma, tithe_error *error)
{
    const tithe_feedback *feedback = ex->config.feedback;
    const tithe_feedback_call c = {.codec = ex->config.codec, .call = call, .kept = w->kept, .g = g,
                                   .gamma = (float)gamma, .n = ex->n, .work = lane->work, .frame = w->frame,
                                   .capacity = ex->capacity};
    const bool look = ex->config.tuner || ex->config.measure;
    /* Before it gets into what is kept; where nobody looks, encode does both in one pass. */
    tithe_status status = look && feedback->keeps ? expect_finite(g, ex->n, error) : TITHE_OK;
    if (status) return status;
    const float *x = look ? feedback->form(&c) : NULL;
    if (ex->config.measure) w->energy = squares(x, ex->n);
    if (ex->config.tuner) status = choose_level(ex, lane, x, gamma, call, w, error);
    if (!status) status = feedback->encode(&c, look, &w->info, error);
    if (status || !ex->config.measure) return status;
    if (feedback->scaled) { /* what was not sent is what was kept */
        w->unsent = squares(w->kept, ex->n);
        return TITHE_OK;
    }
    return measure_unsent(ex, call, w, x, lane->work, &w->unsent, error);
}

/* A whole gradient counts as one raw frame, which is not written. */
static tithe_status put_whole(tithe_exchange *ex, unsigned i, const float *g, tithe_error *error)
{
    const tithe_status status = expect_finite(g, ex->n, error);
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

tithe_status tithe_exchange_put(tithe_exchange *ex, unsigned rank, unsigned lane, const float *g, double gamma,
                                tithe_error *error)
{
    exchange_worker *w = NULL;
    tithe_status status = find_worker(ex, rank, &w, error);
    if (status) return status;
    if (lane >= ex->lane_count || (!g && ex->n) || !(gamma > 0) || !isfinite(gamma))
        return ti_fail(error, TITHE_E_ARGUMENT, 0,
                       "A gradient, a lane below %u and a positive step size are needed, not lane %u and %g.",
                       ex->lane_count, lane, gamma);
    const double start = clock_now();
    exchange_lane *l = &ex->lanes[lane];
    tithe_call call = ti_exchange_call(ex, rank, l->scratch, ex->scratch_size);
    if (ex->lane_count == 1) call.pool = ex->config.pool; /* nobody else uses it now */
    w->reason = "";
    status = ex->scheme->whole ? put_whole(ex, rank - ex->config.comm->first, g, error)
                               : put_frame(ex, w, &call, l, g, gamma, error);
    if (status) return status;
    w->state = WORKER_PUT;
    w->gamma = gamma;
    l->seconds += clock_now() - start;
    return TITHE_OK;
}

tithe_status tithe_exchange_skip(tithe_exchange *ex, unsigned rank, tithe_error *error)
{
    exchange_worker *w = NULL;
    const tithe_status status = find_worker(ex, rank, &w, error);
    if (status) return status;
    w->state = WORKER_SKIPS;
    if (ex->vectors) memset(ex->vectors[rank - ex->config.comm->first], 0, ex->n * sizeof(float));
    return TITHE_OK;
}

/* ---- update out ---------------------------------------------------------------------------------------- */

static void record_step(tithe_exchange *ex)
{
    const double ranks = taking_part(ex);
    tithe_exchange_record r = {.step = ex->step,
                               .level_least = INFINITY,
                               .scheme = ex->scheme->name,
                               .collective = ex->collective ? ex->collective->name : ex->scheme->collectives,
                               .reason = ""};
    for (unsigned i = 0; i < ex->config.comm->local; i++) {
        const exchange_worker *w = &ex->workers[i];
        if (w->state != WORKER_PUT) continue;
        const double entries = (double)w->info.entries;
        r.level += entries / ranks;
        r.level_least = fmin(r.level_least, entries);
        r.level_most = fmax(r.level_most, entries);
        r.energy += w->energy / ranks;
        r.unsent += w->unsent / ranks;
        r.unsent_most = fmax(r.unsent_most, w->unsent);
        r.reason = w->reason;
    }
    r.residual = ex->config.feedback->scaled && ex->config.measure ? r.unsent : NAN;
    if (!ex->config.measure) r.energy = r.unsent = r.unsent_most = NAN;
    ex->totals.unsent += r.unsent;
    ex->last = r;
}

/* All ranks are there, and those that take part agree on gamma. */
static tithe_status expect_everybody(tithe_exchange *ex, tithe_error *error)
{
    const tithe_comm *comm = ex->config.comm;
    const exchange_worker *first = NULL;
    for (unsigned i = 0; i < comm->local; i++) {
        const exchange_worker *w = &ex->workers[i];
        if (w->state == WORKER_IDLE)
            return ti_fail(error, TITHE_E_ARGUMENT, i, "Rank %u was neither put nor skipped.", comm->first + i);
        if (w->state == WORKER_PUT && !first) first = w;
        if (w->state == WORKER_PUT && w->gamma != first->gamma)
            return ti_fail(error, TITHE_E_ARGUMENT, i, "Rank %u was put with step size %g, another one with %g.",
                           comm->first + i, w->gamma, first->gamma);
    }
    if (!first) return ti_fail(error, TITHE_E_ARGUMENT, 0, "No rank takes part in this step.");
    ex->gamma = first->gamma;
    return TITHE_OK;
}

tithe_status tithe_exchange_finish(tithe_exchange *ex, float *update, tithe_error *error)
{
    tithe_comm *comm = ex->config.comm;
    tithe_status status = expect_everybody(ex, error);
    if (status) return status;

    const double start = clock_now(), waited = comm->waited;
    const uint64_t sent = comm->sent_bytes;
    const double busy = ex->totals.encode + ex->totals.decode;
    status = ex->scheme->run(ex, update, error);
    if (status) return status;
    if (ex->aggregate)
        for (size_t i = 0; i < ex->n; i++) {
            ex->aggregate[i] += update[i];
            update[i] = (float)(ex->gamma * (double)ex->aggregate[i]);
        }
    record_step(ex);
    ex->totals.sent_bytes += (double)(comm->sent_bytes - sent); /* others may use the ranks too */
    ex->totals.wait += comm->waited - waited;
    ex->totals.transfer +=
        clock_now() - start - (comm->waited - waited) - (ex->totals.encode + ex->totals.decode - busy);
    for (unsigned l = 0; l < ex->lane_count; l++) {
        ex->totals.encode += ex->lanes[l].seconds / ex->lane_count;
        ex->lanes[l].seconds = 0;
    }
    for (unsigned i = 0; i < comm->local; i++) ex->workers[i].state = WORKER_IDLE;
    ex->step++;
    return TITHE_OK;
}

tithe_status tithe_exchange_step(tithe_exchange *ex, float *g, double gamma, tithe_error *error)
{
    if (ex->config.comm->local != 1)
        return ti_fail(error, TITHE_E_ARGUMENT, 0, "This process holds %u ranks: put each, then finish.",
                       ex->config.comm->local);
    const tithe_status status = tithe_exchange_put(ex, ex->config.comm->first, 0, g, gamma, error);
    return status ? status : tithe_exchange_finish(ex, g, error);
}

/* ---- what it says -------------------------------------------------------------------------------------- */

tithe_exchange_totals tithe_exchange_total(const tithe_exchange *ex)
{
    return ex->totals;
}

tithe_exchange_record tithe_exchange_last(const tithe_exchange *ex)
{
    return ex->last;
}

float *tithe_exchange_kept(tithe_exchange *ex, unsigned rank)
{
    return comm_is_local(ex->config.comm, rank) ? ex->workers[rank - ex->config.comm->first].kept : NULL;
}
