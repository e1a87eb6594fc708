/* advise.c - short trials of a handful of candidates, on a computed clock: what a step takes on the link is known from the messages
 * that were made (rounds.h), so one machine can try what many would do. */
#define _XOPEN_SOURCE 700 /* mkstemp */
#include "advise.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "plan_speed.h"
#include "text.h"
#include "tithe/plan.h"

enum {
    MAX_VALUES = 1500000 /* stored values of what is tried */,
    DENSE_STEPS = 200,
    TIMES = 10 /* of dense's steps */
};
/* Seconds of a trial on every thread; and how many times as long it may take where others use the machine, too. */
static const double DENSE_BUDGET = 3, BUDGET = 2, BUSY = 3, DEEP = 0.95;

static double seconds_of(clockid_t which)
{
    struct timespec t;
    clock_gettime(which, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double now(void)
{
    return seconds_of(CLOCK_MONOTONIC);
}

/* Of all threads, so that a busy machine tries as much as a quiet one. */
static double worked(void)
{
    return seconds_of(CLOCK_PROCESS_CPUTIME_ID);
}

static double threads_of(const advise *a)
{
    const tithe_train_options *o = &a->train.run;
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    return fmin(o->workers, o->threads ? (double)o->threads : (double)processors);
}

/* ---- the data ---------------------------------------------------------------------------------------------------- */

static void write_row(FILE *to, const tithe_data *d, size_t row)
{
    fprintf(to, "%.17g", d->labels[row]);
    const size_t first = d->offsets ? d->offsets[row] : row * d->features;
    const size_t count = d->offsets ? d->offsets[row + 1] - first : d->features;
    for (size_t i = 0; i < count; i++)
        if (d->values[first + i] != 0)
            fprintf(to, " %zu:%.9g", (d->offsets ? d->indices[first + i] : i) + 1,
                    (double)d->values[first + i]);
    fputc('\n', to);
}

/* Rows at equal distances, in a file that advise_end removes. */
static bool write_sample(advise *a, const tithe_data *d)
{
    const char *folder = getenv("TMPDIR");
    snprintf(a->sample, sizeof a->sample, "%.200s/tithe-advise-XXXXXX", folder && *folder ? folder : "/tmp");
    const int handle = mkstemp(a->sample);
    FILE *to = handle < 0 ? NULL : fdopen(handle, "w");
    if (!to) {
        if (handle >= 0) close(handle);
        text_fail("No part of the data can be put into %s: set TMPDIR to a folder with room", a->sample);
        a->sample[0] = 0;
        return false;
    }
    for (uint64_t i = 0; i < a->used && !train_interrupts(); i++)
        write_row(to, d, (size_t)(i * a->data_rows / a->used));
    const bool fine = !ferror(to);
    if (fclose(to) == 0 && fine) return true;
    text_fail("%s cannot be written: set TMPDIR to a folder with room", a->sample);
    return false;
}

static bool expect_rows(const advise *a, const tithe_data *d)
{
    const unsigned workers = a->train.run.workers;
    size_t different = 0;
    for (size_t i = 1; i < d->rows && !different; i++) different = d->labels[i] != d->labels[0];
    if (d->rows < 2 || d->rows < workers)
        text_fail("%s has %zu row%s: advise needs at least two, and one for each of the %u worker%s", d->name,
                  d->rows, d->rows == 1 ? "" : "s", workers, workers == 1 ? "" : "s");
    else if (!different)
        text_fail(
            "All rows of %s have the same label, so there is nothing to learn: take data with two labels",
            d->name);
    else
        return true;
    return false;
}

bool advise_data(advise *a)
{
    tithe_train_options *o = &a->train.run;
    const tithe_model *model;
    double params[TITHE_MAX_PARAMS];
    tithe_data *d;
    tithe_error error = {0};
    text_progress("reading %s", o->data);
    tithe_status status = tithe_model_find(o->model ? o->model : "logistic", &model, params, &error);
    tithe_data_options reading = o->reading;
    if (!status) reading.task = model->task;
    if (!status) status = tithe_data_open(o->data, &reading, &d, &error);
    text_progress_end();
    if (status) {
        text_fail_status(NULL, status, &error);
        return false;
    }
    a->data_rows = a->used = d->rows;
    a->features = d->features;
    if (d->nonzeros > MAX_VALUES) a->used = (uint64_t)((double)d->rows * MAX_VALUES / (double)d->nonzeros);
    if (a->used < o->workers || a->used < 2) a->used = a->data_rows; /* few long rows */
    const bool fine = expect_rows(a, d) && (a->used == a->data_rows || write_sample(a, d));
    tithe_data_free(d);
    return fine;
}

/* ---- the candidates ------------------------------------------------------------------------------------------------ */

static const char TUNED[] = "topk:keep=0.01|natural";

static advise_row *add(advise *a, const char *name, const char *tuner, const char *codec)
{
    advise_row *row = &a->rows[a->count++];
    *row = (advise_row){
        .name = name, .tuner = tuner, .transfer = NAN, .seconds = NAN, .cost = NAN, .accuracy = NAN};
    snprintf(row->codec, sizeof row->codec, "%s", codec);
    return row;
}

static void add_top(advise *a, double keep)
{
    static const char *const names[] = {"top 10 %", "top 1 %", "top 0.1 %"};
    char codec[64];
    const double entries = round(keep * (double)a->features);
    if (entries < 1) return; /* of a short vector nothing would be left */
    snprintf(codec, sizeof codec, "topk:keep=%g", keep);
    add(a, names[keep > 0.05 ? 0 : keep > 0.005 ? 1 : 2], NULL, codec);
}

static void fill(advise *a)
{
    add(a, "dense", NULL, "all|raw");
    add(a, "natural", NULL, "all|natural");
    add(a, "8 bits", NULL, "all|dither:s=127,p=inf,bucket=512");
    add(a, "4 bits", NULL, "all|dither:s=7,p=inf,bucket=512");
    add_top(a, 0.1);
    add_top(a, 0.01);
    add_top(a, 0.001);
    add(a, "top 1 %, natural", NULL, TUNED);
    add(a, "CAT, SG", "cat", "topk|raw");
    add(a, "CAT, S+Q", "cat", "topk|sign");
    add(a, "CAT, SG, late", "cat:late=on", "topk|raw")->late = true;
    add(a, "CAT, S+Q, late", "cat:late=on", "topk|sign")->late = true;
}

/* A scheme in which all ranks send what one of them selected gives other steps, one with a server wants a second codec for the way
 * back, one whose switch adds needs a switch, and what waits goes in frames that are whole. */
static bool can_take(const advise_row *row, const char *name)
{
    const tithe_scheme *scheme;
    if (tithe_scheme_find(name, &scheme, NULL, NULL)) return false;
    if (scheme->led || scheme->served || scheme->integers) return false;
    return !row->late || !scheme->cuts;
}

/* The fastest step of those that the plan has for this codec. */
static void take_fastest(advise_row *to, const tithe_plan_row *rows, size_t count, const char *spec)
{
    const tithe_plan_row *best = NULL;
    for (size_t i = 0; i < count; i++) {
        const bool mine =
            spec ? rows[i].codec && strcmp(rows[i].codec, spec) == 0 : !rows[i].codec && rows[i].keep == 1;
        if (mine && can_take(to, rows[i].scheme) && (!best || rows[i].seconds < best->seconds))
            best = &rows[i];
    }
    if (!best) return;
    to->scheme = best->scheme;
    to->collective = best->collective;
    to->codec_seconds =
        best->codec_seconds * (to->tuner ? 2 : 1); /* a tuner looks as long as an encoder does */
}

bool advise_plan(advise *a)
{
    tithe_plan_codec codecs[ADVISE_ROWS];
    tithe_plan_request q = {.params = (double)a->features, .workers = a->train.run.workers, .codecs = codecs};
    static const double keeps[] = {0.01};
    tithe_error error = {0};
    fill(a);
    if (!a->has_link || a->train.run.workers < 2) return true;
    text_progress("timing codecs");
    q.link = a->link;
    q.keeps = keeps;
    q.keep_count = 1;
    tithe_status status = plan_speed(&q.speed, &error);
    for (size_t i = 1; i < a->count && !status; i++)
        if (!a->rows[i].tuner) {
            codecs[q.codec_count] = (tithe_plan_codec){.spec = a->rows[i].codec};
            status = plan_speed_codec(&codecs[q.codec_count++], &error);
        }
    const size_t count = tithe_plan_rows(&q);
    tithe_plan_row *rows = text_memory(count * sizeof *rows);
    tithe_plan plan;
    if (!status) status = tithe_plan_make(&q, rows, &plan, &error);
    for (size_t i = 0; i < a->count && !status; i++) /* a level that is open is planned as if it were 1 % */
        take_fastest(&a->rows[i], rows, count, i == 0 ? NULL : a->rows[i].tuner ? TUNED : a->rows[i].codec);
    free(rows);
    text_progress_end();
    if (status) text_fail_status(NULL, status, &error);
    return !status;
}

/* ---- the trials ---------------------------------------------------------------------------------------------------- */

typedef struct trial {
    advise *a;
    advise_row *row;
    double end, end_of_work; /* of its time, by the clock and by what its threads did */
    double first_loss;
    tithe_trace_record last;
} trial;

static bool goes_on(const trial *t)
{
    return !train_interrupts() && now() < t->end && worked() < t->end_of_work;
}

static bool at_record(void *context, const tithe_trace_record *record)
{
    trial *t = context;
    if (record->step == 0) t->first_loss = record->loss;
    t->last = *record;
    return !tithe_trace_add(t->row->trace, record) && goes_on(t);
}

static bool at_progress(void *context, const char *what, double done)
{
    trial *t = context;
    const size_t place = (size_t)(t->row - t->a->rows);
    (void)what, (void)done;
    if (place)
        text_progress("trial %zu of %zu: %s, loss %.5g", place, t->a->count - 1, t->row->name, t->last.loss);
    else
        text_progress("dense, loss %.5g", t->last.loss);
    return goes_on(t);
}

static void note(advise_row *row, const char *key, const char *value)
{
    tithe_trace_fact(row->trace, key, value);
}

/* One run; `network` NULL: on the real clock. */
static tithe_status run(trial *t, const char *network, uint64_t steps, double budget,
                        tithe_train_result *result, tithe_error *error)
{
    advise *a = t->a;
    advise_row *row = t->row;
    tithe_train_options o = a->train.run;
    if (*a->sample) o.data = a->sample;
    o.codec = row->codec;
    o.tuner = row->tuner;
    o.scheme = row->scheme;
    o.collective = row->collective;
    o.cost = a->price;
    o.network = network;
    o.steps = steps;
    o.target_loss = a->target;
    o.no_optimum = true;
    o.context = t;
    o.record = at_record;
    o.progress = at_progress;
    t->end = now() + BUSY * budget;
    t->end_of_work = worked() + threads_of(a) * budget;
    t->last.loss = NAN;
    tithe_trace_free(row->trace);
    row->trace = NULL;
    const tithe_status status = tithe_trace_create(row->name, &row->trace, error);
    if (status) return status;
    note(row, "codec", row->codec);
    if (row == a->rows) note(row, "baseline", "yes");
    return tithe_train_run(&o, result, error);
}

/* What it took, from the last record of its run on the computed clock. */
static void settle(const advise *a, advise_row *row, const tithe_train_result *r)
{
    const tithe_trace_record *last = &r->last;
    row->reached = r->target == TITHE_TARGET_REACHED;
    row->steps = r->steps;
    row->bytes = last->sent_bytes - last->setup_bytes;
    row->cost = last->cost;
    row->loss = last->loss;
    row->accuracy = last->accuracy;
    if (!a->has_link) return;
    row->transfer = last->transfer;
    row->seconds = last->seconds + row->codec_seconds * (double)r->steps;
}

static bool failed(tithe_status status, const tithe_error *error)
{
    text_progress_end();
    if (status && !train_interrupts()) text_fail_status(NULL, status, error);
    return status || train_interrupts();
}

/* Dense, on the real clock: how far it gets, and how long a gradient takes. */
static bool look_at_dense(advise *a)
{
    trial t = {.a = a, .row = a->rows};
    tithe_train_result r = {0};
    tithe_error error = {0};
    const tithe_train_options *o = &a->train.run;
    a->target = NAN;
    const tithe_status status = run(&t, NULL, DENSE_STEPS, DENSE_BUDGET, &r, &error);
    if (failed(status, &error)) return false;
    if (!(r.last.loss < t.first_loss)) {
        text_fail("Dense messages do not lower the loss on this data (%.6g to %.6g), so there is nothing to "
                  "compare with: look at "
                  "--step-size and --l2",
                  t.first_loss, r.last.loss);
        return false;
    }
    if (o->target_loss >= t.first_loss) { /* not if there is none */
        text_fail("The loss is %.6g before the first step: state a --target-loss below it", t.first_loss);
        return false;
    }
    a->target = isnan(o->target_loss) ? t.first_loss - DEEP * (t.first_loss - r.last.loss) : o->target_loss;
    a->compute = r.last.compute / (double)r.steps * threads_of(a) / (double)o->workers *
                 (double)a->data_rows / (double)a->used;
    return true;
}

bool advise_try(advise *a)
{
    char network[160] = "";
    if (!look_at_dense(a)) return false;
    if (a->has_link)
        snprintf(network, sizeof network, "latency=%.9gs,bandwidth=%.9gB,compute=%.9gs", a->link.latency,
                 a->link.bandwidth, a->compute);
    for (size_t i = 0; i < a->count; i++) {
        trial t = {.a = a, .row = &a->rows[i]};
        tithe_train_result r = {0};
        tithe_error error = {0};
        const uint64_t steps = i ? TIMES * a->rows[0].steps + 10 : 0;
        const tithe_status status =
            run(&t, *network ? network : NULL, steps, i ? BUDGET : DENSE_BUDGET + BUDGET, &r, &error);
        if (status != TITHE_E_DIVERGED && failed(status, &error)) return false;
        settle(a, &a->rows[i], &r);
        if (i == 0 && !a->rows[0].reached) {
            text_fail("Dense messages do not reach the loss %.6g in time: state a larger --target-loss",
                      a->target);
            return false;
        }
        if (i && advise_measure(a, &a->rows[i]) < advise_measure(a, &a->rows[a->best])) a->best = i;
    }
    text_progress_end();
    if (advise_measure(a, &a->rows[a->best]) > 0.95 * advise_measure(a, a->rows))
        a->best = 0; /* not worth it */
    return true;
}

double advise_measure(const advise *a, const advise_row *row)
{
    if (!row->reached) return INFINITY;
    return a->has_link ? row->seconds : row->cost;
}

void advise_end(advise *a)
{
    text_progress_end();
    for (size_t i = 0; i < a->count; i++) tithe_trace_free(a->rows[i].trace);
    if (*a->sample) remove(a->sample);
    tithe_cost_free(a->cost);
}
