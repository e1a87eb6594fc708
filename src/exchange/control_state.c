/* control_state.c - what a controller knows, as numbers, for a checkpoint; and a setting that somebody else decides on, as one
 * who repeats a run does. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "exchange/control.h"

/* ---- as numbers --------------------------------------------------------------------------------------------- */

/* In the order of the file (docs/checkpoint.md), before the seconds of each setting and the tuner's own. */
enum {
    AT_SETTING,
    AT_SETTINGS, /* how many there are */
    AT_LATENCY,
    AT_BANDWIDTH,
    AT_COMPUTE,
    AT_RIGHT,
    AT_NEXT,
    AT_SINCE,
    AT_SPENT,
    AT_TOOK,
    AT_FLAGS,
    AT_CHANGES,
    AT_SPREAD,
    AT_SPREAD_KEPT,
    AT_DESCENT,
    AT_BEHIND,
    AT_BEHIND_ERROR,
    AT_GAIN,
    AT_GAINS,
    AT_DECIDED_LATENCY, /* the link that was decided on */
    AT_DECIDED_BANDWIDTH,
    AT_SLOW,
    AT_DECIDED_SECONDS, /* and what a step took on it */
    AT_WATCHED,
    FIRST_NUMBERS
};
enum { LOOKED = 1, STEPPED = 2, DECIDED = 4, SETTLED = 8, LOST = 16, TRYING = 32, ALL_FLAGS = 63 };

tithe_status ti_control_agree(tithe_exchange *ex, tithe_error *error)
{
    tithe_comm *comm = ex->config.comm;
    double sum = comm->local * ex->control->gain;
    if (comm->local == comm->size) return TITHE_OK;
    const tithe_status status = ti_comm_fold(comm, COMM_SUM, &sum, 1, error);
    if (!status) ex->control->gain = sum / comm->size;
    return status;
}

size_t ti_control_save(const tithe_exchange *ex, double *numbers)
{
    const exchange_control *c = ex->control;
    const size_t count = c->settings.count, own = c->tuner->save ? c->tuner->save(c->state, NULL) : 0;
    if (!numbers) return FIRST_NUMBERS + count + own;
    const double first[FIRST_NUMBERS] = {
        [AT_SETTING] = (double)c->now,
        [AT_SETTINGS] = (double)count,
        [AT_LATENCY] = c->link.latency,
        [AT_BANDWIDTH] = c->link.bandwidth,
        [AT_COMPUTE] = c->compute,
        [AT_RIGHT] = c->right,
        [AT_NEXT] = c->next,
        [AT_SINCE] = c->since,
        [AT_SPENT] = c->spent,
        [AT_TOOK] = c->took,
        [AT_FLAGS] = (c->looked ? LOOKED : 0) + (c->stepped ? STEPPED : 0) + (c->decided ? DECIDED : 0) +
                     (c->settled ? SETTLED : 0) + (c->lost ? LOST : 0) +
                     (c->trial || c->tries_again ? TRYING : 0),
        [AT_CHANGES] = c->changes - (c->trial != 0), /* one to a trial is made again */
        [AT_SPREAD] = c->view.spread,
        [AT_SPREAD_KEPT] = c->view.spread_kept,
        [AT_DESCENT] = c->view.descent,
        [AT_BEHIND] = c->view.behind,
        [AT_BEHIND_ERROR] = c->view.behind_error,
        [AT_GAIN] = c->gain,
        [AT_GAINS] = c->gains,
        [AT_DECIDED_LATENCY] = c->view.latency,
        [AT_DECIDED_BANDWIDTH] = c->view.bandwidth,
        [AT_SLOW] = c->slow,
        [AT_DECIDED_SECONDS] = c->decided_on,
        [AT_WATCHED] = c->watched,
    };
    memcpy(numbers, first, sizeof first);
    memcpy(numbers + FIRST_NUMBERS, c->so_far, count * sizeof *c->so_far);
    if (own) c->tuner->save(c->state, numbers + FIRST_NUMBERS + count);
    return FIRST_NUMBERS + count + own;
}

static bool is_whole(double x, double most)
{
    return x >= 0 && x <= most && x == floor(x);
}

static bool make_sense(const exchange_control *c, const double *numbers)
{
    const double most = (double)UINT32_MAX;
    return numbers[AT_SETTINGS] == (double)c->settings.count &&
           is_whole(numbers[AT_SETTING], (double)c->settings.count - 1) && is_whole(numbers[AT_NEXT], most) &&
           is_whole(numbers[AT_SINCE], most) && is_whole(numbers[AT_GAINS], most) &&
           isfinite(numbers[AT_GAIN]) && is_whole(numbers[AT_CHANGES], most) &&
           is_whole(numbers[AT_FLAGS], c->tuner->explores ? ALL_FLAGS : TRYING - 1) &&
           numbers[AT_COMPUTE] >= 0 && numbers[AT_SLOW] >= SLOW_MIN && numbers[AT_SLOW] <= SLOW_MAX &&
           numbers[AT_RIGHT] >= 0 && numbers[AT_RIGHT] <= 1 && isfinite(numbers[AT_COMPUTE]) &&
           numbers[AT_DECIDED_SECONDS] >= 0 && isfinite(numbers[AT_DECIDED_SECONDS]) &&
           isfinite(numbers[AT_WATCHED]) && isfinite(numbers[AT_SPENT]) && isfinite(numbers[AT_TOOK]) &&
           !ti_setting_is_out(&c->settings.all[(size_t)numbers[AT_SETTING]],
                              (unsigned)numbers[AT_FLAGS] & LOST);
}

tithe_status ti_control_load(tithe_exchange *ex, const double *numbers, uint32_t step, tithe_error *error)
{
    exchange_control *c = ex->control;
    if (!make_sense(c, numbers))
        return ti_fail(error, TITHE_E_CORRUPT, 0,
                       "What the tuner '%s' had learned makes no sense with its %zu settings.",
                       c->tuner->name, c->settings.count);
    const tithe_status status =
        ti_control_take(ex, (size_t)numbers[AT_SETTING], "as it was at the checkpoint", error);
    if (status) return status;
    const unsigned flags = (unsigned)numbers[AT_FLAGS];
    if (!c->live) /* otherwise it has just been looked at */
        c->link = (tithe_link){.latency = numbers[AT_LATENCY], .bandwidth = numbers[AT_BANDWIDTH]};
    c->decided_on = numbers[AT_DECIDED_SECONDS];
    c->watched = numbers[AT_WATCHED];
    c->compute = numbers[AT_COMPUTE];
    c->right = numbers[AT_RIGHT];
    c->next = (uint32_t)numbers[AT_NEXT];
    c->since = (uint32_t)numbers[AT_SINCE];
    c->spent = numbers[AT_SPENT];
    c->took = numbers[AT_TOOK];
    c->looked = flags & LOOKED;
    c->stepped = flags & STEPPED;
    c->decided = flags & DECIDED;
    c->settled = flags & SETTLED;
    c->lost = flags & LOST;
    c->tries_again = flags & TRYING;
    c->changes = (unsigned)numbers[AT_CHANGES];
    c->view.spread = numbers[AT_SPREAD];
    c->view.spread_kept = numbers[AT_SPREAD_KEPT];
    c->view.descent = numbers[AT_DESCENT];
    c->view.behind = numbers[AT_BEHIND];
    c->view.behind_error = numbers[AT_BEHIND_ERROR];
    c->gain = numbers[AT_GAIN];
    c->gains = (unsigned)numbers[AT_GAINS];
    c->view.latency = numbers[AT_DECIDED_LATENCY];
    c->view.bandwidth = numbers[AT_DECIDED_BANDWIDTH];
    c->slow = numbers[AT_SLOW];
    c->step = c->longest.heeded = step;
    memcpy(c->so_far, numbers + FIRST_NUMBERS, c->settings.count * sizeof *c->so_far);
    if (c->tuner->load) c->tuner->load(c->state, numbers + FIRST_NUMBERS + c->settings.count);
    c->watch = ti_control_watches(c) ? step : UINT32_MAX; /* the first step tells how things are now */
    ti_control_price(c);
    return TITHE_OK;
}

/* ---- somebody else decides ------------------------------------------------------------------------------------- */

tithe_status ti_control_find(const tithe_exchange *ex, const char *options, size_t *place, tithe_error *error)
{
    const setting_list *list = &ex->control->settings;
    for (*place = 0; *place < list->count; ++*place)
        if (strcmp(list->all[*place].options, options) == 0) return TITHE_OK;
    return ti_fail(error, TITHE_E_DATA, 0,
                   "'%.120s' is no setting of this run: replay a trace of the same model, data and workers.",
                   options);
}

tithe_status ti_control_follow(tithe_exchange *ex, const char *options, tithe_error *error)
{
    exchange_control *c = ex->control;
    size_t place;
    const tithe_status status = ti_control_find(ex, options, &place, error);
    if (status) return status;
    if (ti_setting_is_out(&c->settings.all[place], c->lost))
        return ti_fail(error, TITHE_E_DATA, 0,
                       "'%.120s' is for a run that has lost its switch: replay one that has not.", options);
    c->follows = c->settled = true;
    ti_control_let_go(ex, false); /* nobody here could choose another one */
    c->next = c->watch = UINT32_MAX;
    return ti_control_take(ex, place, "replayed", error);
}
