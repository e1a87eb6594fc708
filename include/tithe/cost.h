/* cost.h - what a message costs: bits, packets, joules, seconds.
 *
 *     tithe_cost *cost;
 *     tithe_cost_create("packet:c0=64,c1=576,payload=512", &cost, &error);
 *     double bytes = tithe_cost_of(cost, 8.0 * info.bytes);
 *
 * A cost is a function of the length of one message: positive, finite, and never less for more bits. Its unit is the
 * model's own. One of your own is one function (examples/own_cost.c). */
#ifndef TITHE_COST_H
#define TITHE_COST_H

#include "tithe/link.h"
#include "tithe/variant.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tithe_cost tithe_cost;

/* One kind of cost: a const struct, as everything that has variants. */
typedef struct tithe_cost_model {
    const char *name, *summary, *paper;
    const char *unit;          /* "bit", "B", "J", "s" */
    const tithe_param *params; /* ends with a name of NULL */
    bool takes_file;           /* what follows the colon is the name of a file of measured points */
    /* NULL, or a sentence that says why these parameters cannot be. May itself be NULL. */
    const char *(*refuse)(const double *params);
    double (*of)(const tithe_cost *cost, double bits); /* one message of that many bits */
    /* A straight line that lies nowhere above the cost on [from, to] bits: its values at both ends. It only makes
     * tuners faster. NULL: they take the cost at `from`, which is true of every cost. */
    void (*below)(const tithe_cost *cost, double from, double to, double line[2]);
    /* The link whose messages it prices, in seconds; false: these parameters price something else. NULL: no link. */
    bool (*link)(const tithe_cost *cost, tithe_link *link);
    /* Bits of a full packet, where the cost has steps; a tuner then says whether it filled one. May be NULL. */
    double (*packet)(const tithe_cost *cost);
} tithe_cost_model;

TITHE_API tithe_status tithe_cost_create(const char *spec, tithe_cost **cost, tithe_error *error);
/* A cost of any origin: params as in the model's table, NAN for the default; NULL for all defaults. The model must
 * outlive the cost. */
TITHE_API tithe_status tithe_cost_make(const tithe_cost_model *model, const double *params, tithe_cost **cost,
                                       tithe_error *error);
TITHE_API void tithe_cost_free(tithe_cost *cost); /* NULL is fine */

/* A NULL cost is `bits`. */
TITHE_API double tithe_cost_of(const tithe_cost *cost, double bits);
TITHE_API const char *tithe_cost_spec(const tithe_cost *cost);
TITHE_API const char *tithe_cost_unit(const tithe_cost *cost);
TITHE_API const double *tithe_cost_params(const tithe_cost *cost); /* in the order of the model's table */
TITHE_API const tithe_cost_model *tithe_cost_model_of(const tithe_cost *cost);
/* The link that a cost in seconds is of: `table:FILE`, as tithe probe writes it, or `alphabeta:...`. It refers to the cost.
 * Refused is what no link does: another unit, a message that takes no time, longer messages that take no longer. */
TITHE_API tithe_status tithe_link_of_cost(const tithe_cost *cost, tithe_link *link, tithe_error *error);

TITHE_API const tithe_cost_model *const *tithe_cost_models(void); /* ends with NULL */

/* Names for settings that people ask for: 802.15.4 is packet:c0=64,c1=576,payload=512. */
typedef struct tithe_cost_preset {
    const char *name, *spec, *summary, *paper;
} tithe_cost_preset;
TITHE_API const tithe_cost_preset *tithe_cost_presets(void); /* ends with a name of NULL */

#ifdef __cplusplus
}
#endif
#endif
