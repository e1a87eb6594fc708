/* parallel.h - kernels over a pool of threads: each takes a stretch of the vector, and the result is that
 * of one. */
#ifndef KERNELS_PARALLEL_H
#define KERNELS_PARALLEL_H

#include "base/pool.h"
#include "kernels/kernels.h"

enum { PARALLEL_MIN = 1 << 17 }; /* values below which a thread is not worth waking */

/* checksum may be NULL; it is of fields and signs, which follow each other. */
bool ti_parallel_natural_encode(tithe_pool *pool, const natural_job *job, tithe_checksum *checksum);
void ti_parallel_natural_decode_add(tithe_pool *pool, const uint8_t *fields, const uint8_t *signs, size_t n,
                                    float factor, float scale, float *y);
/* Where more survive than there is room for, and nothing is to be added, it stops early: the count is then some number
 * above the capacity, and what was not looked at need not be finite. */
size_t ti_parallel_select(tithe_pool *pool, const select_job *job, bool *finite);
/* The same into a room for all, with a zero left in x where a finite survivor was: it is still in the cache. */
size_t ti_parallel_take(tithe_pool *pool, const select_job *job, bool *finite);
/* That room: n, and what lets every thread fill its own without a look at the others. */
size_t ti_parallel_room(size_t n);

#endif
