/* rows.h - what the kernels of learning compute: products of data rows with the iterate, and the logistic loss.
 *
 * Rows are float, all else is double. Vectors of eight are written as such, since the compiler makes of them what each
 * instruction set has; the bits are those of the plain loop over sixteen lanes. Included by define.h, so every table
 * compiles it with its own flags. */
#ifndef KERNELS_ROWS_H
#define KERNELS_ROWS_H

#include "base/bytes.h"
#include "kernels/kernels.h"
#include "kernels/smooth.h"

/* Eight numbers, wherever they begin. */
typedef double row_doubles __attribute__((vector_size(64), aligned(8), may_alias));
typedef float row_floats __attribute__((vector_size(32), aligned(4), may_alias));

/* How far ahead the rows are asked for, in floats. A row is read from memory once, and the processor's own guess
 * stops at the end of a page. */
enum { ROWS_AHEAD = 512 };

static inline __attribute__((always_inline)) void rows_dot_of(const float *const *rows, const unsigned count,
                                                              const double *x, size_t n, double *dots)
{
    row_doubles low[ROWS_AT_ONCE] = {{0}}, high[ROWS_AT_ONCE] = {{0}};
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        const row_doubles x0 = *(const row_doubles *)(x + i), x1 = *(const row_doubles *)(x + i + 8);
        for (unsigned r = 0; r < count; r++) {
            const row_floats a0 = *(const row_floats *)(rows[r] + i),
                             a1 = *(const row_floats *)(rows[r] + i + 8);
            low[r] += __builtin_convertvector(a0, row_doubles) * x0;
            high[r] += __builtin_convertvector(a1, row_doubles) * x1;
        }
    }
    for (unsigned r = 0; r < count; r++) {
        double lane[16];
        *(row_doubles *)lane = low[r];
        *(row_doubles *)(lane + 8) = high[r];
        for (size_t k = i; k < n; k++) lane[k - i] += (double)rows[r][k] * x[k];
        for (int width = 8; width; width /= 2)
            for (int j = 0; j < width; j++) lane[j] += lane[j + width];
        dots[r] = lane[0];
    }
}

static inline void define_rows_dot(const float *const *rows, unsigned count, const double *x, size_t n,
                                   double *dots)
{
    switch (count) { /* the compiler unrolls what it knows the number of */
    case 4: rows_dot_of(rows, 4, x, n, dots); break;
    case 3: rows_dot_of(rows, 3, x, n, dots); break;
    case 2: rows_dot_of(rows, 2, x, n, dots); break;
    default: rows_dot_of(rows, 1, x, n, dots);
    }
}

/* One row after the other, for each number: as if the rows had been added one by one. */
static inline __attribute__((always_inline)) void rows_add_of(const float *const *rows, const unsigned count,
                                                              const double *scales, size_t n, double *g)
{
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        row_doubles sum = *(row_doubles *)(g + i);
        for (unsigned r = 0; r < count; r++)
            sum += scales[r] * __builtin_convertvector(*(const row_floats *)(rows[r] + i), row_doubles);
        *(row_doubles *)(g + i) = sum;
    }
    for (; i < n; i++)
        for (unsigned r = 0; r < count; r++) g[i] += scales[r] * (double)rows[r][i];
}

static inline void define_rows_add(const float *const *rows, unsigned count, const double *scales, size_t n,
                                   double *g)
{
    switch (count) {
    case 4: rows_add_of(rows, 4, scales, n, g); break;
    case 3: rows_add_of(rows, 3, scales, n, g); break;
    case 2: rows_add_of(rows, 2, scales, n, g); break;
    default: rows_add_of(rows, 1, scales, n, g);
    }
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
