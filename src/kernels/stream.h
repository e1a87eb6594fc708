/* stream.h - random numbers one after the other, out of blocks that a kernel makes. */
#ifndef KERNELS_STREAM_H
#define KERNELS_STREAM_H

#include "tithe/variant.h"

/* One number after the other, for code that cannot say beforehand how many it needs. */
typedef struct rng_stream {
    tithe_key key;
    uint64_t block;
    unsigned used;
    uint32_t numbers[TITHE_BLOCK];
} rng_stream;

void ti_rng_stream_start(rng_stream *s, tithe_key key);
uint32_t ti_rng_stream_below(rng_stream *s, uint32_t limit); /* uniform in [0, limit), limit >= 1 */

#endif
