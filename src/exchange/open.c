/* open.c - an exchange from text, for host programs in any language: "codec=topk:keep=0.01;feedback=ec;bucket=1MiB". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/pool.h"
#include "exchange/control.h"
#include "exchange/options.h"

/* Everything that was made for it; it goes with the exchange. */
struct exchange_opened {
    char *text; /* which the options point into */
    exchange_options options;
    exchange_methods methods;
    size_t *layers; /* NULL: the vector is one */
    size_t layer_count;
    tithe_cost *cost;
    tithe_pool *pool;
};

void ti_exchange_opened_free(struct exchange_opened *o)
{
    if (!o) return;
    ti_exchange_methods_free(&o->methods);
    tithe_cost_free(o->cost);
    tithe_pool_free(o->pool);
    free(o->layers);
    free(o->text);
    free(o);
}

/* ---- what has to be the same in all processes: better to hear of it now than to hang in the first step -------- */

/* What an option is after all defaults. NULL: as it was given; a tuner that steers chooses among what that leaves. */
static const char *resolved(const tithe_exchange *ex, const char *name)
{
    const exchange_methods *m = &ex->opened->methods;
    if (strcmp(name, "codec") == 0) return tithe_codec_spec(m->codec);
    if (strcmp(name, "feedback") == 0) return m->feedback_spec;
    if (strcmp(name, "tuner") == 0) return m->tuner_spec;
    if (ex->control) return NULL;
    if (strcmp(name, "downlink") == 0)
        return ex->config.downlink ? tithe_codec_spec(ex->config.downlink) : NULL;
    if (strcmp(name, "downlink-feedback") == 0) return ex->config.downlink_feedback->name;
    if (strcmp(name, "scheme") == 0) return ex->scheme->name;
    if (strcmp(name, "collective") == 0) return ex->collective_name;
    if (strcmp(name, "leader") == 0) return ti_exchange_leader_name(ex);
    return NULL;
}

static void describe(const tithe_exchange *ex, description *d)
{
    const size_t count = ex->config.layer_count;
    char *layers = calloc(count + 1, 24);
    for (size_t l = 0, used = 0; layers && l < count; l++)
        used += (size_t)snprintf(layers + used, 24, "%s%zu", l ? "+" : "", ex->config.layers[l]);
    if (layers && count == 0) snprintf(layers, 24, "%zu", ex->n);
    if (!layers) d->spoilt = true;
    ti_description_add(d, "layers", "%s", layers ? layers : "");
    free(layers);
    if (ex->config.comm->aggregator) ti_description_add(d, "switch", "attached"); /* a tuner may choose it */
    for (const tithe_option *row = ti_exchange_option_table; row->name; row++) {
        char room[OPTION_ROOM];
        const char *value = resolved(ex, row->name);
        if (!value) value = ti_option_write(&ex->opened->options, row, room);
        if (row->flags & TITHE_OPTION_AGREES && value) ti_description_add(d, row->name, "%s", value);
    }
}

static tithe_status agree(tithe_comm *comm, const tithe_exchange *ex, tithe_error *error)
{
    description d = {0};
    describe(ex, &d);
    const char *phase = comm->phase;
    comm->phase = "opening an exchange";
    const tithe_status status =
        d.spoilt ? ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory to open an exchange.")
                 : ti_comm_agree(comm, d.text, error);
    if (d.spoilt) ti_comm_disagree(comm, "There is not enough memory to open an exchange.");
    comm->phase = phase;
    ti_description_free(&d);
    return status;
}

/* ---- all of it --------------------------------------------------------------------------------------------- */

static tithe_status read_text(const char *text, struct exchange_opened *o, tithe_error *error)
{
    o->text = malloc(strlen(text) + 1);
    if (!o->text) return ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory to open an exchange.");
    memcpy(o->text, text, strlen(text) + 1);
    tithe_status status = tithe_options_read(ti_exchange_option_table, o->text, &o->options, error);
    if (status) return status;
    const exchange_options *c = &o->options;
    status = ti_exchange_find(c->codec, c->feedback, c->tuner, c->scheme, c->downlink, c->downlink_feedback,
                              &o->methods, error);
    if (!status) status = tithe_cost_create(c->cost, &o->cost, error);
    if (!status && c->threads > 1) status = tithe_pool_create(c->threads, &o->pool, error);
    return status;
}

/* One layer is a vector like any other. */
static tithe_status keep_layers(struct exchange_opened *o, const size_t *layers, size_t count,
                                tithe_error *error)
{
    if (count <= 1) return TITHE_OK;
    o->layers = malloc(count * sizeof *layers);
    if (!o->layers)
        return ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory to open an exchange.");
    memcpy(o->layers, layers, count * sizeof *layers);
    o->layer_count = count;
    return TITHE_OK;
}

/* The server is told by number whose step it is. */
static void number(tithe_exchange *ex, unsigned which)
{
    ex->number = which;
    for (unsigned p = 0; p < ti_exchange_parts(ex); p++) ti_exchange_part(ex, p)->number = which;
}

static tithe_status make(tithe_comm *comm, const struct exchange_opened *o, size_t n, tithe_exchange **ex,
                         tithe_error *error)
{
    const exchange_options *c = &o->options;
    const tithe_exchange_config config = {.size = sizeof config,
                                          .comm = comm,
                                          .codec = o->methods.codec,
                                          .feedback = o->methods.feedback,
                                          .downlink = o->methods.downlink,
                                          .downlink_feedback = o->methods.downlink_feedback,
                                          .scheme = c->scheme,
                                          .collective = c->collective,
                                          .leader = c->leader,
                                          .deterministic = c->deterministic,
                                          .tuner = o->methods.tuner,
                                          .tuner_params = o->methods.tuner_params,
                                          .shared_level = c->shared_level,
                                          .downlink_tuner = o->methods.downlink_tuner,
                                          .cost = o->cost,
                                          .count_paper = c->count_paper,
                                          .seed = c->seed,
                                          .pool = o->pool,
                                          .layers = o->layers,
                                          .layer_count = o->layer_count,
                                          .bucket_bytes = c->bucket_bytes,
                                          .overlap = c->overlap,
                                          .skip_nonfinite = c->skip_nonfinite,
                                          .feedback_params = o->methods.feedback_params,
                                          .momentum = c->momentum};
    return tithe_exchange_create(&config, n, ex, error);
}

tithe_status ti_exchange_open_here(tithe_comm *comm, const char *options, const size_t *layers,
                                   size_t layer_count, tithe_exchange **ex, tithe_error *error)
{
    size_t n = 0;
    for (size_t l = 0; l < layer_count; l++) n += layers[l];
    struct exchange_opened *o = calloc(1, sizeof *o);
    if (!o) return ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory to open an exchange.");
    tithe_status status = keep_layers(o, layers, layer_count, error);
    if (!status) status = read_text(options ? options : "", o, error);
    if (!status) status = make(comm, o, n, ex, error);
    if (status) {
        ti_exchange_opened_free(o);
        return status;
    }
    (*ex)->opened = o;
    return TITHE_OK;
}

tithe_status tithe_exchange_open_layers(tithe_comm *comm, const char *options, const size_t *layers,
                                        size_t layer_count, tithe_exchange **ex, tithe_error *error)
{
    if (!comm || !ex || !layers || layer_count == 0)
        return ti_fail(
            error, TITHE_E_ARGUMENT, 0,
            "A group of ranks, the lengths of the layers and a place for the exchange are needed.");
    tithe_exchange *opened = NULL;
    tithe_error own = {0};
    if (!error) error = &own;
    tithe_status status = ti_exchange_open_here(comm, options, layers, layer_count, &opened, error);
    if (status) {
        ti_comm_disagree(comm, error->text);
        return status;
    }
    status = agree(comm, opened, error);
    if (status) {
        tithe_exchange_free(opened);
        return status;
    }
    number(opened, comm->exchanges++);
    status = ti_control_start(opened, error);
    if (status)
        tithe_exchange_free(opened);
    else
        *ex = opened;
    return status;
}

tithe_status tithe_exchange_open(tithe_comm *comm, const char *options, size_t n, tithe_exchange **ex,
                                 tithe_error *error)
{
    return tithe_exchange_open_layers(comm, options, &n, 1, ex, error);
}
