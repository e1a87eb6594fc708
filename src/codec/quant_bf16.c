/* quant_bf16.c - bfloat16: the upper half of a float, rounded; the range of f32 with 8 significant bits. */
#include "codec/quant_half.h"

static const tithe_param bf16_params[] = {{0}};
#define BF16_LARGEST 0x1.fep127

static half_format bf16_format(void)
{
    const kernels *k = ti_kernels();
    return (half_format){k->bf16_encode, k->bf16_add, define_bf16_value, 0x7f80};
}

static tithe_status bf16_encode(const tithe_quant_call *c, const void *values, uint8_t *dst, uint64_t *bits,
                                const tithe_sink *sent, tithe_error *error)
{
    (void)error;
    const half_format format = bf16_format();
    return half_encode(&format, c, values, dst, bits, sent);
}

static tithe_status bf16_check(const tithe_quant_call *c, const uint8_t *src, size_t length, uint64_t *bits)
{
    const half_format format = bf16_format();
    return half_check(&format, c, src, length, bits);
}

static void bf16_decode(const tithe_quant_call *c, const uint8_t *src, size_t length, const tithe_sink *out)
{
    (void)length;
    const half_format format = bf16_format();
    half_add_to(&format, src, 0, c->count, out);
}

static void bf16_claims(const tithe_quant_call *c, tithe_claims *claims)
{
    (void)c;
    half_claims(claims, 0x1p-8, 0x1p-126, BF16_LARGEST);
}

const tithe_quantizer ti_quant_bf16 = {
    .name = "bf16",
    .summary = "16 bits: bfloat16, the range of f32",
    .params = bf16_params,
    .id = 2,
    .rounds = true,
    .max_bits = half_max_bits,
    .paper_bits = half_paper_bits,
    .encode = bf16_encode,
    .check = bf16_check,
    .decode = bf16_decode,
    .claims = bf16_claims,
};
