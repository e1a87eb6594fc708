/* rng.h - randomness as a pure function of (seed, step, rank, tensor, purpose, position).
 *
 * Blocks of 4096 numbers are seeded on their own, so any block can be made in any order and on any number
 * of threads. Inside a block, eight lanes of xorshift128+ run side by side, which vector units do at the
 * speed of memory; a block is so short (256 steps of a lane) that the generator's linear weakness, which
 * needs more than 256 bits of one lane's lowest bit to show, never comes into play. docs/format.md states
 * it to the bit, since the decoder of `randk` has to draw the same indices. */
#ifndef BASE_RNG_H
#define BASE_RNG_H

#include "base/mix.h"
#include "tithe/variant.h"

#define RNG_SILVER UINT64_C(0xd1342543de82ef95) /* any other odd number with well spread bits */

typedef enum rng_purpose {
    RNG_SELECT = 1,
    RNG_QUANTIZE = 2,
    RNG_NORM = 3,
    RNG_SPLIT = 4,   /* which rows a worker gets */
    RNG_DATA = 5,    /* generated data */
    RNG_ROWS = 6,    /* which rows an estimator looks at */
    RNG_COIN = 7,    /* of loopless SVRG */
    RNG_CLIENTS = 8, /* which workers take part in a step */
    RNG_CHECK = 9,   /* not drawn from: the key itself says whether two ends agree on a seed */
    RNG_WINDOW = 10  /* what is too small for a sum of whole numbers */
} rng_purpose;

tithe_key ti_rng_key(uint64_t seed, uint32_t step, uint32_t rank, uint32_t tensor, rng_purpose purpose);

/* The same for another purpose, where only the key is at hand. */
tithe_key ti_rng_derive(tithe_key key, rng_purpose purpose);

/* 64 bits of its own for one position: for the rare draw that needs more than its block gave. */
static inline uint64_t rng_at(tithe_key key, uint64_t position)
{
    return rng_mix(rng_mix(key.a ^ position) + key.b);
}

#endif
