/* outer.h - local steps: ranks train for themselves, and now and then exchange what their models have moved (DiLoCo, SparseLoCo).
 *
 *     tithe_exchange_open_layers(comm, "codec=topk:keep=0.05|sign;feedback=ec:decay=0.95", lengths, count, &ex, &error);
 *     tithe_outer_open(ex, "lr=0.7", &outer, &error);
 *     tithe_outer_begin(outer, layers, &error);               // the shared model, the same on all ranks
 *     for (;;) {
 *         ...                                                 // some steps of this rank's own, with any optimizer
 *         tithe_outer_put(outer, rank, layers, &error);       // d = shared model - layers
 *         tithe_outer_exchange(outer, &error);                // shared model -= lr * mean of what was sent of the d
 *         tithe_outer_get(outer, rank, layers, &error);       // all ranks go on from the same numbers
 *     }
 *
 * Or nobody waits: after put, tithe_outer_go_on lets this rank go on from the shared model with its own last steps on top of it, while
 * another thread calls tithe_outer_exchange. What was put then reaches the others one round later.
 *
 * Layers are pointers to numbers, one for each layer of the exchange. A round that all ranks skip (on-nonfinite=skip) leaves the shared
 * model as it was, and tithe_outer_get brings everybody back to it. One thread at a time, but for tithe_outer_exchange as above. */
#ifndef TITHE_OUTER_H
#define TITHE_OUTER_H

#include "tithe/exchange.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tithe_outer tithe_outer;

/* Over an exchange that stays the caller's, and has to be there until tithe_outer_free. Options, the same on all ranks, such as
 * "lr=0.7;momentum=0.9;nesterov=yes"; NULL: m <- momentum m + mean; shared -= lr m, or lr (mean + momentum m) under nesterov. */
TITHE_API tithe_status tithe_outer_open(tithe_exchange *ex, const char *options, tithe_outer **outer,
                                        tithe_error *error);
TITHE_API const tithe_option *tithe_outer_option_table(void); /* its places are of no use outside */
TITHE_API void tithe_outer_free(tithe_outer *outer);          /* NULL is fine */

/* This is the shared model; what was put is forgotten, momentum and residuals stay. */
TITHE_API tithe_status tithe_outer_begin(tithe_outer *outer, const float *const *layers, tithe_error *error);
/* What a local rank has moved since begin, get or go_on. */
TITHE_API tithe_status tithe_outer_put(tithe_outer *outer, unsigned rank, const float *const *layers,
                                       tithe_error *error);
/* When all local ranks were put: exchange, and the outer step. TITHE_E_SKIPPED as in exchange.h. */
TITHE_API tithe_status tithe_outer_exchange(tithe_outer *outer, tithe_error *error);
/* The shared model, with which this rank goes on: all ranks have the same numbers, to the bit. */
TITHE_API tithe_status tithe_outer_get(tithe_outer *outer, unsigned rank, float *const *layers,
                                       tithe_error *error);
/* After put and before exchange: the shared model - lr d, of this rank's own d. A d that is not finite is left out. */
TITHE_API tithe_status tithe_outer_go_on(tithe_outer *outer, unsigned rank, float *const *layers,
                                         tithe_error *error);

/* For checkpoints, n numbers each: the shared model; momentum, NULL where there is none; where a local rank began its round, NULL
 * where that is the shared model. And from there on. */
TITHE_API float *tithe_outer_shared(tithe_outer *outer);
TITHE_API float *tithe_outer_momentum(tithe_outer *outer);
TITHE_API float *tithe_outer_start(tithe_outer *outer, unsigned rank);
TITHE_API tithe_status tithe_outer_start_at(tithe_outer *outer, unsigned rank, const float *start,
                                            tithe_error *error);

#ifdef __cplusplus
}
#endif
#endif
