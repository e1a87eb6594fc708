/* dither_avx2.h - dithering: values to levels, thirty-two at a time; part of kernels_avx2.c. */
#ifndef KERNELS_DITHER_AVX2_H
#define KERNELS_DITHER_AVX2_H

#include "kernels/sums_avx2.h"

enum { LEVELS_AT_ONCE = 32 };

INLINE __m256 level_position(const level_job *job, size_t i)
{
    const __m256 lifted = _mm256_mul_ps(magnitudes(job->x + i), _mm256_set1_ps(job->lift));
    return _mm256_mul_ps(lifted, _mm256_set1_ps(job->slope));
}

/* Up by one where 31 random bits are below `chance`; where they equal it, *open has the lane. */
INLINE __m256i draw(const level_job *job, size_t i, __m256i level, __m256i chance, __m256i *open)
{
    const __m256i random = _mm256_srli_epi32(load_bits(job->random + i), 1);
    *open = _mm256_or_si256(*open, _mm256_cmpeq_epi32(random, chance));
    return _mm256_sub_epi32(level, _mm256_cmpgt_epi32(chance, random));
}

INLINE __m256i dither8(const level_job *job, size_t i, __m256i *open)
{
    const __m256 t = level_position(job, i);
    const __m256i level = _mm256_cvttps_epi32(t);
    const __m256 fraction = _mm256_sub_ps(t, _mm256_cvtepi32_ps(level));
    const __m256i chance = _mm256_cvttps_epi32(_mm256_mul_ps(fraction, _mm256_set1_ps(0x1p31f)));
    return draw(job, i, level, chance, open);
}

/* From 1 on, the 23 bits of the mantissa are the chance, shifted to where 31 bits are compared. */
INLINE __m256i natdither8(const level_job *job, size_t i, __m256i *open)
{
    const __m256 t = level_position(job, i), small = _mm256_cmp_ps(t, _mm256_set1_ps(1), _CMP_LT_OQ);
    const __m256i bits = _mm256_castps_si256(t), below = _mm256_castps_si256(small);
    const __m256i mantissa = _mm256_srli_epi32(_mm256_slli_epi32(bits, 9), 1);
    const __m256i fraction = _mm256_cvttps_epi32(_mm256_mul_ps(t, _mm256_set1_ps(0x1p31f)));
    const __m256i level = _mm256_sub_epi32(_mm256_srli_epi32(bits, 23), _mm256_set1_epi32(126));
    return draw(job, i, _mm256_andnot_si256(below, level), _mm256_blendv_epi8(mantissa, fraction, below),
                open);
}

/* Packing saturates, so no level wraps around, and signs stay. */
INLINE void store_levels(const level_job *job, size_t i, const __m256i level[4])
{
    const float *x = job->x + i;
    const __m256i levels =
        _mm256_packus_epi16(_mm256_packs_epi32(level[0], level[1]), _mm256_packs_epi32(level[2], level[3]));
    const __m256i signs = _mm256_packs_epi16(_mm256_packs_epi32(load_bits(x), load_bits(x + 8)),
                                             _mm256_packs_epi32(load_bits(x + 16), load_bits(x + 24)));
    const __m256i code = _mm256_min_epu8(levels, _mm256_set1_epi8((char)job->s));
    const __m256i zero = _mm256_cmpeq_epi8(code, _mm256_setzero_si256());
    const __m256i sign = _mm256_andnot_si256(zero, _mm256_and_si256(signs, _mm256_set1_epi8((char)128)));
    store_bits(job->codes + i, in_order(_mm256_or_si256(code, sign)));
}

typedef __m256i level_rounding(const level_job *job, size_t i, __m256i *open);
typedef void level_definition(const level_job *job);

/* One value in 2^31 needs more random bits; then the definition does it over, for all of them. */
INLINE void levels32(const level_job *job, size_t i, level_rounding *round8, level_definition *definition)
{
    __m256i level[4], open = _mm256_setzero_si256();
    for (size_t q = 0; q < 4; q++) level[q] = round8(job, i + 8 * q, &open);
    store_levels(job, i, level);
    if (__builtin_expect(!_mm256_testz_si256(open, open), 0)) {
        level_job again = *job;
        again.x += i;
        again.random += i;
        again.codes += i;
        again.position += i;
        again.n = LEVELS_AT_ONCE;
        definition(&again);
    }
}

INLINE void levels_of_all(const level_job *job, level_rounding *round8, level_definition *definition)
{
    const level_job here = *job; /* a copy that no store can alias */
    size_t i = 0;
    for (; i + LEVELS_AT_ONCE <= here.n; i += LEVELS_AT_ONCE) {
        prefetch(here.x + i);
        prefetch(here.x + i + 16);
        levels32(&here, i, round8, definition);
    }
    if (i == here.n) return;
    if (here.n >= LEVELS_AT_ONCE) { /* the last ones, some of them again: the codes come out the same */
        levels32(&here, here.n - LEVELS_AT_ONCE, round8, definition);
        return;
    }
    float x[LEVELS_AT_ONCE] = {0};
    uint32_t random[LEVELS_AT_ONCE];
    uint8_t codes[LEVELS_AT_ONCE];
    memset(random, 255, sizeof random); /* so that no zero beyond the end is left open */
    memcpy(x, here.x, here.n * sizeof *x);
    memcpy(random, here.random, here.n * sizeof *random);
    level_job all = here;
    all.x = x;
    all.random = random;
    all.codes = codes;
    levels32(&all, 0, round8, definition);
    memcpy(here.codes, codes, here.n);
}

static void avx2_dither_levels(const level_job *job)
{
    levels_of_all(job, dither8, define_dither_levels);
}

static void avx2_natdither_levels(const level_job *job)
{
    levels_of_all(job, natdither8, define_natdither_levels);
}

typedef __m256d moment_rounding(__m256d t);

/* The fraction of a float is a float, so the doubles find the same one. */
INLINE __m256d dither_moment4(__m256d t)
{
    const __m256d whole = _mm256_floor_pd(t), fraction = _mm256_sub_pd(t, whole);
    const __m256d slope = _mm256_add_pd(_mm256_add_pd(whole, whole), _mm256_set1_pd(1));
    return _mm256_add_pd(_mm256_mul_pd(whole, whole), _mm256_mul_pd(fraction, slope));
}

INLINE __m256d natdither_moment4(__m256d t)
{
    const __m256d power = _mm256_and_pd(t, _mm256_set1_pd(INFINITY)); /* of the exponent alone */
    const __m256d above =
        _mm256_mul_pd(power, _mm256_sub_pd(_mm256_mul_pd(_mm256_set1_pd(3), t), _mm256_add_pd(power, power)));
    return _mm256_blendv_pd(above, t, _mm256_cmp_pd(t, _mm256_set1_pd(1), _CMP_LT_OQ));
}

INLINE void moments_of_all(const level_job *job, double *squares, double *expected, moment_rounding *moment4)
{
    const __m256d zero = _mm256_setzero_pd();
    __m256d square[4] = {zero, zero, zero, zero}, second[4] = {zero, zero, zero, zero};
    float end[LANES];
    for (size_t i = 0; i < job->n; i += LANES) {
        level_job here = *job;
        here.x = i + LANES <= job->n ? job->x + i : padded(job->x + i, job->n - i, 0, end);
        for (size_t h = 0; h < 2; h++) {
            const __m256 t = level_position(&here, 8 * h);
            const __m256d low = _mm256_cvtps_pd(_mm256_castps256_ps128(t)),
                          high = _mm256_cvtps_pd(_mm256_extractf128_ps(t, 1));
            square[2 * h] = _mm256_add_pd(square[2 * h], _mm256_mul_pd(low, low));
            square[2 * h + 1] = _mm256_add_pd(square[2 * h + 1], _mm256_mul_pd(high, high));
            second[2 * h] = _mm256_add_pd(second[2 * h], moment4(low));
            second[2 * h + 1] = _mm256_add_pd(second[2 * h + 1], moment4(high));
        }
    }
    *squares = fold(square);
    *expected = fold(second);
}

static void avx2_dither_moments(const level_job *job, double *squares, double *expected)
{
    moments_of_all(job, squares, expected, dither_moment4);
}

static void avx2_natdither_moments(const level_job *job, double *squares, double *expected)
{
    moments_of_all(job, squares, expected, natdither_moment4);
}

#endif
