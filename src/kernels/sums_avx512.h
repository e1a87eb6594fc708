/* sums_avx512.h - sums over vectors: sixteen lanes of doubles are two registers, thirty-two are four. Part of kernels_avx512.c. */
#ifndef KERNELS_SUMS_AVX512_H
#define KERNELS_SUMS_AVX512_H

#include "kernels/avx512.h"
#include "kernels/define_late.h"

static inline double fold(__m512d low, __m512d high)
{
    double lane[16];
    _mm512_storeu_pd(lane, low);
    _mm512_storeu_pd(lane + 8, high);
    return define_fold(lane);
}

/* Eight floats as doubles, straight from memory: from a register it would take a shuffle more. */
static inline __m512d widen(const float *x)
{
    return _mm512_cvtps_pd(_mm256_loadu_ps(x));
}

/* The end of a vector, filled up with zeros, which add nothing. */
static inline const float *padded(const float *x, size_t n, float *room)
{
    _mm512_storeu_ps(room, _mm512_maskz_loadu_ps(first_lanes(n), x));
    return room;
}

static inline double avx512_sum_abs(const float *x, size_t n)
{
    __m512d low = _mm512_setzero_pd(), high = low;
    float end[16];
    for (size_t i = 0; i < n; i += 16) {
        const float *v = i + 16 <= n ? x + i : padded(x + i, n - i, end);
        prefetch(x + i);
        low = _mm512_add_pd(low, _mm512_abs_pd(widen(v)));
        high = _mm512_add_pd(high, _mm512_abs_pd(widen(v + 8)));
    }
    return fold(low, high);
}

static inline double avx512_sum_squares(const float *x, size_t n)
{
    __m512d low = _mm512_setzero_pd(), high = low;
    float end[16];
    for (size_t i = 0; i < n; i += 16) {
        const float *v = i + 16 <= n ? x + i : padded(x + i, n - i, end);
        prefetch(x + i);
        const __m512d a = widen(v), b = widen(v + 8);
        low = _mm512_add_pd(low, _mm512_mul_pd(a, a));
        high = _mm512_add_pd(high, _mm512_mul_pd(b, b));
    }
    return fold(low, high);
}

static inline double avx512_sum_below(const float *x, size_t n, float limit, size_t *others)
{
    __m512d low = _mm512_setzero_pd(), high = low;
    size_t count = 0;
    for (size_t i = 0; i < n; i += 16) {
        prefetch(x + i);
        const __mmask16 lanes = first_lanes(n - i);
        const __m512 v = _mm512_abs_ps(_mm512_maskz_loadu_ps(lanes, x + i));
        const __mmask16 rest = _mm512_mask_cmp_ps_mask(lanes, v, _mm512_set1_ps(limit), _CMP_GE_OQ);
        const __m512 below = _mm512_maskz_mov_ps((__mmask16)~rest, v);
        low = _mm512_add_pd(low, _mm512_cvtps_pd(_mm512_castps512_ps256(below)));
        high = _mm512_add_pd(high, _mm512_cvtps_pd(_mm512_extractf32x8_ps(below, 1)));
        count += count_lanes(rest);
    }
    *others = count;
    return fold(low, high);
}

static inline double fold_wide(const __m512d sum[4])
{
    return fold(_mm512_add_pd(sum[0], sum[2]), _mm512_add_pd(sum[1], sum[3]));
}

/* The product of two floats is exact, so fused or not it is rounded once. */
static inline void avx512_drift(float *before, const float *now, size_t n, double sums[2])
{
    __m512d along[4] = {_mm512_setzero_pd(), _mm512_setzero_pd(), _mm512_setzero_pd(), _mm512_setzero_pd()},
            squares[4] = {along[0], along[0], along[0], along[0]};
    float end[2][WIDE_LANES];
    for (size_t i = 0; i < n; i += WIDE_LANES) {
        const bool whole = i + WIDE_LANES <= n;
        const float *a = whole ? before + i : padded_wide(before + i, n - i, end[0]);
        const float *b = whole ? now + i : padded_wide(now + i, n - i, end[1]);
        for (int h = 0; h < 2; h++) {
            prefetch(before + i + LANES * h);
            prefetch(now + i + LANES * h);
        }
#pragma GCC unroll 4
        for (int q = 0; q < 4; q++) {
            const __m512d wide = widen(b + 8 * q);
            along[q] = _mm512_fmadd_pd(widen(a + 8 * q), wide, along[q]);
            squares[q] = _mm512_fmadd_pd(wide, wide, squares[q]);
        }
        memcpy(before + i, b, (whole ? WIDE_LANES : n - i) * sizeof *b);
    }
    sums[0] = fold_wide(along);
    sums[1] = fold_wide(squares);
}

static inline double avx512_keep(float *copy, const float *x, size_t n)
{
    __m512d sum[4] = {_mm512_setzero_pd(), _mm512_setzero_pd(), _mm512_setzero_pd(), _mm512_setzero_pd()};
    float end[WIDE_LANES];
    for (size_t i = 0; i < n; i += WIDE_LANES) {
        const bool whole = i + WIDE_LANES <= n;
        const float *v = whole ? x + i : padded_wide(x + i, n - i, end);
        prefetch(x + i);
        prefetch(x + i + LANES);
#pragma GCC unroll 4
        for (int q = 0; q < 4; q++) {
            const __m512d wide = widen(v + 8 * q);
            sum[q] = _mm512_fmadd_pd(wide, wide, sum[q]);
        }
        if (copy) memcpy(copy + i, v, (whole ? WIDE_LANES : n - i) * sizeof *v);
    }
    return fold_wide(sum);
}

#endif
