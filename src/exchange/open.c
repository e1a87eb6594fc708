/* open.c - an exchange from text, for host programs in any language: "codec=topk:keep=0.01;feedback=ec;bucket=1MiB". */
#include <stdlib.h>
#include <string.h>

#include "base/pool.h"
#include "exchange/exchange.h"
#include "exchange/options.h"

/* Everything that was made for it; it goes with the exchange. */
struct exchange_opened {
    char *text; /* which the options point into */
    exchange_options options;
    exchange_methods methods;
    tithe_cost *cost;
    tithe_pool *pool;
};

void ti_exchange_opened_free(struct exchange_opened *o)
{
    if (!o) return;
    ti_exchange_methods_free(&o->methods);
    tithe_cost_free(o->cost);
    tithe_pool_free(o->pool);
    free(o->text);
    free(o);
}

/* ---- what has to be the same in all processes: better to hear of it now than to hang in the first step -------- */

/* What an option is after all defaults. NULL: as it was given. */
static const char *resolved(const tithe_exchange *ex, const char *name)
{
    const exchange_methods *m = &ex->opened->methods;
    if (strcmp(name, "codec") == 0) return tithe_codec_spec(m->codec);
    if (strcmp(name, "downlink") == 0) return m->downlink ? tithe_codec_spec(m->downlink) : "none";
    if (strcmp(name, "feedback") == 0) return m->feedback->name;
    if (strcmp(name, "downlink-feedback") == 0) return m->downlink_feedback->name;
    if (strcmp(name, "tuner") == 0) return m->tuner ? m->tuner->name : "fixed";
    if (strcmp(name, "scheme") == 0) return ex->scheme->name;
    if (strcmp(name, "collective") == 0) return ex->collective_name;
    return NULL;
}

static void describe(const tithe_exchange *ex, description *d)
{
    ti_description_add(d, "n", "%zu", ex->n);
    for (const tithe_option *row = ti_exchange_option_table; row->name; row++) {
        char room[OPTION_ROOM];
        const char *value = resolved(ex, row->name);
        if (!value) value = ti_option_write(&ex->opened->options, row, room);
        if (row->flags & TITHE_OPTION_AGREES && value) ti_description_add(d, row->name, "%s", value);
    }
}

static tithe_status agree(tithe_comm *comm, const tithe_exchange *ex, tithe_error *error)
{
    if (comm->server == comm->size) return TITHE_OK; /* that server may be busy with something else */
    description d = {0};
    describe(ex, &d);
    const char *phase = comm->phase;
    comm->phase = "opening an exchange";
    const tithe_status status =
        d.spoilt ? ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory to open an exchange.")
                 : ti_comm_agree(comm, d.text, error);
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
    ti_options_clear(&o->options, ti_exchange_option_table);
    tithe_status status = ti_options_read(&o->options, ti_exchange_option_table, o->text, error);
    if (status) return status;
    ti_options_complete(&o->options, ti_exchange_option_table);
    const exchange_options *c = &o->options;
    status = ti_exchange_find(c->codec, c->feedback, c->tuner, c->downlink, c->downlink_feedback, &o->methods,
                              error);
    if (!status) status = tithe_cost_create(c->cost, &o->cost, error);
    if (!status && c->threads > 1) status = tithe_pool_create(c->threads, &o->pool, error);
    return status;
}

static tithe_status make(tithe_comm *comm, const struct exchange_opened *o, size_t n, const size_t *layers,
                         size_t layer_count, tithe_exchange **ex, tithe_error *error)
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
                                          .shared_level = c->shared_level,
                                          .downlink_tuner = o->methods.downlink_tuner,
                                          .cost = o->cost,
                                          .count_paper = c->count_paper,
                                          .seed = c->seed,
                                          .pool = o->pool,
                                          .layers = layers,
                                          .layer_count = layer_count,
                                          .bucket_bytes = c->bucket_bytes,
                                          .overlap = c->overlap};
    return tithe_exchange_create(&config, n, ex, error);
}

tithe_status tithe_exchange_open_layers(tithe_comm *comm, const char *options, const size_t *layers,
                                        size_t layer_count, tithe_exchange **ex, tithe_error *error)
{
    if (!comm || !ex || !layers || layer_count == 0)
        return ti_fail(
            error, TITHE_E_ARGUMENT, 0,
            "A group of ranks, the lengths of the layers and a place for the exchange are needed.");
    size_t n = 0;
    for (size_t l = 0; l < layer_count; l++) n += layers[l];
    struct exchange_opened *o = calloc(1, sizeof *o);
    if (!o) return ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory to open an exchange.");
    tithe_exchange *opened = NULL;
    const bool several = layer_count > 1;
    tithe_status status = read_text(options ? options : "", o, error);
    if (!status)
        status = make(comm, o, n, several ? layers : NULL, several ? layer_count : 0, &opened, error);
    if (status) {
        ti_exchange_opened_free(o);
        return status;
    }
    opened->opened = o;
    status = agree(comm, opened, error);
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
