/* counters.h - what an exchange counts, by its table. */
#ifndef EXCHANGE_COUNTERS_H
#define EXCHANGE_COUNTERS_H

#include "tithe/exchange.h"

/* Their places in the table, and how many there are. */
#define COUNTER(name, ...) COUNTER_##name,
enum {
#include "exchange/counter_rows.h"
    COUNTERS
};
#undef COUNTER

static inline double *counter_in(tithe_exchange_totals *totals, const tithe_counter *counter)
{
    return (double *)(void *)((char *)totals + counter->offset);
}

void ti_counters_add(tithe_exchange_totals *to, const tithe_exchange_totals *from);

#endif
