/* kernels.h - passes over whole vectors. kernels_ref.c defines each result to the bit: sums run in double over
 * sixteen lanes (element i goes to lane i mod 16) that are folded in halves at the end, so that every vector unit
 * can reproduce them. */
#ifndef KERNELS_KERNELS_H
#define KERNELS_KERNELS_H

#include "tithe/codec.h"

/* The first NaN or infinity, or n. */
size_t ti_find_nonfinite(const float *x, size_t n);
size_t ti_find_nonfinite_f64(const double *x, size_t n);

double ti_sum_abs(const float *x, size_t n);
double ti_sum_squares(const float *x, size_t n);
float ti_max_abs(const float *x, size_t n);

/* The same for vectors of either type; sums of squares are scaled, so that nothing overflows on the way. */
double ti_norm1(tithe_type type, const void *x, size_t n);
double ti_norm2(tithe_type type, const void *x, size_t n);
double ti_norm_max(tithe_type type, const void *x, size_t n);

/* e += gamma * g */
void ti_add_scaled(float *e, const float *g, float gamma, size_t n);

#endif
