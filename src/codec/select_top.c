/* select_top.c - exact top-k in one pass over the data.
 *
 * A sample brackets the k-th largest magnitude. One pass keeps what is not below the bracket, which is a
 * little more than k; the k-th largest of those is found exactly, and the surplus goes. The sample decides
 * how fast it is, never what comes out: too few survivors, or more than there is room for, and the k-th
 * largest is found by counting digits over all the data. Where the bracket is one value, as for gradients
 * with fewer than k non-zeros, what is above it is kept, and the lowest positions that equal it fill up to
 * k. */
#include "base/rng.h"
#include "codec/select.h"
#include "kernels/parallel.h"

enum { SAMPLE = 16384, DIGIT = 11, SMALL = 1 << 14 /* below, counting digits is as fast as anything */ };

/* ---- counting digits ---------------------------------------------------------------------------------- */

/* Keys of a vector of either type, or plain 32-bit keys. */
typedef struct key_list {
    const tithe_select_call *c; /* or NULL: */
    const uint32_t *keys;
    size_t first, n;
    unsigned bits;
} key_list;

static inline uint64_t key_at(const key_list *list, size_t i)
{
    return list->c ? select_key(list->c, list->first + i) : list->keys[i] & 0x7fffffffu;
}

/* The k-th largest key, digit by digit from the top: each pass counts the keys that agree with the digits
 * found so far. *ties says how many keys equal to it belong to the k. Four counters for each digit, since
 * equal neighbours would wait for each other. */
static uint64_t kth_largest(const key_list *list, size_t k, size_t *ties)
{
    unsigned shift = list->bits;
    uint64_t prefix = 0;
    size_t wanted = k;
    while (shift) {
        const unsigned width = shift < DIGIT ? shift : DIGIT;
        const uint64_t mask = (UINT64_C(1) << width) - 1;
        uint32_t histogram[1 << DIGIT][4] = {{0}};
        shift -= width;
        for (size_t i = 0; i < list->n; i++) {
            const uint64_t key = key_at(list, i) >> shift;
            histogram[key & mask][i % 4] += key >> width == prefix;
        }
        uint64_t digit = mask;
        for (;; digit--) {
            const uint32_t *h = histogram[digit];
            const size_t here = (size_t)h[0] + h[1] + h[2] + h[3];
            if (here >= wanted) break;
            wanted -= here;
        }
        prefix = prefix << width | digit;
    }
    *ties = wanted;
    return prefix;
}

/* Any type, any input: passes over all the data, nothing but the indices in memory. */
static void top_by_digits(const tithe_select_call *c, size_t first, size_t n, size_t k, tithe_selection *s)
{
    size_t ties;
    const key_list list = {c, NULL, first, n, c->type == TITHE_F32 ? 31 : 63};
    const uint64_t least = kth_largest(&list, k, &ties);
    for (size_t i = first; i < first + n; i++) {
        const uint64_t key = select_key(c, i);
        if (key > least || (key == least && ties > 0)) {
            ties -= key == least;
            if (c->type == TITHE_F32) ((float *)s->values)[s->count] = ((const float *)c->x)[i];
            s->indices[s->count++] = (uint32_t)i;
        }
    }
}

/* ---- one pass ----------------------------------------------------------------------------------------- */

/* The bracket: with overwhelming probability the k-th largest key lies in [low, high]. */
typedef struct bracket {
    uint32_t low, high;
} bracket;

static double spread(double share)
{
    return sqrt(share * (1 - share) / SAMPLE);
}

size_t ti_select_top_room(size_t n, size_t k)
{
    if (n < SMALL) return k;
    const double share = (double)k / (double)n;
    const double room = (double)n * (share + 10 * spread(share) + 32.0 / SAMPLE) * 1.25 + 1024;
    return room < (double)n ? (size_t)room : n;
}

size_t ti_select_top_scratch(size_t n, size_t room)
{
    if (n < SMALL) return 0;
    return ((room > SAMPLE ? room : SAMPLE) + 16) * sizeof(uint32_t);
}

/* One position from each of SAMPLE equal stretches. */
static bracket sample(const tithe_select_call *c, size_t first, size_t n, size_t k)
{
    uint32_t *keys = c->scratch;
    const float *x = (const float *)c->x + first, *g = c->gradient ? c->gradient + first : NULL;
    for (size_t i = 0; i < SAMPLE; i++) {
        const uint64_t begin = (uint64_t)i * n / SAMPLE, end = (uint64_t)(i + 1) * n / SAMPLE;
        const size_t at = (size_t)(begin + rng_mix(i + c->key.a) % (end - begin));
        keys[i] = f32_bits(g ? x[at] + c->gamma * g[at] : x[at]) & 0x7fffffffu;
    }
    const double share = (double)k / (double)n, expected = share * SAMPLE,
                 slack = 4 * spread(share) * SAMPLE + 4;
    const key_list list = {NULL, keys, 0, SAMPLE, 31};
    size_t ties;
    bracket b = {0, 0x7fffffffu};
    if (expected + slack < SAMPLE) b.low = (uint32_t)kth_largest(&list, (size_t)(expected + slack), &ties);
    if (expected - slack > 1) b.high = (uint32_t)kth_largest(&list, (size_t)(expected - slack), &ties);
    return b;
}

/* Of `count` survivors, of which at least k, keep the k largest in place. The k-th is looked for in the
 * band up to the bracket's upper end only, unless the sample lied about that. */
static void keep_largest(tithe_selection *s, size_t start, size_t count, size_t k, uint32_t high,
                         uint32_t *band)
{
    float *values = (float *)s->values + start;
    uint32_t *indices = s->indices + start;
    size_t in_band = ti_kernels()->collect(values, count, high, band);
    if (count - in_band >= k) in_band = ti_kernels()->collect(values, count, 0x7fffffffu, band);
    const key_list list = {NULL, band, 0, in_band, 31};
    size_t ties;
    const uint32_t least = (uint32_t)kth_largest(&list, k - (count - in_band), &ties);
    const size_t left = ti_kernels()->compact(indices, values, count, least);
    if (left == k) return;
    size_t kept = 0; /* more equal the k-th than belong: the lowest positions do */
    for (size_t i = 0; i < left; i++) {
        const bool tie = (f32_bits(values[i]) & 0x7fffffffu) == least, take = !tie || ties > 0;
        ties -= tie && take;
        values[kept] = values[i];
        indices[kept] = indices[i];
        kept += take;
    }
}

/* `count` positions above the value `least` were found; the lowest ones that equal it fill up to k. The
 * gaps between the former are walked from the back, so that both lists merge in place. */
static void fill_with_ties(const tithe_select_call *c, size_t first, size_t n, size_t k, uint32_t least,
                           size_t count, tithe_selection *s)
{
    float *values = (float *)s->values + s->count;
    uint32_t *indices = s->indices + s->count;
    size_t missing = k - count, end = first;
    for (size_t found = 0; found < missing && end < first + n; end++) found += select_key(c, end) == least;
    size_t from = count, to = k;
    for (size_t i = end; missing > 0;) {
        i--;
        while (from > 0 && indices[from - 1] > i) {
            indices[--to] = indices[--from];
            values[to] = values[from];
        }
        if (select_key(c, i) != least) continue;
        indices[--to] = (uint32_t)i;
        values[to] = ((const float *)c->x)[i];
        missing--;
    }
}

static size_t survivors(const tithe_select_call *c, const float *gradient, size_t first, size_t n,
                        uint32_t least, size_t room, tithe_selection *s, bool *finite)
{
    const select_job job = {
        .source = {(float *)c->x + first, gradient ? gradient + first : NULL, c->gamma},
        .n = n,
        .first = (uint32_t)first,
        .least = least,
        .indices = s->indices + s->count,
        .values = (float *)s->values + s->count,
        .capacity = room,
    };
    return ti_parallel_select(c->call->pool, &job, finite);
}

bool ti_select_top(const tithe_select_call *c, size_t first, size_t n, size_t k, tithe_selection *s)
{
    bool finite = true;
    if (c->type == TITHE_F64) {
        if (k) top_by_digits(c, first, n, k, s);
        return true;
    }
    s->gathered = true;
    const size_t room = ti_select_top_room(n, k);
    const bracket b = n < SMALL || k == 0 || room >= n ? (bracket){0, 0} : sample(c, first, n, k);
    /* Where the bracket is one value, keep what is above it. */
    uint32_t least = b.low == b.high ? b.low + 1 : b.low;
    if (room >= n || n < SMALL) least = 0x7fffffffu; /* keep nothing: the pass only looks and adds */
    size_t count = survivors(c, c->gradient, first, n, least, room, s, &finite);
    if (!finite) return false;
    if (k == 0) return true;

    if (count > room && least == b.low) { /* ties at the lower end? then what is above it fits */
        least++;
        count = survivors(c, NULL, first, n, least, room, s, &finite);
    }
    if (count >= k && count <= room) {
        keep_largest(s, s->count, count, k, b.high, c->scratch);
        s->count += k;
    } else if (count < k && least == b.low + 1 && b.low <= b.high) {
        /* Is the value below the survivors the k-th? Only if enough equal it. */
        size_t equal = 0;
        for (size_t i = first; i < first + n && equal < k - count; i++) equal += select_key(c, i) == b.low;
        if (equal == k - count) {
            fill_with_ties(c, first, n, k, b.low, count, s);
            s->count += k;
            return true;
        }
        top_by_digits(c, first, n, k, s);
    } else {
        top_by_digits(c, first, n, k, s);
    }
    return true;
}
