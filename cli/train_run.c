/* train_run.c - see train_run.h. */
#include "train_run.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "flags.h"
#include "text.h"

/* ---- Ctrl-C -------------------------------------------------------------------------------------------- */

static volatile sig_atomic_t interrupts;

static void note_interrupt(int number)
{
    (void)number;
    interrupts++;
}

void train_catch_interrupt(bool all)
{
    struct sigaction action = {.sa_handler = note_interrupt, .sa_flags = all ? 0 : (int)SA_RESETHAND}, before;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, NULL, &before);
    if (before.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, NULL); /* nohup means it */
}

int train_interrupts(void)
{
    return interrupts;
}

/* ---- what happens during a run ------------------------------------------------------------------------- */

typedef struct listener {
    const train_settings *s;
    const char *name;
    bool quiet;
    tithe_trace *trace;
    tithe_trace_file *file;
    train_outcome *out;
    tithe_status failed;
    double gap, loss;
    const char *doing; /* shown last, and when */
    double shown;
} listener;

static double seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void fact(listener *l, const char *key, const char *value)
{
    if (!value || !*value) return;
    if (tithe_trace_fact(l->trace, key, value)) l->failed = TITHE_E_MEMORY;
    if (l->file && !l->failed) l->failed = tithe_trace_file_fact(l->file, key, value, &l->out->error);
}

static void fact_number(listener *l, const char *key, double value)
{
    char text[40];
    if (isnan(value)) return;
    snprintf(text, sizeof text, "%.9g", value);
    fact(l, key, text);
}

static void print_facts(const tithe_train_facts *f, const train_settings *s)
{
    const tithe_constants *c = &f->constants;
    const tithe_data *d = f->data;
    printf("%s: %s rows, %s features, %.3g %% of the values stored; %u worker%s\n", d->name,
           text_group(d->total_rows).text, text_group(d->features).text,
           100 * (double)d->nonzeros / ((double)d->rows * (double)d->features), s->run.workers,
           s->run.workers == 1 ? "" : "s");
    printf("%s, l2 = %.4g", f->problem->spec, f->problem->l2);
    if (!isnan(c->L)) printf("; L = %.6g, L_US = %.4g, L_IS = %.4g", c->L, c->L_US, c->L_IS);
    if (!isnan(c->sigma_star)) printf("; sigma*^2 = %.3g, zeta*^2 = %.3g", c->sigma_star, c->zeta_star);
    printf("\n");
    if (!isnan(f->optimum)) printf("minimum %.10g, certified to %.1g\n", f->optimum, f->optimum_slack);
    printf("%s up, %s back, feedback %s, scheme %s over %s, step size %.4g\n", f->codec,
           *f->downlink ? f->downlink : "all|raw", f->feedback, f->scheme, f->collective, f->step_size);
    const tithe_unified *u = &f->unified;
    if (!isnan(u->A)) {
        printf("A = %.4g, B = %.4g, C = %.4g, ", u->A, u->B, u->C);
        if (isnan(u->D1))
            printf("D1 unknown without a minimum, ");
        else
            printf("D1 = %.4g, ", u->D1);
        printf("D2 = %.4g, rho = %.4g\n", u->D2, u->rho);
    }
    if (!isnan(f->slowdown) && f->slowdown > 1)
        printf("predicted: %.3g times the steps of uncompressed messages (omega %.3g up, %.3g back)\n",
               f->slowdown, f->omega_up, f->omega_down);
}

static void at_begin(void *context, const tithe_train_facts *f)
{
    listener *l = context;
    const train_settings *s = l->s;
    const tithe_constants *c = &f->constants;
    text_progress_end();
    snprintf(l->out->cost_unit, sizeof l->out->cost_unit, "%s", f->cost_unit);
    l->out->slowdown = f->slowdown;
    fact(l, "data", f->data->name);
    fact_number(l, "rows", (double)f->data->total_rows);
    fact_number(l, "features", (double)f->data->features);
    fact_number(l, "workers", s->run.workers);
    fact(l, "model", f->problem->spec);
    fact_number(l, "l2", f->problem->l2);
    fact(l, "estimator", f->estimator);
    fact(l, "sampling", s->run.sampling);
    fact(l, "codec", f->codec);
    fact(l, "downlink", f->downlink);
    fact(l, "feedback", f->feedback);
    fact(l, "scheme", f->scheme);
    fact(l, "collective", f->collective);
    fact(l, "tuner", f->tuner);
    fact(l, "cost", f->cost);
    fact(l, "cost_unit", f->cost_unit);
    fact_number(l, "step_size", f->step_size);
    char seed[24];
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)s->run.seed);
    fact(l, "seed", seed);
    fact_number(l, "L", c->L);
    fact_number(l, "L_US", c->L_US);
    fact_number(l, "L_IS", c->L_IS);
    fact_number(l, "sigma_star_squared", c->sigma_star);
    fact_number(l, "zeta_star_squared", c->zeta_star);
    fact_number(l, "minimum", f->optimum);
    fact_number(l, "predicted_slowdown", f->slowdown);
    fact_number(l, "dense_bytes", (double)f->raw_bytes * s->run.workers);
    const tithe_scheme *scheme = NULL;
    if (!tithe_scheme_find(f->scheme, &scheme, NULL, NULL) && scheme->whole) fact(l, "baseline", "yes");
    if (!l->quiet) print_facts(f, s);
}

static bool at_record(void *context, const tithe_trace_record *record)
{
    listener *l = context;
    l->loss = record->loss;
    l->gap = record->gap;
    if (tithe_trace_add(l->trace, record)) l->failed = TITHE_E_MEMORY;
    if (l->file && !l->failed) l->failed = tithe_trace_file_append(l->file, record, &l->out->error);
    return !interrupts && !l->failed;
}

static bool at_progress(void *context, const char *what, double done)
{
    listener *l = context;
    const double now = seconds_now();
    if (what == l->doing && now < l->shown + 0.1)
        return !interrupts; /* a terminal takes longer than a step */
    l->doing = what;
    l->shown = now;
    char share[16] = "", gap[64] = "";
    if (!isnan(done)) snprintf(share, sizeof share, " %.0f %%,", 100 * fmin(done, 1));
    if (!isnan(l->gap)) snprintf(gap, sizeof gap, ", gap %s", text_short(l->gap).text);
    if (isnan(l->loss))
        text_progress("%s: %s", l->name, what);
    else
        text_progress("%s:%s loss %.6g%s", l->name, share, l->loss, gap);
    return !interrupts;
}

/* ---- the run ------------------------------------------------------------------------------------------- */

static void end_facts(listener *l)
{
    const tithe_train_result *r = &l->out->result;
    fact_number(l, "accuracy", r->last.accuracy);
    fact_number(l, "speedup_mean", r->speedup_mean);
    fact_number(l, "speedup_least", r->speedup_least);
    fact(l, "model_hash", r->model_hash);
    if (r->stopped) fact(l, "ended", "stopped by hand");
    if (l->out->status != TITHE_E_DIVERGED) return;
    char why[2 * sizeof l->out->error.text];
    flags_say(l->out->error.text, why, sizeof why);
    fact(l, "ended", why);
}

bool train_run(const train_settings *s, const char *name, const char *line, bool quiet, train_outcome *out)
{
    *out = (train_outcome){.status = TITHE_OK, .slowdown = NAN, .transport = s->transport};
    listener l = {.s = s, .name = name, .quiet = quiet, .out = out, .gap = NAN, .loss = NAN};
    tithe_error *error = &out->error;
    if (tithe_trace_create(name, &l.trace, error)) {
        text_fail_status(NULL, TITHE_E_MEMORY, error);
        return false;
    }
    out->trace = l.trace;
    if (s->trace) {
        const tithe_status opened = tithe_trace_file_open(s->trace, name, &l.file, error);
        if (opened) {
            text_fail_status(NULL, opened, error);
            return false;
        }
    }
    fact(&l, "command", line);
    fact(&l, "version", tithe_version());
    tithe_train_options o = s->run;
    o.context = &l;
    o.begin = at_begin;
    o.record = at_record;
    o.progress = at_progress;
    out->status = tithe_train_run(&o, &out->result, error);
    text_progress_end();
    if (!out->status && l.failed) out->status = l.failed;
    const bool has_outcome = !out->status || out->status == TITHE_E_DIVERGED;
    if (has_outcome) end_facts(&l);
    tithe_error closing = {0};
    const tithe_status closed = l.file ? tithe_trace_file_close(l.file, &closing) : TITHE_OK;
    if (has_outcome && closed) {
        text_fail_status(NULL, closed, &closing);
        return false;
    }
    if (out->status) text_fail_status(NULL, out->status, error);
    return has_outcome;
}

void train_outcome_free(train_outcome *out)
{
    tithe_trace_free(out->trace);
    out->trace = NULL;
}

/* ---- JSON ---------------------------------------------------------------------------------------------- */

/* Steps in theory: without compression, with this run's, with the worst vector's. */
static cJSON *complexity_json(const tithe_complexity *c)
{
    cJSON *json = json_object();
    const struct {
        const char *name;
        const double *steps;
    } rows[] = {{"strongly_convex", c->strongly_convex}, {"convex", c->convex}, {"nonconvex", c->nonconvex}};
    json_number(json, "gap", c->gap);
    for (int i = 0; i < 3; i++) {
        cJSON *row = json_object();
        json_number(row, "none", rows[i].steps[0]);
        json_number(row, "data", rows[i].steps[1]);
        json_number(row, "worst", rows[i].steps[2]);
        json_item(json, rows[i].name, row);
    }
    return json;
}

/* What the messages of the run say about the link; null where there was none, or too little was sent. */
static cJSON *link_json(const tithe_train_result *r)
{
    cJSON *json = json_object();
    json_number(json, "latency_s", r->link.latency);
    json_number(json, "bandwidth_Bps", r->link.bandwidth);
    json_number(json, "probe_bytes", r->probe_bytes);
    return json;
}

/* Counters that nobody has given a place: at the end, as the last record has them. */
static void counters_json(cJSON *json, const tithe_trace_record *last)
{
    for (const tithe_counter *c = tithe_counters(); c->name; c++) {
        const tithe_column *column = tithe_columns();
        while (column->name && strcmp(column->name, c->name) != 0) column++;
        if (column->name && c->flags & TITHE_COUNTER_ALL && !cJSON_HasObjectItem(json, c->name))
            json_number(json, c->name, *(const double *)(const void *)((const char *)last + column->offset));
    }
}

cJSON *train_json(const train_outcome *out)
{
    const tithe_train_result *r = &out->result;
    const tithe_trace_record *last = &r->last;
    cJSON *json = json_object();
    json_count(json, "steps", r->steps);
    json_number(json, "epochs", last->epochs);
    json_number(json, "loss", last->loss);
    json_number(json, "gap", last->gap);
    json_number(json, "accuracy", last->accuracy);
    json_number(json, "average_loss", last->average_loss);
    json_number(json, "average_gap", last->average_gap);
    json_item(json, "target_reached",
              r->target == TITHE_NO_TARGET ? cJSON_CreateNull()
                                           : cJSON_CreateBool(r->target == TITHE_TARGET_REACHED));
    json_number(json, "uplink_bytes", last->uplink_bytes);
    json_number(json, "downlink_bytes", last->downlink_bytes);
    json_number(json, "sent_bytes", last->sent_bytes);
    json_number(json, "cost", last->cost);
    json_number(json, "downlink_cost", last->downlink_cost);
    json_text(json, "cost_unit", out->cost_unit);
    json_number(json, "paper_bits", last->paper_bits);
    json_number(json, "seconds", last->seconds);
    json_count(json, "buckets", r->buckets);
    json_number(json, "messages", last->messages);
    json_number(json, "overlap_seconds", last->overlap);
    json_text(json, "model_hash", r->model_hash);
    json_text(json, "transport", out->transport);
    json_text(json, "scheme", r->scheme);
    json_text(json, "collective", r->collective);
    json_text(json, "codec", r->codec);
    json_text(json, "downlink", *r->downlink ? r->downlink : NULL);
    json_text(json, "tuner", r->tuner);
    json_text(json, "estimator", r->estimator);
    json_number(json, "L", r->constants.L);
    json_number(json, "L_US", r->constants.L_US);
    json_number(json, "L_IS", r->constants.L_IS);
    json_number(json, "sigma_star_squared", r->constants.sigma_star);
    json_number(json, "zeta_star_squared", r->constants.zeta_star);
    json_number(json, "unsent", last->unsent);
    json_number(json, "kept_mean", r->kept_mean);
    json_number(json, "kept_least", r->kept_least);
    json_number(json, "speedup_mean", r->speedup_mean);
    json_number(json, "speedup_least", r->speedup_least);
    json_number(json, "residual_share", r->residual_most);
    json_item(json, "link", link_json(r));
    json_item(json, "complexity", complexity_json(&r->complexity));
    json_bool(json, "stopped", r->stopped);
    counters_json(json, last);
    return json;
}

/* ---- the command --------------------------------------------------------------------------------------- */

char *train_command(const char *verb, int argc, char **argv)
{
    size_t room = strlen(verb) + 16;
    for (int i = 0; i < argc; i++) room += 4 * strlen(argv[i]) + 4;
    char *line = text_memory(room);
    size_t used = (size_t)snprintf(line, room, "tithe %s", verb);
    for (int i = 0; i < argc; i++) {
        line[used++] = ' ';
        used += flags_quote(argv[i], strlen(argv[i]), line + used, room - used);
    }
    return line;
}
