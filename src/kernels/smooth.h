/* smooth.h - exp(-|a|), log(1 + t) and log(s) in plain arithmetic, without a branch or a table.
 *
 * The C library's functions differ in the last bit from machine to machine (it picks another version where the
 * processor can fuse), and they do not vectorise. These give the same bits everywhere and are right to about two
 * units in the last place. A NaN goes in and comes out, so that a training that diverged is noticed. */
#ifndef KERNELS_SMOOTH_H
#define KERNELS_SMOOTH_H

#include <math.h>

#include "base/bytes.h"

/* exp(-|a|); beyond 708, where numbers end, exp(-708) = 3e-308.
 * a = k ln 2 - r with |r| <= ln(2)/2; Taylor's series of exp(r) is then exact to double after 13 terms. */
static inline double smooth_exp_minus(double a)
{
    const double shift = 0x1.8p52; /* adding it leaves the nearest whole number in the lowest bits */
    a = fabs(a);                   /* a NaN may have a sign */
    const uint64_t over =
        -(f64_bits(708 - a) >> 63); /* a > 708 ? 708 : a, which would not vectorise; NaN stays */
    a = f64_from_bits((f64_bits(a) & ~over) | (f64_bits(708) & over));
    const double shifted = a * 0x1.71547652b82fep+0 + shift, k = shifted - shift;
    const double r = (k * 0x1.62e42fefa3800p-1 - a) + k * 0x1.ef35793c76730p-45;
    const double q = r * r;
    /* even and odd terms apart: half as long a chain of operations */
    const double even =
        1 + q * (1.0 / 2 +
                 q * (1.0 / 24 +
                      q * (1.0 / 720 + q * (1.0 / 40320 + q * (1.0 / 3628800 + q * (1.0 / 479001600))))));
    const double odd =
        1 + q * (1.0 / 6 +
                 q * (1.0 / 120 + q * (1.0 / 5040 + q * (1.0 / 362880 +
                                                         q * (1.0 / 39916800 + q * (1.0 / 6227020800.0))))));
    const double power = f64_from_bits((1023 - f64_bits(shifted)) << 52);
    return (even + r * odd) * power;
}

/* log(1 + t) for t in [0, 1]: 2 artanh(s) with s = t/(2+t) <= 1/3, whose series needs 17 terms. */
static inline double smooth_log1p(double t)
{
    const double s = t / (2 + t), z = s * s, w = z * z;
    const double even =
        1 + w * (1.0 / 5 +
                 w * (1.0 / 9 +
                      w * (1.0 / 13 +
                           w * (1.0 / 17 + w * (1.0 / 21 + w * (1.0 / 25 + w * (1.0 / 29 + w / 33)))))));
    const double odd =
        1.0 / 3 +
        w * (1.0 / 7 +
             w * (1.0 / 11 + w * (1.0 / 15 + w * (1.0 / 19 + w * (1.0 / 23 + w * (1.0 / 27 + w / 31))))));
    return 2 * s * (even + z * odd);
}

/* log(s) for s >= 1: s = 2^k (1 + t). */
static inline double smooth_log(double s)
{
    const uint64_t bits = f64_bits(s);
    const double k = (double)(int)(bits >> 52) - 1023,
                 t = f64_from_bits((bits & ((UINT64_C(1) << 52) - 1)) | (UINT64_C(1023) << 52)) - 1;
    return k * 0x1.62e42fefa39efp-1 + smooth_log1p(t) + 0 * s; /* the last keeps NaN */
}

#endif
