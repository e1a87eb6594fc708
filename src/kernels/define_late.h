/* define_late.h - sums over several vectors in one pass, for a tuner that asks how much waiting costs (tuner/late.h). Lanes
 * and folding are those of define.h, which includes this. */
#ifndef KERNELS_DEFINE_LATE_H
#define KERNELS_DEFINE_LATE_H

#include "kernels/kernels.h"

enum { LATE_LANES = 16 };

static inline double define_late_fold(double lane[LATE_LANES])
{
    for (int width = LATE_LANES / 2; width; width /= 2)
        for (int j = 0; j < width; j++) lane[j] += lane[j + width];
    return lane[0];
}

static inline void define_drift(const float *g, float *before, const float *moved, const float *x, size_t n,
                                double sums[3])
{
    double along[LATE_LANES] = {0}, squares[LATE_LANES] = {0}, energy[LATE_LANES] = {0};
    for (size_t i = 0; i < n; i += LATE_LANES) {
        const int many = n - i < LATE_LANES ? (int)(n - i) : LATE_LANES;
        for (int j = 0; j < many; j++) {
            const double now = (double)g[i + (size_t)j], formed = (double)x[i + (size_t)j];
            along[j] += now * (double)moved[i + (size_t)j];
            squares[j] += now * now;
            energy[j] += formed * formed;
            before[i + (size_t)j] = g[i + (size_t)j];
        }
    }
    sums[0] = define_late_fold(along);
    sums[1] = define_late_fold(squares);
    sums[2] = define_late_fold(energy);
}

static inline void define_gains(const float *g, const float *update, float *moved, size_t n, double sums[2])
{
    double gain[LATE_LANES] = {0}, squares[LATE_LANES] = {0};
    for (size_t i = 0; i < n; i += LATE_LANES) {
        const int many = n - i < LATE_LANES ? (int)(n - i) : LATE_LANES;
        for (int j = 0; j < many; j++) {
            const double u = (double)update[i + (size_t)j];
            gain[j] += (double)g[i + (size_t)j] * u;
            squares[j] += u * u;
            moved[i + (size_t)j] = update[i + (size_t)j];
        }
    }
    sums[0] = define_late_fold(gain);
    sums[1] = define_late_fold(squares);
}

#define DEFINE_LATE .drift = define_drift, .gains = define_gains

#endif
