/* control_due.c - what a check-in takes, and when the next one is due: they are paid for with a small share of the time. */
#include <math.h>

#include "coll/coll.h"
#include "exchange/control.h"

static const double SHARE = 0.03,  /* of the time so far, */
    SHARE_OF_DENSE = 0.02,         /* and of the time that dense steps would have taken; */
    SHARE_OF_LINK = 0.02;          /* and for looks at the link, of the time so far */
static const double STRANGE = 1.5; /* a bandwidth over another that makes it another link */
enum {
    APART = 5, /* steps between two of them: at least so many, */
    GROWS = 8, /* and one part of all so far, */
    PAYS = 4,  /* and of the fastest setting, that pay for the first; */
    WATCH = 10 /* steps from one look at the link to the next */
};

/* ---- what it takes ------------------------------------------------------------------------------------------ */

const tithe_collective *ti_control_collective(void)
{
    return &ti_coll_direct; /* two rounds, whatever the number of ranks */
}

static double seconds_on(const tithe_exchange *ex, const tithe_link *link)
{
    tithe_rounds rounds;
    tithe_rounds_start(&rounds);
    if (ex->config.comm->size > 1)
        ti_control_collective()->reduce_rounds(ex->config.comm->size, SEEN, &rounds);
    return tithe_rounds_seconds(&rounds, link);
}

double ti_control_seconds(const tithe_exchange *ex, const tithe_link *link)
{
    return ex->control->checked ? seconds_on(ex, link) : 0;
}

double ti_control_cost(const tithe_exchange *ex)
{
    const tithe_link *link = &ex->control->link;
    return ti_link_is_known(link) ? seconds_on(ex, link) : 0;
}

/* ---- when the next one is due ------------------------------------------------------------------------------- */

/* The place of dense over its cheapest collective; as many as there are: nobody sends gradients whole here. */
static size_t place_of_dense(const exchange_control *c)
{
    size_t place = c->settings.count;
    double least = INFINITY;
    for (size_t i = 0; i < c->settings.count; i++) {
        if (!c->settings.all[i].whole || !(c->seconds[i] < least)) continue;
        place = i;
        least = c->seconds[i];
    }
    return place;
}

/* Steps of so many seconds until `spent` is no more than a share of them and those before. */
static double steps_until(double spent, double share, double so_far, double seconds)
{
    return fmin((spent / share - so_far) / (seconds > 0 ? seconds : 1), 1e6);
}

/* Where steps are much faster than dense ones their own time is the limit, and where little is won that of dense is. */
static double steps_to_pay(const exchange_control *c, double cost)
{
    const double own = steps_until(c->spent + cost, SHARE, c->took, c->seconds[c->now]);
    const size_t dense = place_of_dense(c);
    if (dense == c->settings.count) return own;
    return fmax(own, steps_until(c->spent + cost, SHARE_OF_DENSE, c->so_far[dense], c->seconds[dense]));
}

/* Some setting would be so much faster that a few steps of it pay for a look at whether it would do. */
static bool promises_much(const exchange_control *c, double cost)
{
    double least = INFINITY;
    for (size_t i = 0; i < c->settings.count; i++) least = fmin(least, c->seconds[i]);
    return cost > 0 && PAYS * (c->seconds[c->now] - least) > cost;
}

void ti_control_plan(tithe_exchange *ex, unsigned look, bool keeps)
{
    exchange_control *c = ex->control;
    const double grown = (double)ex->step / GROWS, cost = ti_control_cost(ex), paid = steps_to_pay(c, cost);
    const bool watches = ti_control_watches(c);
    const bool curious =
        watches || c->tuner->explores || c->settings.all[c->now].waits > 0 || promises_much(c, cost);
    const double before = keeps && c->next >= ex->step ? (double)c->next + 1 - ex->step : INFINITY;
    double apart = fmax(fmin(fmax(APART, grown), before), paid);
    /* At the start most is to be learned; but where steps are timed the first ones say little. */
    if (!c->looked && curious) apart = fmin(watches ? APART : 2, before);
    if (look) apart = fmin(look, before);
    c->next = c->settled ? UINT32_MAX : ex->step + (uint32_t)apart - 1;
    ti_control_plan_watch(ex);
}

/* ---- and the next look at the link -------------------------------------------------------------------------- */

/* The newest messages saw another link than the last few together, who are believed: the next ones tell whether it is. */
static bool is_in_doubt(const tithe_link_estimate *e)
{
    return e->newest > STRANGE * e->now.bandwidth || STRANGE * e->newest < e->now.bandwidth;
}

void ti_control_plan_watch(tithe_exchange *ex)
{
    exchange_control *c = ex->control;
    const uint32_t before = c->watch;
    c->watch = UINT32_MAX;
    if (!ti_control_watches(c)) return;
    const double cost = ti_link_meet_seconds(ex->config.comm, &c->link),
                 paid = steps_until(c->watched + cost, SHARE_OF_LINK, c->took, c->seconds[c->now]);
    const double doubted = is_in_doubt(&c->estimate) || c->longest.claim > 0 ? STEPS_TRIED : WATCH,
                 kept = before >= ex->step ? (double)before + 1 - ex->step : INFINITY;
    c->watch = ex->step + (uint32_t)fmax(fmin(doubted, kept), paid) - 1;
}
