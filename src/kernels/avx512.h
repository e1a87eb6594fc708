/* avx512.h - what the kernels for AVX-512 share.
 *
 * Above the size of the caches a single core reads faster when it walks several places at once, and when the lines
 * it will need are asked for early. The enum says how many and how far, as measured; results do not depend on it. */
#ifndef KERNELS_AVX512_H
#define KERNELS_AVX512_H

#include <immintrin.h>

#include "kernels/define.h"

enum {
    AHEAD = 2048,       /* bytes */
    READ_STREAMS = 4,   /* where the vector is only read */
    UPDATE_STREAMS = 2, /* where it is written too */
    FEW = 1 << 16       /* values below which one stream is enough */
};

/* For what has to be compiled again for each constant that it is called with. */
#define INLINE static inline __attribute__((always_inline))

/* Always inline: left to itself, gcc takes a call that only prefetches for one that does nothing. */
INLINE void prefetch(const void *p)
{
    _mm_prefetch((const char *)p + AHEAD, _MM_HINT_T0);
}

/* Mask of the first n lanes. */
static inline __mmask16 first_lanes(size_t n)
{
    return (__mmask16)(n >= 16 ? 0xffff : (1u << n) - 1);
}

/* How many lanes there are in a mask. Asked by the intrinsic, not by a cast: gcc 12 may spill the mask of a cast as 16 bits
 * and count 32 that it reads back, the rest being whatever was there. It does under the thread sanitizer, whose calls
 * leave no mask in a register. */
INLINE size_t count_lanes(__mmask16 lanes)
{
    return (size_t)__builtin_popcount(_cvtmask16_u32(lanes));
}

/* What becomes of the lanes of e where the sum is not finite: the rare path. */
static inline void store_overflow(const kernel_source *s, size_t i, __mmask16 infinite)
{
    for (unsigned left = infinite; left; left &= left - 1)
        define_store_overflow(s, i + (unsigned)__builtin_ctz(left));
}

#endif
