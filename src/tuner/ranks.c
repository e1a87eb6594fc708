/* ranks.c - magnitudes by size, without sorting more of them than the search asks for.
 *
 * Bits of a float's magnitude order as the magnitude does. One pass counts the vector by the upper twelve bits (a
 * sixteenth of an octave each) and adds up what lies in each bin; a second one gathers the few bins that matter, and
 * those are sorted. Sums are in double, in order of position within a bin, from the largest bin down. */
#include <string.h>

#include "kernels/kernels.h"
#include "tuner/forming.h"
#include "tuner/search.h"

enum {
    DIGIT = 11,
    DIGITS = 1 << DIGIT,
    ALIGNMENT = 64,
    SORT_FEW = 8192, /* looking through the bins takes longer */
    BEYOND = 16      /* entries that a kernel may store too many */
};

size_t ti_ranks_scratch(size_t n)
{
    return (n < SORT_ALL ? 0 : BINS * sizeof(rank_bin)) + 3 * (n + BEYOND) * sizeof(uint32_t) + 2 * ALIGNMENT;
}

static void carve(const tithe_tuner_call *call, ranks *r)
{
    char *at = (char *)call->scratch + (ALIGNMENT - (uintptr_t)call->scratch % ALIGNMENT) % ALIGNMENT;
    *r = (ranks){0};
    if (call->n >= SORT_ALL) {
        r->bins = (rank_bin *)(void *)at;
        at += BINS * sizeof(rank_bin);
    }
    r->keys = (uint32_t *)(void *)at;
    r->room = r->keys + call->n + BEYOND;
    r->survivors = (float *)(void *)(r->room + call->n + BEYOND);
    r->source = call->x;
    r->source_count = call->n;
}

static inline uint32_t key_of(float x)
{
    return f32_bits(x) & 0x7fffffffu;
}

/* ---- sorting ---------------------------------------------------------------------------------------------- */

static void insert_sort(uint32_t *keys, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        const uint32_t key = keys[i];
        size_t at = i;
        for (; at > 0 && keys[at - 1] < key; at--) keys[at] = keys[at - 1];
        keys[at] = key;
    }
}

void ti_ranks_sort(uint32_t *keys, size_t count, unsigned bits, uint32_t *room)
{
    if (count <= 64) {
        insert_sort(keys, count);
        return;
    }
    uint32_t *from = keys, *to = room, places[32 / DIGIT + 1][DIGITS] = {0};
    /* All digits at once: large keys share the upper ones, and a counter that many share has to be waited for. */
    for (size_t i = 0; i < count; i++)
        for (unsigned d = 0; d * DIGIT < bits; d++) places[d][keys[i] >> d * DIGIT & (DIGITS - 1)]++;
    for (unsigned shift = 0; shift < bits; shift += DIGIT) {
        uint32_t *place = places[shift / DIGIT], before = 0;
        if (place[from[0] >> shift & (DIGITS - 1)] == count) continue; /* they agree in this digit */
        for (size_t d = DIGITS; d-- > 0;) {
            const uint32_t here = place[d];
            place[d] = before;
            before += here;
        }
        for (size_t i = 0; i < count; i++) to[place[from[i] >> shift & (DIGITS - 1)]++] = from[i];
        uint32_t *other = from;
        from = to;
        to = other;
    }
    if (from != keys) memcpy(keys, from, count * sizeof *keys);
}

/* ---- passes ----------------------------------------------------------------------------------------------- */

/* What is short is sorted as a whole. */
static void sort_all(ranks *r, top_sums *total)
{
    for (size_t i = 0; i < r->source_count; i++) {
        const uint32_t key = key_of(r->source[i]);
        r->keys[r->kept] = key;
        r->kept += key > 0;
    }
    ti_ranks_sort(r->keys, r->kept, 31, r->room);
    for (size_t i = 0; i < r->kept; i++) {
        const double a = key_value(r->keys[i]);
        total->s1 += a;
        total->s2 += a * a;
    }
    total->count = (double)r->kept;
}

/* False: something is not finite. */
static bool fill_bins(ranks *r, top_sums *total)
{
    memset(r->bins, 0, BINS * sizeof *r->bins);
    for (size_t i = 0; i < r->source_count; i++) {
        const uint32_t key = key_of(r->source[i]);
        rank_bin *bin = r->bins + (key >> BIN_SHIFT);
        const double a = key_value(key);
        bin->count += key > 0;
        bin->s1 += a;
        bin->s2 += a * a;
    }
    for (size_t b = FIRST_NONFINITE_BIN; b < BINS; b++)
        if (r->bins[b].count) return false;
    for (size_t b = FIRST_NONFINITE_BIN; b-- > 0;) {
        r->bins[b].place = NOT_KEPT;
        total->count += r->bins[b].count;
        total->s1 += r->bins[b].s1;
        total->s2 += r->bins[b].s2;
    }
    return true;
}

size_t ti_ranks_count(const tithe_tuner_call *call, ranks *r, top_sums *total)
{
    *total = (top_sums){0};
    carve(call, r);
    if (!r->bins) {
        const size_t bad = ti_kernels()->find_nonfinite(call->x, call->n);
        if (bad == call->n) sort_all(r, total);
        return bad;
    }
    return fill_bins(r, total) ? call->n : ti_kernels()->find_nonfinite(call->x, call->n);
}

bool ti_ranks_count_above(const tithe_tuner_call *call, ranks *r, uint32_t min, size_t max, top_sums *total)
{
    *total = (top_sums){0};
    carve(call, r);
    bool finite = true;
    size_t count = 0;
    r->squares = 0;
    forming *f = call->forming && call->forming->done < call->n ? call->forming : NULL;
    for (size_t first = 0; first < call->n && finite && count <= max; first += FORM_TOGETHER) {
        const size_t length = call->n - first < FORM_TOGETHER ? call->n - first : FORM_TOGETHER;
        const select_job job = {
            .source = {(float *)call->x + first, NULL, 0},
            .n = length,
            .first = (uint32_t)first,
            .min = min,
            .indices = r->keys + count,
            .values = r->survivors + count,
            .capacity = max - count,
        };
        if (f) {
            count += ti_forming_select(f, &job);
            finite = !f->wrong;
            continue;
        }
        count += ti_kernels()->select(&job, &finite);
        r->squares += ti_kernels()->keep(NULL, call->x + first, length);
    }
    if (f) { /* too many of them are no reason to leave x half made */
        finite = ti_forming_rest(f);
        r->squares = f->squares;
    }
    r->source = r->survivors;
    r->source_count = count;
    if (finite && count <= call->n / 2) { /* keys find room behind them */
        r->positions = r->keys;
        r->keys += count;
    }
    if (!finite || count > max) return false;
    if (count > SORT_FEW) return fill_bins(r, total);
    r->bins = NULL;
    sort_all(r, total);
    return true;
}

const uint32_t *ti_ranks_above(ranks *r, float magnitude, size_t *count)
{
    *count = 0;
    if (!r->positions) return NULL;
    *count = ti_kernels()->compact(r->positions, r->survivors, r->source_count, key_of(magnitude));
    return r->positions;
}

void ti_ranks_gather(ranks *r)
{
    size_t lowest = BINS, highest = 0;
    for (size_t b = 0; b < FIRST_NONFINITE_BIN; b++) {
        if (r->bins[b].place == NOT_KEPT) continue;
        if (lowest == BINS) lowest = b;
        highest = b;
    }
    if (lowest == BINS) return;
    const uint32_t min = (uint32_t)lowest << BIN_SHIFT | (lowest == 0), max = (uint32_t)(highest + 1)
                                                                              << BIN_SHIFT;
    for (size_t i = 0; i < r->source_count; i++) {
        const uint32_t key = key_of(r->source[i]);
        if (key - min >= max - min) continue;
        rank_bin *bin = r->bins + (key >> BIN_SHIFT);
        if (bin->place != NOT_KEPT) r->keys[bin->place++] = key;
    }
    for (size_t b = lowest; b <= highest; b++) {
        rank_bin *bin = r->bins + b;
        if (bin->place == NOT_KEPT) continue;
        bin->place -= bin->count;
        ti_ranks_sort(r->keys + bin->place, bin->count, BIN_SHIFT, r->room);
    }
}
