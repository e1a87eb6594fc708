/* avx2.h - what the kernels for AVX2 share. */
#ifndef KERNELS_AVX2_H
#define KERNELS_AVX2_H

#include <immintrin.h>

#include "kernels/define.h"

enum { AHEAD = 2048 /* bytes */ };

/* For what has to be compiled again for each constant that it is called with. */
#define INLINE static inline __attribute__((always_inline))

/* Always inline: left to itself, gcc takes a call that only prefetches for one that does nothing. */
INLINE void prefetch(const void *p)
{
    _mm_prefetch((const char *)p + AHEAD, _MM_HINT_T0);
}

static inline __m256i load_bits(const void *p)
{
    return _mm256_loadu_si256((const __m256i *)p);
}

static inline void store_bits(void *p, __m256i v)
{
    _mm256_storeu_si256((__m256i *)p, v);
}

/* Of packs of packs, which work on halves of registers: the groups of four bytes in their order. */
static inline __m256i in_order(__m256i packed)
{
    return _mm256_permutevar8x32_epi32(packed, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}

#endif
