/* ln.h - the natural logarithm by a series: the same bits on every machine, which log does not promise. */
#ifndef BASE_LN_H
#define BASE_LN_H

#include <math.h>

/* x > 0 and finite. With x = m 2^e and m near 1: 2 artanh((m - 1) / (m + 1)) + e ln 2. */
static inline double ln_of(double x)
{
    enum { LAST = 25 }; /* below 1e-17 for m from 1/sqrt(2) to sqrt(2) */
    const double half_root = 0.70710678118654752, ln2 = 0.69314718055994531;
    int e;
    double m = frexp(x, &e), sum = 0;
    if (m < half_root) {
        m *= 2;
        e--;
    }
    const double z = (m - 1) / (m + 1);
    for (int k = LAST; k > 0; k -= 2) sum = sum * z * z + 1.0 / k;
    return 2 * z * sum + e * ln2;
}

#endif
