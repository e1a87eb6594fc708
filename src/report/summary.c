/* summary.c - see summary.h. */
#include "report/summary.h"

#include <math.h>
#include <string.h>

#include "report/numbers.h"
#include "report/trace.h"

/* A fact that is a number; NAN: there is none. */
static double fact_number(const tithe_trace *trace, const char *key)
{
    const char *fact = tithe_trace_find(trace, key);
    number_locale locale;
    double value = NAN;
    if (!fact || !ti_number_enter(&locale)) return NAN;
    if (!ti_number_read(fact, strlen(fact), &value)) value = NAN;
    ti_number_leave(&locale);
    return value;
}

tithe_trace_record ti_summary_final(const tithe_trace *trace)
{
    tithe_trace_record final = ti_record_unknown();
    const size_t count = tithe_trace_count(trace);
    for (const tithe_column *c = tithe_columns(); c->name; c++) {
        if (c->kind == TITHE_COLUMN_TEXT) {
            if (count > 0) *ti_text_of(&final, c) = ti_text_at(tithe_trace_at(trace, count - 1), c);
            continue;
        }
        for (size_t i = count; i > 0 && isnan(*ti_number_of(&final, c)); i--)
            *ti_number_of(&final, c) = ti_number_at(tithe_trace_at(trace, i - 1), c);
    }
    /* A run whose gradients bring the loss looks at the accuracy once, at its end. */
    const double accuracy = fact_number(trace, "accuracy");
    if (!isnan(accuracy)) final.accuracy = accuracy;
    return final;
}

static bool is_baseline(const tithe_trace *trace)
{
    const char *fact = tithe_trace_find(trace, "baseline");
    return fact && strcmp(fact, "yes") == 0;
}

/* Or at least one of them does not say. */
static bool same_fact(const tithe_trace *a, const tithe_trace *b, const char *key)
{
    const char *one = tithe_trace_find(a, key), *other = tithe_trace_find(b, key);
    return !one || !other || strcmp(one, other) == 0;
}

static bool same_problem(const tithe_trace *a, const tithe_trace *b)
{
    return same_fact(a, b, "data") && same_fact(a, b, "model") && same_fact(a, b, "l2");
}

static double lowest_loss(const tithe_trace *trace)
{
    double min = NAN;
    for (size_t i = 0; i < tithe_trace_count(trace); i++) min = fmin(min, tithe_trace_at(trace, i)->loss);
    return min;
}

/* The first record with this loss or a lower one. NULL: never reached. */
static const tithe_trace_record *reaches(const tithe_trace *trace, double loss)
{
    for (size_t i = 0; i < tithe_trace_count(trace); i++)
        if (tithe_trace_at(trace, i)->loss <= loss) return tithe_trace_at(trace, i);
    return NULL;
}

static double times(double dense, double ours)
{
    return dense > 0 && ours > 0 ? dense / ours : NAN;
}

static const cheaper unknown = {CHEAPER_UNKNOWN, NAN, NAN, NAN, NAN, 0};

static cheaper than_baseline(const tithe_trace *ours, const tithe_trace *baseline)
{
    const double a = lowest_loss(ours), b = lowest_loss(baseline);
    cheaper c = unknown;
    if (isnan(a) || isnan(b)) return c;
    const double loss = a > b ? a : b;
    const tithe_trace_record *theirs = reaches(baseline, loss), *mine = reaches(ours, loss);
    if (!theirs || !mine) return c;
    c.loss = loss;
    c.sent = times(theirs->sent_bytes, mine->sent_bytes);
    c.times = times(theirs->cost, mine->cost);
    if (isnan(c.times)) c.times = times(theirs->uplink_bytes, mine->uplink_bytes);
    c.slower = times(mine->step, theirs->step);
    if (!isnan(c.times)) c.kind = CHEAPER_BASELINE;
    return c;
}

static cheaper than_dense_frames(const tithe_trace *ours)
{
    cheaper c = unknown;
    const tithe_trace_record final = ti_summary_final(ours);
    c.times = times(fact_number(ours, "dense_bytes") * final.step, final.uplink_bytes);
    if (!isnan(c.times)) c.kind = CHEAPER_DENSE;
    return c;
}

/* `count`: there is none. */
static size_t baseline_of(const tithe_trace *const *traces, size_t count, size_t i)
{
    size_t first = count;
    for (size_t b = 0; b < count; b++) {
        if (!is_baseline(traces[b]) || !same_problem(traces[b], traces[i])) continue;
        if (same_fact(traces[b], traces[i], "estimator")) return b;
        if (first == count) first = b;
    }
    return first;
}

cheaper ti_summary_cheaper(const tithe_trace *const *traces, size_t count, size_t i)
{
    const size_t b = baseline_of(traces, count, i);
    if (b < count) {
        cheaper c = than_baseline(traces[i], traces[b]);
        c.baseline = b;
        if (c.kind != CHEAPER_UNKNOWN) return c;
    }
    return than_dense_frames(traces[i]);
}

double tithe_trace_cheaper(const tithe_trace *const *traces, size_t count, size_t i, double *loss)
{
    const cheaper c = ti_summary_cheaper(traces, count, i);
    if (loss) *loss = c.loss;
    return c.times;
}

double tithe_trace_cheaper_sent(const tithe_trace *const *traces, size_t count, size_t i, size_t *baseline)
{
    const cheaper c = ti_summary_cheaper(traces, count, i);
    if (baseline) *baseline = c.kind == CHEAPER_BASELINE ? c.baseline : count;
    return c.sent;
}

double tithe_trace_slower(const tithe_trace *const *traces, size_t count, size_t i)
{
    const cheaper c = ti_summary_cheaper(traces, count, i);
    const bool comparable =
        c.kind == CHEAPER_BASELINE && same_fact(traces[i], traces[c.baseline], "estimator");
    return comparable ? c.slower : NAN;
}
