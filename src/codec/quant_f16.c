/* quant_f16.c - IEEE half precision: 11 significant bits, up to 65504. */
#include "codec/quant_half.h"

static const tithe_param f16_params[] = {{0}};
#define F16_LARGEST 65504.0

static uint16_t f16_from(uint32_t bits)
{
    const uint32_t sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
    if (magnitude < 0x33000000u) return (uint16_t)sign; /* below 2^-25: rounds to zero */
    const unsigned exponent = magnitude >> 23;
    /* The significand with its hidden bit, and how many of its bits go: 13 for normal halves, more below
     * 2^-14. */
    const uint32_t significand = (magnitude & 0x7fffffu) | 0x800000u;
    const unsigned drop = exponent >= 113 ? 13 : 126 - exponent;
    const uint32_t base =
        exponent >= 113 ? (uint32_t)(exponent - 113) << 10 : 0; /* hidden bit carries one up */
    const uint32_t kept = significand >> drop, lost = significand & ((1u << drop) - 1),
                   half = 1u << (drop - 1);
    const uint32_t round = lost > half || (lost == half && (kept & 1));
    return (uint16_t)(sign | (base + kept + round));
}

static uint32_t f16_to(uint16_t half)
{
    const uint32_t sign = (uint32_t)(half & 0x8000u) << 16, exponent = half >> 10 & 31,
                   mantissa = half & 0x3ffu;
    if (exponent == 31) return sign | 0x7f800000u | mantissa << 13;
    if (exponent) return sign | (exponent + 112) << 23 | mantissa << 13;
    return sign | f32_bits((float)mantissa * 0x1p-24f);
}

static tithe_status f16_encode(const tithe_quant_call *c, const void *values, uint8_t *dst, uint64_t *bits,
                               const tithe_sink *sent, tithe_error *error)
{
    (void)error;
    return half_encode(c, values, dst, bits, sent, f16_from, f16_to);
}

static tithe_status f16_check(const tithe_quant_call *c, const uint8_t *src, size_t length, uint64_t *bits)
{
    return half_check(c, src, length, bits, f16_to);
}

static void f16_decode(const tithe_quant_call *c, const uint8_t *src, size_t length, const tithe_sink *out)
{
    (void)length;
    half_decode(c, src, out, f16_to);
}

static void f16_claims(const tithe_quant_call *c, tithe_claims *claims)
{
    (void)c;
    half_claims(claims, 0x1p-11, 0x1p-14, F16_LARGEST);
}

const tithe_quantizer ti_quant_f16 = {
    .name = "f16",
    .summary = "16 bits: IEEE half precision",
    .paper = "-",
    .params = f16_params,
    .id = 1,
    .rounds = true,
    .max_bits = half_max_bits,
    .encode = f16_encode,
    .check = f16_check,
    .decode = f16_decode,
    .claims = f16_claims,
};
