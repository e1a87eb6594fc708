/* define_gaps.h - the part of define.h for index coding: lengths of Golomb codes, and their two planes. */
#ifndef KERNELS_DEFINE_GAPS_H
#define KERNELS_DEFINE_GAPS_H

#include "base/bits.h"
#include "kernels/kernels.h"

/* Sums of quotients stay below the last index, so 32 bits hold them. The division by 3 is a product: in 32 bits
 * while no dividend has more than 16, else in 64. */
static inline void define_gap_bits(const uint32_t *indices, size_t n, unsigned shift, bool three,
                                   uint64_t bits[3])
{
    uint32_t a = 0, b = 0, c = 0, digits_a = 0, digits_b = 0, digits_c = 0;
    uint32_t ones = 0; /* of all gaps */
    for (size_t i = 1; i < n && three; i++) ones |= indices[i] - indices[i - 1] - 1;
    const bool narrow = ones >> shift < 65536;
    const uint32_t first = n ? indices[0] >> shift : 0;
    for (size_t i = 1; i < n && !three; i++) {
        const uint32_t gap = (indices[i] - indices[i - 1] - 1) >> shift;
        a += gap;
        b += gap >> 1;
        c += gap >> 2;
    }
    for (size_t i = 1; i < n && three && narrow; i++) {
        const uint32_t gap = (indices[i] - indices[i - 1] - 1) >> shift;
        const uint32_t p = gap * 0xaaabu >> 17, q = (gap >> 1) * 0xaaabu >> 17,
                       r = (gap >> 2) * 0xaaabu >> 17;
        a += p;
        b += q;
        c += r;
        digits_a += gap != 3 * p;
        digits_b += gap >> 1 != 3 * q;
        digits_c += gap >> 2 != 3 * r;
    }
    for (size_t i = 1; i < n && three && !narrow; i++) {
        const uint32_t gap = (indices[i] - indices[i - 1] - 1) >> shift;
        a += gap / 3;
        b += (gap >> 1) / 3;
        c += (gap >> 2) / 3;
        digits_a += gap % 3 > 0;
        digits_b += (gap >> 1) % 3 > 0;
        digits_c += (gap >> 2) % 3 > 0;
    }
    const uint32_t quotients[3] = {a, b, c}, digits[3] = {digits_a, digits_b, digits_c};
    for (int k = 0; k < 3; k++) {
        const uint32_t part = first >> k, whole = three ? part / 3 : part;
        bits[k] = (uint64_t)quotients[k] + whole + digits[k] + (three && part % 3 > 0) +
                  (three ? 2 : 1) * (uint64_t)n;
    }
}

/* One gap, as the low bits for the first plane and a code word for the second. */
typedef struct gap_code {
    uint32_t low, zeros, end; /* `zeros` zeros, then the bits of `end`, the lowest first */
    unsigned width;           /* of end */
} gap_code;

static inline gap_code define_gap_code(uint32_t gap, unsigned shift, uint32_t mask, bool three)
{
    const uint32_t part = gap >> shift;
    gap_code code = {gap & mask, part, 1, 1};
    if (three) { /* after the one that ends the zeros, the digit: 0, 1 0 or 1 1 */
        code.zeros = part / 3;
        const uint32_t digit = part - 3 * code.zeros;
        code.end = (2u << digit) - 1;
        code.width = digit ? 3 : 2;
    }
    return code;
}

static inline void define_put_code(bit_writer *w, const gap_code *code)
{
    if (code->zeros <= 29) {
        bits_put(w, code->end << code->zeros, code->zeros + code->width);
    } else {
        bits_put_zeros(w, code->zeros);
        bits_put(w, code->end, code->width);
    }
}

/* Both planes grow side by side, so that neither writer waits for the other. The byte in which one ends and the other
 * begins is put together last. */
typedef struct gap_planes {
    bit_writer low, high;
} gap_planes;

static inline gap_planes define_gap_begin(size_t n, unsigned shift, uint8_t *dst)
{
    const uint64_t low_bits = (uint64_t)n * shift;
    gap_planes planes = {bit_writer_at(dst), bit_writer_at(dst + low_bits / 8)};
    bits_put(&planes.high, 0, low_bits % 8);
    return planes;
}

static inline void define_gap_one(const uint32_t *indices, size_t i, unsigned shift, bool three,
                                  gap_planes *planes)
{
    const uint32_t gap = indices[i] - (i ? indices[i - 1] + 1 : 0);
    const gap_code code = define_gap_code(gap, shift, (uint32_t)((UINT64_C(1) << shift) - 1), three);
    bits_put(&planes->low, code.low, shift);
    define_put_code(&planes->high, &code);
}

static inline void define_gap_end(size_t n, unsigned shift, uint8_t *dst, gap_planes *planes)
{
    const uint64_t low_bits = (uint64_t)n * shift;
    bits_finish(&planes->high);
    const uint8_t second = low_bits % 8 ? dst[low_bits / 8] : 0; /* no entries: no byte */
    bits_finish(&planes->low);
    if (low_bits % 8) dst[low_bits / 8] |= second;
}

/* Two gaps at a time while they are short and neither plane is near its end. */
static inline void define_gap_planes(const uint32_t *indices, size_t n, unsigned shift, const bool three,
                                     size_t bytes, uint8_t *dst)
{
    const uint32_t mask = (uint32_t)((UINT64_C(1) << shift) - 1);
    gap_planes planes = define_gap_begin(n, shift, dst);
    const uint8_t *low_end = planes.high.next, *high_end = dst + bytes;
    size_t i = 0;
    while (i < n) {
        while (shift <= 16 && i + 2 <= n && low_end - planes.low.next >= 8 &&
               high_end - planes.high.next >= 8) {
            const uint32_t expected = i ? indices[i - 1] + 1 : 0;
            const gap_code a = define_gap_code(indices[i] - expected, shift, mask, three);
            const gap_code b = define_gap_code(indices[i + 1] - indices[i] - 1, shift, mask, three);
            if (a.zeros > 26 || b.zeros > 26 - a.zeros) break;
            const unsigned first = a.zeros + a.width;
            bits_put_ahead(&planes.low, a.low | b.low << shift, 2 * shift);
            bits_put_ahead(&planes.high, a.end << a.zeros | b.end << (first + b.zeros),
                           first + b.zeros + b.width);
            i += 2;
        }
        if (i < n) define_gap_one(indices, i++, shift, three, &planes);
    }
    define_gap_end(n, shift, dst, &planes);
}

static inline void define_gap_write(const uint32_t *indices, size_t n, unsigned shift, bool three,
                                    size_t bytes, uint8_t *dst)
{
    if (three)
        define_gap_planes(indices, n, shift, true, bytes, dst);
    else
        define_gap_planes(indices, n, shift, false, bytes, dst);
}

#define DEFINE_GAPS .gap_bits = define_gap_bits, .gap_write = define_gap_write

#endif
