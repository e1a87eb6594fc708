/* cmd_list.c - tithe list: every variant with its parameters, its paper and what it promises.
 *
 * A kind of variant is one row of the table `kinds`. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "json.h"
#include "options.h"
#include "specs.h"
#include "text.h"
#include "tithe/data.h"
#include "verbs.h"

enum { HALF = 160 };

typedef struct list_call {
    cJSON *json; /* add to this array; NULL: print for a person */
    size_t n;    /* at which promises are stated */
} list_call;

/* ---- one variant -------------------------------------------------------------------------------------- */

/* scale and type belong to the pair, so their tables leave the default open; alone it is the first choice. */
static int default_choice(const tithe_param *p)
{
    return isnan(p->fallback) ? 0 : (int)p->fallback;
}

static void choice_at(const char *choices, int place, char *dst, size_t size)
{
    for (; place > 0 && strchr(choices, '|'); place--) choices = strchr(choices, '|') + 1;
    snprintf(dst, size, "%.*s", (int)strcspn(choices, "|"), choices);
}

static cJSON *param_json(const tithe_param *p)
{
    cJSON *json = json_object();
    char word[64];
    json_text(json, "name", p->name);
    json_text(json, "doc", p->doc);
    if (p->choices) {
        choice_at(p->choices, default_choice(p), word, sizeof word);
        json_text(json, "default", word);
    } else {
        json_number(json, "default", p->fallback);
    }
    json_number(json, "min", p->min);
    json_number(json, "max", p->max);
    if (p->choices) {
        cJSON *choices = json_array();
        for (const char *at = p->choices; at; at = strchr(at, '|') ? strchr(at, '|') + 1 : NULL) {
            choice_at(at, 0, word, sizeof word);
            json_append(choices, cJSON_CreateString(word));
        }
        json_item(json, "choices", choices);
    }
    return json;
}

/* 4294967295 as "4,294,967,295", 1e-9 as "1e-09". */
static text_number plain(double value)
{
    return value >= 0 && value < 1e15 && value == floor(value) ? text_group((uint64_t)value)
                                                               : text_short(value);
}

static void print_param(const tithe_param *p)
{
    char word[64], what[400];
    if (p->choices) {
        choice_at(p->choices, default_choice(p), word, sizeof word);
        snprintf(what, sizeof what, "%s (%s, default %s)", p->doc, p->choices, word);
    } else {
        snprintf(what, sizeof what, "%s (%s to %s, %s%s)", p->doc, plain(p->min).text, plain(p->max).text,
                 isnan(p->fallback) ? "no default" : "default ",
                 isnan(p->fallback) ? "" : plain(p->fallback).text);
    }
    const int printed = printf("                %-7s ", p->name);
    text_wrap(stdout, (size_t)printed, 24, what);
}

typedef struct entry {
    const char *kind, *name, *summary, *paper;
    const tithe_param *params;
    unsigned traits;
} entry;

static void list_entry(const list_call *c, const entry *e)
{
    if (c->json) {
        cJSON *json = json_append(c->json, json_object());
        json_text(json, "kind", e->kind);
        json_text(json, "name", e->name);
        json_text(json, "summary", e->summary);
        json_text(json, "paper", e->paper);
        cJSON *params = json_array();
        for (const tithe_param *p = e->params; p && p->name; p++) json_append(params, param_json(p));
        json_item(json, "params", params);
        json_traits(json, "traits", e->traits);
        return;
    }
    const bool short_name = strlen(e->name) <= 12, has_paper = strcmp(e->paper, "-") != 0;
    printf(short_name ? "  %-12s  " : "  %s\n                ", e->name);
    text_wrap(stdout, 16, 16, e->summary);
    if (e->traits) printf("                traits: %s", text_trait_list(e->traits).text);
    if (has_paper) printf(e->traits ? "; paper: %s" : "                paper: %s", e->paper);
    if (e->traits || has_paper) printf("\n");
    for (const tithe_param *p = e->params; p && p->name; p++) print_param(p);
    printf("\n");
}

static int list_variant(const list_call *c, const char *kind, spec_variant v)
{
    char half[HALF];
    tithe_error error = {0};
    if (!spec_base(v, spec_values_list, half, sizeof half, &error))
        return text_fail_status(v.name, TITHE_E_SPEC, &error);
    tithe_codec *codec = spec_alone(v.selector, half, NULL);
    const tithe_claims claims = tithe_codec_claims(codec, c->n);
    tithe_codec_free(codec);
    list_entry(c, &(entry){kind, v.name, v.summary, v.paper, v.params, claims.traits});
    return EXIT_DONE;
}

/* ---- kinds -------------------------------------------------------------------------------------------- */

static int list_selectors(const list_call *c)
{
    int status = EXIT_DONE;
    if (!c->json) printf("Selectors: which coordinates go\n\n");
    for (const tithe_selector *const *s = tithe_selectors(); *s && !status; s++)
        status = list_variant(c, "selector", spec_selector(*s));
    return status;
}

static int list_quantizers(const list_call *c)
{
    int status = EXIT_DONE;
    if (!c->json) printf("Quantizers: how a coordinate is written\n\n");
    for (const tithe_quantizer *const *q = tithe_quantizers(); *q && !status; q++)
        status = list_variant(c, "quantizer", spec_quantizer(*q));
    return status;
}

static int list_codecs(const list_call *c)
{
    const int status = list_selectors(c);
    if (status) return status;
    const int other = list_quantizers(c);
    if (!c->json && !other)
        printf("A codec is selector|quantizer, such as topk:keep=0.01|natural; traits are those of "
               "selector|raw and\n"
               "all|quantizer; 'tithe list pairs' shows what each pair promises.\n");
    return other;
}

static void list_pair(const list_call *c, const char *selector, const char *quantizer, const char *spec)
{
    tithe_codec *codec = NULL;
    tithe_error error = {0};
    const tithe_status refused = tithe_codec_create(spec, NULL, &codec, &error);
    const char *reason = error.text[0] ? error.text : tithe_status_text(refused);
    tithe_claims claims = {.omega = NAN, .delta = NAN, .Delta = NAN};
    if (!refused) claims = tithe_codec_claims(codec, c->n);

    if (c->json) {
        cJSON *json = json_append(c->json, json_object());
        json_text(json, "kind", "pair");
        json_text(json, "spec", spec);
        json_text(json, "selector", selector);
        json_text(json, "quantizer", quantizer);
        json_bool(json, "legal", !refused);
        json_text(json, "reason", refused ? reason : NULL);
        json_traits(json, "traits", claims.traits);
        json_count(json, "n", c->n);
        json_number(json, "omega", claims.omega);
        json_number(json, "delta", claims.delta);
        json_number(json, "Delta", claims.Delta);
    }
    if (!c->json) {
        enum { REASON = 36, TRAITS = 70 };
        printf("  %-32s  ", spec);
        if (!refused)
            printf("%10s %10s %10s  ", text_short(claims.omega).text, text_short(claims.delta).text,
                   text_short(claims.Delta).text);
        text_wrap(stdout, refused ? REASON : TRAITS, refused ? REASON : TRAITS,
                  refused ? reason : text_trait_list(claims.traits).text);
    }
    tithe_codec_free(codec);
}

static int list_pairs(const list_call *c)
{
    char selector[HALF], quantizer[HALF], spec[2 * HALF];
    if (!c->json)
        printf("Pairs at n = %s: E|C(x)|^2 <= (1 + omega) |x|^2 and E|C(x)-x|^2 <= (1 - delta) |x|^2 + "
               "Delta^2\n\n"
               "  %-32s  %10s %10s %10s  traits\n",
               text_group(c->n).text, "codec", "omega", "delta", "Delta");
    for (const tithe_selector *const *s = tithe_selectors(); *s; s++) {
        spec_base(spec_selector(*s), spec_values_list, selector, sizeof selector, NULL);
        for (const tithe_quantizer *const *q = tithe_quantizers(); *q; q++) {
            spec_base(spec_quantizer(*q), spec_values_list, quantizer, sizeof quantizer, NULL);
            snprintf(spec, sizeof spec, "%s|%s", selector, quantizer);
            list_pair(c, (*s)->name, (*q)->name, spec);
        }
    }
    return EXIT_DONE;
}

static int list_data(const list_call *c)
{
    if (!c->json) printf("Data: sets that have a name\n\n");
    for (const tithe_data_source *const *s = tithe_data_sources(); *s; s++)
        list_entry(c, &(entry){"data", (*s)->name, (*s)->summary, (*s)->paper, (*s)->params, 0});
    if (!c->json)
        printf("A file is named by its path, or by its name in the directory that TITHE_DATA says: LIBSVM "
               "text or "
               "IDX\nimages, plain or compressed.\n");
    return EXIT_DONE;
}

typedef struct list_kind {
    const char *name;
    int (*list)(const list_call *c);
} list_kind;

static const list_kind kinds[] = {
    {"codecs", list_codecs}, /* the first is what `tithe list` alone shows */
    {"selectors", list_selectors}, {"quantizers", list_quantizers},
    {"pairs", list_pairs},         {"data", list_data},
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

int cmd_list(int argc, char **argv)
{
    const char *json = NULL;
    uint64_t n = 1000000;
    char names[128], usage[132];
    size_t used = 0;
    for (size_t i = 0; i < KINDS; i++)
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i ? "|" : "", kinds[i].name);
    snprintf(usage, sizeof usage, "[%s]", names);

    const option options[] = {
        option_number("n", "N", "length of the vector at which promises are stated (default 1,000,000)", 1,
                      TITHE_MAX_N, &n),
        option_json(&json),
        option_end(),
    };
    const command c = {
        .positionals = usage,
        .least = 0,
        .most = 1,
        .summary = "Show what Tithe comes with: each variant with its parameters (range and default), the "
                   "paper it comes from, and what it promises. 'codecs', the default, lists selectors and "
                   "quantizers; 'pairs' lists what each selector promises together with each quantizer, at "
                   "an example level; 'data' lists data sets that have a name.",
        .options = options,
        .examples = "  tithe list\n"
                    "  tithe list quantizers\n"
                    "  tithe list pairs --n 10000\n"
                    "  tithe list codecs --json -",
    };
    int count, status;
    if (!options_parse(&c, argc, argv, &count, &status)) return status;

    const list_kind *kind = kinds;
    while (count && kind < kinds + KINDS && strcmp(kind->name, argv[0]) != 0) kind++;
    if (kind == kinds + KINDS) return text_fail("There is no kind '%s'; take one of %s", argv[0], names);

    if (json) {
        const list_call machine = {.json = json_array(), .n = (size_t)n};
        status = kind->list(&machine);
        if (status || !json_write(json, machine.json)) return EXIT_BAD;
    }
    const list_call human = {.n = (size_t)n};
    return json_alone(json) ? EXIT_DONE : kind->list(&human);
}
