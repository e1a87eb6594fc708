/* draw.h - random draws for generated data, and the little mathematics that goes with them.
 *
 * Generated data must be the same to the last bit on every machine, since its hash is compared between ranks and
 * written into traces. So nothing here calls log() or exp(), whose last bit belongs to the C library: only + - * /
 * and sqrt, which IEEE 754 settles. A draw is a function of key, row and place in the row: rows can be made in any
 * order. */
#ifndef DATA_DRAW_H
#define DATA_DRAW_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/rng.h"

typedef struct draw {
    tithe_key key;
    uint64_t position;
} draw;

/* Sequences of one data set that have nothing to do with each other. */
typedef enum draw_stream { DRAW_ROWS, DRAW_MODEL, DRAW_OTHER_MODEL, DRAW_NOISE } draw_stream;

static inline draw draw_start(double seed, draw_stream stream, uint64_t row)
{
    return (draw){ti_rng_key((uint64_t)seed, 0, 0, (uint32_t)stream, RNG_DATA), row << 32};
}

static inline uint64_t draw_bits(draw *d)
{
    return rng_at(d->key, d->position++);
}

static inline double draw_unit(draw *d) /* in [0, 1) */
{
    return (double)(draw_bits(d) >> 11) * 0x1p-53;
}

static inline uint32_t draw_below(draw *d, uint32_t limit)
{
    return (uint32_t)((draw_bits(d) >> 32) * limit >> 32); /* uneven by 2^-32 at most: data, not a proof */
}

/* Bell-shaped, mean 0, variance 1, within 3.5: the sum of four uniform numbers of 16 bits. */
static inline double bell_of_bits(uint64_t b)
{
    const int64_t sum = (int64_t)((b & 0xffff) + (b >> 16 & 0xffff) + (b >> 32 & 0xffff) + (b >> 48));
    return (double)(2 * sum - 4 * 65535) * (0.5 / 65536) * 1.7320508075688772;
}

static inline double draw_bell(draw *d)
{
    return bell_of_bits(draw_bits(d));
}

/* ln x for ordinary x > 0, to about 1e-12: x = 2^e m with m around 1, and the series of artanh. */
static inline double plain_log(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    int e = (int)(bits >> 52) - 1023;
    bits = (bits & UINT64_C(0xfffffffffffff)) | UINT64_C(0x3ff0000000000000);
    double m;
    memcpy(&m, &bits, sizeof m);
    if (m > 1.4142135623730951) {
        m *= 0.5;
        e++;
    }
    const double t = (m - 1) / (m + 1), tt = t * t;
    double sum = 0;
    for (int k = 15; k >= 1; k -= 2) sum = sum * tt + 1.0 / k;
    return (double)e * 0.6931471805599453 + 2 * t * sum;
}

#endif
