/* momentum.h - the momentum of the host, around an exchange (momentum.c). */
#ifndef EXCHANGE_MOMENTUM_H
#define EXCHANGE_MOMENTUM_H

#include "exchange/exchange.h"

typedef struct exchange_momentum exchange_momentum;
/* After a failure, too, ti_momentum_close frees what there is. */
tithe_status ti_momentum_open(tithe_exchange *ex, tithe_error *error);
void ti_momentum_close(tithe_exchange *ex);
/* What stands for these numbers of a gradient; it stays until the next step. */
const float *ti_momentum_put(tithe_exchange *ex, unsigned rank, const float *g, size_t begin, size_t count);
/* The step was taken, and the update is what all sent: it becomes what the host is to get. Or it was not taken. */
void ti_momentum_finish(tithe_exchange *ex, bool taken, float *update);

#endif
