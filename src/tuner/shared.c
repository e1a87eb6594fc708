/* shared.c - one level for all workers: the curves of all of them, on one grid (tuner.h says which and why). */
#include <math.h>

#include "base/status.h"
#include "tuner/late.h"
#include "tuner/search.h"

enum { EVERY = 16 /* levels up to this are all on the grid; then steps of 1/EVERY */ };

/* ---- the grid ------------------------------------------------------------------------------------------------ */

/* The last level in [from, to] that costs what `from` does. Below n a cost never falls. */
static double last_of_cost(const cat_search *s, double from, double to)
{
    const double cost = ti_search_cost(s, from);
    while (from < to) {
        const double middle = ceil((from + to) / 2);
        if (ti_search_cost(s, middle) == cost)
            from = middle;
        else
            to = middle - 1;
    }
    return from;
}

size_t tithe_tuner_grid(const tithe_tuner_call *c, double *levels, size_t room)
{
    if (ti_progress_refuse(c->codec) || c->codec->selector->absolute || c->n == 0) return 0;
    cat_search s;
    ti_search_start(&s, c);
    if (s.kind == PROGRESS_LEVELS || ti_codec_by_layer(c->codec)) return 0;
    const double n = (double)c->n;
    size_t count = 0;
    for (double level = 1; level < n && count + 1 < room;) {
        const double next = level < EVERY ? level + 1 : floor(level * (EVERY + 1) / EVERY);
        levels[count] = last_of_cost(&s, level, fmin(next, n) - 1);
        level = fmin(next, n);
        count++;
    }
    if (count < room) levels[count++] = n;
    return count;
}

/* ---- the curve of one worker ----------------------------------------------------------------------------------- */

typedef struct curve_call {
    cat_search s;
    ranks r;
    const double *levels;
    size_t count, next; /* levels before `next` are done */
    double *curve;
} curve_call;

static void add_key(top_sums *sums, uint32_t key)
{
    const double a = key_value(key);
    *sums = (top_sums){sums->count + 1, sums->s1 + a, sums->s2 + a * a};
}

static top_sums after_bin(top_sums sums, const rank_bin *bin)
{
    return (top_sums){sums.count + bin->count, sums.s1 + bin->s1, sums.s2 + bin->s2};
}

static double water_progress(const cat_search *s, const top_sums *exact, double budget)
{
    return s->total.s2 * s->total.s2 / water_moment(&s->total, exact, budget);
}

/* The largest level that is settled once the entries of at least `magnitude` are known, which are `sums`. */
static double settled(const cat_search *s, const top_sums *sums, double magnitude)
{
    if (s->kind != PROGRESS_WATER) return sums->count;
    const double rest = s->total.s1 - sums->s1;
    return sums->count + (rest > 0 && magnitude > 0 ? rest / magnitude : 0);
}

/* Set the levels that lie before the next entry, `before` being the entries ahead of it. */
static void set_before(curve_call *c, const top_sums *before, const top_sums *after, double magnitude)
{
    const double end = settled(&c->s, after, magnitude);
    for (; c->next < c->count && c->levels[c->next] <= end; c->next++)
        c->curve[c->next] = c->s.kind == PROGRESS_WATER ? water_progress(&c->s, before, c->levels[c->next])
                                                        : ti_progress_at(&c->s, after);
}

static void walk_keys(curve_call *c, const uint32_t *keys, size_t count, top_sums *sums)
{
    for (size_t i = 0; i < count; i++) {
        const top_sums before = *sums;
        add_key(sums, keys[i]);
        set_before(c, &before, sums, key_value(keys[i]));
    }
}

/* Bins with a level inside have to be looked into. */
static void mark_bins(curve_call *c)
{
    top_sums sums = {0};
    size_t next = 0;
    for (size_t b = FIRST_NONFINITE_BIN; b-- > 0;) {
        rank_bin *bin = &c->r.bins[b];
        if (bin->count == 0) continue;
        sums = after_bin(sums, bin);
        const double end = bin_low(b) > 0 ? settled(&c->s, &sums, bin_low(b)) : sums.count;
        const bool whole = c->s.kind != PROGRESS_WATER && next < c->count && c->levels[next] == end;
        if (next >= c->count || c->levels[next] > end) continue;
        while (next < c->count && c->levels[next] <= end) next++;
        if (whole) continue; /* its end is all that is asked for */
        bin->place = (uint32_t)c->r.kept;
        c->r.kept += bin->count;
    }
}

static void walk_bins(curve_call *c)
{
    top_sums sums = {0};
    mark_bins(c);
    ti_ranks_gather(&c->r);
    for (size_t b = FIRST_NONFINITE_BIN; b-- > 0;) {
        const rank_bin *bin = &c->r.bins[b];
        if (bin->count == 0) continue;
        const top_sums before = sums;
        sums = after_bin(sums, bin);
        if (bin->place != NOT_KEPT) {
            top_sums inside = before;
            walk_keys(c, c->r.keys + bin->place, bin->count, &inside);
            set_before(c, &sums, &sums, bin_low(b)); /* between the last one and the edge of the bin */
        } else if (c->s.kind != PROGRESS_WATER) {
            set_before(c, &before, &sums, bin_low(b));
        }
    }
}

static tithe_status expect_levels(const tithe_tuner_call *c, const double *levels, size_t count,
                                  tithe_error *error)
{
    for (size_t i = 0; i < count; i++)
        if (!(levels[i] >= 1 && levels[i] <= (double)c->n && levels[i] == floor(levels[i])) ||
            (i && !(levels[i] > levels[i - 1])))
            return ti_fail(error, TITHE_E_ARGUMENT, i,
                           "Level %zu is %g: levels are whole, ascend, and end at n.", i, levels[i]);
    return TITHE_OK;
}

tithe_status tithe_tuner_curve(const tithe_tuner_call *call, const double *levels, size_t count,
                               double *curve, double *costs, tithe_error *error)
{
    const char *why = ti_progress_refuse(call->codec);
    if (!why && (call->codec->selector->absolute || ti_codec_by_layer(call->codec) ||
                 ti_progress_kind(call->codec) == PROGRESS_LEVELS))
        why = "Only a number of entries can be shared: use topk without per=layer, mstopk or stochastic.";
    if (why) return ti_fail(error, TITHE_E_SPEC, 0, "%s", why);
    const tithe_status status = expect_levels(call, levels, count, error);
    if (status) return status;
    if (!call->scratch || call->scratch_size < ti_ranks_scratch(call->n))
        return ti_fail(error, TITHE_E_SPACE, call->scratch_size,
                       "The scratch has %zu bytes, but %zu are needed.",
                       call->scratch ? call->scratch_size : 0, ti_ranks_scratch(call->n));
    curve_call c = {.levels = levels, .count = count, .curve = curve};
    ti_search_start(&c.s, call);
    const size_t bad = ti_ranks_count(call, &c.r, &c.s.total);
    if (bad < call->n)
        return ti_fail(error, TITHE_E_NONFINITE, bad, "The vector holds %g at position %zu.",
                       (double)call->x[bad], bad);
    if (c.r.bins) {
        walk_bins(&c);
    } else {
        top_sums sums = {0};
        walk_keys(&c, c.r.keys, c.r.kept, &sums);
    }
    for (; c.next < count; c.next++) { /* more than there are non-zero entries */
        top_sums all = c.s.total;
        all.count = levels[c.next];
        curve[c.next] = c.s.kind == PROGRESS_WATER ? all.s2 : ti_progress_at(&c.s, &all);
    }
    for (size_t i = 0; costs && i < count; i++) costs[i] = ti_search_cost(&c.s, levels[i]);
    return TITHE_OK;
}

size_t tithe_tuner_best(const double *curve, const double *costs, size_t count)
{
    size_t best = 0;
    for (size_t i = 1; i < count; i++)
        if (curve[i] / costs[i] > curve[best] / costs[best] * (1 + CAT_EQUAL)) best = i;
    return best;
}

size_t tithe_tuner_best_late(const double *levels, const double *curve, const double *costs, size_t best,
                             double lost, double least, double before)
{
    if (!(curve[best] > 0) || !(lost > 0)) return best;
    const double rate = curve[best] / costs[best], equal = CAT_EQUAL * curve[best];
    size_t last = best, late = best;
    while (last > 0 && before > 0 && levels[last] > ti_late_max(before)) last--;
    double most = -INFINITY;
    for (size_t i = 0; i <= last; i++) {
        const double value = fmin(lost, 1) * curve[i] - rate * costs[i];
        const bool beyond = before > 0 && levels[i] < fmin(levels[last], ti_late_min(before));
        if (beyond || (i < last && curve[i] < least) || !(value > most + equal)) continue;
        most = value;
        late = i;
    }
    return late;
}
