/* indices.c - see indices.h.
 *
 * Gaps between positions of a random set are nearly geometric, for which a Golomb code is the best prefix
 * code. Powers of two alone (Rice) miss the entropy by 3.4 % near keep = 0.21; allowing m = 3 * 2^j as
 * well keeps the loss below 2 % up to keep = 0.3. The quotients and the low bits stand in two planes, so
 * that low bits unpack at a fixed width and quotients by counting zeros. Key: golomb1966. */
#include "codec/indices.h"

#include <math.h>

#include "base/bits.h"
#include "base/bytes.h"
#include "kernels/kernels.h"

static unsigned width_of(size_t n) /* ceil(log2 n), 0 for n = 1 */
{
    return n > 1 ? 64 - (unsigned)__builtin_clzll((uint64_t)n - 1) : 0;
}

/* The best shift for one kind of m: three neighbours are looked at in one pass, and if the outer one is the
 * best, its neighbours next. For powers of two the cost is convex in the shift (each further bit costs `count`
 * and saves a sum of ceilings that only shrinks), so that finds the minimum; for 3 * 2^j it does wherever the
 * tests looked, and where it does not it only costs bits. */
static void golomb_search(const uint32_t *indices, size_t count, unsigned guess, bool three, index_plan *best)
{
    const unsigned top = three ? 30 : 31;
    unsigned first = guess > 0 ? guess - 1 : 0;
    int way = 0; /* back again would be in vain: what two turns have in common is the best then */
    for (;;) {
        if (first > top - 2) first = top - 2;
        uint64_t bits[3];
        ti_kernels()->gap_bits(indices, count, first, three, bits);
        unsigned min = 0;
        for (unsigned k = 0; k < 3; k++) {
            bits[k] += (uint64_t)count * (first + k);
            if (bits[k] < bits[min]) min = k;
        }
        if (bits[min] < best->bits) *best = (index_plan){TITHE_INDEX_GOLOMB, first + min, three, bits[min]};
        if (min == 0 && first > 0 && way <= 0) {
            first = first > 2 ? first - 2 : 0;
            way = -1;
        } else if (min == 2 && first < top - 2 && way >= 0) {
            first += 2;
            way = 1;
        } else {
            return;
        }
    }
}

index_plan ti_indices_plan(const uint32_t *indices, size_t count, size_t n)
{
    index_plan best = {TITHE_INDEX_NONE, 0, false, 0};
    if (!indices_have_coding(count, n)) return best;

    best = (index_plan){TITHE_INDEX_FIXED, 0, false, (uint64_t)count * width_of(n)};
    if (n < best.bits) best = (index_plan){TITHE_INDEX_BITMAP, 0, false, n};

    /* For a geometric gap the best m is about 0.69 times its mean. */
    const double wanted = 0.69 * (double)n / (double)count;
    unsigned guess = 0;
    while (guess < 30 && (double)(UINT64_C(2) << guess) <= wanted) guess++;
    golomb_search(indices, count, guess, false, &best);
    golomb_search(indices, count, guess > 0 ? guess - 1 : 0, true, &best);
    return best;
}

uint64_t ti_indices_max_bits(size_t count, size_t n)
{
    if (!indices_have_coding(count, n)) return 0;
    uint64_t min = (uint64_t)count * width_of(n);
    if (n < min) min = n;
    /* count (1 + r) + floor(n / 2^r) is convex in r: a step adds count and saves ceil(floor(n / 2^r) / 2), which only
     * shrinks. So it falls until a step no longer saves more than count, which is near log2(n / count). Tuners ask for
     * this at every level that they look at. */
    const unsigned near = 63 - (unsigned)__builtin_clzll((uint64_t)(n / count));
    unsigned r = near > 2 ? near - 2 : 0;
    while (r < 31 && (n >> r) - (n >> (r + 1)) > count) r++;
    const uint64_t rice = (uint64_t)count * (1 + r) + (n >> r);
    if (rice < min) min = rice;
    return min;
}

/* Bits of a gap that is q^j likely to be j or more: the unary quotient by m, whose mean is q^m / (1 - q^m), and the low bits.
 * Of m = 3 * 2^shift the remainder has a digit besides, which takes two bits, but one where it is 0. */
static double golomb_mean(double log_q, unsigned shift, bool three)
{
    const double step = ldexp(1, (int)shift), m = three ? 3 * step : step;
    const double below_m = -expm1(m * log_q); /* 1 - q^m */
    const double digit = three ? 2 + expm1(step * log_q) / below_m : 0;
    return 1 + shift + (1 - below_m) / below_m + digit;
}

uint64_t ti_indices_expected_bits(size_t count, size_t n)
{
    const uint64_t max = ti_indices_max_bits(count, n);
    if (max == 0) return 0;
    /* The geometric law whose mean is that of the count + 1 gaps between the others, n - count in all. */
    const double log_q = log1p(-((double)count + 1) / ((double)n + 1));
    double min = (double)max / (double)count;
    for (unsigned shift = 0; shift <= 30; shift++)
        min = fmin(min, fmin(golomb_mean(log_q, shift, false), golomb_mean(log_q, shift, true)));
    return (uint64_t)ceil((double)count * min);
}

static void write_fixed(const uint32_t *indices, size_t count, size_t n, uint8_t *dst)
{
    bit_writer w = bit_writer_at(dst);
    for (size_t i = 0; i < count; i++) bits_put(&w, indices[i], width_of(n));
    bits_finish(&w);
}

static void write_bitmap(const uint32_t *indices, size_t count, size_t n, uint8_t *dst)
{
    memset(dst, 0, bytes_of_bits(n));
    for (size_t i = 0; i < count; i++) dst[indices[i] / 8] |= (uint8_t)(1u << indices[i] % 8);
}

void ti_indices_write(const index_plan *plan, const uint32_t *indices, size_t count, size_t n, uint8_t *dst)
{
    switch (plan->coding) {
    case TITHE_INDEX_NONE: break;
    case TITHE_INDEX_FIXED: write_fixed(indices, count, n, dst); break;
    case TITHE_INDEX_BITMAP: write_bitmap(indices, count, n, dst); break;
    case TITHE_INDEX_GOLOMB:
        ti_kernels()->gap_write(indices, count, plan->shift, plan->three, bytes_of_bits(plan->bits), dst);
        break;
    }
}

static bool read_fixed(bit_reader *r, size_t count, size_t n, uint32_t *indices)
{
    const unsigned width = width_of(n);
    for (size_t i = 0; i < count; i++) {
        indices[i] = bits_get(r, width);
        if (indices[i] >= n || (i && indices[i] <= indices[i - 1])) return false;
    }
    return true;
}

static bool read_bitmap(bit_reader *r, const uint8_t *src, size_t count, size_t n, uint32_t *indices)
{
    size_t found = 0;
    for (size_t byte = 0; byte < bytes_of_bits(n); byte++) {
        for (unsigned bits = src[byte]; bits; bits &= bits - 1) {
            const uint64_t position = (uint64_t)byte * 8 + (unsigned)__builtin_ctz(bits);
            if (position >= n || found == count) return false;
            indices[found++] = (uint32_t)position;
        }
    }
    r->position += n;
    return found == count;
}

/* While both planes have eight bytes left, a quotient is a count of zeros in a word. Returns how many
 * indices were read, or SIZE_MAX for a position that is not below n; the caller reads the others bit by
 * bit. */
static size_t read_words(const index_plan *plan, bit_reader *low, bit_reader *high, size_t count, size_t n,
                         uint32_t *indices)
{
    if (high->end < 64) return 0;
    const uint64_t last = high->end - 64, mask = (UINT64_C(1) << plan->shift) - 1;
    uint64_t expected = 0, at = high->position, low_at = low->position;
    size_t i = 0;
    while (i < count && at <= last && low_at <= last) {
        uint64_t word = get_u64(high->bytes + at / 8) >> at % 8; /* at least 57 bits of the stream */
        unsigned used = 0;
        while (i < count && low_at <= last) { /* a word serves until it may not hold a whole code any more */
            if (word == 0) break;
            const unsigned zeros = (unsigned)__builtin_ctzll(word);
            if (used + zeros + 3 > 57) break;
            unsigned width = zeros + 1;
            uint64_t gap = zeros;
            if (plan->three) {
                const unsigned digit = word >> width & 3;
                gap = 3 * gap + (digit & 1) + (digit == 3);
                width += 1 + (digit & 1);
            }
            expected += (gap << plan->shift) + (get_u64(low->bytes + low_at / 8) >> low_at % 8 & mask);
            if (expected >= n) return SIZE_MAX;
            indices[i++] = (uint32_t)expected++;
            low_at += plan->shift;
            used += width;
            word >>= width;
        }
        if (used == 0) break; /* a code longer than a word */
        at += used;
    }
    high->position = at;
    low->position = low_at;
    return i;
}

static bool read_golomb(const index_plan *plan, bit_reader *low, size_t count, size_t n, uint32_t *indices)
{
    bit_reader high = *low;
    high.position += (uint64_t)count * plan->shift;
    size_t i = read_words(plan, low, &high, count, n, indices);
    if (i == SIZE_MAX) return false;
    uint64_t expected = i ? (uint64_t)indices[i - 1] + 1 : 0;
    for (; i < count; i++) {
        uint64_t gap = bits_get_unary(&high);
        if (plan->three) {
            gap *= 3;
            if (bits_get(&high, 1)) gap += 1 + bits_get(&high, 1);
        }
        if (high.overrun || gap >= n) return false; /* before the shift can overflow */
        expected += (gap << plan->shift) + bits_get(low, plan->shift);
        if (expected >= n) return false;
        indices[i] = (uint32_t)expected++;
    }
    *low = high;
    return true;
}

bool ti_indices_read(index_plan *plan, const uint8_t *src, size_t length, size_t count, size_t n,
                     uint32_t *indices)
{
    bit_reader r = bit_reader_at(src, length, 0);
    const uint64_t available = (uint64_t)length * 8;
    bool sound = false;
    switch (plan->coding) {
    case TITHE_INDEX_NONE: /* none, or all of them */
        for (size_t i = 0; i < count; i++) indices[i] = (uint32_t)i;
        sound = count == 0 || count == n;
        break;
    case TITHE_INDEX_FIXED:
        sound = (uint64_t)count * width_of(n) <= available && read_fixed(&r, count, n, indices);
        break;
    case TITHE_INDEX_BITMAP: sound = n <= available && read_bitmap(&r, src, count, n, indices); break;
    case TITHE_INDEX_GOLOMB:
        sound = (uint64_t)count * (1 + plan->shift) <= available && read_golomb(plan, &r, count, n, indices);
        break;
    }
    plan->bits = r.position;
    return sound && !r.overrun && bits_padding_is_zero(&r);
}

uint8_t ti_indices_byte(const index_plan *plan)
{
    if (plan->coding == TITHE_INDEX_FIXED) return 0;
    if (plan->coding == TITHE_INDEX_BITMAP) return 1;
    return (uint8_t)(2 + 2 * plan->shift + plan->three);
}

bool ti_indices_from_byte(uint8_t byte, index_plan *plan)
{
    *plan = (index_plan){.coding = byte == 0 ? TITHE_INDEX_FIXED : TITHE_INDEX_BITMAP};
    if (byte < 2) return true;
    const unsigned shift = (byte - 2u) / 2;
    const bool three = byte & 1;
    if (shift > (three ? 30u : 31u)) return false;
    *plan = (index_plan){.coding = TITHE_INDEX_GOLOMB, .shift = shift, .three = three};
    return true;
}
