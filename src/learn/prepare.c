/* prepare.c - from options to a run that can start: data, problem, constants, codecs, exchange, memory. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/spec.h"
#include "codec/codec.h"
#include "comm/comm.h"
#include "exchange/control.h"
#include "learn/checkpoint.h"
#include "learn/run_description.h"
#include "learn/run_options.h"
#include "learn/setup.h"
#include "model/rows.h"
#include "tithe/tithe.h"

bool ti_run_progress(run *r, const char *what, double done)
{
    if (r->o->progress && !r->o->progress(r->o->context, what, done)) ti_run_ask_to_stop(r);
    return !r->stop.asked;
}

void ti_run_ask_to_stop(run *r)
{
    r->stop.asked = true;
    if (!r->comm || !run_is_remote(r)) r->stop.stopped = true;
}

/* ---- data and problem ---------------------------------------------------------------------------------- */

/* *all stays where rank 0 is, for the set-up. */
static tithe_status open_data(run *r, tithe_data **all, tithe_error *error)
{
    const tithe_train_options *o = r->o;
    if (!o->data)
        return ti_fail(error, TITHE_E_ARGUMENT, 0,
                       "There is no data: name a file or a set of `tithe list data`.");
    const tithe_model *model;
    double params[TITHE_MAX_PARAMS];
    tithe_status status = tithe_model_find(o->model, &model, params, error);
    if (status) return status;
    ti_run_progress(r, "reading data", NAN);
    tithe_data_options reading = o->reading;
    reading.task = model->task;
    status = tithe_data_open(o->data, &reading, all, error);
    if (!status)
        status = tithe_data_share(*all, r->comm->size, o->split, o->seed, r->comm->first, r->comm->local,
                                  &r->share, error);
    if (r->comm->first != 0) {
        tithe_data_free(*all);
        *all = NULL;
    }
    if (status) return status;
    r->m = (double)r->share->total_rows / r->share->workers;
    /* without the penalty, which the set-up finds */
    return tithe_problem_make(o->model, r->share, 0, run_is_remote(r) ? r->comm : NULL, r->pool, &r->problem,
                              error);
}

/* ---- how rows are drawn -------------------------------------------------------------------------------- */

/* L of the sampling, where it is known: the largest L_ij under uniform draws, the largest mean under importance. Otherwise
 * the largest L_ij / (m p_ij). */
static tithe_status find_script_L(const run *r, double *L, tithe_error *error)
{
    const sampling *s = &r->estimate.rows;
    if (s->kind->script_L) {
        *L = s->kind->script_L(&r->constants);
        return TITHE_OK;
    }
    double max = 0;
    for (size_t row = 0; row < r->share->rows; row++)
        max = fmax(max, ti_row_square(r->share, row) * s->weights[row]);
    const tithe_status status = run_is_remote(r) ? ti_comm_fold(r->comm, COMM_MAX, &max, 1, error) : TITHE_OK;
    *L = r->problem.model->curvature * max;
    return status;
}

static tithe_status make_estimate(run *r, tithe_error *error)
{
    const tithe_train_options *o = r->o;
    if (r->sampling->weigh && !r->estimator->samples)
        return ti_fail(error, TITHE_E_SPEC, 0,
                       "`sampling` has no meaning for the estimator '%s', which takes all rows.",
                       r->estimator->name);
    r->estimate = (estimate){.problem = &r->problem,
                             .seed = o->seed,
                             .batch = 1,
                             .m = r->m,
                             .pool = r->pool,
                             .lanes = r->lane_count,
                             .scratch = r->scratch};
    const tithe_status status =
        ti_sampling_make(r->sampling, o->sampling, &r->problem, &r->estimate.rows, error);
    if (status || !r->estimator->open) return status;
    return r->estimator->open(&r->estimate, r->estimator_params, error);
}

/* ---- step size and theory ------------------------------------------------------------------------------ */

/* All constants with the penalty counted in, as the formulas want them. */
static tithe_status choose_step(run *r, tithe_error *error)
{
    const tithe_model *model = r->problem.model;
    const double penalty = model->penalty_curvature * r->problem.l2, n = r->o->workers;
    const double L = r->constants.L + penalty;
    double script;
    const tithe_status status = find_script_L(r, &script, error);
    if (status) return status;
    const double B = (double)r->estimate.batch;
    if (B > 1) /* independent rows: one B-th of the noise, the rest is f_i's own */
        script = (script + (B - 1) * r->constants.L_IS) / B;
    r->facts.script_L = script;
    script += penalty;
    const tithe_claims up = ti_codec_claims(r->methods.codec, r->size);
    const double sigma = r->sigma / B;
    r->facts.unified = r->estimator->unified(L, script, sigma, n, r->m);
    if (isnan(r->steps.start)) {
        if (!isfinite(L)) { /* no theory for this model: what people start with */
            if (!r->stop.stopped) r->steps.start = 0.1;
        } else {
            r->steps.automatic = true;
            r->steps.start = r->estimator->step_size(L, script, n, r->m);
            const bool unbiased =
                !r->methods.feedback->contracts && up.traits & TITHE_UNBIASED && isfinite(up.omega);
            if (!r->estimator->samples && unbiased) r->steps.start = 1 / (L * (1 + up.omega / n));
        }
    }
    r->facts.step_size = ti_steps_at(&r->steps, 0);
    r->facts.omega_up = up.omega;
    const tithe_codec *back = r->exchange->config.downlink;
    r->facts.omega_down = back ? ti_codec_claims(back, r->size).omega : 0;
    r->facts.slowdown = NAN;
    if (!r->methods.feedback->keeps && isfinite(r->facts.omega_up) && isfinite(r->facts.omega_down))
        r->facts.slowdown =
            ti_theory_slowdown(r->facts.omega_up, r->facts.omega_down, r->estimator->noisy ? sigma : 0, n,
                               isnan(r->o->target_gap) ? 0 : r->o->target_gap);
    return TITHE_OK;
}

/* What a rank's own messages leave of it, in every bucket. False: nothing is promised, or it is not theirs alone. */
static bool find_kept(const run *r, theory_kept *kept)
{
    *kept = (theory_kept){.delta = 1};
    if (strcmp(tithe_codec_spec(r->methods.codec), "all|raw") == 0) return true;
    if (!r->methods.feedback->scaled || r->exchange->scheme->led) return false;
    if (ti_exchange_part(r->exchange, 0)->decay != 1) return false;
    for (unsigned i = 0; i < ti_exchange_parts(r->exchange); i++) {
        const tithe_claims c = ti_codec_claims(r->methods.codec, ti_exchange_part(r->exchange, i)->n);
        const bool absolute = c.traits & TITHE_ABSOLUTE;
        if (!absolute && !(c.traits & TITHE_CONTRACTIVE)) return false;
        if (!absolute) kept->delta = fmin(kept->delta, c.delta);
        kept->Delta = sqrt(kept->Delta * kept->Delta + c.Delta * c.Delta);
    }
    return true;
}

/* The promise needs a constant step, what is kept within a known bound, and the distance to x*. */
static void make_theory(run *r)
{
    theory_kept kept;
    if (!r->optimum.certified || !ti_steps_constant(&r->steps) || r->exchange->config.downlink ||
        r->o->momentum != 0 || r->o->local_steps > 1 || r->methods.tuner->tunes || r->methods.tuner->steer ||
        r->clients || !find_kept(r, &kept))
        return;
    const double l2 = r->problem.l2, n = r->o->workers;
    const theory_problem p = {.unified = r->facts.unified,
                              .L = r->constants.L + l2,
                              .mu = l2,
                              .script_L = r->facts.script_L + l2,
                              .L_worker = fmin(n * r->constants.L, r->constants.L_IS) + l2,
                              .zeta = r->constants.zeta_star,
                              .workers = n,
                              .distance = r->distance,
                              .gap = r->first_loss - r->optimum.loss};
    r->theory = ti_theory_make(&p, &kept, r->steps.start);
    r->facts.bound_step_size = r->theory.longest;
}

/* ---- all of it ----------------------------------------------------------------------------------------- */

static tithe_status make_room(run *r, tithe_error *error)
{
    const size_t local = r->share->local, all = r->share->workers;
    bool enough = true;
    r->x = calloc(r->size, sizeof *r->x);
    r->averaged = calloc(r->size, sizeof *r->averaged);
    r->losses = calloc(local, sizeof *r->losses);
    r->gradients = calloc(r->size * local, sizeof *r->gradients);
    r->update = calloc(r->size, sizeof *r->update);
    r->lanes = calloc(r->lane_count, sizeof *r->lanes);
    r->scratch = calloc(r->lane_count, sizeof *r->scratch);
    if (r->o->clients && r->o->clients < all) {
        r->clients = calloc(all, sizeof *r->clients);
        r->active = calloc(all, sizeof *r->active);
        enough = r->clients && r->active;
        for (unsigned w = 0; enough && w < all; w++) r->clients[w] = w;
    }
    if (r->o->momentum != 0)
        enough = enough && (r->momentum = calloc(r->size * local, sizeof *r->momentum)) != NULL;
    /* a run may end with the gradients of a step that is not taken, or go on without it */
    if (r->momentum && ((r->o->checkpoint && !r->clients) || r->o->skip_nonfinite))
        enough = enough && (r->momentum_next = calloc(r->size * local, sizeof *r->momentum)) != NULL;
    const size_t scratch = r->problem.model->scratch ? r->problem.model->scratch(&r->problem) : 0;
    for (unsigned l = 0; r->lanes && r->scratch && l < r->lane_count; l++) {
        r->lanes[l].gradient = calloc(r->size, sizeof(double));
        r->lanes[l].iterate = calloc(r->size, sizeof(double));
        r->scratch[l] = r->lanes[l].scratch = calloc(scratch ? scratch : 1, 1);
        enough = enough && r->lanes[l].gradient && r->lanes[l].iterate && r->lanes[l].scratch;
    }
    if (!enough || !r->x || !r->averaged || !r->losses || !r->gradients || !r->update || !r->lanes ||
        !r->scratch)
        return ti_fail(error, TITHE_E_MEMORY, 0,
                       "There is not enough memory for %zu workers with %zu numbers each.", local, r->size);
    return TITHE_OK;
}

static tithe_status expect_sense(const tithe_train_options *o, tithe_error *error)
{
    if (o->workers < 1 || o->workers > 100000)
        return ti_fail(error, TITHE_E_ARGUMENT, 0, "`workers` takes 1 to 100000, not %u.", o->workers);
    if (o->clients > o->workers)
        return ti_fail(error, TITHE_E_ARGUMENT, 0,
                       "`clients` takes at most the %u workers that there are, not %u.", o->workers,
                       o->clients);
    if (!(o->momentum >= 0 && o->momentum < 1))
        return ti_fail(error, TITHE_E_ARGUMENT, 0, "`momentum` takes a number from 0 to below 1, not %g.",
                       o->momentum);
    if (o->exact && o->no_optimum)
        return ti_fail(error, TITHE_E_ARGUMENT, 0,
                       "`exact` looks for the minimum, and `no-optimum` does not: take one.");
    if (!(o->epochs >= 0) || !isfinite(o->epochs))
        return ti_fail(error, TITHE_E_ARGUMENT, 0, "`epochs` takes a positive number, not %g.", o->epochs);
    return TITHE_OK;
}

/* --batch is older than minibatch:batch=, and means the same; who has no batch has never minded it. */
static tithe_status find_estimator(run *r, tithe_error *error)
{
    static const char batch[] = "batch";
    char text[24];
    tithe_status status = tithe_estimator_find(r->o->estimator, &r->estimator, r->estimator_params, error);
    if (status) return status;
    const tithe_estimator *e = r->estimator;
    snprintf(text, sizeof text, "%zu", r->o->batch);
    if (r->o->batch && ti_spec_find(e->params, batch) >= 0)
        status = ti_spec_shorthand(e->name, e->params, batch, text, r->estimator_params, error);
    ti_spec_defaults(e->params, r->estimator_params);
    return status;
}

/* What the options name, as far as it needs neither data nor codecs. */
static tithe_status find_method(run *r, tithe_error *error)
{
    tithe_status status = find_estimator(r, error);
    if (!status) status = tithe_sampling_find(r->o->sampling, &r->sampling, NULL, error);
    if (!status) status = tithe_average_find(r->o->average, &r->average.kind, NULL, error);
    if (!status) status = ti_steps_read(r->o->step_size, &r->steps, error);
    return status;
}

tithe_status tithe_train_check(const tithe_train_options *options, tithe_error *error)
{
    tithe_train_options o;
    tithe_status status = ti_train_options_take(options, &o, error);
    if (status) return status;
    ti_options_complete(&o, tithe_train_option_table());
    run r = {.o = &o};
    const tithe_model *model;
    double params[TITHE_MAX_PARAMS];
    status = expect_sense(&o, error);
    if (!status) status = ti_run_codecs(&r, error);
    if (!status) status = tithe_model_find(o.model, &model, params, error);
    if (!status) status = find_method(&r, error);
    ti_run_free(&r);
    return status;
}

static void fill_facts(run *r)
{
    tithe_train_facts *f = &r->facts;
    const tithe_train_options chosen = ti_run_resolved(r);
    f->data = r->share;
    f->problem = &r->problem;
    f->constants = r->constants;
    f->optimum = r->optimum.certified ? r->optimum.loss : NAN;
    f->optimum_slack = r->optimum.certified ? r->optimum.slack : NAN;
    f->estimator = chosen.estimator;
    snprintf(f->feedback, sizeof f->feedback, "%s", chosen.feedback);
    f->scheme = chosen.scheme;
    f->collective = chosen.collective;
    snprintf(f->tuner, sizeof f->tuner, "%s", chosen.tuner);
    f->transport = r->comm->transport ? r->comm->transport->name : "inproc";
    f->cost_unit = tithe_cost_unit(r->costs[0]);
    f->rows = r->share->total_rows;
    f->features = r->share->features;
    f->workers = chosen.workers;
    f->seed = chosen.seed;
    f->l2 = r->set_up.cut ? NAN : r->problem.l2;
    snprintf(f->data_name, sizeof f->data_name, "%s", r->share->name);
    snprintf(f->model, sizeof f->model, "%s", r->problem.spec);
    snprintf(f->codec, sizeof f->codec, "%s", chosen.codec);
    const tithe_codec *back = r->exchange->config.downlink; /* given, or the scheme's own choice */
    snprintf(f->downlink, sizeof f->downlink, "%s", back ? tithe_codec_spec(back) : "");
    snprintf(f->cost, sizeof f->cost, "%s", tithe_cost_spec(r->costs[0]));
    f->raw_bytes = r->exchange->raw_bytes;
    f->buckets = tithe_exchange_buckets(r->exchange);
    tithe_steering now = {.size = sizeof now};
    if (tithe_exchange_steering(r->exchange, &now)) f->settings = now.settings;
}

/* No loss is below 0, and none below its minimum where that is known. */
static tithe_status expect_targets(const run *r, tithe_error *error)
{
    const double target = r->o->target_loss,
                 least = r->optimum.certified ? r->optimum.loss - r->optimum.slack : 0;
    if (!isnan(r->o->target_gap) && !r->optimum.certified)
        return ti_fail(error, TITHE_E_SPEC, 0,
                       "`target-gap` needs a minimum that is known: take a convex model and `l2` above 0, or "
                       "`target-loss`.");
    if (target < least)
        return ti_fail(error, TITHE_E_SPEC, 0,
                       "`target-loss` %g is out of reach: no loss here is below %.9g.", target, least);
    return TITHE_OK;
}

/* From the handshake to the numbers that steps are made of. */
static tithe_status prepare_steps(run *r, const tithe_data *all, tithe_error *error)
{
    tithe_status status = ti_run_agree(r, error);
    if (r->problem.model->start) r->problem.model->start(&r->problem, r->o->seed, r->x);
    if (!status) status = ti_run_set_up(r, all, error);
    if (!status) status = ti_control_start(r->exchange, error);
    if (!status && ti_control_estimate(r->exchange)) r->link = ti_control_estimate(r->exchange);
    if (!status) status = ti_checkpoint_expect(r, error);
    if (!status && !r->stop.stopped) status = expect_targets(r, error);
    if (!status) status = choose_step(r, error);
    if (!status) status = ti_restart_open(r, error);
    if (!status) status = ti_trial_open(r, error);
    if (status) return status;
    r->first_loss = tithe_problem_loss(&r->problem, r->pool, r->x, NULL, NULL);
    if (isnan(r->first_loss) && run_is_remote(r))
        return ti_fail(error, TITHE_E_PEER, 0, "Another process failed before the first step.");
    r->facts.bound_step_size = NAN;
    make_theory(r);
    const double eta =
        r->theory.holds ? r->theory.eta : fmin(r->steps.start * r->problem.l2 / 2, r->facts.unified.rho / 4);
    status = ti_average_make(r->average.kind, r->size, eta, &r->average, error);
    if (!status) fill_facts(r);
    return status;
}

/* The first setting at once, so that nobody looks for one. */
static tithe_status read_replay(run *r, tithe_error *error)
{
    if (!r->exchange->control)
        return ti_fail(error, TITHE_E_SPEC, 0,
                       "`replay` takes the place of a tuner that steers: take `tuner=auto`, not %s.",
                       r->methods.tuner_spec);
    size_t place;
    tithe_status status = ti_replay_read(r->o->replay, &r->replay, error);
    for (size_t i = 0; i < r->replay.count && !status; i++) /* found out now, and not at its step */
        status = ti_control_find(r->exchange, r->replay.all[i].options, &place, error);
    return status ? status : ti_replay_step(&r->replay, r->exchange, 0, error);
}

static tithe_status prepare_with(run *r, tithe_data **all, tithe_error *error)
{
    r->comm = r->o->comm;
    tithe_status status = expect_sense(r->o, error);
    if (!status && !r->comm) {
        status = tithe_comm_local(r->o->workers, &r->own, error);
        r->comm = r->own;
    }
    if (status) return status;
    if (!status) status = ti_checkpoint_begin(r, error);
    if (!status) status = ti_run_codecs(r, error); /* cheap, and most mistakes are made there */
    if (!status) status = find_method(r, error);
    if (!status) status = ti_checkpoint_expect_early(r, error);
    if (!status && r->o->network) {
        status = ti_network_read(r->o->network, &r->clock.network, error);
        if (!status && run_is_remote(r))
            status = ti_fail(error, TITHE_E_SPEC, 0,
                             "`network` computes a network; over a real transport there is one already.");
    }
    if (!status) status = tithe_pool_create(r->o->threads, &r->pool, error);
    if (!status) status = open_data(r, all, error);
    if (status) return status;
    r->size = r->problem.size;
    const unsigned threads = tithe_pool_threads(r->pool);
    r->lane_count = threads < r->share->local ? threads : r->share->local;
    status = make_room(r, error);
    if (!status) status = ti_run_exchange(r, r->size, error);
    if (!status && r->o->replay) status = read_replay(r, error);
    if (!status) status = make_estimate(r, error);
    return status ? status : prepare_steps(r, *all, error);
}

tithe_status ti_run_prepare(run *r, tithe_error *error)
{
    tithe_data *all = NULL;
    const double start = clock_now();
    tithe_status status = prepare_with(r, &all, error);
    tithe_data_free(all);
    if (!status) status = ti_comm_sent(r->comm, &r->set_up.sent, error);
    r->set_up.seconds = clock_now() - start;
    return status;
}

void ti_run_free(run *r)
{
    for (unsigned l = 0; r->lanes && l < r->lane_count; l++) {
        free(r->lanes[l].gradient);
        free(r->lanes[l].iterate);
        free(r->lanes[l].scratch);
    }
    tithe_exchange_free(r->exchange);
    ti_exchange_methods_free(&r->methods);
    for (size_t i = 0; i < r->cost_count; i++) tithe_cost_free(r->costs[i]);
    free(r->costs);
    free(r->rank_costs);
    free(r->clients);
    free(r->active);
    if (r->estimator && r->estimator->close) r->estimator->close(&r->estimate);
    ti_sampling_free(&r->estimate.rows);
    ti_average_free(&r->average);
    ti_restart_close(r);
    ti_description_free(&r->files);
    ti_network_free(&r->clock.network);
    ti_replay_free(&r->replay);
    ti_trial_close(r);
    free(r->x);
    free(r->averaged);
    free(r->losses);
    free(r->gradients);
    free(r->momentum);
    free(r->momentum_next);
    ti_checkpoint_close(&r->file.source);
    free(r->file.resumed);
    free(r->update);
    free(r->lanes);
    free(r->scratch);
    tithe_data_free(r->share);
    tithe_pool_free(r->pool);
    tithe_comm_free(r->own);
}
