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
#include "tithe/learn.h"
#include "transports.h"
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
    const unsigned column = strlen(p->name) < 8 ? 24 : 17 + (unsigned)strlen(p->name);
    printf("                %-7s ", p->name);
    text_wrap(stdout, column, 24, what);
}

static cJSON *add_variant(cJSON *list, const char *kind, const char *name, const char *summary,
                          const char *paper, const tithe_param *table)
{
    cJSON *json = json_append(list, json_object()), *params = json_array();
    json_text(json, "kind", kind);
    json_text(json, "name", name);
    json_text(json, "summary", summary);
    json_text(json, "paper", paper ? paper : "-");
    for (const tithe_param *p = table; p && p->name; p++) json_append(params, param_json(p));
    json_item(json, "params", params);
    return json;
}

/* `remark` is what else there is to say, and `what` it is about; NULL: nothing. */
static void print_variant(const char *name, const char *summary, const char *paper, const tithe_param *table,
                          const char *what, const char *remark)
{
    printf(strlen(name) <= 12 ? "  %-12s  " : "  %s\n                ", name);
    text_wrap(stdout, 16, 16, summary);
    if (remark) printf("                %s: %s", what, remark);
    if (paper) printf(remark ? "; paper: %s" : "                paper: %s", paper);
    if (remark || paper) printf("\n");
    for (const tithe_param *p = table; p && p->name; p++) print_param(p);
    printf("\n");
}

static int list_variant(const list_call *c, const char *kind, spec_variant v)
{
    char half[HALF];
    tithe_error error = {0};
    if (!spec_base(v, spec_values_list, half, sizeof half, &error))
        return text_fail_status(v.name, TITHE_E_SPEC, &error);
    tithe_codec *codec = spec_alone(v.selector, half, &error);
    if (!codec) return text_fail_status(v.name, TITHE_E_MEMORY, &error);
    tithe_claims claims = {.size = sizeof claims};
    tithe_codec_claims(codec, c->n, &claims);
    tithe_codec_free(codec);

    if (c->json)
        json_traits(add_variant(c->json, kind, v.name, v.summary, v.paper, v.params), "traits",
                    claims.traits);
    else
        print_variant(v.name, v.summary, v.paper, v.params, "traits", text_trait_list(claims.traits).text);
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

static int list_pair(const list_call *c, const char *selector, const char *quantizer, const char *spec)
{
    tithe_codec *codec = NULL;
    tithe_error error = {0};
    const tithe_status refused = tithe_codec_create(spec, NULL, &codec, &error);
    if (refused == TITHE_E_MEMORY) return text_fail_status(spec, refused, &error);
    const char *reason = error.text[0] ? error.text : tithe_status_text(refused);
    tithe_claims claims = {.size = sizeof claims, .omega = NAN, .delta = NAN, .Delta = NAN};
    if (!refused) tithe_codec_claims(codec, c->n, &claims);

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
    return EXIT_DONE;
}

static int list_pairs(const list_call *c)
{
    char selector[HALF], quantizer[HALF], spec[2 * HALF];
    tithe_error error = {0};
    int status = EXIT_DONE;
    if (!c->json)
        printf("Pairs at n = %s: E|C(x)|^2 <= (1 + omega) |x|^2 and E|C(x)-x|^2 <= (1 - delta) |x|^2 + "
               "Delta^2\n\n"
               "  %-32s  %10s %10s %10s  traits\n",
               text_group(c->n).text, "codec", "omega", "delta", "Delta");
    for (const tithe_selector *const *s = tithe_selectors(); *s && !status; s++)
        for (const tithe_quantizer *const *q = tithe_quantizers(); *q && !status; q++) {
            if (!spec_base(spec_selector(*s), spec_values_list, selector, sizeof selector, &error) ||
                !spec_base(spec_quantizer(*q), spec_values_list, quantizer, sizeof quantizer, &error))
                return text_fail_status((*s)->name, TITHE_E_SPEC, &error);
            snprintf(spec, sizeof spec, "%s|%s", selector, quantizer);
            status = list_pair(c, (*s)->name, (*q)->name, spec);
        }
    return status;
}

/* A cost has one trait besides its unit: whether it has steps. */
static void add_cost(const list_call *c, const char *name, const char *summary, const char *paper,
                     const tithe_cost_model *model, const tithe_param *params)
{
    if (!c->json) {
        print_variant(name, summary, paper, params, "unit", model->unit);
        return;
    }
    cJSON *traits = json_array();
    char unit[24];
    snprintf(unit, sizeof unit, "unit=%s", model->unit);
    json_append(traits, cJSON_CreateString(unit));
    if (model->packet) json_append(traits, cJSON_CreateString("packets"));
    json_item(add_variant(c->json, "cost", name, summary, paper, params), "traits", traits);
}

static int list_costs(const list_call *c)
{
    if (!c->json) printf("Costs: what a message costs\n\n");
    for (const tithe_cost_model *const *m = tithe_cost_models(); *m; m++)
        add_cost(c, (*m)->name, (*m)->summary, (*m)->paper, *m, (*m)->params);
    for (const tithe_cost_preset *p = tithe_cost_presets(); p->name; p++) {
        tithe_cost *cost = NULL;
        tithe_error error = {0};
        char summary[240];
        const tithe_status status = tithe_cost_create(p->spec, &cost, &error);
        if (status) return text_fail_status(p->name, status, &error);
        snprintf(summary, sizeof summary, "%s (%s)", p->summary, p->spec);
        add_cost(c, p->name, summary, p->paper, tithe_cost_model_of(cost), NULL);
        tithe_cost_free(cost);
    }
    if (!c->json) printf("Amounts have units: latency=1ms, bandwidth=100Mbit, payload=1472B.\n");
    return EXIT_DONE;
}

/* What has nothing to say but its name, its parameters and its paper. */
static void list_plain(const list_call *c, const char *kind, const char *name, const char *summary,
                       const char *paper, const tithe_param *params)
{
    if (c->json)
        json_item(add_variant(c->json, kind, name, summary, paper, params), "traits", json_array());
    else
        print_variant(name, summary, paper, params, NULL, NULL);
}

static int list_tuners(const list_call *c)
{
    if (!c->json) printf("Tuners: how much to send now\n\n");
    for (const tithe_tuner *const *t = tithe_tuners(); *t; t++)
        list_plain(c, "tuner", (*t)->name, (*t)->summary, (*t)->paper, (*t)->params);
    return EXIT_DONE;
}

static int list_data(const list_call *c)
{
    if (!c->json) printf("Data: sets that have a name\n\n");
    for (const tithe_data_source *const *s = tithe_data_sources(); *s; s++)
        list_plain(c, "data", (*s)->name, (*s)->summary, (*s)->paper, (*s)->params);
    if (!c->json)
        printf("A file is named by its path, or by its name in the directory that TITHE_DATA says: LIBSVM "
               "text or IDX\n"
               "images, plain or compressed.\n");
    return EXIT_DONE;
}

static int list_models(const list_call *c)
{
    if (!c->json) printf("Models: what is learned\n\n");
    for (const tithe_model *const *m = tithe_models(); *m; m++)
        list_plain(c, "model", (*m)->name, (*m)->summary, (*m)->paper, (*m)->params);
    return EXIT_DONE;
}

static int list_estimators(const list_call *c)
{
    if (!c->json) printf("Estimators: which gradient\n\n");
    for (const tithe_estimator *const *e = tithe_estimators(); *e; e++)
        list_plain(c, "estimator", (*e)->name, (*e)->summary, (*e)->paper, (*e)->params);
    return EXIT_DONE;
}

static int list_feedbacks(const list_call *c)
{
    if (!c->json) printf("Feedback: what becomes of what was not sent\n\n");
    for (const tithe_feedback *const *f = tithe_feedbacks(); *f; f++)
        list_plain(c, "feedback", (*f)->name, (*f)->summary, (*f)->paper, (*f)->params);
    return EXIT_DONE;
}

static int list_schemes(const list_call *c)
{
    if (!c->json) printf("Schemes: who sends what to whom\n\n");
    for (const tithe_scheme *const *s = tithe_schemes(); *s; s++)
        list_plain(c, "scheme", (*s)->name, (*s)->summary, (*s)->paper, (*s)->params);
    return EXIT_DONE;
}

static int list_collectives(const list_call *c)
{
    if (!c->json) printf("Collectives: over which pattern\n\n");
    for (const tithe_collective *const *p = tithe_collectives(); *p; p++)
        list_plain(c, "collective", (*p)->name, (*p)->summary, (*p)->paper, (*p)->params);
    return EXIT_DONE;
}

static int list_leaders(const list_call *c)
{
    if (!c->json) printf("Leaders: whose indices all ranks take\n\n");
    for (const tithe_leader *const *l = tithe_leaders(); *l; l++)
        list_plain(c, "leader", (*l)->name, (*l)->summary, (*l)->paper, (*l)->params);
    return EXIT_DONE;
}

static int list_samplings(const list_call *c)
{
    if (!c->json) printf("Samplings: which rows an estimator draws\n\n");
    for (const tithe_sampling *const *s = tithe_samplings(); *s; s++)
        list_plain(c, "sampling", (*s)->name, (*s)->summary, (*s)->paper, (*s)->params);
    return EXIT_DONE;
}

static int list_averages(const list_call *c)
{
    if (!c->json) printf("Averages: of the iterates, besides the last one\n\n");
    for (const tithe_average *const *a = tithe_averages(); *a; a++)
        list_plain(c, "average", (*a)->name, (*a)->summary, (*a)->paper, (*a)->params);
    return EXIT_DONE;
}

static int list_step_sizes(const list_call *c)
{
    if (!c->json) printf("Step sizes: how far, in which step\n\n");
    for (const tithe_step_rule *const *r = tithe_step_rules(); *r; r++)
        list_plain(c, "step-size", (*r)->name, (*r)->summary, (*r)->paper, (*r)->params);
    return EXIT_DONE;
}

static int list_transports(const list_call *c)
{
    if (!c->json) printf("Transports: how messages get from one process to another\n\n");
    for (const transport_row *t = transports(); t->name; t++) {
        if (c->json)
            list_plain(c, "transport", t->name, t->summary, t->paper, t->params);
        else
            print_variant(t->name, t->summary, t->paper, t->params, "library", t->library);
    }
    return EXIT_DONE;
}

typedef struct list_kind {
    const char *name;
    int (*list)(const list_call *c);
} list_kind;

/* The first is what `tithe list` alone shows. */
static const list_kind kinds[] = {
    {"codecs", list_codecs},
    {"selectors", list_selectors},
    {"quantizers", list_quantizers},
    {"pairs", list_pairs},
    {"costs", list_costs},
    {"tuners", list_tuners},
    {"feedback", list_feedbacks},
    {"schemes", list_schemes},
    {"collectives", list_collectives},
    {"leaders", list_leaders},
    {"transports", list_transports},
    {"estimators", list_estimators},
    {"samplings", list_samplings},
    {"averages", list_averages},
    {"step-sizes", list_step_sizes},
    {"models", list_models},
    {"data", list_data},
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

int cmd_list(int argc, char **argv)
{
    const char *json = NULL;
    uint64_t n = 1000000;
    char names[240], summary[720];
    size_t used = 0;
    for (size_t i = 0; i < KINDS; i++)
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "", kinds[i].name);
    snprintf(summary, sizeof summary,
             "Show what Tithe comes with: each variant with its parameters (range and default), the paper it "
             "comes from, "
             "and what it promises. KIND is one of %s. 'codecs', the default, lists selectors and "
             "quantizers; 'pairs' "
             "lists what each selector promises together with each quantizer, at an example level; those "
             "from 'costs' on "
             "are what the options of tithe train take.",
             names);

    const option options[] = {
        option_number("n", "N", "length of the vector at which promises are stated (default 1,000,000)", 1,
                      TITHE_MAX_N, &n),
        option_json(&json),
        option_end(),
    };
    const command c = {
        .positionals = "[KIND]",
        .min = 0,
        .max = 1,
        .summary = summary,
        .options = options,
        .examples = "  tithe list\n"
                    "  tithe list quantizers\n"
                    "  tithe list pairs --n 10000\n"
                    "  tithe list costs\n"
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
