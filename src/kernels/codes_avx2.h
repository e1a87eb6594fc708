/* codes_avx2.h - levels as nibbles, as Elias words and as sums; part of kernels_avx2.c. */
#ifndef KERNELS_CODES_AVX2_H
#define KERNELS_CODES_AVX2_H

#include "kernels/avx2.h"
#include "kernels/codes_x86.h"

/* ---- written ------------------------------------------------------------------------------------------ */

/* The level in three bits of a byte and the sign in the fourth. */
static inline __m256i nibbles_of(const uint8_t *codes)
{
    const __m256i code = load_bits(codes);
    return _mm256_or_si256(_mm256_and_si256(code, _mm256_set1_epi8(7)),
                           _mm256_and_si256(_mm256_srli_epi16(code, 4), _mm256_set1_epi8(8)));
}

static inline __m256i pairs_of(const uint8_t *codes)
{
    return _mm256_maddubs_epi16(nibbles_of(codes), _mm256_set1_epi16(0x1001)); /* low + 16 * high */
}

static void avx2_pack_nibbles(const uint8_t *codes, size_t n, uint8_t *dst)
{
    size_t i = 0;
    for (; i + 64 <= n; i += 64) {
        const __m256i bytes = _mm256_packus_epi16(pairs_of(codes + i), pairs_of(codes + i + 32));
        store_bits(dst + i / 2, _mm256_permute4x64_epi64(bytes, 0xd8)); /* quarters 0, 2, 1, 3 */
    }
    define_pack_nibbles(codes + i, n - i, dst + i / 2);
}

static inline __m256i look_up(const uint8_t table[16], __m256i nibble)
{
    const __m128i entries = _mm_loadu_si128((const __m128i *)(const void *)table);
    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(entries), nibble);
}

/* Neighbours are joined in lanes of 16, then 32, then 64 bits: the upper word moves to where the lower ends. Lanes of 16
 * bits cannot be shifted by numbers of their own, so there it is multiplied by half the power of two, and doubled. */
static inline void elias32(const uint8_t *codes, uint64_t *words, uint8_t *widths)
{
    static const uint8_t half_power[16] = {1, 8, 8, 32, 32, 32, 32, 128, 1, 8, 8, 32, 32, 32, 32, 128};
    const __m256i nibble = nibbles_of(codes);
    __m256i word = look_up(define_elias_word, nibble), width = look_up(define_elias_width, nibble);

    __m256i low = _mm256_set1_epi16(255), place = _mm256_and_si256(width, low);
    const __m256i factor = _mm256_and_si256(look_up(half_power, nibble), low);
    const __m256i upper = _mm256_slli_epi16(_mm256_mullo_epi16(_mm256_srli_epi16(word, 8), factor), 1);
    word = _mm256_or_si256(_mm256_and_si256(word, low), upper);
    width = _mm256_add_epi16(place, _mm256_srli_epi16(width, 8));

    low = _mm256_set1_epi32(65535);
    place = _mm256_and_si256(width, low);
    word =
        _mm256_or_si256(_mm256_and_si256(word, low), _mm256_sllv_epi32(_mm256_srli_epi32(word, 16), place));
    width = _mm256_add_epi32(place, _mm256_srli_epi32(width, 16));

    low = _mm256_set1_epi64x(0xffffffff);
    place = _mm256_and_si256(width, low);
    word =
        _mm256_or_si256(_mm256_and_si256(word, low), _mm256_sllv_epi64(_mm256_srli_epi64(word, 32), place));
    width = _mm256_add_epi64(place, _mm256_srli_epi64(width, 32));

    store_bits(words, word);
    const __m256i bytes = _mm256_shuffle_epi8(width, _mm256_set1_epi16(0x0800)); /* two of each half */
    put_u16(widths, (uint16_t)_mm256_extract_epi16(bytes, 0));
    put_u16(widths + 2, (uint16_t)_mm256_extract_epi16(bytes, 8));
}

static void avx2_elias_groups(const uint8_t *codes, size_t groups, uint64_t *words, uint8_t *widths)
{
    size_t g = 0;
    for (; g + 4 <= groups; g += 4) elias32(codes + 8 * g, words + g, widths + g);
    define_elias_groups(codes + 8 * g, groups - g, words + g, widths + g);
}

/* ---- added up ----------------------------------------------------------------------------------------- */

/* Eight values from two registers: three bits of `place` say which, the top bit of `is_second` of which register. */
static inline void add8(__m256 first, __m256 second, __m256i place, __m256i is_second, float *y)
{
    const __m256 value =
        _mm256_blendv_ps(_mm256_permutevar8x32_ps(first, place), _mm256_permutevar8x32_ps(second, place),
                         _mm256_castsi256_ps(is_second));
    _mm256_storeu_ps(y, _mm256_add_ps(_mm256_loadu_ps(y), value));
}

static void avx2_nibbles_add(const uint8_t *src, size_t n, const float table[16], float *y)
{
    const __m256 plus = _mm256_loadu_ps(table), minus = _mm256_loadu_ps(table + 8);
    const __m256i down = _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28),
                  up = _mm256_setr_epi32(28, 24, 20, 16, 12, 8, 4, 0);
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        prefetch(y + i);
        for (size_t h = 0; h < 2; h++) {
            const __m256i word = _mm256_set1_epi32((int)get_u32(src + i / 2 + 4 * h));
            add8(plus, minus, _mm256_srlv_epi32(word, down), _mm256_sllv_epi32(word, up), y + i + 8 * h);
        }
    }
    define_nibbles_add(src + i / 2, n - i, table, y + i);
}

/* Levels below 8 stand in two registers, with plus and with minus. */
static size_t few_codes_add(const uint8_t *codes, size_t n, const float table[256], float *y)
{
    const __m256 plus = _mm256_loadu_ps(table), minus = _mm256_loadu_ps(table + 128);
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        prefetch(y + i);
        const __m256i code =
            _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)(codes + i)));
        add8(plus, minus, code, _mm256_slli_epi32(code, 24), y + i);
    }
    return i;
}

/* Of more levels every value is fetched by itself: gathers, and sums one by one, took 1.5 to 2 times as long on a Zen 3. */
static size_t many_codes_add(const uint8_t *codes, size_t n, const float table[256], float *y)
{
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        prefetch(y + i);
        const uint64_t c = get_u64(codes + i);
        const __m256 value =
            _mm256_setr_ps(table[c & 255], table[c >> 8 & 255], table[c >> 16 & 255], table[c >> 24 & 255],
                           table[c >> 32 & 255], table[c >> 40 & 255], table[c >> 48 & 255], table[c >> 56]);
        _mm256_storeu_ps(y + i, _mm256_add_ps(_mm256_loadu_ps(y + i), value));
    }
    return i;
}

static void avx2_codes_add(const uint8_t *codes, size_t n, unsigned s, const float table[256], float *y)
{
    const size_t done = s < 8 ? few_codes_add(codes, n, table, y) : many_codes_add(codes, n, table, y);
    define_codes_add(codes + done, n - done, s, table, y + done);
}

#endif
