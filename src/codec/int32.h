/* int32.h - what the frames of int32 and its sums in a switch have in common: floats as whole numbers in a block that shares an
 * exponent. */
#ifndef CODEC_INT32_H
#define CODEC_INT32_H

#include "codec/quant.h"
#include "kernels/kernels.h"

size_t ti_int32_block(const tithe_quant_call *c);  /* values that share an exponent */
size_t ti_int32_blocks(const tithe_quant_call *c); /* how many such blocks there are */

/* The exponent f of a block: its magnitudes are below 2^(f - 126). 0: all are zero. */
uint8_t ti_int32_field(const float *x, size_t count);

/* How far one can go from `first` with one exponent and one block of random numbers. */
static inline size_t int32_stretch(size_t first, size_t block, size_t count)
{
    const size_t a = first - first % block + block, b = first - first % TITHE_BLOCK + TITHE_BLOCK;
    const size_t end = a < b ? a : b;
    return end < count ? end : count;
}

/* 2^e, for e from -1022 to 1023. */
static inline double int32_power(int e)
{
    return f64_from_bits((uint64_t)(e + 1023) << 52);
}

/* x in units of 2^(field - 126 - bits), to one of the two whole numbers beside it, unbiased: from -2^bits to 2^bits. */
static inline int32_t int32_round(float x, uint8_t field, int bits, uint32_t random, tithe_key key,
                                  uint64_t position)
{
    const double t = fabs((double)x) * int32_power(bits + 126 - (int)field);
    const int32_t whole = (int32_t)t;
    const double rest = t - whole;
    const int32_t number = whole + (rest > 0 && tithe_random_below(rest, random, key, position));
    return x < 0 ? -number : number;
}

static inline double int32_value(int32_t number, uint8_t field, int bits)
{
    return number * int32_power((int)field - 126 - bits);
}

#endif
