/* number.h - decimal numbers from text, fast and exactly as the C library would round them.
 *
 * Text ends with a newline, which is no part of a number, so no length is carried along. The fast path takes up to 19
 * digits and exponents to 10^22: digits and power of ten are then two numbers of 64 bits whose quotient is off by two
 * units of a double's last place at most. A float has 29 bits less, so its rounding is certain unless those 29 bits
 * are within a few units of one half; only then, and for stranger numbers, the C library is asked. */
#ifndef DATA_NUMBER_H
#define DATA_NUMBER_H

#include <locale.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct decimal {
    uint64_t digits; /* value = digits * 10^exponent; meaningless when there are more than 19 */
    int exponent;
    unsigned count; /* of digits, leading zeros included */
    bool negative;
} decimal;

/* Where the number ends, or NULL when there is none at `p`. */
static inline const char *decimal_scan(const char *p, decimal *d)
{
    uint64_t w = 0;
    unsigned digit;
    d->negative = *p == '-';
    p += *p == '-' || *p == '+';
    const char *first = p;
    for (; (digit = (unsigned)*p - '0') <= 9; p++) w = w * 10 + digit;
    d->count = (unsigned)(p - first);
    d->exponent = 0;
    if (*p == '.') {
        first = ++p;
        for (; (digit = (unsigned)*p - '0') <= 9; p++) w = w * 10 + digit;
        d->exponent = -(int)(p - first);
        d->count += (unsigned)(p - first);
    }
    d->digits = w;
    if (d->count == 0) return NULL;
    if ((*p | 32) == 'e') {
        const bool down = p[1] == '-';
        p += 1 + (p[1] == '-' || p[1] == '+');
        if ((unsigned)*p - '0' > 9) return NULL;
        int e = 0;
        for (; (digit = (unsigned)*p - '0') <= 9; p++)
            if (e < 100000) e = e * 10 + (int)digit;
        d->exponent += down ? -e : e;
    }
    return p;
}

static const double decimal_tens[23] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                        1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                        1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* The magnitude, rounded once or twice; false: outside of what is fast. */
static inline bool decimal_quick(const decimal *d, double *magnitude)
{
    if (d->count > 19 || d->exponent < -22 || d->exponent > 22) return false;
    const double w = (double)d->digits;
    *magnitude = d->exponent < 0 ? w / decimal_tens[-d->exponent] : w * decimal_tens[d->exponent];
    return true;
}

/* strtod reads a point in every country only where the thread is in none. `none` may be 0 if it could not be had. */
static inline double decimal_slow(const char *text, bool single, locale_t none)
{
    const locale_t before = none ? uselocale(none) : (locale_t)0;
    const double value = single ? (double)strtof(text, NULL) : strtod(text, NULL);
    if (none) uselocale(before);
    return value;
}

/* Both return infinity for what is too large; `text` is where the scan began. */
static inline float decimal_float(const decimal *d, const char *text, locale_t none)
{
    double m;
    if (!decimal_quick(d, &m)) return (float)decimal_slow(text, true, none);
    uint64_t bits;
    memcpy(&bits, &m, sizeof bits);
    const int64_t from_half = (int64_t)(bits & 0x1fffffff) - 0x10000000;
    const bool ordinary = m > 0x1p-126 && m < 0x1p127 && (from_half > 4 || from_half < -4);
    if (!ordinary && d->digits) return (float)decimal_slow(text, true, none);
    return (float)(d->negative ? -m : m);
}

static inline double decimal_double(const decimal *d, const char *text, locale_t none)
{
    double m;
    if (d->digits > UINT64_C(1) << 53 || !decimal_quick(d, &m)) return decimal_slow(text, false, none);
    return d->negative ? -m : m;
}

#endif
