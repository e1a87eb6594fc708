/* moo.c - how much to send as a choice among three objectives (tyagi2023artopk): the time to compress, the time to synchronise, and
 * 1/gain, with gain the share of the energy that is sent.
 *
 * Candidates from high down to low, each a `factor` below the one before, are tried for a few steps each, from the same model and with the same things kept,
 * and both are put back afterwards. Between them gains are interpolated over log(level); times are those of the live link, for the
 * cheapest scheme and collective at each level. NSGA-II finds the front, and weights choose from it. Gains are explored again when the smoothed gain
 * has moved by a tenth, and the choice is made again when latency or bandwidth have. The first steps are dense. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/status.h"
#include "tuner/pareto.h"
#include "tuner/search.h"

enum { LOW, HIGH, FACTOR, TRIAL, WARMUP, WEIGHT };
static const tithe_param params[] = {
    [LOW] = {.name = "low",
             .doc = "lowest share of the numbers that may be sent",
             .fallback = 1e-3,
             .min = 1e-9,
             .max = 1},
    [HIGH] = {.name = "high", .doc = "highest share", .fallback = 0.1, .min = 1e-9, .max = 1},
    [FACTOR] =
        {.name = "factor", .doc = "from one candidate to the next", .fallback = 3, .min = 1.1, .max = 1000},
    [TRIAL] = {.name = "trial",
               .doc = "steps for which each candidate is tried",
               .fallback = 10,
               .min = 1,
               .max = 1000,
               .whole = true},
    [WARMUP] = {.name = "warmup",
                .doc = "dense steps before that",
                .fallback = 20,
                .min = 0,
                .max = 1e6,
                .whole = true},
    [WEIGHT] = {.name = "time",
                .doc = "weight of the times; that of the gain is the rest",
                .fallback = 0.6,
                .min = 0,
                .max = 1},
    {.name = NULL},
};

enum { RUNGS = 16, MAX_LEVELS = 1024, SEED = 1, LATEST = 3 };
static const double MOVED = 0.1;

typedef enum phase { WARM, EXPLORES, RUNS } phase;

typedef struct moo_state {
    double own[TITHE_MAX_PARAMS];
    double phase, candidate, trials; /* numbers, since they are saved as such */
    double gains[MAX_LEVELS / RUNGS + 1];
    double latency, bandwidth; /* when it chose last */
    double smoothed, base;     /* gain, now and after it chose; NAN: not known */
} moo_state;

/* ---- levels: of each the cheapest setting, in the order of the list, which descends ------------------------------ */

typedef struct level {
    double keep;
    size_t place;           /* of the cheapest setting */
    double codec, transfer; /* seconds of that */
} level;

static size_t find_levels(const tithe_view *v, level *levels)
{
    size_t count = 0;
    for (size_t i = 0; i < v->count; i++) {
        const tithe_setting *s = &v->settings[i];
        if (s->whole) continue;
        size_t at = 0;
        while (at < count && levels[at].keep != s->keep) at++;
        if (at == MAX_LEVELS) continue;
        const bool known = v->latency >= 0 && v->bandwidth > 0;
        const level here = {s->keep, i, s->codec,
                            known ? s->rounds * v->latency + s->bytes / v->bandwidth : s->bytes};
        if (at == count)
            levels[count++] = here;
        else if (v->seconds[i] < v->seconds[levels[at].place])
            levels[at] = here;
    }
    const size_t beyond = count ? (count - 1) % RUNGS : 0; /* the last candidate */
    return beyond < RUNGS / 2 ? count - beyond : count;
}

/* Candidates are each RUNGS-th level, and the last one. */
static size_t candidates_of(size_t levels)
{
    return levels ? (levels - 1 + RUNGS - 1) / RUNGS + 1 : 0;
}

static size_t level_of(size_t levels, size_t candidate)
{
    return candidate * RUNGS < levels ? candidate * RUNGS : levels - 1;
}

/* ---- the choice -------------------------------------------------------------------------------------------------- */

typedef struct objectives {
    const level *levels;
    size_t count;
    const double *gains; /* of candidates */
} objectives;

static double between(double a, double b, double share)
{
    return a + (b - a) * share;
}

static double gain_at(const objectives *o, double x)
{
    const size_t last = candidates_of(o->count) - 1;
    size_t c = (size_t)(x / RUNGS);
    if (c >= last) return o->gains[last];
    const double from = (double)level_of(o->count, c), to = (double)level_of(o->count, c + 1);
    return between(o->gains[c], o->gains[c + 1], (x - from) / (to - from));
}

static void value_at(const void *context, double x, double *f)
{
    const objectives *o = context;
    const size_t i = x >= (double)(o->count - 1) ? o->count - 1 : (size_t)x,
                 next = i + 1 < o->count ? i + 1 : i;
    f[0] = between(o->levels[i].codec, o->levels[next].codec, x - (double)i);
    f[1] = between(o->levels[i].transfer, o->levels[next].transfer, x - (double)i);
    f[2] = 1 / fmax(gain_at(o, x), 1e-9);
}

/* Which level: the nearest to the point of the front that the weights choose. */
static size_t solve(const moo_state *s, const level *levels, size_t count)
{
    const objectives o = {levels, count, s->gains};
    const pareto_problem problem = {0, (double)(count - 1), 3, value_at, &o};
    const double weights[] = {s->own[WEIGHT], s->own[WEIGHT], 1 - s->own[WEIGHT]};
    return (size_t)floor(ti_pareto_choose(&problem, SEED, weights) + 0.5);
}

/* ---- what it does when ------------------------------------------------------------------------------------------- */

static tithe_status open(const tithe_codec *codec, size_t n, const double *values, void **state,
                         tithe_error *error)
{
    (void)codec, (void)n;
    if (values[LOW] > values[HIGH])
        return ti_fail(error, TITHE_E_SPEC, 0, "moo:low=%g is above high=%g: take a lower one.", values[LOW],
                       values[HIGH]);
    moo_state *s = calloc(1, sizeof *s);
    if (!s) return ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory for a tuner.");
    for (size_t i = 0; i < TITHE_MAX_PARAMS; i++) s->own[i] = values[i];
    s->smoothed = s->base = NAN;
    *state = s;
    return TITHE_OK;
}

static bool has_moved(double now, double before)
{
    return !(fabs(now - before) <= MOVED * fabs(before));
}

/* Dense over its cheapest collective. */
static void warm_up(const moo_state *s, const tithe_view *v, tithe_order *order)
{
    double least = INFINITY;
    for (size_t i = 0; i < v->count; i++)
        if (v->settings[i].whole && v->seconds[i] < least) {
            least = v->seconds[i];
            order->take = i;
        }
    order->look = (unsigned)s->own[WARMUP] - v->step;
    snprintf(order->reason, sizeof order->reason, "dense for the first %g steps", s->own[WARMUP]);
}

static void try_next(moo_state *s, const level *levels, size_t count, tithe_order *order)
{
    const level *l = &levels[level_of(count, (size_t)s->candidate)];
    s->phase = EXPLORES;
    s->trials++;
    order->take = l->place;
    order->trial = (unsigned)s->trials;
    order->look = (unsigned)s->own[TRIAL];
    snprintf(order->reason, sizeof order->reason, "trial of %.3g of the numbers for %g steps", l->keep,
             s->own[TRIAL]);
}

static void choose(moo_state *s, const tithe_view *v, const level *levels, size_t count, const char *why,
                   tithe_order *order)
{
    const level *l = &levels[solve(s, levels, count)];
    s->phase = RUNS;
    s->latency = v->latency;
    s->bandwidth = v->bandwidth;
    s->smoothed = s->base = NAN;
    order->take = l->place;
    order->look = (unsigned)s->own[TRIAL];
    snprintf(order->reason, sizeof order->reason, "%s: %.3g ms to compress, %.3g ms to synchronise", why,
             1e3 * l->codec, 1e3 * l->transfer);
}

/* A trial is over. */
static void take_gain(moo_state *s, const tithe_view *v, const level *levels, size_t count,
                      tithe_order *order)
{
    s->gains[(size_t)s->candidate] = v->gain > 0 ? v->gain : 1e-9;
    s->candidate++;
    if (s->candidate < (double)candidates_of(count))
        try_next(s, levels, count, order);
    else
        choose(s, v, levels, count, "all candidates were tried", order);
}

static void go_on(moo_state *s, const tithe_view *v, const level *levels, size_t count, tithe_order *order)
{
    order->look = (unsigned)s->own[TRIAL];
    if (v->fresh && v->gain > 0) {
        s->smoothed = isnan(s->smoothed) ? v->gain : s->smoothed + (v->gain - s->smoothed) / LATEST;
        if (isnan(s->base)) s->base = s->smoothed;
        if (has_moved(s->smoothed, s->base)) {
            s->candidate = 0;
            try_next(s, levels, count, order);
            return;
        }
    }
    if (has_moved(v->latency, s->latency) || has_moved(v->bandwidth, s->bandwidth))
        choose(s, v, levels, count, "another link", order);
}

static void steer(void *state, const tithe_view *v, tithe_order *order)
{
    moo_state *s = state;
    level levels[MAX_LEVELS];
    const size_t count = find_levels(v, levels);
    if (count == 0) return; /* nothing but dense */
    if (v->step < s->own[WARMUP] || v->step == 0)
        warm_up(s, v, order);
    else if ((phase)s->phase == WARM)
        try_next(s, levels, count, order);
    else if ((phase)s->phase == EXPLORES && v->fresh)
        take_gain(s, v, levels, count, order);
    else if ((phase)s->phase == EXPLORES) { /* the link may change in a trial; it goes on */
        order->trial = (unsigned)s->trials;
        order->look = (unsigned)s->own[TRIAL];
    } else
        go_on(s, v, levels, count, order);
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

static size_t scratch(const tithe_codec *codec, size_t n)
{
    (void)codec, (void)n;
    return 0;
}

enum { SAVED_FIRST = 7, SAVED = SAVED_FIRST + MAX_LEVELS / RUNGS + 1 };

static size_t save(const void *state, double *numbers)
{
    const moo_state *s = state;
    const double first[SAVED_FIRST] = {s->phase,     s->candidate, s->trials, s->latency,
                                       s->bandwidth, s->smoothed,  s->base};
    for (size_t i = 0; numbers && i < SAVED; i++)
        numbers[i] = i < SAVED_FIRST ? first[i] : s->gains[i - SAVED_FIRST];
    return SAVED;
}

/* Trials that were not finished begin again. */
static void load(void *state, const double *numbers)
{
    moo_state *s = state;
    s->phase = numbers[0] == RUNS ? RUNS : WARM;
    s->candidate = 0;
    s->trials = numbers[2] >= 0 && numbers[2] < 1e9 ? floor(numbers[2]) : 0;
    s->latency = numbers[3];
    s->bandwidth = numbers[4];
    s->smoothed = numbers[5];
    s->base = numbers[6];
    for (size_t i = SAVED_FIRST; i < SAVED; i++)
        s->gains[i - SAVED_FIRST] = numbers[i] > 0 ? numbers[i] : 1e-9;
}

const tithe_tuner ti_tuner_moo = {
    .name = "moo",
    .summary = "level by trials and three objectives, collective by the live cost",
    .paper = "tyagi2023artopk",
    .params = params,
    .scratch = scratch,
    .open = open,
    .close = free,
    .explores = true,
    .rungs = RUNGS,
    .steer = steer,
    .save = save,
    .load = load,
};
