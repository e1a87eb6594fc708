/* leaf.c - an exchange that sends its vector whole: gradients are put, a scheme moves them, the update comes out. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "coll/coll.h"
#include "exchange/shards.h"
#include "kernels/kernels.h"

/* ---- gradients in ---------------------------------------------------------------------------------------- */

/* A block that stays in the caches from the look at it to the copy. */
enum { BLOCK = 1 << 13 };

/* What was kept before, in units of the update, goes with the gradient. */
static tithe_status pay(exchange_worker *w, double gamma, float *x, size_t n, tithe_error *error)
{
    for (size_t i = 0; i < n; i++) x[i] += (float)((double)w->residual[i] / gamma);
    const size_t bad = ti_kernels()->find_nonfinite(x, n);
    if (bad < n)
        return ti_fail(error, TITHE_E_RANGE, bad, "The gradient and what was kept are %g.", (double)x[bad]);
    if (n) memset(w->residual, 0, n * sizeof *w->residual);
    w->owes = false;
    return TITHE_OK;
}

/* A whole gradient counts as one raw frame, which is not written. Where it stays and is only read, or is to become the update itself,
 * it is not copied either, and looked at when its pieces leave. */
static tithe_status put_whole(tithe_exchange *ex, exchange_worker *w, const float *g, double gamma,
                              tithe_error *error)
{
    const bool spares = !w->owes && ti_coll_spares(ex->config.comm, ex->collective, ex->n);
    float *to = g == ex->in_place ? ex->in_place : ex->vectors[w - ex->workers];
    w->g = ex->config.stays && spares ? g : to;
    for (size_t first = 0; first < ex->n && !(spares && w->g == g); first += BLOCK) {
        const size_t length = ex->n - first < BLOCK ? ex->n - first : BLOCK;
        if (ti_kernels()->find_nonfinite(g + first, length) < length)
            return ti_exchange_expect_finite(g, ex->n, error);
        if (w->g != g) memcpy(to + first, g + first, length * sizeof *g);
    }
    const tithe_status status = w->owes ? pay(w, gamma, to, ex->n, error) : TITHE_OK;
    if (status) return status;
    w->info = (tithe_frame_info){.bytes = ex->raw_bytes,
                                 .entries = ex->n,
                                 .paper_bits = tithe_codec_paper_bits(ex->config.codec, ex->n, ex->n)};
    if (ex->config.measure) w->energy = w->sent = ti_kernels()->sum_squares(w->g, ex->n);
    w->unsent = 0;
    return TITHE_OK;
}

/* e + gamma g, which may be too large for a number where neither of them is. */
static tithe_status form_whole(tithe_exchange *ex, exchange_worker *w, const tithe_feedback_call *c,
                               tithe_error *error)
{
    const float *x = ex->up.feedback->form(c);
    const size_t bad = ti_kernels()->find_nonfinite(x, ex->n);
    if (bad < ex->n)
        return ti_fail(error, isfinite(c->g[bad]) ? TITHE_E_RANGE : TITHE_E_NONFINITE, bad,
                       "The gradient holds %g.", (double)c->g[bad]);
    if (ex->vectors && ex->n) /* x may be the caller's */
        memcpy(ex->vectors[w - ex->workers], x, ex->n * sizeof *x);
    if (ex->config.measure) w->energy = ti_kernels()->sum_squares(x, ex->n);
    return TITHE_OK;
}

/* For those who make their messages later: of the vector that is formed, or of a level that all share. */
static tithe_status put_formed(tithe_exchange *ex, exchange_worker *w, const tithe_call *call,
                               exchange_lane *lane, const float *g, double gamma, tithe_error *error)
{
    const tithe_feedback_call c = ti_exchange_feedback_call(&ex->up, w, call, lane, g, gamma);
    const float *x;
    if (ex->scheme->forms) return form_whole(ex, w, &c, error);
    const tithe_status status = ti_exchange_form(&ex->up, w, &c, ex->config.measure, &x, error);
    return status ? status : ti_exchange_curve(ex, w, lane, x, g, gamma, error);
}

/* What was not sent fades before the gradient is added. A step that is refused finds it as it was. */
static void decay_residual(tithe_exchange *ex, exchange_worker *w)
{
    if (!ex->scheme->whole || w->owes) ti_refusal_keep(&w->before, w->residual, 0, ex->n, ex->step);
    if (!w->residual || ex->decay == 1) return;
    for (size_t i = 0; i < ex->n; i++) w->residual[i] *= ex->decay;
}

/* Feedback, level and frame, as far as the scheme wants them now. */
static tithe_status take_up(tithe_exchange *ex, exchange_worker *w, exchange_lane *l, tithe_call *call,
                            const float *g, double gamma, tithe_error *error)
{
    if (ex->scheme->whole) return put_whole(ex, w, g, gamma, error);
    if (ex->scheme->cuts) return ti_shards_put(ex, w, l, g, gamma, call->pool, error);
    if (ex->scheme->forms || ex->config.shared_level) return put_formed(ex, w, call, l, g, gamma, error);
    return ti_exchange_compress(&ex->up, w, l, call, g, gamma, ex->config.measure, error);
}

static tithe_status put(tithe_exchange *ex, unsigned rank, unsigned lane, const float *g, double gamma,
                        tithe_error *error)
{
    const double start = clock_now();
    exchange_worker *w = &ex->workers[rank - ex->config.comm->first];
    exchange_lane *l = &ex->lanes[lane];
    tithe_call call = ti_exchange_call(ex, rank, l->scratch, ex->up.scratch_size);
    tithe_error why = {0};
    (void)error; /* what is wrong with g is said to all ranks, by finish */
    if (ex->lane_count == 1 || ex->config.comm->local == 1)
        call.pool = ex->put_pool; /* nobody else uses it now */
    w->reason = "";
    w->refusal = (exchange_refusal){0};
    decay_residual(ex, w);
    const tithe_status status = take_up(ex, w, l, &call, g, gamma, &why);
    if (status) ti_refusal_put(ex, w, ti_refusal_of(rank, false, status, &why));
    w->state = WORKER_PUT;
    w->gamma = gamma;
    l->seconds += clock_now() - start;
    return TITHE_OK;
}

static tithe_status put_layer(tithe_exchange *ex, unsigned rank, unsigned lane, size_t layer, const float *g,
                              double gamma, tithe_error *error)
{
    if (ex->config.layer_count <= 1) return put(ex, rank, lane, g, gamma, error);
    return ti_fail(error, TITHE_E_ARGUMENT, layer,
                   "Layers come one by one only where there are buckets: set bucket_bytes.");
}

static tithe_status skip(tithe_exchange *ex, unsigned rank, double gamma, tithe_error *error)
{
    (void)error;
    const unsigned local = rank - ex->config.comm->first;
    ex->workers[local].state = WORKER_SKIPS;
    ex->workers[local].gamma = gamma;
    ex->workers[local].g = ex->vectors ? ex->vectors[local] : NULL;
    if (ex->vectors) memset(ex->vectors[local], 0, ex->n * sizeof(float));
    return TITHE_OK;
}

/* ---- update out ------------------------------------------------------------------------------------------ */

/* All ranks are there, and agree on gamma. */
static tithe_status expect_everybody(tithe_exchange *ex, tithe_error *error)
{
    const tithe_comm *comm = ex->config.comm;
    const exchange_worker *first = ex->workers;
    for (unsigned i = 0; i < comm->local; i++) {
        const exchange_worker *w = &ex->workers[i];
        if (w->state == WORKER_IDLE)
            return ti_fail(error, TITHE_E_ARGUMENT, i, "Rank %u was neither put nor skipped.",
                           comm->first + i);
        if (w->gamma != first->gamma)
            return ti_fail(error, TITHE_E_ARGUMENT, i, "Rank %u has step size %g, another one %g.",
                           comm->first + i, w->gamma, first->gamma);
    }
    if (!ti_exchange_put_here(ex) && !exchange_is_remote(ex))
        return ti_fail(error, TITHE_E_ARGUMENT, 0, "No rank takes part in this step.");
    if (comm->local) ex->gamma = first->gamma;
    return TITHE_OK;
}

/* Under feedback that aggregates, the update is that of all messages so far. */
static void add_to_aggregate(tithe_exchange *ex, float *update)
{
    if (ex->aggregate) ti_refusal_keep(&ex->aggregate_before, ex->aggregate, 0, ex->n, ex->step);
    for (size_t i = 0; ex->aggregate && i < ex->n; i++) {
        ex->aggregate[i] += update[i];
        update[i] = (float)(ex->gamma * (double)ex->aggregate[i]);
    }
}

static void begin_step(tithe_exchange *ex)
{
    ex->refusal = (exchange_refusal){0};
    if (!ex->learned_before) return;
    tithe_exchange_learned(ex, ex->learned_before);
    ex->learned_at = ex->step;
}

static void end_step(tithe_exchange *ex)
{
    const double share = (double)ti_exchange_put_here(ex) / ti_exchange_taking_part(ex);
    for (unsigned i = 0; i < ex->config.comm->local; i++) {
        ex->workers[i].was_put = ex->workers[i].state == WORKER_PUT;
        ex->workers[i].state = WORKER_IDLE;
    }
    ti_exchange_record(ex);
    ex->totals.unsent += share * ex->last.unsent;
    for (unsigned l = 0; l < ex->lane_count; l++) {
        ex->totals.encode += ex->lanes[l].seconds / ex->lane_count;
        ex->lanes[l].seconds = 0;
    }
    ex->step++;
}

/* Let the tuner look back on the step, and do as it says. */
static tithe_status tell_tuner(tithe_exchange *ex, double sent, double seconds, tithe_error *error)
{
    const tithe_tuner *tuner = ex->up.tuner;
    if (!tuner->after) return TITHE_OK;
    const tithe_tuner_step seen = {.step = ex->step - 1,
                                   .entries = ex->last.level,
                                   .energy = ex->last.energy,
                                   .unsent = ex->last.unsent,
                                   .sent_bytes = sent,
                                   .seconds = seconds,
                                   .scheme = ex->last.scheme,
                                   .collective = ex->last.collective};
    tithe_tuner_plan plan = {0};
    tuner->after(ex->up.tuner_state, &seen, &plan);
    if (plan.scheme) return tithe_exchange_switch_scheme(ex, plan.scheme, plan.collective, error);
    return plan.collective ? tithe_exchange_switch(ex, plan.collective, error) : TITHE_OK;
}

tithe_status ti_exchange_run(tithe_exchange *ex, float *update, tithe_error *error)
{
    tithe_comm *comm = ex->config.comm;
    begin_step(ex);
    tithe_status status = expect_everybody(ex, error);
    if (!status && ex->config.shared_level) status = ti_exchange_share_level(ex, error);
    if (status) return status;
    const double start = clock_now(), waited = comm->waited;
    const uint64_t sent = comm->sent_bytes, messages = comm->sent_messages;
    const double busy = ex->totals.encode + ex->totals.decode;
    comm->phase = "exchanging gradients";
    comm->seen.together = false; /* ranks have computed since (comm.h) */
    ex->shape.collective = ex->collective;
    ex->last.leader = -1; /* unless the scheme says who */
    status = ex->scheme->run(ex, update, error);
    if (status) ti_comm_flush(comm, NULL); /* nobody reads any more what may be freed now */
    comm->phase = NULL;
    if (status) return status;
    ex->totals.sent_bytes += (double)(comm->sent_bytes - sent); /* others may use the ranks too */
    ex->totals.sent_messages += (double)(comm->sent_messages - messages);
    ex->totals.wait += comm->waited - waited;
    ex->totals.transfer +=
        clock_now() - start - (comm->waited - waited) - (ex->totals.encode + ex->totals.decode - busy);
    if (ex->refusal.code) return TITHE_OK;
    ex->stepped = (exchange_stepped){ex->scheme, ex->shape};
    add_to_aggregate(ex, update);
    ti_exchange_learn(ex, update);
    end_step(ex);
    return tell_tuner(ex, (double)(comm->sent_bytes - sent), clock_now() - start, error);
}

static tithe_status finish(tithe_exchange *ex, float *update, tithe_error *error)
{
    const tithe_status status = ti_exchange_run(ex, update, error);
    if (status || !ex->refusal.code) return status;
    ti_refusal_drop(ex, ex->step);
    return ti_refusal_end(ex, update, error);
}

/* A server has no gradient of its own, and goes on whatever its ranks think of theirs. */
static tithe_status serve(tithe_exchange *ex, tithe_error *error)
{
    begin_step(ex);
    ex->config.comm->phase = "collecting gradients";
    const tithe_status status = ex->scheme->run(ex, NULL, error);
    if (status) ti_comm_flush(ex->config.comm, NULL);
    ex->config.comm->phase = NULL;
    if (status) return status;
    if (ex->refusal.code)
        ti_refusal_drop(ex, ex->step);
    else
        ex->step++;
    return TITHE_OK;
}

/* ---- memory ---------------------------------------------------------------------------------------------- */

static void close_lane(exchange_lane *lane)
{
    free(lane->scratch);
    free(lane->tuner_scratch);
    free(lane->levels);
    free(lane->work);
}

static void close(tithe_exchange *ex)
{
    if (ex->scheme->close) ex->scheme->close(ex);
    if (ex->up.tuner && ex->up.tuner->close && ex->up.tuner_state) ex->up.tuner->close(ex->up.tuner_state);
    for (unsigned i = 0; ex->workers && i < ex->config.comm->local; i++) {
        free(ex->workers[i].frame);
        free(ex->workers[i].curve);
        free(ex->workers[i].costs);
        free(ex->workers[i].before.numbers);
        ti_late_close(&ex->workers[i].late);
    }
    for (unsigned i = 0; ex->vectors && i < ex->config.comm->local; i++) free(ex->vectors[i]);
    for (unsigned l = 0; ex->lanes && l < ex->lane_count; l++) close_lane(&ex->lanes[l]);
    close_lane(&ex->server_lane);
    free(ex->server.frame);
    free(ex->server.before.numbers);
    free(ex->aggregate_before.numbers);
    free(ex->learned_before);
    tithe_codec_free(ex->raw);
    free(ex->vectors);
    free(ex->lanes);
    free(ex->sum);
    free(ex->inbox);
    free(ex->blocks);
    free(ex->lengths);
    free(ex->length_bytes);
}

static unsigned parts(const tithe_exchange *ex)
{
    (void)ex;
    return 1;
}

static tithe_exchange *part(const tithe_exchange *ex, unsigned i)
{
    (void)i;
    return (tithe_exchange *)ex;
}

const exchange_kind ti_exchange_leaf = {
    .put = put,
    .put_layer = put_layer,
    .skip = skip,
    .finish = finish,
    .serve = serve,
    .close = close,
    .parts = parts,
    .part = part,
};
