/* quant_bf16.c - bfloat16: the upper half of a float, rounded; the range of f32 with 8 significant bits. */
#include "codec/quant_half.h"
#include "kernels/kernels.h"

static const tithe_param bf16_params[] = {{0}};
#define BF16_LARGEST 0x1.fep127

static uint32_t bf16_to(uint16_t half)
{
    return (uint32_t)half << 16;
}

static tithe_status bf16_encode(const tithe_quant_call *c, const void *values, uint8_t *dst, uint64_t *bits,
                                const tithe_sink *sent, tithe_error *error)
{
    (void)error;
    ti_kernels()->bf16_encode(values, c->count, dst);
    if (sent->y) half_decode(c, dst, sent, bf16_to);
    *bits = half_max_bits(c);
    return TITHE_OK;
}

static tithe_status bf16_check(const tithe_quant_call *c, const uint8_t *src, size_t length, uint64_t *bits)
{
    return half_check(c, src, length, bits, bf16_to);
}

static void bf16_decode(const tithe_quant_call *c, const uint8_t *src, size_t length, const tithe_sink *out)
{
    (void)length;
    half_decode(c, src, out, bf16_to);
}

static void bf16_claims(const tithe_quant_call *c, tithe_claims *claims)
{
    (void)c;
    half_claims(claims, 0x1p-8, 0x1p-126, BF16_LARGEST);
}

const tithe_quantizer ti_quant_bf16 = {
    .name = "bf16",
    .summary = "16 bits: bfloat16, the range of f32",
    .paper = "-",
    .params = bf16_params,
    .id = 2,
    .rounds = true,
    .max_bits = half_max_bits,
    .encode = bf16_encode,
    .check = bf16_check,
    .decode = bf16_decode,
    .claims = bf16_claims,
};
