/* rows.h - what the kernels of learning compute: products of data rows with the iterate, and the logistic loss.
 *
 * Rows are float, all else is double; sums run over sixteen lanes, as everywhere. Rows come four at a time, so that x
 * and g are read once for four of them; fewer are taken one by one, to the same bits. Included by define.h, so
 * every table compiles it with its own flags. */
#ifndef KERNELS_ROWS_H
#define KERNELS_ROWS_H

#include <math.h>
#include <string.h>

#include "base/bytes.h"
#include "kernels/kernels.h"
#include "kernels/smooth.h"

#if defined(__AVX2__)
#include "kernels/rows_x86.h"
#else

/* Element i goes to lane i mod 16; what does not fill sixteen lanes is left: they return where that begins. */
static inline size_t rows_dot4(const float *const *rows, const float *const *ahead, const double *x, size_t n,
                               double lanes[4][16])
{
    (void)ahead;
    memset(lanes, 0, 4 * sizeof *lanes);
    size_t i = 0;
    for (; i + 16 <= n; i += 16)
        for (int r = 0; r < 4; r++)
            for (size_t j = 0; j < 16; j++) lanes[r][j] += (double)rows[r][i + j] * x[i + j];
    return i;
}

static inline size_t rows_add4(const float *const *rows, const float *const *ahead, const double *scales,
                               size_t n, double *g)
{
    (void)ahead;
    const float *a = rows[0], *b = rows[1], *c = rows[2], *d = rows[3];
    for (size_t i = 0; i < n; i++) {
        const double sum = g[i] + scales[0] * (double)a[i] + scales[1] * (double)b[i];
        g[i] = sum + scales[2] * (double)c[i] + scales[3] * (double)d[i];
    }
    return n;
}

#endif

static inline double rows_fold(double lane[16], const float *row, const double *x, size_t n)
{
    for (size_t i = 0; i < n; i++) lane[i] += (double)row[i] * x[i];
    for (int width = 8; width; width /= 2)
        for (int j = 0; j < width; j++) lane[j] += lane[j + width];
    return lane[0];
}

static inline void define_rows_dot(const float *const *rows, unsigned count, const float *const *ahead,
                                   const double *x, size_t n, double *dots)
{
    double lanes[4][16];
    if (count == 4) {
        const size_t i = rows_dot4(rows, ahead, x, n, lanes);
        for (int r = 0; r < 4; r++) dots[r] = rows_fold(lanes[r], rows[r] + i, x + i, n - i);
        return;
    }
    for (unsigned r = 0; r < count; r++) {
        memset(lanes[0], 0, sizeof *lanes);
        size_t i = 0;
        for (; i + 16 <= n; i += 16)
            for (size_t j = 0; j < 16; j++) lanes[0][j] += (double)rows[r][i + j] * x[i + j];
        dots[r] = rows_fold(lanes[0], rows[r] + i, x + i, n - i);
    }
}

/* One row after the other, for each number: as if the rows had been added one by one. */
static inline void define_rows_add(const float *const *rows, unsigned count, const float *const *ahead,
                                   const double *scales, size_t n, double *g)
{
    if (count == 4) {
        for (size_t i = rows_add4(rows, ahead, scales, n, g); i < n; i++)
            for (int r = 0; r < 4; r++) g[i] += scales[r] * (double)rows[r][i];
        return;
    }
    for (unsigned r = 0; r < count; r++)
        for (size_t i = 0; i < n; i++) g[i] += scales[r] * (double)rows[r][i];
}

/* Element i goes to lane i mod 8 here: rows are short. The lanes are named, so that they stay in registers. */
static inline double define_sparse_dot(const uint32_t *indices, const float *values, size_t n,
                                       const double *x)
{
#if defined(__AVX512F__)
    return rows_sparse_dot(indices, values, n, x);
#else
    double a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0;
    for (; n >= 8; n -= 8, indices += 8, values += 8) {
        a += (double)values[0] * x[indices[0]];
        b += (double)values[1] * x[indices[1]];
        c += (double)values[2] * x[indices[2]];
        d += (double)values[3] * x[indices[3]];
        e += (double)values[4] * x[indices[4]];
        f += (double)values[5] * x[indices[5]];
        g += (double)values[6] * x[indices[6]];
        h += (double)values[7] * x[indices[7]];
    }
    if (n > 0) a += (double)values[0] * x[indices[0]];
    if (n > 1) b += (double)values[1] * x[indices[1]];
    if (n > 2) c += (double)values[2] * x[indices[2]];
    if (n > 3) d += (double)values[3] * x[indices[3]];
    if (n > 4) e += (double)values[4] * x[indices[4]];
    if (n > 5) f += (double)values[5] * x[indices[5]];
    if (n > 6) g += (double)values[6] * x[indices[6]];
    return ((a + e) + (c + g)) + ((b + f) + (d + h));
#endif
}

/* With m = label * product and t = exp(-|m|), which is never large: loss = log(1 + exp(-m)) = max(-m, 0) + log1p(t),
 * and its derivative along the product is -label / (1 + exp(m)). One exponential serves both. */
static inline void define_logistic(const double *restrict products, const double *restrict labels, size_t n,
                                   double *restrict losses, double *restrict slopes)
{
    for (size_t i = 0; i < n; i++) {
        const double m = labels[i] * products[i], t = smooth_exp_minus(m);
        /* m < 0 ? -m : 0, and m < 0 ? 1 : t, with masks: compilers do not vectorise the choice */
        const uint64_t negative = -(f64_bits(m) >> 63);
        const double excess = f64_from_bits(f64_bits(-m) & negative);
        const double above = f64_from_bits((f64_bits(1) & negative) | (f64_bits(t) & ~negative));
        losses[i] = excess + smooth_log1p(t);
        slopes[i] = -labels[i] * (above / (1 + t));
    }
}

#define DEFINE_ROWS                                                                            \
    .rows_dot = define_rows_dot, .rows_add = define_rows_add, .sparse_dot = define_sparse_dot, \
    .logistic = define_logistic

#endif
