/* kernels_neon.c - 64-bit ARM, where NEON is always there: natural compression, random numbers and
 * selection by hand; the rest is the definition, which the compiler vectorises. Sixteen lanes are four
 * registers. */
#include "kernels/define.h"

#if defined(__aarch64__)
#include "kernels/half_neon.h"

/* v = x, or x + gamma*g; *infinite has all bits set in each lane that is not finite. */
static inline float32x4_t load(const kernel_source *s, size_t i, uint32x4_t *infinite)
{
    float32x4_t v = vld1q_f32(s->x + i);
    if (s->g) v = vaddq_f32(v, vmulq_f32(vdupq_n_f32(s->gamma), vld1q_f32(s->g + i)));
    const uint32x4_t limit = vdupq_n_u32(0x7f800000u);
    *infinite = vceqq_u32(vandq_u32(vreinterpretq_u32_f32(v), limit), limit);
    return v;
}

/* Store the sum, or what is left of it; lanes that are not finite take the rare path. */
static inline void store_except(const kernel_source *s, size_t i, float32x4_t v, uint32x4_t infinite)
{
    vst1q_f32(s->x + i, vbslq_f32(infinite, vld1q_f32(s->x + i), v));
    if (__builtin_expect(vmaxvq_u32(infinite) == 0, 1)) return;
    uint32_t lane[4];
    vst1q_u32(lane, infinite);
    for (size_t j = 0; j < 4; j++)
        if (lane[j]) define_store_overflow(s, i + j);
}

/* ---- random numbers ----------------------------------------------------------------------------------- */

/* Eight lanes are four registers of two. */
typedef struct generator {
    uint64x2_t s0[4], s1[4];
} generator;

static inline generator generator_start(tithe_key key, uint64_t block)
{
    uint64_t s0[RNG_LANES], s1[RNG_LANES];
    define_random_start(key, block, s0, s1);
    generator r;
    for (int q = 0; q < 4; q++) {
        r.s0[q] = vld1q_u64(s0 + 2 * q);
        r.s1[q] = vld1q_u64(s1 + 2 * q);
    }
    return r;
}

static inline uint64x2_t generator_next(generator *r, int q)
{
    const uint64x2_t y = r->s1[q], x = veorq_u64(r->s0[q], vshlq_n_u64(r->s0[q], 23));
    r->s0[q] = y;
    r->s1[q] = veorq_u64(veorq_u64(x, y), veorq_u64(vshrq_n_u64(x, 18), vshrq_n_u64(y, 5)));
    return vaddq_u64(r->s1[q], y);
}

static void neon_random_block(tithe_key key, uint64_t block, uint32_t *out)
{
    generator r = generator_start(key, block);
    for (int i = 0; i < TITHE_BLOCK; i += 2 * RNG_LANES)
        for (int q = 0; q < 4; q++) vst1q_u32(out + i + 4 * q, vreinterpretq_u32_u64(generator_next(&r, q)));
}

/* ---- natural compression ------------------------------------------------------------------------------ */

/* Four values against four 16-bit random numbers; the fields come back, one in each lane, and so do the
 * signs. */
static inline uint32x4_t natural4(const natural_job *job, size_t i, uint16x4_t random16, uint32x4_t *negative,
                                  uint32x4_t *infinite)
{
    uint32x4_t bad;
    const float32x4_t v = load(&job->source, i, &bad);
    const uint32x4_t bits = vreinterpretq_u32_f32(v), random = vmovl_u16(random16);
    const uint32x4_t top = vandq_u32(vshrq_n_u32(bits, 7), vdupq_n_u32(0xffff));
    uint32x4_t up = vcltq_u32(random, top);
    const uint32x4_t open = vceqq_u32(random, top);
    if (__builtin_expect(vmaxvq_u32(open) != 0, 0)) {
        uint32_t word[4], undecided[4], mask[4];
        vst1q_u32(word, bits);
        vst1q_u32(undecided, open);
        vst1q_u32(mask, up);
        for (size_t lane = 0; lane < 4; lane++)
            if (undecided[lane] && rng_at(job->key, job->position + i + lane) >> 57 < (word[lane] & 127))
                mask[lane] = UINT32_MAX;
        up = vld1q_u32(mask);
    }
    uint32x4_t field = vandq_u32(vshrq_n_u32(bits, 23), vdupq_n_u32(255));
    field = vbicq_u32(vminq_u32(vsubq_u32(field, up), vdupq_n_u32(254)), bad);
    *negative = vreinterpretq_u32_s32(vshrq_n_s32(vreinterpretq_s32_u32(bits), 31));
    *infinite = vorrq_u32(*infinite, bad);
    if (job->subtract) {
        const uint32x4_t sign = vandq_u32(bits, vdupq_n_u32(0x80000000u));
        const float32x4_t rounded = vreinterpretq_f32_u32(vorrq_u32(sign, vshlq_n_u32(field, 23)));
        store_except(&job->source, i, vsubq_f32(v, vmulq_f32(rounded, vdupq_n_f32(job->factor))), bad);
    } else if (job->source.g) {
        store_except(&job->source, i, v, bad);
    }
    return field;
}

/* Eight values against the random numbers of two lanes of the generator. */
static inline void natural8(const natural_job *job, size_t i, uint64x2_t random, uint32x4_t *infinite)
{
    static const uint16_t places[8] = {1, 2, 4, 8, 16, 32, 64, 128};
    const uint16x8_t halves = vreinterpretq_u16_u64(random);
    uint32x4_t low_sign, high_sign;
    const uint32x4_t low = natural4(job, i, vget_low_u16(halves), &low_sign, infinite);
    const uint32x4_t high = natural4(job, i + 4, vget_high_u16(halves), &high_sign, infinite);
    vst1_u8(job->fields + i, vmovn_u16(vcombine_u16(vmovn_u32(low), vmovn_u32(high))));
    const uint16x8_t negative = vcombine_u16(vmovn_u32(low_sign), vmovn_u32(high_sign));
    job->signs[i / 8] = (uint8_t)vaddvq_u16(vandq_u16(negative, vld1q_u16(places)));
}

static bool neon_natural_encode(const natural_job *job)
{
    const natural_job here = *job;
    uint32x4_t infinite = vdupq_n_u32(0);
    bool finite = true;
    for (size_t first = 0; first < here.n; first += NATURAL_SPAN) {
        generator r = generator_start(here.key, (here.position + first) / NATURAL_SPAN);
        const size_t stop = here.n - first < NATURAL_SPAN ? here.n : first + NATURAL_SPAN;
        size_t i = first;
        for (; i + 32 <= stop; i += 32)
            for (int q = 0; q < 4; q++) natural8(&here, i + 8 * (size_t)q, generator_next(&r, q), &infinite);
        if (i == stop) continue;
        /* What is left, by the definition, with the random numbers that belong to it. */
        uint32_t random[16];
        for (int q = 0; q < 4; q++) vst1q_u32(random + 4 * q, vreinterpretq_u32_u64(generator_next(&r, q)));
        finite &= define_natural_values(&here, i, stop, random);
    }
    return finite && vmaxvq_u32(infinite) == 0;
}

static inline void decode4(uint32x4_t field, uint32x4_t sign, float32x4_t factor, float32x4_t scale, float *y)
{
    const float32x4_t value = vreinterpretq_f32_u32(vorrq_u32(vshlq_n_u32(field, 23), vshlq_n_u32(sign, 31)));
    vst1q_f32(y, vaddq_f32(vld1q_f32(y), vmulq_f32(scale, vmulq_f32(value, factor))));
}

static void neon_natural_decode_add(const uint8_t *fields, const uint8_t *signs, size_t n, float factor,
                                    float scale, float *y)
{
    static const int32_t places[8] = {0, -1, -2, -3, -4, -5, -6, -7}; /* bit j of the byte to the bottom */
    const int32x4_t low = vld1q_s32(places), high = vld1q_s32(places + 4);
    const float32x4_t f = vdupq_n_f32(factor), sc = vdupq_n_f32(scale);
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        const uint16x8_t field = vmovl_u8(vld1_u8(fields + i));
        const uint32x4_t sign = vdupq_n_u32(signs[i / 8]); /* the shift by 31 drops all but the lowest bit */
        decode4(vmovl_u16(vget_low_u16(field)), vshlq_u32(sign, low), f, sc, y + i);
        decode4(vmovl_u16(vget_high_u16(field)), vshlq_u32(sign, high), f, sc, y + i + 4);
    }
    define_natural_decode_add(fields + i, signs + i / 8, n - i, factor, scale, y + i);
}

/* ---- selection ---------------------------------------------------------------------------------------- */

/* The bytes of the lanes whose bit is set in the mask, moved to the front. */
#define LANE(l) 4 * (l), 4 * (l) + 1, 4 * (l) + 2, 4 * (l) + 3
static const uint8_t compress_order[16][16] = {
    {0},
    {LANE(0)},
    {LANE(1)},
    {LANE(0), LANE(1)},
    {LANE(2)},
    {LANE(0), LANE(2)},
    {LANE(1), LANE(2)},
    {LANE(0), LANE(1), LANE(2)},
    {LANE(3)},
    {LANE(0), LANE(3)},
    {LANE(1), LANE(3)},
    {LANE(0), LANE(1), LANE(3)},
    {LANE(2), LANE(3)},
    {LANE(0), LANE(2), LANE(3)},
    {LANE(1), LANE(2), LANE(3)},
    {LANE(0), LANE(1), LANE(2), LANE(3)},
};

/* Compress in registers and store whole ones: there is room for it. */
static inline size_t keep4(const select_job *job, size_t i, float32x4_t v, uint32x4_t keep, size_t count)
{
    static const uint32_t ascending[4] = {0, 1, 2, 3}, places[4] = {1, 2, 4, 8};
    const unsigned mask = vaddvq_u32(vandq_u32(keep, vld1q_u32(places)));
    const uint8x16_t order = vld1q_u8(compress_order[mask]);
    const uint32x4_t index = vaddq_u32(vdupq_n_u32(job->first + (uint32_t)i), vld1q_u32(ascending));
    const size_t at = count < job->capacity ? count : job->capacity;
    vst1q_u32(job->indices + at, vreinterpretq_u32_u8(vqtbl1q_u8(vreinterpretq_u8_u32(index), order)));
    vst1q_f32(job->values + at, vreinterpretq_f32_u8(vqtbl1q_u8(vreinterpretq_u8_f32(v), order)));
    return count + (size_t)__builtin_popcount(mask);
}

static size_t neon_select(const select_job *job, bool *finite)
{
    const select_job here = *job;
    const uint32x4_t min = vdupq_n_u32(here.min);
    uint32x4_t infinite = vdupq_n_u32(0);
    size_t count = 0, i = 0;
    for (; i + 16 <= here.n; i += 16) {
        float32x4_t v[4];
        uint32x4_t keep[4], any = vdupq_n_u32(0);
        for (size_t q = 0; q < 4; q++) {
            uint32x4_t bad;
            v[q] = load(&here.source, i + 4 * q, &bad);
            infinite = vorrq_u32(infinite, bad);
            if (here.source.g) store_except(&here.source, i + 4 * q, v[q], bad);
            keep[q] = vcgeq_u32(vandq_u32(vreinterpretq_u32_f32(v[q]), vdupq_n_u32(0x7fffffffu)), min);
            any = vorrq_u32(any, keep[q]);
        }
        if (vmaxvq_u32(any) == 0) continue; /* few survive as a rule */
        for (size_t q = 0; q < 4; q++) count = keep4(&here, i + 4 * q, v[q], keep[q], count);
    }
    bool rest_finite;
    count = define_select_from(&here, i, count, &rest_finite);
    *finite = rest_finite && vmaxvq_u32(infinite) == 0;
    return count;
}

static size_t neon_form(const form_job *job, double sums[3], bool *finite)
{
    return form_by(job, neon_select, define_drift, define_keep, sums, finite);
}

const kernels ti_kernels_neon = {
    .name = "neon",
    .runs_here = define_runs_anywhere,
    .find_nonfinite = define_find_nonfinite,
    .sum_abs = define_sum_abs,
    .sum_squares = define_sum_squares,
    .sum_below = define_sum_below,
    DEFINE_LATE,
    .max_abs = define_max_abs,
    .add_scaled = define_add_scaled,
    .random_block = neon_random_block,
    .natural_encode = neon_natural_encode,
    .natural_decode_add = neon_natural_decode_add,
    .bf16_encode = define_bf16_encode,
    .f16_encode = neon_f16_encode,
    .bf16_add = neon_bf16_add,
    .f16_add = neon_f16_add,
    .sign_encode = neon_sign_encode,
    .sign_add = neon_sign_add,
    .select = neon_select,
    .form = neon_form,
    .dither_levels = define_dither_levels,
    .natdither_levels = define_natdither_levels,
    .dither_moments = define_dither_moments,
    .natdither_moments = define_natdither_moments,
    .pack_nibbles = define_pack_nibbles,
    .nibbles_add = define_nibbles_add,
    DEFINE_CODES,
    .compact = define_compact,
    .collect = define_collect,
    .gap_bits = define_gap_bits,
    .gap_write = define_gap_write,
    .crc32c = define_crc32c,
    DEFINE_ROWS,
};
#endif
