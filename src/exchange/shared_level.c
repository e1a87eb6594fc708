/* shared_level.c - one level for all ranks: the one that buys the most descent of the mean loss for the cost of all
 * messages. Every rank states its curve over the same levels; curves and costs add up. Key: khirirat2021cat. */
#include <math.h>

#include "exchange/exchange.h"

tithe_status ti_exchange_curve(tithe_exchange *ex, exchange_worker *w, exchange_lane *lane, const float *x,
                               const float *g, double gamma, tithe_error *error)
{
    w->g = g;
    const tithe_tuner_call c = ti_exchange_tuner_call(&ex->up, w, lane, x, gamma);
    return tithe_tuner_curve(&c, ex->levels, ex->level_count, w->curve, w->costs, error);
}

/* What ranks know of waiting, as sums over all of them: |x|^2, and weighted with it what is lost and the pace; the last level; how many
 * they are, and how many of them know nothing. */
enum { ENERGY, LOST, PACE, BEFORE, RANKS, IGNORANT, WAITING };

static void add_waiting(const late_memory *m, double *sums)
{
    sums[ENERGY] += m->energy;
    sums[LOST] += m->energy * m->lost;
    sums[PACE] += m->energy * m->pace;
    sums[BEFORE] += m->before;
    sums[RANKS]++;
    sums[IGNORANT] += !(m->before > 0);
}

static size_t wait(const tithe_exchange *ex, const double *curve, const double *costs, const double *sums,
                   size_t best)
{
    if (!(sums[ENERGY] > 0)) return best;
    /* all had the same level, if all had one */
    const double before = sums[IGNORANT] > 0 ? 0 : sums[BEFORE] / sums[RANKS];
    return tithe_tuner_best_late(ex->levels, curve, costs, best, sums[LOST] / sums[ENERGY], sums[PACE],
                                 before);
}

/* In rank order, so that the sum does not depend on who was put first, or where. */
static tithe_status best_level(tithe_exchange *ex, double *level, tithe_error *error)
{
    double both[2 * TITHE_GRID_MAX + WAITING] = {0}, *curve = both, *costs = both + ex->level_count;
    double *waiting = costs + ex->level_count;
    for (unsigned i = 0; i < ex->config.comm->local; i++) {
        if (ex->workers[i].state != WORKER_PUT) continue;
        for (size_t l = 0; l < ex->level_count; l++) {
            curve[l] += ex->workers[i].curve[l];
            costs[l] += ex->workers[i].costs[l];
        }
        if (ex->up.waits) add_waiting(&ex->workers[i].late, waiting);
    }
    const size_t count = 2 * ex->level_count + (ex->up.waits ? WAITING : 0);
    const tithe_status status = ti_comm_fold(ex->config.comm, COMM_SUM, both, count, error);
    if (!status && isnan(curve[0])) return ti_refusal_ask(ex, true, error);
    size_t best = tithe_tuner_best(curve, costs, ex->level_count);
    if (ex->up.waits) best = wait(ex, curve, costs, waiting, best);
    *level = ex->levels[best];
    for (unsigned i = 0; i < ex->config.comm->local && ex->up.waits; i++) {
        exchange_worker *w = &ex->workers[i];
        w->late.kept = w->late.energy > 0 ? w->curve[best] / w->late.energy : 0;
    }
    return status;
}

static tithe_status encode_worker(tithe_exchange *ex, void *level, unsigned i, exchange_lane *lane,
                                  tithe_error *error)
{
    exchange_worker *w = &ex->workers[i];
    const tithe_feedback *feedback = ex->config.feedback;
    tithe_call call = ti_exchange_call(ex, ex->config.comm->first + i, lane->scratch, ex->up.scratch_size);
    call.level = *(const double *)level;
    const tithe_feedback_call c = ti_exchange_feedback_call(&ex->up, w, &call, lane, w->g, ex->gamma);
    /* What is formed in `residual` is still there; what is formed in the lane's memory was written over by other ranks. */
    const float *x = feedback->scaled ? w->residual : feedback->form(&c);
    w->reason = "shared level";
    tithe_error why = {0};
    const tithe_status status = ti_exchange_encode(&ex->up, w, &c, true, x, ex->config.measure, &why);
    if (status) ti_refusal_put(ex, w, ti_refusal_of(ex->config.comm->first + i, false, status, &why));
    (void)error; /* all hear of it from its message */
    return TITHE_OK;
}

/* All ranks know that one refuses, and say so in their messages: a server that is none of them has not heard of it. */
static void pass_on_refusal(tithe_exchange *ex)
{
    const exchange_refusal refusal = ex->refusal;
    for (unsigned i = 0; i < ex->config.comm->local; i++)
        if (ex->workers[i].state == WORKER_PUT) ti_refusal_put(ex, &ex->workers[i], refusal);
    ex->refusal = (exchange_refusal){0};
}

tithe_status ti_exchange_share_level(tithe_exchange *ex, tithe_error *error)
{
    double level;
    const tithe_status status = best_level(ex, &level, error);
    if (status) return status;
    if (!ex->refusal.code) return ti_exchange_each(ex, encode_worker, &level, error);
    pass_on_refusal(ex);
    return TITHE_OK;
}
