/* shared_level.c - one level for all ranks: the one that buys the most descent of the mean loss for the cost of all
 * messages. Every rank states its curve over the same levels; curves and costs add up. Key: khirirat2021cat. */
#include <string.h>

#include "base/clock.h"
#include "base/pool.h"
#include "exchange/exchange.h"

tithe_status ti_exchange_curve(tithe_exchange *ex, exchange_worker *w, exchange_lane *lane, const float *x,
                               const float *g, double gamma, tithe_error *error)
{
    w->g = g;
    const tithe_tuner_call c = ti_exchange_tuner_call(ex, (unsigned)(w - ex->workers), lane, x, gamma);
    return tithe_tuner_curve(&c, ex->levels, ex->level_count, w->curve, w->costs, error);
}

/* In rank order, so that the sum does not depend on who was put first, or where. */
static tithe_status best_level(const tithe_exchange *ex, double *level, tithe_error *error)
{
    double both[2 * TITHE_GRID_MOST] = {0}, *curve = both, *costs = both + ex->level_count;
    for (unsigned i = 0; i < ex->config.comm->local; i++) {
        if (ex->workers[i].state != WORKER_PUT) continue;
        for (size_t l = 0; l < ex->level_count; l++) {
            curve[l] += ex->workers[i].curve[l];
            costs[l] += ex->workers[i].costs[l];
        }
    }
    const tithe_status status = ti_comm_fold(ex->config.comm, COMM_SUM, both, 2 * ex->level_count, error);
    *level = ex->levels[tithe_tuner_best(curve, costs, ex->level_count)];
    return status;
}

typedef struct encoding {
    tithe_exchange *ex;
    double level;
    tithe_status status[256]; /* of each lane */
    tithe_error errors[256];
} encoding;

static tithe_status encode_worker(encoding *e, exchange_lane *lane, unsigned i, tithe_error *error)
{
    tithe_exchange *ex = e->ex;
    exchange_worker *w = &ex->workers[i];
    const tithe_feedback *feedback = ex->config.feedback;
    tithe_call call = ti_exchange_call(ex, ex->config.comm->first + i, lane->scratch, ex->scratch_size);
    call.level = e->level;
    const tithe_feedback_call c = ti_exchange_feedback_call(ex, w, &call, lane, w->g, ex->gamma);
    /* What is formed in `kept` is still there; what is formed in the lane's memory was written over by other ranks. */
    const float *x = feedback->scaled ? w->kept : feedback->form(&c);
    w->reason = "shared level";
    return ti_exchange_encode(ex, w, &c, true, x, error);
}

static void encode_lane(void *context, unsigned l)
{
    encoding *e = context;
    exchange_lane *lane = &e->ex->lanes[l];
    const double start = clock_now();
    for (unsigned i = l; i < e->ex->config.comm->local && !e->status[l]; i += e->ex->lane_count)
        if (e->ex->workers[i].state == WORKER_PUT) e->status[l] = encode_worker(e, lane, i, &e->errors[l]);
    lane->seconds += clock_now() - start;
}

tithe_status ti_exchange_share_level(tithe_exchange *ex, tithe_error *error)
{
    encoding e = {.ex = ex};
    const tithe_status status = best_level(ex, &e.level, error);
    if (status) return status;
    ti_pool_run(ex->config.pool, ex->lane_count, encode_lane, &e);
    for (unsigned l = 0; l < ex->lane_count; l++)
        if (e.status[l]) {
            if (error) *error = e.errors[l];
            return e.status[l];
        }
    return TITHE_OK;
}
