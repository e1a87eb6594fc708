/* search_top.c - the level of selectors that take the largest magnitudes: top-k, and thresholds.
 *
 * Every bin of magnitudes is a stretch of levels. First the ends of all of them are tried; then the bins that could
 * still hide a better level are gathered, sorted, and walked through in short stretches. Keys: khirirat2021cat. */
#include <math.h>

#include "tuner/late.h"
#include "tuner/search.h"

enum { STRETCH = 32, PARTS = 8 /* of a bin, for a closer look at its bound */ };

static void add_key(top_sums *sums, uint32_t key)
{
    const double a = key_value(key);
    sums->count++;
    sums->s1 += a;
    sums->s2 += a * a;
}

/* Levels above all non-zero entries, or with all n, are not for the walk: the former buy nothing, and a frame with all
 * n entries has no indices. */
static double last_level(const cat_search *s, double last)
{
    const double max = (double)s->call->n - 1;
    return last < max ? last : max;
}

static void try_level(cat_search *s, const top_sums *sums, double magnitude)
{
    if (ti_search_try(s, sums->count, ti_progress_at(s, sums))) s->magnitude = (float)magnitude;
}

/* ---- entries of one magnitude -------------------------------------------------------------------------------- */

typedef struct even_run {
    top_sums from, to;
    double magnitude;
} even_run;

static void try_in_run(cat_search *s, const even_run *run, double level)
{
    const double more = level - run->from.count, a = run->magnitude;
    const top_sums at = {level, run->from.s1 + more * a, run->from.s2 + more * (a * a)};
    try_level(s, &at, a);
}

static void search_run(cat_search *s, const even_run *run, double first, double last)
{
    if (first > last) return;
    try_in_run(s, run, first);
    if (last > first) try_in_run(s, run, last);
    first++, last--;
    if (first > last) return;
    const progress_lines above =
        ti_lines_between(s, &run->from, &run->to, run->magnitude, run->magnitude, first, last);
    if (!ti_search_worth(s, first, last, &above)) return;
    const double middle = floor((first + last) / 2);
    search_run(s, run, first, middle);
    search_run(s, run, middle + 1, last);
}

/* ---- entries in order ---------------------------------------------------------------------------------------- */

static void walk_stretch(cat_search *s, const uint32_t *keys, size_t count, bool more, top_sums sums)
{
    for (size_t i = 0; i < count; i++) {
        add_key(&sums, keys[i]);
        if (sums.count >= (double)s->call->n) return; /* all n were tried at the start */
        if (s->ends_only && (i + 1 < count || more) && keys[i + 1] == keys[i]) continue;
        try_level(s, &sums, key_value(keys[i]));
    }
}

static void walk(cat_search *s, const uint32_t *keys, size_t count, top_sums sums)
{
    for (size_t first = 0; first < count && !s->failed; first += STRETCH) {
        const size_t many = count - first < STRETCH ? count - first : STRETCH;
        const top_sums before = sums;
        for (size_t i = 0; i < many; i++) add_key(&sums, keys[first + i]);
        const double last = last_level(s, sums.count);
        if (last <= before.count) return;
        const progress_lines above =
            ti_lines_between(s, &before, &sums, key_value(keys[first]), key_value(keys[first + many - 1]),
                             before.count + 1, last);
        if (ti_search_worth(s, before.count + 1, last, &above))
            walk_stretch(s, keys + first, many, first + many < count, before);
    }
}

/* ---- bins ---------------------------------------------------------------------------------------------------- */

static top_sums after_bin(top_sums sums, const rank_bin *bin)
{
    return (top_sums){sums.count + bin->count, sums.s1 + bin->s1, sums.s2 + bin->s2};
}

static bool bin_is_worth(const cat_search *s, const top_sums *from, const top_sums *to, size_t bin)
{
    const double last = last_level(s, to->count - 1), width = last - from->count; /* its end was tried */
    for (int parts = 1; parts <= PARTS; parts *= PARTS) { /* most bins need no closer look */
        bool worth = false;
        for (int part = 0; part < parts && !worth; part++) {
            const double first = from->count + 1 + floor(width * part / parts),
                         end = from->count + floor(width * (part + 1) / parts);
            if (first > end) continue;
            const progress_lines above =
                ti_lines_between(s, from, to, bin_high(bin), bin_low(bin), first, end);
            worth = ti_search_worth(s, first, end, &above);
        }
        if (!worth) return false;
    }
    return true;
}

static void try_ends(cat_search *s, const ranks *r)
{
    top_sums sums = {0};
    for (size_t b = FIRST_NONFINITE_BIN; b-- > 0;) {
        if (r->bins[b].count == 0) continue;
        sums = after_bin(sums, &r->bins[b]);
        /* The smallest magnitude of the bin is not known; that of a threshold between two bins will do. */
        if (sums.count < (double)s->call->n) try_level(s, &sums, bin_low(b) > 0 ? bin_low(b) : key_value(1));
    }
}

static void search_bins(cat_search *s, ranks *r)
{
    top_sums sums = {0};
    try_ends(s, r);
    for (size_t b = FIRST_NONFINITE_BIN; b-- > 0;) {
        rank_bin *bin = &r->bins[b];
        const top_sums before = sums;
        sums = after_bin(sums, bin);
        if (bin->count < 2 || !bin_is_worth(s, &before, &sums, b)) continue;
        bin->place = (uint32_t)r->kept;
        r->kept += bin->count;
    }
    ti_ranks_gather(r);
    sums = (top_sums){0};
    for (size_t b = FIRST_NONFINITE_BIN; b-- > 0 && !s->failed;) {
        rank_bin *bin = &r->bins[b];
        const top_sums before = sums;
        sums = after_bin(sums, bin);
        if (bin->place == NOT_KEPT || !bin_is_worth(s, &before, &sums, b)) continue;
        const uint32_t *keys = r->keys + bin->place;
        if (keys[0] != keys[bin->count - 1])
            walk(s, keys, bin->count, before);
        else if (!s->ends_only)
            search_run(s, &(even_run){before, sums, key_value(keys[0])}, before.count + 1,
                       last_level(s, sums.count - 1));
    }
}

void ti_search_top(cat_search *s, ranks *r)
{
    const double n = (double)s->call->n;
    /* All n entries have a length of their own. A threshold never takes zeros. */
    if (!s->ends_only || s->total.count == n) {
        top_sums all = s->total;
        all.count = n;
        try_level(s, &all, key_value(1));
    }
    if (r->bins)
        search_bins(s, r);
    else
        walk(s, r->keys, r->kept, (top_sums){0});
}

void ti_search_late(cat_search *s, ranks *r)
{
    const tithe_tuner_call *c = s->call;
    s->share = c->lost > 0 ? fmin(c->lost, 1) : 1;
    s->rate = s->best;
    s->most = s->level;
    s->limit = c->before > 0 ? fmin(s->level, ti_late_max(c->before)) : s->level;
    s->floor = c->before > 0 ? fmin(fmin(s->limit, s->total.count), ti_late_min(c->before)) : 0;
    s->least = c->pace * s->total.s2;
    s->best = s->level_value = -INFINITY;
    for (size_t b = 0; r->bins && b < FIRST_NONFINITE_BIN; b++) r->bins[b].place = NOT_KEPT;
    if (r->bins) r->kept = 0;
    ti_search_top(s, r);
}
