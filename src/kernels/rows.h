/* rows.h - what the kernels of learning compute: products of data rows with the iterate, and the logistic loss.
 *
 * Rows are float, all else is double; sums run over sixteen lanes, as everywhere. Rows come four at a time, so that x
 * and g are read once for four of them; fewer are taken one by one, to the same bits. Included by define.h, so
 * every table compiles it with its own flags. */
#ifndef KERNELS_ROWS_H
#define KERNELS_ROWS_H

#include <math.h>
#include <string.h>

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

/* With m = label * product and t = exp(-|m|), which is never large: loss = log(1 + exp(-m)) = max(-m, 0) + log1p(t),
 * and its derivative along the product is -label / (1 + exp(m)). One exponential serves both. */
static inline void define_logistic(const double *restrict products, const double *restrict labels, size_t n,
                                   double *restrict losses, double *restrict slopes)
{
    for (size_t i = 0; i < n; i++) {
        const double m = labels[i] * products[i], t = smooth_exp_minus(fabs(m));
        losses[i] = (m < 0 ? -m : 0) + smooth_log1p(t);
        slopes[i] = -labels[i] * ((m < 0 ? 1 : t) / (1 + t));
    }
}

#define DEFINE_ROWS .rows_dot = define_rows_dot, .rows_add = define_rows_add, .logistic = define_logistic

#endif
