/* quant_half.h - the loops that f16 and bf16 share: both round to the nearest of their numbers, ties to even.
 *
 * payload: count little-endian 16-bit numbers, all finite */
#ifndef CODEC_QUANT_HALF_H
#define CODEC_QUANT_HALF_H

#include "codec/quant.h"

typedef uint16_t half_from(uint32_t bits); /* of a finite float; the result may be infinite */
typedef uint32_t half_to(uint16_t half);

static inline uint64_t half_max_bits(const tithe_quant_call *c)
{
    return (uint64_t)c->count * 16;
}

static inline tithe_status half_encode(const tithe_quant_call *c, const float *values, uint8_t *dst,
                                       uint64_t *bits, const tithe_sink *sent, half_from *from, half_to *to)
{
    for (size_t first = 0; first < c->count; first += TITHE_BLOCK) {
        const size_t length = block_length(first, c->count);
        float block[TITHE_BLOCK];
        for (size_t i = 0; i < length; i++) {
            const uint16_t half = from(f32_bits(values[first + i]));
            put_u16(dst + 2 * (first + i), half);
            block[i] = f32_from_bits(to(half));
        }
        tithe_sink_add(sent, first, block, length);
    }
    *bits = half_max_bits(c);
    return TITHE_OK;
}

static inline tithe_status half_check(const tithe_quant_call *c, const uint8_t *src, size_t length,
                                      uint64_t *bits, half_to *to)
{
    *bits = half_max_bits(c);
    if (length != c->count * 2) return TITHE_E_CORRUPT;
    bool sound = true;
    for (size_t i = 0; i < c->count; i++) sound &= isfinite(f32_from_bits(to(get_u16(src + 2 * i)))) != 0;
    return sound ? TITHE_OK : TITHE_E_CORRUPT;
}

static inline void half_decode(const tithe_quant_call *c, const uint8_t *src, const tithe_sink *out,
                               half_to *to)
{
    for (size_t first = 0; first < c->count; first += TITHE_BLOCK) {
        const size_t length = block_length(first, c->count);
        float block[TITHE_BLOCK];
        for (size_t i = 0; i < length; i++) block[i] = f32_from_bits(to(get_u16(src + 2 * (first + i))));
        tithe_sink_add(out, first, block, length);
    }
}

/* Relative error `epsilon` at most: |C(x)-x|^2 <= epsilon^2 |x|^2 */
static inline void half_claims(tithe_claims *claims, double epsilon, double smallest, double largest)
{
    claims->traits = 0;
    claims->omega = (1 + epsilon) * (1 + epsilon) - 1;
    claims->delta = 1 - epsilon * epsilon;
    claims->smallest = smallest;
    claims->largest = largest;
}

#endif
