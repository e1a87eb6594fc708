/* pool.h - threads that wait for work, so that one call can use several cores.
 *
 * Hand a pool to a call (tithe_call.pool) and large vectors are split over its threads; without one, a
 * call stays on the thread that made it. Results do not depend on the number of threads, to the last bit.
 * A pool serves one call at a time; calls from several threads want a pool each. */
#ifndef TITHE_POOL_H
#define TITHE_POOL_H

#include "tithe/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tithe_pool tithe_pool;

/* threads counts the caller too: 1 is legal and starts none. 0 takes TITHE_THREADS from the environment,
 * or else the number of processors. */
TITHE_API tithe_status tithe_pool_create(unsigned threads, tithe_pool **pool, tithe_error *error);
TITHE_API void tithe_pool_free(tithe_pool *pool);              /* NULL is fine; no call may be using it */
TITHE_API unsigned tithe_pool_threads(const tithe_pool *pool); /* 1 for NULL */

#ifdef __cplusplus
}
#endif
#endif
