/* checkpoint_text.c - see checkpoint_text.h. */
#include "learn/checkpoint_text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "comm/comm.h"
#include "exchange/control.h"
#include "exchange/counters.h"
#include "learn/run_description.h"

/* ---- the description ------------------------------------------------------------------------------------- */

uint32_t ti_checkpoint_parts(const run *r)
{
    const unsigned vectors = r->average.kind->vectors; /* which are made last */
    const bool steered = r->methods.tuner->steer;
    return (r->methods.feedback->keeps || steered ? PART_RESIDUAL : 0u) | (steered ? PART_STEERED : 0u) |
           (r->methods.feedback->aggregates ? PART_AGGREGATE : 0u) |
           (tithe_exchange_server_residual(r->exchange) ? PART_SERVER : 0u) |
           (r->estimator->saved ? PART_ANCHOR : 0u) | (vectors > 0 ? PART_MEAN : 0u) |
           (vectors > 1 ? PART_BEFORE : 0u) | (r->clients ? PART_CLIENTS : 0u) |
           (r->momentum ? PART_MOMENTUM : 0u) | (r->restart.x ? PART_LOWEST : 0u) |
           (ti_exchange_waits(&r->exchange->config) ? PART_MOVED : 0u);
}

/* Of the options what the next part of the run needs; the end, the collective and the like as they were asked for. */
static void write_rows(const run *r, description *d)
{
    tithe_train_options o = ti_run_resolved(r);
    o.collective = r->o->collective;
    ti_describe_options(&o, TITHE_OPTION_SAVED, DESCRIBE_GIVEN, d);
    ti_description_append(d, r->files.text);
    /* One that was not given is found again from the data, by processes that see this file and by those that do not. */
    ti_description_add(d, "l2 contents", "%.17g", r->problem.l2);
}

tithe_status ti_checkpoint_expect_room(const run *r, tithe_error *error)
{
    description d = {0};
    write_rows(r, &d);
    const size_t length = d.length;
    const bool spoilt = d.spoilt;
    ti_description_free(&d);
    if (spoilt) return ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory for a checkpoint.");
    if (length <= CHECKPOINT_TEXT) return TITHE_OK;
    return ti_fail(error, TITHE_E_SPEC, 0,
                   "A checkpoint has room for %d letters of options, but there are %zu: take shorter names.",
                   CHECKPOINT_TEXT, length);
}

void ti_checkpoint_describe(const run *r, checkpoint_head *head)
{
    *head = (checkpoint_head){.version = CHECKPOINT_VERSION,
                              .step = r->step,
                              .n = r->size,
                              .seed = r->o->seed,
                              .data = r->share->hash,
                              .workers = r->comm->size,
                              .parts = ti_checkpoint_parts(r),
                              .epochs = r->epochs,
                              .seconds = ti_run_seconds(r),
                              .average_ratio = r->average.ratio,
                              .average_count = r->average.count,
                              .average_earlier = r->average.earlier,
                              .average_steps = r->average.steps,
                              .learned = tithe_exchange_learned(r->exchange, NULL) +
                                         (r->exchange->control ? ti_control_save(r->exchange, NULL) : 0)};
    description d = {0};
    write_rows(r, &d);
    snprintf(head->text, sizeof head->text, "%s", d.spoilt ? "" : d.text);
    ti_description_free(&d);
}

/* ---- the accounts ---------------------------------------------------------------------------------------- */

_Static_assert(ACCOUNT_RUN + COUNTERS == ACCOUNT_NUMBERS,
               "A counter more makes an account longer: give the file a new version (checkpoint_file.h).");

tithe_status ti_checkpoint_account(run *r, double *accounts, tithe_error *error)
{
    const tithe_exchange_record e = r->exchange->last;
    double sent;
    const tithe_status status = ti_comm_sent(r->comm, &sent, error);
    if (status) return status;
    const double first[ACCOUNT_NUMBERS] = {
        [ACCOUNT_SENT] = sent + r->file.sent_before,
        [ACCOUNT_COMPUTE] = r->compute,
        [ACCOUNT_RECORD] = r->record,
        [ACCOUNT_MEASURED] = r->sums.measured,
        [ACCOUNT_LEVEL_SUM] = r->sums.level,
        [ACCOUNT_KEPT_SUM] = r->sums.kept,
        [ACCOUNT_SPEEDUP_SUM] = r->sums.speedup,
        [ACCOUNT_KEPT_LEAST] = r->sums.kept_least,
        [ACCOUNT_SPEEDUP_LEAST] = r->sums.speedup_least,
        [ACCOUNT_RESIDUAL_MAX] = r->sums.residual_max,
        [ACCOUNT_STEP_RANKS] = e.ranks,
        [ACCOUNT_STEP_MEASURED] = e.measured,
        [ACCOUNT_STEP_LEVEL] = e.level,
        [ACCOUNT_STEP_LEVEL_LEAST] = e.level_least,
        [ACCOUNT_STEP_LEVEL_MOST] = e.level_most,
        [ACCOUNT_STEP_KEPT] = e.kept,
        [ACCOUNT_STEP_RESIDUAL] = e.residual,
    };
    memcpy(accounts, first, sizeof first);
    for (const tithe_counter *c = tithe_counters(); c->name; c++)
        accounts[c->place] = tithe_counter_of(&r->exchange->totals, c);
    for (unsigned w = 1; w < r->comm->local; w++) {
        double *a = accounts + (size_t)w * ACCOUNT_NUMBERS;
        a[ACCOUNT_KEPT_LEAST] = a[ACCOUNT_SPEEDUP_LEAST] = INFINITY;
    }
    return TITHE_OK;
}

/* Of the last step: means over the ranks that were put, added up with their weights. The first is taken as it is, so that
 * the account of one process comes back to the bit. */
static void take_step(tithe_exchange_record *e, const double *a)
{
    const double ranks = a[ACCOUNT_STEP_RANKS], measured = a[ACCOUNT_STEP_MEASURED];
    if (!(ranks >= 1 && ranks <= CHECKPOINT_MAX_WORKERS)) return;
    if (measured >= 1 && measured <= CHECKPOINT_MAX_WORKERS) {
        const double all = e->measured + measured;
        e->kept = e->measured ? (e->measured * e->kept + measured * a[ACCOUNT_STEP_KEPT]) / all
                              : a[ACCOUNT_STEP_KEPT];
        e->measured = (unsigned)all;
    }
    const double all = e->ranks + ranks;
    if (e->ranks) {
        e->level = (e->ranks * e->level + ranks * a[ACCOUNT_STEP_LEVEL]) / all;
        e->residual = (e->ranks * e->residual + ranks * a[ACCOUNT_STEP_RESIDUAL]) / all;
        e->level_least = fmin(e->level_least, a[ACCOUNT_STEP_LEVEL_LEAST]);
        e->level_most = fmax(e->level_most, a[ACCOUNT_STEP_LEVEL_MOST]);
    } else {
        e->level = a[ACCOUNT_STEP_LEVEL];
        e->residual = a[ACCOUNT_STEP_RESIDUAL];
        e->level_least = a[ACCOUNT_STEP_LEVEL_LEAST];
        e->level_most = a[ACCOUNT_STEP_LEVEL_MOST];
    }
    e->ranks = (unsigned)all;
}

void ti_checkpoint_take_account(run *r, const double *accounts)
{
    tithe_exchange_totals t = {.size = sizeof t};
    tithe_exchange_record e = {.size = sizeof e, .step = (unsigned long)(r->step ? r->step - 1 : 0)};
    r->sums.kept_least = r->sums.speedup_least = INFINITY;
    for (unsigned w = 0; w < r->comm->local; w++) {
        const double *a = accounts + (size_t)w * ACCOUNT_NUMBERS;
        for (const tithe_counter *c = tithe_counters(); c->name; c++) *counter_in(&t, c) += a[c->place];
        r->file.sent_before += a[ACCOUNT_SENT];
        r->compute += a[ACCOUNT_COMPUTE];
        r->record += a[ACCOUNT_RECORD];
        r->sums.measured += a[ACCOUNT_MEASURED];
        r->sums.level += a[ACCOUNT_LEVEL_SUM];
        r->sums.kept += a[ACCOUNT_KEPT_SUM];
        r->sums.speedup += a[ACCOUNT_SPEEDUP_SUM];
        r->sums.kept_least = fmin(r->sums.kept_least, a[ACCOUNT_KEPT_LEAST]);
        r->sums.speedup_least = fmin(r->sums.speedup_least, a[ACCOUNT_SPEEDUP_LEAST]);
        r->sums.residual_max = fmax(r->sums.residual_max, a[ACCOUNT_RESIDUAL_MAX]);
        take_step(&e, a);
    }
    tithe_exchange_continue(r->exchange, (uint32_t)r->step, &t, &e);
}
