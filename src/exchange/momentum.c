/* momentum.c - what is compressed where the host has momentum: `momentum=0.9`.
 *
 * A host that moves along m <- M m + g lets a gradient work for 1 / (1 - M) steps. One that waits in a residual would begin with that only
 * once it is sent. So each rank keeps u <- M u + g and sends that in place of g (lin2018), and what comes back, s, the mean of what was
 * sent, becomes s - M s', with s' that of the step before: the m of the host is then s, and its optimizer stays as it is.
 *
 * All of this lies around an exchange, which sees u in place of gradients: codec, feedback, scheme and tuner do not know of it. */
#include "exchange/momentum.h"

struct exchange_momentum {
    float factor;
    float *last; /* s' */
    struct {
        float *u, *next; /* the latter is u with the gradients of this step, until that was taken */
        bool put;
    } ranks[];
};

tithe_status ti_momentum_open(tithe_exchange *ex, tithe_error *error)
{
    const double factor = ex->config.momentum;
    if (!(factor > 0 && factor < 1))
        return ti_fail(error, TITHE_E_SPEC, 0,
                       "`momentum` is %g, but has to be that of an optimizer, from 0 to below 1.", factor);
    if (ex->config.restores)
        return ti_fail(error, TITHE_E_SPEC, 0,
                       "`momentum` does not go with a host that takes steps back: leave one of them out.");
    bool enough = true;
    const unsigned local = ex->config.comm->local;
    exchange_momentum *m = calloc(1, sizeof *m + local * sizeof *m->ranks);
    ex->momentum = m;
    if (m) {
        m->factor = (float)factor;
        m->last = exchange_room(ex->n, sizeof(float), &enough);
        for (unsigned i = 0; i < local; i++) {
            m->ranks[i].u = exchange_room(ex->n, sizeof(float), &enough);
            m->ranks[i].next = exchange_room(ex->n, sizeof(float), &enough);
        }
    }
    return m && enough ? TITHE_OK
                       : ti_fail(error, TITHE_E_MEMORY, 0,
                                 "There is not enough memory for the momentum of %zu numbers.", ex->n);
}

void ti_momentum_close(tithe_exchange *ex)
{
    exchange_momentum *m = ex->momentum;
    for (unsigned i = 0; m && i < ex->config.comm->local; i++) {
        free(m->ranks[i].u);
        free(m->ranks[i].next);
    }
    if (m) free(m->last);
    free(m);
    ex->momentum = NULL;
}

static void move_on(float factor, const float *restrict u, const float *restrict g, float *restrict next,
                    size_t n)
{
    for (size_t i = 0; i < n; i++) next[i] = factor * u[i] + g[i];
}

const float *ti_momentum_put(tithe_exchange *ex, unsigned rank, const float *g, size_t begin, size_t count)
{
    exchange_momentum *m = ex->momentum;
    const unsigned local = rank - ex->config.comm->first;
    float *next = m->ranks[local].next + begin;
    move_on(m->factor, m->ranks[local].u + begin, g, next, count);
    m->ranks[local].put = true;
    return next;
}

static void take_back(float factor, float *restrict last, float *restrict update, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const float s = update[i];
        update[i] = s - factor * last[i];
        last[i] = s;
    }
}

void ti_momentum_finish(tithe_exchange *ex, bool taken, float *update)
{
    exchange_momentum *m = ex->momentum;
    for (unsigned i = 0; i < ex->config.comm->local; i++) {
        if (taken && m->ranks[i].put) {
            float *before = m->ranks[i].u;
            m->ranks[i].u = m->ranks[i].next;
            m->ranks[i].next = before;
        }
        m->ranks[i].put = false;
    }
    if (taken) take_back(m->factor, m->last, update, ex->n);
}

float *tithe_exchange_momentum(tithe_exchange *ex, unsigned rank)
{
    const bool here = ex->momentum && comm_is_local(ex->config.comm, rank);
    return here ? ex->momentum->ranks[rank - ex->config.comm->first].u : NULL;
}

float *tithe_exchange_direction(tithe_exchange *ex)
{
    return ex->momentum ? ex->momentum->last : NULL;
}
