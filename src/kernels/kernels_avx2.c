/* kernels_avx2.c - AVX2, with the CRC and carry-less multiply instructions. Sixteen lanes are two
 * registers. */
#include "kernels/define.h"

#if defined(__AVX2__)
#include "kernels/avx2.h"
#include "kernels/codes_avx2.h"
#include "kernels/crc_x86.h"
#include "kernels/dither_avx2.h"
#include "kernels/half_avx2.h"
#include "kernels/sums_avx2.h"

static bool runs_here(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") &&
           __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul") && half_runs_here();
}

/* v = x, or x + gamma*g; *infinite has a bit for each lane that is not finite. */
static inline __m256 load(const kernel_source *s, size_t i, unsigned *infinite)
{
    __m256 v = _mm256_loadu_ps(s->x + i);
    if (s->g) v = _mm256_add_ps(v, _mm256_mul_ps(_mm256_set1_ps(s->gamma), _mm256_loadu_ps(s->g + i)));
    const __m256i limit = _mm256_set1_epi32(0x7f800000);
    const __m256i exponent = _mm256_and_si256(_mm256_castps_si256(v), limit);
    *infinite = (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(exponent, limit)));
    return v;
}

/* Store the sum, or what is left of it; lanes whose bit is in `infinite` take the rare path. */
static inline void store_except(const kernel_source *s, size_t i, __m256 v, unsigned infinite)
{
    if (__builtin_expect(infinite == 0, 1)) {
        _mm256_storeu_ps(s->x + i, v);
        return;
    }
    float lane[8];
    _mm256_storeu_ps(lane, v);
    for (unsigned j = 0; j < 8; j++) {
        if (infinite >> j & 1)
            define_store_overflow(s, i + j);
        else
            s->x[i + j] = lane[j];
    }
}

/* ---- random numbers ----------------------------------------------------------------------------------- */

typedef struct generator {
    __m256i s0[2], s1[2];
} generator;

static inline generator generator_start(tithe_key key, uint64_t block)
{
    uint64_t s0[RNG_LANES], s1[RNG_LANES];
    define_random_start(key, block, s0, s1);
    generator r;
    for (int h = 0; h < 2; h++) {
        r.s0[h] = _mm256_loadu_si256((const __m256i *)(const void *)(s0 + 4 * h));
        r.s1[h] = _mm256_loadu_si256((const __m256i *)(const void *)(s1 + 4 * h));
    }
    return r;
}

static inline __m256i generator_next(generator *r, int half)
{
    const __m256i y = r->s1[half], x = _mm256_xor_si256(r->s0[half], _mm256_slli_epi64(r->s0[half], 23));
    r->s0[half] = y;
    r->s1[half] = _mm256_xor_si256(_mm256_xor_si256(x, y),
                                   _mm256_xor_si256(_mm256_srli_epi64(x, 18), _mm256_srli_epi64(y, 5)));
    return _mm256_add_epi64(r->s1[half], y);
}

static void avx2_random_block(tithe_key key, uint64_t block, uint32_t *out)
{
    generator r = generator_start(key, block);
    for (int i = 0; i < TITHE_BLOCK; i += 16)
        for (int h = 0; h < 2; h++)
            _mm256_storeu_si256((__m256i *)(void *)(out + i + 8 * h), generator_next(&r, h));
}

/* ---- natural compression ------------------------------------------------------------------------------ */

/* Eight values against eight 16-bit random numbers; the fields come back, one in each lane. */
static inline __m256i natural8(const natural_job *job, size_t i, __m128i random16, unsigned *signs,
                               unsigned *infinite)
{
    unsigned bad;
    const __m256 v = load(&job->source, i, &bad);
    const __m256i bits = _mm256_castps_si256(v), random = _mm256_cvtepu16_epi32(random16);
    const __m256i top = _mm256_and_si256(_mm256_srli_epi32(bits, 7), _mm256_set1_epi32(0xffff));
    __m256i up = _mm256_cmpgt_epi32(top, random);
    unsigned open = (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(top, random)));
    if (__builtin_expect(open != 0, 0)) {
        uint32_t word[8], mask[8];
        _mm256_storeu_si256((__m256i *)(void *)word, bits);
        _mm256_storeu_si256((__m256i *)(void *)mask, up);
        for (; open; open &= open - 1) {
            const unsigned lane = (unsigned)__builtin_ctz(open);
            if (rng_at(job->key, job->position + i + lane) >> 57 < (word[lane] & 127))
                mask[lane] = UINT32_MAX;
        }
        up = _mm256_loadu_si256((const __m256i *)(const void *)mask);
    }
    __m256i field = _mm256_and_si256(_mm256_srli_epi32(bits, 23), _mm256_set1_epi32(255));
    field = _mm256_min_epi32(_mm256_sub_epi32(field, up), _mm256_set1_epi32(254));
    if (__builtin_expect(bad != 0, 0)) {
        uint32_t lane[8];
        _mm256_storeu_si256((__m256i *)(void *)lane, field);
        for (int j = 0; j < 8; j++)
            if (bad >> j & 1) lane[j] = 0;
        field = _mm256_loadu_si256((const __m256i *)(const void *)lane);
    }
    *signs = (unsigned)_mm256_movemask_ps(v);
    *infinite |= bad;
    if (job->subtract) {
        const __m256i sign = _mm256_and_si256(bits, _mm256_set1_epi32((int)0x80000000));
        const __m256 rounded = _mm256_castsi256_ps(_mm256_or_si256(sign, _mm256_slli_epi32(field, 23)));
        store_except(&job->source, i, _mm256_sub_ps(v, _mm256_mul_ps(rounded, _mm256_set1_ps(job->factor))),
                     bad);
    } else if (job->source.g) {
        store_except(&job->source, i, v, bad);
    }
    return field;
}

/* Thirty-two lanes of 32 bits, each below 256, to thirty-two bytes in order. */
static inline __m256i narrow(const __m256i v[4])
{
    return in_order(_mm256_packus_epi16(_mm256_packus_epi32(v[0], v[1]), _mm256_packus_epi32(v[2], v[3])));
}

static inline void natural32(const natural_job *job, size_t i, generator *r, unsigned *infinite)
{
    __m256i field[4];
    uint32_t signs = 0;
    for (int h = 0; h < 2; h++) {
        const __m256i random = generator_next(r, h);
        prefetch(job->source.x + i + 16 * h);
        if (job->source.g) prefetch(job->source.g + i + 16 * h);
        for (int q = 0; q < 2; q++) {
            const int part = 2 * h + q;
            const __m128i mine = q ? _mm256_extracti128_si256(random, 1) : _mm256_castsi256_si128(random);
            unsigned eight;
            field[part] = natural8(job, i + 8 * (size_t)part, mine, &eight, infinite);
            signs |= eight << 8 * part;
        }
    }
    _mm256_storeu_si256((__m256i *)(void *)(job->fields + i), narrow(field));
    put_u32(job->signs + i / 8, signs);
}

static bool avx2_natural_encode(const natural_job *job)
{
    const natural_job here = *job;
    unsigned infinite = 0;
    bool finite = true;
    for (size_t first = 0; first < here.n; first += NATURAL_SPAN) {
        generator r = generator_start(here.key, (here.position + first) / NATURAL_SPAN);
        const size_t stop = here.n - first < NATURAL_SPAN ? here.n : first + NATURAL_SPAN;
        size_t i = first;
        for (; i + 32 <= stop; i += 32) natural32(&here, i, &r, &infinite);
        if (i == stop) continue;
        /* What is left, by the definition, with the random numbers that belong to it. */
        uint32_t random[16];
        for (int h = 0; h < 2; h++)
            _mm256_storeu_si256((__m256i *)(void *)(random + 8 * h), generator_next(&r, h));
        finite &= define_natural_values(&here, i, stop, random);
    }
    return finite && infinite == 0;
}

static void avx2_natural_decode_add(const uint8_t *fields, const uint8_t *signs, size_t n, float factor,
                                    float scale, float *y)
{
    const __m256 f = _mm256_set1_ps(factor), sc = _mm256_set1_ps(scale);
    const __m256i place =
        _mm256_setr_epi32(31, 30, 29, 28, 27, 26, 25, 24); /* bit j of the byte to the top */
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        prefetch(y + i);
        const __m256i field = _mm256_slli_epi32(
            _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)(fields + i))), 23);
        const __m256i sign = _mm256_and_si256(_mm256_sllv_epi32(_mm256_set1_epi32(signs[i / 8]), place),
                                              _mm256_set1_epi32((int)0x80000000));
        const __m256 value = _mm256_castsi256_ps(_mm256_or_si256(field, sign));
        const __m256 added = _mm256_mul_ps(sc, _mm256_mul_ps(value, f));
        _mm256_storeu_ps(y + i, _mm256_add_ps(_mm256_loadu_ps(y + i), added));
    }
    define_natural_decode_add(fields + i, signs + i / 8, n - i, factor, scale, y + i);
}

/* ---- selection ---------------------------------------------------------------------------------------- */

/* The set bits of the mask in order: the permutation that moves those lanes to the front. */
static inline __m256i compress_order(unsigned mask)
{
    const uint64_t spread = _pdep_u64(mask, UINT64_C(0x0101010101010101)) * 0xff;
    const uint64_t order = _pext_u64(UINT64_C(0x0706050403020100), spread);
    return _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((int64_t)order));
}

static size_t avx2_select(const select_job *job, bool *finite)
{
    const select_job here = *job;
    const __m256i min =
        _mm256_set1_epi32((int)(here.min - 1)); /* magnitudes are below 2^31: signed compares do */
    size_t count = 0, i = 0;
    unsigned infinite = 0;
    for (; i + 8 <= here.n; i += 8) {
        if (i % 16 == 0) {
            prefetch(here.source.x + i);
            if (here.source.g) prefetch(here.source.g + i);
        }
        unsigned bad;
        const __m256 v = load(&here.source, i, &bad);
        infinite |= bad;
        if (here.source.g) store_except(&here.source, i, v, bad);
        const __m256i magnitude = _mm256_and_si256(_mm256_castps_si256(v), _mm256_set1_epi32(0x7fffffff));
        const unsigned keep =
            (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpgt_epi32(magnitude, min)));
        if (!keep) continue;
        const __m256i order = compress_order(keep);
        const __m256i index = _mm256_add_epi32(_mm256_set1_epi32((int)(here.first + (uint32_t)i)), order);
        const size_t at = count < here.capacity ? count : here.capacity;
        _mm256_storeu_si256((__m256i *)(void *)(here.indices + at), index);
        _mm256_storeu_ps(here.values + at, _mm256_permutevar8x32_ps(v, order));
        count += (size_t)__builtin_popcount(keep);
    }
    bool rest_finite;
    count = define_select_from(&here, i, count, &rest_finite);
    *finite = rest_finite && infinite == 0;
    return count;
}

static size_t avx2_form(const form_job *job, double sums[3], bool *finite)
{
    return form_by(job, avx2_select, avx2_drift, avx2_keep, sums, finite);
}

const kernels ti_kernels_avx2 = {
    .name = "avx2",
    .runs_here = runs_here,
    .find_nonfinite = define_find_nonfinite,
    .sum_abs = avx2_sum_abs,
    .sum_squares = avx2_sum_squares,
    .sum_below = avx2_sum_below,
    .drift = avx2_drift,
    .keep = avx2_keep,
    .max_abs = avx2_max_abs,
    .add_scaled = define_add_scaled,
    .random_block = avx2_random_block,
    .natural_encode = avx2_natural_encode,
    .natural_decode_add = avx2_natural_decode_add,
    .bf16_encode = define_bf16_encode,
    .f16_encode = avx2_f16_encode,
    .bf16_add = avx2_bf16_add,
    .f16_add = avx2_f16_add,
    .sign_encode = avx2_sign_encode,
    .sign_add = avx2_sign_add,
    .select = avx2_select,
    .form = avx2_form,
    .dither_levels = avx2_dither_levels,
    .natdither_levels = avx2_natdither_levels,
    .dither_moments = avx2_dither_moments,
    .natdither_moments = avx2_natdither_moments,
    .pack_nibbles = avx2_pack_nibbles,
    .nibbles_add = avx2_nibbles_add,
    .pack_codes = x86_pack_codes,
    .unpack_codes = x86_unpack_codes,
    .elias_groups = avx2_elias_groups,
    .elias_read = define_elias_read,
    .elias_chains = define_elias_chains,
    .steps_add = define_steps_add,
    .codes_add = avx2_codes_add,
    .compact = define_compact,
    .collect = define_collect,
    .gap_bits = define_gap_bits,
    .gap_write = define_gap_write,
    .crc32c = x86_crc32c,
    DEFINE_ROWS,
};
#endif
