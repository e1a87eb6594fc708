/* options.c - see options.h. */
#include "exchange/options.h"

#include <math.h>
#include <string.h>

#include "base/spec.h"
#include "base/status.h"
#include "codec/codec.h"
#include "exchange/momentum.h"

#define OPTIONS exchange_options
const tithe_option ti_exchange_option_table[] = {
#include "exchange/option_rows.h"
    {"seed", "S", "of all that is random", "1", TITHE_OPTION_WHOLE, OPTION_SHAPES_MESSAGES,
     OPTION_PLACE(seed), .max = UINT64_MAX},
    {"threads", "N", "threads of this process", "1", TITHE_OPTION_WHOLE, 0, OPTION_PLACE(threads), .min = 1,
     .max = 256},
    {"momentum", "M",
     "that of the host's optimizer (m <- M m + g), so that what waits takes its momentum along (default 0)",
     "0", TITHE_OPTION_REAL, OPTION_SHAPES_MESSAGES, OPTION_PLACE(momentum), .real_max = MOMENTUM_MAX},
    {.name = NULL},
};

const tithe_option *tithe_exchange_option_table(void)
{
    return ti_exchange_option_table;
}

/* ---- what the names stand for ------------------------------------------------------------------------------- */

static tithe_status make_codec(const char *spec, bool contractive, bool open, tithe_codec **codec,
                               tithe_error *error)
{
    const tithe_codec_options options = {.contractive = contractive, .open_level = open};
    return tithe_codec_create(spec, &options, codec, error);
}

/* What a codec wants that nobody said: feedback, where it is biased; a tuner, where it states no level. */
static tithe_status look_at(const char *spec, const char **feedback, const char **tuner, tithe_error *error)
{
    tithe_codec *codec;
    const tithe_status status = make_codec(spec, false, true, &codec, error);
    if (status) return status;
    const bool unbiased = ti_codec_claims(codec, 1000).traits & TITHE_UNBIASED;
    if (feedback && !*feedback) *feedback = unbiased ? "none" : "ec";
    if (tuner && !*tuner) *tuner = codec->has_level ? "fixed" : "cat";
    tithe_codec_free(codec);
    return TITHE_OK;
}

static tithe_status find_way(const char *spec, const char *feedback, const char *tuner,
                             const tithe_feedback **keeper, double *keeper_params,
                             const tithe_tuner **chooser, double *params, tithe_codec **codec,
                             tithe_error *error)
{
    const tithe_tuner *known = NULL;
    if (tuner && !feedback && !tithe_tuner_find(tuner, &known, NULL, NULL) && known->steer) feedback = "ec";
    tithe_status status = look_at(spec, &feedback, &tuner, error);
    if (!status) status = tithe_feedback_find(feedback, keeper, keeper_params, error);
    if (!status) status = tithe_tuner_find(tuner, chooser, params, error);
    if (!status)
        status = make_codec(spec, (*keeper)->contracts || (*chooser)->tunes,
                            (*chooser)->tunes || (*chooser)->steer, codec, error);
    return status;
}

/* What keeps on the way back, where nothing was said but a codec for it: as on the way there, under a scheme that cuts. */
static const char *keeper_of(const char *scheme, const tithe_feedback *feedback)
{
    const tithe_scheme *found;
    const bool cuts = scheme && !tithe_scheme_find(scheme, &found, NULL, NULL) && found->cuts;
    return cuts && feedback->scaled ? "ec" : "none";
}

tithe_status ti_exchange_find(const char *codec, const char *feedback, const char *tuner, const char *scheme,
                              const char *downlink, const char *downlink_feedback, exchange_methods *m,
                              tithe_error *error)
{
    *m = (exchange_methods){0};
    tithe_status status = find_way(codec ? codec : "all|raw", feedback, tuner, &m->feedback,
                                   m->feedback_params, &m->tuner, m->tuner_params, &m->codec, error);
    if (!status) {
        ti_spec_write(m->tuner_spec, sizeof m->tuner_spec, m->tuner->name, m->tuner->params, m->tuner_params);
        ti_spec_write(m->feedback_spec, sizeof m->feedback_spec, m->feedback->name, m->feedback->params,
                      m->feedback_params);
    }
    if (!status && m->tuner->steer && feedback && !m->feedback->keeps) /* without a word it keeps */
        status = ti_fail(error, TITHE_E_SPEC, 0, STEERED_KEEPS);
    const char *keeps = downlink_feedback;
    if (!status && downlink && !keeps) keeps = keeper_of(scheme, m->feedback);
    if (!status && keeps && strchr(keeps, ':')) /* sums of what all sent do not decay */
        status =
            ti_fail(error, TITHE_E_SPEC, 0, "`downlink-feedback` takes a name alone, not '%.60s'.", keeps);
    if (!status && downlink)
        status = find_way(downlink, keeps, NULL, &m->downlink_feedback, NULL, &m->downlink_tuner, NULL,
                          &m->downlink, error);
    else if (!status && keeps)
        status = tithe_feedback_find(keeps, &m->downlink_feedback, NULL, error);
    return status;
}

void ti_exchange_methods_free(exchange_methods *m)
{
    tithe_codec_free(m->codec);
    tithe_codec_free(m->downlink);
    *m = (exchange_methods){0};
}

/* With momentum as little as that took as many steps as more did, and less a few more (docs/pytorch.md). */
static const double LOW_WITH_MOMENTUM = 0.01;

void ti_exchange_tuner_params(const tithe_exchange_config *c, double *params)
{
    const tithe_param *all = c->tuner->params;
    const int low = ti_spec_find(all, "low"), high = ti_spec_find(all, "high");
    for (size_t i = 0; i < TITHE_MAX_PARAMS; i++) params[i] = c->tuner_params ? c->tuner_params[i] : NAN;
    const bool any_low = low >= 0 && high >= 0 && isnan(params[low]);
    ti_spec_defaults(all, params);
    if (any_low && c->momentum > 0 && !c->tuner->explores)
        params[low] = fmin(LOW_WITH_MOMENTUM, params[high]);
}
