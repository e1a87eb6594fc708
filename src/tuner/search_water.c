/* search_water.c - the budget of stochastic sparsification (SS). Keys: khirirat2021cat, wangni2018.
 *
 * With budget T the optimal probabilities are min(1, |x_i|/M) for one M. As M falls from the largest magnitude to
 * nothing, T = m + (sum of the magnitudes below M) / M rises from |x|_1/max to the number of non-zeros, m being the
 * entries of at least M, which always go. Between two neighbouring magnitudes m stays, and E|C(x)|^2 = S2(m) +
 * rest^2/(T - m) is exact; with an m that is too small the same formula is a lower bound of it, since it lets the
 * entries beyond m have probabilities above 1. So walking down the magnitudes gives stretches of T with a known upper
 * bound of progress, |x|^4 / E|C(x)|^2, which is concave in T. */
#include <math.h>

#include "tuner/search.h"

enum { STRETCH = 32 };

typedef struct water_walk {
    cat_search *s;
    double next; /* the smallest budget that was not looked at */
    top_sums exact;
} water_walk;

static double progress_with(const cat_search *s, const top_sums *exact, double budget)
{
    return s->total.s2 * s->total.s2 / water_moment(&s->total, exact, budget);
}

/* The budget at which M has come down to `magnitude`, if `exact` always go. */
static double budget_at(const cat_search *s, const top_sums *exact, double magnitude)
{
    const double rest = s->total.s1 - exact->s1;
    const double budget = exact->count + (rest > 0 ? rest / magnitude : 0);
    return budget < s->total.count ? budget : s->total.count;
}

/* Progress with these exact entries is (T-m) A/(B (T-m) + C): a tangent lies above it. */
static bool is_worth(const cat_search *s, const top_sums *exact, double first, double last)
{
    const double middle = (first + last) / 2, over = middle - exact->count, rest = s->total.s1 - exact->s1;
    if (!(over > 0)) return true;
    const double bottom = exact->s2 * over + rest * rest, square = s->total.s2 * s->total.s2;
    const double value = square * over / bottom, slope = square * (rest * rest / bottom) / bottom;
    const double max = progress_with(s, exact, last), half = (last - first) / 2 * slope;
    const progress_lines above = {{{value - half, value + half}, {max, max}}};
    return ti_search_worth(s, first, last, &above);
}

static void search_exact(cat_search *s, const top_sums *exact, double first, double last)
{
    if (first > last || s->failed) return;
    ti_search_try(s, first, progress_with(s, exact, first));
    if (last > first) ti_search_try(s, last, progress_with(s, exact, last));
    first++, last--;
    if (first > last || !is_worth(s, exact, first, last)) return;
    const double middle = floor((first + last) / 2);
    search_exact(s, exact, first, middle);
    search_exact(s, exact, middle + 1, last);
}

/* M falls to `magnitude`, and nothing lies on the way. */
static void fall_to(water_walk *w, double magnitude)
{
    const double last = floor(budget_at(w->s, &w->exact, magnitude));
    if (last < w->next) return;
    if (is_worth(w->s, &w->exact, w->next, last)) search_exact(w->s, &w->exact, w->next, last);
    w->next = last + 1;
}

static void add_keys(top_sums *exact, const uint32_t *keys, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const double a = key_value(keys[i]);
        exact->count++;
        exact->s1 += a;
        exact->s2 += a * a;
    }
}

/* M falls past these magnitudes, which descend. */
static void fall_past(water_walk *w, const uint32_t *keys, size_t count)
{
    for (size_t first = 0; first < count; first += STRETCH) {
        const size_t many = count - first < STRETCH ? count - first : STRETCH;
        top_sums after = w->exact;
        add_keys(&after, keys + first, many);
        const double last = floor(budget_at(w->s, &after, key_value(keys[first + many - 1])));
        if (last >= w->next && !is_worth(w->s, &w->exact, w->next, last))
            w->next = last + 1;
        else
            for (size_t i = 0; i < many; i++) {
                fall_to(w, key_value(keys[first + i]));
                add_keys(&w->exact, keys + first + i, 1);
            }
        w->exact = after;
    }
}

static top_sums after_bin(top_sums sums, const rank_bin *bin)
{
    return (top_sums){sums.count + bin->count, sums.s1 + bin->s1, sums.s2 + bin->s2};
}

/* Walk down the bins. The first time only budgets whose m is known are tried, and bins that may hide a better one are
 * marked; the second time those have their magnitudes at hand. */
static void walk_bins(cat_search *s, ranks *r, bool gathered)
{
    water_walk w = {.s = s, .next = 1};
    for (size_t b = FIRST_NONFINITE_BIN; b-- > 0;) {
        rank_bin *bin = &r->bins[b];
        if (bin->count == 0) continue;
        const top_sums after = after_bin(w.exact, bin);
        fall_to(&w, bin_high(b));
        const double low = bin_low(b);
        const double last = low > 0 ? floor(budget_at(s, &after, low)) : s->total.count;
        const bool worth = last >= w.next && is_worth(s, &w.exact, w.next, last);
        if (worth && !gathered) {
            bin->place = (uint32_t)r->kept;
            r->kept += bin->count;
            /* The budget at the lower edge is exact too. */
            if (last > after.count) ti_search_try(s, last, progress_with(s, &after, last));
        }
        if (worth && gathered && bin->place != NOT_KEPT) {
            fall_past(&w, r->keys + bin->place, bin->count);
            if (low > 0) fall_to(&w, low);
        }
        if (last >= w.next) w.next = last + 1;
        w.exact = after;
    }
}

void ti_search_water(cat_search *s, ranks *r)
{
    /* Every non-zero entry: nothing is drawn any more. */
    ti_search_try(s, s->total.count, s->total.s2);
    if (!r->bins) {
        water_walk w = {.s = s, .next = 1};
        fall_past(&w, r->keys, r->kept);
        return;
    }
    walk_bins(s, r, false);
    ti_ranks_gather(r);
    walk_bins(s, r, true);
}
