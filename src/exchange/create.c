/* create.c - an exchange from its configuration: the scheme, the collective, and all memory that steps will need. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/spec.h"
#include "codec/codec.h"
#include "coll/coll.h"
#include "exchange/buckets.h"
#include "exchange/control.h"
#include "exchange/momentum.h"
#include "exchange/options.h"
#include "feedback/kinds.h"
#include "tuner/search.h"

/* ---- what it needs to know ------------------------------------------------------------------------------- */

/* What a message of a local rank, counted from 0, costs. */
static const tithe_cost *cost_of(const tithe_exchange *ex, unsigned local)
{
    const tithe_exchange_config *c = &ex->config;
    if (!c->rank_costs) return c->cost;
    return c->rank_costs[c->comm->first + local < c->comm->size ? c->comm->first + local : 0];
}

/* The levels among which a shared one is chosen. */
static tithe_status find_levels(tithe_exchange *ex, tithe_error *error)
{
    const tithe_tuner_call c = ti_exchange_tuner_call(&ex->up, &(exchange_worker){.cost = cost_of(ex, 0)},
                                                      &(exchange_lane){0}, NULL, 1);
    ex->level_count = tithe_tuner_grid(&c, ex->levels, TITHE_GRID_MAX);
    if (ex->level_count) return TITHE_OK;
    return ti_fail(error, TITHE_E_SPEC, 0, "%s has no level that ranks could share: take `level=local`.",
                   tithe_codec_spec(ex->config.codec));
}

/* ---- memory -------------------------------------------------------------------------------------------- */

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static exchange_way make_way(const tithe_exchange *ex, const tithe_codec *codec,
                             const tithe_feedback *feedback, const tithe_tuner *tuner)
{
    return (exchange_way){.codec = codec,
                          .layers = ex->config.layer_count ? ex->config.layers : NULL,
                          .segment_count = ex->config.layer_count ? ex->config.layer_count : 1,
                          .feedback = feedback ? feedback : &ti_feedback_none,
                          .tuner = tuner,
                          .count_paper = ex->config.count_paper,
                          .n = ex->n,
                          .capacity = larger(tithe_codec_bound(codec, ex->n), REFUSAL_BYTES),
                          .scratch_size = tithe_codec_scratch(codec, ex->n),
                          .tuner_scratch_size = tuner->scratch(codec, ex->n)};
}

static bool make_lane(const exchange_way *way, bool measure, exchange_lane *lane)
{
    bool enough = true;
    lane->scratch = exchange_room(way->scratch_size, 1, &enough);
    lane->tuner_scratch = exchange_room(way->tuner_scratch_size, 1, &enough);
    if (way->tuner->tunes) lane->levels = exchange_room(way->segment_count, sizeof *lane->levels, &enough);
    if (way->feedback->works || measure) lane->work = exchange_room(way->n, sizeof(float), &enough);
    return enough;
}

/* `slice`: where a bucket finds what is kept; NULL: it keeps it itself. */
static bool make_worker(const tithe_exchange *ex, const exchange_way *way, const float *slice, bool framed,
                        exchange_worker *w)
{
    bool enough = true;
    if (framed) w->frame = exchange_room(way->capacity, 1, &enough);
    if (slice)
        w->residual = (float *)slice; /* kept or not: it may be needed again */
    else if (way->feedback->keeps)
        w->residual = exchange_room(ex->n, sizeof(float), &enough);
    if (way->waits && enough) enough = ti_late_open(&w->late, ex->n);
    if (w->residual && ex->config.skip_nonfinite)
        w->before.numbers = exchange_room(ex->n, sizeof(float), &enough);
    return enough;
}

static bool make_workers(tithe_exchange *ex, const exchange_slice *slice)
{
    bool enough = true;
    const tithe_exchange_config *c = &ex->config;
    /* gradients as they are, or what is formed of them where no feedback has a place for it */
    const bool vectors = ex->scheme->whole || (ex->scheme->forms && !ex->up.feedback->keeps);
    if (vectors) ex->vectors = exchange_room(c->comm->local, sizeof *ex->vectors, &enough);
    for (unsigned i = 0; enough && i < c->comm->local; i++) {
        exchange_worker *w = &ex->workers[i];
        w->cost = cost_of(ex, i);
        if (vectors) ex->vectors[i] = exchange_room(ex->n, sizeof(float), &enough);
        enough = enough && make_worker(ex, &ex->up,
                                       slice && slice->residual[i] ? slice->residual[i] + slice->begin : NULL,
                                       !ex->scheme->whole, w);
        if (enough && c->shared_level) {
            w->curve = exchange_room(ex->level_count, sizeof(double), &enough);
            w->costs = exchange_room(ex->level_count, sizeof(double), &enough);
        }
    }
    return enough;
}

static bool make_server(tithe_exchange *ex, const exchange_slice *slice)
{
    bool enough = true;
    ex->server.cost = cost_of(ex, 0);
    ex->sum = exchange_room(ex->n, sizeof(float), &enough);
    return enough && make_lane(&ex->down, false, &ex->server_lane) &&
           make_worker(ex, &ex->down,
                       slice && slice->server_residual ? slice->server_residual + slice->begin : NULL, true,
                       &ex->server);
}

/* Frames of other processes, where all of them come here; otherwise one at a time, or a dense vector. */
static bool make_inbox(tithe_exchange *ex)
{
    bool enough = true;
    const size_t size = ex->config.comm->size;
    ex->blocks = exchange_room(size, sizeof *ex->blocks, &enough);
    ex->lengths = exchange_room(size, sizeof *ex->lengths, &enough);
    ex->length_bytes = exchange_room(size, TITHE_LENGTH_BYTES, &enough);
    if (!exchange_is_remote(ex)) return enough;
    ex->inbox_size = larger(ex->up.capacity * (ex->scheme->gathers ? size : 1), ex->n * sizeof(float));
    ex->inbox = exchange_room(ex->inbox_size, 1, &enough);
    return enough;
}

/* A bucket may have been sent, and what it keeps have changed, when a later one is refused. */
static bool make_copies(tithe_exchange *ex)
{
    bool enough = true;
    if (!ex->sliced || !ex->config.skip_nonfinite) return true;
    ex->learned_before = exchange_room(tithe_exchange_learned(ex, NULL), sizeof(double), &enough);
    if (ex->aggregate) ex->aggregate_before.numbers = exchange_room(ex->n, sizeof(float), &enough);
    return enough;
}

static tithe_status fail_memory(const tithe_exchange *ex, tithe_error *error)
{
    return ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory for %u ranks with %zu numbers each.",
                   ex->config.comm->local, ex->n);
}

static tithe_status open_tuner(tithe_exchange *ex, tithe_error *error)
{
    exchange_way *up = &ex->up;
    double params[TITHE_MAX_PARAMS];
    if (!up->tuner->open) return TITHE_OK;
    ti_exchange_tuner_params(&ex->config, params);
    return up->tuner->open(up->codec, ex->n, params, &up->tuner_state, error);
}

static float find_decay(const tithe_exchange_config *c)
{
    double params[TITHE_MAX_PARAMS];
    if (!c->feedback->decay) return 1;
    for (size_t i = 0; i < TITHE_MAX_PARAMS; i++)
        params[i] = c->feedback_params ? c->feedback_params[i] : NAN;
    ti_spec_defaults(c->feedback->params, params);
    return (float)c->feedback->decay(params);
}

static tithe_status make_room(tithe_exchange *ex, const exchange_slice *slice, tithe_error *error)
{
    bool enough = true;
    tithe_status status = tithe_codec_create("all|raw", NULL, &ex->raw, error);
    if (status) return status;
    ex->raw_bytes = tithe_codec_length(ex->raw, ex->n, ex->n, TITHE_EXCHANGE);
    const tithe_exchange_config *c = &ex->config;
    ex->up = make_way(ex, c->codec, c->feedback, c->tuner);
    ex->decay = find_decay(c);
    ex->down = make_way(ex, c->downlink ? c->downlink : ex->raw, c->downlink_feedback,
                        c->downlink ? c->downlink_tuner : &ti_tuner_fixed);
    ex->up.waits = ti_exchange_waits(c);
    status = open_tuner(ex, error);
    if (!status && c->shared_level) status = find_levels(ex, error);
    if (status) return status;
    ex->workers = exchange_room(ex->config.comm->local, sizeof *ex->workers, &enough);
    ex->lanes = exchange_room(ex->lane_count, sizeof *ex->lanes, &enough);
    if (enough && ex->config.feedback->aggregates)
        ex->aggregate =
            slice ? slice->aggregate + slice->begin : exchange_room(ex->n, sizeof(float), &enough);
    for (unsigned l = 0; enough && l < ex->lane_count; l++)
        enough = make_lane(&ex->up, ex->config.measure, &ex->lanes[l]);
    if (!enough || !make_workers(ex, slice) || !make_server(ex, slice) || !make_inbox(ex))
        return fail_memory(ex, error);
    return TITHE_OK;
}

/* What is kept, for all buckets in one piece. */
static tithe_status make_residuals(tithe_exchange *ex, tithe_error *error)
{
    bool enough = true;
    const tithe_exchange_config *c = &ex->config;
    ex->workers = exchange_room(c->comm->local, sizeof *ex->workers, &enough);
    for (unsigned i = 0; enough && c->feedback->keeps && i < c->comm->local; i++)
        ex->workers[i].residual = exchange_room(ex->n, sizeof(float), &enough);
    if (c->feedback->aggregates) ex->aggregate = exchange_room(ex->n, sizeof(float), &enough);
    if (c->downlink_feedback->keeps) ex->server.residual = exchange_room(ex->n, sizeof(float), &enough);
    return enough ? TITHE_OK : fail_memory(ex, error);
}

/* ---- all of it ------------------------------------------------------------------------------------------- */

/* Everything but memory. */
static tithe_status make_exchange(const tithe_exchange_config *config, size_t n, tithe_exchange **ex,
                                  tithe_error *error)
{
    if (!config || config->size < sizeof *config || !config->comm || !config->codec || !ex)
        return ti_fail(
            error, TITHE_E_ARGUMENT, 0,
            "A configuration with its size in `size`, a group of ranks, a codec and a place for the "
            "exchange are needed.");
    tithe_exchange_config c = *config;
    if (!c.feedback) c.feedback = &ti_feedback_none;
    if (!c.tuner) c.tuner = &ti_tuner_fixed;
    exchange_choice choice;
    const tithe_status status = ti_exchange_choose(&c, n, &choice, error);
    if (status) return status;

    tithe_exchange *made = calloc(1, sizeof *made);
    if (!made) return ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory for an exchange.");
    made->config = c;
    made->back_given = config->downlink != NULL;
    made->scheme = choice.scheme;
    memcpy(made->scheme_params, choice.params, sizeof choice.params);
    made->collective = choice.collective;
    made->collective_name = choice.known_as;
    made->n = n;
    made->shape = (tithe_step_shape){.ranks = c.comm->size,
                                     .server_apart = c.comm->server == c.comm->size,
                                     .n = (double)n,
                                     .frames = {.count = c.comm->size},
                                     .parts = {.count = c.comm->size}};
    made->put_pool = c.pool;
    made->totals.size = sizeof made->totals;
    made->last = (tithe_exchange_record){.size = sizeof made->last,
                                         .scheme = choice.scheme->name,
                                         .collective = choice.known_as,
                                         .leader = -1,
                                         .reason = ""};
    made->lane_count = c.lanes ? c.lanes : tithe_pool_threads(c.pool);
    *ex = made;
    return TITHE_OK;
}

tithe_status ti_exchange_create_whole(const tithe_exchange_config *config, size_t n,
                                      const exchange_slice *slice, tithe_exchange **ex, tithe_error *error)
{
    tithe_exchange *made = NULL;
    tithe_status status = make_exchange(config, n, &made, error);
    if (status) return status;
    made->kind = &ti_exchange_leaf;
    made->sliced = slice != NULL;
    status = make_room(made, slice, error);
    if (!status && made->scheme->open) status = made->scheme->open(made, error);
    if (!status && !make_copies(made)) status = fail_memory(made, error);
    if (status)
        tithe_exchange_free(made);
    else
        *ex = made;
    return status;
}

static tithe_status expect_layers(const tithe_exchange_config *c, size_t n, tithe_error *error)
{
    size_t sum = 0;
    for (size_t l = 0; l < c->layer_count; l++) sum += c->layers[l];
    if (c->layer_count == 0 || sum == n) return TITHE_OK;
    return ti_fail(error, TITHE_E_ARGUMENT, 0, "The layers have %zu numbers together, the vector %zu.", sum,
                   n);
}

static tithe_status create(const tithe_exchange_config *config, size_t n, tithe_exchange **ex,
                           tithe_error *error)
{
    const size_t count =
        config && config->bucket_bytes
            ? ti_buckets_layout(n, config->layers, config->layer_count, config->bucket_bytes, NULL)
            : 1;
    /* layers may come one by one, also where they all fit into one message */
    if (count == 0 || (count == 1 && !(config && config->bucket_bytes && config->layer_count > 1)))
        return ti_exchange_create_whole(config, n, NULL, ex, error);
    tithe_exchange *made = NULL;
    tithe_status status = expect_layers(config, n, error);
    if (!status) status = make_exchange(config, n, &made, error);
    if (status) return status;
    made->kind = &ti_exchange_buckets;
    status = make_residuals(made, error);
    if (!status) status = ti_buckets_open(made, count, error);
    if (status)
        tithe_exchange_free(made);
    else
        *ex = made;
    return status;
}

/* Under a tuner that steers: with memory for everything that any setting keeps, and then as the first one has it. */
static tithe_status create_steered(const tithe_exchange_config *config, size_t n, tithe_exchange **ex,
                                   tithe_error *error)
{
    exchange_methods all;
    tithe_exchange *made = NULL;
    tithe_status status = ti_control_refuse(config, error);
    if (!status) status = ti_exchange_find("all|natural", "ec", "fixed", "shards", NULL, NULL, &all, error);
    if (status) return status;
    tithe_exchange_config c = *config;
    c.codec = all.codec;
    c.feedback = all.feedback;
    c.feedback_params = NULL;
    c.tuner = all.tuner;
    c.tuner_params = NULL;
    c.scheme = "shards";
    c.collective = NULL;
    status = create(&c, n, &made, error);
    if (!status) status = ti_control_open(made, config, error);
    ti_exchange_methods_free(&all);
    if (status)
        tithe_exchange_free(made);
    else
        *ex = made;
    return status;
}

tithe_status tithe_exchange_create(const tithe_exchange_config *config, size_t n, tithe_exchange **ex,
                                   tithe_error *error)
{
    const bool whole = config && config->size >= sizeof *config && config->comm && config->codec && ex;
    if (!whole) return create(config, n, ex, error); /* which says what is missing */
    tithe_exchange_config c = *config;
    if (c.momentum != 0) c.stays = true; /* what is sent is our own */
    tithe_exchange *made = NULL;
    tithe_status status =
        c.tuner && c.tuner->steer ? create_steered(&c, n, &made, error) : create(&c, n, &made, error);
    if (!status && c.momentum != 0) status = ti_momentum_open(made, error);
    if (status)
        tithe_exchange_free(made);
    else
        *ex = made;
    return status;
}

void tithe_exchange_free(tithe_exchange *ex)
{
    if (!ex) return;
    ti_control_close(ex->control);
    ti_momentum_close(ex);
    if (ex->kind) ex->kind->close(ex);
    for (unsigned i = 0; ex->workers && !ex->sliced && i < ex->config.comm->local; i++)
        free(ex->workers[i].residual);
    if (!ex->sliced) {
        free(ex->aggregate);
        free(ex->server.residual);
    }
    ti_exchange_opened_free(ex->opened);
    if (ex->changed) ti_exchange_methods_free(ex->changed);
    free(ex->changed);
    free(ex->workers);
    free(ex);
}
