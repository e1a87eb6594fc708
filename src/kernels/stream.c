/* stream.c - see stream.h. Key: lemire2019. */
#include "kernels/stream.h"

void ti_rng_stream_start(rng_stream *s, tithe_key key)
{
    s->key = key;
    s->block = 0;
    s->used = TITHE_BLOCK;
}

static uint32_t rng_stream_next(rng_stream *s)
{
    if (s->used == TITHE_BLOCK) {
        tithe_random_block(s->key, s->block++, s->numbers);
        s->used = 0;
    }
    return s->numbers[s->used++];
}

uint32_t ti_rng_stream_below(rng_stream *s, uint32_t limit)
{
    /* The high half of random * limit is uniform once the few low halves that occur too often are redrawn. */
    uint64_t product = (uint64_t)rng_stream_next(s) * limit;
    if ((uint32_t)product < limit) {
        const uint32_t surplus = (UINT32_MAX - limit + 1) % limit; /* 2^32 mod limit */
        while ((uint32_t)product < surplus) product = (uint64_t)rng_stream_next(s) * limit;
    }
    return (uint32_t)(product >> 32);
}
