/* form_avx512.h - e + gamma g, what of it survives, and the sums, in one pass for the table of AVX-512. Part of kernels_avx512.c.
 *
 * Squares in double keep the vector units as busy as the loads keep the caches, so they hide behind each other here, and would not in a
 * pass of their own. One stream: two would add the lanes up in another order. */
#ifndef KERNELS_FORM_AVX512_H
#define KERNELS_FORM_AVX512_H

#include "kernels/avx512_select.h"
#include "kernels/sums_avx512.h"

/* What becomes of the memory: a constant, so that there is a loop for each. */
typedef enum form_memory { FORM_ONLY, FORM_COPY, FORM_COPY_PAST, FORM_DRIFT } form_memory;

/* Thirty-two lanes each. */
typedef struct form_lanes {
    __m512d formed[4], along[4], squares[4];
    __m512i max;
} form_lanes;

INLINE __m512d low_half(__m512 v)
{
    return _mm512_cvtps_pd(_mm512_castps512_ps256(v));
}

INLINE __m512d high_half(__m512 v)
{
    return _mm512_cvtps_pd(_mm512_extractf32x8_ps(v, 1));
}

INLINE void add_products(__m512d sum[2], __m512d low, __m512d high, __m512d other_low, __m512d other_high)
{
    sum[0] = _mm512_fmadd_pd(low, other_low, sum[0]);
    sum[1] = _mm512_fmadd_pd(high, other_high, sum[1]);
}

/* Sixteen numbers of the gradient meet what is remembered, and take its place. Straight from memory a half is widened without a shuffle. */
INLINE void remember16(float *memory, const float *g, const form_memory kind, __m512d along[2],
                       __m512d squares[2])
{
    const __m512d low = widen(g), high = widen(g + 8);
    add_products(squares, low, high, low, high);
    if (kind == FORM_DRIFT) add_products(along, widen(memory), widen(memory + 8), low, high);
    if (kind == FORM_COPY_PAST)
        _mm512_stream_ps(memory, _mm512_loadu_ps(g));
    else
        _mm512_storeu_ps(memory, _mm512_loadu_ps(g));
}

INLINE void form64(const select_pass *p, float *memory, size_t i, const form_memory kind, form_lanes *sums,
                   survivors *out)
{
    survivors here = *out; /* a copy that no store can alias */
    __m512 v[4];
    __mmask16 keep[4];
    __m512i largest = _mm512_setzero_si512();
#pragma GCC unroll 4
    for (size_t j = 0; j < 4; j++) {
        const float *x = p->source.x + i + 16 * j, *g = p->source.g + i + 16 * j;
        const size_t lanes = 2 * (j % 2);
        prefetch(x);
        prefetch(g);
        v[j] = _mm512_add_ps(_mm512_loadu_ps(x),
                             _mm512_mul_ps(_mm512_set1_ps(p->source.gamma), _mm512_loadu_ps(g)));
        if (kind == FORM_DRIFT) prefetch(memory + i + 16 * j);
        if (kind != FORM_ONLY)
            remember16(memory + i + 16 * j, g, kind, sums->along + lanes, sums->squares + lanes);
        largest = _mm512_max_epu32(largest, magnitudes(v[j]));
        keep[j] = _mm512_cmpge_epu32_mask(magnitudes(v[j]), p->min);
    }
    sums->max = _mm512_max_epu32(sums->max, largest);
    store_sums64(&p->source, i, v, largest);
#pragma GCC unroll 4
    for (size_t j = 0; j < 4; j++) {
        const float *x = p->source.x + i + 16 * j;
        const size_t lanes = 2 * (j % 2);
        const __m512d low = widen(x), high = widen(x + 8);
        add_products(sums->formed + lanes, low, high, low, high);
    }
#pragma GCC unroll 4
    for (size_t j = 0; j < 4; j++)
        if (keep[j]) keep16(p->first + (uint32_t)(i + 16 * j), keep[j], v[j], &here);
    out->count = here.count;
}

/* Sixteen or fewer: the end of a vector, for `lanes` 0 and 2 in turn. What is missing is zero, and adds nothing. */
static inline void form16(const select_pass *p, float *memory, size_t i, size_t left, form_lanes *sums,
                          size_t lanes, survivors *out)
{
    const __mmask16 there = first_lanes(left);
    const __m512 g = _mm512_maskz_loadu_ps(there, p->source.g + i);
    if (memory) {
        const __m512 before = _mm512_maskz_loadu_ps(there, memory + i);
        add_products(sums->along + lanes, low_half(before), high_half(before), low_half(g), high_half(g));
        add_products(sums->squares + lanes, low_half(g), high_half(g), low_half(g), high_half(g));
        _mm512_mask_storeu_ps(memory + i, there, g);
    }
    select16(p, i, there, &sums->max, out);
    const __m512 v = _mm512_maskz_loadu_ps(there, p->source.x + i);
    add_products(sums->formed + lanes, low_half(v), high_half(v), low_half(v), high_half(v));
}

INLINE size_t form_as(const form_job *job, const form_memory kind, double sums[3], bool *finite)
{
    const select_pass p = pass_of(&job->select, true);
    float *memory = job->memory;
    const size_t n = job->select.n;
    survivors out = {job->select.indices, job->select.values, 0, job->select.capacity};
    form_lanes lanes, end;
    size_t i = 0;
#pragma GCC unroll 4
    for (int q = 0; q < 4; q++) lanes.formed[q] = lanes.along[q] = lanes.squares[q] = _mm512_setzero_pd();
    lanes.max = _mm512_setzero_si512();
    for (; i + 64 <= n; i += 64) form64(&p, memory, i, kind, &lanes, &out);
    if (kind == FORM_COPY_PAST) _mm_sfence();
    end.max = lanes.max; /* one by one: gcc does not keep in registers what is copied as a whole */
#pragma GCC unroll 4
    for (int q = 0; q < 4; q++) {
        end.formed[q] = lanes.formed[q];
        end.along[q] = lanes.along[q];
        end.squares[q] = lanes.squares[q];
    }
    for (; i < n; i += 16) form16(&p, memory, i, n - i, &end, i / 16 % 2 * 2, &out);
    sums[0] = fold_wide(end.formed);
    sums[1] = kind == FORM_DRIFT ? fold_wide(end.along) : 0;
    sums[2] = fold_wide(end.squares);
    *finite = _mm512_reduce_max_epu32(end.max) < 0x7f800000u;
    return out.count;
}

/* A copy goes past the caches, if it is on a boundary of lines: nobody looks at all of it again, and what a step does look at stays. */
static size_t avx512_form(const form_job *job, double sums[3], bool *finite)
{
    if (!job->memory) return form_as(job, FORM_ONLY, sums, finite);
    if (job->drift) return form_as(job, FORM_DRIFT, sums, finite);
    return (uintptr_t)job->memory % 64 == 0 ? form_as(job, FORM_COPY_PAST, sums, finite)
                                            : form_as(job, FORM_COPY, sums, finite);
}

#endif
