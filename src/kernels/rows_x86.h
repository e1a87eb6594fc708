/* rows_x86.h - products with rows on x86: rows.h says what they compute, and the compiler does not find these loops by
 * itself (it takes conversions apart and keeps sums in memory). The instruction set is that of the including file. */
#ifndef KERNELS_ROWS_X86_H
#define KERNELS_ROWS_X86_H

#include <immintrin.h>

/* Memory is read while the processor computes, in both passes alike. */
static inline void row_ask(const float *p)
{
    _mm_prefetch((const char *)p, _MM_HINT_T1);
}

#if defined(__AVX512F__)

static inline __m512d row_load(const float *p)
{
    return _mm512_cvtps_pd(_mm256_loadu_ps(p));
}

/* Sixteen lanes are two registers to a row. */
static inline size_t rows_dot4(const float *const *rows, const float *const *ahead, const double *x, size_t n,
                               double lanes[4][16])
{
    const float *a = rows[0], *b = rows[1], *c = rows[2], *d = rows[3];
    __m512d a0 = _mm512_setzero_pd(), b0 = a0, c0 = a0, d0 = a0, a1 = a0, b1 = a0, c1 = a0, d1 = a0;
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        row_ask(ahead[0] + i);
        row_ask(ahead[1] + i);
        const __m512d x0 = _mm512_loadu_pd(x + i), x1 = _mm512_loadu_pd(x + i + 8);
        a0 = _mm512_add_pd(a0, _mm512_mul_pd(row_load(a + i), x0));
        b0 = _mm512_add_pd(b0, _mm512_mul_pd(row_load(b + i), x0));
        c0 = _mm512_add_pd(c0, _mm512_mul_pd(row_load(c + i), x0));
        d0 = _mm512_add_pd(d0, _mm512_mul_pd(row_load(d + i), x0));
        a1 = _mm512_add_pd(a1, _mm512_mul_pd(row_load(a + i + 8), x1));
        b1 = _mm512_add_pd(b1, _mm512_mul_pd(row_load(b + i + 8), x1));
        c1 = _mm512_add_pd(c1, _mm512_mul_pd(row_load(c + i + 8), x1));
        d1 = _mm512_add_pd(d1, _mm512_mul_pd(row_load(d + i + 8), x1));
    }
    const __m512d low[4] = {a0, b0, c0, d0}, high[4] = {a1, b1, c1, d1};
    for (int r = 0; r < 4; r++) {
        _mm512_storeu_pd(lanes[r], low[r]);
        _mm512_storeu_pd(lanes[r] + 8, high[r]);
    }
    return i;
}

static inline size_t rows_add4(const float *const *rows, const float *const *ahead, const double *scales,
                               size_t n, double *g)
{
    const float *a = rows[0], *b = rows[1], *c = rows[2], *d = rows[3];
    const __m512d sa = _mm512_set1_pd(scales[0]), sb = _mm512_set1_pd(scales[1]),
                  sc = _mm512_set1_pd(scales[2]), sd = _mm512_set1_pd(scales[3]);
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        if (i % 16 == 0) {
            row_ask(ahead[2] + i);
            row_ask(ahead[3] + i);
        }
        __m512d sum = _mm512_add_pd(_mm512_loadu_pd(g + i), _mm512_mul_pd(sa, row_load(a + i)));
        sum = _mm512_add_pd(sum, _mm512_mul_pd(sb, row_load(b + i)));
        sum = _mm512_add_pd(sum, _mm512_mul_pd(sc, row_load(c + i)));
        _mm512_storeu_pd(g + i, _mm512_add_pd(sum, _mm512_mul_pd(sd, row_load(d + i))));
    }
    return i;
}

/* The mask takes the place of the loop over what is left, whose end is hard to foresee in short rows. */
static inline double rows_sparse_dot(const uint32_t *indices, const float *values, size_t n, const double *x)
{
    __m512d sum = _mm512_setzero_pd();
    for (size_t i = 0; i < n; i += 8) {
        const __mmask8 there = (__mmask8)(n - i >= 8 ? 255 : (1u << (n - i)) - 1);
        const __m256i at = _mm256_maskz_loadu_epi32(there, indices + i);
        const __m512d taken = _mm512_mask_i32gather_pd(_mm512_setzero_pd(), there, at, x, 8);
        const __m512d value = _mm512_cvtps_pd(_mm256_maskz_loadu_ps(there, values + i));
        sum = _mm512_mask_add_pd(sum, there, sum, _mm512_mul_pd(value, taken));
    }
    const __m256d four = _mm256_add_pd(_mm512_castpd512_pd256(sum), _mm512_extractf64x4_pd(sum, 1));
    const __m128d two = _mm_add_pd(_mm256_castpd256_pd128(four), _mm256_extractf128_pd(four, 1));
    return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
}

#else /* AVX2 */

static inline __m256d row_load(const float *p)
{
    return _mm256_cvtps_pd(_mm_loadu_ps(p));
}

/* Sixteen lanes are four registers to a row, so there is room for two rows at a time. */
static inline void rows_dot2(const float *a, const float *b, const float *ahead, const double *x, size_t n,
                             double lanes[2][16])
{
    __m256d a0 = _mm256_setzero_pd(), a1 = a0, a2 = a0, a3 = a0, b0 = a0, b1 = a0, b2 = a0, b3 = a0;
    for (size_t i = 0; i + 16 <= n; i += 16) {
        row_ask(ahead + i);
        const __m256d x0 = _mm256_loadu_pd(x + i), x1 = _mm256_loadu_pd(x + i + 4);
        const __m256d x2 = _mm256_loadu_pd(x + i + 8), x3 = _mm256_loadu_pd(x + i + 12);
        a0 = _mm256_add_pd(a0, _mm256_mul_pd(row_load(a + i), x0));
        a1 = _mm256_add_pd(a1, _mm256_mul_pd(row_load(a + i + 4), x1));
        a2 = _mm256_add_pd(a2, _mm256_mul_pd(row_load(a + i + 8), x2));
        a3 = _mm256_add_pd(a3, _mm256_mul_pd(row_load(a + i + 12), x3));
        b0 = _mm256_add_pd(b0, _mm256_mul_pd(row_load(b + i), x0));
        b1 = _mm256_add_pd(b1, _mm256_mul_pd(row_load(b + i + 4), x1));
        b2 = _mm256_add_pd(b2, _mm256_mul_pd(row_load(b + i + 8), x2));
        b3 = _mm256_add_pd(b3, _mm256_mul_pd(row_load(b + i + 12), x3));
    }
    const __m256d first[4] = {a0, a1, a2, a3}, second[4] = {b0, b1, b2, b3};
    for (int q = 0; q < 4; q++) {
        _mm256_storeu_pd(lanes[0] + 4 * q, first[q]);
        _mm256_storeu_pd(lanes[1] + 4 * q, second[q]);
    }
}

static inline size_t rows_dot4(const float *const *rows, const float *const *ahead, const double *x, size_t n,
                               double lanes[4][16])
{
    rows_dot2(rows[0], rows[1], ahead[0], x, n, lanes);
    rows_dot2(rows[2], rows[3], ahead[1], x, n, lanes + 2);
    return n / 16 * 16;
}

static inline size_t rows_add4(const float *const *rows, const float *const *ahead, const double *scales,
                               size_t n, double *g)
{
    const float *a = rows[0], *b = rows[1], *c = rows[2], *d = rows[3];
    const __m256d sa = _mm256_set1_pd(scales[0]), sb = _mm256_set1_pd(scales[1]),
                  sc = _mm256_set1_pd(scales[2]), sd = _mm256_set1_pd(scales[3]);
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        if (i % 16 == 0) {
            row_ask(ahead[2] + i);
            row_ask(ahead[3] + i);
        }
        __m256d sum = _mm256_add_pd(_mm256_loadu_pd(g + i), _mm256_mul_pd(sa, row_load(a + i)));
        sum = _mm256_add_pd(sum, _mm256_mul_pd(sb, row_load(b + i)));
        sum = _mm256_add_pd(sum, _mm256_mul_pd(sc, row_load(c + i)));
        _mm256_storeu_pd(g + i, _mm256_add_pd(sum, _mm256_mul_pd(sd, row_load(d + i))));
    }
    return i;
}

#endif
#endif
