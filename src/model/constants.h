/* constants.h - what constants.c and problem.c share. */
#ifndef MODEL_CONSTANTS_H
#define MODEL_CONSTANTS_H

#include "tithe/model.h"

/* L of tithe_constants; NAN where the model has none. */
tithe_status ti_smoothness(const tithe_problem *p, struct tithe_pool *pool, double *L, tithe_error *error);

/* tithe_problem_noise, and the noise of rows that are drawn with P(j) and weigh weights[j] = (workers/N)/P(j) then, into
 * *sigma; without weights, that of uniform draws. */
tithe_status ti_noise(const tithe_problem *p, struct tithe_pool *pool, const double *optimum,
                      const double *weights, tithe_constants *constants, double *sigma, tithe_error *error);

/* Statements about all data can only be made where all data are. */
tithe_status ti_expect_all_workers(const tithe_problem *p, tithe_error *error);

#endif
