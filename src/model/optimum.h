/* optimum.h - what the parts of the search for the minimum share. */
#ifndef MODEL_OPTIMUM_H
#define MODEL_OPTIMUM_H

#include "base/pool.h"
#include "tithe/model.h"

#define OPTIMUM_SLACK 1e-12 /* what a certificate has to promise */

/* Loss and gradient, faster than tithe_problem_loss where there are many workers: the order of the sum is another one,
 * but fixed too. NAN when memory ran out. */
double ti_objective(const tithe_problem *p, tithe_pool *pool, const double *x, double *g);

/* Newton's method from x, until |gradient| is at most `target` or no step makes it smaller. For convex models that see
 * a row through its product with x only, and l2 > 0. False when memory ran out. */
bool ti_newton(const tithe_problem *p, tithe_pool *pool, const tithe_optimum *asked, double target, double *x,
               unsigned *steps);
bool ti_optimum_go_on(const tithe_optimum *asked); /* false: the caller has seen enough */

/* The cache: a file for each minimum. Reading answers false, and leaves x alone, when there is none or it is damaged;
 * writing does what it can. */
bool ti_optimum_read(const tithe_problem *p, const char *directory, double *x, unsigned *iterations);
void ti_optimum_write(const tithe_problem *p, const char *directory, const double *x, unsigned iterations);

#endif
