/* define_late.h - sums over two vectors in one pass, for a tuner that asks how much waiting costs (tuner/late.h). */
#ifndef KERNELS_DEFINE_LATE_H
#define KERNELS_DEFINE_LATE_H

#include "kernels/define_sums.h"
#include "kernels/kernels.h"

static inline void define_drift(float *before, const float *now, size_t n, double sums[2])
{
    double along[LANES] = {0}, squares[LANES] = {0};
    for (size_t i = 0; i < n; i += LANES) {
        const int many = n - i < LANES ? (int)(n - i) : LANES;
        for (int j = 0; j < many; j++) {
            const size_t at = i + (size_t)j;
            const double v = (double)now[at];
            along[j] += (double)before[at] * v;
            squares[j] += v * v;
            before[at] = now[at];
        }
    }
    sums[0] = define_fold(along);
    sums[1] = define_fold(squares);
}

static inline double define_keep(float *copy, const float *x, size_t n)
{
    const double squares = define_sum_squares(x, n);
    if (n) memcpy(copy, x, n * sizeof *x);
    return squares;
}

#define DEFINE_LATE .drift = define_drift, .keep = define_keep

#endif
