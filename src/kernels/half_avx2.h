/* half_avx2.h - halves and signs, eight at a time, with F16C; part of kernels_avx2.c. */
#ifndef KERNELS_HALF_AVX2_H
#define KERNELS_HALF_AVX2_H

#include <cpuid.h>
#include <immintrin.h>

#include "kernels/define.h"

/* Not every compiler knows the name of F16C in __builtin_cpu_supports. */
static bool half_runs_here(void)
{
    unsigned a, b, c, d;
    return __get_cpuid(1, &a, &b, &c, &d) && c & bit_F16C;
}

static inline __m128i half_load(const uint8_t *src)
{
    return _mm_loadu_si128((const __m128i *)(const void *)src);
}

static inline void half_add(__m256 value, __m256 scale, float *y)
{
    _mm256_storeu_ps(y, _mm256_add_ps(_mm256_loadu_ps(y), _mm256_mul_ps(scale, value)));
}

static void avx2_f16_encode(const float *x, size_t n, uint8_t *dst)
{
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm_storeu_si128((__m128i *)(void *)(dst + 2 * i),
                         _mm256_cvtps_ph(_mm256_loadu_ps(x + i), _MM_FROUND_TO_NEAREST_INT));
    define_f16_encode(x + i, n - i, dst + 2 * i);
}

static void avx2_f16_add(const uint8_t *src, size_t n, float scale, float *y)
{
    const __m256 factor = _mm256_set1_ps(scale);
    size_t i = 0;
    for (; i + 8 <= n; i += 8) half_add(_mm256_cvtph_ps(half_load(src + 2 * i)), factor, y + i);
    define_f16_add(src + 2 * i, n - i, scale, y + i);
}

static void avx2_bf16_add(const uint8_t *src, size_t n, float scale, float *y)
{
    const __m256 factor = _mm256_set1_ps(scale);
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        const __m256i bits = _mm256_slli_epi32(_mm256_cvtepu16_epi32(half_load(src + 2 * i)), 16);
        half_add(_mm256_castsi256_ps(bits), factor, y + i);
    }
    define_bf16_add(src + 2 * i, n - i, scale, y + i);
}

static void avx2_sign_encode(const float *x, size_t n, uint8_t *signs)
{
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        const __m256 negative = _mm256_cmp_ps(_mm256_loadu_ps(x + i), _mm256_setzero_ps(), _CMP_LT_OQ);
        signs[i / 8] = (uint8_t)_mm256_movemask_ps(negative);
    }
    define_sign_encode(x + i, n - i, signs + i / 8);
}

static void avx2_sign_add(const uint8_t *signs, size_t n, float value, float *y)
{
    const __m256i top = _mm256_set1_epi32((int)0x80000000), /* and where bit j of the byte gets there */
        place = _mm256_setr_epi32(31, 30, 29, 28, 27, 26, 25, 24);
    const __m256 plus = _mm256_set1_ps(value);
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        const __m256i sign = _mm256_and_si256(_mm256_sllv_epi32(_mm256_set1_epi32(signs[i / 8]), place), top);
        const __m256 added = _mm256_xor_ps(plus, _mm256_castsi256_ps(sign));
        _mm256_storeu_ps(y + i, _mm256_add_ps(_mm256_loadu_ps(y + i), added));
    }
    define_sign_add(signs + i / 8, n - i, value, y + i);
}

#endif
