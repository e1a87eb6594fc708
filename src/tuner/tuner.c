/* tuner.c - the table of tuners, and the one that does nothing. */
#include <math.h>
#include <string.h>

#include "base/status.h"
#include "tuner/search.h"

static const tithe_tuner *const tuners[] = {&ti_tuner_fixed, &ti_tuner_cat, NULL};

const tithe_tuner *const *tithe_tuners(void)
{
    return tuners;
}

const tithe_tuner *tithe_tuner_find(const char *name)
{
    for (size_t i = 0; name && tuners[i]; i++)
        if (strcmp(tuners[i]->name, name) == 0) return tuners[i];
    return NULL;
}

/* ---- fixed ------------------------------------------------------------------------------------------------- */

static const char *fixed_refuse(const tithe_codec *codec)
{
    return codec->has_level
               ? NULL
               : "A fixed level has to be stated: write keep=, k= or lambda=, or use --tuner cat.";
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
                             .reason = "as stated"};
    return TITHE_OK;
}

const tithe_tuner ti_tuner_fixed = {
    .name = "fixed",
    .summary = "the level that the codec states",
    .paper = "-",
    .refuse = fixed_refuse,
    .scratch = fixed_scratch,
    .choose = fixed_choose,
};
