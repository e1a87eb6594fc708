/* kernels_avx512.c - AVX-512 (F, BW, DQ, VL), with BMI2 and the CRC and carry-less multiply instructions
 * that every such processor has. */
#include "kernels/define.h"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
#include "kernels/avx512.h"
#include "kernels/avx512_select.h"
#include "kernels/codes_avx512.h"
#include "kernels/crc_x86.h"
#include "kernels/form_avx512.h"
#include "kernels/gaps_avx512.h"
#include "kernels/half_avx512.h"
#include "kernels/sums_avx512.h"

static bool runs_here(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul") &&
           __builtin_cpu_supports("bmi2");
}

/* v = x, or x + gamma*g; *infinite has a bit for each lane that is not finite. */
static inline __m512 load(const kernel_source *s, size_t i, __mmask16 lanes, __mmask16 *infinite)
{
    __m512 v = _mm512_maskz_loadu_ps(lanes, s->x + i);
    if (s->g)
        v = _mm512_add_ps(v, _mm512_mul_ps(_mm512_set1_ps(s->gamma), _mm512_maskz_loadu_ps(lanes, s->g + i)));
    const __m512i exponent = _mm512_and_si512(_mm512_castps_si512(v), _mm512_set1_epi32(0x7f800000));
    *infinite = _mm512_cmpeq_epi32_mask(exponent, _mm512_set1_epi32(0x7f800000));
    return v;
}

/* ---- random numbers ----------------------------------------------------------------------------------- */

typedef struct generator {
    __m512i s0, s1;
} generator;

static inline __m512i mix(__m512i z)
{
    z = _mm512_mullo_epi64(_mm512_xor_si512(z, _mm512_srli_epi64(z, 30)),
                           _mm512_set1_epi64((int64_t)UINT64_C(0xbf58476d1ce4e5b9)));
    z = _mm512_mullo_epi64(_mm512_xor_si512(z, _mm512_srli_epi64(z, 27)),
                           _mm512_set1_epi64((int64_t)UINT64_C(0x94d049bb133111eb)));
    return _mm512_xor_si512(z, _mm512_srli_epi64(z, 31));
}

static inline generator generator_start(tithe_key key, uint64_t block)
{
    const __m512i counter = _mm512_add_epi64(_mm512_set1_epi64((int64_t)(block * RNG_LANES)),
                                             _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7));
    const __m512i a = _mm512_set1_epi64((int64_t)key.a), b = _mm512_set1_epi64((int64_t)key.b);
    const __m512i golden = _mm512_set1_epi64((int64_t)RNG_GOLDEN),
                  silver = _mm512_set1_epi64((int64_t)RNG_SILVER);
    generator r;
    r.s0 = mix(_mm512_add_epi64(mix(_mm512_add_epi64(a, _mm512_mullo_epi64(counter, golden))), b));
    r.s1 = mix(_mm512_add_epi64(mix(_mm512_add_epi64(b, _mm512_mullo_epi64(counter, silver))), a));
    return r;
}

static inline __m512i generator_next(generator *r)
{
    const __m512i y = r->s1, x = _mm512_xor_si512(r->s0, _mm512_slli_epi64(r->s0, 23));
    r->s0 = y;
    /* 0x96 is the exclusive or of three */
    r->s1 = _mm512_ternarylogic_epi64(_mm512_xor_si512(x, y), _mm512_srli_epi64(x, 18),
                                      _mm512_srli_epi64(y, 5), 0x96);
    return _mm512_add_epi64(r->s1, y);
}

static void avx512_random_block(tithe_key key, uint64_t block, uint32_t *out)
{
    generator r = generator_start(key, block);
    for (int i = 0; i < TITHE_BLOCK; i += 16) _mm512_storeu_si512(out + i, generator_next(&r));
}

/* ---- natural compression ------------------------------------------------------------------------------ */

/* Sixteen values against sixteen 16-bit random numbers. Returns the lanes that are not finite. */
static inline __mmask16 natural16(const natural_job *job, size_t i, __m512i random, __mmask16 lanes)
{
    __mmask16 infinite;
    const __m512 v = load(&job->source, i, lanes, &infinite);
    const __m512i bits = _mm512_castps_si512(v);
    const __m512i top = _mm512_and_si512(_mm512_srli_epi32(bits, 7), _mm512_set1_epi32(0xffff));
    __mmask16 up = _mm512_cmplt_epu32_mask(random, top);
    __mmask16 open = _mm512_mask_cmpeq_epi32_mask(lanes, random, top);
    if (__builtin_expect(open != 0, 0)) {
        uint32_t word[16];
        _mm512_storeu_si512(word, bits);
        for (; open; open &= (__mmask16)(open - 1)) {
            const unsigned lane = (unsigned)__builtin_ctz(open);
            const bool more = rng_at(job->key, job->position + i + lane) >> 57 < (word[lane] & 127);
            up = (__mmask16)(up | (unsigned)more << lane);
        }
    }
    __m512i field = _mm512_and_si512(_mm512_srli_epi32(bits, 23), _mm512_set1_epi32(255));
    field = _mm512_mask_add_epi32(field, up, field, _mm512_set1_epi32(1));
    field = _mm512_maskz_min_epu32((__mmask16)~infinite, field, _mm512_set1_epi32(254));
    if (lanes == 0xffff) /* a store under a mask takes longer */
        _mm_storeu_si128((__m128i *)(void *)(job->fields + i), _mm512_cvtepi32_epi8(field));
    else
        _mm512_mask_cvtepi32_storeu_epi8(job->fields + i, lanes, field);
    const __mmask16 signs = _mm512_mask_test_epi32_mask(lanes, bits, _mm512_set1_epi32((int)0x80000000));
    if (lanes == 0xffff) {
        put_u16(job->signs + i / 8, (uint16_t)signs);
    } else {
        job->signs[i / 8] = (uint8_t)signs;
        if (lanes >> 8) job->signs[i / 8 + 1] = (uint8_t)(signs >> 8);
    }
    if (job->subtract) {
        const __m512i sign = _mm512_and_si512(bits, _mm512_set1_epi32((int)0x80000000));
        const __m512 rounded = _mm512_castsi512_ps(_mm512_or_si512(sign, _mm512_slli_epi32(field, 23)));
        const __m512 rest = _mm512_sub_ps(v, _mm512_mul_ps(rounded, _mm512_set1_ps(job->factor)));
        _mm512_mask_storeu_ps(job->source.x + i, lanes & (__mmask16)~infinite, rest);
    } else if (job->source.g) {
        _mm512_mask_storeu_ps(job->source.x + i, lanes & (__mmask16)~infinite, v);
    }
    if (__builtin_expect(infinite != 0, 0)) store_overflow(&job->source, i, infinite & lanes);
    return infinite;
}

static inline __mmask16 natural32(const natural_job *job, size_t i, generator *r)
{
    const __m512i random = generator_next(r);
    prefetch(job->source.x + i);
    prefetch(job->source.x + i + 16);
    if (job->source.g) {
        prefetch(job->source.g + i);
        prefetch(job->source.g + i + 16);
    }
    const __mmask16 a = natural16(job, i, _mm512_cvtepu16_epi32(_mm512_castsi512_si256(random)), 0xffff);
    const __mmask16 b =
        natural16(job, i + 16, _mm512_cvtepu16_epi32(_mm512_extracti64x4_epi64(random, 1)), 0xffff);
    return a | b;
}

/* [begin, end) with begin at the start of a span, one stream. */
static __mmask16 natural_range(const natural_job *job, size_t begin, size_t end)
{
    __mmask16 infinite = 0;
    for (size_t first = begin; first < end; first += NATURAL_SPAN) {
        generator r = generator_start(job->key, (job->position + first) / NATURAL_SPAN);
        const size_t stop = end - first < NATURAL_SPAN ? end : first + NATURAL_SPAN;
        size_t i = first;
        for (; i + 32 <= stop; i += 32) infinite |= natural32(job, i, &r);
        if (i < stop) {
            const __m512i random = generator_next(&r);
            infinite |= natural16(job, i, _mm512_cvtepu16_epi32(_mm512_castsi512_si256(random)),
                                  first_lanes(stop - i));
            if (stop - i > 16)
                infinite |=
                    natural16(job, i + 16, _mm512_cvtepu16_epi32(_mm512_extracti64x4_epi64(random, 1)),
                              first_lanes(stop - i - 16));
        }
    }
    return infinite;
}

/* Whole spans by several streams; returns where the rest begins. `streams` is a constant wherever this is
 * inlined. */
static inline size_t natural_streams(const natural_job *job, const size_t streams, __mmask16 *infinite)
{
    const size_t spans = job->n < FEW ? 0 : job->n / NATURAL_SPAN / streams, stride = spans * NATURAL_SPAN;
    for (size_t span = 0; span < spans; span++) {
        generator r[READ_STREAMS];
        for (size_t s = 0; s < streams; s++)
            r[s] = generator_start(job->key, job->position / NATURAL_SPAN + s * spans + span);
        for (size_t i = span * NATURAL_SPAN; i < (span + 1) * NATURAL_SPAN; i += 32)
            for (size_t s = 0; s < streams; s++) *infinite |= natural32(job, s * stride + i, &r[s]);
    }
    return streams * stride;
}

static bool avx512_natural_encode(const natural_job *job)
{
    const natural_job here = *job; /* a copy that no store can alias */
    __mmask16 infinite = 0;
    const size_t rest = here.source.g || here.subtract ? natural_streams(&here, UPDATE_STREAMS, &infinite)
                                                       : natural_streams(&here, READ_STREAMS, &infinite);
    infinite |= natural_range(&here, rest, here.n);
    return infinite == 0;
}

static void avx512_natural_decode_add(const uint8_t *fields, const uint8_t *signs, size_t n, float factor,
                                      float scale, float *y)
{
    const __m512 f = _mm512_set1_ps(factor), sc = _mm512_set1_ps(scale);
    for (size_t i = 0; i < n; i += 16) {
        const __mmask16 lanes = first_lanes(n - i);
        prefetch(y + i);
        const __m512i field =
            _mm512_slli_epi32(_mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(lanes, fields + i)), 23);
        const unsigned sign = signs[i / 8] | (lanes >> 8 ? (unsigned)signs[i / 8 + 1] << 8 : 0);
        const __m512i value =
            _mm512_mask_or_epi32(field, (__mmask16)sign, field, _mm512_set1_epi32((int)0x80000000));
        const __m512 added = _mm512_mul_ps(sc, _mm512_mul_ps(_mm512_castsi512_ps(value), f));
        _mm512_mask_storeu_ps(y + i, lanes, _mm512_add_ps(_mm512_maskz_loadu_ps(lanes, y + i), added));
    }
}

static void avx512_bf16_encode(const float *x, size_t n, uint8_t *dst)
{
    for (size_t i = 0; i < n; i += 16) {
        const __mmask16 lanes = first_lanes(n - i);
        prefetch(x + i);
        const __m512i bits = _mm512_castps_si512(_mm512_maskz_loadu_ps(lanes, x + i));
        const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
        const __m512i sum = _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)), odd);
        _mm512_mask_cvtepi32_storeu_epi16(dst + 2 * i, lanes, _mm512_srli_epi32(sum, 16));
    }
}

/* ---- dithering ---------------------------------------------------------------------------------------- */

INLINE __m512 level_position(const level_job *job, __m512 x)
{
    return _mm512_mul_ps(_mm512_mul_ps(_mm512_abs_ps(x), _mm512_set1_ps(job->lift)),
                         _mm512_set1_ps(job->slope));
}

INLINE void store_levels(const level_job *job, size_t i, __mmask16 lanes, __m512 x, __m512i level)
{
    level = _mm512_min_epu32(level, _mm512_set1_epi32((int)job->s));
    /* the sign goes to bit 7, but not that of a zero: level | (x >> 24 & 128) */
    level = _mm512_mask_ternarylogic_epi32(level, _mm512_test_epi32_mask(level, level),
                                           _mm512_srli_epi32(_mm512_castps_si512(x), 24),
                                           _mm512_set1_epi32(128), 0xf8);
    if (lanes == 0xffff)
        _mm_storeu_si128((__m128i *)(void *)(job->codes + i), _mm512_cvtepi32_epi8(level));
    else
        _mm512_mask_cvtepi32_storeu_epi8(job->codes + i, lanes, level);
}

/* Lanes that go up: with probability f, exactly; the rare equal ones look up more bits. */
INLINE __mmask16 chance(const level_job *job, size_t i, __mmask16 lanes, __m512 f)
{
    const __m512 scaled = _mm512_mul_ps(f, _mm512_set1_ps(2147483648.0f));
    const __m512i whole = _mm512_cvttps_epu32(scaled);
    const __m512i random = _mm512_srli_epi32(_mm512_maskz_loadu_epi32(lanes, job->random + i), 1);
    __mmask16 up = _mm512_cmplt_epu32_mask(random, whole);
    unsigned open = _mm512_mask_cmpeq_epi32_mask(lanes, random, whole);
    if (__builtin_expect(open != 0, 0)) {
        float fraction[16];
        _mm512_storeu_ps(fraction, f);
        for (; open; open &= open - 1) {
            const unsigned lane = (unsigned)__builtin_ctz(open);
            const bool more =
                define_chance(fraction[lane], job->random[i + lane], job->key, job->position + i + lane);
            up = (__mmask16)(up | (unsigned)more << lane);
        }
    }
    return up;
}

INLINE void dither16(const level_job *job, size_t i, __mmask16 lanes)
{
    const __m512 x = _mm512_maskz_loadu_ps(lanes, job->x + i), t = level_position(job, x);
    const __m512i level = _mm512_cvttps_epi32(t); /* t is far below 2^31 */
    const __mmask16 up = chance(job, i, lanes, _mm512_sub_ps(t, _mm512_cvtepi32_ps(level)));
    store_levels(job, i, lanes, x, _mm512_mask_add_epi32(level, up, level, _mm512_set1_epi32(1)));
}

static void avx512_dither_levels(const level_job *job)
{
    const level_job here = *job;
    size_t i = 0;
    for (; i + 16 <= here.n; i += 16) dither16(&here, i, 0xffff);
    if (i < here.n) dither16(&here, i, first_lanes(here.n - i));
}

INLINE void natdither16(const level_job *job, size_t i, __mmask16 lanes)
{
    const __m512 x = _mm512_maskz_loadu_ps(lanes, job->x + i), t = level_position(job, x);
    const __mmask16 small = _mm512_cmp_ps_mask(t, _mm512_set1_ps(1), _CMP_LT_OQ);
    const __m512i bits = _mm512_castps_si512(t),
                  mantissa = _mm512_and_si512(bits, _mm512_set1_epi32(0x7fffff));
    const __m512 above = _mm512_mul_ps(_mm512_cvtepi32_ps(mantissa), _mm512_set1_ps(0x1p-23f));
    const __mmask16 up = chance(job, i, lanes, _mm512_mask_blend_ps(small, above, t));
    const __m512i level =
        _mm512_maskz_sub_epi32((__mmask16)~small, _mm512_srli_epi32(bits, 23), _mm512_set1_epi32(126));
    store_levels(job, i, lanes, x, _mm512_mask_add_epi32(level, up, level, _mm512_set1_epi32(1)));
}

static void avx512_natdither_levels(const level_job *job)
{
    const level_job here = *job;
    size_t i = 0;
    for (; i + 16 <= here.n; i += 16) natdither16(&here, i, 0xffff);
    if (i < here.n) natdither16(&here, i, first_lanes(here.n - i));
}

static void avx512_pack_nibbles(const uint8_t *codes, size_t n, uint8_t *dst)
{
    size_t i = 0;
    for (; i + 64 <= n; i += 64) {
        const __m512i code = _mm512_loadu_si512(codes + i);
        const __m512i nibble =
            _mm512_or_si512(_mm512_and_si512(code, _mm512_set1_epi8(7)),
                            _mm512_and_si512(_mm512_srli_epi16(code, 4), _mm512_set1_epi8(8)));
        /* low + 16 * high of each pair of bytes */
        const __m512i pair = _mm512_maddubs_epi16(nibble, _mm512_set1_epi16(0x1001));
        _mm256_storeu_si256((__m256i *)(void *)(dst + i / 2), _mm512_cvtepi16_epi8(pair));
    }
    define_pack_nibbles(codes + i, n - i, dst + i / 2);
}

static void avx512_nibbles_add(const uint8_t *src, size_t n, const float table[16], float *y)
{
    const __m512 values = _mm512_loadu_ps(table);
    const __m512i shifts = _mm512_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28, 0, 4, 8, 12, 16, 20, 24, 28);
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        prefetch(y + i);
        const __m512i low = _mm512_set1_epi32((int)get_u32(src + i / 2));
        const __m512i word = _mm512_mask_set1_epi32(low, 0xff00, (int)get_u32(src + i / 2 + 4));
        const __m512i code = _mm512_srlv_epi32(word, shifts); /* permute looks at the lowest four bits only */
        _mm512_storeu_ps(y + i, _mm512_add_ps(_mm512_loadu_ps(y + i), _mm512_permutexvar_ps(code, values)));
    }
    define_nibbles_add(src + i / 2, n - i, table, y + i);
}

const kernels ti_kernels_avx512 = {
    .name = "avx512",
    .runs_here = runs_here,
    .find_nonfinite = define_find_nonfinite,
    .sum_abs = avx512_sum_abs,
    .sum_squares = avx512_sum_squares,
    .sum_below = avx512_sum_below,
    .drift = avx512_drift,
    .keep = avx512_keep,
    .max_abs = define_max_abs,
    .add_scaled = define_add_scaled,
    .random_block = avx512_random_block,
    .natural_encode = avx512_natural_encode,
    .natural_decode_add = avx512_natural_decode_add,
    .bf16_encode = avx512_bf16_encode,
    .f16_encode = avx512_f16_encode,
    .bf16_add = avx512_bf16_add,
    .f16_add = avx512_f16_add,
    .sign_encode = avx512_sign_encode,
    .sign_add = avx512_sign_add,
    .select = avx512_select,
    .form = avx512_form,
    .dither_levels = avx512_dither_levels,
    .natdither_levels = avx512_natdither_levels,
    .dither_moments = define_dither_moments,
    .natdither_moments = define_natdither_moments,
    .pack_nibbles = avx512_pack_nibbles,
    .nibbles_add = avx512_nibbles_add,
    .pack_codes = x86_pack_codes,
    .unpack_codes = x86_unpack_codes,
    .elias_groups = avx512_elias_groups,
    .elias_read = define_elias_read,
    .elias_chains = define_elias_chains,
    .steps_add = define_steps_add,
    .codes_add = avx512_codes_add,
    .compact = avx512_compact,
    .collect = avx512_collect,
    .gap_bits = define_gap_bits,
    .gap_write = avx512_gap_write,
    .crc32c = x86_crc32c,
    DEFINE_ROWS,
};
#endif
