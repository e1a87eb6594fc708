/* loop.c - the steps of a run: gradients, exchange, update; run_totals.c has what is written down of them.
 *
 * The order is fixed: penalty, momentum, feedback, compression. All gradients of a step are there before the first is
 * encoded, so that a run which is done with its target at x_k has not sent anything of step k. */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/pool.h"
#include "comm/comm.h"
#include "comm/link_estimate.h"
#include "exchange/control.h"
#include "learn/checkpoint.h"

/* ---- who takes part --------------------------------------------------------------------------------------- */

static bool takes_part(const run *r, unsigned worker)
{
    return !r->active || r->active[r->share->first + worker];
}

/* Some of all workers, each set of them as likely as any other: the first steps of a shuffle. */
static void draw_clients(run *r)
{
    if (!r->clients) return;
    const unsigned all = r->share->workers;
    const tithe_key key = ti_rng_key(r->o->seed, (uint32_t)r->step, 0, 0, RNG_CLIENTS);
    memset(r->active, 0, all * sizeof *r->active);
    for (unsigned i = 0; i < r->o->clients; i++) {
        const unsigned j = i + (unsigned)((rng_at(key, i) >> 32) * (all - i) >> 32);
        const unsigned chosen = r->clients[j];
        r->clients[j] = r->clients[i];
        r->clients[i] = chosen;
        r->active[chosen] = true;
    }
}

/* ---- gradients ----------------------------------------------------------------------------------------- */

/* H steps on its own; what is sent is the way that it went, over the step size, so that all units stay the same. */
static double local_steps(run *r, run_lane *lane, unsigned worker)
{
    const unsigned steps = r->o->local_steps;
    memcpy(lane->iterate, r->x, r->size * sizeof *r->x);
    double loss = NAN;
    for (unsigned h = 0; h < steps; h++) {
        const double here =
            r->estimator->gradient(&r->estimate, worker, h, lane->iterate, lane->gradient, lane->scratch);
        if (h == 0) loss = here;
        for (size_t j = 0; j < r->size; j++) lane->iterate[j] -= r->gamma * lane->gradient[j];
    }
    for (size_t j = 0; j < r->size; j++) lane->gradient[j] = (r->x[j] - lane->iterate[j]) / r->gamma;
    return loss;
}

static void compute_worker(run *r, run_lane *lane, unsigned worker)
{
    double *g = lane->gradient;
    r->losses[worker] = r->o->local_steps > 1
                            ? local_steps(r, lane, worker)
                            : r->estimator->gradient(&r->estimate, worker, 0, r->x, g, lane->scratch);
    if (r->momentum) {
        const double *v = r->momentum + worker * r->size;
        double *next = (r->momentum_next ? r->momentum_next : r->momentum) + worker * r->size;
        for (size_t j = 0; j < r->size; j++) g[j] = next[j] = r->o->momentum * v[j] + g[j];
    }
    float *out = r->gradients + worker * r->size;
    for (size_t j = 0; j < r->size; j++) out[j] = (float)g[j];
}

/* Lane l takes workers l, l + lanes, ...: which thread computes what makes no difference to the result. */
static void compute_lane(void *context, unsigned l)
{
    run *r = context;
    for (unsigned w = l; w < r->share->local; w += r->lane_count)
        if (takes_part(r, w)) compute_worker(r, &r->lanes[l], w);
}

static double numbers_in_a_step(const run *r)
{
    const double rows =
        r->estimator->samples ? (double)r->estimate.batch * r->share->local : (double)r->share->rows;
    const double width = (double)r->share->nonzeros / (double)r->share->rows;
    return rows * width + (double)r->size * r->share->local;
}

static double passes_in_a_step(const run *r)
{
    const double share = r->clients ? (double)r->o->clients / r->share->workers : 1;
    return share * r->estimator->passes(r->m, r->estimate.batch);
}

static void compute_gradients(run *r)
{
    draw_clients(r);
    const double start = clock_now();
    ti_pool_run(ti_estimate_pool(&r->estimate, numbers_in_a_step(r)), r->lane_count, compute_lane, r);
    r->compute += clock_now() - start;
}

/* ---- what the estimator does besides --------------------------------------------------------------------- */

/* `hook` is its start or its after; x is where the step began. */
static void let_estimator(run *r, double (*hook)(estimate *, const double *), const double *x)
{
    if (!hook) return;
    const double start = clock_now(), passes = hook(&r->estimate, x);
    r->compute += clock_now() - start;
    if (x) r->epochs += passes; /* otherwise they were counted before the checkpoint */
}

/* ---- exchange ------------------------------------------------------------------------------------------ */

typedef struct put_context {
    run *r;
    tithe_status status[256]; /* of each lane: a pool has no more threads */
    tithe_error errors[256];
} put_context;

static void put_lane(void *context, unsigned l)
{
    put_context *c = context;
    run *r = c->r;
    for (unsigned w = l; w < r->share->local && !c->status[l]; w += r->lane_count)
        c->status[l] = takes_part(r, w)
                           ? tithe_exchange_put(r->exchange, r->comm->first + w, l,
                                                r->gradients + w * r->size, r->gamma, &c->errors[l])
                           : tithe_exchange_skip(r->exchange, r->comm->first + w, r->gamma, &c->errors[l]);
}

/* A step size that is worth a try after one that was too long. */
static double shorter_step(const run *r)
{
    const double L = r->constants.L + r->problem.model->penalty_curvature * r->problem.l2;
    return L > 0 ? fmin(r->gamma / 4, 1 / L) : r->gamma / 4;
}

/* Numbers that are not finite come from steps that were too long. */
static tithe_status explain(const run *r, tithe_status status, const tithe_error *why, tithe_error *error)
{
    if (status == TITHE_E_NONFINITE)
        return ti_fail(
            error, TITHE_E_DIVERGED, r->step,
            "The run diverged in step %llu (the gradient of rank %u is not finite at position %zu): try "
            "`step-size=%.2g`, or `on-nonfinite=skip`.",
            (unsigned long long)r->step, (unsigned)r->exchange->refusal.rank, why->position, shorter_step(r));
    if (status && error) *error = *why;
    return status;
}

static tithe_status exchange_gradients(run *r, tithe_error *error)
{
    put_context c = {.r = r};
    ti_pool_run(ti_estimate_pool(&r->estimate, (double)r->size * r->share->local), r->lane_count, put_lane,
                &c);
    for (unsigned l = 0; l < r->lane_count; l++)
        if (c.status[l]) return explain(r, c.status[l], &c.errors[l], error);
    c.status[0] = tithe_exchange_finish(r->exchange, r->update, &c.errors[0]);
    return explain(r, c.status[0], &c.errors[0], error);
}

static void apply_update(run *r)
{
    const double start = clock_now();
    for (size_t j = 0; j < r->size; j++) r->x[j] -= (double)r->update[j];
    ti_average_add(&r->average, r->x);
    r->compute += clock_now() - start;
}

/* ---- is it still sane? ----------------------------------------------------------------------------------- */

/* On the way a loss may rise for a while (x_0 = 0 is no bad start); at the end it must not be above the first, but for a
 * hundredth, which is noise of a step or two. */
static tithe_status expect_sane(run *r, bool ended, tithe_error *error)
{
    const double loss = r->last.loss;
    const double max =
        ended ? r->first_loss + fabs(r->first_loss) / 100 : 100 * fmax(fabs(r->first_loss), 1e-3);
    if (isfinite(loss) && loss <= max) return TITHE_OK;
    return ti_fail(
        error, TITHE_E_DIVERGED, r->step,
        "The run diverged: the loss is %.3g after step %llu, from %.3g at the start: try `step-size=%.2g`%s.",
        loss, (unsigned long long)r->step, r->first_loss, shorter_step(r),
        r->methods.feedback->keeps || r->facts.omega_up < 1 ? "" : ", or `feedback=ec`");
}

/* ---- when to look, and when to stop ------------------------------------------------------------------- */

static bool is_done(const run *r)
{
    const tithe_train_options *o = r->o;
    return r->reached || r->stop.stopped || (o->steps && r->step >= o->steps) ||
           (o->epochs > 0 && r->epochs >= o->epochs * (1 - 1e-12));
}

static void check_target(run *r)
{
    const tithe_train_options *o = r->o;
    if (!isnan(o->target_loss) && r->last.loss <= o->target_loss) r->reached = true;
    if (!isnan(o->target_gap) && r->last.gap <= o->target_gap) r->reached = true;
}

static bool has_target(const run *r)
{
    return !isnan(r->o->target_loss) || !isnan(r->o->target_gap);
}

/* An MLP takes longer for a loss than for the steps between two of them. */
static bool is_costly(const run *r)
{
    return !(r->problem.model->curvature > 0);
}

/* A record takes a pass over the data, so a short run or a costly model gets fewer of them than a long one. Where a
 * target ends the run, as many for each pass as at most: how long it took is what was asked. */
static uint64_t record_distance(const run *r)
{
    const bool costly = is_costly(r);
    const double each = costly ? 1 : 8, min = costly ? 5 : 20, max = r->o->records ? r->o->records : 400;
    const double passes =
        passes_in_a_step(r) + (r->estimator->after_passes ? r->estimator->after_passes(r->m) : 0);
    double steps = INFINITY;
    if (r->o->steps) steps = (double)r->o->steps;
    if (r->o->epochs > 0) steps = fmin(steps, r->o->epochs / passes);
    double every = isfinite(steps) ? steps / fmin(max, fmax(min, each * passes * steps)) : INFINITY;
    if (has_target(r) || !isfinite(steps)) every = fmin(every, 1 / (each * passes));
    return every > 1 ? (uint64_t)every : 1;
}

/* A target that is reached early is not passed by more than a sixteenth of the way. */
static bool is_time_to_look(const run *r, uint64_t distance)
{
    const uint64_t near = 1 + r->step / 16, since = r->step - (uint64_t)r->last.step;
    return since >= (has_target(r) && !is_costly(r) && near < distance ? near : distance);
}

static void show_progress(run *r)
{
    double done = NAN;
    if (r->o->steps) done = (double)r->step / (double)r->o->steps;
    if (r->o->epochs > 0) done = fmax(isnan(done) ? 0 : done, r->epochs / r->o->epochs);
    ti_run_progress(r, "training", done);
    r->shown = clock_now();
}

static tithe_status look(run *r, double loss, tithe_error *error)
{
    ti_run_pause(r);
    tithe_status status = ti_run_record(r, loss, error);
    if (!status) {
        check_target(r);
        show_progress(r);
        status = expect_sane(r, false, error);
    }
    ti_run_go_on(r);
    return status;
}

static tithe_status mean_loss(run *r, double *mean, tithe_error *error)
{
    double sum = 0;
    for (unsigned w = 0; w < r->share->local; w++) sum += r->losses[w];
    const tithe_status status = ti_comm_fold(r->comm, COMM_SUM, &sum, 1, error);
    *mean = sum / r->share->workers;
    return status;
}

/* On a network that is computed the link is known. */
static tithe_status tell_link(run *r, tithe_error *error)
{
    if (!r->clock.network.phases) return TITHE_OK;
    const network_phase *phase = ti_network_at(&r->clock.network, r->epochs);
    return tithe_exchange_tell_link(r->exchange, &phase->link, r->clock.network.compute, error);
}

/* The virtual clock: what this step would have taken on the network of its epoch. */
static void advance_clock(run *r)
{
    if (!r->clock.network.phases) return;
    const network_phase *phase = ti_network_at(&r->clock.network, r->epochs);
    r->clock.compute += r->clock.network.compute;
    r->clock.transfer += tithe_exchange_seconds(r->exchange, &phase->link);
}

/* Who takes no part keeps what it has. */
static void take_momentum(run *r)
{
    double *before = r->momentum;
    if (!r->momentum_next) return;
    if (!r->active) {
        r->momentum = r->momentum_next;
        r->momentum_next = before;
        return;
    }
    for (unsigned w = 0; w < r->share->local; w++)
        if (takes_part(r, w))
            memcpy(r->momentum + w * r->size, r->momentum_next + w * r->size, r->size * sizeof *before);
}

/* A step that is skipped took its time and its passes over the data, and changes nothing. */
static tithe_status take_step(run *r, tithe_error *error)
{
    const tithe_status status = exchange_gradients(r, error);
    if (status && status != TITHE_E_SKIPPED) return status;
    if (!status) {
        take_momentum(r);
        let_estimator(r, r->estimator->after, r->x);
        apply_update(r);
        r->taken = r->gamma;
    }
    r->step++;
    advance_clock(r); /* in the epoch in which the step began */
    r->epochs += r->o->local_steps * passes_in_a_step(r);
    if (!status) ti_run_count(r);
    return TITHE_OK;
}

/* With which setting, and from where: a trial of the tuner begins or ends here. */
static tithe_status begin_step(run *r, tithe_error *error)
{
    tithe_status status = tell_link(r, error);
    if (!status) status = ti_replay_step(&r->replay, r->exchange, r->step, error);
    ti_trial_follow(r);
    ti_run_record_change(r);
    return status;
}

/* Gradients at x, and the loss that they bring along, where they do. */
static tithe_status gradients_and_loss(run *r, double *loss, tithe_error *error)
{
    r->gamma = ti_restart_share(r) * ti_steps_at(&r->steps, r->step);
    r->estimate.step = (uint32_t)r->step;
    compute_gradients(r);
    if (!run_has_free_loss(r)) return TITHE_OK;
    ti_run_pause(r);
    return mean_loss(r, loss, error);
}

/* Back to where the loss was lowest, which takes gradients there once more. */
static tithe_status start_again(run *r, double *loss, tithe_error *error)
{
    ti_run_go_on(r);
    ti_restart(r);
    r->epochs += r->o->local_steps * passes_in_a_step(r);
    r->clock.compute += r->clock.network.compute;
    return gradients_and_loss(r, loss, error);
}

static tithe_status one_step(run *r, uint64_t distance, tithe_error *error)
{
    double loss = NAN;
    tithe_status status = begin_step(r, error);
    const bool free_loss = run_has_free_loss(r), tries = r->trial.number != 0;
    if (!status) status = gradients_and_loss(r, &loss, error);
    if (tries) ti_run_go_on(r); /* nothing is written down of a trial */
    if (status) return status;
    if (free_loss && !tries) {
        if (ti_restart_wanted(r, loss)) status = start_again(r, &loss, error);
        if (!status) status = look(r, loss, error);
        if (status || is_done(r)) return status;
    }
    status = take_step(r, error);
    if (status || free_loss || tries) return status;
    /* Records may be minutes apart; whoever watches, or wants to stop, need not wait for the next one. */
    if (clock_now() - r->shown > 0.1) show_progress(r);
    if (is_time_to_look(r, distance) || is_done(r)) status = look(r, NAN, error);
    return status;
}

/* At the start, or where a checkpoint left it. */
static tithe_status start(run *r, tithe_error *error)
{
    r->started = clock_now();
    r->sums.kept_least = r->sums.speedup_least = INFINITY;
    if (r->o->resume) {
        ti_run_pause(r);
        const tithe_status status = ti_checkpoint_load(r, error);
        ti_run_go_on(r);
        if (!status) let_estimator(r, r->estimator->start, NULL);
        return status;
    }
    ti_average_add(&r->average, r->x);
    let_estimator(r, r->estimator->start, r->x);
    return TITHE_OK;
}

/* Records may be minutes apart. Twice a second all processes ask each other whether somebody wants to stop, which also
 * tells an idle server that they are alive; what their messages say about the link goes with it. Where asking takes long, as among many ranks far
 * apart, they do it more rarely: a twentieth of the time, and every five seconds. The first one says after how many steps they do it next. */
static tithe_status check_in(run *r, tithe_error *error)
{
    if (!run_is_remote(r) || r->step < r->stop.next_check) return TITHE_OK;
    ti_run_pause(r);
    const double now = clock_now(), took = now - r->stop.checked_at;
    const double apart = fmin(5, fmax(0.5, 20 * r->stop.asking)); /* seconds */
    const double steps = (double)(r->step - r->stop.checked);
    double values[2] = {r->stop.asked, 0}; /* 1: the distance to the next one, at most twice the last */
    if (r->comm->first == 0) values[1] = floor(fmin(2 * steps, steps * apart / fmax(took, 1e-9)));
    tithe_status status = ti_link_meet(r->comm, r->link, values, 2, false, error);
    if (!status) status = ti_control_met(r->exchange, error);
    if (values[0] > 0) r->stop.stopped = true;
    r->stop.checked = r->step;
    r->stop.checked_at = now;
    r->stop.next_check = r->step + (uint64_t)fmax(values[1], 1);
    r->stop.asking = clock_now() - now;
    r->checking += clock_now() - r->paused_at;
    ti_run_go_on(r);
    return status;
}

tithe_status ti_run_loop(run *r, tithe_error *error)
{
    tithe_status status = start(r, error);
    if (status) return status;
    r->met = ti_run_seconds(r);
    r->gamma = ti_restart_share(r) * ti_steps_at(&r->steps, r->step);
    r->taken = ti_restart_share(r) * ti_steps_at(&r->steps, r->step ? r->step - 1 : 0);
    const uint64_t distance = record_distance(r);
    const bool free_loss = run_has_free_loss(r);
    if (!free_loss) status = look(r, NAN, error);
    bool ended = !free_loss && is_done(r);
    while (!status && !ended) {
        const uint64_t before = r->step;
        status = one_step(r, distance, error);
        if (!status && !r->trial.number && r->step != before && r->o->every && r->step % r->o->every == 0)
            status = ti_checkpoint_save(r, error);
        /* with a loss for free, the end is seen only when the next gradients are there */
        ended = is_done(r) && !r->trial.number && (!free_loss || r->step == before);
        if (!status && !ended) status = check_in(r, error);
        if (r->stop.stopped) ti_trial_end(r);
        if (!status && !ended && r->stop.stopped && !free_loss && r->last.step < (double)r->step)
            status = look(r, NAN, error); /* the last record */
        if (r->stop.stopped) ended = true;
    }
    if (status && status != TITHE_E_DIVERGED) return status; /* the others have not come this far */
    if (ti_run_classifies(r) && isnan(r->last.accuracy)) {   /* the last record may have come without */
        size_t correct = 0;
        ti_run_loss(r, r->x, &correct); /* `last` has its seconds already */
        r->last.accuracy = (double)correct / (double)r->share->total_rows;
    }
    return status;
}

tithe_status ti_run_judge(run *r, tithe_error *error)
{
    return r->stop.stopped ? TITHE_OK : expect_sane(r, true, error);
}
