/* quant_raw.c - numbers as they are.
 *
 * payload: count little-endian IEEE numbers of 32 (f32) or 64 (f64) bits, all finite */
#include "codec/quant.h"

static const tithe_param raw_params[] = {QUANT_TYPE, {0}};

static size_t raw_size(const tithe_quant_call *c)
{
    return c->type == TITHE_F32 ? 4 : 8;
}

static uint64_t raw_max_bits(const tithe_quant_call *c)
{
    return (uint64_t)c->count * raw_size(c) * 8;
}

static tithe_status raw_encode(const tithe_quant_call *c, const void *values, uint8_t *dst, uint64_t *bits,
                               const tithe_sink *sent, tithe_error *error)
{
    (void)error;
    if (c->type == TITHE_F32)
        for (size_t i = 0; i < c->count; i++) put_f32(dst + 4 * i, ((const float *)values)[i]);
    else
        for (size_t i = 0; i < c->count; i++) put_f64(dst + 8 * i, ((const double *)values)[i]);
    *bits = raw_max_bits(c);
    tithe_sink_add(sent, 0, values, c->count);
    return TITHE_OK;
}

static tithe_status raw_check(const tithe_quant_call *c, const uint8_t *src, size_t length, uint64_t *bits)
{
    *bits = raw_max_bits(c);
    if (length != c->count * raw_size(c)) return TITHE_E_CORRUPT;
    bool sound = true;
    for (size_t i = 0; i < c->count; i++)
        sound &= c->type == TITHE_F32 ? isfinite(get_f32(src + 4 * i)) != 0 : isfinite(get_f64(src + 8 * i)) != 0;
    return sound ? TITHE_OK : TITHE_E_CORRUPT;
}

static void raw_decode(const tithe_quant_call *c, const uint8_t *src, size_t length, const tithe_sink *out)
{
    (void)length;
    for (size_t first = 0; first < c->count; first += TITHE_BLOCK) {
        const size_t many = block_length(first, c->count);
        if (c->type == TITHE_F32) {
            float block[TITHE_BLOCK];
            for (size_t i = 0; i < many; i++) block[i] = get_f32(src + 4 * (first + i));
            tithe_sink_add(out, first, block, many);
        } else {
            double block[TITHE_BLOCK];
            for (size_t i = 0; i < many; i++) block[i] = get_f64(src + 8 * (first + i));
            tithe_sink_add(out, first, block, many);
        }
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
    .name = "raw", .summary = "32 (or 64) bits: the number itself", .paper = "-", .params = raw_params, .id = 0,
    .takes_f64 = true, .max_bits = raw_max_bits, .encode = raw_encode, .check = raw_check, .decode = raw_decode,
    .claims = raw_claims,
};
