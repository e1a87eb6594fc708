/* quant_f16.c - IEEE half precision: 11 significant bits, up to 65504. */
#include "codec/quant_half.h"

static const tithe_param f16_params[] = {{0}};
#define F16_LARGEST 65504.0

static half_format f16_format(void)
{
    const kernels *k = ti_kernels();
    return (half_format){k->f16_encode, k->f16_add, define_f16_value, 0x7c00};
}

static tithe_status f16_encode(const tithe_quant_call *c, const void *values, uint8_t *dst, uint64_t *bits,
                               const tithe_sink *sent, tithe_error *error)
{
    (void)error;
    const half_format format = f16_format();
    return half_encode(&format, c, values, dst, bits, sent);
}

static tithe_status f16_check(const tithe_quant_call *c, const uint8_t *src, size_t length, uint64_t *bits)
{
    const half_format format = f16_format();
    return half_check(&format, c, src, length, bits);
}

static void f16_decode(const tithe_quant_call *c, const uint8_t *src, size_t length, const tithe_sink *out)
{
    (void)length;
    const half_format format = f16_format();
    half_add_to(&format, src, 0, c->count, out);
}

static void f16_claims(const tithe_quant_call *c, tithe_claims *claims)
{
    (void)c;
    half_claims(claims, 0x1p-11, 0x1p-14, F16_LARGEST);
}

const tithe_quantizer ti_quant_f16 = {
    .name = "f16",
    .summary = "16 bits: IEEE half precision",
    .params = f16_params,
    .id = 1,
    .rounds = true,
    .max_bits = half_max_bits,
    .paper_bits = half_paper_bits,
    .encode = f16_encode,
    .check = f16_check,
    .decode = f16_decode,
    .claims = f16_claims,
};
