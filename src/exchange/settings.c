/* settings.c - every way to make a step that a tuner may choose from, with what it takes: from the tables of schemes and
 * collectives, and from the rounds that schemes state. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/spec.h"
#include "codec/codec.h"
#include "exchange/control.h"
#include "exchange/options.h"

/* ---- what a step takes ----------------------------------------------------------------------------------- */

/* Of a vector of n numbers in one message, with a codec that states how much it sends. */
static void foretell(const tithe_exchange_config *c, const exchange_choice *choice, size_t n,
                     tithe_rounds *rounds)
{
    const double frame = (double)ti_codec_expected_length(c->codec, n);
    tithe_step_shape shape = {.ranks = c->comm->size,
                              .collective = choice->collective,
                              .server_apart = c->comm->server == c->comm->size,
                              .n = (double)n,
                              .frames = {.count = c->comm->size, .length = frame},
                              .back = frame,
                              .parts = {.count = c->comm->size},
                              .lets_go = true}; /* whoever chooses from a list has another one */
    if (choice->scheme->foretell) choice->scheme->foretell(c, n, &shape);
    choice->scheme->rounds(&shape, rounds);
}

/* One after the other, for all buckets. */
static void price(const tithe_exchange *ex, const tithe_exchange_config *c, const exchange_choice *choice,
                  tithe_setting *s)
{
    const double all = (double)(ex->n ? ex->n : 1);
    for (unsigned p = 0; p < ti_exchange_parts(ex); p++) {
        const size_t n = ti_exchange_part(ex, p)->n;
        tithe_rounds rounds;
        tithe_rounds_start(&rounds);
        foretell(c, choice, n, &rounds);
        s->rounds += tithe_rounds_count(&rounds);
        s->bytes += tithe_rounds_bytes(&rounds);
        s->encoded += rounds.encoded * (double)n / all;
        s->decoded += rounds.decoded * (double)n / all;
        s->formed += rounds.formed * (double)n / all;
    }
}

/* ---- how late things get ------------------------------------------------------------------------------- */

/* Against top-k whose raw values go to all: a leader's choice is not everybody's own, and on a way back things wait again. */
static double waits_of(const tithe_scheme *scheme, const tithe_codec *codec)
{
    const double leader = 1.5, both_ways = 2;
    const tithe_claims claims = ti_codec_claims(codec, 1000);
    const double noise = claims.traits & TITHE_UNBIASED ? claims.omega : 0;
    return (scheme->forms ? leader : scheme->back ? both_ways : 1) * (1 + fmin(noise, 1));
}

/* Where all numbers are sent, but spoilt: what is lost of one comes back with the next, there and on the way back. A typical
 * vector suffers half of what the worst does. */
static double lag_of(const tithe_scheme *scheme, const tithe_codec *codec, size_t n)
{
    const double delta = ti_codec_claims(codec, n).delta, typical = 0.25;
    return delta > 0 ? typical * (scheme->back ? 2 : 1) * (1 / delta - 1) : 0;
}

static void describe(const tithe_exchange *ex, const tithe_scheme *scheme, const tithe_codec *codec,
                     tithe_setting *s)
{
    const bool all = codec->selector->source == TITHE_INDICES_ALL;
    s->whole = scheme->whole;
    s->keep = ex->n ? (double)ti_codec_stated_count(codec, ex->n) / (double)ex->n : 1;
    s->waits = all ? 0 : waits_of(scheme, codec);
    s->lag = all ? lag_of(scheme, codec, ex->n) : 0;
}

/* ---- the list ---------------------------------------------------------------------------------------------- */

typedef struct maker {
    const tithe_exchange *ex;
    setting_list *list;
    size_t room;
    const tithe_scheme *only_scheme;  /* that the caller named; NULL: any */
    const char *only_collective;      /* likewise */
    const tithe_scheme *needs_switch; /* that scheme, if it does; */
    tithe_error why_not;              /* what was wrong with the first setting that has one; */
    bool spare;                       /* settings without one are added */
    const setting_range *range;
    double entries;     /* of the level that is being added; all numbers have none */
    bool asks_for_part; /* the caller, by a codec or by a scheme that is not dense */
} maker;

static bool grow(maker *m)
{
    if (m->list->count < m->room) return true;
    const size_t room = m->room ? 2 * m->room : 64;
    tithe_setting *more = realloc(m->list->all, room * sizeof *more);
    if (!more) return false;
    m->list->all = more;
    m->room = room;
    return true;
}

static void write_options(const char *codec, const tithe_scheme *scheme, const char *collective, char *text)
{
    const bool both = scheme->back && !scheme->cuts;
    int used =
        snprintf(text, TITHE_SETTING_TEXT, "codec=%s;feedback=%s", codec, scheme->whole ? "none" : "ec");
    if (both)
        used += snprintf(text + used, TITHE_SETTING_TEXT - (size_t)used, ";downlink=%s;downlink-feedback=ec",
                         codec);
    snprintf(text + used, TITHE_SETTING_TEXT - (size_t)used, ";scheme=%s;collective=%s", scheme->name,
             collective);
}

/* To serve the others, where the server is a process of its own, which knows one scheme. */
static bool needs_a_rank(const maker *m, const tithe_scheme *scheme)
{
    const tithe_comm *comm = m->ex->config.comm;
    return scheme->served && comm->server == comm->size;
}

/* Nothing is added where these do not go together. */
static tithe_status add(maker *m, const char *codec, const tithe_scheme *scheme, const char *collective,
                        tithe_error *error)
{
    const tithe_exchange *ex = m->ex;
    if (!grow(m)) return ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory to choose settings.");
    if (strlen(codec) > TITHE_SETTING_TEXT / 4 || needs_a_rank(m, scheme)) return TITHE_OK;
    tithe_setting *s = &m->list->all[m->list->count];
    exchange_methods methods;
    *s = (tithe_setting){.keep = 1,
                         .family = m->list->families ? m->list->families - 1 : 0,
                         .switched = scheme->integers,
                         .spare = m->spare};
    write_options(codec, scheme, collective, s->options);
    const bool both = scheme->back && !scheme->cuts;
    tithe_status status = ti_exchange_find(codec, scheme->whole ? "none" : "ec", "fixed", scheme->name,
                                           both ? codec : NULL, both ? "ec" : NULL, &methods, error);
    if (!status) {
        tithe_exchange_config c = ex->config;
        exchange_choice choice;
        c.codec = methods.codec;
        c.feedback = methods.feedback;
        c.feedback_params = NULL;
        c.downlink = methods.downlink;
        c.downlink_feedback = methods.downlink_feedback;
        c.tuner = methods.tuner;
        c.downlink_tuner = methods.downlink_tuner;
        c.scheme = scheme->name;
        c.collective = collective;
        c.leader = NULL;
        c.shared_level = false;
        if (!ti_exchange_choose(&c, ex->n, &choice, s->switched && !m->why_not.code ? &m->why_not : NULL)) {
            describe(ex, choice.scheme, c.codec, s);
            price(ex, &c, &choice, s);
            m->list->count++;
        }
    }
    ti_exchange_methods_free(&methods);
    return status;
}

/* Under a leader a step has the entries of one rank, and each has to wait for its turn: with fewer than half of the ranks the loss swings, and what is
 * behind points now here and now there, so that nobody sees it (docs/auto.md). */
static bool has_enough(const maker *m, const tithe_scheme *scheme)
{
    return !scheme->forms || m->range->shares_alone || 2 * m->entries >= m->ex->config.comm->size;
}

/* Gathering frames that are longer together than two vectors is never worth it, and a vector that is cut is one that is sent
 * both ways. */
static bool is_worth_a_try(const maker *m, const tithe_scheme *scheme, bool all)
{
    const tithe_exchange *ex = m->ex;
    if (scheme->whole || (m->range->shares_alone && scheme->back)) return false;
    if (scheme->integers) return all && (ex->config.comm->aggregator || m->needs_switch);
    return all ? scheme->cuts || (scheme->gathers && ex->config.comm->size == 2)
               : !scheme->cuts && has_enough(m, scheme);
}

static tithe_status add_all(maker *m, const char *codec, bool all, bool dense, tithe_error *error)
{
    tithe_status status = TITHE_OK;
    for (const tithe_scheme *const *s = tithe_schemes(); *s && !status; s++) {
        if (dense ? !(*s)->whole : !is_worth_a_try(m, *s, all)) continue;
        const bool other = m->only_scheme && !(*s)->whole && m->only_scheme != *s;
        if (other && !m->needs_switch) continue;
        m->spare = m->needs_switch && !(*s)->integers;
        for (const char *const *name = (*s)->collectives; *name && !status; name++) {
            const tithe_collective *c = tithe_scheme_collective(*s, *name);
            bool again = !c->ordered; /* what nobody can foretell is left out, and a second name too */
            for (const char *const *before = (*s)->collectives; before < name; before++)
                again = again || tithe_scheme_collective(*s, *before) == c;
            if (m->only_collective && strcmp(m->only_collective, *name) != 0) continue;
            if (!again) status = add(m, codec, *s, *name, error);
        }
    }
    return status;
}

/* "topk|sign" with keep: "topk:keep=0.01|sign". */
static void write_level(const char *codec, double keep, char *text, size_t room)
{
    const size_t selector = strcspn(codec, "|");
    const bool more = memchr(codec, ':', selector) != NULL;
    snprintf(text, room, "%.*s%ckeep=%.3g%s", (int)selector, codec, more ? ',' : ':', keep, codec + selector);
}

/* Where all entries have one magnitude, more of them than that do harm: the small ones become too large. */
static const double EVEN_MAX = 0.02;

static const double ABOUT = 1.1; /* a level that is less above another one is the same */

/* The next rung of a ladder down to `low`, which is its last one, unless the one before is about as low. */
static double next_level(const setting_range *range, double keep)
{
    const double next = keep / range->factor;
    return next < range->low && keep > ABOUT * range->low ? range->low : next;
}

/* A ladder of levels from high down to low. All numbers are no level, but a codec of their own. */
static tithe_status add_levels(maker *m, const char *codec, bool even, tithe_error *error)
{
    const double low = m->range->low, high = m->range->high, rounding = 1 - 1e-9;
    tithe_status status = TITHE_OK;
    const double n = (double)m->ex->n;
    for (double keep = high; keep >= rounding * low && keep * n >= 1 && !status;
         keep = next_level(m->range, keep)) {
        if ((keep >= 1 && !m->range->shares_alone) || (even && keep > EVEN_MAX)) continue;
        char text[TITHE_SETTING_TEXT];
        write_level(codec, keep, text, sizeof text);
        m->entries = keep * n;
        status = add_all(m, text, false, false, error);
    }
    return status;
}

static bool has_share(const tithe_codec *codec)
{
    return ti_spec_find(codec->selector->params, "keep") >= 0;
}

static tithe_status add_codec(maker *m, const tithe_codec *codec, tithe_error *error)
{
    const char *spec = tithe_codec_spec(codec);
    setting_list *list = m->list;
    const bool open = has_share(codec) && !codec->has_level;
    char *family = list->family[list->families < MAX_FAMILIES ? list->families++ : MAX_FAMILIES - 1];
    snprintf(family, sizeof *list->family, "%s", spec);
    if (open) write_level(spec, 0.01, family, sizeof *list->family);
    if (codec->selector->source == TITHE_INDICES_ALL && !m->range->shares_alone)
        return add_all(m, spec, true, false, error);
    if (open) return add_levels(m, spec, codec->quantizer->common == TITHE_COMMON_MEAN, error);
    return ti_fail(error, TITHE_E_SPEC, 0,
                   "A level that is a share has to be left open: take topk, mstopk or randk without keep= "
                   "and k=, not %s.",
                   spec);
}

/* Under momentum a few entries are far larger than the mean that signs have for all of them, and take many steps to go: on an MLP signs took 1.7 times
 * the steps of dense, and natural 1.2 times with as many bytes (docs/pytorch.md). */
static bool suits(const maker *m, const tithe_codec *codec)
{
    return !(m->ex->config.momentum > 0) || codec->quantizer->common != TITHE_COMMON_MEAN;
}

/* Where nothing was said of codecs. */
static tithe_status add_codecs(maker *m, tithe_error *error)
{
    static const char *const worth[] = {"all|natural",
                                        "all|dither:s=127,p=inf,bucket=512",
                                        "all|dither:s=7,p=inf,bucket=512",
                                        "topk|raw",
                                        "topk|natural",
                                        "topk|sign"};
    tithe_status status = TITHE_OK;
    for (size_t i = 0; i < sizeof worth / sizeof *worth && !status; i++) {
        if (m->range->shares_alone && strcmp(worth[i], "topk|raw") != 0) continue; /* as its paper has it */
        tithe_codec *codec;
        const tithe_codec_options open = {.open_level = true};
        status = tithe_codec_create(worth[i], &open, &codec, error);
        if (status) break;
        if (suits(m, codec)) status = add_codec(m, codec, error);
        tithe_codec_free(codec);
    }
    return status;
}

/* NULL: any. */
static const char *named(const char *name)
{
    return name && strcmp(name, "auto") != 0 ? name : NULL;
}

static const tithe_scheme *named_scheme(const char *spec)
{
    const tithe_scheme *scheme;
    return named(spec) && !tithe_scheme_find(spec, &scheme, NULL, NULL) ? scheme : NULL;
}

/* Spare settings alone are none that were asked for; nor is dense, where something else was and all of its levels are left out. */
static tithe_status expect_some(const maker *m, const tithe_exchange_config *config, tithe_error *error)
{
    const bool no_levels = m->asks_for_part && m->range->low >= 1;
    const bool dense_alone = no_levels || (m->only_scheme && needs_a_rank(m, m->only_scheme));
    for (size_t i = 0; i < m->list->count; i++)
        if (!m->list->all[i].spare && !(dense_alone && m->list->all[i].whole)) return TITHE_OK;
    const char *why = m->why_not.code ? m->why_not.text : NULL;
    if (!why && m->needs_switch) why = m->needs_switch->refuse(config);
    if (why) return ti_fail(error, TITHE_E_SPEC, 0, "%s", why);
    return ti_fail(
        error, TITHE_E_SPEC, 0,
        no_levels ? "There is no way to send all of %s like this: leave `scheme` to the tuner, or "
                    "take a lower low=."
                  : "There is no way to send %s like this: leave `scheme` and `collective` to the tuner.",
        tithe_codec_spec(config->codec));
}

tithe_status ti_settings_make(const tithe_exchange *ex, const tithe_exchange_config *config,
                              const setting_range *range, setting_list *list, tithe_error *error)
{
    const tithe_codec *codec = config->codec;
    const tithe_scheme *only = named_scheme(config->scheme);
    maker m = {.ex = ex,
               .list = list,
               .range = range,
               .only_scheme = only,
               .only_collective = named(config->collective),
               .needs_switch = only && only->integers ? only : NULL,
               .asks_for_part = !ti_exchange_sums_whole(codec) || (only && !only->whole)};
    *list = (setting_list){0};
    tithe_status status = add_all(&m, "all|raw", true, true, error);
    if (!status) status = ti_exchange_sums_whole(codec) ? add_codecs(&m, error) : add_codec(&m, codec, error);
    return status ? status : expect_some(&m, config, error);
}

void ti_settings_free(setting_list *list)
{
    free(list->all);
    *list = (setting_list){0};
}
