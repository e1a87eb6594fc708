/* exchange.c - the one path from gradients to an update: feedback, level, frame, scheme, update. */
#include "exchange/buckets.h"

#include <math.h>

#include "base/clock.h"
#include "kernels/kernels.h"

/* ---- for the schemes ----------------------------------------------------------------------------------- */

tithe_call ti_exchange_call(const tithe_exchange *ex, unsigned rank, void *scratch, size_t scratch_size)
{
    return (tithe_call){
        .seed = ex->config.seed,
        .step = ex->step,
        .rank = rank,
        .tensor = ex->tensor,
        .form = TITHE_EXCHANGE,
        .segments = ex->config.layers,
        .segment_count = ex->config.layer_count,
        .scratch = scratch,
        .scratch_size = scratch_size,
    };
}

const tithe_cost *ti_exchange_cost(const tithe_exchange *ex, unsigned local)
{
    return ex->config.rank_costs ? ex->config.rank_costs[ex->config.comm->first + local] : ex->config.cost;
}

static unsigned put_here(const tithe_exchange *ex)
{
    unsigned count = 0;
    for (unsigned i = 0; i < ex->config.comm->local; i++) count += ex->workers[i].state == WORKER_PUT;
    return count;
}

/* Ranks that take part, in all processes: what cannot be counted here has to be known. */
static unsigned taking_part(const tithe_exchange *ex)
{
    if (!exchange_is_remote(ex)) return put_here(ex);
    return ex->config.taking_part ? ex->config.taking_part : ex->config.comm->size;
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

tithe_status ti_exchange_decode(tithe_exchange *ex, unsigned rank, const uint8_t *frame, size_t length,
                                double weight, float *y, tithe_error *error)
{
    const double start = clock_now();
    tithe_call call = ti_exchange_call(ex, rank, ex->lanes[0].scratch, ex->scratch_size);
    call.pool = ex->config.pool;
    const tithe_status status =
        tithe_decode_add(ex->config.codec, &call, frame, length, (float)weight, y, ex->n, error);
    ex->totals.decode += clock_now() - start;
    return status;
}

tithe_status ti_exchange_decode_all(tithe_exchange *ex, double weight, float *y, tithe_error *error)
{
    tithe_status status = TITHE_OK;
    for (unsigned i = 0; i < ex->config.comm->local && !status; i++) {
        const exchange_worker *w = &ex->workers[i];
        if (w->state != WORKER_PUT) continue;
        status =
            ti_exchange_decode(ex, ex->config.comm->first + i, w->frame, w->info.bytes, weight, y, error);
    }
    return status;
}

void ti_exchange_count(tithe_exchange *ex, double down_bytes, double down_paper_bits)
{
    const tithe_exchange_config *c = &ex->config;
    tithe_exchange_totals *t = &ex->totals;
    for (unsigned i = 0; i < c->comm->local; i++) {
        const exchange_worker *w = &ex->workers[i];
        if (w->state != WORKER_PUT) continue;
        const double paper = ex->scheme->paper_bits
                                 ? ex->scheme->paper_bits(ex, i)
                                 : tithe_codec_paper_bits(c->codec, ex->n, w->info.entries);
        t->uplink_bytes += (double)w->info.bytes;
        t->paper_bits += paper;
        t->cost +=
            tithe_cost_of(ti_exchange_cost(ex, i), c->count_paper ? paper : 8.0 * (double)w->info.bytes);
    }
    const double down_bits = c->count_paper ? down_paper_bits : 8 * down_bytes;
    t->downlink_bytes += c->comm->local * down_bytes;
    for (unsigned i = 0; i < c->comm->local; i++)
        t->downlink_cost += tithe_cost_of(ti_exchange_cost(ex, i), down_bits);
}

/* ---- update out ---------------------------------------------------------------------------------------- */

/* Of one local rank, over all buckets. */
typedef struct rank_sums {
    double entries, energy, unsent;
    const char *reason;
} rank_sums;

static bool sum_rank(const tithe_exchange *ex, unsigned local, rank_sums *sums)
{
    *sums = (rank_sums){.reason = ""};
    for (unsigned p = 0; p < ti_exchange_parts(ex); p++) {
        const exchange_worker *w = &ti_exchange_part(ex, p)->workers[local];
        if (!w->was_put) return false;
        sums->entries += (double)w->info.entries;
        sums->energy += w->energy;
        sums->unsent += w->unsent;
        sums->reason = w->reason;
    }
    return true;
}

/* -1: nobody, or several. */
static int leader_of(const tithe_exchange *ex)
{
    const int leader = ti_exchange_part(ex, 0)->last.leader;
    for (unsigned p = 1; p < ti_exchange_parts(ex); p++)
        if (ti_exchange_part(ex, p)->last.leader != leader) return -1;
    return leader;
}

void ti_exchange_record(tithe_exchange *ex)
{
    const unsigned local = ex->config.comm->local;
    rank_sums sums;
    unsigned ranks = 0;
    for (unsigned i = 0; i < local; i++) ranks += sum_rank(ex, i, &sums);
    tithe_exchange_record r = {.step = ex->step,
                               .ranks = ranks,
                               .level_least = INFINITY,
                               .kept_least = INFINITY,
                               .speedup_least = INFINITY,
                               .scheme = ex->scheme->name,
                               .collective = ex->collective_name,
                               .leader = leader_of(ex),
                               .reason = ""};
    for (unsigned i = 0; i < local; i++) {
        if (!sum_rank(ex, i, &sums)) continue;
        r.level += sums.entries / ranks;
        r.level_least = fmin(r.level_least, sums.entries);
        r.level_most = fmax(r.level_most, sums.entries);
        r.energy += sums.energy / ranks;
        r.unsent += sums.unsent / ranks;
        r.unsent_most = fmax(r.unsent_most, sums.unsent);
        r.reason = sums.reason;
        if (!(sums.energy > 0) || !ex->config.measure)
            continue; /* nothing to send is no measure of anything */
        const double kept = 1 - sums.unsent / sums.energy,
                     speedup = sums.entries > 0 ? kept * (double)ex->n / sums.entries : 0;
        r.measured++;
        r.kept += kept;
        r.kept_least = fmin(r.kept_least, kept);
        r.speedup += speedup;
        r.speedup_least = fmin(r.speedup_least, speedup);
    }
    r.kept /= r.measured; /* of no rank at all: 0/0 */
    r.speedup /= r.measured;
    r.residual = ex->config.feedback->scaled && ex->config.measure ? r.unsent : NAN;
    if (!ex->config.measure) r.energy = r.unsent = r.unsent_most = NAN;
    ex->last = r;
}

/* All ranks are there, and agree on gamma. */
static tithe_status expect_everybody(tithe_exchange *ex, tithe_error *error)
{
    const tithe_comm *comm = ex->config.comm;
    const exchange_worker *first = ex->workers;
    for (unsigned i = 0; i < comm->local; i++) {
        const exchange_worker *w = &ex->workers[i];
        if (w->state == WORKER_IDLE)
            return ti_fail(error, TITHE_E_ARGUMENT, i, "Rank %u was neither put nor skipped.",
                           comm->first + i);
        if (w->gamma != first->gamma)
            return ti_fail(error, TITHE_E_ARGUMENT, i, "Rank %u has step size %g, another one %g.",
                           comm->first + i, w->gamma, first->gamma);
    }
    if (!put_here(ex) && !exchange_is_remote(ex))
        return ti_fail(error, TITHE_E_ARGUMENT, 0, "No rank takes part in this step.");
    if (comm->local) ex->gamma = first->gamma;
    return TITHE_OK;
}

tithe_status tithe_exchange_finish(tithe_exchange *ex, float *update, tithe_error *error)
{
    if (ex->buckets) return ti_buckets_finish(ex, update, error);
    tithe_comm *comm = ex->config.comm;
    tithe_status status = expect_everybody(ex, error);
    if (status) return status;

    if (ex->config.shared_level) status = ti_exchange_share_level(ex, error);
    if (status) return status;
    const double start = clock_now(), waited = comm->waited;
    const uint64_t sent = comm->sent_bytes, messages = comm->sent_messages;
    const double busy = ex->totals.encode + ex->totals.decode;
    comm->phase = "exchanging gradients";
    comm->seen.together = false; /* ranks have computed since (comm.h) */
    status = ex->scheme->run(ex, update, error);
    comm->phase = NULL;
    if (status) return status;
    if (ex->aggregate)
        for (size_t i = 0; i < ex->n; i++) {
            ex->aggregate[i] += update[i];
            update[i] = (float)(ex->gamma * (double)ex->aggregate[i]);
        }
    const double share = (double)put_here(ex) / taking_part(ex);
    for (unsigned i = 0; i < comm->local; i++) {
        ex->workers[i].was_put = ex->workers[i].state == WORKER_PUT;
        ex->workers[i].state = WORKER_IDLE;
    }
    ti_exchange_record(ex);
    ex->totals.unsent += share * ex->last.unsent;
    ex->totals.sent_bytes += (double)(comm->sent_bytes - sent); /* others may use the ranks too */
    ex->totals.sent_messages += (double)(comm->sent_messages - messages);
    ex->totals.wait += comm->waited - waited;
    ex->totals.transfer +=
        clock_now() - start - (comm->waited - waited) - (ex->totals.encode + ex->totals.decode - busy);
    for (unsigned l = 0; l < ex->lane_count; l++) {
        ex->totals.encode += ex->lanes[l].seconds / ex->lane_count;
        ex->lanes[l].seconds = 0;
    }
    ex->step++;
    return TITHE_OK;
}

tithe_status tithe_exchange_serve(tithe_exchange *ex, tithe_error *error)
{
    if (ex->buckets) return ti_buckets_serve(ex, error);
    ex->config.comm->phase = "collecting gradients";
    const tithe_status status = ex->scheme->run(ex, NULL, error);
    ex->config.comm->phase = NULL;
    if (!status) ex->step++;
    return status;
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

void tithe_exchange_rounds(const tithe_exchange *ex, unsigned bucket, tithe_rounds *rounds)
{
    const tithe_exchange *part = ti_exchange_part(ex, bucket);
    tithe_step_shape shape = part->shape;
    shape.collective = part->collective;
    tithe_rounds_start(rounds);
    if (part->step > 0) part->scheme->rounds(&shape, rounds);
}

double tithe_exchange_seconds(const tithe_exchange *ex, const tithe_link *link)
{
    double sum = 0;
    for (unsigned p = 0; p < ti_exchange_parts(ex); p++) {
        tithe_rounds rounds;
        tithe_exchange_rounds(ex, p, &rounds);
        sum += tithe_rounds_seconds(&rounds, link);
    }
    return sum;
}

unsigned tithe_exchange_buckets(const tithe_exchange *ex)
{
    return ti_exchange_parts(ex);
}

tithe_exchange_record tithe_exchange_last(const tithe_exchange *ex)
{
    return ex->last;
}
