/* hash.h - the hash of a model (model_hash): for telling models apart, not for keeping secrets.
 *
 * Everything else is hashed by xxHash, where the trainer links it. This one stays: people compare the model_hash of a run
 * with one that they wrote down. */
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
