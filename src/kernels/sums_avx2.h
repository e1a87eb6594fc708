/* sums_avx2.h - sums over vectors: sixteen lanes of doubles are four registers. Part of kernels_avx2.c. */
#ifndef KERNELS_SUMS_AVX2_H
#define KERNELS_SUMS_AVX2_H

#include "kernels/avx2.h"
#include "kernels/define_late.h"

/* As define_fold: halves are added until one lane is left. */
static inline double fold(const __m256d sum[4])
{
    const __m256d four = _mm256_add_pd(_mm256_add_pd(sum[0], sum[2]), _mm256_add_pd(sum[1], sum[3]));
    const __m128d two = _mm_add_pd(_mm256_castpd256_pd128(four), _mm256_extractf128_pd(four, 1));
    return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
}

/* The end of a vector, filled up to sixteen numbers with what counts for nothing. */
static inline const float *padded(const float *x, size_t n, float filler, float room[LANES])
{
    static const int32_t here[2 * LANES] = {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};
    for (size_t h = 0; h < LANES; h += 8) {
        const __m256i mask = load_bits(here + LANES - n + h);
        const __m256 v = _mm256_maskload_ps(x + h, mask); /* does not touch what is beyond the end */
        _mm256_storeu_ps(room + h, _mm256_blendv_ps(_mm256_set1_ps(filler), v, _mm256_castsi256_ps(mask)));
    }
    return room;
}

static inline __m256d widen(const float *x)
{
    return _mm256_cvtps_pd(_mm_loadu_ps(x));
}

static inline __m256 magnitudes(const float *x)
{
    return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), _mm256_loadu_ps(x));
}

static double avx2_sum_abs(const float *x, size_t n)
{
    __m256d sum[4] = {_mm256_setzero_pd(), _mm256_setzero_pd(), _mm256_setzero_pd(), _mm256_setzero_pd()};
    float end[LANES];
    for (size_t i = 0; i < n; i += LANES) {
        const float *v = i + LANES <= n ? x + i : padded(x + i, n - i, 0, end);
        prefetch(x + i);
        for (int q = 0; q < 4; q++)
            sum[q] = _mm256_add_pd(sum[q], _mm256_andnot_pd(_mm256_set1_pd(-0.0), widen(v + 4 * q)));
    }
    return fold(sum);
}

static double avx2_sum_squares(const float *x, size_t n)
{
    __m256d sum[4] = {_mm256_setzero_pd(), _mm256_setzero_pd(), _mm256_setzero_pd(), _mm256_setzero_pd()};
    float end[LANES];
    for (size_t i = 0; i < n; i += LANES) {
        const float *v = i + LANES <= n ? x + i : padded(x + i, n - i, 0, end);
        prefetch(x + i);
        for (int q = 0; q < 4; q++) {
            const __m256d wide = widen(v + 4 * q);
            sum[q] = _mm256_add_pd(sum[q], _mm256_mul_pd(wide, wide));
        }
    }
    return fold(sum);
}

/* Thirty-two lanes: eight registers. */
static inline double fold_wide(__m256d sum[8])
{
    for (int q = 0; q < 4; q++) sum[q] = _mm256_add_pd(sum[q], sum[q + 4]);
    return fold(sum);
}

static void avx2_drift(float *before, const float *now, size_t n, double sums[2])
{
    __m256d along[8], squares[8];
    float end[2][WIDE_LANES];
    for (int q = 0; q < 8; q++) along[q] = squares[q] = _mm256_setzero_pd();
    for (size_t i = 0; i < n; i += WIDE_LANES) {
        const bool whole = i + WIDE_LANES <= n;
        const float *a = whole ? before + i : padded_wide(before + i, n - i, end[0]);
        const float *b = whole ? now + i : padded_wide(now + i, n - i, end[1]);
        for (int q = 0; q < 8; q++) {
            const __m256d wide = widen(b + 4 * q);
            along[q] = _mm256_add_pd(along[q], _mm256_mul_pd(widen(a + 4 * q), wide));
            squares[q] = _mm256_add_pd(squares[q], _mm256_mul_pd(wide, wide));
        }
        memcpy(before + i, b, (whole ? WIDE_LANES : n - i) * sizeof *b);
    }
    sums[0] = fold_wide(along);
    sums[1] = fold_wide(squares);
}

static double avx2_keep(float *copy, const float *x, size_t n)
{
    __m256d sum[8];
    float end[WIDE_LANES];
    for (int q = 0; q < 8; q++) sum[q] = _mm256_setzero_pd();
    for (size_t i = 0; i < n; i += WIDE_LANES) {
        const bool whole = i + WIDE_LANES <= n;
        const float *v = whole ? x + i : padded_wide(x + i, n - i, end);
        prefetch(x + i);
        prefetch(x + i + LANES);
        for (int q = 0; q < 8; q++) {
            const __m256d wide = widen(v + 4 * q);
            sum[q] = _mm256_add_pd(sum[q], _mm256_mul_pd(wide, wide));
        }
        if (copy) memcpy(copy + i, v, (whole ? WIDE_LANES : n - i) * sizeof *v);
    }
    return fold_wide(sum);
}

/* A filler that is not a number is neither below the limit nor above. */
static double avx2_sum_below(const float *x, size_t n, float limit, size_t *others)
{
    __m256d sum[4] = {_mm256_setzero_pd(), _mm256_setzero_pd(), _mm256_setzero_pd(), _mm256_setzero_pd()};
    const __m256 limits = _mm256_set1_ps(limit);
    float end[LANES];
    size_t count = 0;
    for (size_t i = 0; i < n; i += LANES) {
        const float *v = i + LANES <= n ? x + i : padded(x + i, n - i, NAN, end);
        prefetch(x + i);
        for (int h = 0; h < 2; h++) {
            const __m256 magnitude = magnitudes(v + 8 * h);
            const __m256 below = _mm256_and_ps(magnitude, _mm256_cmp_ps(magnitude, limits, _CMP_LT_OQ));
            const __m256 rest = _mm256_cmp_ps(magnitude, limits, _CMP_GE_OQ);
            sum[2 * h] = _mm256_add_pd(sum[2 * h], _mm256_cvtps_pd(_mm256_castps256_ps128(below)));
            sum[2 * h + 1] = _mm256_add_pd(sum[2 * h + 1], _mm256_cvtps_pd(_mm256_extractf128_ps(below, 1)));
            count += (size_t)__builtin_popcount((unsigned)_mm256_movemask_ps(rest));
        }
    }
    *others = count;
    return fold(sum);
}

/* As integers, magnitudes compare in the order of their bits. The four quarters of a vector are read side by side, which
 * is faster where memory has to be waited for. */
static float avx2_max_abs(const float *x, size_t n)
{
    enum { PLACES = 4 };
    const size_t quarter = n / PLACES / LANES * LANES;
    __m256i max = _mm256_setzero_si256();
    for (size_t i = 0; i < quarter; i += LANES)
        for (size_t q = 0; q < PLACES; q++) {
            const float *v = x + q * quarter + i;
            prefetch(v);
            const __m256i a = _mm256_castps_si256(magnitudes(v)), b = _mm256_castps_si256(magnitudes(v + 8));
            max = _mm256_max_epu32(max, _mm256_max_epu32(a, b));
        }
    float found[9];
    _mm256_storeu_ps(found, _mm256_castsi256_ps(max));
    found[8] = define_max_abs(x + PLACES * quarter, n - PLACES * quarter);
    return define_max_abs(found, 9);
}

#endif
