/* pool.h - run a function for parts 0, 1, ... of some work, on the threads of a pool. */
#ifndef BASE_POOL_H
#define BASE_POOL_H

#include "tithe/pool.h"

typedef void pool_work(void *context, unsigned part);

/* Returns when all parts are done. Without a pool they run one after the other, here. */
void ti_pool_run(tithe_pool *pool, unsigned parts, pool_work *work, void *context);

/* Where part `part` of `parts` begins when n things are split evenly at multiples of `unit`; part `parts`
 * begins at n. */
static inline size_t pool_begin(size_t n, size_t unit, unsigned parts, unsigned part)
{
    return part == parts ? n : n / unit * part / parts * unit;
}

/* How many parts are worth it: one for each thread, but no part below `least` things. */
static inline unsigned pool_parts(const tithe_pool *pool, size_t n, size_t min)
{
    const size_t max = n / min, threads = tithe_pool_threads(pool);
    return (unsigned)(max < 1 ? 1 : max < threads ? max : threads);
}

#endif
