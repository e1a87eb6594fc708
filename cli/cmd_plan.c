/* cmd_plan.c - tithe plan: which scheme, collective and level is cheapest on a link, and does compression pay at all? */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "amounts.h"
#include "files.h"
#include "json.h"
#include "options.h"
#include "plan_map.h"
#include "plan_speed.h"
#include "text.h"
#include "verbs.h"

enum { MAX_KEEPS = 64, MAX_CODECS = 16, MAX_PATH = 1024 };

/* ---- what is asked for ------------------------------------------------------------------------------------------- */

typedef struct plan_options {
    const char *params, *layers, *workers, *latency, *bandwidth, *cost, *keep, *codec, *report, *json;
    char *codec_text;     /* of --codec, cut at its semicolons */
    tithe_cost *measured; /* what --cost names */
    int count;
    bool no_codec, no_map, quiet; /* quiet: standard output is taken */
    double keeps[MAX_KEEPS];
    tithe_plan_codec codecs[MAX_CODECS], summed;
    uint64_t min, max; /* workers */
} plan_options;

static bool read_workers(plan_options *o)
{
    char first[32];
    const char *dots = strstr(o->workers, "..");
    snprintf(first, sizeof first, "%.*s", (int)(dots ? dots - o->workers : (long)strlen(o->workers)),
             o->workers);
    const bool fine = options_number(first, 1, 1000000, &o->min) &&
                      (dots ? options_number(dots + 2, o->min, 1000000, &o->max) : (o->max = o->min, true));
    if (!fine) text_fail("--workers takes a number, or a range such as 2..100000, not '%s'", o->workers);
    return fine;
}

static bool read_params(const plan_options *o, double *params)
{
    size_t *sizes, count;
    if (o->layers) {
        if (!options_sizes("layers", o->layers, &sizes, &count)) return false;
        *params = 0;
        for (size_t i = 0; i < count; i++) *params += (double)sizes[i];
        free(sizes);
        return true;
    }
    char *end;
    *params = o->params ? strtod(o->params, &end) : 0;
    if (o->params && !*end && *params >= 1 && *params <= 1e15) {
        *params = floor(*params);
        return true;
    }
    text_fail("Say how long the gradient is: --params 25557032, or the lengths of its layers with --layers");
    return false;
}

/* "alphabeta:..." and "table:FILE" as everywhere; any other text is the file itself. */
static bool is_spec(const char *text)
{
    const size_t length = strcspn(text, ":");
    for (const tithe_cost_model *const *m = tithe_cost_models(); *m; m++)
        if (strlen((*m)->name) == length && strncmp((*m)->name, text, length) == 0) return true;
    for (const tithe_cost_preset *p = tithe_cost_presets(); p->name; p++)
        if (strcmp(p->name, text) == 0) return true;
    return false;
}

static bool read_cost(plan_options *o, tithe_plan_request *q)
{
    char spec[MAX_PATH];
    tithe_error error = {0};
    if (o->latency || o->bandwidth) {
        text_fail("--cost says what a link does, and so do --latency and --bandwidth: leave one of them out");
        return false;
    }
    snprintf(spec, sizeof spec, "%s%s", is_spec(o->cost) ? "" : "table:", o->cost);
    tithe_status status = tithe_cost_create(spec, &o->measured, &error);
    if (!status) status = tithe_link_of_cost(o->measured, &q->link, &error);
    if (status) text_fail_status(NULL, status, &error);
    return !status;
}

static bool read_link(plan_options *o, tithe_plan_request *q)
{
    if (o->cost) return read_cost(o, q);
    const char *latency = o->latency ? o->latency : "1ms", *bandwidth = o->bandwidth ? o->bandwidth : "1Gbit";
    if (!amount_seconds(latency, &q->link.latency)) {
        text_fail("--latency takes a time such as 1ms or 250us, not '%s'", latency);
        return false;
    }
    if (!amount_rate(bandwidth, &q->link.bandwidth)) {
        text_fail("--bandwidth takes a rate such as 100Mbit or 10Gbit, not '%s'", bandwidth);
        return false;
    }
    return true;
}

/* Specs have commas, so semicolons stand between them. */
static bool read_codecs(plan_options *o, tithe_plan_request *q)
{
    q->codecs = o->codecs;
    o->summed.spec = "all|natural"; /* what a switch would make of it, where nobody names codecs */
    if (!o->codec && !q->count_paper) q->summed = &o->summed;
    if (!o->codec) return true;
    o->codec_text = text_copy(o->codec);
    for (char *at = o->codec_text; at; q->codec_count++) {
        char *end = strchr(at, ';');
        if (end) *end++ = 0;
        if (!*at || q->codec_count == MAX_CODECS) {
            text_fail("--codec takes up to %d codecs with semicolons between them, such as "
                      "'natural;all|dither:s=7', not '%s'",
                      MAX_CODECS, o->codec);
            return false;
        }
        o->codecs[q->codec_count].spec = at;
        at = end;
    }
    return true;
}

static bool read_request(plan_options *o, tithe_plan_request *q)
{
    q->keeps = o->keeps;
    q->count_paper = o->count == 1;
    if (!read_params(o, &q->params) || !read_workers(o)) return false;
    q->workers = (unsigned)o->min;
    if (!read_link(o, q)) return false;
    if (!amount_list(o->keep, o->keeps, MAX_KEEPS, &q->keep_count)) {
        text_fail("--keep takes up to %d shares with commas between them, such as 0.1,0.01, not '%s'",
                  MAX_KEEPS, o->keep);
        return false;
    }
    return read_codecs(o, q);
}

/* ---- the answer ---------------------------------------------------------------------------------------------------- */

static cJSON *row_json(const tithe_plan_row *row)
{
    cJSON *json = json_object();
    json_text(json, "scheme", row->scheme);
    json_text(json, "collective", row->collective);
    if (row->codec) json_text(json, "codec", row->codec);
    json_number(json, "keep", row->keep);
    json_number(json, "network_seconds", row->network_seconds);
    json_number(json, "codec_seconds", row->codec_seconds);
    json_number(json, "seconds", row->seconds);
    if (plan_crowds(row)) json_number(json, "network_seconds_most", row->network_most);
    json_text(json, "options", plan_flags(row).text);
    return json;
}

static cJSON *plan_json(const tithe_plan_request *q, const tithe_plan_row *rows, const tithe_plan *plan)
{
    cJSON *json = json_object(), *list = json_array();
    json_number(json, "params", q->params);
    json_count(json, "workers", q->workers);
    json_number(json, "latency_s", q->link.latency);
    json_number(json, "bandwidth_Bps", q->link.bandwidth);
    const size_t count = tithe_plan_rows(q);
    for (size_t i = 0; i < count; i++) json_append(list, row_json(&rows[i]));
    json_item(json, "rows", list);
    json_item(json, "winner", row_json(&rows[plan->winner]));
    json_item(json, "network_winner", row_json(&rows[plan->network_winner]));
    json_number(json, "dense_seconds", rows[plan->dense].seconds);
    json_number(json, "break_even_Bps", plan->break_even);
    json_bool(json, "pays", plan->winner != plan->dense);
    return json;
}

static void print_plan(const tithe_plan_request *q, const tithe_plan_row *rows, const tithe_plan *plan)
{
    printf("%s numbers, %u workers, latency %s, bandwidth %s%s\n\n", text_group((uint64_t)q->params).text,
           q->workers, amount_time(q->link.latency).text, amount_bandwidth(q->link.bandwidth).text,
           q->link.points ? "; messages as measured" : "");
    const size_t count = tithe_plan_rows(q);
    printf("  %-8s %-10s %7s %12s %12s %12s\n", "scheme", "over", "keep", "transfer", "codec", "in all");
    bool crowds = false;
    for (size_t i = 0; i < count; i++) {
        printf("%s %-8s %-10s %7.*g %12s %12s %12s%s%s%s\n", i == plan->winner ? ">" : " ", rows[i].scheme,
               rows[i].collective, rows[i].codec ? 3 : 6, rows[i].keep,
               amount_time(rows[i].network_seconds).text, amount_time(rows[i].codec_seconds).text,
               amount_time(rows[i].seconds).text, rows[i].codec ? "  " : "",
               rows[i].codec ? rows[i].codec : "", plan_at_most(&rows[i]).text);
        crowds = crowds || plan_crowds(&rows[i]);
    }
    if (crowds)
        printf("\nAt most: where all that a worker sends lies in the part of one. Otherwise it lies in all "
               "parts "
               "alike.\n");
    const tithe_plan_row *w = &rows[plan->winner], *d = &rows[plan->dense];
    if (plan->winner == plan->dense)
        printf("\nCompression does not pay: dense over %s takes %s, and nothing else is faster.\n",
               d->collective, amount_time(d->seconds).text);
    else
        printf(
            "\nCompression pays: t_sync(c) + t_codec(c) = %s + %s < t_sync(dense) = %s, %.3g times faster.\n",
            amount_time(w->network_seconds).text, amount_time(w->codec_seconds).text,
            amount_time(d->seconds).text, d->seconds / w->seconds);
    printf("%s\n", plan_break_even(plan).text);
    printf("The fastest step is that of: tithe train %s\n", plan_flags(w).text);
}

/* The fastest of a scheme; NULL: it has no rows. */
static const tithe_plan_row *fastest(const tithe_plan_row *rows, size_t count, const tithe_scheme *scheme)
{
    const tithe_plan_row *best = NULL;
    for (size_t i = 0; i < count; i++)
        if (strcmp(rows[i].scheme, scheme->name) == 0 && (!best || rows[i].seconds < best->seconds))
            best = &rows[i];
    return best;
}

/* The fastest of each scheme, as the number of workers grows. */
static int print_growth(const plan_options *o, tithe_plan_request q, tithe_plan_row *rows)
{
    const tithe_scheme *const *schemes = tithe_schemes();
    const size_t count = tithe_plan_rows(&q);
    printf("\n  %8s", "workers");
    for (size_t s = 0; schemes[s]; s++)
        if (fastest(rows, count, schemes[s])) printf(" %20s", schemes[s]->name);
    printf("\n");
    for (uint64_t n = o->min;; n = n * 2 < o->max ? n * 2 : o->max) {
        tithe_plan plan;
        tithe_error error = {0};
        q.workers = (unsigned)n;
        const tithe_status status = tithe_plan_make(&q, rows, &plan, &error);
        if (status) return text_fail_status(NULL, status, &error);
        printf("  %8s", text_group(n).text);
        for (size_t s = 0; schemes[s]; s++) {
            const tithe_plan_row *best = fastest(rows, count, schemes[s]);
            if (best) printf(" %10s %9s", amount_time(best->seconds).text, best->collective);
        }
        printf("\n");
        if (n == o->max) return EXIT_DONE;
    }
}

static int answer(plan_options *o, tithe_plan_request *q)
{
    tithe_error error = {0};
    tithe_plan plan = {0};
    plan_map map;
    tithe_status status = o->no_codec ? TITHE_OK : plan_speed(&q->speed, &error);
    for (size_t i = 0; !o->no_codec && i < q->codec_count && !status; i++)
        status = plan_speed_codec(&o->codecs[i], &error);
    if (!o->no_codec && q->summed && !status) status = plan_speed_codec(&o->summed, &error);
    tithe_plan_row *rows = text_memory(tithe_plan_rows(q) * sizeof *rows);
    if (!status) status = tithe_plan_make(q, rows, &plan, &error);
    const bool growth = o->max > o->min;
    const bool shows_map = !o->quiet && !growth && !o->no_map;
    if (!status && (shows_map || o->report)) status = plan_map_fill(q, &map, &error);
    int result = status ? text_fail_status(NULL, status, &error) : EXIT_DONE;
    if (!result && o->json && !json_write(o->json, plan_json(q, rows, &plan))) result = EXIT_BAD;
    if (!result && o->report && !plan_page_write(o->report, &map, q, rows, &plan)) result = EXIT_BAD;
    if (!result && !o->quiet) {
        print_plan(q, rows, &plan);
        if (growth) result = print_growth(o, *q, rows);
        if (shows_map) plan_map_print(&map, q);
        if (o->report) printf("%s\n", o->report);
    }
    free(rows);
    return result;
}

int cmd_plan(int argc, char **argv)
{
    plan_options o = {.workers = "8", .keep = "0.1,0.01,0.001"};
    const option options[] = {
        option_text("params", "N", "numbers in a gradient, such as 25557032 or 1e9", &o.params),
        option_text("layers", "N,N,...", "the same as the lengths of its layers", &o.layers),
        option_text("workers", "N|A..B", "how many, or how it grows from A to B (default 8)", &o.workers),
        option_text("latency", "TIME", "one way, such as 1ms (default 1ms)", &o.latency),
        option_text("bandwidth", "RATE", "payload, such as 10Gbit (default 1Gbit)", &o.bandwidth),
        option_text("cost", "FILE",
                    "in place of both: what `tithe probe --out FILE` measured, or alphabeta:...", &o.cost),
        option_text("keep", "LIST", "shares of the coordinates to send (default 0.1,0.01,0.001)", &o.keep),
        option_text("codec", "LIST",
                    "codecs to plan besides, with every scheme that takes them: 'natural;all|dither:s=7'",
                    &o.codec),
        option_choice("count", "frame|paper",
                      "real frames and our own rounds, or the paper's formulas with 4 bytes for a value and "
                      "4 for an index (default frame)",
                      &o.count),
        option_flag("no-codec", "count the transfer alone, not encoding and decoding", &o.no_codec),
        option_flag("no-map", "leave out the map", &o.no_map),
        option_text("report", "FILE", "an HTML page with the map as a picture", &o.report),
        option_json(&o.json),
        option_end(),
    };
    const command c = {
        .positionals = "",
        .min = 0,
        .max = 0,
        .summary = "Say which scheme, collective and level is fastest on a link, what a step costs with "
                   "each, and below which "
                   "bandwidth compression pays. Encoding and decoding are counted as measured on this "
                   "machine (once, then "
                   "kept).",
        .options = options,
        .examples =
            "  tithe plan --params 25557032 --workers 8 --latency 1ms --bandwidth 10Gbit\n"
            "  tithe plan --params 1e9 --workers 2..100000 --bandwidth 100Mbit --keep 0.01\n"
            "  mpirun -n 2 tithe probe --transport mpi --out link.csv; tithe plan --params 1e7 "
            "--cost link.csv\n"
            "  tithe plan --params 25557032 --workers 8 --codec 'natural;f16;topk:keep=0.01|natural'\n"
            "  tithe plan --params 11689512 --count paper --json -",
    };
    int count, status;
    tithe_plan_request q = {0};
    if (!options_parse(&c, argc, argv, &count, &status)) return status;
    const bool fine =
        read_request(&o, &q) && file_outputs((const file_output[]){{"--report", o.report, false},
                                                                   {"--json", o.json, false},
                                                                   {NULL, NULL, false}},
                                             &o.quiet);
    status = fine ? answer(&o, &q) : EXIT_BAD;
    tithe_cost_free(o.measured);
    free(o.codec_text);
    return status;
}
