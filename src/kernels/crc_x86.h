/* crc_x86.h - CRC-32C with the instruction that x86 has for it (SSE 4.2), for the tables of AVX2 and
 * AVX-512. */
#ifndef KERNELS_CRC_X86_H
#define KERNELS_CRC_X86_H

#include <immintrin.h>

#include "base/bytes.h"

/* The CRC as if so many bytes of zeros had followed: a product modulo the polynomial, K = x^(8*bytes -
 * 33). */
static inline uint64_t shifted(uint64_t crc, uint32_t k)
{
    const __m128i product =
        _mm_clmulepi64_si128(_mm_cvtsi64_si128((int64_t)crc), _mm_cvtsi32_si128((int)k), 0);
    return _mm_crc32_u64(0, (uint64_t)_mm_cvtsi128_si64(product));
}

/* The instruction has a latency of three, so three independent thirds run at its throughput. */
static uint32_t x86_crc32c(uint32_t crc, const uint8_t *bytes, size_t n)
{
    enum { THIRD = 1024 };
    uint64_t a = crc;
    for (; n >= 3 * THIRD; n -= 3 * THIRD, bytes += 3 * THIRD) {
        uint64_t b = 0, c = 0;
        for (size_t i = 0; i < THIRD; i += 8) {
            /* From memory the next thirds have to be asked for: three short streams are too much for the hardware. */
            for (size_t third = 3; i % 64 == 0 && third < 6; third++)
                _mm_prefetch((const char *)bytes + third * THIRD + i, _MM_HINT_T0);
            a = _mm_crc32_u64(a, get_u64(bytes + i));
            b = _mm_crc32_u64(b, get_u64(bytes + THIRD + i));
            c = _mm_crc32_u64(c, get_u64(bytes + 2 * THIRD + i));
        }
        a = shifted(a, 0xa51b6135u) ^ shifted(b, 0x170076fau) ^ c;
    }
    for (; n >= 8; n -= 8, bytes += 8) a = _mm_crc32_u64(a, get_u64(bytes));
    for (; n; n--, bytes++) a = _mm_crc32_u8((uint32_t)a, *bytes);
    return (uint32_t)a;
}

#endif
