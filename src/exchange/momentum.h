/* momentum.h - the momentum of the host, around an exchange (momentum.c). */
#ifndef EXCHANGE_MOMENTUM_H
#define EXCHANGE_MOMENTUM_H

#include "exchange/exchange.h"

#define MOMENTUM_MAX 0.9999
#define MOMENTUM_WHOLE ((size_t)-1) /* in place of a layer: all of them */

typedef struct exchange_momentum exchange_momentum;
/* After a failure, too, ti_momentum_close frees what there is. */
tithe_status ti_momentum_open(tithe_exchange *ex, tithe_error *error);
void ti_momentum_close(tithe_exchange *ex);
/* `*g` becomes what stands for these numbers of a gradient, and stays until the next step. False: they were put in this step already, and
 * nothing is touched. */
bool ti_momentum_put(tithe_exchange *ex, unsigned rank, size_t layer, size_t begin, size_t length,
                     const float **g);
/* It was refused after that: as if it had not been put. */
void ti_momentum_refused(tithe_exchange *ex, unsigned rank, size_t layer);
/* The step is over. If it was taken, the update is what all sent, and becomes what the host is to get. */
void ti_momentum_finish(tithe_exchange *ex, bool taken, float *update);

#endif
