/* rng.c - keys and coins; the blocks of random numbers are a kernel (define.h). Key: vigna2017. */
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
