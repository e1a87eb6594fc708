/* run_description.c - see run_description.h. */
#include "learn/run_description.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#include "comm/comm.h"
#include "exchange/exchange.h"
#include "learn/run_options.h"
#include "tithe/tithe.h"

/* ---- options --------------------------------------------------------------------------------------------- */

tithe_train_options ti_run_resolved(const run *r)
{
    tithe_train_options o = *r->o;
    o.codec = tithe_codec_spec(r->methods.codec);
    o.downlink = r->methods.downlink ? tithe_codec_spec(r->methods.downlink) : NULL;
    o.feedback = r->methods.feedback_spec;
    o.tuner = r->methods.tuner_spec;
    o.clients = o.clients < o.workers ? o.clients : 0; /* all of them is no choice */
    if (r->problem.model) o.model = r->problem.spec;
    if (r->estimator) { /* --batch, however it was said */
        o.estimator = r->estimator->name;
        o.batch = r->estimate.batch;
    }
    if (r->methods.downlink_feedback) o.downlink_feedback = r->methods.downlink_feedback->name;
    if (!r->exchange || r->methods.tuner->steer) return o; /* what it is now is no option */
    if (!o.downlink_feedback && !r->exchange->scheme->cuts) o.downlink_feedback = "none";
    o.scheme = r->exchange->scheme->name;
    o.collective = r->exchange->collective_name;
    o.leader = ti_exchange_leader_name(r->exchange);
    return o;
}

void ti_describe_options(const tithe_train_options *o, unsigned flags, describe_what what, description *d)
{
    char room[OPTION_ROOM];
    for (const tithe_option *row = tithe_train_option_table(); row->name; row++) {
        if (!(row->flags & flags)) continue;
        const char *value = ti_option_write(o, row, room);
        if (value && row->flags & TITHE_OPTION_EVERYWHERE) value = "yes";
        if (!value && what == DESCRIBE_ALL) value = "(not given)";
        if (value) ti_description_add(d, row->name, "%s", value);
    }
}

/* ---- files ----------------------------------------------------------------------------------------------- */

static tithe_status hash_file(const char *path, uint64_t *hash, tithe_error *error)
{
    FILE *file = fopen(path, "rb");
    if (!file) return ti_fail(error, TITHE_E_FILE, 0, "Cannot read '%.140s': %s.", path, strerror(errno));
    uint8_t piece[16384];
    *hash = 0;
    for (size_t length; (length = fread(piece, 1, sizeof piece, file)) > 0;)
        *hash = XXH3_64bits_withSeed(piece, length, *hash);
    const bool failed = ferror(file);
    fclose(file);
    if (failed) return ti_fail(error, TITHE_E_FILE, 0, "Cannot read '%.140s' to its end.", path);
    return TITHE_OK;
}

static tithe_status describe_sampling(run *r, tithe_error *error)
{
    uint64_t hash = 0;
    const char *path = ti_sampling_path(r->sampling, r->o->sampling);
    if (!path) return TITHE_OK;
    const tithe_status status = hash_file(path, &hash, error);
    if (!status) ti_description_add(&r->files, "sampling contents", "%016llx", (unsigned long long)hash);
    return status;
}

/* One hash over all costs in their order: of a file what is in it, of the others their spec. */
static tithe_status describe_costs(run *r, tithe_error *error)
{
    uint64_t all = 0, hash;
    bool files = false;
    for (size_t i = 0; i < r->cost_count; i++) {
        const tithe_cost_model *model = tithe_cost_model_of(r->costs[i]);
        const char *spec = tithe_cost_spec(r->costs[i]);
        hash = XXH3_64bits(spec, strlen(spec));
        const tithe_status status =
            model->takes_file ? hash_file(spec + strlen(model->name) + 1, &hash, error) : TITHE_OK;
        if (status) return status;
        files = files || model->takes_file;
        all = XXH3_64bits_withSeed(&hash, sizeof hash, all);
    }
    if (files) ti_description_add(&r->files, "cost contents", "%016llx", (unsigned long long)all);
    return TITHE_OK;
}

tithe_status ti_describe_files(run *r, tithe_error *error)
{
    const bool draws = r->share != NULL; /* a server does not */
    const tithe_status status = draws ? describe_sampling(r, error) : TITHE_OK;
    return status ? status : describe_costs(r, error);
}

/* ---- the handshake --------------------------------------------------------------------------------------- */

/* "784000+850": for a server, which has no model to ask. */
static void describe_layers(const run *r, description *d)
{
    char text[24 * MAX_LAYERS];
    size_t used = 0;
    snprintf(text, sizeof text, "%zu", r->size);
    for (size_t l = 0; l < r->layer_count; l++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%zu", l ? "+" : "", r->layers[l]);
    ti_description_add(d, "layers", "%s", text);
}

/* What is no option, and shapes the run all the same. */
static void describe_facts(const run *r, description *d)
{
    const tithe_data *data = r->share;
    ti_description_add(d, "data contents", "%zu rows, %zu features, hash %016llx", data->total_rows,
                       data->features, (unsigned long long)data->hash);
    ti_description_add(d, "n", "%zu", r->size);
    describe_layers(r, d);
    if (r->o->replay)
        ti_description_add(d, "replay contents", "%016llx",
                           (unsigned long long)XXH3_64bits(r->o->replay, strlen(r->o->replay)));
    ti_description_add(d, "records", "%u", r->o->records);
    if (r->comm->aggregator) ti_description_add(d, "switch", "attached"); /* a tuner may choose it */
    ti_description_add(d, "version", "%s", tithe_version());
}

static tithe_status expect_ranks(const run *r, tithe_error *error)
{
    if (r->comm->size == r->o->workers) return TITHE_OK;
    return ti_fail(error, TITHE_E_MISMATCH, 0,
                   "There are %u ranks, but %u workers: start as many, or leave `workers` out.",
                   r->comm->size, r->o->workers);
}

tithe_status ti_run_agree(run *r, tithe_error *error)
{
    const tithe_train_options resolved = ti_run_resolved(r);
    description d = {0};
    ti_describe_options(&resolved, TITHE_OPTION_AGREES | TITHE_OPTION_EVERYWHERE, DESCRIBE_ALL, &d);
    tithe_status status = ti_describe_files(r, error);
    ti_description_append(&d, r->files.text);
    describe_facts(r, &d);
    if (!status && (d.spoilt || r->files.spoilt))
        status = ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory to describe the run.");
    if (!status) {
        r->comm->phase = "comparing options";
        status = ti_comm_agree(r->comm, d.text, error);
        r->comm->phase = NULL;
    }
    ti_description_free(&d);
    return status ? status : expect_ranks(r, error);
}
