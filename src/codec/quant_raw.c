/* quant_raw.c - numbers as they are.
 *
 * payload: count little-endian IEEE numbers of 32 (f32) or 64 (f64) bits, all finite */
#include "codec/quant.h"
#include "kernels/kernels.h"

static const tithe_param raw_params[] = {QUANT_TYPE, {0}};

static size_t raw_size(const tithe_quant_call *c)
{
    return c->type == TITHE_F32 ? 4 : 8;
}

static uint64_t raw_max_bits(const tithe_quant_call *c)
{
    return (uint64_t)c->count * raw_size(c) * 8;
}

/* Numbers as they lie in memory on a little-endian machine, which is what a frame holds; others turn them
 * round. */
static void to_wire(uint8_t *dst, const void *values, size_t count, size_t size)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    memcpy(dst, values, count * size);
#else
    for (size_t i = 0; i < count; i++)
        if (size == 4)
            put_f32(dst + 4 * i, ((const float *)values)[i]);
        else
            put_f64(dst + 8 * i, ((const double *)values)[i]);
#endif
}

typedef union raw_block {
    float f[TITHE_BLOCK];
    double d[TITHE_BLOCK];
} raw_block;

static void from_wire(raw_block *block, const uint8_t *src, size_t count, size_t size)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    memcpy(block, src, count * size);
#else
    for (size_t i = 0; i < count; i++)
        if (size == 4)
            block->f[i] = get_f32(src + 4 * i);
        else
            block->d[i] = get_f64(src + 8 * i);
#endif
}

static tithe_status raw_encode(const tithe_quant_call *c, const void *values, uint8_t *dst, uint64_t *bits,
                               const tithe_sink *sent, tithe_error *error)
{
    (void)error;
    if (c->count) to_wire(dst, values, c->count, raw_size(c));
    *bits = raw_max_bits(c);
    tithe_sink_add(sent, 0, values, c->count);
    return TITHE_OK;
}

static tithe_status raw_check(const tithe_quant_call *c, const uint8_t *src, size_t length, uint64_t *bits)
{
    const size_t size = raw_size(c);
    *bits = raw_max_bits(c);
    if (length != c->count * size) return TITHE_E_CORRUPT;
    for (size_t first = 0; first < c->count; first += TITHE_BLOCK) {
        const size_t many = block_length(first, c->count);
        raw_block block;
        from_wire(&block, src + first * size, many, size);
        if (ti_find_nonfinite(c->type, &block, many) < many) return TITHE_E_CORRUPT;
    }
    return TITHE_OK;
}

static void raw_decode(const tithe_quant_call *c, const uint8_t *src, size_t length, const tithe_sink *out)
{
    (void)length;
    for (size_t first = 0; first < c->count; first += TITHE_BLOCK) {
        const size_t many = block_length(first, c->count);
        raw_block block;
        from_wire(&block, src + first * raw_size(c), many, raw_size(c));
        tithe_sink_add(out, first, &block, many);
    }
}

static void raw_claims(const tithe_quant_call *c, tithe_claims *claims)
{
    claims->traits = TITHE_UNBIASED | TITHE_SUMMABLE;
    claims->omega = 0;
    claims->delta = 1;
    claims->smallest = 0;
    claims->largest = c->type == TITHE_F32 ? 0x1.fffffep127 : 0x1.fffffffffffffp1023;
}

const tithe_quantizer ti_quant_raw = {
    .name = "raw",
    .summary = "32 (or 64) bits: the number itself",
    .params = raw_params,
    .id = 0,
    .takes_f64 = true,
    .exact = true,
    .max_bits = raw_max_bits,
    .encode = raw_encode,
    .check = raw_check,
    .decode = raw_decode,
    .claims = raw_claims,
};
