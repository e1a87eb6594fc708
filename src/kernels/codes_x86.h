/* codes_x86.h - levels at a fixed width, with the bit gathering instructions of BMI2: one moves eight codes. Included
 * by the tables that have them. */
#ifndef KERNELS_CODES_X86_H
#define KERNELS_CODES_X86_H

#include <immintrin.h>

#include "kernels/define.h"

/* The bits of eight bytes that make a code: the level at the bottom, the sign at the top. */
static inline uint64_t x86_code_bits(unsigned width)
{
    return (128u | ((1u << (width - 1)) - 1)) * UINT64_C(0x0101010101010101);
}

static void x86_pack_codes(const uint8_t *codes, size_t n, unsigned width, uint8_t *dst)
{
    const uint64_t bits = x86_code_bits(width);
    size_t i = 0;
    for (; (n - i) / 8 * width >= 8; i += 8, dst += width) /* a whole word can be stored */
        put_u64(dst, _pext_u64(get_u64(codes + i), bits));
    define_pack_codes(codes + i, n - i, width, dst);
}

static void x86_unpack_codes(const uint8_t *src, size_t n, unsigned width, uint8_t *codes)
{
    const uint64_t bits = x86_code_bits(width);
    size_t i = 0;
    for (; (n - i) / 8 * width >= 8; i += 8, src += width) /* a whole word can be loaded */
        put_u64(codes + i, _pdep_u64(get_u64(src), bits));
    define_unpack_codes(src, n - i, width, codes + i);
}

#endif
