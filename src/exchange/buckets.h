/* buckets.h - a vector that goes in several messages: each bucket is an exchange of its own, over the same ranks. */
#ifndef EXCHANGE_BUCKETS_H
#define EXCHANGE_BUCKETS_H

#include "exchange/exchange.h"

/* Where the buckets of n numbers begin, and how many there are. Short layers are fused, long ones cut evenly; a bucket
 * holds whole layers, or a piece of one. `begins` NULL: only how many; otherwise it has room for one more, which is n. */
size_t ti_buckets_layout(size_t n, const size_t *layers, size_t layer_count, size_t bucket_bytes,
                         size_t *begins);

/* The functions of exchange.h, for an exchange that has buckets. */
tithe_status ti_buckets_open(tithe_exchange *ex, size_t count, tithe_error *error);
void ti_buckets_close(tithe_exchange *ex);
tithe_status ti_buckets_put(tithe_exchange *ex, unsigned rank, unsigned lane, const float *g, double gamma,
                            tithe_error *error);
tithe_status ti_buckets_put_layer(tithe_exchange *ex, unsigned rank, unsigned lane, size_t layer,
                                  const float *g, double gamma, tithe_error *error);
tithe_status ti_buckets_skip(tithe_exchange *ex, unsigned rank, double gamma, tithe_error *error);
tithe_status ti_buckets_finish(tithe_exchange *ex, float *update, tithe_error *error);
tithe_status ti_buckets_serve(tithe_exchange *ex, tithe_error *error);

/* The exchanges that make it up: itself, or its buckets. */
unsigned ti_exchange_parts(const tithe_exchange *ex);
tithe_exchange *ti_exchange_part(const tithe_exchange *ex, unsigned i);

#endif
