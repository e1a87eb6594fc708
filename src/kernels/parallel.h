/* parallel.h - kernels over a pool of threads: each takes a stretch of the vector, and the result is that
 * of one. */
#ifndef KERNELS_PARALLEL_H
#define KERNELS_PARALLEL_H

#include "base/pool.h"
#include "kernels/kernels.h"

enum { PARALLEL_LEAST = 1 << 17 }; /* values below which a thread is not worth waking */

bool ti_parallel_natural_encode(tithe_pool *pool, const natural_job *job);
void ti_parallel_natural_decode_add(tithe_pool *pool, const uint8_t *fields, const uint8_t *signs, size_t n,
                                    float factor, float scale, float *y);
/* Where more survive than there is room for, and nothing is to be added, it stops early: the count is then some number
 * above the capacity, and what was not looked at need not be finite. */
size_t ti_parallel_select(tithe_pool *pool, const select_job *job, bool *finite);

#endif
