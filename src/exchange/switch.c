/* switch.c - another collective or another scheme between two steps. What is kept stays, and so do the totals. */
#include <stdlib.h>
#include <string.h>

#include "exchange/exchange.h"

static tithe_status expect_rest(const tithe_exchange *ex, tithe_error *error)
{
    for (unsigned i = 0; i < ex->config.comm->local; i++)
        if (ex->workers[i].state != WORKER_IDLE)
            return ti_fail(error, TITHE_E_ARGUMENT, i, "A step has begun: change what sends it after it.");
    return TITHE_OK;
}

tithe_status tithe_exchange_switch(tithe_exchange *ex, const char *collective, tithe_error *error)
{
    tithe_exchange_config c = ex->config;
    exchange_choice choice = {.scheme = ex->scheme};
    c.collective = collective;
    tithe_status status = expect_rest(ex, error);
    if (!status) status = ti_exchange_choose_collective(&c, ex->n, &choice, error);
    for (unsigned i = 0; i < ti_exchange_parts(ex) && !status; i++) {
        tithe_exchange *part = ti_exchange_part(ex, i);
        if (part != ex) status = tithe_exchange_switch(part, collective, error);
    }
    if (status) return status;
    ex->collective = choice.collective;
    ex->config.collective = ex->collective_name = choice.known_as;
    return TITHE_OK;
}

/* ---- another scheme ---------------------------------------------------------------------------------------- */

/* A server without ranks is called by the scheme, and hears of no other. */
static tithe_status expect_no_server(const tithe_exchange *ex, const tithe_scheme *to, tithe_error *error)
{
    const tithe_comm *comm = ex->config.comm;
    if (comm->server < comm->size || !(ex->scheme->served || to->served)) return TITHE_OK;
    return ti_fail(error, TITHE_E_SPEC, 0,
                   "The server cannot follow from the scheme '%s' to '%s': open another exchange.",
                   ex->scheme->name, to->name);
}

/* What the last step left, for those who still ask about it, and what goes on. */
static void hand_over(tithe_exchange *from, tithe_exchange *to)
{
    for (unsigned i = 0; i < from->config.comm->local; i++) {
        const exchange_worker *w = &from->workers[i];
        exchange_worker *next = &to->workers[i];
        next->was_put = w->was_put;
        next->info = w->info;
        next->energy = w->energy;
        next->unsent = w->unsent;
        next->reason = w->reason;
    }
    size_t *lengths = to->lengths;
    to->lengths = from->lengths; /* which the shape of the step points into */
    from->lengths = lengths;
    void *state = to->up.tuner_state;
    to->up.tuner_state = from->up.tuner_state;
    from->up.tuner_state = state;
    to->stepped = from->stepped;
    to->sliced = from->sliced;
    to->tensor = from->tensor;
    to->number = from->number;
    to->put_pool = from->put_pool;
    to->opened = from->opened;
    to->step = from->step;
    to->gamma = from->gamma;
    to->totals = from->totals;
    to->last = from->last;
    from->sliced = true; /* what it kept is no longer its own */
    from->opened = NULL;
}

/* Owners add what they kept of the sums to what they kept of their own, so that the next scheme sends it. */
static void give_back(tithe_exchange *ex)
{
    const tithe_comm *comm = ex->config.comm;
    for (unsigned i = 0; ex->scheme->cuts && ex->server.kept && i < comm->local; i++) {
        size_t begin;
        const size_t count = tithe_exchange_owned(ex, comm->first + i, 0, &begin);
        float *mine = ex->workers[i].kept, *of_sum = ex->server.kept;
        for (size_t j = begin; mine && j < begin + count; j++) {
            mine[j] += of_sum[j];
            of_sum[j] = 0;
        }
    }
}

/* A new exchange around what the old one keeps, in its place. */
static tithe_status replace(tithe_exchange *ex, const tithe_exchange_config *c, tithe_error *error)
{
    const unsigned local = ex->config.comm->local;
    float **kept = calloc(local + 1, sizeof *kept);
    if (!kept) return ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory for another scheme.");
    for (unsigned i = 0; i < local; i++) kept[i] = ex->workers[i].kept;
    const exchange_slice all = {.kept = kept, .aggregate = ex->aggregate, .server_kept = ex->server.kept};
    tithe_exchange *made = NULL;
    const tithe_status status = ti_exchange_create_whole(c, ex->n, &all, &made, error);
    free(kept);
    if (status) return status;
    give_back(ex);
    hand_over(ex, made);
    const tithe_exchange old = *ex;
    *ex = *made;
    *made = old;
    if (old.server.kept != ex->server.kept) free(old.server.kept); /* it was given back */
    tithe_exchange_free(made);
    return TITHE_OK;
}

/* Memory of the way back belongs to the exchange, and buckets share it. */
static tithe_status expect_room(const tithe_exchange *ex, const tithe_exchange_config *c, tithe_error *error)
{
    if (!ex->buckets || (ex->server.kept != NULL) == c->downlink_feedback->keeps) return TITHE_OK;
    return ti_fail(
        error, TITHE_E_SPEC, 0,
        "Buckets cannot change to a scheme that keeps more or less on the way back: open another exchange.");
}

/* One that is made of others: it sends nothing itself, but speaks for them. */
static tithe_status replace_parts(tithe_exchange *ex, const tithe_exchange_config *c,
                                  const exchange_choice *choice, tithe_error *error)
{
    tithe_status status = TITHE_OK;
    for (unsigned i = 0; i < ti_exchange_parts(ex) && !status; i++)
        status = tithe_exchange_switch_scheme(ti_exchange_part(ex, i), c->scheme, c->collective, error);
    if (status) return status;
    ex->scheme = choice->scheme;
    memcpy(ex->scheme_params, choice->params, sizeof choice->params);
    ex->collective = choice->collective;
    ex->collective_name = choice->known_as;
    return TITHE_OK;
}

tithe_status tithe_exchange_switch_scheme(tithe_exchange *ex, const char *scheme, const char *collective,
                                          tithe_error *error)
{
    tithe_exchange_config c = ex->config;
    exchange_choice choice;
    c.scheme = scheme;
    c.collective = collective;
    c.leader = NULL;       /* of the scheme that there was, */
    if (!ex->back_given) { /* as the way back may have been */
        c.downlink = NULL;
        c.downlink_feedback = NULL;
        c.downlink_tuner = NULL;
    }
    tithe_status status = expect_rest(ex, error);
    if (!status) status = ti_exchange_choose(&c, ex->n, &choice, error);
    if (!status) status = expect_no_server(ex, choice.scheme, error);
    if (!status) status = expect_room(ex, &c, error);
    if (!status) status = ex->buckets ? replace_parts(ex, &c, &choice, error) : replace(ex, &c, error);
    if (status) return status;
    ex->config.scheme = ex->scheme->name; /* names that outlive the caller's */
    ex->config.leader = ti_exchange_leader_name(ex);
    ex->config.collective = ex->collective_name;
    return TITHE_OK;
}
