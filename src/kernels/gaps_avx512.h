/* gaps_avx512.h - the two planes of Golomb coded gaps, sixteen at a time; part of kernels_avx512.c. */
#ifndef KERNELS_GAPS_AVX512_H
#define KERNELS_GAPS_AVX512_H

#include "kernels/define.h"

enum { LAST_GAPS = 16 + 72 }; /* these, and nine bytes */

/* Neighbouring words of a vector, the second behind the first: two in each lane of 64 bits, then four in each of 128,
 * of which the lower half holds them. */
typedef struct gap_words {
    uint64_t word[8], width[8]; /* those with even numbers */
} gap_words;

static inline __m512i join_two(__m512i word, __m512i width)
{
    const __m512i low = _mm512_set1_epi64(0xffffffff);
    return _mm512_or_si512(_mm512_and_si512(word, low),
                           _mm512_sllv_epi64(_mm512_srli_epi64(word, 32), _mm512_and_si512(width, low)));
}

static inline __m512i add_two(__m512i width)
{
    return _mm512_add_epi64(_mm512_and_si512(width, _mm512_set1_epi64(0xffffffff)),
                            _mm512_srli_epi64(width, 32));
}

static inline void join_four(__m512i word, __m512i width, gap_words *out)
{
    const __m512i two = join_two(word, width), wide = add_two(width);
    const __m512i four = _mm512_or_si512(two, _mm512_sllv_epi64(_mm512_unpackhi_epi64(two, two), wide));
    _mm512_storeu_si512(out->word, four);
    _mm512_storeu_si512(out->width, _mm512_add_epi64(wide, _mm512_unpackhi_epi64(wide, wide)));
}

/* Sixteen gaps from indices[i] on, i > 0. False, and nothing written, if a code takes more than sixteen bits. */
static inline bool gaps16(const uint32_t *indices, size_t i, unsigned shift, const bool three,
                          gap_planes *planes)
{
    const __m512i one = _mm512_set1_epi32(1), step = _mm512_set1_epi32((int)shift);
    const __m512i after = _mm512_add_epi32(_mm512_loadu_si512(indices + i - 1), one);
    const __m512i gap = _mm512_sub_epi32(_mm512_loadu_si512(indices + i), after);
    const __m512i part = _mm512_srlv_epi32(gap, step);
    __m512i zeros = part, end = one, width = one;
    if (three) { /* the quotient is right for parts below 2^16, and that they are is looked at below */
        zeros = _mm512_srli_epi32(_mm512_mullo_epi32(part, _mm512_set1_epi32(0xaaab)), 17);
        const __m512i digit = _mm512_sub_epi32(part, _mm512_mullo_epi32(zeros, _mm512_set1_epi32(3)));
        end = _mm512_sub_epi32(_mm512_sllv_epi32(_mm512_set1_epi32(2), digit), one);
        width = _mm512_add_epi32(_mm512_set1_epi32(2), _mm512_min_epu32(digit, one));
    }
    if (_mm512_cmpgt_epu32_mask(part, _mm512_set1_epi32(three ? 39 : 15))) return false;
    gap_words codes, bits;
    join_four(_mm512_sllv_epi32(end, zeros), _mm512_add_epi32(zeros, width), &codes);
    join_four(_mm512_andnot_si512(_mm512_sllv_epi32(_mm512_set1_epi32(-1), step), gap), step, &bits);
    for (size_t j = 0; j < 8; j += 2) {
        if (shift) bits_put_long(&planes->low, bits.word[j], 4 * shift);
        bits_put_long(&planes->high, codes.word[j], (unsigned)codes.width[j]);
    }
    return true;
}

/* Sixteen by sixteen while neither plane can be within eight bytes of its end: a gap takes `shift` bits of one and at
 * least a bit of the other. */
static inline void gaps_write(const uint32_t *indices, size_t n, unsigned shift, const bool three,
                              uint8_t *dst)
{
    gap_planes planes = define_gap_begin(n, shift, dst);
    size_t i = 0;
    while (i < n) {
        const size_t one_by_one = shift <= 16 && n - i > LAST_GAPS ? 1 : n - i;
        for (const size_t stop = i + one_by_one; i < stop; i++)
            define_gap_one(indices, i, shift, three, &planes);
        bits_at_byte(&planes.low);
        bits_at_byte(&planes.high);
        while (shift <= 16 && n - i > LAST_GAPS && gaps16(indices, i, shift, three, &planes)) i += 16;
    }
    define_gap_end(n, shift, dst, &planes);
}

static void avx512_gap_write(const uint32_t *indices, size_t n, unsigned shift, bool three, size_t bytes,
                             uint8_t *dst)
{
    (void)bytes;
    if (three)
        gaps_write(indices, n, shift, true, dst);
    else
        gaps_write(indices, n, shift, false, dst);
}

#endif
