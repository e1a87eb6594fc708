/* select.h - what the selectors share: magnitudes that compare as integers, and the reading of k and keep. */
#ifndef CODEC_SELECT_H
#define CODEC_SELECT_H

#include <math.h>

#include "base/bytes.h"
#include "base/rng.h"
#include "base/status.h"
#include "tithe/variant.h"

extern const tithe_selector ti_select_all, ti_select_topk, ti_select_threshold, ti_select_mstopk,
    ti_select_randk, ti_select_stochastic, ti_select_given;

/* |x_i| as a double: exact for both types. */
static inline double select_magnitude(const tithe_select_call *c, size_t i)
{
    return c->type == TITHE_F32 ? (double)fabsf(((const float *)c->x)[i]) : fabs(((const double *)c->x)[i]);
}

/* |x_i| as an integer of the same order. */
static inline uint64_t select_key(const tithe_select_call *c, size_t i)
{
    return c->type == TITHE_F32 ? f32_bits(((const float *)c->x)[i]) & 0x7fffffffu
                                : f64_bits(((const double *)c->x)[i]) & UINT64_C(0x7fffffffffffffff);
}

/* The smallest float that is not below a number: floats compare among themselves many at a time. */
static inline float select_min_float(double number)
{
    const float near = (float)number;
    return (double)near < number ? nextafterf(near, INFINITY) : near;
}

/* The two parameters with which topk, mstopk, randk and stochastic say how much; they stand first in their
 * tables. */
#define SELECT_K_AND_KEEP                                                                     \
    {.name = "k",                                                                             \
     .doc = "entries to send; more than n sends all",                                         \
     .fallback = NAN,                                                                         \
     .min = 1,                                                                                \
     .max = 4294967295.0,                                                                     \
     .whole = true},                                                                          \
    {                                                                                         \
        .name = "keep", .doc = "share of the coordinates to send: k = max(1, round(keep*n))", \
        .fallback = NAN, .min = 1e-9, .max = 1                                                \
    }

enum { SELECT_K = 0, SELECT_KEEP = 1 };

bool ti_select_has_k_or_keep(const double *params);
const char *ti_select_refuse_k_and_keep(const double *params);
size_t ti_select_count(const double *params, size_t n);
void ti_select_set_k(double *params, double level);

/* The indices that a call was given, checked. */
tithe_status ti_select_take_given(const tithe_call *call, size_t n, uint32_t *indices, tithe_error *error);

/* Append to s the k positions of [first, first + n) with the largest magnitudes, ascending; ties go to the
 * lowest position. k is at most n. Floats are gathered too, c->gradient is added on the way, and false is
 * returned if something is not finite. */
bool ti_select_top(const tithe_select_call *c, size_t first, size_t n, size_t k, tithe_selection *s);

/* Where its sample looks: once in each of `size` equal stretches. Here, so that an input can be made that defeats it.
 * Every look is a miss of the cache and of the page table, while a wider bracket costs only the survivors in it: the
 * fewer are asked for, the fewer looks pay. */
enum { SELECT_SAMPLE_MIN = 1 << 12, SELECT_SAMPLE_MAX = 1 << 13 };

static inline size_t select_sample_size(size_t n, size_t k) /* a power of two; n >= SELECT_SAMPLE_MIN */
{
    size_t size = k < n / 256 ? SELECT_SAMPLE_MAX / 2 : SELECT_SAMPLE_MAX;
    while (size > n / 16) size /= 2;
    return size;
}

static inline size_t select_sample_at(tithe_key key, size_t n, size_t size, size_t i)
{
    const uint64_t begin = (uint64_t)i * n / size, end = (uint64_t)(i + 1) * n / size;
    return (size_t)(begin + ((rng_mix(i + key.a) >> 32) * (end - begin) >> 32));
}

/* How many survivors of the first pass there has to be room for. */
size_t ti_select_top_room(size_t n, size_t k);
size_t ti_select_top_scratch(size_t n, size_t room); /* bytes */

#endif
