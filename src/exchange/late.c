/* late.c - ranks that remember a gradient, for a tuner that asks what waiting costs (tuner/late.h). */
#include <math.h>
#include <string.h>

#include "base/spec.h"
#include "exchange/exchange.h"
#include "exchange/options.h"

bool ti_exchange_waits(const tithe_exchange_config *c)
{
    double params[TITHE_MAX_PARAMS];
    ti_exchange_tuner_params(c, params);
    return c->tuner->waits && c->tuner->waits(params, c->codec);
}

const char *ti_exchange_refuse_waiting(const tithe_exchange_config *c, const tithe_scheme *scheme)
{
    double params[TITHE_MAX_PARAMS];
    if (!ti_exchange_waits(c)) return NULL;
    if (!c->feedback->scaled) return "late=on counts on what error compensation keeps: take `feedback=ec`.";
    if (scheme->whole || scheme->cuts || scheme->forms)
        return "late=on is for frames that go whole: take `scheme=gather` or `scheme=star`.";
    ti_exchange_tuner_params(c, params);
    const char *why = c->tuner->waits(params, c->codec);
    return *why ? why : NULL;
}

void ti_exchange_learn(tithe_exchange *ex, const float *update)
{
    for (unsigned i = 0; i < ex->config.comm->local && ex->up.waits; i++) {
        exchange_worker *w = &ex->workers[i];
        if (w->state == WORKER_PUT)
            ti_late_learn(&w->late, update, w->info.entries, ex->n);
        else
            ti_late_forget(&w->late); /* the model moved on without it */
    }
}

void ti_exchange_forget(tithe_exchange *ex)
{
    for (unsigned i = 0; i < ex->config.comm->local && ex->up.waits; i++)
        ti_late_forget(&ex->workers[i].late);
}

/* Of all ranks, so that one process can write down what all of them know; zeros where they are others'. */
size_t ti_exchange_remembered(const tithe_exchange *ex, double *numbers)
{
    const tithe_comm *comm = ex->config.comm;
    const size_t count = ex->up.waits ? (size_t)comm->size * LATE_NUMBERS : 0;
    if (!numbers || !count) return count;
    memset(numbers, 0, count * sizeof *numbers);
    for (unsigned i = 0; i < comm->local; i++)
        memcpy(numbers + (size_t)(comm->first + i) * LATE_NUMBERS, ex->workers[i].late.numbers,
               sizeof ex->workers[i].late.numbers);
    return count;
}

void ti_exchange_remember(tithe_exchange *ex, const double *numbers)
{
    const tithe_comm *comm = ex->config.comm;
    for (unsigned i = 0; i < comm->local && ex->up.waits; i++)
        memcpy(ex->workers[i].late.numbers, numbers + (size_t)(comm->first + i) * LATE_NUMBERS,
               sizeof ex->workers[i].late.numbers);
}
