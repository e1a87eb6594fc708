/* constants.h - what constants.c and problem.c share. */
#ifndef LEARN_CONSTANTS_H
#define LEARN_CONSTANTS_H

#include "tithe/model.h"

/* L of tithe_constants; NAN where the model has none. */
tithe_status ti_smoothness(const tithe_problem *p, struct tithe_pool *pool, double *L, tithe_error *error);

/* Statements about all data can only be made where all data are. */
tithe_status ti_expect_all_workers(const tithe_problem *p, tithe_error *error);

#endif
