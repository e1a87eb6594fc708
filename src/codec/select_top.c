/* select_top.c - exact top-k in one pass over the data.
 *
 * A sample brackets the k-th largest magnitude. One pass keeps what is not below the bracket, which is a
 * little more than k; the k-th largest of those is found exactly, and the surplus goes. The sample decides
 * how fast it is, never what comes out: too few survivors, or more than there is room for, and digits are
 * counted over all the data until a bracket is certain. Where the bracket is one value, as for gradients
 * with fewer than k non-zeros, what is above it is kept, and the lowest positions that equal it fill up to
 * k. */
#include "codec/kth.h"
#include "codec/select.h"
#include "kernels/parallel.h"

enum { DIGIT = 11, SMALL = SELECT_SAMPLE_MIN /* below, counting digits is as fast as anything */ };

/* ---- any type, any length: passes over all the data, nothing but the indices in memory ------------------ */

/* The k-th largest key, digit by digit from the top: each pass counts the keys that agree with the digits
 * found so far. *ties says how many keys equal to it belong to the k. */
static uint64_t kth_key(const tithe_select_call *c, size_t first, size_t n, size_t k, size_t *ties)
{
    unsigned shift = c->type == TITHE_F32 ? 31 : 63;
    uint64_t prefix = 0;
    size_t wanted = k;
    while (shift) {
        const unsigned width = shift < DIGIT ? shift : DIGIT;
        const uint64_t mask = (UINT64_C(1) << width) - 1;
        uint32_t histogram[1 << DIGIT] = {0};
        shift -= width;
        for (size_t i = first; i < first + n; i++) {
            const uint64_t key = select_key(c, i) >> shift;
            histogram[key & mask] += key >> width == prefix;
        }
        uint64_t digit = mask;
        for (; histogram[digit] < wanted; digit--) wanted -= histogram[digit];
        prefix = prefix << width | digit;
    }
    *ties = wanted;
    return prefix;
}

static void top_by_digits(const tithe_select_call *c, size_t first, size_t n, size_t k, tithe_selection *s)
{
    size_t ties;
    const uint64_t min = kth_key(c, first, n, k, &ties);
    for (size_t i = first; i < first + n; i++) {
        const uint64_t key = select_key(c, i);
        if (key > min || (key == min && ties > 0)) {
            ties -= key == min;
            if (c->type == TITHE_F32) ((float *)s->values)[s->count] = ((const float *)c->x)[i];
            s->indices[s->count++] = (uint32_t)i;
        }
    }
}

/* ---- one pass ----------------------------------------------------------------------------------------- */

/* The ranks in a sample of `size` between which that lies which has rank k among n, but for one time in several
 * thousand. */
typedef struct rank_range {
    double first, last;
} rank_range;

static rank_range ranks_of(size_t n, size_t k, size_t size)
{
    const double share = (double)k / (double)n, expected = share * (double)size;
    const double slack = 3.6 * sqrt(expected * (1 - share)) + 3;
    return (rank_range){expected - slack, expected + slack};
}

/* The magnitudes at those ranks; the keys are moved. */
static kth_range bracket_of(uint32_t *keys, size_t size, rank_range r)
{
    kth_range b = {0, KTH_MAX};
    if (r.last < (double)size) b.low = ti_kth_largest(keys, &size, (size_t)r.last, b);
    if (r.first >= 1) b.high = ti_kth_largest(keys, &size, (size_t)r.first, b);
    return b;
}

/* Twice what is expected above the lower end of the bracket, or so. */
size_t ti_select_top_room(size_t n, size_t k)
{
    if (n < SMALL) return k;
    const size_t size = select_sample_size(n, k);
    const double last = ranks_of(n, k, size).last, room = 1024 + 1.5 * (double)n / (double)size * (last + 6);
    return room < (double)n ? (size_t)room : n;
}

size_t ti_select_top_scratch(size_t n, size_t room)
{
    if (n < SMALL) return 0;
    return ((room > SELECT_SAMPLE_MAX ? room : SELECT_SAMPLE_MAX) + 16) * sizeof(uint32_t);
}

/* The bracket that holds the k-th largest of all, if the sample does not lie. */
static kth_range sample(const tithe_select_call *c, size_t first, size_t n, size_t k)
{
    uint32_t *keys = c->scratch;
    const float *x = (const float *)c->x + first, *g = c->gradient ? c->gradient + first : NULL;
    const size_t size = select_sample_size(n, k);
    for (size_t i = 0; i < size; i++) {
        const size_t at = select_sample_at(c->key, n, size, i);
        keys[i] = f32_bits(g ? x[at] + c->gamma * g[at] : x[at]) & KTH_MAX;
    }
    return bracket_of(keys, size, ranks_of(n, k, size));
}

/* The k-th largest of the survivors, by the same means: these lie side by side, so looking costs nothing. */
static uint32_t kth_survivor(const float *values, size_t count, size_t k, uint32_t *keys)
{
    enum { LOOKS = 1 << 12 };
    kth_range b = {0, KTH_MAX};
    if (count >= 4 * LOOKS) {
        for (size_t i = 0; i < LOOKS; i++) keys[i] = f32_bits(values[i * (count / LOOKS)]) & KTH_MAX;
        b = bracket_of(keys, LOOKS, ranks_of(count, k, LOOKS));
    }
    size_t above, inside = ti_kernels()->collect(values, count, b.low, b.high, keys, &above);
    if (above >= k || above + inside < k) {
        b = (kth_range){0, KTH_MAX};
        inside = ti_kernels()->collect(values, count, b.low, b.high, keys, &above);
    }
    return ti_kth_largest(keys, &inside, k - above, b);
}

/* Of `count` survivors, of which at least k, keep the k largest in place. */
static void keep_largest(tithe_selection *s, size_t count, size_t k, uint32_t *scratch)
{
    float *values = (float *)s->values + s->count;
    uint32_t *indices = s->indices + s->count;
    s->count += k;
    if (count == k) return;
    const uint32_t min = kth_survivor(values, count, k, scratch);
    const size_t left = ti_kernels()->compact(indices, values, count, min);
    if (left == k) return;
    size_t kept = 0, ties = k; /* more equal the k-th than belong: the lowest positions do */
    for (size_t i = 0; i < left; i++) ties -= (f32_bits(values[i]) & KTH_MAX) > min;
    for (size_t i = 0; i < left; i++) {
        const bool tie = (f32_bits(values[i]) & KTH_MAX) == min, take = !tie || ties > 0;
        ties -= tie && take;
        values[kept] = values[i];
        indices[kept] = indices[i];
        kept += take;
    }
}

/* `count` positions above the value `least` were found; the lowest ones that equal it fill up to k. The
 * gaps between the former are walked from the back, so that both lists merge in place. */
static void fill_with_ties(const tithe_select_call *c, size_t first, size_t n, size_t k, uint32_t min,
                           size_t count, tithe_selection *s)
{
    float *values = (float *)s->values + s->count;
    uint32_t *indices = s->indices + s->count;
    size_t missing = k - count, end = first;
    for (size_t found = 0; found < missing && end < first + n; end++) found += select_key(c, end) == min;
    size_t from = count, to = k;
    for (size_t i = end; missing > 0;) {
        i--;
        while (from > 0 && indices[from - 1] > i) {
            indices[--to] = indices[--from];
            values[to] = values[from];
        }
        if (select_key(c, i) != min) continue;
        indices[--to] = (uint32_t)i;
        values[to] = ((const float *)c->x)[i];
        missing--;
    }
    s->count += k;
}

static size_t survivors(const tithe_select_call *c, const float *gradient, size_t first, size_t n,
                        uint32_t min, size_t room, tithe_selection *s, bool *finite)
{
    const select_job job = {
        .source = {(float *)c->x + first, gradient ? gradient + first : NULL, c->gamma},
        .n = n,
        .first = (uint32_t)first,
        .min = min,
        .indices = s->indices + s->count,
        .values = (float *)s->values + s->count,
        .capacity = room,
    };
    return ti_parallel_select(c->call->pool, &job, finite);
}

/* The sample was no help: count digits until a bracket is certain, then make the pass. */
static bool top_by_counting(const tithe_select_call *c, size_t first, size_t n, size_t k, size_t room,
                            tithe_selection *s)
{
    kth_range b = {0, KTH_MAX};
    size_t above = 0, inside = n;
    bool finite;
    while (above + inside > room && b.low < b.high)
        ti_kth_narrow((const float *)c->x + first, n, k, &b, &above, &inside);
    const bool fits = above + inside <= room;
    const size_t count = survivors(c, NULL, first, n, fits ? b.low : b.low + 1, room, s, &finite);
    if (!finite) return false;
    if (fits)
        keep_largest(s, count, k, c->scratch);
    else
        fill_with_ties(c, first, n, k, b.low, count, s);
    return true;
}

/* Do at least `wanted` magnitudes equal this one? */
static bool as_many_equal(const tithe_select_call *c, size_t first, size_t n, uint32_t magnitude,
                          size_t wanted)
{
    size_t equal = 0;
    for (size_t i = first; i < first + n && equal < wanted; i++) equal += select_key(c, i) == magnitude;
    return equal == wanted;
}

/* The call brings positions that hold the k largest. They are somebody else's word, so they are checked as far as memory
 * goes. False: they are of no use. */
static bool top_of_known(const tithe_select_call *c, size_t k, size_t room, tithe_selection *s)
{
    const uint32_t *known = c->call->largest;
    const size_t count = c->call->largest_count;
    if (!known || count < k || count > room) return false;
    float *values = (float *)s->values + s->count;
    for (size_t i = 0; i < count; i++) {
        if (known[i] >= c->n || (i > 0 && known[i] <= known[i - 1])) return false;
        s->indices[s->count + i] = known[i];
        values[i] = ((const float *)c->x)[known[i]];
    }
    keep_largest(s, count, k, c->scratch);
    return true;
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
    if (k > 0 && n == c->n && !c->gradient && top_of_known(c, k, room, s)) return true;
    if (k == 0 || n < SMALL) { /* keep nothing: the pass only looks and adds */
        survivors(c, c->gradient, first, n, KTH_MAX, room, s, &finite);
        if (finite && k) top_by_digits(c, first, n, k, s);
        return finite;
    }
    const kth_range b = room < n ? sample(c, first, n, k) : (kth_range){0, KTH_MAX};
    /* Where the bracket is one value, keep what is above it. */
    uint32_t min = b.low == b.high ? b.low + 1 : b.low;
    size_t count = survivors(c, c->gradient, first, n, min, room, s, &finite);
    if (!finite) return false;
    if (count > room && min == b.low) { /* ties at the lower end? then what is above it fits */
        min++;
        count = survivors(c, NULL, first, n, min, room, s, &finite);
        if (!finite) return false;
    }
    if (count >= k && count <= room)
        keep_largest(s, count, k, c->scratch);
    else if (count < k && min == b.low + 1 && as_many_equal(c, first, n, b.low, k - count))
        fill_with_ties(c, first, n, k, b.low, count, s);
    else
        return top_by_counting(c, first, n, k, room, s);
    return true;
}
