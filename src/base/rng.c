/* rng.c - see rng.h. Key: xorshift128+ is vigna2017; bounded draws are lemire2019. */
#include "base/rng.h"

#define GOLDEN UINT64_C(0x9e3779b97f4a7c15)
#define SILVER UINT64_C(0xd1342543de82ef95) /* any other odd number with well spread bits */
#define LANES 8

static uint64_t absorb(uint64_t state, uint64_t word)
{
    return rng_mix((state ^ word) + GOLDEN);
}

tithe_key ti_rng_key(uint64_t seed, uint32_t step, uint32_t rank, uint32_t tensor, rng_purpose purpose)
{
    tithe_key key = {absorb(0, seed), absorb(SILVER, seed)};
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

void tithe_random_block(tithe_key key, uint64_t block, uint32_t out[TITHE_BLOCK])
{
    uint64_t s0[LANES], s1[LANES];
    for (int lane = 0; lane < LANES; lane++) {
        const uint64_t counter = block * LANES + (uint64_t)lane;
        s0[lane] = rng_mix(rng_mix(key.a + counter * GOLDEN) + key.b);
        s1[lane] = rng_mix(rng_mix(key.b + counter * SILVER) + key.a);
    }
    for (int i = 0; i < TITHE_BLOCK; i += 2 * LANES) {
        for (int lane = 0; lane < LANES; lane++) {
            uint64_t x = s0[lane];
            const uint64_t y = s1[lane];
            x ^= x << 23;
            s0[lane] = y;
            s1[lane] = x ^ y ^ x >> 18 ^ y >> 5;
            const uint64_t value = s1[lane] + y;
            out[i + 2 * lane] = (uint32_t)value;
            out[i + 2 * lane + 1] = (uint32_t)(value >> 32);
        }
    }
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
