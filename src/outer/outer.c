/* outer.c - see outer.h. Keys: douillard2023diloco, sarfi2025sparseloco; a message is Q(T(x) - x) as in the oldest form (horvath2022natural). */
#include "tithe/outer.h"

#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "base/status.h"
#include "exchange/exchange.h"
#include "kernels/kernels.h"

typedef struct outer_options {
    double lr, momentum;
    bool nesterov;
} outer_options;

#define OPTIONS outer_options
static const tithe_option table[] = {
    {"lr", "X", "the outer learning rate: how much of the mean the shared model moves by", "1",
     TITHE_OPTION_REAL, TITHE_OPTION_AGREES, OPTION_PLACE(lr), .real_min = 1e-6, .real_max = 1e3},
    {"momentum", "M", "of the outer step", "0", TITHE_OPTION_REAL, TITHE_OPTION_AGREES,
     OPTION_PLACE(momentum), .real_min = 0, .real_max = 1},
    {"nesterov", NULL, "Nesterov's, with `momentum`", NULL, TITHE_OPTION_FLAG, TITHE_OPTION_AGREES,
     OPTION_PLACE(nesterov)},
    {.name = NULL},
};

/* A local rank. */
typedef struct outer_rank {
    float *moved; /* since it started */
    float *start; /* NULL: where the shared model is */
    bool put;
} outer_rank;

struct tithe_outer {
    tithe_exchange *ex;
    outer_options options;
    float *shared, *momentum; /* the latter may be NULL */
    outer_rank *ranks;
};

const tithe_option *tithe_outer_option_table(void)
{
    return table;
}

void tithe_outer_free(tithe_outer *outer)
{
    if (!outer) return;
    for (unsigned i = 0; outer->ranks && i < outer->ex->config.comm->local; i++) {
        free(outer->ranks[i].moved);
        free(outer->ranks[i].start);
    }
    free(outer->ranks);
    free(outer->shared);
    free(outer->momentum);
    free(outer);
}

/* ---- opening --------------------------------------------------------------------------------------------- */

static tithe_status fail_memory(tithe_error *error)
{
    return ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory for the shared model.");
}

static tithe_status read_options(const char *text, outer_options *o, tithe_error *error)
{
    const size_t length = text ? strlen(text) : 0;
    char *copy = calloc(length + 1, 1);
    if (!copy) return fail_memory(error);
    if (length) memcpy(copy, text, length);
    tithe_status status = tithe_options_read(table, copy, o, error);
    free(copy);
    if (!status && o->nesterov && o->momentum == 0)
        status = ti_fail(error, TITHE_E_SPEC, 0, "`nesterov` is a kind of momentum: state `momentum`, too.");
    return status;
}

static bool make_room(tithe_outer *o)
{
    bool enough = true;
    const unsigned local = o->ex->config.comm->local;
    o->shared = exchange_room(o->ex->n, sizeof(float), &enough);
    if (o->options.momentum > 0) o->momentum = exchange_room(o->ex->n, sizeof(float), &enough);
    o->ranks = exchange_room(local, sizeof *o->ranks, &enough);
    for (unsigned i = 0; enough && i < local; i++)
        o->ranks[i].moved = exchange_room(o->ex->n, sizeof(float), &enough);
    return enough;
}

tithe_status tithe_outer_open(tithe_exchange *ex, const char *options, tithe_outer **outer,
                              tithe_error *error)
{
    if (!ex || !outer)
        return ti_fail(error, TITHE_E_ARGUMENT, 0, "An exchange and a place for the outer loop are needed.");
    if (ex->config.momentum != 0)
        return ti_fail(
            error, TITHE_E_SPEC, 0,
            "The momentum of an outer loop is its own option: open the exchange without `momentum`.");
    tithe_outer *made = calloc(1, sizeof *made);
    if (!made) return fail_memory(error);
    made->ex = ex;
    tithe_status status = read_options(options, &made->options, error);
    if (!status && !make_room(made)) status = fail_memory(error);
    if (status)
        tithe_outer_free(made);
    else
        *outer = made;
    return status;
}

/* ---- layers ---------------------------------------------------------------------------------------------- */

static size_t layer_count(const tithe_outer *o)
{
    const size_t count = o->ex->config.layer_count;
    return count ? count : 1;
}

static size_t layer_length(const tithe_outer *o, size_t layer)
{
    return o->ex->config.layer_count ? o->ex->config.layers[layer] : o->ex->n;
}

static tithe_status find_rank(const tithe_outer *o, unsigned rank, const void *layers, outer_rank **found,
                              tithe_error *error)
{
    const tithe_comm *comm = o->ex->config.comm;
    if (!layers || !comm_is_local(comm, rank))
        return ti_fail(error, TITHE_E_ARGUMENT, rank,
                       "Layers of a rank of this process are needed, not of rank %u.", rank);
    *found = &o->ranks[rank - comm->first];
    return TITHE_OK;
}

static void gather_layers(const tithe_outer *o, const float *const *layers, float *vector)
{
    for (size_t l = 0; l < layer_count(o); l++) {
        const size_t length = layer_length(o, l);
        if (length) memcpy(vector, layers[l], length * sizeof *vector);
        vector += length;
    }
}

static void scatter_layers(const tithe_outer *o, const float *vector, float *const *layers)
{
    for (size_t l = 0; l < layer_count(o); l++) {
        const size_t length = layer_length(o, l);
        if (length) memcpy(layers[l], vector, length * sizeof *vector);
        vector += length;
    }
}

/* ---- rounds ---------------------------------------------------------------------------------------------- */

tithe_status tithe_outer_begin(tithe_outer *outer, const float *const *layers, tithe_error *error)
{
    if (!outer || !layers) return ti_fail(error, TITHE_E_ARGUMENT, 0, "The layers of the model are needed.");
    gather_layers(outer, layers, outer->shared);
    for (unsigned i = 0; i < outer->ex->config.comm->local; i++) {
        free(outer->ranks[i].start);
        outer->ranks[i].start = NULL;
        outer->ranks[i].put = false;
    }
    return TITHE_OK;
}

static const float *start_of(const tithe_outer *o, const outer_rank *r)
{
    return r->start ? r->start : o->shared;
}

tithe_status tithe_outer_put(tithe_outer *outer, unsigned rank, const float *const *layers,
                             tithe_error *error)
{
    outer_rank *r = NULL;
    const tithe_status status = find_rank(outer, rank, layers, &r, error);
    if (status) return status;
    const float *start = start_of(outer, r);
    float *moved = r->moved;
    for (size_t l = 0; l < layer_count(outer); l++) {
        const size_t length = layer_length(outer, l);
        for (size_t i = 0; i < length; i++) moved[i] = start[i] - layers[l][i];
        moved += length;
        start += length;
    }
    r->put = true;
    return TITHE_OK;
}

static tithe_status fail_missing(unsigned rank, tithe_error *error)
{
    return ti_fail(error, TITHE_E_ARGUMENT, rank, "Rank %u was not put: call tithe_outer_put first.", rank);
}

static bool make_start(const tithe_outer *o, outer_rank *r)
{
    bool enough = true;
    if (!r->start) r->start = exchange_room(o->ex->n, sizeof(float), &enough);
    return enough;
}

tithe_status tithe_outer_go_on(tithe_outer *outer, unsigned rank, float *const *layers, tithe_error *error)
{
    outer_rank *r = NULL;
    const size_t n = outer->ex->n;
    const tithe_status status = find_rank(outer, rank, layers, &r, error);
    if (status) return status;
    if (!r->put) return fail_missing(rank, error);
    if (!make_start(outer, r)) return fail_memory(error);
    const bool finite = ti_kernels()->find_nonfinite(r->moved, n) == n;
    const float lr = (float)outer->options.lr;
    for (size_t i = 0; i < n; i++) r->start[i] = outer->shared[i] - (finite ? lr * r->moved[i] : 0);
    scatter_layers(outer, r->start, layers);
    return TITHE_OK;
}

/* What the ranks have moved, in the mean, into that of the first one. */
static tithe_status exchange_moves(tithe_outer *o, tithe_error *error)
{
    const tithe_comm *comm = o->ex->config.comm;
    if (comm->local == 1) return tithe_exchange_step(o->ex, o->ranks->moved, 1, error);
    tithe_status status = TITHE_OK;
    for (unsigned i = 0; i < comm->local && !status; i++)
        status = tithe_exchange_put(o->ex, comm->first + i, 0, o->ranks[i].moved, 1, error);
    return status ? status : tithe_exchange_finish(o->ex, o->ranks->moved, error);
}

static void move_shared(tithe_outer *o, const float *mean)
{
    const float lr = (float)o->options.lr, mu = (float)o->options.momentum;
    float *shared = o->shared, *m = o->momentum;
    for (size_t i = 0; i < o->ex->n; i++) {
        if (m) m[i] = mu * m[i] + mean[i];
        shared[i] -= lr * (!m ? mean[i] : o->options.nesterov ? mean[i] + mu * m[i] : m[i]);
    }
}

tithe_status tithe_outer_exchange(tithe_outer *outer, tithe_error *error)
{
    const tithe_comm *comm = outer->ex->config.comm;
    for (unsigned i = 0; i < comm->local; i++) {
        if (!outer->ranks[i].put) return fail_missing(comm->first + i, error);
        outer->ranks[i].put = false;
    }
    const tithe_status status = exchange_moves(outer, error);
    if (!status) move_shared(outer, outer->ranks->moved);
    return status;
}

tithe_status tithe_outer_get(tithe_outer *outer, unsigned rank, float *const *layers, tithe_error *error)
{
    outer_rank *r = NULL;
    const tithe_status status = find_rank(outer, rank, layers, &r, error);
    if (status) return status;
    free(r->start);
    r->start = NULL;
    r->put = false;
    scatter_layers(outer, outer->shared, layers);
    return TITHE_OK;
}

/* ---- what is kept ---------------------------------------------------------------------------------------- */

float *tithe_outer_shared(tithe_outer *outer)
{
    return outer->shared;
}

float *tithe_outer_momentum(tithe_outer *outer)
{
    return outer->momentum;
}

float *tithe_outer_start(tithe_outer *outer, unsigned rank)
{
    const tithe_comm *comm = outer->ex->config.comm;
    return comm_is_local(comm, rank) ? outer->ranks[rank - comm->first].start : NULL;
}

tithe_status tithe_outer_start_at(tithe_outer *outer, unsigned rank, const float *start, tithe_error *error)
{
    outer_rank *r = NULL;
    const tithe_status status = find_rank(outer, rank, start, &r, error);
    if (status) return status;
    if (!make_start(outer, r)) return fail_memory(error);
    if (outer->ex->n) memcpy(r->start, start, outer->ex->n * sizeof *start);
    return TITHE_OK;
}
