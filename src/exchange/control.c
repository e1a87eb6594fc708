/* control.c - see control.h.
 *
 * Now and then, after a step, all ranks add up what they saw (one short all-reduce), and each of them asks the tuner. What it
 * sees is the same on all ranks, to the bit, so all of them choose the same setting for the next step and nobody has to be
 * told. That they do is checked by the same sum. */
#include "exchange/control.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/root.h"
#include "base/sized.h"
#include "base/spec.h"
#include "coll/coll.h"
#include "exchange/options.h"

static const double MOVED = 0.1; /* of the time of a step: a link that is another one */

/* ---- what things take ------------------------------------------------------------------------------------- */

/* Without a link all steps take as long as their bytes would on a fast one: the order of the settings is that of their bytes. */
void ti_control_price(exchange_control *c)
{
    static const tithe_link fast = {.latency = 1e-5, .bandwidth = 1.25e9};
    const tithe_link *link = ti_link_is_known(&c->link) ? &c->link : &fast;
    for (size_t i = 0; i < c->settings.count; i++) {
        const tithe_setting *s = &c->settings.all[i];
        const double bandwidth = ti_control_bandwidth(c, s, link->bandwidth);
        const double transfer = s->rounds * link->latency + s->bytes / bandwidth;
        c->seconds[i] = c->compute + c->slow * s->codec + c->right * transfer;
        if (ti_setting_is_out(s, c->lost)) c->seconds[i] = INFINITY;
    }
}

/* ---- a decision ------------------------------------------------------------------------------------------- */

tithe_status ti_control_take(tithe_exchange *ex, size_t place, const char *reason, tithe_error *error)
{
    exchange_control *c = ex->control;
    const tithe_status status = tithe_exchange_change(ex, c->settings.all[place].options, error);
    if (status) return status;
    ti_control_claim(c, place);
    c->now = place;
    c->timed_all = c->timed = 0;
    c->changes += ex->step > 0; /* before, it was none that a step was made with */
    snprintf(c->reason, sizeof c->reason, "%s", reason);
    return TITHE_OK;
}

/* Link than the one that was decided on last. */
static bool is_another(const exchange_control *c)
{
    return !(fabs(c->link.latency - c->view.latency) <= MOVED * c->view.latency) ||
           !(fabs(c->link.bandwidth - c->view.bandwidth) <= MOVED * c->view.bandwidth);
}

static tithe_status decide(tithe_exchange *ex, tithe_error *error)
{
    exchange_control *c = ex->control;
    tithe_order order = {.take = c->now};
    ti_control_price(c);
    c->view.another = is_another(c);
    c->view.step = ex->step;
    c->view.now = c->now;
    c->view.latency = c->link.latency;
    c->view.bandwidth = c->link.bandwidth;
    c->tuner->steer(c->state, &c->view, &order);
    c->settled = order.settled;
    c->tries_again = false;
    const bool fresh = c->view.fresh;
    c->view.fresh = c->view.misled = false;
    const bool stays =
        order.take >= c->settings.count || (c->decided && order.take == c->now && order.trial == c->trial);
    if (order.trial != c->trial) ti_trials_change(ex, order.trial);
    if (stays && ex->step == 0) snprintf(c->reason, sizeof c->reason, "%s", order.reason);
    const tithe_status status = stays ? TITHE_OK : ti_control_take(ex, order.take, order.reason, error);
    c->decided = true;
    c->decided_on = c->seconds[c->now];
    /* A link that comes and goes does not put off what ranks have to see; who asks for so many steps with a setting gets them. */
    ti_control_plan(ex, order.look, !fresh && ex->step > 0 && (stays || !order.look));
    return status;
}

/* ---- a check-in ------------------------------------------------------------------------------------------- */

static double dot(const float *a, const float *b)
{
    double sum = 0;
    for (unsigned i = 0; i < SKETCH; i++) sum += (double)a[i] * (double)b[i];
    return sum;
}

/* What all of them saw: false, if it makes no sense. */
static bool understand(const tithe_exchange *ex, const float *all, tithe_view *view)
{
    const double ranks = (double)all[SEEN_RANKS];
    const float *sketches = all + SEEN_SKETCHES;
    for (unsigned i = 0; i < SEEN; i++)
        if (!isfinite(all[i])) return false;
    if (ranks != ex->config.comm->size) return false; /* some skipped the step */
    view->spread = (double)all[SEEN_SPREAD] / ranks;
    view->spread_kept = (double)all[SEEN_SPREAD_KEPT] / ranks;
    view->gain = (double)all[SEEN_GAIN] / ranks;
    view->descent = ex->control->since ? (double)all[SEEN_DESCENT] / ranks : NAN;
    view->behind = dot(sketches, sketches + SKETCH) / (ranks * ranks);
    view->behind_error =
        sqrt(dot(sketches, sketches) * dot(sketches + SKETCH, sketches + SKETCH) / SKETCH) / (ranks * ranks);
    return true;
}

static tithe_status expect_agreement(const tithe_exchange *ex, const float *all, tithe_error *error)
{
    if ((double)all[SEEN_SETTING] == (double)all[SEEN_RANKS] * (double)ex->control->now) return TITHE_OK;
    return ti_fail(error, TITHE_E_MISMATCH, 0, "The ranks do not agree on how to make a step.");
}

static tithe_status check_in(tithe_exchange *ex, tithe_error *error)
{
    exchange_control *c = ex->control;
    tithe_comm *comm = ex->config.comm;
    const uint64_t sent = comm->sent_bytes, messages = comm->sent_messages;
    for (unsigned i = 0; i < comm->local; i++)
        if (ex->workers[i].was_put || ex->buckets) ti_control_tell(ex, i);
    comm->phase = "choosing how to make a step";
    tithe_status status = tithe_all_reduce(comm, ti_control_collective(), c->seen, SEEN, c->scratch, error);
    comm->phase = NULL;
    ex->totals.sent_bytes += (double)(comm->sent_bytes - sent);
    ex->totals.sent_messages += (double)(comm->sent_messages - messages);
    if (!status && understand(ex, c->ranks[0].seen, &c->view)) {
        status = expect_agreement(ex, c->ranks[0].seen, error);
        c->view.fresh = true;
    }
    if (!status && ti_control_watches(c))
        status = ti_control_watch(ex, error);
    else if (!status && c->live)
        ti_control_learn(ex, (double)c->ranks[0].seen[SEEN_SECONDS] / comm->size,
                         (double)c->ranks[0].seen[SEEN_CODEC] / comm->size);
    c->since = c->timed = c->gains = 0;
    c->gain = 0;
    c->checked = c->looked = true;
    c->spent += ti_control_cost(ex);
    for (unsigned i = 0; i < comm->local; i++) c->ranks[i] = (control_rank){0};
    return status ? status : decide(ex, error);
}

static tithe_status look_at_link(tithe_exchange *ex, tithe_error *error)
{
    const tithe_status status = ti_control_watch(ex, error);
    ti_control_plan_watch(ex);
    return status ? status : ti_control_reconsider(ex, error);
}

/* Of a step, but not what was added up before it. */
static void forget_step(exchange_control *c, unsigned local)
{
    for (unsigned i = 0; i < local; i++) c->ranks[i] = (control_rank){.descent = c->ranks[i].descent};
}

void ti_control_skip(tithe_exchange *ex)
{
    exchange_control *c = ex->control;
    if (c->step == c->next) c->next = ex->step;
    if (c->step == c->watch) c->watch = ex->step;
    c->checked = c->stepped = false;
    c->step = ex->step;
    c->left = 0; /* a step that is given up takes another time than one that is taken */
    forget_step(c, ex->config.comm->local);
}

void ti_control_let_go(tithe_exchange *ex, bool lets_go)
{
    for (unsigned p = 0; p < ti_exchange_parts(ex); p++) ti_exchange_part(ex, p)->lets_go = lets_go;
}

/* The step went nowhere, and the next one takes whatever is best without a switch. */
static tithe_status lose_switch(tithe_exchange *ex, tithe_error *error)
{
    exchange_control *c = ex->control;
    c->lost = true;
    memset(c->so_far, 0, c->settings.count * sizeof *c->so_far); /* what could be had was another list */
    const tithe_status status = decide(ex, error);
    snprintf(c->reason, sizeof c->reason, "%s, " TITHE_SWITCH_LOST, ex->config.comm->lost_as);
    return status;
}

tithe_status ti_control_after(tithe_exchange *ex, const float *update, tithe_error *error)
{
    exchange_control *c = ex->control;
    if (ex->config.comm->lost && !c->lost && !c->follows) {
        ti_control_skip(ex); /* of a step that went nowhere nothing is learned */
        return lose_switch(ex, error);
    }
    const bool due = c->step == c->next, watches = c->step == c->watch;
    if (c->live) ti_control_time(ex);
    c->took += c->seconds[c->now];
    for (size_t i = 0; i < c->settings.count; i++) c->so_far[i] += c->seconds[i];
    c->checked = false;
    if (c->stepped) c->since++;
    if (ex->last.kept >= 0) {
        c->gain += ex->last.kept;
        c->gains++;
    }
    for (unsigned i = 0; i < ex->config.comm->local; i++) {
        c->ranks[i].descent += c->ranks[i].gained;
        c->ranks[i].gained = 0;
    }
    tithe_status status = TITHE_OK;
    if (due)
        status = check_in(ex, error);
    else if (watches)
        status = look_at_link(ex, error);
    if (c->left > 0 && (due || watches)) c->left = clock_now(); /* that was no part of a step */
    c->step = ex->step;
    ti_control_remember(ex, update);
    return status;
}

/* ---- opening and closing ---------------------------------------------------------------------------------- */

void ti_control_close(exchange_control *c)
{
    if (!c) return;
    if (c->tuner->close && c->state) c->tuner->close(c->state);
    ti_settings_free(&c->settings);
    ti_trials_close(c);
    free(c->seconds);
    free(c->so_far);
    free(c->before);
    free(c->ranks);
    free(c->seen);
    free(c);
}

static bool make_room(const tithe_exchange *ex, exchange_control *c)
{
    bool enough = true;
    const unsigned local = ex->config.comm->local;
    c->seconds = exchange_room(c->settings.count, sizeof *c->seconds, &enough);
    c->so_far = exchange_room(c->settings.count, sizeof *c->so_far, &enough);
    c->before = exchange_room(ex->n, sizeof *c->before, &enough);
    c->ranks = exchange_room(local, sizeof *c->ranks, &enough);
    c->seen = exchange_room(local, sizeof *c->seen, &enough);
    for (unsigned i = 0; enough && i < local; i++) c->seen[i] = c->ranks[i].seen;
    return enough;
}

static bool decays(const tithe_exchange_config *config)
{
    double params[TITHE_MAX_PARAMS];
    if (!config->feedback || !config->feedback->decay || !config->feedback_params) return false;
    memcpy(params, config->feedback_params, sizeof params);
    ti_spec_defaults(config->feedback->params, params);
    return config->feedback->decay(params) != 1;
}

/* A scheme that there is, without parameters: those are for the tuner to choose. */
static tithe_status refuse_scheme(const char *spec, tithe_error *error)
{
    const tithe_scheme *scheme;
    double stated[TITHE_MAX_PARAMS];
    if (!spec || strcmp(spec, "auto") == 0) return TITHE_OK;
    const tithe_status status = tithe_scheme_find(spec, &scheme, stated, error);
    for (unsigned i = 0; !status && scheme->params && scheme->params[i].name; i++)
        if (!isnan(stated[i]))
            return ti_fail(error, TITHE_E_SPEC, 0,
                           "A tuner that steers chooses `%s`, too: take `scheme=%s` alone.",
                           scheme->params[i].name, scheme->name);
    return status;
}

tithe_status ti_control_refuse(const tithe_exchange_config *config, tithe_error *error)
{
    const char *why = NULL;
    const tithe_status status = refuse_scheme(config->scheme, error);
    if (status) return status;
    if (config->feedback && config->feedback->keeps && !config->feedback->scaled) why = STEERED_KEEPS;
    if (!why && decays(config))
        why = "A tuner that steers lets nothing that is late fade: take `feedback=ec`, or leave it out.";
    if (!why && config->leader) why = "A tuner that steers chooses the leader, too: leave `leader` out.";
    if (!why && config->downlink)
        why = "A tuner that steers chooses the way back, too: leave `downlink` out.";
    if (!why && config->shared_level)
        why = "A tuner that steers has one level for all ranks: leave `level` out.";
    if (!why && config->taking_part && config->taking_part < config->comm->size)
        why = "A tuner that steers needs every rank in every step: leave `clients` out.";
    if (!why && config->deterministic && config->comm->local < config->comm->size)
        why = "`deterministic` refuses a tuner that steers by what steps take: over a computed network it "
              "does not.";
    if (!why && config->tuner->explores && !config->restores)
        why = "This tuner makes trials and goes back to the model before them: `tithe train` does, other "
              "callers "
              "take `tuner=auto`.";
    if (!why && config->tuner->refuse) why = config->tuner->refuse(config->codec);
    return why ? ti_fail(error, TITHE_E_SPEC, 0, "%s", why) : TITHE_OK;
}

/* Levels, as the tuner's parameters say. */
static setting_range range_of(const tithe_tuner *tuner, const double *own)
{
    const int low = ti_spec_find(tuner->params, "low"), high = ti_spec_find(tuner->params, "high"),
              factor = ti_spec_find(tuner->params, "factor");
    const double halves = 2;
    return (setting_range){.low = low < 0 ? 0 : own[low],
                           .high = high < 0 ? 1 : own[high],
                           .factor =
                               tuner->rungs && factor >= 0 ? root_of(own[factor], tuner->rungs) : halves,
                           .shares_alone = tuner->rungs > 0};
}

tithe_status ti_control_open(tithe_exchange *ex, const tithe_exchange_config *config, tithe_error *error)
{
    const tithe_tuner *tuner = config->tuner;
    exchange_control *c = calloc(1, sizeof *c);
    double own[TITHE_MAX_PARAMS];
    if (!c) return ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory to choose settings.");
    ti_exchange_tuner_params(config, own);
    c->tuner = tuner;
    c->link = (tithe_link){.latency = NAN, .bandwidth = NAN};
    c->right = c->slow = 1;
    c->watch = UINT32_MAX;
    tithe_status status = tuner->open ? tuner->open(config->codec, ex->n, own, &c->state, error) : TITHE_OK;
    const setting_range range = range_of(tuner, own);
    if (!status) status = ti_settings_make(ex, config, &range, &c->settings, error);
    if (!status && !make_room(ex, c))
        status = ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory to choose settings.");
    if (status) {
        ti_control_close(c);
        return status;
    }
    c->view = (tithe_view){.n = ex->n,
                           .ranks = ex->config.comm->size,
                           .settings = c->settings.all,
                           .count = c->settings.count,
                           .seconds = c->seconds,
                           .momentum = ex->config.momentum > 0,
                           .spread = NAN,
                           .spread_kept = NAN,
                           .descent = NAN,
                           .behind = NAN,
                           .behind_error = NAN};
    ex->control = c;
    status = tuner->explores ? ti_trials_open(ex, error) : TITHE_OK;
    if (!status) status = decide(ex, error);
    if (!status) ti_control_let_go(ex, true); /* settings without a switch are at hand */
    return status;
}

bool tithe_exchange_steering(const tithe_exchange *ex, tithe_steering *now)
{
    const exchange_control *c = ex->control;
    if (!c) return false;
    sized_copy(now, &(tithe_steering){.size = sizeof *now,
                                      .options = c->settings.all[c->now].options,
                                      .reason = c->reason,
                                      .changes = c->changes,
                                      .settings = (unsigned)c->settings.count,
                                      .trial = c->trial});
    return true;
}

bool tithe_exchange_hindsight(const tithe_exchange *ex, char *options, size_t room)
{
    const exchange_control *c = ex->control;
    if (!c || c->follows || !c->tuner->hindsight || !ex->step) return false;
    tithe_view view = c->view;
    view.step = ex->step;
    view.seconds = c->so_far;
    snprintf(options, room, "%s", c->settings.all[c->tuner->hindsight(c->state, &view)].options);
    return true;
}

/* The link may be told before the first step, and whenever it changes. */
tithe_status tithe_exchange_tell_link(tithe_exchange *ex, const tithe_link *link, double compute,
                                      tithe_error *error)
{
    if (!ex->control || ex->control->follows) return TITHE_OK;
    ex->control->told = true;
    ex->control->watch = UINT32_MAX;
    return ti_control_link(ex, link, compute, error);
}

tithe_status ti_control_link(tithe_exchange *ex, const tithe_link *link, double compute, tithe_error *error)
{
    exchange_control *c = ex->control;
    if (!ti_link_is_known(link)) return TITHE_OK;
    c->link = *link;
    if (!c->live) c->compute = compute;
    return ti_control_reconsider(ex, error);
}

tithe_status ti_control_reconsider(tithe_exchange *ex, tithe_error *error)
{
    exchange_control *c = ex->control;
    const double before = c->decided_on;
    ti_control_price(c);
    const double moved = before > 0 ? c->seconds[c->now] / before : INFINITY;
    const bool much = moved > 1 + MOVED || moved < 1 - MOVED || (c->tuner->explores && is_another(c));
    /* otherwise it has time until the next check-in */
    return much || c->view.misled || ex->step == 0 || c->tries_again ? decide(ex, error) : TITHE_OK;
}
