/* half_neon.h - halves and signs, four and eight at a time; part of kernels_neon.c. */
#ifndef KERNELS_HALF_NEON_H
#define KERNELS_HALF_NEON_H

#include <arm_neon.h>

#include "kernels/define.h"

static inline void half_add(float32x4_t value, float32x4_t scale, float *y)
{
    vst1q_f32(y, vaddq_f32(vld1q_f32(y), vmulq_f32(scale, value)));
}

static void neon_f16_encode(const float *x, size_t n, uint8_t *dst)
{
    size_t i = 0;
    for (; i + 4 <= n; i += 4) vst1_u8(dst + 2 * i, vreinterpret_u8_f16(vcvt_f16_f32(vld1q_f32(x + i))));
    define_f16_encode(x + i, n - i, dst + 2 * i);
}

static void neon_f16_add(const uint8_t *src, size_t n, float scale, float *y)
{
    const float32x4_t factor = vdupq_n_f32(scale);
    size_t i = 0;
    for (; i + 4 <= n; i += 4)
        half_add(vcvt_f32_f16(vreinterpret_f16_u8(vld1_u8(src + 2 * i))), factor, y + i);
    define_f16_add(src + 2 * i, n - i, scale, y + i);
}

static void neon_bf16_add(const uint8_t *src, size_t n, float scale, float *y)
{
    const float32x4_t factor = vdupq_n_f32(scale);
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        const uint32x4_t bits = vshll_n_u16(vreinterpret_u16_u8(vld1_u8(src + 2 * i)), 16);
        half_add(vreinterpretq_f32_u32(bits), factor, y + i);
    }
    define_bf16_add(src + 2 * i, n - i, scale, y + i);
}

static void neon_sign_encode(const float *x, size_t n, uint8_t *signs)
{
    static const uint16_t places[8] = {1, 2, 4, 8, 16, 32, 64, 128};
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        const uint32x4_t low = vcltzq_f32(vld1q_f32(x + i)), high = vcltzq_f32(vld1q_f32(x + i + 4));
        const uint16x8_t negative = vcombine_u16(vmovn_u32(low), vmovn_u32(high));
        signs[i / 8] = (uint8_t)vaddvq_u16(vandq_u16(negative, vld1q_u16(places)));
    }
    define_sign_encode(x + i, n - i, signs + i / 8);
}

static void neon_sign_add(const uint8_t *signs, size_t n, float value, float *y)
{
    static const int32_t places[8] = {31, 30, 29, 28, 27, 26, 25, 24}; /* bit j of the byte to the top */
    const int32x4_t low = vld1q_s32(places), high = vld1q_s32(places + 4);
    const uint32x4_t top = vdupq_n_u32(0x80000000u), plus = vreinterpretq_u32_f32(vdupq_n_f32(value));
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        const uint32x4_t byte = vdupq_n_u32(signs[i / 8]);
        const uint32x4_t a = veorq_u32(plus, vandq_u32(vshlq_u32(byte, low), top)),
                         b = veorq_u32(plus, vandq_u32(vshlq_u32(byte, high), top));
        vst1q_f32(y + i, vaddq_f32(vld1q_f32(y + i), vreinterpretq_f32_u32(a)));
        vst1q_f32(y + i + 4, vaddq_f32(vld1q_f32(y + i + 4), vreinterpretq_f32_u32(b)));
    }
    define_sign_add(signs + i / 8, n - i, value, y + i);
}

#endif
