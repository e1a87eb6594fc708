/* momentum.c - what is compressed where the host has momentum: `momentum=0.9`.
 *
 * A host that moves along m <- M m + g lets a gradient work for 1 / (1 - M) steps. One that waits in a residual would begin with that only
 * once it is sent. So each rank keeps u <- M u + g and sends that in place of g (lin2018), and what comes back, s, the mean of what was
 * sent, becomes s - M s', with s' that of the step before: the m of the host is then s, and its optimizer stays as it is.
 *
 * All of this lies around an exchange, which sees u in place of gradients: codec, feedback and scheme do not know of it. */
#include "exchange/momentum.h"

#include <string.h>

#include "base/clock.h"
#include "exchange/control.h"

struct exchange_momentum {
    float factor;
    float *last; /* s' */
    size_t places;
    struct {
        float *u, *next; /* the latter is u with the gradients of this step, until that was taken */
        uint8_t *put;    /* of each layer: 1, if it was, in this step */
        double seconds;
    } ranks[];
};

static tithe_status refuse(const tithe_exchange_config *c, tithe_error *error)
{
    if (!(c->momentum > 0 && c->momentum <= MOMENTUM_MAX))
        return ti_fail(error, TITHE_E_SPEC, 0,
                       "`momentum` is %g, but has to be that of an optimizer, from 0 to %g.", c->momentum,
                       MOMENTUM_MAX);
    if (c->restores)
        return ti_fail(error, TITHE_E_SPEC, 0,
                       "`momentum` does not go with a host that takes steps back: leave one of them out.");
    if (c->taking_part && c->taking_part < c->comm->size)
        return ti_fail(error, TITHE_E_SPEC, 0,
                       "`momentum` needs all %u ranks in every step, not %u of them: leave it out.",
                       c->comm->size, c->taking_part);
    return TITHE_OK;
}

tithe_status ti_momentum_open(tithe_exchange *ex, tithe_error *error)
{
    const tithe_status status = refuse(&ex->config, error);
    if (status) return status;
    bool enough = true;
    const unsigned local = ex->config.comm->local;
    exchange_momentum *m = calloc(1, sizeof *m + local * sizeof *m->ranks);
    ex->momentum = m;
    if (m) {
        m->factor = (float)ex->config.momentum;
        m->places = ex->config.layer_count ? ex->config.layer_count : 1;
        m->last = exchange_room(ex->n, sizeof(float), &enough);
        for (unsigned i = 0; i < local; i++) {
            m->ranks[i].u = exchange_room(ex->n, sizeof(float), &enough);
            m->ranks[i].next = exchange_room(ex->n, sizeof(float), &enough);
            m->ranks[i].put = exchange_room(m->places, 1, &enough);
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
        free(m->ranks[i].put);
    }
    if (m) free(m->last);
    free(m);
    ex->momentum = NULL;
}

/* ---- gradients in ---------------------------------------------------------------------------------------- */

static void move_on(float factor, const float *restrict u, const float *restrict g, float *restrict next,
                    size_t n)
{
    for (size_t i = 0; i < n; i++) next[i] = factor * u[i] + g[i];
}

/* Of a layer, or of all of them. */
static uint8_t *marks(const exchange_momentum *m, unsigned local, size_t layer, size_t *count)
{
    *count = layer == MOMENTUM_WHOLE ? m->places : 1;
    return m->ranks[local].put + (layer == MOMENTUM_WHOLE ? 0 : layer);
}

bool ti_momentum_put(tithe_exchange *ex, unsigned rank, size_t layer, size_t begin, size_t length,
                     const float **g)
{
    exchange_momentum *m = ex->momentum;
    const unsigned local = rank - ex->config.comm->first;
    size_t count;
    uint8_t *put = marks(m, local, layer, &count);
    if (memchr(put, 1, count)) return false;
    const double start = clock_now();
    float *next = m->ranks[local].next + begin;
    move_on(m->factor, m->ranks[local].u + begin, *g, next, length);
    memset(put, 1, count);
    m->ranks[local].seconds += clock_now() - start;
    *g = next;
    return true;
}

void ti_momentum_refused(tithe_exchange *ex, unsigned rank, size_t layer)
{
    size_t count;
    uint8_t *put = marks(ex->momentum, rank - ex->config.comm->first, layer, &count);
    memset(put, 0, count);
}

/* ---- update out ------------------------------------------------------------------------------------------ */

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
    const double start = clock_now();
    for (unsigned i = 0; i < ex->config.comm->local; i++) {
        memset(m->ranks[i].put, 0, m->places);
        ex->totals.encode += m->ranks[i].seconds;
        m->ranks[i].seconds = 0;
        if (!taken) continue;
        float *before = m->ranks[i].u;
        m->ranks[i].u = m->ranks[i].next;
        m->ranks[i].next = before;
    }
    if (taken) take_back(m->factor, m->last, update, ex->n);
    ex->totals.decode += clock_now() - start;
    ti_control_not_coding(ex);
}

/* ---- what is kept ---------------------------------------------------------------------------------------- */

float *tithe_exchange_momentum(tithe_exchange *ex, unsigned rank)
{
    const bool here = ex->momentum && comm_is_local(ex->config.comm, rank);
    return here ? ex->momentum->ranks[rank - ex->config.comm->first].u : NULL;
}

float *tithe_exchange_direction(tithe_exchange *ex)
{
    return ex->momentum ? ex->momentum->last : NULL;
}
