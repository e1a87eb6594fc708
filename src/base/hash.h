/* hash.h - a 64-bit hash of bytes: for telling contents apart, not for keeping secrets. */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include "base/bytes.h"
#include "base/rng.h"

/* Whole words in little-endian order, so that every machine gets the same number. */
static inline uint64_t hash_doubles(uint64_t seed, const double *x, size_t n)
{
    uint64_t h = rng_mix(seed ^ RNG_GOLDEN) ^ n;
    for (size_t i = 0; i < n; i++) {
        uint64_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        h = rng_mix(h ^ bits) + RNG_SILVER;
    }
    return rng_mix(h);
}

#endif
