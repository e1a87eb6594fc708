/* codes.h - what a switch does with the numbers of a packet: check them, take them into its slot, and write the outcome.
 * Whole numbers alone: add, shift, the larger one, the highest bit. Needs no library, as packet.h. */
#ifndef AGGREGATE_CODES_H
#define AGGREGATE_CODES_H

#include "aggregate/packet.h"
#include "base/mix.h"

/* NATURAL: a byte is 128 * sign + exponent; exponent 0 is zero, e stands for 2^(e-1). */
enum {
    NATURAL_SIGN = 0x80,
    NATURAL_TOP = 30 /* a sum of all workers is at most 2^30 */
};

/* Are these numbers that so many workers may send, such that no sum leaves its 32 bits? */
static inline bool codes_make_sense(const packet_head *h, uint32_t workers)
{
    if (h->values == 0 || h->up < 1 || h->up > 32 || h->down < 1 || h->down > 32) return false;
    const uint64_t widest = (UINT64_C(1) << h->up) - 1, back = (UINT64_C(1) << h->down) - 1;
    switch (h->operation) {
    case OPERATION_MAX: return h->up == h->down && h->most <= back;
    case OPERATION_SUM: return h->most <= widest && (uint64_t)h->most * workers <= back;
    case OPERATION_NATURAL:
        return h->up == 8 && h->down == 8 && h->most >= 1 && h->most <= NATURAL_TOP + 1 &&
               (uint64_t)workers << (h->most - 1) <= UINT64_C(1) << NATURAL_TOP;
    default: return false;
    }
}

/* Where the highest bit of v is, from 0; v is not 0. */
static inline uint32_t codes_highest_bit(uint32_t v)
{
#ifdef __bpf__
    v |=
        v >>
        1; /* all bits below it as well, and how many that are: without a branch, which would be two programs to check */
    v |= v >> 2;
    v |= v >> 4;
    v |= v >> 8;
    v |= v >> 16;
    v -= v >> 1 & 0x55555555u;
    v = (v & 0x33333333u) + (v >> 2 & 0x33333333u);
    return ((v + (v >> 4) & 0x0f0f0f0fu) * 0x01010101u >> 24) - 1;
#else
    return 31u - (uint32_t)__builtin_clz(v);
#endif
}

/* What a byte of NATURAL stands for, in two's complement. */
static inline uint32_t codes_natural(uint32_t code)
{
    const uint32_t exponent = code & (NATURAL_SIGN - 1u), value = UINT32_C(1) << ((exponent - 1) & 31);
    if (exponent == 0) return 0;
    return code & NATURAL_SIGN ? 0u - value : value;
}

/* C_M: a sum goes to one of the powers of two beside it, so that the mean is the sum. Exact, since below 2^h there are 2^h
 * random numbers. */
static inline uint8_t codes_round(uint32_t sum, uint64_t random)
{
    const uint32_t sign = sum >> 31, minus = 0u - sign, magnitude = (sum ^ minus) - minus;
    const uint32_t h = codes_highest_bit(magnitude | 1), below = (UINT32_C(1) << h) - 1;
    const uint32_t up = ((uint32_t)random & below) < (magnitude & below);
    return (uint8_t)((sign << 7 | (h + up + 1)) & (0u - (magnitude != 0)));
}

/* The random number of the value at `place` behind the one where `draw` begins. */
static inline uint64_t codes_random(uint64_t draw, uint32_t place)
{
    return rng_mix(draw + place * RNG_GOLDEN);
}

static inline uint32_t codes_max(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

#endif
