/* codes_avx512.h - levels as Elias words, and as sums, sixty-four and sixteen at a time; part of kernels_avx512.c. */
#ifndef KERNELS_CODES_AVX512_H
#define KERNELS_CODES_AVX512_H

#include "kernels/codes_x86.h"

enum { CODES_AHEAD = 2048 /* bytes */ };

/* Neighbours are joined in lanes of 16, then 32, then 64 bits: the upper word moves down to where the lower ends. */
static inline void elias64(const uint8_t *codes, uint64_t *words, uint8_t *widths)
{
    const __m512i code = _mm512_loadu_si512(codes);
    const __m512i nibble = _mm512_or_si512(_mm512_and_si512(code, _mm512_set1_epi8(7)),
                                           _mm512_and_si512(_mm512_srli_epi16(code, 4), _mm512_set1_epi8(8)));
    const __m512i word_of =
        _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)(const void *)define_elias_word));
    const __m512i width_of =
        _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)(const void *)define_elias_width));
    __m512i word = _mm512_shuffle_epi8(word_of, nibble), width = _mm512_shuffle_epi8(width_of, nibble);

    __m512i low = _mm512_set1_epi16(255), place = _mm512_and_si512(width, low);
    word = _mm512_or_si512(_mm512_and_si512(word, low), _mm512_sllv_epi16(_mm512_srli_epi16(word, 8), place));
    width = _mm512_add_epi16(place, _mm512_srli_epi16(width, 8));

    low = _mm512_set1_epi32(65535);
    place = _mm512_and_si512(width, low);
    word =
        _mm512_or_si512(_mm512_and_si512(word, low), _mm512_sllv_epi32(_mm512_srli_epi32(word, 16), place));
    width = _mm512_add_epi32(place, _mm512_srli_epi32(width, 16));

    low = _mm512_set1_epi64(0xffffffff);
    place = _mm512_and_si512(width, low);
    word =
        _mm512_or_si512(_mm512_and_si512(word, low), _mm512_sllv_epi64(_mm512_srli_epi64(word, 32), place));
    width = _mm512_add_epi64(place, _mm512_srli_epi64(width, 32));

    _mm512_storeu_si512(words, word);
    _mm_storel_epi64((__m128i *)(void *)widths, _mm512_cvtepi64_epi8(width));
}

static void avx512_elias_groups(const uint8_t *codes, size_t groups, uint64_t *words, uint8_t *widths)
{
    size_t g = 0;
    for (; g + 8 <= groups; g += 8) elias64(codes + 8 * g, words + g, widths + g);
    define_elias_groups(codes + 8 * g, groups - g, words + g, widths + g);
}

/* Levels below 16 stand in two registers, with plus and with minus; else every value is fetched. */
static void avx512_codes_add(const uint8_t *codes, size_t n, unsigned s, const float table[256], float *y)
{
    const __m512 plus = _mm512_loadu_ps(table), minus = _mm512_loadu_ps(table + 128);
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        _mm_prefetch((const char *)(y + i) + CODES_AHEAD, _MM_HINT_T0);
        const __m512i code =
            _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(const void *)(codes + i)));
        __m512 value;
        if (s < 16) { /* the fifth bit of the place chooses the register */
            const __m512i place =
                _mm512_or_si512(code, _mm512_and_si512(_mm512_srli_epi32(code, 3), _mm512_set1_epi32(16)));
            value = _mm512_permutex2var_ps(plus, place, minus);
        } else {
            value = _mm512_i32gather_ps(code, table, 4);
        }
        _mm512_storeu_ps(y + i, _mm512_add_ps(_mm512_loadu_ps(y + i), value));
    }
    define_codes_add(codes + i, n - i, s, table, y + i);
}

#endif
