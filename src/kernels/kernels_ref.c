/* kernels_ref.c - the definition of every kernel, in portable C. */
#include "kernels/kernels.h"

#include <math.h>

#include "base/bytes.h"

#define LANES 16

size_t ti_find_nonfinite(const float *x, size_t n)
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

size_t ti_find_nonfinite_f64(const double *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(x[i])) return i;
    return n;
}

static double fold(double lane[LANES])
{
    for (int width = LANES / 2; width; width /= 2)
        for (int j = 0; j < width; j++) lane[j] += lane[j + width];
    return lane[0];
}

double ti_sum_abs(const float *x, size_t n)
{
    double lane[LANES] = {0};
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int j = 0; j < LANES; j++) lane[j] += (double)fabsf(x[i + (size_t)j]);
    for (int j = 0; i < n; i++, j++) lane[j] += (double)fabsf(x[i]);
    return fold(lane);
}

double ti_sum_squares(const float *x, size_t n)
{
    double lane[LANES] = {0};
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int j = 0; j < LANES; j++) {
            const double v = (double)x[i + (size_t)j];
            lane[j] += v * v;
        }
    for (int j = 0; i < n; i++, j++) lane[j] += (double)x[i] * (double)x[i];
    return fold(lane);
}

float ti_max_abs(const float *x, size_t n)
{
    /* As integers, magnitudes compare in the order of their bits, and maxima vectorise. */
    uint32_t most = 0;
    for (size_t i = 0; i < n; i++) {
        const uint32_t magnitude = f32_bits(x[i]) & 0x7fffffffu;
        most = magnitude > most ? magnitude : most;
    }
    return f32_from_bits(most);
}

double ti_norm_max(tithe_type type, const void *x, size_t n)
{
    if (type == TITHE_F32) return (double)ti_max_abs(x, n);
    double most = 0;
    for (size_t i = 0; i < n; i++) most = fmax(most, fabs(((const double *)x)[i]));
    return most;
}

double ti_norm1(tithe_type type, const void *x, size_t n)
{
    if (type == TITHE_F32) return ti_sum_abs(x, n);
    double lane[LANES] = {0};
    for (size_t i = 0; i < n; i++) lane[i % LANES] += fabs(((const double *)x)[i]);
    return fold(lane);
}

double ti_norm2(tithe_type type, const void *x, size_t n)
{
    /* A float squared always fits a double. A double squared may not, so those are divided by the largest. */
    if (type == TITHE_F32) return sqrt(ti_sum_squares(x, n));
    const double most = ti_norm_max(type, x, n);
    if (!(most > 0)) return 0;
    double lane[LANES] = {0};
    for (size_t i = 0; i < n; i++) {
        const double v = ((const double *)x)[i] / most;
        lane[i % LANES] += v * v;
    }
    return most * sqrt(fold(lane));
}

void ti_add_scaled(float *e, const float *g, float gamma, size_t n)
{
    for (size_t i = 0; i < n; i++) e[i] += gamma * g[i];
}
