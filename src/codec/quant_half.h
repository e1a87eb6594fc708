/* quant_half.h - the loops that f16 and bf16 share: both round to the nearest of their numbers, ties to even.
 *
 * payload: count little-endian 16-bit numbers, all finite */
#ifndef CODEC_QUANT_HALF_H
#define CODEC_QUANT_HALF_H

#include "codec/quant.h"
#include "kernels/define.h"

typedef struct half_format {
    void (*encode)(const float *x, size_t n, uint8_t *dst);
    void (*add)(const uint8_t *src, size_t n, float scale, float *y);
    float (*value)(uint16_t half);
    uint16_t infinity;
} half_format;

static inline uint64_t half_max_bits(const tithe_quant_call *c)
{
    return (uint64_t)c->count * 16;
}

static inline double half_paper_bits(const tithe_quant_call *c)
{
    return 16 * (double)c->count;
}

/* Values [first, first + count): straight into a dense vector, or by way of a block. */
static inline void half_add_to(const half_format *format, const uint8_t *src, size_t first, size_t count,
                               const tithe_sink *out)
{
    if (!out->y) return;
    src += 2 * first;
    if (!out->at) {
        format->add(src, count, (float)out->scale, (float *)out->y + first);
        return;
    }
    for (size_t done = 0; done < count; done += TITHE_BLOCK) {
        const size_t length = block_length(done, count);
        float block[TITHE_BLOCK];
        for (size_t i = 0; i < length; i++) block[i] = format->value(get_u16(src + 2 * (done + i)));
        tithe_sink_add(out, first + done, block, length);
    }
}

static inline tithe_status half_encode(const half_format *format, const tithe_quant_call *c,
                                       const float *values, uint8_t *dst, uint64_t *bits,
                                       const tithe_sink *sent)
{
    const size_t step =
        sent->y ? TITHE_BLOCK : c->count; /* what is sent is taken back while it is in the cache */
    for (size_t first = 0; first < c->count; first += step) {
        const size_t length = c->count - first < step ? c->count - first : step;
        format->encode(values + first, length, dst + 2 * first);
        half_add_to(format, dst, first, length, sent);
    }
    *bits = half_max_bits(c);
    return TITHE_OK;
}

static inline tithe_status half_check(const half_format *format, const tithe_quant_call *c,
                                      const uint8_t *src, size_t length, uint64_t *bits)
{
    *bits = half_max_bits(c);
    if (length != c->count * 2) return TITHE_E_CORRUPT;
    /* Four at a time: what is added carries into the top bit where a magnitude is not below infinity. */
    const uint64_t ones = UINT64_C(0x0001000100010001), magnitude = ones * 0x7fff;
    const uint64_t added = ones * (0x8000u - format->infinity);
    uint64_t found = 0;
    size_t i = 0;
    for (; i + 8 <= length; i += 8) found |= (get_u64(src + i) & magnitude) + added;
    for (; i < length; i += 2) found |= (get_u16(src + i) & magnitude) + added;
    return found & ~magnitude ? TITHE_E_CORRUPT : TITHE_OK;
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
