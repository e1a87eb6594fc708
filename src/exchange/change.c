/* change.c - another collective, another scheme or another codec between two steps. What is kept stays, and so do the totals. */
#include <stdlib.h>
#include <string.h>

#include "exchange/exchange.h"
#include "exchange/options.h"

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
    if (to->up.tuner == from->up.tuner) {
        void *state = to->up.tuner_state;
        to->up.tuner_state = from->up.tuner_state;
        from->up.tuner_state = state;
    }
    to->stepped = from->stepped;
    to->sliced = from->sliced;
    to->back_given = from->back_given;
    to->tensor = from->tensor;
    to->number = from->number;
    to->put_pool = from->put_pool;
    to->opened = from->opened;
    to->changed = from->changed;
    to->control = from->control;
    to->momentum = from->momentum;
    to->lets_go = from->lets_go;
    to->step = from->step;
    to->gamma = from->gamma;
    to->totals = from->totals;
    to->last = from->last;
    from->sliced = true; /* what it kept is no longer its own */
    from->opened = NULL;
    from->changed = NULL;
    from->control = NULL;
    from->momentum = NULL;
}

/* What owners, or the server, kept of the sums goes to what ranks kept of their own, so that the next scheme sends it. Copies of
 * what others own, which a checkpoint may have left, are of no use. */
static void give_back(tithe_exchange *ex, const tithe_scheme *to)
{
    const tithe_comm *comm = ex->config.comm;
    float *of_sum = ex->server.residual;
    if (!of_sum || !ex->down.feedback->keeps || (ex->scheme->served && to->served)) return;
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
    for (unsigned i = 0; i < local; i++)
        made->workers[i].owes = made->scheme->whole && made->workers[i].residual;
    const tithe_exchange old = *ex;
    *ex = *made;
    *made = old;
    if (!ex->sliced && old.server.residual != ex->server.residual)
        free(old.server.residual); /* it was given back */
    tithe_exchange_free(made);
    return TITHE_OK;
}

/* Memory of the way back belongs to the exchange, and buckets share it; likewise that of ranks. And what is in it must find a
 * place: under a scheme that sends everything it goes with the next gradient. */
static tithe_status expect_room(const tithe_exchange *ex, const tithe_exchange_config *c,
                                const tithe_scheme *scheme, tithe_error *error)
{
    const tithe_feedback *from = ex->config.feedback, *to = c->feedback;
    const bool alone = !ex->buckets && !ex->sliced;
    const bool kept = !ex->config.comm->local || ex->workers[0].residual;
    if (ex->server.residual && !kept)
        return ti_fail(error, TITHE_E_SPEC, 0,
                       "What was kept on the way back could not be sent under another scheme without "
                       "`feedback=ec`: open another "
                       "exchange.");
    if ((from->aggregates || to->aggregates) && from != to)
        return ti_fail(error, TITHE_E_SPEC, 0, "What '%s' keeps is of no use to '%s': open another exchange.",
                       from->name, to->name);
    if (kept && !to->keeps && !scheme->whole)
        return ti_fail(error, TITHE_E_SPEC, 0,
                       "What was kept would never be sent: take `feedback=ec`, or `scheme=dense`, which "
                       "sends it with the next gradient.");
    if (alone || ((ex->server.residual || !c->downlink_feedback->keeps) && (kept || !to->keeps)))
        return TITHE_OK;
    return ti_fail(error, TITHE_E_SPEC, 0,
                   "Buckets cannot change to what keeps more than before: open another exchange.");
}

static tithe_status change(tithe_exchange *ex, const tithe_exchange_config *asked, tithe_error *error);

/* One that is made of others: it sends nothing itself, but speaks for them. */
static tithe_status replace_parts(tithe_exchange *ex, const tithe_exchange_config *asked,
                                  const tithe_exchange_config *c, const exchange_choice *choice,
                                  tithe_error *error)
{
    tithe_status status = TITHE_OK;
    for (unsigned i = 0; i < ti_exchange_parts(ex) && !status; i++) {
        tithe_exchange *part = ti_exchange_part(ex, i);
        tithe_exchange_config of_part = part->config;
        of_part.codec = asked->codec;
        of_part.tuner = asked->tuner;
        of_part.shared_level = asked->shared_level;
        of_part.feedback = asked->feedback;
        of_part.feedback_params = asked->feedback_params;
        of_part.downlink = asked->downlink;
        of_part.downlink_feedback = asked->downlink_feedback;
        of_part.downlink_tuner = asked->downlink_tuner;
        of_part.scheme = asked->scheme;
        of_part.collective = asked->collective;
        of_part.leader = asked->leader;
        status = change(part, &of_part, error);
    }
    if (status) return status;
    ex->config.codec = c->codec;
    ex->config.tuner = c->tuner;
    ex->config.shared_level = c->shared_level;
    ex->config.feedback = c->feedback;
    ex->config.feedback_params = c->feedback_params;
    ex->config.downlink = c->downlink;
    ex->config.downlink_feedback = c->downlink_feedback;
    ex->config.downlink_tuner = c->downlink_tuner;
    ex->scheme = choice->scheme;
    memcpy(ex->scheme_params, choice->params, sizeof choice->params);
    ex->collective = choice->collective;
    ex->collective_name = choice->known_as;
    return TITHE_OK;
}

/* To what the caller asked for: choices that nobody named are still open. */
static tithe_status change(tithe_exchange *ex, const tithe_exchange_config *asked, tithe_error *error)
{
    tithe_exchange_config c = *asked;
    exchange_choice choice;
    tithe_status status = expect_rest(ex, error);
    if (!status) status = ti_exchange_choose(&c, ex->n, &choice, error);
    if (!status) status = expect_no_server(ex, choice.scheme, error);
    if (!status) status = expect_room(ex, &c, choice.scheme, error);
    if (!status) status = ex->buckets ? replace_parts(ex, asked, &c, &choice, error) : replace(ex, &c, error);
    if (status) return status;
    ex->config.scheme = ex->scheme->name; /* names that outlive the caller's */
    ex->config.leader = ti_exchange_leader_name(ex);
    ex->config.collective = ex->collective_name;
    return TITHE_OK;
}

tithe_status tithe_exchange_switch_scheme(tithe_exchange *ex, const char *scheme, const char *collective,
                                          tithe_error *error)
{
    tithe_exchange_config c = ex->config;
    c.scheme = scheme;
    c.collective = collective;
    c.leader = NULL;       /* of the scheme that there was, */
    if (!ex->back_given) { /* as the way back may have been */
        c.downlink = NULL;
        c.downlink_feedback = NULL;
        c.downlink_tuner = NULL;
    }
    return change(ex, &c, error);
}

/* ---- another codec ------------------------------------------------------------------------------------------- */

/* "codec=...;scheme=...": of the options of an exchange those that say how messages are made and sent. */
static tithe_status expect_keys(const char *options, tithe_error *error)
{
    static const char list[] = "codec, feedback, downlink, downlink-feedback, scheme, collective and leader";
    static const char *const keys[] = {"codec",  "feedback",   "downlink", "downlink-feedback",
                                       "scheme", "collective", "leader"};
    for (const char *at = options; *at; at += strcspn(at, ";"), at += *at == ';') {
        const size_t length = strcspn(at, "=;");
        bool known = false;
        for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
            known = known || (strlen(keys[i]) == length && memcmp(keys[i], at, length) == 0);
        if (!known)
            return ti_fail(error, TITHE_E_SPEC, (size_t)(at - options),
                           "'%.*s' cannot change between two steps: %s can.",
                           (int)(length < 40 ? length : 40), at, list);
    }
    return TITHE_OK;
}

static tithe_status change_by(tithe_exchange *ex, char *text, exchange_methods *m, tithe_error *error)
{
    exchange_options o = {0};
    tithe_status status = tithe_options_read(ti_exchange_option_table, text, &o, error);
    if (!status)
        status =
            ti_exchange_find(o.codec, o.feedback, NULL, o.scheme, o.downlink, o.downlink_feedback, m, error);
    if (!status && m->tuner->tunes)
        status = ti_fail(error, TITHE_E_SPEC, 0, "The codec '%.80s' has to state its level.", o.codec);
    if (status) return status;
    tithe_exchange_config c = ex->config;
    c.codec = m->codec;
    if (c.tuner->tunes) c.tuner = m->tuner;
    c.shared_level = false;
    c.feedback = m->feedback;
    c.feedback_params = m->feedback_params;
    c.downlink = m->downlink;
    c.downlink_feedback = m->downlink_feedback;
    c.downlink_tuner = m->downlink_tuner;
    c.scheme = o.scheme;
    c.collective = o.collective;
    c.leader = o.leader;
    status = change(ex, &c, error);
    if (!status) ex->back_given = m->downlink != NULL;
    for (unsigned i = 0; i < ti_exchange_parts(ex); i++) ti_exchange_part(ex, i)->back_given = ex->back_given;
    return status;
}

tithe_status tithe_exchange_change(tithe_exchange *ex, const char *options, tithe_error *error)
{
    if (!ex || !options) return ti_fail(error, TITHE_E_ARGUMENT, 0, "An exchange and options are needed.");
    tithe_status status = expect_keys(options, error);
    if (status) return status;
    const size_t size = strlen(options) + 1;
    char *text = malloc(size);
    exchange_methods *m = calloc(1, sizeof *m);
    if (text && m) {
        memcpy(text, options, size);
        status = change_by(ex, text, m, error);
    } else {
        status = ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory for another codec.");
    }
    free(text);
    exchange_methods *old = m;
    if (!status) { /* what there was is no longer in use */
        old = ex->changed;
        ex->changed = m;
    }
    if (old) ti_exchange_methods_free(old);
    free(old);
    return status;
}
