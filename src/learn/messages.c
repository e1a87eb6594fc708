/* messages.c - what a run sends and how: codecs, feedback, tuner, costs, and the exchange that they make. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codec/codec.h"
#include "learn/run.h"

static tithe_status make_codec(const char *spec, bool contractive, bool open, tithe_codec **codec,
                               tithe_error *error)
{
    const tithe_codec_options options = {.contractive = contractive, .open_level = open};
    return tithe_codec_create(spec, &options, codec, error);
}

/* Biased codecs want error compensation; unbiased ones do without. */
static tithe_status default_feedback(const char *spec, const char **name, tithe_error *error)
{
    tithe_codec *codec;
    const tithe_status status = make_codec(spec, false, true, &codec, error);
    if (status) return status;
    *name = tithe_codec_claims(codec, 1000).traits & TITHE_UNBIASED ? "none" : "ec";
    tithe_codec_free(codec);
    return TITHE_OK;
}

/* A codec that states its level is sent at that level; the others are tuned. */
static tithe_status find_tuner(const char *spec, const char *name, const tithe_tuner **tuner,
                               tithe_error *error)
{
    tithe_codec *codec;
    tithe_status status = make_codec(spec, false, true, &codec, error);
    if (status) return status;
    if (!name) name = codec->has_level ? "fixed" : "cat";
    tithe_codec_free(codec);
    return tithe_tuner_find(name, tuner, NULL, error);
}

/* "802.15.4;ethernet-udp": clients on different links. What is added up must be of one kind. */
static tithe_status make_costs(run *r, tithe_error *error)
{
    const char *text = r->o->cost;
    size_t count = 1;
    for (const char *c = text; *c; c++) count += *c == ';';
    r->costs = calloc(count, sizeof(tithe_cost *));
    r->rank_costs = calloc(r->o->workers, sizeof(tithe_cost *));
    if (!r->costs || !r->rank_costs)
        return ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory for costs.");
    tithe_status status = TITHE_OK;
    while (!status && r->cost_count < count) {
        char spec[512];
        const size_t length = strcspn(text, ";");
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
    for (unsigned w = 0; w < r->o->workers; w++) r->rank_costs[w] = r->costs[w % count];
    return status;
}

tithe_status ti_run_codecs(run *r, tithe_error *error)
{
    const tithe_train_options *o = r->o;
    const char *spec = o->codec, *feedback = o->feedback;
    tithe_status status = TITHE_OK;
    if (!feedback) status = default_feedback(spec, &feedback, error);
    if (!status) status = tithe_feedback_find(feedback, &r->feedback, NULL, error);
    if (!status) status = find_tuner(spec, o->tuner, &r->tuner, error);
    if (!status)
        status =
            make_codec(spec, r->feedback->contracts || r->tuner->tunes, r->tuner->tunes, &r->codec, error);
    if (!status) status = make_costs(r, error);
    if (!status) status = tithe_feedback_find(o->downlink_feedback, &r->downlink_feedback, NULL, error);
    if (!status && o->downlink) status = find_tuner(o->downlink, NULL, &r->downlink_tuner, error);
    if (!status && o->downlink)
        status = make_codec(o->downlink, r->downlink_feedback->contracts || r->downlink_tuner->tunes,
                            r->downlink_tuner->tunes, &r->downlink, error);
    if (!status && r->downlink_feedback->keeps && !o->downlink)
        status = ti_fail(
            error, TITHE_E_SPEC, 0,
            "--downlink-feedback has nothing to keep without --downlink: a raw frame leaves nothing out.");
    if (status) return status;
    r->threshold = NAN;
    if (r->codec->selector->absolute && !r->tuner->tunes) r->threshold = r->codec->selector_params[0];
    return TITHE_OK;
}

tithe_status ti_run_exchange(run *r, size_t n, tithe_error *error)
{
    const tithe_model *model = r->problem.model; /* NULL in a server, which was told of the layers */
    if (model && model->layers)
        r->layer_count = model->layers(r->problem.params, r->share, r->layers, MOST_LAYERS);
    const size_t count = r->layer_count;
    const tithe_exchange_config config = {
        .comm = r->comm,
        .taking_part = r->o->clients,
        .codec = r->codec,
        .feedback = r->feedback,
        .downlink = r->downlink,
        .downlink_feedback = r->downlink_feedback,
        .scheme = r->o->scheme,
        .collective = r->o->collective,
        .leader = r->o->leader,
        .deterministic = r->o->deterministic,
        .tuner = r->tuner,
        .shared_level = r->o->shared_level,
        .downlink_tuner = r->downlink_tuner,
        .cost = r->costs[0],
        .rank_costs = r->cost_count > 1 ? r->rank_costs : NULL,
        .count_paper = r->o->count_paper,
        .seed = r->o->seed,
        .pool = r->pool,
        .lanes = r->lane_count,
        .measure = true,
        .layers = count > 1 ? r->layers : NULL,
        .layer_count = count > 1 ? count : 0,
        .bucket_bytes = r->o->bucket_bytes,
        .overlap = r->o->overlap,
    };
    return tithe_exchange_create(&config, n, &r->exchange, error);
}
