/* norms.c - norms of vectors of either type. Floats go through the table; doubles are the rare case, and
 * plain. */
#include "kernels/define.h"

size_t ti_find_nonfinite(tithe_type type, const void *x, size_t n)
{
    if (type == TITHE_F32) return ti_kernels()->find_nonfinite(x, n);
    for (size_t i = 0; i < n; i++)
        if (!isfinite(((const double *)x)[i])) return i;
    return n;
}

double ti_norm_max(tithe_type type, const void *x, size_t n)
{
    if (type == TITHE_F32) return (double)ti_kernels()->max_abs(x, n);
    double max = 0;
    for (size_t i = 0; i < n; i++) max = fmax(max, fabs(((const double *)x)[i]));
    return max;
}

double ti_norm1(tithe_type type, const void *x, size_t n)
{
    if (type == TITHE_F32) return ti_kernels()->sum_abs(x, n);
    double lane[LANES] = {0};
    for (size_t i = 0; i < n; i++) lane[i % LANES] += fabs(((const double *)x)[i]);
    return define_fold(lane);
}

double ti_norm2(tithe_type type, const void *x, size_t n)
{
    /* A float squared always fits a double. A double squared may not, so those are divided by the largest. */
    if (type == TITHE_F32) return sqrt(ti_kernels()->sum_squares(x, n));
    const double max = ti_norm_max(type, x, n);
    if (!(max > 0)) return 0;
    double lane[LANES] = {0};
    for (size_t i = 0; i < n; i++) {
        const double v = ((const double *)x)[i] / max;
        lane[i % LANES] += v * v;
    }
    return max * sqrt(define_fold(lane));
}

double ti_dot_few(const uint32_t *indices, const float *values, size_t count, const float *x)
{
    double lane[WIDE_LANES] = {0};
    for (size_t i = 0; i < count; i++)
        lane[indices[i] % WIDE_LANES] += (double)x[indices[i]] * (double)values[i];
    return define_fold_wide(lane);
}
