/* bench_switch.c - see bench_switch.h. */
#include "bench_switch.h"

#include <math.h>

#include "json.h"
#include "switches.h"
#include "text.h"

typedef struct output {
    cJSON *results; /* NULL: nobody wants them */
    bool quiet;     /* standard output is the JSON */
} output;

static void print_row(const tithe_switch_row *row)
{
    if (row->why) {
        printf("  %-11s %s%s%s\n", row->name, row->what ? row->what : "", row->what ? ": " : "", row->why);
        return;
    }
    printf("  %-11s %-26s ", row->name, row->what);
    if (row->trip)
        printf("%8.1f us                 at most %.0f us", 1e6 * row->seconds, 1e6 * row->gate);
    else
        printf("%8.2f ms %8.1f M values/s", 1e3 * row->seconds, 1e-6 * row->rate);
    if (!row->trip && row->gate > 0) printf("  at least %.0f", 1e-6 * row->gate);
    printf("%s\n", row->gate > 0 ? row->met ? ": met" : ": missed" : "");
    fflush(stdout);
}

/* The keys that every row of a benchmark has, and its own. */
static cJSON *row_json(const tithe_switch_row *row)
{
    const bool measured = !row->why;
    cJSON *json = json_object();
    json_text(json, "name", row->name);
    json_count(json, "n", row->n);
    json_text(json, "data", row->what);
    json_text(json, "isa", NULL);
    json_count(json, "threads", 1);
    json_number(json, "seconds", measured ? row->seconds : NAN);
    json_number(json, "fastest", measured ? row->fastest : NAN);
    json_number(json, "values_per_second", measured ? row->rate : NAN);
    json_number(json, "gate", measured && row->gate > 0 ? row->gate : NAN);
    json_bool(json, "met", row->met);
    json_count(json, "retransmitted", row->retransmitted);
    json_text(json, "skipped", row->why);
    return json;
}

static void take_row(void *context, const tithe_switch_row *row)
{
    output *out = context;
    if (out->results) json_append(out->results, row_json(row));
    if (!out->quiet) print_row(row);
}

int bench_switch(const char *json_path)
{
    switch_library library;
    tithe_error error = {0};
    output out = {.quiet = json_alone(json_path)};
    if (!switch_load(&library)) return EXIT_BAD;
    if (json_path) out.results = json_array();
    if (!out.quiet) printf("a switch and two workers on this machine, reductions alone\n\n");
    const tithe_status status = library.bench(take_row, &out, &error);
    if (status) {
        cJSON_Delete(out.results);
        return text_fail_status(NULL, status, &error);
    }
    if (!json_path) return EXIT_DONE;
    cJSON *json = json_object();
    json_item(json, "results", out.results);
    return json_write(json_path, json) ? EXIT_DONE : EXIT_BAD;
}
