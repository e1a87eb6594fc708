/* buckets.h - a vector that goes in several messages: each bucket is an exchange of its own, over the same ranks. */
#ifndef EXCHANGE_BUCKETS_H
#define EXCHANGE_BUCKETS_H

#include "exchange/exchange.h"

/* Where the buckets of n numbers begin, and how many there are. Short layers are fused, long ones cut evenly; a bucket
 * holds whole layers, or a piece of one. `begins` NULL: only how many; otherwise it has room for one more, which is n. */
size_t ti_buckets_layout(size_t n, const size_t *layers, size_t layer_count, size_t bucket_bytes,
                         size_t *begins);

/* Make the buckets of an exchange, which has all that it keeps already. */
tithe_status ti_buckets_open(tithe_exchange *ex, size_t count, tithe_error *error);

#endif
