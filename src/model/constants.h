/* constants.h - what constants.c and problem.c share. */
#ifndef MODEL_CONSTANTS_H
#define MODEL_CONSTANTS_H

#include "tithe/model.h"

/* Asked again and again by what takes long; false ends it early. NULL, or no function: nobody is asked. */
typedef struct patience {
    bool (*go_on)(void *context);
    void *context;
} patience;

static inline bool patience_lasts(const patience *asked)
{
    return !asked || !asked->go_on || asked->go_on(asked->context);
}

/* L of tithe_constants; NAN where the model has none. */
tithe_status ti_smoothness(const tithe_problem *p, struct tithe_pool *pool, const patience *asked, double *L,
                           tithe_error *error);

/* Those that go row by row: L_mean, L_US, L_IS. The only ones that processes with shares can find together. */
tithe_status ti_row_constants(const tithe_problem *p, tithe_constants *constants, tithe_error *error);

/* tithe_problem_optimum; without `search`, only if the cache has it. */
tithe_status ti_optimum_find(const tithe_problem *p, struct tithe_pool *pool, const char *cache, bool search,
                             tithe_optimum *optimum, tithe_error *error);

/* tithe_problem_noise, and the noise of rows that are drawn with P(j) and weigh weights[j] = (workers/N)/P(j) then, into
 * *sigma; without weights, that of uniform draws. */
tithe_status ti_noise(const tithe_problem *p, struct tithe_pool *pool, const double *optimum,
                      const double *weights, tithe_constants *constants, double *sigma, tithe_error *error);

/* Statements about all data can only be made where all data are. */
tithe_status ti_expect_all_workers(const tithe_problem *p, tithe_error *error);

#endif
