/* kernels_neon.c - 64-bit ARM, where NEON is always there: the definition, vectorised by the compiler, and random
 * numbers by hand, since natural compression and dithering live on them. */
#include "kernels/define.h"

#if defined(__aarch64__)
#include <arm_neon.h>

/* Eight lanes are four registers of two. */
static void neon_random_block(tithe_key key, uint64_t block, uint32_t *out)
{
    uint64_t start0[RNG_LANES], start1[RNG_LANES];
    uint64x2_t s0[4], s1[4];
    define_random_start(key, block, start0, start1);
    for (int q = 0; q < 4; q++) {
        s0[q] = vld1q_u64(start0 + 2 * q);
        s1[q] = vld1q_u64(start1 + 2 * q);
    }
    for (int i = 0; i < TITHE_BLOCK; i += 2 * RNG_LANES)
        for (int q = 0; q < 4; q++) {
            const uint64x2_t y = s1[q], x = veorq_u64(s0[q], vshlq_n_u64(s0[q], 23));
            s0[q] = y;
            s1[q] = veorq_u64(veorq_u64(x, y), veorq_u64(vshrq_n_u64(x, 18), vshrq_n_u64(y, 5)));
            vst1q_u32(out + i + 4 * q, vreinterpretq_u32_u64(vaddq_u64(s1[q], y)));
        }
}

const kernels ti_kernels_neon = {
    .name = "neon",
    .runs_here = define_runs_anywhere,
    .find_nonfinite = define_find_nonfinite,
    .sum_abs = define_sum_abs,
    .sum_squares = define_sum_squares,
    .max_abs = define_max_abs,
    .add_scaled = define_add_scaled,
    .random_block = neon_random_block,
    .natural_encode = define_natural_encode,
    .natural_decode_add = define_natural_decode_add,
    .bf16_encode = define_bf16_encode,
    .select = define_select,
    .dither_levels = define_dither_levels,
    .natdither_levels = define_natdither_levels,
    .dither_moments = define_dither_moments,
    .natdither_moments = define_natdither_moments,
    .pack_nibbles = define_pack_nibbles,
    .nibbles_add = define_nibbles_add,
    .gap_bits = define_gap_bits,
    .crc32c = define_crc32c,
};
#endif
