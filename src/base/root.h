/* root.h - x^(1/n) by Newton's method: the same bits on every machine, which pow does not promise. */
#ifndef BASE_ROOT_H
#define BASE_ROOT_H

/* x >= 0 and not too far from 1, n small. */
static inline double root_of(double x, unsigned n)
{
    enum { TURNS = 200 };
    double y = x > 1 ? x : 1;
    for (unsigned i = 0; i < TURNS && x > 0; i++) {
        double power = 1;
        for (unsigned j = 1; j < n; j++) power *= y;
        y -= (power * y - x) / (n * power);
    }
    return x > 0 ? y : 0;
}

#endif
