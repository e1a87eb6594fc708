/* define_sums.h - the part of define.h for plain sums and maxima, and what is not finite. Lanes and their folding are part of the
 * result. */
#ifndef KERNELS_DEFINE_SUMS_H
#define KERNELS_DEFINE_SUMS_H

#include <math.h>

#include "base/bytes.h"
#include "kernels/kernels.h"

enum { LANES = 16 };

static inline size_t define_find_nonfinite(const float *x, size_t n)
{
    /* Blocks without a branch inside vectorise; the position is looked for only where there is something. */
    for (size_t first = 0; first < n; first += 1024) {
        const size_t end = n - first < 1024 ? n : first + 1024;
        uint32_t found = 0;
        for (size_t i = first; i < end; i++) found |= (f32_bits(x[i]) & 0x7fffffffu) >= 0x7f800000u;
        if (!found) continue;
        for (size_t i = first; i < end; i++)
            if (!isfinite(x[i])) return i;
    }
    return n;
}

static inline double define_fold(double lane[LANES])
{
    for (int width = LANES / 2; width; width /= 2)
        for (int j = 0; j < width; j++) lane[j] += lane[j + width];
    return lane[0];
}

static inline double define_sum_abs(const float *x, size_t n)
{
    double lane[LANES] = {0};
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int j = 0; j < LANES; j++) lane[j] += (double)fabsf(x[i + (size_t)j]);
    for (int j = 0; i < n; i++, j++) lane[j] += (double)fabsf(x[i]);
    return define_fold(lane);
}

static inline double define_sum_squares(const float *x, size_t n)
{
    double lane[LANES] = {0};
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int j = 0; j < LANES; j++) {
            const double v = (double)x[i + (size_t)j];
            lane[j] += v * v;
        }
    for (int j = 0; i < n; i++, j++) lane[j] += (double)x[i] * (double)x[i];
    return define_fold(lane);
}

static inline double define_sum_below(const float *x, size_t n, float limit, size_t *others)
{
    double lane[LANES] = {0};
    uint32_t count[LANES] = {0};
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int j = 0; j < LANES; j++) {
            const float magnitude = fabsf(x[i + (size_t)j]);
            lane[j] += magnitude < limit ? (double)magnitude : 0;
            count[j] += magnitude >= limit;
        }
    for (int j = 0; i < n; i++, j++) {
        lane[j] += fabsf(x[i]) < limit ? (double)fabsf(x[i]) : 0;
        count[j] += fabsf(x[i]) >= limit;
    }
    *others = 0;
    for (int j = 0; j < LANES; j++) *others += count[j];
    return define_fold(lane);
}

static inline float define_max_abs(const float *x, size_t n)
{
    /* As integers, magnitudes compare in the order of their bits, and maxima vectorise. */
    uint32_t max = 0;
    for (size_t i = 0; i < n; i++) {
        const uint32_t magnitude = f32_bits(x[i]) & 0x7fffffffu;
        max = magnitude > max ? magnitude : max;
    }
    return f32_from_bits(max);
}

static inline void define_add_scaled(float *y, const float *x, float scale, size_t n)
{
    for (size_t i = 0; i < n; i++) y[i] += scale * x[i];
}

#define DEFINE_SUMS                                                                                    \
    .find_nonfinite = define_find_nonfinite, .sum_below = define_sum_below, .sum_abs = define_sum_abs, \
    .sum_squares = define_sum_squares, .max_abs = define_max_abs, .add_scaled = define_add_scaled

#endif
