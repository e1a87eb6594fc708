/* courier.h - a thread that carries buckets, one after the other and in their order, while others are being filled.
 *
 * All ranks have to talk about the same bucket at the same time, so the order is that of the buckets and never that in
 * which they became ready. */
#ifndef EXCHANGE_COURIER_H
#define EXCHANGE_COURIER_H

#include "tithe/status.h"

typedef struct courier courier;
typedef tithe_status courier_job(void *context, unsigned bucket, tithe_error *error);

tithe_status ti_courier_start(unsigned buckets, courier_job *carry, void *context, courier **made,
                              tithe_error *error);
void ti_courier_stop(courier *c); /* after what it carries now; NULL is fine */

/* This bucket is full: it goes as soon as those before it are gone. From any thread. */
void ti_courier_ready(courier *c, unsigned bucket);
/* Wait until all are carried, or one failed; then the next round begins. *hidden is for how many seconds it carried while
 * nobody waited for it. */
tithe_status ti_courier_await(courier *c, double *hidden, tithe_error *error);

#endif
