/* define_half.h - the part of define.h for numbers of sixteen bits, and for signs alone. */
#ifndef KERNELS_DEFINE_HALF_H
#define KERNELS_DEFINE_HALF_H

#include "base/bytes.h"
#include "kernels/kernels.h"

/* ---- IEEE half precision ------------------------------------------------------------------------------ */

/* The nearest half, ties to even. From 65520 on that is infinity, and what is no number stays none, with the top of its
 * mantissa: as every processor does it that can. */
static inline uint16_t define_f16(uint32_t bits)
{
    const uint32_t sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
    if (magnitude < 0x33000000u) return (uint16_t)sign; /* below 2^-25: rounds to zero */
    if (magnitude >= 0x477ff000u) {
        const uint32_t payload = magnitude > 0x7f800000u ? 0x200u | (magnitude >> 13 & 0x3ffu) : 0;
        return (uint16_t)(sign | 0x7c00u | payload);
    }
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

/* Of a finite half. A denormal one is a product, so that it does not matter whether denormal floats count as zero. */
static inline float define_f16_value(uint16_t half)
{
    const uint32_t sign = (uint32_t)(half & 0x8000u) << 16, magnitude = half & 0x7fffu;
    const uint32_t normal = (magnitude << 13) + (112u << 23),
                   denormal = f32_bits((float)magnitude * 0x1p-24f);
    return f32_from_bits(sign | (magnitude < 0x400u ? denormal : normal));
}

static inline void define_f16_encode(const float *x, size_t n, uint8_t *dst)
{
    for (size_t i = 0; i < n; i++) put_u16(dst + 2 * i, define_f16(f32_bits(x[i])));
}

static inline void define_f16_add(const uint8_t *src, size_t n, float scale, float *y)
{
    for (size_t i = 0; i < n; i++) y[i] += scale * define_f16_value(get_u16(src + 2 * i));
}

/* ---- bfloat16 ----------------------------------------------------------------------------------------- */

static inline uint16_t define_bf16(uint32_t bits)
{
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}

static inline float define_bf16_value(uint16_t half)
{
    return f32_from_bits((uint32_t)half << 16);
}

static inline void define_bf16_encode(const float *x, size_t n, uint8_t *dst)
{
    for (size_t i = 0; i < n; i++) put_u16(dst + 2 * i, define_bf16(f32_bits(x[i])));
}

static inline void define_bf16_add(const uint8_t *src, size_t n, float scale, float *y)
{
    for (size_t i = 0; i < n; i++) y[i] += scale * define_bf16_value(get_u16(src + 2 * i));
}

/* ---- signs -------------------------------------------------------------------------------------------- */

static inline void define_sign_encode(const float *x, size_t n, uint8_t *signs)
{
    for (size_t i = 0; i < n; i += 8) {
        unsigned byte = 0;
        for (size_t j = 0; j < 8 && i + j < n; j++) byte |= (unsigned)(x[i + j] < 0) << j;
        signs[i / 8] = (uint8_t)byte;
    }
}

static inline void define_sign_add(const uint8_t *signs, size_t n, float value, float *y)
{
    const float choice[2] = {value, -value};
    for (size_t i = 0; i < n; i++) y[i] += choice[signs[i / 8] >> i % 8 & 1];
}

#define DEFINE_HALF                                                                                \
    .f16_encode = define_f16_encode, .f16_add = define_f16_add, .bf16_encode = define_bf16_encode, \
    .bf16_add = define_bf16_add, .sign_encode = define_sign_encode, .sign_add = define_sign_add

#endif
