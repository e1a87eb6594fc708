/* pareto.h - several objectives of one variable: the points among which nothing is better in all of them, and one of these. */
#ifndef TUNER_PARETO_H
#define TUNER_PARETO_H

#include <stddef.h>
#include <stdint.h>

enum { MAX_OBJECTIVES = 3 };

/* All objectives are to be small. */
typedef struct pareto_problem {
    double low, high; /* of the variable */
    unsigned objectives;
    void (*value)(const void *context, double x, double *f);
    const void *context;
} pareto_problem;

typedef struct pareto_point {
    double x, f[MAX_OBJECTIVES];
} pareto_point;

/* NSGA-II (deb2002nsga2): at most `room` points that do not dominate each other; returns how many. The same seed gives the same points on
 * every machine. */
size_t ti_nsga2(const pareto_problem *problem, uint64_t seed, pareto_point *front, size_t room);

/* The point of the front whose worst objective, from 0 at its best in the front to 1 at its worst there, times its weight, is
 * least: the achievement scalarizing function. */
double ti_pareto_choose(const pareto_problem *problem, uint64_t seed, const double *weights);

#endif
