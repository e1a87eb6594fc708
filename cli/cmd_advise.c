/* cmd_advise.c - tithe advise: which codec to take, for this data on this link? */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "advise.h"
#include "amounts.h"
#include "files.h"
#include "flags.h"
#include "json.h"
#include "probe_group.h"
#include "text.h"
#include "tithe/plan.h"
#include "verbs.h"

typedef struct advise_options {
    const char *latency, *bandwidth, *cost, *report, *json;
    bool quiet; /* standard output is taken */
} advise_options;

static const double PROBE_SECONDS = 2;

/* ---- the link ------------------------------------------------------------------------------------------------------ */

static bool read_amounts(const advise_options *o, advise *a)
{
    const char *latency = o->latency ? o->latency : "1ms", *bandwidth = o->bandwidth ? o->bandwidth : "1Gbit";
    if (!amount_seconds(latency, &a->link.latency) || a->link.latency < 0) {
        text_fail("--latency takes a time such as 1ms or 250us, not '%s'", latency);
        return false;
    }
    if (!amount_rate(bandwidth, &a->link.bandwidth) || !(a->link.bandwidth > 0)) {
        text_fail("--bandwidth takes a rate such as 100Mbit or 10Gbit, not '%s'", bandwidth);
        return false;
    }
    a->has_link = true;
    return true;
}

/* A live link is one to other processes; --connect and the like say so without --transport. */
static void name_transport(train_settings *s)
{
    if (!s->transport && (s->local || s->role || s->listen || s->connect)) s->transport = "zmq";
    if (!s->role && !s->local) s->role = s->connect ? "worker" : s->listen ? "server" : NULL;
}

/* Does this process ask others how fast the link to them is? The transport is known to exist. */
static bool is_live(const train_settings *s)
{
    return transport_find(train_transport(s))->begin != NULL;
}

/* The link to the others, who are done then. False: so is this process, with *status. */
static bool measure_link(advise *a, int *status)
{
    group_links found;
    text_progress("measuring the link");
    const process_part part = probe_group(&a->train, PROBE_SECONDS, &found);
    text_progress_end();
    *status = found.status;
    if (part == PART_FIRST) {
        a->link = probe_slowest(&found)->link;
        a->has_link = true;
        a->train.run.workers = found.workers;
    }
    free(found.links);
    return part == PART_FIRST;
}

static bool expect_one_link(const advise_options *o, const train_settings *s)
{
    const bool stated = o->latency || o->bandwidth;
    if (!transport_find(train_transport(s))) return false;
    if (o->cost && stated)
        text_fail(
            "--cost says what a message costs, and so do --latency and --bandwidth: leave one of them out");
    else if (is_live(s) && (o->cost || stated))
        text_fail("Between processes the link is measured, and --%s states it: leave one of them out",
                  o->cost      ? "cost"
                  : o->latency ? "latency"
                               : "bandwidth");
    else
        return true;
    return false;
}

/* What a message costs: seconds on the link, or a price of its own. */
static bool price_messages(const advise_options *o, advise *a)
{
    tithe_error error = {0};
    if (!o->cost && !a->has_link && !read_amounts(o, a)) return false;
    if (o->cost)
        snprintf(a->price, sizeof a->price, "%s", o->cost);
    else
        snprintf(a->price, sizeof a->price, "alphabeta:latency=%.9gs,bandwidth=%.9gB", a->link.latency,
                 a->link.bandwidth);
    const tithe_status status = tithe_cost_create(a->price, &a->cost, &error);
    if (status) {
        text_fail_status(NULL, status, &error);
        return false;
    }
    if (o->cost) a->has_link = !tithe_link_of_cost(a->cost, &a->link, NULL) && a->link.bandwidth > 0;
    return true;
}

/* ---- the answer ---------------------------------------------------------------------------------------------------- */

typedef struct line {
    char text[1400];
} line;

static void put(line *to, const char *flag, const char *value)
{
    const size_t used = strlen(to->text), room = sizeof to->text - used;
    if (!value || !*value) return;
    const int more = snprintf(to->text + used, room, " --%s ", flag);
    if (more > 0 && (size_t)more < room)
        flags_quote(value, strlen(value), to->text + used + more, room - (size_t)more);
}

/* Everything that the user said of the run, and what was found. */
static line command_of(const advise *a, const advise_row *row)
{
    line out = {"tithe train"};
    const train_settings *s = &a->train;
    const tithe_train_options *o = &s->run;
    char value[1024];
    const transport_row *transport = transport_find(train_transport(s));
    if (transport->starter)
        snprintf(out.text, sizeof out.text, "%s %u tithe train", transport->starter, o->workers);
    put(&out, "transport", transport->starter ? transport->name : s->transport);
    put(&out, "role", s->role);
    put(&out, "connect", s->connect);
    put(&out, "data", o->data);
    snprintf(value, sizeof value, "%u", o->workers);
    if (!transport->starter) put(&out, s->local ? "local" : "workers", value);
    static const char *const kept[] = {"model", "split",    "estimator", "batch",     "l2",
                                       "seed",  "features", "positive",  "normalize", "step-size"};
    tithe_train_options plain = {.size = sizeof plain};
    tithe_train_defaults(&plain);
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        char usual[1024] = "";
        if (!tithe_train_options_get(o, kept[i], value, sizeof value)) continue;
        if (tithe_train_options_get(&plain, kept[i], usual, sizeof usual) && strcmp(value, usual) == 0)
            continue;
        put(&out, kept[i], value);
    }
    put(&out, "codec", row->codec);
    put(&out, "tuner", row->tuner);
    put(&out, "scheme", row->scheme);
    put(&out, "collective", row->collective);
    if (row->tuner || !a->has_link) put(&out, "cost", a->price);
    snprintf(value, sizeof value, "%.6g", a->target);
    put(&out, "target-loss", value);
    return out;
}

static text_line amount_of(const advise *a, const advise_row *row)
{
    text_line out;
    if (a->has_link)
        snprintf(out.text, sizeof out.text, "%s", amount_time(row->seconds).text);
    else
        snprintf(out.text, sizeof out.text, "%s %s", text_short(row->cost).text,
                 tithe_cost_model_of(a->cost)->unit);
    return out;
}

static text_line steps_of(const advise_row *best, const advise_row *dense)
{
    text_line out;
    if (best->steps == dense->steps)
        snprintf(out.text, sizeof out.text, "in as many steps");
    else
        snprintf(out.text, sizeof out.text, "in %s steps in place of %s", text_group(best->steps).text,
                 text_group(dense->steps).text);
    return out;
}

static line reason_of(const advise *a)
{
    line out;
    const advise_row *best = &a->rows[a->best], *dense = a->rows;
    if (a->best)
        snprintf(out.text, sizeof out.text,
                 "%s is at the loss %.4g after %s, dense after %s, %.3g times as much: %s, with %.3g times "
                 "fewer bytes in all.",
                 best->name, a->target, amount_of(a, best).text, amount_of(a, dense).text,
                 advise_measure(a, dense) / advise_measure(a, best), steps_of(best, dense).text,
                 dense->bytes / best->bytes);
    else if (a->has_link)
        snprintf(
            out.text, sizeof out.text,
            "Nothing beats dense here by 5 %% or more: it takes %s to the loss %.4g, of which the transfer "
            "is %.2g %%.",
            amount_of(a, dense).text, a->target, 100 * dense->transfer / dense->seconds);
    else
        snprintf(out.text, sizeof out.text,
                 "Nothing beats dense here by 5 %% or more: it pays %s to the loss %.4g.",
                 amount_of(a, dense).text, a->target);
    return out;
}

static cJSON *row_json(const advise *a, const advise_row *row)
{
    cJSON *json = json_object();
    json_text(json, "name", row->name);
    json_text(json, "codec", row->codec);
    json_text(json, "tuner", row->tuner);
    json_text(json, "scheme", row->scheme ? row->scheme : "auto");
    json_text(json, "collective", row->collective);
    json_bool(json, "reached", row->reached);
    json_count(json, "steps", row->steps);
    json_number(json, "bytes", row->bytes);
    json_number(json, "seconds", row->seconds);
    json_number(json, "transfer_seconds", row->transfer);
    json_number(json, "codec_seconds", a->has_link ? row->codec_seconds * (double)row->steps : NAN);
    json_number(json, "cost", row->cost);
    json_number(json, "loss", row->loss);
    json_number(json, "accuracy", row->accuracy);
    json_text(json, "command", command_of(a, row).text);
    return json;
}

static bool write_json(const advise *a, const char *path)
{
    cJSON *json = json_object(), *list = json_array(), *take = json_object();
    json_text(json, "data", a->train.run.data);
    json_count(json, "rows_tried", a->used);
    json_count(json, "workers", a->train.run.workers);
    json_number(json, "latency_s", a->has_link ? a->link.latency : NAN);
    json_number(json, "bandwidth_Bps", a->has_link ? a->link.bandwidth : NAN);
    json_text(json, "transport", train_transport(&a->train));
    json_text(json, "cost", a->price);
    json_text(json, "cost_unit", tithe_cost_model_of(a->cost)->unit);
    json_number(json, "target_loss", a->target);
    json_number(json, "compute_seconds", a->compute);
    for (size_t i = 0; i < a->count; i++) json_append(list, row_json(a, &a->rows[i]));
    json_item(json, "rows", list);
    json_text(take, "name", a->rows[a->best].name);
    json_text(take, "codec", a->rows[a->best].codec);
    json_text(take, "command", command_of(a, &a->rows[a->best]).text);
    json_text(take, "reason", reason_of(a).text);
    json_bool(take, "beats_dense", a->best != 0);
    json_item(json, "recommended", take);
    return json_write(path, json);
}

static void print_row(const advise *a, const advise_row *row)
{
    const double better = advise_measure(a, a->rows) / advise_measure(a, row);
    char times[24] = "-", right[24] = "-";
    if (row->reached) snprintf(times, sizeof times, "%.3g x", better);
    if (!isnan(row->accuracy)) snprintf(right, sizeof right, "%.2f %%", 100 * row->accuracy);
    printf("%s %-17s %-33s %-8s %8s %10s %12s %9s %9s\n", row == &a->rows[a->best] ? ">" : " ", row->name,
           row->codec, row->scheme ? row->scheme : "auto", text_group(row->steps).text,
           text_bytes(row->bytes).text, row->reached ? amount_of(a, row).text : "not reached", times, right);
}

static void print_answer(const advise *a)
{
    const tithe_train_options *o = &a->train.run;
    printf("%s: %s rows%s, %s features; %u worker%s", o->data, text_group(a->data_rows).text,
           a->used < a->data_rows ? " (a part of them tried)" : "", text_group(a->features).text, o->workers,
           o->workers == 1 ? "" : "s");
    if (a->has_link)
        printf("; latency %s, bandwidth %s%s; a gradient takes a worker %s\n",
               amount_time(a->link.latency).text, amount_bandwidth(a->link.bandwidth).text,
               is_live(&a->train) ? ", as measured" : "", amount_time(a->compute).text);
    else
        printf("; a message costs %s\n", a->price);
    printf("until the loss is %.5g, which dense messages reach:\n\n", a->target);
    printf("  %-17s %-33s %-8s %8s %10s %12s %9s %9s\n", "", "codec", "scheme", "steps", "sent",
           a->has_link ? "time" : "cost", "better", "right");
    for (size_t i = 0; i < a->count; i++) print_row(a, &a->rows[i]);
    printf("\n");
    text_wrap(stdout, 0, 0, reason_of(a).text);
    printf("\n  %s\n", command_of(a, &a->rows[a->best]).text);
    if (a->train.connect) printf("  and the server: the same, with --role server --listen ENDPOINT\n");
}

static int answer(const advise *a, const advise_options *o)
{
    const tithe_trace *traces[ADVISE_ROWS];
    tithe_error error = {0};
    for (size_t i = 0; i < a->count; i++) traces[i] = a->rows[i].trace;
    if (o->report) {
        const tithe_status status = tithe_report_write(o->report, "tithe advise", traces, a->count, &error);
        if (status) return text_fail_status(NULL, status, &error);
    }
    if (o->json && !write_json(a, o->json)) return EXIT_BAD;
    if (o->quiet) return EXIT_DONE;
    print_answer(a);
    if (o->report) printf("\n%s\n", o->report);
    return EXIT_DONE;
}

/* ---- the verb ------------------------------------------------------------------------------------------------------ */

static size_t add_run_options(train_settings *s, option *table)
{
    static const char *const names[] = {"data",      "workers",     "model",    "split",    "estimator",
                                        "batch",     "l2",          "features", "positive", "normalize",
                                        "step-size", "target-loss", "threads",  "seed"};
    size_t n = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        table[n++] = option_run_named(names[i], &s->run);
    return n;
}

static int run(advise *a, const advise_options *o)
{
    int status = EXIT_BAD;
    const bool live = is_live(&a->train);
    if (live && !measure_link(a, &status)) return a->train.local ? status : train_exit(status);
    status = EXIT_BAD;
    if (price_messages(o, a) && advise_data(a) && advise_plan(a) && advise_try(a)) status = answer(a, o);
    return train_interrupts() ? train_exit_stopped() : status;
}

int cmd_advise(int argc, char **argv)
{
    train_catch_interrupt(false);
    advise *a = text_memory(sizeof *a);
    *a = (advise){.train = train_settings_defaults()};
    advise_options o = {0};
    option options[TRAIN_OPTIONS];
    size_t n = add_run_options(&a->train, options);
    n += train_process_options(&a->train, options + n);
    options[n++] = option_text("latency", "TIME", "of the link, one way (default 1ms)", &o.latency);
    options[n++] = option_text("bandwidth", "RATE", "of the link, payload (default 1Gbit)", &o.bandwidth);
    options[n++] = option_text(
        "cost", "SPEC",
        "in place of both: what a message costs, as for train; table:FILE has what `tithe probe --out FILE` "
        "measured",
        &o.cost);
    options[n++] = option_text("report", "FILE", "draw all trials on one HTML page", &o.report);
    options[n++] = option_json(&o.json);
    options[n] = option_end();
    const command c = {
        .positionals = "",
        .min = 0,
        .max = 0,
        .summary = "Try a handful of codecs for a few seconds, on a computed clock of the link, and say "
                   "which one reaches a loss soonest "
                   "that dense messages reach, with the command to take and the reason. Long data is tried "
                   "in part. The trials send nothing; where there are other processes, under mpirun or with "
                   "--local, --listen and --connect, the link to them is measured first.",
        .options = options,
        .examples = "  tithe advise --data w8a-like --workers 8 --latency 1ms --bandwidth 100Mbit\n"
                    "  tithe advise --data a9a-like --workers 4 --cost 802.15.4 --report advice.html\n"
                    "  mpirun -n 4 tithe advise --data w8a-like --transport mpi\n"
                    "  tithe advise --data w8a-like --workers 4 --connect tcp://10.0.0.1:5555",
    };
    int count, status = EXIT_BAD;
    if (options_parse(&c, argc, argv, &count, &status)) {
        name_transport(&a->train);
        const bool fine = train_options_finish(&a->train) && expect_one_link(&o, &a->train) &&
                          file_outputs((const file_output[]){{"--report", o.report, false},
                                                             {"--json", o.json, false},
                                                             {NULL, NULL, false}},
                                       &o.quiet);
        status = fine ? run(a, &o) : EXIT_BAD;
        advise_end(a);
    }
    free(a);
    return status;
}
