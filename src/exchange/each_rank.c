/* each_rank.c - work on all local ranks after they were put: lane l takes ranks l, l + lanes, ... */
#include "base/clock.h"
#include "base/pool.h"
#include "exchange/exchange.h"

enum { MAX_LANES = 256 };

typedef struct work {
    tithe_exchange *ex;
    exchange_job *job;
    void *context;
    unsigned lanes;
    tithe_status status[MAX_LANES];
    tithe_error errors[MAX_LANES];
} work;

static void run_lane(void *context, unsigned l)
{
    work *w = context;
    tithe_exchange *ex = w->ex;
    exchange_lane *lane = &ex->lanes[l];
    for (unsigned i = l; i < ex->config.comm->local && !w->status[l]; i += w->lanes)
        if (ex->workers[i].state == WORKER_PUT) w->status[l] = w->job(ex, w->context, i, lane, &w->errors[l]);
}

tithe_status ti_exchange_each(tithe_exchange *ex, exchange_job *job, void *context, tithe_error *error)
{
    work w = {.ex = ex, .job = job, .context = context};
    w.lanes = ex->lane_count < MAX_LANES ? ex->lane_count : MAX_LANES;
    const double start = clock_now();
    ti_pool_run(ex->config.pool, w.lanes, run_lane, &w);
    ex->totals.encode += clock_now() - start;
    for (unsigned l = 0; l < w.lanes; l++)
        if (w.status[l]) {
            if (error) *error = w.errors[l];
            return w.status[l];
        }
    return TITHE_OK;
}
