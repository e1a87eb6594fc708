/* half_avx512.h - halves and signs, sixteen at a time; part of kernels_avx512.c. */
#ifndef KERNELS_HALF_AVX512_H
#define KERNELS_HALF_AVX512_H

#include <immintrin.h>

#include "kernels/define.h"

enum { HALF_AHEAD = 2048 /* bytes */ };

static inline void half_prefetch(const void *p)
{
    _mm_prefetch((const char *)p + HALF_AHEAD, _MM_HINT_T0);
}

static inline __m256i half_load(const uint8_t *src)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)src);
}

static inline void half_add(__m512 value, __m512 scale, float *y)
{
    _mm512_storeu_ps(y, _mm512_add_ps(_mm512_loadu_ps(y), _mm512_mul_ps(scale, value)));
}

static void avx512_f16_encode(const float *x, size_t n, uint8_t *dst)
{
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        half_prefetch(x + i);
        const __m256i half =
            _mm512_cvtps_ph(_mm512_loadu_ps(x + i), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
        _mm256_storeu_si256((__m256i *)(void *)(dst + 2 * i), half);
    }
    define_f16_encode(x + i, n - i, dst + 2 * i);
}

static void avx512_f16_add(const uint8_t *src, size_t n, float scale, float *y)
{
    const __m512 factor = _mm512_set1_ps(scale);
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        half_prefetch(y + i);
        half_add(_mm512_cvtph_ps(half_load(src + 2 * i)), factor, y + i);
    }
    define_f16_add(src + 2 * i, n - i, scale, y + i);
}

static void avx512_bf16_add(const uint8_t *src, size_t n, float scale, float *y)
{
    const __m512 factor = _mm512_set1_ps(scale);
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        half_prefetch(y + i);
        const __m512i bits = _mm512_slli_epi32(_mm512_cvtepu16_epi32(half_load(src + 2 * i)), 16);
        half_add(_mm512_castsi512_ps(bits), factor, y + i);
    }
    define_bf16_add(src + 2 * i, n - i, scale, y + i);
}

static void avx512_sign_encode(const float *x, size_t n, uint8_t *signs)
{
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        half_prefetch(x + i);
        put_u16(signs + i / 8, _mm512_cmp_ps_mask(_mm512_loadu_ps(x + i), _mm512_setzero_ps(), _CMP_LT_OQ));
    }
    define_sign_encode(x + i, n - i, signs + i / 8);
}

static void avx512_sign_add(const uint8_t *signs, size_t n, float value, float *y)
{
    const __m512 plus = _mm512_set1_ps(value), minus = _mm512_set1_ps(-value);
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        half_prefetch(y + i);
        const __m512 added = _mm512_mask_blend_ps(get_u16(signs + i / 8), plus, minus);
        _mm512_storeu_ps(y + i, _mm512_add_ps(_mm512_loadu_ps(y + i), added));
    }
    define_sign_add(signs + i / 8, n - i, value, y + i);
}

#endif
