/* train.c - one training run, from options to a result. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "codec/codec.h"
#include "comm/comm.h"
#include "comm/link_estimate.h"
#include "exchange/exchange.h"
#include "learn/checkpoint.h"
#include "learn/run_options.h"

/* A run has to end some time. */
static void default_end(tithe_train_options *o)
{
    const bool target = !isnan(o->target_loss) || !isnan(o->target_gap);
    const tithe_estimator *e = NULL;
    const bool full = !tithe_estimator_find(o->estimator, &e, NULL, NULL) && !e->samples;
    if (o->steps || o->epochs > 0) return;
    if (full)
        o->steps = target ? 100000 : 100;
    else
        o->epochs = target ? 1000 : 30;
}

/* How many times the steps of dense messages the codec may take, with the worst vector and `entries` of its entries. */
static double worst_slowdown(const run *r, double entries)
{
    const tithe_codec *codec = r->methods.codec;
    const bool counts = codec->selector->source != TITHE_INDICES_ALL && !codec->selector->absolute;
    const tithe_codec at = ti_codec_at(codec, counts && !codec->has_level ? entries : 0);
    const tithe_claims claims = ti_codec_claims(&at, r->size);
    if (claims.traits & TITHE_UNBIASED) return 1 + claims.omega;
    return claims.traits & TITHE_CONTRACTIVE ? 1 / claims.delta : (double)r->size / entries;
}

/* What the theory says of the gap that was reached (the target's, if there was one). */
static tithe_complexity complexity_of(const run *r)
{
    const double target = r->o->target_gap, gap = isnan(target) ? r->last.gap : target;
    const double L = r->constants.L + r->problem.model->penalty_curvature * r->problem.l2;
    const double start = r->first_loss - r->facts.optimum;
    const double measured = r->sums.measured > 0 ? r->sums.measured : NAN;
    const double slowdown = r->sums.kept > 0 ? measured / r->sums.kept : NAN;
    /* what was drawn may be a little worse than the worst that is expected */
    const double factors[] = {1, slowdown,
                              slowdown + fmax(0, worst_slowdown(r, r->sums.level / measured) - slowdown)};
    tithe_complexity c = {.gap = gap > 0 ? gap : NAN};
    for (int i = 0; i < 3; i++) {
        c.strongly_convex[i] = factors[i] * L / r->problem.l2 * log(start / c.gap);
        c.convex[i] = factors[i] * 2 * L * r->distance / c.gap;
        c.nonconvex[i] = factors[i] * 2 * L * start / c.gap;
    }
    return c;
}

static void fill_result(const run *r, tithe_train_result *result)
{
    result->steps = r->step;
    result->stopped = r->stop.stopped;
    result->last = r->last;
    const bool target = !isnan(r->o->target_loss) || !isnan(r->o->target_gap);
    result->target = !target ? TITHE_NO_TARGET : r->reached ? TITHE_TARGET_REACHED : TITHE_TARGET_MISSED;
    const double measured = r->sums.measured > 0 ? r->sums.measured : NAN;
    result->kept_mean = r->sums.kept / measured;
    result->kept_least = r->sums.measured > 0 ? r->sums.kept_least : NAN;
    result->speedup_mean = r->sums.speedup / measured;
    result->speedup_least = r->sums.measured > 0 ? r->sums.speedup_least : NAN;
    result->residual_max = isnan(r->threshold) || !r->methods.feedback->scaled ? NAN : r->sums.residual_max;
    result->restarts = r->restart.count;
    result->link = r->link->now;
    result->probe_bytes = tithe_link_probe_bytes(r->link);
    result->facts = r->facts;
    result->facts.data = NULL;
    result->facts.problem = NULL;
    result->complexity = complexity_of(r);
    tithe_steering now = {.size = sizeof now};
    if (tithe_exchange_steering(r->exchange, &now)) {
        snprintf(result->setting, sizeof result->setting, "%s", now.options);
        snprintf(result->facts.codec, sizeof result->facts.codec, "%s",
                 tithe_codec_spec(r->exchange->config.codec));
        result->facts.scheme = r->exchange->scheme->name;
        result->facts.collective = r->exchange->collective_name;
        result->changes = now.changes;
        tithe_exchange_hindsight(r->exchange, result->hindsight, sizeof result->hindsight);
    }
    snprintf(result->model_hash, sizeof result->model_hash, "%016llx",
             (unsigned long long)hash_doubles(0, r->x, r->size));
    if (result->x)
        memcpy(result->x, r->x, (r->size < result->x_room ? r->size : result->x_room) * sizeof *r->x);
}

/* What each process has seen of its own workers, put together; then the server may go. */
static tithe_status end_together(run *r, tithe_error *error)
{
    double sums[] = {r->sums.measured, r->sums.level, r->sums.kept, r->sums.speedup};
    double max[] = {-r->sums.kept_least, -r->sums.speedup_least, r->sums.residual_max};
    tithe_status status = ti_comm_fold(r->comm, COMM_SUM, sums, 4, error);
    if (!status) status = ti_comm_fold(r->comm, COMM_MAX, max, 3, error);
    if (!status) status = ti_link_meet(r->comm, r->link, NULL, 0, true, error);
    if (!status) status = ti_comm_dismiss_server(r->comm, error);
    r->sums.measured = sums[0];
    r->sums.level = sums[1];
    r->sums.kept = sums[2];
    r->sums.speedup = sums[3];
    r->sums.kept_least = -max[0];
    r->sums.speedup_least = -max[1];
    r->sums.residual_max = max[2];
    return status;
}

/* What a lost process does to a sum looks like something else: the loss is no number, say. */
static tithe_status blame(const run *r, tithe_status status, tithe_error *error)
{
    if (!status || !r->comm || !r->comm->failed.code) return status;
    *error = r->comm->failed;
    return error->code;
}

tithe_status tithe_train_run(const tithe_train_options *options, tithe_train_result *result,
                             tithe_error *error)
{
    if (!result) return ti_fail(error, TITHE_E_ARGUMENT, 0, "A place for the result is needed.");
    tithe_train_options o;
    tithe_status status = ti_train_options_take(options, &o, error);
    if (status) return status;
    ti_options_complete(&o, tithe_train_option_table());
    default_end(&o);
    run r = {.o = &o, .own_link = ti_link_start()};
    r.link = &r.own_link;
    double *x = result->x;
    const size_t room = result->x_room;
    *result = (tithe_train_result){.x = x, .x_room = room};
    tithe_error own = {0};
    if (!error) error = &own;
    status = ti_run_prepare(&r, error);
    if (!status) {
        if (o.begin) o.begin(o.context, &r.facts);
        status = ti_run_loop(&r, error); /* whoever was stopped by now still gets a record of the start */
        status = blame(&r, status, error);
        if (!status)
            status = ti_checkpoint_save(
                &r, error); /* of one that diverged on the way, the one before is worth more */
        if (!status) status = ti_run_judge(&r, error);
        if (!status || status == TITHE_E_DIVERGED) {
            const tithe_status ended = end_together(&r, error);
            if (ended) status = ended;
        }
        fill_result(&r, result);
    }
    status = blame(&r, status, error);
    if (status && status != TITHE_E_DIVERGED && r.comm) tithe_comm_give_up(r.comm, error->text);
    ti_run_free(&r);
    return status;
}
