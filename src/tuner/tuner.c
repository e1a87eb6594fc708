/* tuner.c - the table of tuners, and the one that leaves the level to the codec. */
#include <math.h>

#include "base/family.h"
#include "base/status.h"
#include "tuner/search.h"

static const tithe_tuner *const tuners[] = {&ti_tuner_fixed, &ti_tuner_cat, &ti_tuner_warmup,
                                            &ti_tuner_auto,  &ti_tuner_moo, NULL};

const tithe_tuner *const *tithe_tuners(void)
{
    return tuners;
}

static family_row row(size_t i)
{
    return tuners[i] ? (family_row){tuners[i]->name, tuners[i]->params} : (family_row){0};
}

tithe_status tithe_tuner_find(const char *spec, const tithe_tuner **tuner, double *params, tithe_error *error)
{
    static const family all = {.what = "tuner", .row = row};
    size_t place;
    const tithe_status status = ti_family_find(&all, spec, &place, params, error);
    if (!status) *tuner = tuners[place];
    return status;
}

/* ---- fixed ------------------------------------------------------------------------------------------------- */

static const char *fixed_refuse(const tithe_codec *codec)
{
    return codec->has_level
               ? NULL
               : "A fixed level has to be stated: write keep=, k= or lambda=, or use `tuner=cat`.";
}

static size_t fixed_scratch(const tithe_codec *codec, size_t n)
{
    (void)codec, (void)n;
    return 0;
}

static tithe_status fixed_choose(const tithe_tuner_call *c, tithe_choice *choice, tithe_error *error)
{
    const char *why = fixed_refuse(c->codec);
    if (why) return ti_fail(error, TITHE_E_SPEC, 0, "%s", why);
    const double entries = (double)ti_codec_max_count(c->codec, c->n);
    *choice = (tithe_choice){.level = 0, /* the codec's own */
                             .entries = entries,
                             .progress = NAN,
                             .cost = tithe_cost_of(c->cost, ti_search_bits(c, entries)),
                             .reason = ""};
    return TITHE_OK;
}

const tithe_tuner ti_tuner_fixed = {
    .name = "fixed",
    .summary = "the level that the codec states",
    .refuse = fixed_refuse,
    .scratch = fixed_scratch,
    .choose = fixed_choose,
};
