/* define_dither.h - the part of define.h for the two dithering quantizers: levels, their moments, four-bit codes. */
#ifndef KERNELS_DEFINE_DITHER_H
#define KERNELS_DEFINE_DITHER_H

#include <math.h>

#include "base/bytes.h"
#include "base/rng.h"
#include "kernels/define_sums.h"
#include "kernels/kernels.h"

static inline float define_level_position(const level_job *job, size_t i)
{
    return (fabsf(job->x[i]) * job->lift) * job->slope;
}

/* True with probability f in [0, 1), exactly: 31 random bits against those of f, and 24 more if they are
 * equal. */
static inline bool define_chance(float f, uint32_t random, tithe_key key, uint64_t position)
{
    const float scaled = f * 2147483648.0f;
    const uint32_t whole = (uint32_t)(int)scaled; /* signed: every vector unit converts those */
    if (random >> 1 != whole) return random >> 1 < whole;
    return (float)(rng_at(key, position) >> 40) < (scaled - (float)whole) * 16777216.0f;
}

static inline unsigned define_dither_round(float t, uint32_t random, tithe_key key, uint64_t position)
{
    const int level = (int)t;
    return (unsigned)level + define_chance(t - (float)level, random, key, position);
}

/* t in [0, 2^(s-1)]: 0 is level 0, 2^j is level j + 1. Below 1, t is the chance of level 1; above, the
 * mantissa is that of the next power. */
static inline unsigned define_natdither_round(float t, uint32_t random, tithe_key key, uint64_t position)
{
    if (t < 1) return define_chance(t, random, key, position);
    const uint32_t bits = f32_bits(t);
    const float mantissa = (float)(bits & 0x7fffffu) * 0x1p-23f;
    return (bits >> 23) - 126 + define_chance(mantissa, random, key, position);
}

/* t may exceed its end by a rounding error; a zero is positive. */
static inline uint8_t define_level_code(const level_job *job, size_t i, unsigned level)
{
    if (level > job->s) level = job->s;
    return (uint8_t)(level | (job->x[i] < 0 && level ? 128 : 0));
}

static inline void define_dither_levels(const level_job *job)
{
    for (size_t i = 0; i < job->n; i++)
        job->codes[i] = define_level_code(
            job, i,
            define_dither_round(define_level_position(job, i), job->random[i], job->key, job->position + i));
}

static inline void define_natdither_levels(const level_job *job)
{
    for (size_t i = 0; i < job->n; i++)
        job->codes[i] =
            define_level_code(job, i,
                              define_natdither_round(define_level_position(job, i), job->random[i], job->key,
                                                     job->position + i));
}

/* E level^2 = l^2 + f(2l+1), l and f the whole and the fraction of t */
static inline double define_dither_moment(float t)
{
    const float whole = (float)(int)t, fraction = t - whole;
    return (double)whole * (double)whole + (double)fraction * (2 * (double)whole + 1);
}

/* With p the power of two below t >= 1 and u = t/p, E = p^2 (3u - 2) = p (3t - 2p); below 1 it is t. */
static inline double define_natdither_moment(float t)
{
    const float power = f32_from_bits(f32_bits(t) & 0x7f800000u);
    return t < 1 ? (double)t : (double)power * (3 * (double)t - 2 * (double)power);
}

typedef double level_moment(float t);

static inline void define_moments(const level_job *job, double *squares, double *expected,
                                  level_moment *moment)
{
    double square[LANES] = {0}, second[LANES] = {0};
    size_t i = 0;
    for (; i + LANES <= job->n; i += LANES)
        for (size_t j = 0; j < LANES; j++) {
            const float t = define_level_position(job, i + j);
            square[j] += (double)t * (double)t;
            second[j] += moment(t);
        }
    for (size_t j = 0; i < job->n; i++, j++) {
        const float t = define_level_position(job, i);
        square[j] += (double)t * (double)t;
        second[j] += moment(t);
    }
    *squares = define_fold(square);
    *expected = define_fold(second);
}

static inline void define_dither_moments(const level_job *job, double *squares, double *expected)
{
    define_moments(job, squares, expected, define_dither_moment);
}

static inline void define_natdither_moments(const level_job *job, double *squares, double *expected)
{
    define_moments(job, squares, expected, define_natdither_moment);
}

static inline void define_pack_nibbles(const uint8_t *codes, size_t n, uint8_t *dst)
{
    for (size_t i = 0; i < n; i += 2) {
        const unsigned low = (codes[i] & 7u) | (codes[i] >> 4 & 8u),
                       high = (codes[i + 1] & 7u) | (codes[i + 1] >> 4 & 8u);
        dst[i / 2] = (uint8_t)(low | high << 4);
    }
}

static inline void define_nibbles_add(const uint8_t *src, size_t n, const float table[16], float *y)
{
    for (size_t i = 0; i < n; i += 2) {
        y[i] += table[src[i / 2] & 15];
        y[i + 1] += table[src[i / 2] >> 4];
    }
}

#define DEFINE_DITHER                                                                       \
    .dither_levels = define_dither_levels, .natdither_levels = define_natdither_levels,     \
    .dither_moments = define_dither_moments, .natdither_moments = define_natdither_moments, \
    .pack_nibbles = define_pack_nibbles, .nibbles_add = define_nibbles_add

#endif
