/* run_exchange.c - what a run sends and how: codecs, feedback, tuner, costs, and the exchange that they make. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codec/codec.h"
#include "learn/run.h"

/* "802.15.4;ethernet-udp": clients on different links. What is added up must be of one kind. */
static tithe_status make_costs(run *r, tithe_error *error)
{
    const char *text = r->o->cost;
    size_t count = 1;
    for (const char *c = text; *c; c++) count += *c == ';';
    r->costs = calloc(count, sizeof(tithe_cost *));
    /* whether there are as many ranks as workers is found out later, with both sides named */
    const unsigned ranks = r->comm && r->comm->size > r->o->workers ? r->comm->size : r->o->workers;
    r->rank_costs = calloc(ranks, sizeof(tithe_cost *));
    if (!r->costs || !r->rank_costs)
        return ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory for costs.");
    tithe_status status = TITHE_OK;
    while (!status && r->cost_count < count) {
        char spec[512];
        const size_t length = strcspn(text, ";");
        if (length >= sizeof spec)
            return ti_fail(error, TITHE_E_SPEC, 0, "A cost has at most %zu letters: shorten `cost`.",
                           sizeof spec - 1);
        snprintf(spec, sizeof spec, "%.*s", (int)length, text);
        status = tithe_cost_create(spec, &r->costs[r->cost_count], error);
        if (status) return status;
        const char *unit = tithe_cost_unit(r->costs[r->cost_count++]), *first = tithe_cost_unit(r->costs[0]);
        if (strcmp(unit, first) != 0)
            return ti_fail(error, TITHE_E_SPEC, 0,
                           "Costs in %s and in %s cannot be added: give all workers the same unit.", first,
                           unit);
        text += length + 1;
    }
    for (unsigned w = 0; w < ranks; w++) r->rank_costs[w] = r->costs[w % count];
    return status;
}

tithe_status ti_run_codecs(run *r, tithe_error *error)
{
    const tithe_train_options *o = r->o;
    tithe_status status = ti_exchange_find(o->codec, o->feedback, o->tuner, o->scheme, o->downlink,
                                           o->downlink_feedback, &r->methods, error);
    if (!status) status = make_costs(r, error);
    if (status) return status;
    r->threshold = NAN;
    if (r->methods.codec->selector->absolute && !r->methods.tuner->tunes)
        r->threshold = r->methods.codec->selector_params[0];
    return TITHE_OK;
}

tithe_status ti_run_exchange(run *r, size_t n, tithe_error *error)
{
    const tithe_model *model = r->problem.model; /* NULL in a server, which was told of the layers */
    if (model && model->layers)
        r->layer_count = model->layers(r->problem.params, r->share, r->layers, MAX_LAYERS);
    const size_t count = r->layer_count;
    const tithe_exchange_config config = {
        .size = sizeof config,
        .comm = r->comm,
        .taking_part = r->o->clients,
        .codec = r->methods.codec,
        .feedback = r->methods.feedback,
        .downlink = r->methods.downlink,
        .downlink_feedback = r->methods.downlink_feedback,
        .scheme = r->o->scheme,
        .collective = r->o->collective,
        .leader = r->o->leader,
        .deterministic = r->o->deterministic,
        .tuner = r->methods.tuner,
        .tuner_params = r->methods.tuner_params,
        .feedback_params = r->methods.feedback_params,
        .shared_level = r->o->shared_level,
        .downlink_tuner = r->methods.downlink_tuner,
        .cost = r->costs[0],
        .rank_costs = r->cost_count > 1 ? r->rank_costs : NULL,
        .count_paper = r->o->count_paper,
        .seed = r->o->seed,
        .pool = r->pool,
        .lanes = r->lane_count,
        .measure = true,
        .stays = true,
        .layers = count > 1 ? r->layers : NULL,
        .layer_count = count > 1 ? count : 0,
        .bucket_bytes = r->o->bucket_bytes,
        .overlap = r->o->overlap,
        .skip_nonfinite = r->o->skip_nonfinite,
        .restores = true,
    };
    return tithe_exchange_create(&config, n, &r->exchange, error);
}
