/* support.h - what the unit tests share: numbers to test with, buffers that notice a write beyond their end, and
 * intervals that a sound library leaves less than once in 10^8 questions. */
#ifndef TESTS_SUPPORT_H
#define TESTS_SUPPORT_H

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "comm/comm.h"
#include "tithe/tithe.h"

/* Stops the test with a sentence of one's own unless `condition` holds. */
#define expect(condition, ...)                   \
    do {                                         \
        if (!(condition)) fail_msg(__VA_ARGS__); \
    } while (0)

/* What is asked with a size, by value. */
static inline tithe_claims claims_of(const tithe_codec *codec, size_t n)
{
    tithe_claims claims = {.size = sizeof claims};
    tithe_codec_claims(codec, n, &claims);
    return claims;
}

static inline tithe_exchange_totals totals_of(const tithe_exchange *ex)
{
    tithe_exchange_totals totals = {.size = sizeof totals};
    tithe_exchange_total(ex, &totals);
    return totals;
}

static inline tithe_exchange_record last_of(const tithe_exchange *ex)
{
    tithe_exchange_record last = {.size = sizeof last};
    tithe_exchange_last(ex, &last);
    return last;
}

/* Variants that are there. */
static inline const tithe_collective *collective_of(const char *name)
{
    const tithe_collective *found = NULL;
    expect(!tithe_collective_find(name, &found, NULL, NULL), "There is no collective '%s'.", name);
    return found;
}

static inline const tithe_tuner *tuner_of(const char *name)
{
    const tithe_tuner *found = NULL;
    expect(!tithe_tuner_find(name, &found, NULL, NULL), "There is no tuner '%s'.", name);
    return found;
}

/* All ranks in this process, on the stack: what tithe_comm_local makes. */
static inline tithe_comm ranks_here(unsigned size)
{
    return (tithe_comm){.size = size, .local = size};
}

/* ---- numbers, from a generator that has nothing to do with the library's ------------------------------- */

typedef struct dice {
    uint64_t state;
} dice;

/* Steele, Lea and Flood's generator of the java library: an odd step and a mixer (their MurmurHash variant). */
static inline uint64_t roll(dice *d)
{
    uint64_t z = d->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 33) * UINT64_C(0xff51afd7ed558ccd);
    z = (z ^ z >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
    return z ^ z >> 33;
}

static inline size_t roll_below(dice *d, size_t limit)
{
    return (size_t)(roll(d) % limit);
}

static inline double roll_unit(dice *d) /* in (0, 1) */
{
    return ((double)(roll(d) >> 12) + 0.5) * 0x1p-52;
}

static inline double roll_gauss(dice *d)
{
    return sqrt(-2 * log(roll_unit(d))) * cos(6.283185307179586 * roll_unit(d));
}

static inline uint32_t bits_of_float(float f)
{
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    return u;
}

static inline float float_of_bits(uint32_t u)
{
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}

/* ---- kinds of vectors ---------------------------------------------------------------------------------- */

typedef enum input_kind {
    GAUSSIAN,
    ALL_ZERO,
    ALL_EQUAL,
    DENORMAL,
    HUGE_NUMBERS,
    ONE_HOT,
    SIGNED_ZEROS, /* zeros of both signs among ordinary numbers, with ties */
    KINDS
} input_kind;

static inline const char *kind_name(input_kind k)
{
    static const char *const names[] = {"gaussian", "all zero", "all equal",   "denormal",
                                        "huge",     "one hot",  "signed zeros"};
    return names[k];
}

/* Every number is a float, so that the same vector serves both types. */
static inline double kind_number(input_kind k, size_t i, size_t n, dice *d)
{
    const double g = roll_gauss(d);
    switch (k) {
    case GAUSSIAN: return (double)(float)g;
    case ALL_ZERO: return 0;
    case ALL_EQUAL: return (double)-0.3f;
    case DENORMAL: return (double)float_of_bits((uint32_t)(roll(d) & 0x807fffffu));
    case HUGE_NUMBERS: return (double)((g < 0 ? -1 : 1) * (float)(1e38 * (1 + 2 * roll_unit(d))));
    case ONE_HOT: return i == n / 2 ? -2.5 : 0;
    default:
        return i % 3 == 0 ? -0.0 : i % 3 == 1 ? 0.0 : (double)(float)(i % 2 ? 1 : -1) * (1 + (int)(i % 5));
    }
}

static inline size_t type_bytes(tithe_type type)
{
    return type == TITHE_F32 ? sizeof(float) : sizeof(double);
}

static inline void set_number(tithe_type type, void *x, size_t i, double value)
{
    if (type == TITHE_F32)
        ((float *)x)[i] = (float)value;
    else
        ((double *)x)[i] = value;
}

static inline double get_number(tithe_type type, const void *x, size_t i)
{
    return type == TITHE_F32 ? (double)((const float *)x)[i] : ((const double *)x)[i];
}

static inline void fill_kind(tithe_type type, input_kind k, void *x, size_t n, uint64_t seed)
{
    dice d = {seed * 1000003 + (uint64_t)k * 7919 + n};
    for (size_t i = 0; i < n; i++) set_number(type, x, i, kind_number(k, i, n, &d));
}

/* ---- buffers with watched ends -------------------------------------------------------------------------- */

enum { GUARD = 64, GUARD_BYTE = 0xa7 };

typedef struct guarded {
    uint8_t *block;
    void *data; /* `size` bytes, `shift` bytes off a 64-byte boundary */
    size_t size, shift;
} guarded;

static inline guarded guarded_make(size_t size, size_t shift)
{
    guarded g = {.size = size, .shift = shift};
    g.block = malloc(size + 3 * GUARD + shift);
    assert_non_null(g.block);
    memset(g.block, GUARD_BYTE, size + 3 * GUARD + shift);
    const uintptr_t first = (uintptr_t)g.block + GUARD;
    g.data = g.block + GUARD + (GUARD - first % GUARD) % GUARD + shift;
    return g;
}

static inline bool guarded_is_intact(const guarded *g)
{
    const uint8_t *from = g->block, *data = g->data, *end = g->block + g->size + 3 * GUARD + g->shift;
    for (const uint8_t *p = from; p < end; p++)
        if ((p < data || p >= data + g->size) && *p != GUARD_BYTE) return false;
    return true;
}

static inline void guarded_free(guarded *g)
{
    free(g->block);
    *g = (guarded){0};
}

static inline bool bytes_are(const void *p, size_t size, uint8_t byte)
{
    for (size_t i = 0; i < size; i++)
        if (((const uint8_t *)p)[i] != byte) return false;
    return true;
}

/* ---- codecs and frames ---------------------------------------------------------------------------------- */

static inline tithe_codec *codec_with(const char *spec, tithe_codec_options options)
{
    tithe_codec *codec = NULL;
    tithe_error error = {0};
    if (tithe_codec_create(spec, &options, &codec, &error)) fail_msg("%s: %s", spec, error.text);
    return codec;
}

static inline tithe_codec *codec_of(const char *spec)
{
    return codec_with(spec, (tithe_codec_options){TITHE_F32, false, false});
}

static inline void repair_checksum(uint8_t *frame, size_t length)
{
    const uint32_t crc = tithe_crc32c(frame, length - 4);
    for (int b = 0; b < 4; b++) frame[length - 4 + (size_t)b] = (uint8_t)(crc >> 8 * b);
}

/* ---- intervals ------------------------------------------------------------------------------------------ */

/* Bernstein: a sum of `trials` independent 0/1 draws with mean p leaves mean +- this less than once in 2*10^8. */
static inline double count_slack(double trials, double p)
{
    const double a = 20, variance = trials * p * (1 - p);
    return a / 3 + sqrt(a * a / 9 + 2 * a * variance);
}

/* Laurent and Massart: a chi-square number with `df` degrees of freedom exceeds this less than once in 5*10^8. */
static inline double chi_square_limit(double df)
{
    return df + 2 * sqrt(df * 20) + 40;
}

#endif
