/* vectors.h - sums over vectors of double, always in the same order: eight lanes, folded in halves. */
#ifndef MODEL_VECTORS_H
#define MODEL_VECTORS_H

#include <stddef.h>

double ti_dot(size_t n, const double *a, const double *b);
void ti_add(size_t n, double scale, const double *x, double *y); /* y += scale * x */
/* Both in one pass: y += scale * x, and x times x. */
double ti_add_dot(size_t n, double scale, const double *x, double *y);

#endif
