/* define_late.h - sums over several vectors in one pass, for a tuner that asks how much waiting costs (tuner/late.h). */
#ifndef KERNELS_DEFINE_LATE_H
#define KERNELS_DEFINE_LATE_H

#include "kernels/define_sums.h"
#include "kernels/kernels.h"

static inline void define_drift(const float *g, float *moved, const float *e, float gamma, size_t n,
                                double sums[3])
{
    double along[LANES] = {0}, squares[LANES] = {0}, energy[LANES] = {0};
    for (size_t i = 0; i < n; i += LANES) {
        const int many = n - i < LANES ? (int)(n - i) : LANES;
        for (int j = 0; j < many; j++) {
            const size_t at = i + (size_t)j;
            const double now = (double)g[at], formed = (double)(e[at] + gamma * g[at]);
            along[j] += now * (double)moved[at];
            squares[j] += now * now;
            energy[j] += formed * formed;
            moved[at] = g[at];
        }
    }
    sums[0] = define_fold(along);
    sums[1] = define_fold(squares);
    sums[2] = define_fold(energy);
}

static inline void define_gains(float *g, const float *update, size_t n, double sums[2])
{
    double gain[LANES] = {0}, squares[LANES] = {0};
    for (size_t i = 0; i < n; i += LANES) {
        const int many = n - i < LANES ? (int)(n - i) : LANES;
        for (int j = 0; j < many; j++) {
            const size_t at = i + (size_t)j;
            const double u = (double)update[at];
            gain[j] += (double)g[at] * u;
            squares[j] += u * u;
            g[at] = update[at];
        }
    }
    sums[0] = define_fold(gain);
    sums[1] = define_fold(squares);
}

#define DEFINE_LATE .drift = define_drift, .gains = define_gains

#endif
