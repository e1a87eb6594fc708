/* define_late.h - sums over several vectors in one pass, for a tuner that asks how much waiting costs (tuner/late.h). */
#ifndef KERNELS_DEFINE_LATE_H
#define KERNELS_DEFINE_LATE_H

#include "kernels/define_sums.h"
#include "kernels/kernels.h"

static inline void define_drift(const float *g, float *before, const float *moved, const float *x, size_t n,
                                double sums[3])
{
    double along[LANES] = {0}, squares[LANES] = {0}, energy[LANES] = {0};
    for (size_t i = 0; i < n; i += LANES) {
        const int many = n - i < LANES ? (int)(n - i) : LANES;
        for (int j = 0; j < many; j++) {
            const double now = (double)g[i + (size_t)j], formed = (double)x[i + (size_t)j];
            along[j] += now * (double)moved[i + (size_t)j];
            squares[j] += now * now;
            energy[j] += formed * formed;
            before[i + (size_t)j] = g[i + (size_t)j];
        }
    }
    sums[0] = define_fold(along);
    sums[1] = define_fold(squares);
    sums[2] = define_fold(energy);
}

static inline void define_gains(const float *g, const float *update, float *moved, size_t n, double sums[2])
{
    double gain[LANES] = {0}, squares[LANES] = {0};
    for (size_t i = 0; i < n; i += LANES) {
        const int many = n - i < LANES ? (int)(n - i) : LANES;
        for (int j = 0; j < many; j++) {
            const double u = (double)update[i + (size_t)j];
            gain[j] += (double)g[i + (size_t)j] * u;
            squares[j] += u * u;
            moved[i + (size_t)j] = update[i + (size_t)j];
        }
    }
    sums[0] = define_fold(gain);
    sums[1] = define_fold(squares);
}

#define DEFINE_LATE .drift = define_drift, .gains = define_gains

#endif
