/* rng.c - keys, streams and bounded draws; the blocks themselves are a kernel. Keys: vigna2017,
 * lemire2019. */
#include "base/rng.h"

static uint64_t absorb(uint64_t state, uint64_t word)
{
    return rng_mix((state ^ word) + RNG_GOLDEN);
}

tithe_key ti_rng_key(uint64_t seed, uint32_t step, uint32_t rank, uint32_t tensor, rng_purpose purpose)
{
    tithe_key key = {absorb(0, seed), absorb(RNG_SILVER, seed)};
    const uint64_t words[2] = {(uint64_t)step << 32 | rank, (uint64_t)tensor << 32 | (uint64_t)purpose};
    for (int i = 0; i < 2; i++) {
        key.a = absorb(key.a, words[i]);
        key.b = absorb(key.b, words[i]);
    }
    return key;
}

tithe_key ti_rng_derive(tithe_key key, rng_purpose purpose)
{
    return (tithe_key){absorb(key.a, (uint64_t)purpose), absorb(key.b, (uint64_t)purpose)};
}

bool tithe_random_below(double p, uint32_t random, tithe_key key, uint64_t position)
{
    if (!(p > 0)) return false;
    if (p >= 1) return true;
    /* p = (whole + rest) / 2^32: the first 32 bits decide unless they equal `whole`, then the next 32 do. */
    const double scaled = p * 4294967296.0;
    const uint32_t whole = (uint32_t)scaled;
    if (random != whole) return random < whole;
    return rng_at(key, position) >> 32 < (uint64_t)((scaled - whole) * 4294967296.0);
}

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
