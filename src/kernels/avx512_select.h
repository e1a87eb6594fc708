/* avx512_select.h - selection for the table of AVX-512: the pass over the vector, and what is done with survivors.
 *
 * The pass is bound by memory as long as it does little else. So the loop has no masks, one running maximum tells in
 * the end whether all was finite, and there are two forms of it: where few survive, most groups of sixteen are
 * passed over by a branch that is guessed right; where more do, that branch costs more than it saves. */
#ifndef KERNELS_AVX512_SELECT_H
#define KERNELS_AVX512_SELECT_H

#include "kernels/avx512.h"

enum { SPARSE = 50 /* less than one in so many survives */, DENSE_STREAMS = 2 };

/* One stream of a selection: where its survivors go. */
typedef struct survivors {
    uint32_t *indices;
    float *values;
    size_t count, capacity;
} survivors;

/* Compress in registers and store whole vectors: `capacity + 16` is room enough. */
INLINE void keep16(uint32_t index, __mmask16 keep, __m512 v, survivors *out)
{
    const __m512i indices =
        _mm512_add_epi32(_mm512_set1_epi32((int)index),
                         _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
    const size_t at = out->count < out->capacity ? out->count : out->capacity;
    _mm512_storeu_si512(out->indices + at, _mm512_maskz_compress_epi32(keep, indices));
    _mm512_storeu_ps(out->values + at, _mm512_maskz_compress_ps(keep, v));
    out->count += count_lanes(keep);
}

INLINE __m512i magnitudes(__m512 v)
{
    return _mm512_and_si512(_mm512_castps_si512(v), _mm512_set1_epi32(0x7fffffff));
}

/* Store sixteen sums, but for those that are not finite. */
static inline void store_sums(const kernel_source *s, size_t i, __mmask16 lanes, __m512 v)
{
    const __mmask16 infinite = _mm512_cmpge_epu32_mask(magnitudes(v), _mm512_set1_epi32(0x7f800000));
    _mm512_mask_storeu_ps(s->x + i, lanes & (__mmask16)~infinite, v);
    if (infinite & lanes) store_overflow(s, i, infinite & lanes);
}

/* What is the same for all of a pass, in registers. */
typedef struct select_pass {
    kernel_source source;
    uint32_t first;
    __m512i min;
} select_pass;

/* Sixteen or fewer: the end of a vector. */
static inline void select16(const select_pass *p, size_t i, __mmask16 lanes, __m512i *max, survivors *out)
{
    __m512 v = _mm512_maskz_loadu_ps(lanes, p->source.x + i);
    if (p->source.g) {
        const __m512 g = _mm512_maskz_loadu_ps(lanes, p->source.g + i);
        v = _mm512_add_ps(v, _mm512_mul_ps(_mm512_set1_ps(p->source.gamma), g));
        store_sums(&p->source, i, lanes, v);
    }
    *max = _mm512_max_epu32(*max, magnitudes(v));
    keep16(p->first + (uint32_t)i, _mm512_mask_cmpge_epu32_mask(lanes, magnitudes(v), p->min), v, out);
}

/* Likewise four times; `largest` has the largest magnitude of every lane. */
INLINE void store_sums64(const kernel_source *s, size_t i, const __m512 v[4], __m512i largest)
{
    const bool finite = _mm512_cmpge_epu32_mask(largest, _mm512_set1_epi32(0x7f800000)) == 0;
#pragma GCC unroll 4
    for (size_t j = 0; j < 4; j++) {
        if (__builtin_expect(finite, 1))
            _mm512_storeu_ps(s->x + i + 16 * j, v[j]);
        else
            store_sums(s, i + 16 * j, 0xffff, v[j]);
    }
}

/* *most has the largest magnitude of every lane so far. `add` and `sparse` are constants. */
INLINE void select64(const select_pass *p, size_t i, const bool add, const bool sparse, __m512i *max,
                     survivors *out)
{
    survivors here = *out; /* a copy that no store can alias */
    __m512 v[4];
    __mmask16 keep[4];
    __m512i largest = _mm512_setzero_si512();
#pragma GCC unroll 4
    for (size_t j = 0; j < 4; j++) {
        const float *x = p->source.x + i + 16 * j;
        prefetch(x);
        v[j] = _mm512_loadu_ps(x);
        if (add) {
            const float *g = p->source.g + i + 16 * j;
            prefetch(g);
            v[j] = _mm512_add_ps(v[j], _mm512_mul_ps(_mm512_set1_ps(p->source.gamma), _mm512_loadu_ps(g)));
        }
        const __m512i magnitude = magnitudes(v[j]);
        largest = _mm512_max_epu32(largest, magnitude);
        keep[j] = _mm512_cmpge_epu32_mask(magnitude, p->min);
    }
    *max = _mm512_max_epu32(*max, largest);
    if (add) store_sums64(&p->source, i, v, largest);
#pragma GCC unroll 4
    for (size_t j = 0; j < 4; j++)
        if (!sparse || keep[j]) keep16(p->first + (uint32_t)(i + 16 * j), keep[j], v[j], &here);
    out->count = here.count;
}

INLINE select_pass pass_of(const select_job *job, const bool add)
{
    select_pass p = {job->source, job->first, _mm512_set1_epi32((int)job->min)};
    if (!add) p.source.g = NULL;
    return p;
}

/* One stream from `begin` on, after `count` survivors. */
INLINE size_t select_rest(const select_job *job, const bool add, const bool sparse, size_t begin,
                          size_t count, __m512i *max)
{
    const select_pass p = pass_of(job, add);
    survivors out = {job->indices, job->values, count, job->capacity};
    __m512i largest = *max;
    size_t i = begin;
    for (; i + 64 <= job->n; i += 64) select64(&p, i, add, sparse, &largest, &out);
    for (; i < job->n; i += 16) select16(&p, i, first_lanes(job->n - i), &largest, &out);
    *max = largest;
    return out.count;
}

/* Stretches side by side, each into its share of the room, moved together at the end. Survivors that crowd in one of
 * them are looked for again with one stream. */
INLINE size_t select_streams(const select_job *job, const size_t streams, const bool add, const bool sparse,
                             __m512i *max)
{
    const select_pass p = pass_of(job, add);
    survivors out[READ_STREAMS];
    const size_t stretch = job->n / streams / 64 * 64;
    const size_t share = job->capacity / streams, room = share < stretch + 16 ? share : stretch + 16;
    bool crowded = false;
    size_t count = 0;
    __m512i largest = *max;
    for (size_t s = 0; s < streams; s++)
        out[s] = (survivors){job->indices + s * room, job->values + s * room, 0, room - 16};
    for (size_t i = 0; i < stretch; i += 64)
#pragma GCC unroll 4
        for (size_t s = 0; s < streams; s++) select64(&p, s * stretch + i, add, sparse, &largest, &out[s]);
    *max = largest;
    for (size_t s = 0; s < streams; s++) {
        crowded |= out[s].count > out[s].capacity;
        if (s && !crowded) {
            memmove(job->indices + count, out[s].indices, out[s].count * sizeof *job->indices);
            memmove(job->values + count, out[s].values, out[s].count * sizeof *job->values);
        }
        count += out[s].count;
    }
    count = select_rest(job, add, sparse, streams * stretch, crowded ? 0 : count, max);
    return crowded ? select_rest(job, false, false, 0, 0, max) : count; /* what was added stays added */
}

static size_t avx512_select(const select_job *job, bool *finite)
{
    const select_job here = *job;
    const bool add = here.source.g != NULL, sparse = here.expected < here.n / SPARSE;
    __m512i max = _mm512_setzero_si512();
    size_t count;
    if (here.n < FEW || here.capacity < FEW / 16)
        count =
            add ? select_rest(&here, true, true, 0, 0, &max) : select_rest(&here, false, true, 0, 0, &max);
    else if (add)
        count = sparse ? select_streams(&here, UPDATE_STREAMS, true, true, &max)
                       : select_streams(&here, UPDATE_STREAMS, true, false, &max);
    else
        count = sparse ? select_streams(&here, READ_STREAMS, false, true, &max)
                       : select_streams(&here, DENSE_STREAMS, false, false, &max);
    *finite = _mm512_reduce_max_epu32(max) < 0x7f800000u;
    return count;
}

/* What is stored never reaches what is still to be read, so whole vectors can be, but for the end. */
static size_t avx512_compact(uint32_t *indices, float *values, size_t n, uint32_t min)
{
    const __m512i bound = _mm512_set1_epi32((int)min);
    size_t kept = 0, i = 0;
    for (; i + 16 <= n; i += 16) {
        const __m512 v = _mm512_loadu_ps(values + i);
        const __m512i index = _mm512_loadu_si512(indices + i);
        const __mmask16 keep = _mm512_cmpge_epu32_mask(magnitudes(v), bound);
        _mm512_storeu_ps(values + kept, _mm512_maskz_compress_ps(keep, v));
        _mm512_storeu_si512(indices + kept, _mm512_maskz_compress_epi32(keep, index));
        kept += count_lanes(keep);
    }
    for (; i < n; i++) {
        const float value = values[i];
        values[kept] = value;
        indices[kept] = indices[i];
        kept += (f32_bits(value) & 0x7fffffffu) >= min;
    }
    return kept;
}

static size_t avx512_collect(const float *values, size_t n, uint32_t min, uint32_t max, uint32_t *keys,
                             size_t *above)
{
    const __m512i low = _mm512_set1_epi32((int)min), high = _mm512_set1_epi32((int)max);
    size_t count = 0, larger = 0;
    for (size_t i = 0; i < n; i += 16) {
        const __mmask16 lanes = first_lanes(n - i);
        const __m512i key = magnitudes(_mm512_maskz_loadu_ps(lanes, values + i));
        const __mmask16 beyond = _mm512_mask_cmpgt_epu32_mask(lanes, key, high);
        const __mmask16 keep = _mm512_mask_cmpge_epu32_mask(lanes & (__mmask16)~beyond, key, low);
        _mm512_storeu_si512(keys + count, _mm512_maskz_compress_epi32(keep, key));
        count += count_lanes(keep);
        larger += count_lanes(beyond);
    }
    *above = larger;
    return count;
}

#endif
