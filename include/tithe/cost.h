/* cost.h - what a message costs: bits, packets, joules, seconds.
 *
 *     tithe_cost *cost;
 *     tithe_cost_create("packet:c0=64,c1=576,payload=512", &cost, &error);
 *     double bytes = tithe_cost_of(cost, 8.0 * info.bytes);
 *
 * A cost is a function of the length of one message and never falls with it. Its unit is the model's own. */
#ifndef TITHE_COST_H
#define TITHE_COST_H

#include "tithe/variant.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tithe_cost tithe_cost;

/* One kind of cost: a const struct, as everything that has variants. */
typedef struct tithe_cost_model {
    const char *name, *summary, *paper;
    const char *unit; /* "bit", "B", "J", "s" */
    const tithe_param *params;
    /* NULL, or a sentence that says why these parameters cannot be. May itself be NULL. */
    const char *(*refuse)(const double *params);
    double (*of)(const tithe_cost *cost, double bits); /* one message of that many bits */
} tithe_cost_model;

TITHE_API tithe_status tithe_cost_create(const char *spec, tithe_cost **cost, tithe_error *error);
TITHE_API void tithe_cost_free(tithe_cost *cost); /* NULL is fine */

/* A NULL cost is `bits`. */
TITHE_API double tithe_cost_of(const tithe_cost *cost, double bits);
TITHE_API const char *tithe_cost_spec(const tithe_cost *cost);
TITHE_API const char *tithe_cost_unit(const tithe_cost *cost);
TITHE_API const double *tithe_cost_params(const tithe_cost *cost); /* in the order of the model's table */

TITHE_API const tithe_cost_model *const *tithe_cost_models(void); /* ends with NULL */

#ifdef __cplusplus
}
#endif
#endif
