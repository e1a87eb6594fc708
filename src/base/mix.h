/* mix.h - 64 bits well mixed: the heart of rng.h. Needs no library, so that a program in the kernel may have it. */
#ifndef BASE_MIX_H
#define BASE_MIX_H

#include <stdint.h>

#define RNG_GOLDEN UINT64_C(0x9e3779b97f4a7c15)

/* The finalizer of splitmix64: every bit of the result depends on every bit of z. */
static inline uint64_t rng_mix(uint64_t z)
{
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

#endif
