/* average.h - averages of the iterates, which is what the theorems speak of. */
#ifndef LEARN_AVERAGE_H
#define LEARN_AVERAGE_H

#include "tithe/learn.h"

/* weighted: x_k weighs (1-eta)^-(k+1), the weights of danilova2022. tail: the plain mean of the last half, or a bit
 * more: two windows between powers of two, so that no iterate has to be kept. */
typedef struct tithe_averaged {
    const tithe_average *kind;
    size_t size;
    double eta;
    double ratio;            /* weighted: all weights so far over the last one */
    double *mean;            /* weighted; tail: of the window that is being filled */
    double *before;          /* tail: of the window before it */
    uint64_t count, earlier; /* tail: iterates in the two windows */
    uint64_t steps;
} average;

tithe_status ti_average_make(const tithe_average *kind, size_t size, double eta, average *a,
                             tithe_error *error);
void ti_average_free(average *a);
void ti_average_add(average *a, const double *x); /* x_0 first */
bool ti_average_get(const average *a, double *x); /* false: there is none yet */

#endif
