/* trial.c - a tuner tries settings (tuner.h): the model as it was before a trial is put back after it, and with it the number of steps and
 * epochs. The time and the bytes that it took are spent. What the exchange keeps goes back by itself. */
#include <stdlib.h>
#include <string.h>

#include "exchange/control.h"
#include "learn/run.h"

static size_t momentum_bytes(const run *r)
{
    return r->momentum ? r->size * r->share->local * sizeof *r->momentum : 0;
}

tithe_status ti_trial_open(run *r, tithe_error *error)
{
    run_trial *t = &r->trial;
    if (!r->methods.tuner->explores) return TITHE_OK;
    if (r->average.kind->vectors > 0)
        return ti_fail(error, TITHE_E_SPEC, 0,
                       "A tuner that makes trials leaves no mean of all iterates: leave `average` out.");
    t->x = calloc(r->size, sizeof *t->x);
    t->momentum = malloc(momentum_bytes(r) + 1);
    t->anchor = calloc(r->size, sizeof *t->anchor);
    if (t->x && t->momentum && t->anchor) return TITHE_OK;
    return ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory for the trials of a tuner.");
}

void ti_trial_close(run *r)
{
    free(r->trial.x);
    free(r->trial.momentum);
    free(r->trial.anchor);
    r->trial = (run_trial){0};
}

static void copy(double *to, const double *from, size_t bytes)
{
    if (bytes) memcpy(to, from, bytes);
}

static void remember(run *r)
{
    run_trial *t = &r->trial;
    const size_t bytes = r->size * sizeof *r->x;
    copy(t->x, r->x, bytes);
    copy(t->momentum, r->momentum, momentum_bytes(r));
    if (r->estimator->saved) copy(t->anchor, r->estimator->saved(&r->estimate), bytes);
    t->step = r->step;
    t->epochs = r->epochs;
}

static void go_back(run *r)
{
    const run_trial *t = &r->trial;
    const size_t bytes = r->size * sizeof *r->x;
    copy(r->x, t->x, bytes);
    copy(r->momentum, t->momentum, momentum_bytes(r));
    if (r->estimator->saved) copy(r->estimator->saved(&r->estimate), t->anchor, bytes);
    r->step = t->step;
    r->epochs = t->epochs;
    if (r->estimator->start) r->estimator->start(&r->estimate, NULL);
}

void ti_trial_follow(run *r)
{
    tithe_steering now = {.size = sizeof now};
    if (!tithe_exchange_steering(r->exchange, &now) || now.trial == r->trial.number) return;
    if (r->trial.number)
        go_back(r);
    else
        remember(r);
    r->trial.number = now.trial;
}

void ti_trial_end(run *r)
{
    if (!r->trial.number) return;
    go_back(r);
    ti_trials_stop(r->exchange);
    r->trial.number = 0;
}
