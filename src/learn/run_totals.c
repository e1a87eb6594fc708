/* run_totals.c - what a run writes down: sums over its steps, and records of where it stands, over all processes. */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "comm/comm.h"
#include "exchange/control.h"
#include "exchange/counters.h"
#include "exchange/exchange.h"
#include "learn/run.h"

void ti_run_count(run *r)
{
    const tithe_exchange_record e = r->exchange->last;
    if (!isnan(r->threshold) && r->methods.feedback->scaled) {
        const double bound = r->gamma * r->threshold;
        r->sums.residual_max = fmax(r->sums.residual_max, e.unsent_max / (bound * bound * (double)r->size));
    }
    if (!e.measured) return; /* nothing was sent, or measured */
    r->sums.measured += e.measured;
    r->sums.level += e.measured * e.level;
    r->sums.kept += e.measured * e.kept;
    r->sums.kept_least = fmin(r->sums.kept_least, e.kept_least);
    r->sums.speedup += e.measured * e.speedup;
    r->sums.speedup_least = fmin(r->sums.speedup_least, e.speedup_least);
}

/* ---- time ------------------------------------------------------------------------------------------------ */

void ti_run_pause(run *r)
{
    if (r->paused_at == 0) r->paused_at = clock_now();
}

void ti_run_go_on(run *r)
{
    if (r->paused_at == 0) return;
    const double took = clock_now() - r->paused_at;
    r->started += took;
    r->record += took;
    r->paused_at = 0;
    if (r->exchange) ti_control_paused(r->exchange, took);
}

double ti_run_seconds(const run *r)
{
    return (r->paused_at > 0 ? r->paused_at : clock_now()) - r->started;
}

/* Since the last record. */
static double span(const run *r)
{
    return ti_run_seconds(r) - r->met;
}

/* Whoever is done first with its steps since the last record (the server of a star is when its answer is in the socket) waits for the
 * others while the clock stands still, here or in a check-in before: those seconds are training all the same. */
static double count_late(run *r, double slowest)
{
    const double here = clock_now() - r->paused_at;
    const double late = fmin(fmax(0, slowest - span(r)), here + r->checking), before = fmax(0, late - here);
    r->paused_at += late - before;
    r->started -= before;
    r->record -= before;
    r->exchange->totals.wait += late;
    r->met = ti_run_seconds(r);
    r->checking = 0;
    return late;
}

/* What no phase has. Threads that encode side by side may have more of them than the clock has. */
static double other_seconds(const run *r, const tithe_exchange_totals *t)
{
    return fmax(0, ti_run_seconds(r) - r->compute - t->encode - t->wait - t->transfer - t->decode);
}

/* ---- records --------------------------------------------------------------------------------------------- */

/* The loss is computed on its own where the gradients do not bring it. */
double ti_run_loss(run *r, const double *x, size_t *correct)
{
    return tithe_problem_loss(&r->problem, r->pool, x, NULL, correct);
}

bool ti_run_classifies(const run *r)
{
    return r->problem.model->task != TITHE_TASK_NUMBER;
}

/* What is known of the whole run: counters, over all processes or of this one alone; and of the last step sums over the ranks that
 * were put. */
typedef struct overview {
    tithe_exchange_totals totals;
    double ranks, measured, level, kept, residual, stopped, set_up;
} overview;

/* A network that is computed has its own seconds. */
static void take_virtual_seconds(const run *r, tithe_exchange_totals *totals)
{
    for (const tithe_counter *c = tithe_counters(); c->name; c++)
        if (strcmp(c->unit, "s") == 0) *counter_in(totals, c) = 0;
    totals->transfer = r->clock.transfer;
}

static tithe_status add_up(run *r, overview *all, tithe_error *error)
{
    double *const of_step[] = {&all->ranks,    &all->measured, &all->level, &all->kept,
                               &all->residual, &all->stopped,  &all->set_up};
    enum { OF_STEP = sizeof of_step / sizeof *of_step };
    double *numbers[COUNTERS + OF_STEP], sums[COUNTERS + OF_STEP];
    size_t count = 0;
    for (const tithe_counter *c = tithe_counters(); c->name; c++)
        if (c->flags & TITHE_COUNTER_ALL) numbers[count++] = counter_in(&all->totals, c);
    for (size_t i = 0; i < OF_STEP; i++) numbers[count++] = of_step[i];
    for (size_t i = 0; i < count; i++) sums[i] = *numbers[i];
    const tithe_status status = ti_comm_fold(r->comm, COMM_SUM, sums, count, error);
    for (size_t i = 0; i < count; i++) *numbers[i] = sums[i];
    return status;
}

static tithe_status look_around(run *r, overview *all, double extremes[3], tithe_error *error)
{
    const tithe_exchange_record e = r->exchange->last;
    const double ranks = e.ranks;
    *all = (overview){.totals = r->exchange->totals,
                      .ranks = ranks,
                      .level = ranks * e.level,
                      .measured = e.measured,
                      .kept = e.measured ? e.measured * e.kept : 0,
                      .residual = ranks * e.residual,
                      .stopped = r->stop.asked,
                      .set_up = r->set_up.sent};
    if (r->clock.network.phases) take_virtual_seconds(r, &all->totals);
    double sent; /* by this process, and not by its exchange alone */
    tithe_status status = ti_comm_sent(r->comm, &sent, error);
    if (status) return status;
    all->totals.sent_bytes = sent + r->file.sent_before;
    extremes[0] = ranks > 0 ? -e.level_least : -INFINITY;
    extremes[1] = ranks > 0 ? e.level_most : -INFINITY;
    extremes[2] = span(r);
    status = add_up(r, all, error);
    if (!status) status = ti_comm_fold(r->comm, COMM_MAX, extremes, 3, error);
    if (all->stopped > 0) r->stop.stopped = true; /* one wants to: all do */
    return status;
}

/* `loss` NAN: to be computed here, and the accuracy with it. */
tithe_status ti_run_record(run *r, double loss, tithe_error *error)
{
    size_t correct = 0;
    double accuracy = NAN, extremes[3];
    overview all;
    if (isnan(loss)) {
        loss = ti_run_loss(r, r->x, &correct);
        if (ti_run_classifies(r)) accuracy = (double)correct / (double)r->share->total_rows;
    }
    double average_loss = NAN;
    if (ti_average_get(&r->average, r->averaged)) average_loss = ti_run_loss(r, r->averaged, NULL);
    const tithe_status status = look_around(r, &all, extremes, error);
    if (status) return status;
    if (run_is_remote(r)) all.totals.wait += count_late(r, extremes[2]);
    const tithe_exchange_record e = r->exchange->last;
    const double optimum = r->facts.optimum, none = r->step ? 0 : NAN;
    r->last = (tithe_trace_record){
        .step = (double)r->step,
        .epochs = r->epochs,
        .loss = loss,
        .gap = loss - optimum,
        .accuracy = accuracy,
        .average_loss = average_loss,
        .average_gap = average_loss - optimum,
        .bound = ti_theory_bound(&r->theory, (double)r->step),
        .step_size = r->taken,
#define COUNTER(name, field, unit, doc, flags, place) .name = all.totals.field,
#include "exchange/counter_rows.h"
#undef COUNTER
        .level = all.level / all.ranks + none,
        .level_least = -extremes[0] + none,
        .level_most = extremes[1] + none,
        .kept = all.kept / all.measured,
        .residual = all.residual / all.ranks + none,
        .seconds = ti_run_seconds(r),
        .compute = r->compute,
        .other = other_seconds(r, &all.totals),
        .record = r->record,
        .setup_bytes = all.set_up,
        .setup_seconds = r->set_up.seconds,
        .latency = r->link->now.latency,
        .bandwidth = r->link->now.bandwidth,
        .leader = e.leader >= 0 ? e.leader + none : NAN,
        .scheme = e.scheme,
        .collective = e.collective,
        .reason = e.reason,
        .setting = "",
    };
    if (r->clock.network.phases) { /* all times are that network's */
        r->last.seconds = r->clock.compute + r->clock.transfer;
        r->last.compute = r->clock.compute;
        r->last.other = r->last.record = 0;
    }
    if (r->o->record && !r->o->record(r->o->context, &r->last)) ti_run_ask_to_stop(r);
    return TITHE_OK;
}

/* One line for each change. What it costs to know the loss is left to the records. */
void ti_run_record_change(run *r)
{
    tithe_steering now = {.size = sizeof now};
    if (!tithe_exchange_steering(r->exchange, &now) || now.changes + 1 == r->changes) return;
    r->changes = now.changes + 1;
    enum {
        NUMBERS = offsetof(tithe_trace_record, scheme) / sizeof(double)
    }; /* all that stands before the texts */
    union {
        tithe_trace_record record;
        double numbers[NUMBERS];
    } line;
    for (size_t i = 0; i < NUMBERS; i++) line.numbers[i] = NAN;
    line.record.step = (double)r->step;
    line.record.epochs = r->epochs;
    line.record.seconds = r->clock.network.phases ? r->clock.compute + r->clock.transfer : ti_run_seconds(r);
    line.record.scheme = line.record.collective = "";
    line.record.reason = now.reason;
    line.record.setting = now.options;
    if (r->o->record && !r->o->record(r->o->context, &line.record)) ti_run_ask_to_stop(r);
}
