/* auto.c - the setting that reaches the end soonest: codec, level, scheme and collective at once.
 *
 * Under error compensation what is not sent is late, not lost. With a constant gradient g and T entries a step, entry j goes
 * every theta/|g_j| steps, where theta is such that T of them go in a step, about |g|_1 / T. Weighed by its energy an entry is
 *
 *     tau = |g|_1^2 / (2 T |g|^2)
 *
 * steps old when it goes: half the number of entries that g is made of, over those that are sent. (The vector that is sent from
 * holds what is old besides; the geometric mean of both numbers fits best.) The model is that many steps behind: once, not in
 * every step. So with t(a) the seconds of a step and K steps to go, a run that goes on with setting a takes about
 *
 *     S(a) = t(a) (K + c (tau(a) - tau(now)) + d tau(a)^2 / K)
 *
 * seconds more; the last term is for what goes wrong where the lag is not small beside the way. K is not known: what is to
 * come is taken to be as long as what was, and a little more. With S as flat as it is near its least, that does.
 *
 * Why c is below 1: a component of the model that decays as x' = -a x does so faster if it is late, at the rate a (1 + a tau) for small a tau, since
 * it is moved by gradients that are older and larger. So a lag that costs tau steps once gains tau for each factor e that the gradient falls by, and
 * c = 1 - (ln |g| now - ln |g| at the end). |g| falls like a power of the number of steps, and the power is that of a
 * line through the descents that were seen, which have the step size in them: where they stay as they are, c is 1. One that is not positive
 * starts a new line, and until three lie on that c is at its least. Below that it does not go, since what lag gains was seen to come late or never.
 *
 * How far the model really is behind can be measured: <g, e> is the loss that would be gained at once if nothing was kept, and
 * over the loss that a step gains it is a number of steps. Divided by tau it is m, by which all tau are multiplied. Where the
 * loss falls less because of what is late, m grows until more is sent. A measurement counts as far as it is sure. While nobody
 * can be sure that steps gain anything m does not fall, and grows to 4 at most: of a quotient whose denominator is lost in the noise,
 * what is sure is that it is not small, but not how large it is. Where descents are noise nothing shows what lag gains or costs either,
 * so one that is long beside the way costs more; and mini-batches took a fifth more steps with each level of top-k from 1 to 10 %, so
 * a small gain is none (docs/pytorch.md). With momentum <g_t, u_(t-1)> is below 0 for most of a run in which the loss falls: m stays
 * 1, and what waits costs that fifth, whatever its lag, as long as that is short beside the way. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ln.h"
#include "base/status.h"
#include "tuner/search.h"

enum { LOW, HIGH };
static const tithe_param params[] = {
    [LOW] = {.name = "low",
             .doc = "lowest share of the numbers that may be sent (under momentum, if nothing is said: "
                    "0.01); 1 (and high=1): all of them, in every step",
             .fallback = 1e-5,
             .min = 1e-9,
             .max = 1},
    [HIGH] = {.name = "high",
              .doc = "highest share, short of all of them",
              .fallback = 0.25,
              .min = 1e-9,
              .max = 1},
    {.name = NULL},
};

static const double AHEAD = 40, /* steps that are always to come */
    PRICE = 0.25,               /* c: steps that one step of lag costs at least, */
    FLOOR = 0.05,               /* d: and what its square does, over the steps to come, */
    FLOOR_IN_NOISE = 0.5,       /* and where nobody can see what lag gains */
    IN_NOISE =
        0.2,     /* steps more that all takes there, and with momentum, which waits, however little of it */
    SOON = 0.5,  /* share of the way after which what is late must be ahead of dense */
    STAY = 0.05, /* what another setting must gain, */
    STAY_LINK = 0.15, /* if a link seems to be another one, which is known less well, */
    STAY_MAX = 0.4,   /* and after many changes, each of which doubles it */
    RESTLESS_MAX = 4, /* of these count, */
    FORGETS = 100,    /* steps after which that is forgotten */
    EVEN = 0.01,      /* what is no difference, */
    ALL = 0.03,       /* and what it is worth to send all numbers, and to send them as they are */
    GUESS = 0.1,      /* share of its entries that a gradient is made of, before anybody has looked */
    NEWEST = 0.3,     /* weight of what was seen last */
    M_MIN = 0.25, M_IN_NOISE = 4, M_MAX = 100;

enum { LINE = 6 };

/* What was seen, smoothed over check-ins. */
typedef struct auto_state {
    double seen; /* check-ins so far */
    /* and squares of how far off they are */
    double descent, descent_error, behind, behind_error;
    double expected; /* lag at the same time, before m */
    double m;
    double line[LINE]; /* sums of 1, x, y, xx, xy and yy: x = ln(step), y = ln |g| */
    double restless,
        changed; /* how often the link made it change its mind, lately, and in which step it did last */
} auto_state;

static tithe_status open(const tithe_codec *codec, size_t n, const double *values, void **state,
                         tithe_error *error)
{
    (void)codec, (void)n;
    if (values[LOW] > values[HIGH])
        return ti_fail(error, TITHE_E_SPEC, 0, "auto:low=%g is above high=%g: take a lower one.", values[LOW],
                       values[HIGH]);
    auto_state *s = calloc(1, sizeof *s);
    if (!s) return ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory for a tuner.");
    s->m = 1;
    *state = s;
    return TITHE_OK;
}

/* ---- how late things are ---------------------------------------------------------------------------------- */

/* Steps that the model is behind under a setting, before m. */
static double expected_lag(const tithe_view *v, const tithe_setting *a)
{
    const double spread = isnan(v->spread) ? GUESS * (double)v->n : sqrt(v->spread * v->spread_kept);
    const double entries = fmax(1, a->keep * (double)v->n);
    return a->lag + a->waits * spread / (2 * entries);
}

static double lag_of(const auto_state *s, const tithe_view *v, size_t place)
{
    return s->m * expected_lag(v, &v->settings[place]);
}

static double squared(double x)
{
    return x * x;
}

/* The slope of ln |g| over ln(step), and how far off it is: a line through what was seen, the newest weighing most. */
static void learn_fall(auto_state *s, const tithe_view *v)
{
    if (!(v->descent > 0)) { /* noise */
        memset(s->line, 0, sizeof s->line);
        return;
    }
    const double x = ln_of(v->step), y = ln_of(v->descent) / 2; /* which is that of |g|^2 */
    const double here[LINE] = {1, x, y, x * x, x * y, y * y};
    for (size_t i = 0; i < LINE; i++) s->line[i] = (1 - NEWEST) * s->line[i] + here[i];
}

/* Gradients fell, or stayed, over a few check-ins in a row. */
static bool has_line(const auto_state *s)
{
    return s->line[0] >= 2; /* three of them */
}

static bool in_noise(const auto_state *s)
{
    return s->seen >= 3 && !has_line(s);
}

/* Steps that a step of this lag costs. What it gains, it gains once the way is longer than the lag. */
static double price_of(const auto_state *s, const tithe_view *v, double lag, double ahead)
{
    const double n = s->line[0];
    if (v->momentum) return 0;
    if (!has_line(s)) return PRICE;
    const double x = s->line[1] / n, y = s->line[2] / n, xx = s->line[3] / n - x * x,
                 xy = s->line[4] / n - x * y, yy = s->line[5] / n - y * y;
    if (!(xx > 0)) return PRICE;
    const double power = fmax(0, -xy / xx), error = fmax(0, yy - xy * xy / xx) / (n * xx);
    const double way = fmax(0, ln_of((v->step + ahead) / fmax(1, fmax(v->step, power * lag))));
    const double price = 1 - power * way;
    return PRICE + fmax(0, price - PRICE) / (1 + 4 * error * way * way);
}

/* What its square costs, over the steps to come. */
static double floor_of(const auto_state *s, const tithe_view *v)
{
    return in_noise(s) && !v->momentum ? FLOOR_IN_NOISE : FLOOR;
}

static void learn(auto_state *s, const tithe_view *v)
{
    if (isnan(v->descent) || isnan(v->behind)) return;
    learn_fall(s, v);
    const double w = fmax(NEWEST, 1 / (1 + s->seen)), off = v->descent - s->descent;
    s->seen += 1;
    s->descent += w * off;
    s->descent_error += w * (off * off - s->descent_error);
    s->behind += w * (v->behind - s->behind);
    s->behind_error += w * (squared(v->behind_error) - s->behind_error);
    s->expected += w * (expected_lag(v, &v->settings[v->now]) - s->expected);
    if (v->momentum || !(s->expected > 0.5) || s->seen < 2) return; /* too little is late to be measured */
    const double independent = w / (2 - w); /* the share of one in the error of a smoothed mean */
    const double doubt =
        independent * (s->behind_error / squared(s->behind) + s->descent_error / squared(s->descent));
    double m = 1;
    if (s->descent > 0)
        m = fmin(M_MAX, fmax(s->behind, 0) / s->descent / s->expected);
    else if (s->behind > 0)
        m = M_MAX; /* nothing is gained while something waits */
    const double was = s->m;
    s->m = fmax(M_MIN, 1 + (m - 1) / (1 + 4 * doubt));
    const bool gains = s->descent > sqrt(independent * s->descent_error); /* for all that is known */
    if (!gains) s->m = fmax(was, fmin(s->m, M_IN_NOISE));
}

/* ---- the choice ------------------------------------------------------------------------------------------- */

/* Steps to go, how many the model is behind, and the seconds of a dense step over its cheapest collective. */
typedef struct way {
    double ahead, behind, dense;
} way;

static way way_of(const tithe_view *v, double ahead, double behind)
{
    way w = {.ahead = ahead, .behind = behind, .dense = INFINITY};
    for (size_t i = 0; i < v->count; i++)
        if (v->settings[i].whole) w.dense = fmin(w.dense, v->seconds[i]);
    return w;
}

static bool sends_all(const tithe_view *v, size_t place)
{
    return !(v->settings[place].waits > 0);
}

/* Ahead of dense soon, even if a step of lag costs a whole one: it costs at once, and what it gains comes late. */
static bool pays_soon(const tithe_view *v, size_t place, double lag, const way *w)
{
    const double steps = SOON * w->ahead;
    return sends_all(v, place) || v->seconds[place] * (steps + lag - w->behind) <= w->dense * steps;
}

/* Seconds of a step, as they count. */
static double seconds_of(const tithe_view *v, size_t place)
{
    return v->seconds[place] * (sends_all(v, place) ? 1 - ALL : 1);
}

/* Seconds to the end, if this setting is taken. */
static double seconds_to_go(const auto_state *s, const tithe_view *v, size_t place, const way *w)
{
    const double lag = lag_of(s, v, place);
    if (!pays_soon(v, place, lag, w)) return INFINITY;
    const bool all = sends_all(v, place), blind = v->momentum || in_noise(s);
    const double price = price_of(s, v, lag, w->ahead), floor = floor_of(s, v);
    const double steps =
        fmax(w->ahead + price * (lag - w->behind), w->ahead / 4) + floor * lag * lag / w->ahead;
    return seconds_of(v, place) * steps * (blind && !all ? 1 + IN_NOISE : 1);
}

/* Of settings that send all numbers and are about even, the one that is least late: that is known less well than what a step takes. */
static size_t soonest(const auto_state *s, const tithe_view *v, const way *w)
{
    size_t best = 0;
    double least = INFINITY, lag = INFINITY;
    for (size_t i = 0; i < v->count; i++) {
        const double here = seconds_to_go(s, v, i, w);
        if (here < least) best = i;
        least = fmin(least, here);
    }
    for (size_t i = 0; i < v->count && sends_all(v, best); i++) {
        const double here = seconds_to_go(s, v, i, w), late = lag_of(s, v, i);
        const double even = v->settings[i].whole ? ALL : EVEN;
        if (!sends_all(v, i) || here > (1 + even) * least) continue;
        if (late > lag || (late == lag && here >= seconds_to_go(s, v, best, w))) continue;
        best = i;
        lag = late;
    }
    return best;
}

/* Would nothing else be taken even if nothing was late? Where all numbers are sent nobody looks how late they are: with 4 bits, the
 * fewest there are, steps were as many as with 32 (docs/pytorch.md), and a look costs more than it could show. */
static bool is_settled(const auto_state *s, const tithe_view *v, size_t place)
{
    if (!sends_all(v, place) && !(lag_of(s, v, place) < 1)) return false;
    for (size_t i = 0; i < v->count; i++)
        if (seconds_of(v, i) < (1 - STAY) * seconds_of(v, place)) return false;
    return true;
}

static void explain(const auto_state *s, const tithe_view *v, double behind, tithe_order *order)
{
    const char *why = v->step == 0  ? "the first step"
                      : v->misled   ? "the link is slower than it seemed"
                      : v->fresh    ? "what ranks saw"
                      : !v->another ? "steps take another time"
                                    : "another link";
    const double now = 1e3 * v->seconds[order->take], before = 1e3 * v->seconds[v->now];
    const double lag = lag_of(s, v, order->take);
    if (v->step == 0)
        snprintf(order->reason, sizeof order->reason, "%s: %.3g ms a step, about %.2g steps late", why, now,
                 lag);
    else
        snprintf(order->reason, sizeof order->reason,
                 "%s: %.3g ms a step in place of %.3g, and %.2g steps late in place of %.2g", why, now,
                 before, lag, behind);
}

/* What another setting must gain now: a network that moves to and fro around a point where two are even does not make it do so. */
static double worth(const auto_state *s, const tithe_view *v)
{
    const double since = v->step - s->changed, left = fmax(0, s->restless - since / FORGETS);
    double gain = STAY_LINK;
    if (v->misled) return 0; /* that it was taken was a mistake */
    if (v->fresh) return STAY;
    for (unsigned i = 1; i <= fmin(left, RESTLESS_MAX); i++) gain *= 2;
    return fmin(gain, STAY_MAX);
}

static void note_change(auto_state *s, const tithe_view *v)
{
    s->restless = fmin(RESTLESS_MAX, fmax(0, s->restless - (v->step - s->changed) / FORGETS) + 1);
    s->changed = v->step;
}

static void steer(void *state, const tithe_view *v, tithe_order *order)
{
    auto_state *s = state;
    if (v->step > 0 && v->fresh) learn(s, v);
    const way w = way_of(v, v->step + AHEAD, v->step > 0 ? lag_of(s, v, v->now) : 0);
    const size_t best = soonest(s, v, &w);
    const bool first = v->step == 0;
    if (first || seconds_to_go(s, v, best, &w) < (1 - worth(s, v)) * seconds_to_go(s, v, v->now, &w)) {
        order->take = best;
        if (!first && !v->fresh) note_change(s, v);
        explain(s, v, w.behind, order);
    }
    order->settled = is_settled(s, v, order->take);
}

static size_t hindsight(const void *state, const tithe_view *v)
{
    const way w = way_of(v, fmax(1, v->step), 0);
    return soonest(state, v, &w);
}

/* ---- all of it ---------------------------------------------------------------------------------------------- */

static size_t scratch(const tithe_codec *codec, size_t n)
{
    (void)codec, (void)n;
    return 0;
}

enum { SAVED = sizeof(auto_state) / sizeof(double) };

static size_t save(const void *state, double *numbers)
{
    const auto_state *s = state;
    const double all[SAVED] = {s->seen,     s->descent, s->descent_error, s->behind,  s->behind_error,
                               s->expected, s->m,       s->restless,      s->changed, s->line[0],
                               s->line[1],  s->line[2], s->line[3],       s->line[4], s->line[5]};
    for (size_t i = 0; numbers && i < SAVED; i++) numbers[i] = all[i];
    return SAVED;
}

static void load(void *state, const double *numbers)
{
    *(auto_state *)state =
        (auto_state){.seen = numbers[0],
                     .descent = numbers[1],
                     .descent_error = numbers[2],
                     .behind = numbers[3],
                     .behind_error = numbers[4],
                     .expected = numbers[5],
                     .m = numbers[6],
                     .restless = numbers[7],
                     .changed = numbers[8],
                     .line = {numbers[9], numbers[10], numbers[11], numbers[12], numbers[13], numbers[14]}};
}

const tithe_tuner ti_tuner_auto = {
    .name = "auto",
    .summary = "codec, level, scheme and collective that reach the end soonest on the link as it is",
    .params = params,
    .scratch = scratch,
    .open = open,
    .close = free,
    .steer = steer,
    .hindsight = hindsight,
    .save = save,
    .load = load,
};
