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
        next->sent = w->sent;
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
    to->back_given = from->back_given;
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

/* What owners, or the server, kept of the sums goes to what ranks kept of their own, so that the next scheme sends it. Copies of
 * what others own, which a checkpoint may have left, are of no use. */
static void give_back(tithe_exchange *ex, const tithe_scheme *to)
{
    const tithe_comm *comm = ex->config.comm;
    float *of_sum = ex->server.residual;
    if (!of_sum || (ex->scheme->served && to->served)) return;
    for (unsigned i = 0; ex->scheme->cuts && i < comm->local; i++) {
        size_t begin;
        const size_t count = tithe_exchange_owned(ex, comm->first + i, 0, &begin);
        for (size_t j = begin; j < begin + count; j++) ex->workers[i].residual[j] += of_sum[j];
    }
    const bool serves = ex->scheme->served && comm->local && comm_is_local(comm, comm->server);
    for (size_t j = 0; serves && j < ex->n; j++)
        ex->workers[comm->server - comm->first].residual[j] += of_sum[j];
    if (ex->n) memset(of_sum, 0, ex->n * sizeof *of_sum);
}

/* A new exchange around what the old one keeps, in its place. */
static tithe_status replace(tithe_exchange *ex, const tithe_exchange_config *c, tithe_error *error)
{
    const unsigned local = ex->config.comm->local;
    float **residual = calloc(local + 1, sizeof *residual);
    if (!residual) return ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory for another scheme.");
    for (unsigned i = 0; i < local; i++) residual[i] = ex->workers[i].residual;
    const exchange_slice all = {
        .residual = residual, .aggregate = ex->aggregate, .server_residual = ex->server.residual};
    tithe_exchange *made = NULL;
    const tithe_status status = ti_exchange_create_whole(c, ex->n, &all, &made, error);
    free(residual);
    if (status) return status;
    give_back(ex, made->scheme);
    hand_over(ex, made);
    const tithe_exchange old = *ex;
    *ex = *made;
    *made = old;
    if (!ex->sliced && old.server.residual != ex->server.residual)
        free(old.server.residual); /* it was given back */
    tithe_exchange_free(made);
    return TITHE_OK;
}

/* Memory of the way back belongs to the exchange, and buckets share it. And what is in it must find a place. */
static tithe_status expect_room(const tithe_exchange *ex, const tithe_exchange_config *c, tithe_error *error)
{
    const bool has = ex->server.residual != NULL, alone = !ex->buckets && !ex->sliced;
    if (has && !c->feedback->keeps)
        return ti_fail(error, TITHE_E_SPEC, 0,
                       "What was kept on the way back could not be sent under another scheme without "
                       "`feedback=ec`: open another "
                       "exchange.");
    if (alone || has == c->downlink_feedback->keeps) return TITHE_OK;
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
