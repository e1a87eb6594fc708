/* train_run.c - see train_run.h. */
#include "train_run.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "flags.h"
#include "text.h"
#include "train_facts.h"

/* ---- Ctrl-C -------------------------------------------------------------------------------------------- */

static volatile sig_atomic_t interrupts, first_interrupt;

static void note_interrupt(int number)
{
    if (!first_interrupt) first_interrupt = number;
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

int train_exit_stopped(void)
{
    return 128 + (first_interrupt ? first_interrupt : SIGTERM);
}

int train_exit(int status)
{
    return interrupts && status >= EXIT_BAD ? train_exit_stopped() : status;
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

/* Keys with a blank between them, in the order of the trace. */
static void facts(listener *l, const tithe_train_result *r, const char *keys)
{
    char key[40], text[1024];
    for (size_t length; *keys; keys += length + (keys[length] == ' ')) {
        length = strcspn(keys, " ");
        snprintf(key, sizeof key, "%.*s", (int)length, keys);
        if (train_fact(r, key, text, sizeof text)) fact(l, key, text);
    }
}

static void print_facts(const tithe_train_facts *f, const train_settings *s)
{
    const tithe_constants *c = &f->constants;
    const tithe_data *d = f->data;
    printf("%s: %s rows, %s features, %.3g %% of the values stored; %u worker%s%s\n", d->name,
           text_group(d->total_rows).text, text_group(d->features).text,
           100 * (double)d->nonzeros / ((double)d->rows * (double)d->features), s->run.workers,
           s->run.workers == 1 ? "" : "s",
           !s->transport && s->run.comm && tithe_comm_local_ranks(s->run.comm) < s->run.workers
               ? " over mpi, since mpirun started them (--transport)"
               : "");
    printf("%s", f->problem->spec);
    if (!isnan(f->l2)) printf(", l2 = %.4g", f->l2);
    if (!isnan(c->L)) printf("; L = %.6g, L_US = %.4g, L_IS = %.4g", c->L, c->L_US, c->L_IS);
    if (!isnan(c->sigma_star)) printf("; sigma*^2 = %.3g, zeta*^2 = %.3g", c->sigma_star, c->zeta_star);
    printf("\n");
    if (!isnan(f->optimum)) printf("minimum %.10g, certified to %.1g\n", f->optimum, f->optimum_slack);
    if (f->settings)
        printf("%s chooses codec, level, scheme and collective among %u settings", f->tuner, f->settings);
    else
        printf("%s up, %s back, feedback %s, scheme %s over %s", f->codec,
               *f->downlink ? f->downlink : "all|raw", f->feedback, f->scheme, f->collective);
    if (!isnan(f->step_size)) printf(", step size %.4g", f->step_size);
    printf("\n");
    const tithe_unified *u = &f->unified;
    if (!isnan(u->A)) {
        printf("A = %.4g, B = %.4g, C = %.4g, ", u->A, u->B, u->C);
        if (isnan(u->D1))
            printf("D1 unknown without a minimum, ");
        else
            printf("D1 = %.4g, ", u->D1);
        printf("D2 = %.4g, rho = %.4g\n", u->D2, u->rho);
    }
    if (f->bound_step_size < f->step_size * (1 - 1e-9))
        printf("the theorem bounds the gap for step sizes up to %.4g\n", f->bound_step_size);
    if (!isnan(f->slowdown) && f->slowdown > 1)
        printf("predicted: %.3g times the steps of uncompressed messages (omega %.3g up, %.3g back)\n",
               f->slowdown, f->omega_up, f->omega_down);
}

static void at_begin(void *context, const tithe_train_facts *f)
{
    listener *l = context;
    const tithe_train_result known = {.facts = *f};
    char dense[40];
    text_progress_end();
    facts(l, &known, "data rows features workers model l2 estimator");
    fact(l, "sampling", l->s->run.sampling);
    facts(l, &known,
          "codec downlink feedback scheme collective tuner cost cost_unit step_size seed L L_US L_IS "
          "sigma_star_squared zeta_star_squared minimum predicted_slowdown");
    snprintf(dense, sizeof dense, "%.9g", (double)f->raw_bytes * f->workers);
    fact(l, "dense_bytes", dense);
    const tithe_scheme *scheme = NULL;
    if (!tithe_scheme_find(f->scheme, &scheme, NULL, NULL) && scheme->whole) fact(l, "baseline", "yes");
    if (!l->quiet) print_facts(f, l->s);
}

static bool at_record(void *context, const tithe_trace_record *record)
{
    listener *l = context;
    if (!*record->setting) {
        l->loss = record->loss;
        l->gap = record->gap;
    }
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
    facts(l, r, "accuracy speedup_mean speedup_least model_hash");
    if (*r->setting) facts(l, r, "changes hindsight");
    if (r->stopped) fact(l, "ended", "stopped by hand");
    if (l->out->status != TITHE_E_DIVERGED) return;
    char why[2 * sizeof l->out->error.text];
    flags_say(l->out->error.text, why, sizeof why);
    fact(l, "ended", why);
}

bool train_run(const train_settings *s, const char *name, const char *line, bool quiet, train_outcome *out)
{
    *out = (train_outcome){.status = TITHE_OK};
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

/* ---- the command --------------------------------------------------------------------------------------- */

/* Does this word say how messages are made, and so was the tuner's to choose? Its value may be the next word. */
static bool is_chosen(const char *word, bool *takes_next)
{
    static const char *const chosen[] = {
        "--tuner",  "--codec",  "--feedback",   "--downlink", "--downlink-feedback",
        "--scheme", "--leader", "--collective", "--level",    "--replay"};
    for (size_t i = 0; i < sizeof chosen / sizeof *chosen; i++) {
        const size_t length = strlen(chosen[i]);
        if (strncmp(word, chosen[i], length) != 0 || (word[length] && word[length] != '=')) continue;
        *takes_next = !word[length];
        return true;
    }
    return false;
}

char *train_command_with(const char *verb, int argc, char **argv, const char *options)
{
    char flags[1024];
    flags_list(options, flags, sizeof flags);
    size_t room = strlen(verb) + strlen(flags) + 16;
    for (int i = 0; i < argc; i++) room += 4 * strlen(argv[i]) + 4;
    char *line = text_memory(room);
    size_t used = (size_t)snprintf(line, room, "tithe %s", verb);
    for (int i = 0; i < argc; i++) {
        bool takes_next = false;
        if (is_chosen(argv[i], &takes_next)) {
            i += takes_next;
            continue;
        }
        line[used++] = ' ';
        used += flags_quote(argv[i], strlen(argv[i]), line + used, room - used);
    }
    snprintf(line + used, room - used, " %s", flags);
    return line;
}

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
