/* counters.c - the table of what an exchange counts. */
#include "exchange/counters.h"

enum { ALL = TITHE_COUNTER_ALL, PAID = ALL | TITHE_COUNTER_PAID };

#define COUNTER(name, field, unit, doc, flags, place) \
    {#name, unit, doc, offsetof(tithe_exchange_totals, field), flags, place},
static const tithe_counter counters[] = {
#include "exchange/counter_rows.h"
    {.name = NULL},
};
#undef COUNTER

const tithe_counter *tithe_counters(void)
{
    return counters;
}

void ti_counters_add(tithe_exchange_totals *to, const tithe_exchange_totals *from)
{
    for (const tithe_counter *c = counters; c->name; c++) *counter_in(to, c) += tithe_counter_of(from, c);
}
