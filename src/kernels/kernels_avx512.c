/* kernels_avx512.c - AVX-512 (F, BW, DQ, VL), with BMI2 and the CRC and carry-less multiply instructions
 * that every such processor has.
 *
 * Above the size of the caches a single core reads faster when it walks several places at once, and when
 * the lines it will need are asked for early. The enum says how many and how far, as measured; results do
 * not depend on it. */
#include "kernels/define.h"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
#include "kernels/codes_avx512.h"
#include "kernels/crc_x86.h"
#include "kernels/gaps_avx512.h"
#include "kernels/half_avx512.h"

enum {
    AHEAD = 2048,       /* bytes */
    READ_STREAMS = 4,   /* where the vector is only read */
    UPDATE_STREAMS = 2, /* where it is written too */
    SELECT_STREAMS = 2,
    SPARSE_STREAMS = 4, /* where few survive */
    FEW = 1 << 16       /* values below which one stream is enough */
};

static bool runs_here(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul") &&
           __builtin_cpu_supports("bmi2");
}

static inline void prefetch(const void *p)
{
    _mm_prefetch((const char *)p + AHEAD, _MM_HINT_T0);
}

/* Mask of the first n lanes. */
static inline __mmask16 first_lanes(size_t n)
{
    return (__mmask16)(n >= 16 ? 0xffff : (1u << n) - 1);
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

/* What becomes of the lanes of e where the sum is not finite: the rare path. */
static void store_overflow(const kernel_source *s, size_t i, __mmask16 infinite)
{
    for (unsigned left = infinite; left; left &= left - 1)
        define_store_overflow(s, i + (unsigned)__builtin_ctz(left));
}

/* ---- reductions --------------------------------------------------------------------------------------- */

static double fold(__m512d low, __m512d high)
{
    double lane[16];
    _mm512_storeu_pd(lane, low);
    _mm512_storeu_pd(lane + 8, high);
    return define_fold(lane);
}

static inline __m512d widen_low(__m512 v)
{
    return _mm512_cvtps_pd(_mm512_castps512_ps256(v));
}

static inline __m512d widen_high(__m512 v)
{
    return _mm512_cvtps_pd(_mm512_extractf32x8_ps(v, 1));
}

static double avx512_sum_abs(const float *x, size_t n)
{
    __m512d low = _mm512_setzero_pd(), high = low;
    for (size_t i = 0; i < n; i += 16) {
        prefetch(x + i);
        const __m512 v = _mm512_abs_ps(_mm512_maskz_loadu_ps(first_lanes(n - i), x + i));
        low = _mm512_add_pd(low, widen_low(v));
        high = _mm512_add_pd(high, widen_high(v));
    }
    return fold(low, high);
}

static double avx512_sum_squares(const float *x, size_t n)
{
    __m512d low = _mm512_setzero_pd(), high = low;
    for (size_t i = 0; i < n; i += 16) {
        prefetch(x + i);
        const __m512 v = _mm512_maskz_loadu_ps(first_lanes(n - i), x + i);
        const __m512d a = widen_low(v), b = widen_high(v);
        low = _mm512_add_pd(low, _mm512_mul_pd(a, a));
        high = _mm512_add_pd(high, _mm512_mul_pd(b, b));
    }
    return fold(low, high);
}

static double avx512_sum_below(const float *x, size_t n, float limit, size_t *others)
{
    __m512d low = _mm512_setzero_pd(), high = low;
    size_t count = 0;
    for (size_t i = 0; i < n; i += 16) {
        prefetch(x + i);
        const __mmask16 lanes = first_lanes(n - i);
        const __m512 v = _mm512_abs_ps(_mm512_maskz_loadu_ps(lanes, x + i));
        const __mmask16 rest = _mm512_mask_cmp_ps_mask(lanes, v, _mm512_set1_ps(limit), _CMP_GE_OQ);
        const __m512 below = _mm512_maskz_mov_ps((__mmask16)~rest, v);
        low = _mm512_add_pd(low, widen_low(below));
        high = _mm512_add_pd(high, widen_high(below));
        count += (size_t)__builtin_popcount(rest);
    }
    *others = count;
    return fold(low, high);
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

/* ---- selection ---------------------------------------------------------------------------------------- */

/* One stream of a selection: where its survivors go. */
typedef struct survivors {
    uint32_t *indices;
    float *values;
    size_t count, capacity;
} survivors;

/* Compress in registers and store whole vectors: `capacity + 16` is room enough. */
static inline void keep16(const select_job *job, size_t i, __mmask16 keep, __m512 v, survivors *out)
{
    const __m512i index =
        _mm512_add_epi32(_mm512_set1_epi32((int)(job->first + (uint32_t)i)),
                         _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
    const size_t at = out->count < out->capacity ? out->count : out->capacity;
    _mm512_storeu_si512(out->indices + at, _mm512_maskz_compress_epi32(keep, index));
    _mm512_storeu_ps(out->values + at, _mm512_maskz_compress_ps(keep, v));
    out->count += (size_t)__builtin_popcount(keep);
}

/* Which of sixteen survive; the sum with the gradient is stored on the way. */
static inline __mmask16 sift16(const select_job *job, size_t i, __mmask16 lanes, __m512 *v,
                               __mmask16 *infinite)
{
    __mmask16 bad;
    *v = load(&job->source, i, lanes, &bad);
    const __m512i magnitude = _mm512_and_si512(_mm512_castps_si512(*v), _mm512_set1_epi32(0x7fffffff));
    if (job->source.g) {
        _mm512_mask_storeu_ps(job->source.x + i, lanes & (__mmask16)~bad, *v);
        if (__builtin_expect(bad != 0, 0)) store_overflow(&job->source, i, bad & lanes);
    }
    *infinite |= bad;
    return _mm512_mask_cmpge_epu32_mask(lanes, magnitude, _mm512_set1_epi32((int)job->least));
}

static inline __mmask16 select16(const select_job *job, size_t i, __mmask16 lanes, survivors *out)
{
    __m512 v;
    __mmask16 infinite = 0;
    const __mmask16 keep = sift16(job, i, lanes, &v, &infinite);
    keep16(job, i, keep, v, out);
    return infinite;
}

/* Of sixty-four values, mostly none or one survives: that one is stored without asking whether it is
 * there. */
static inline __mmask16 select64(const select_job *job, size_t i, survivors *out)
{
    __m512 v[4];
    __mmask16 infinite = 0;
    uint64_t keep = 0;
    for (size_t j = 0; j < 4; j++) {
        prefetch(job->source.x + i + 16 * j);
        if (job->source.g) prefetch(job->source.g + i + 16 * j);
        keep |= (uint64_t)sift16(job, i + 16 * j, 0xffff, &v[j], &infinite) << 16 * j;
    }
    if (__builtin_expect((keep & (keep - 1)) == 0 && infinite == 0, 1)) {
        const size_t at = out->count < out->capacity ? out->count : out->capacity;
        const size_t one = i + (keep ? (unsigned)__builtin_ctzll(keep) : 0);
        out->indices[at] = job->first + (uint32_t)one;
        out->values[at] = job->source.x[one];
        out->count += keep != 0;
        return infinite;
    }
    for (size_t j = 0; j < 4; j++) keep16(job, i + 16 * j, (__mmask16)(keep >> 16 * j), v[j], out);
    return infinite;
}

/* One stream from `begin` on, after `count` survivors. */
static size_t select_rest(const select_job *job, size_t begin, size_t count, __mmask16 *infinite)
{
    survivors out = {job->indices, job->values, count, job->capacity};
    size_t i = begin;
    for (; i + 64 <= job->n; i += 64) *infinite |= select64(job, i, &out);
    for (; i < job->n; i += 16) *infinite |= select16(job, i, first_lanes(job->n - i), &out);
    return out.count;
}

/* Stretches side by side, each into its share of the room, moved together at the end. Survivors that crowd in
 * one of them are looked for again with one stream. `streams` is a constant wherever this is inlined. */
static inline size_t select_streams(const select_job *job, const size_t streams, __mmask16 *infinite)
{
    survivors out[SPARSE_STREAMS];
    const size_t room = job->capacity / streams, stretch = job->n / streams / 64 * 64;
    bool crowded = false;
    size_t count = 0;
    for (size_t s = 0; s < streams; s++)
        out[s] = (survivors){job->indices + s * room, job->values + s * room, 0, room - 16};
    for (size_t i = 0; i < stretch; i += 64)
        for (size_t s = 0; s < streams; s++) *infinite |= select64(job, s * stretch + i, &out[s]);
    for (size_t s = 0; s < streams; s++) {
        crowded |= out[s].count > out[s].capacity;
        if (s && !crowded) {
            memmove(job->indices + count, out[s].indices, out[s].count * sizeof *job->indices);
            memmove(job->values + count, out[s].values, out[s].count * sizeof *job->values);
        }
        count += out[s].count;
    }
    count = select_rest(job, streams * stretch, crowded ? 0 : count, infinite);
    if (!crowded) return count;
    select_job again = *job;
    again.source.g = NULL; /* it was added the first time */
    return select_rest(&again, 0, 0, infinite);
}

static size_t avx512_select(const select_job *job, bool *finite)
{
    const select_job here = *job;
    __mmask16 infinite = 0;
    size_t count;
    if (here.n < FEW || here.capacity < FEW / 16)
        count = select_rest(&here, 0, 0, &infinite);
    else if (here.capacity < here.n / 8) /* so few are expected that reading is all there is to it */
        count = select_streams(&here, SPARSE_STREAMS, &infinite);
    else
        count = select_streams(&here, SELECT_STREAMS, &infinite);
    *finite = infinite == 0;
    return count;
}

static size_t avx512_compact(uint32_t *indices, float *values, size_t n, uint32_t least)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i += 16) { /* what is stored never reaches what is still to be read */
        const __mmask16 lanes = first_lanes(n - i);
        const __m512 v = _mm512_maskz_loadu_ps(lanes, values + i);
        const __m512i index = _mm512_maskz_loadu_epi32(lanes, indices + i);
        const __m512i magnitude = _mm512_and_si512(_mm512_castps_si512(v), _mm512_set1_epi32(0x7fffffff));
        const __mmask16 keep = _mm512_mask_cmpge_epu32_mask(lanes, magnitude, _mm512_set1_epi32((int)least));
        const size_t many = (size_t)__builtin_popcount(keep);
        _mm512_mask_storeu_ps(values + kept, first_lanes(many), _mm512_maskz_compress_ps(keep, v));
        _mm512_mask_storeu_epi32(indices + kept, first_lanes(many), _mm512_maskz_compress_epi32(keep, index));
        kept += many;
    }
    return kept;
}

static size_t avx512_collect(const float *values, size_t n, uint32_t most, uint32_t *keys)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i += 16) {
        const __mmask16 lanes = first_lanes(n - i);
        const __m512i key =
            _mm512_and_si512(_mm512_maskz_loadu_epi32(lanes, values + i), _mm512_set1_epi32(0x7fffffff));
        const __mmask16 keep = _mm512_mask_cmple_epu32_mask(lanes, key, _mm512_set1_epi32((int)most));
        _mm512_storeu_si512(keys + count, _mm512_maskz_compress_epi32(keep, key));
        count += (size_t)__builtin_popcount(keep);
    }
    return count;
}

/* ---- dithering ---------------------------------------------------------------------------------------- */

static inline __m512 level_position(const level_job *job, __m512 x)
{
    return _mm512_mul_ps(_mm512_mul_ps(_mm512_abs_ps(x), _mm512_set1_ps(job->lift)),
                         _mm512_set1_ps(job->slope));
}

static inline void store_levels(const level_job *job, size_t i, __mmask16 lanes, __m512 x, __m512i level)
{
    level = _mm512_min_epu32(level, _mm512_set1_epi32((int)job->s));
    const __mmask16 negative =
        _mm512_cmp_ps_mask(x, _mm512_setzero_ps(), _CMP_LT_OQ) & _mm512_test_epi32_mask(level, level);
    level = _mm512_mask_or_epi32(level, negative, level, _mm512_set1_epi32(128));
    _mm512_mask_cvtepi32_storeu_epi8(job->codes + i, lanes, level);
}

/* Lanes that go up: with probability f, exactly; the rare equal ones look up more bits. */
static inline __mmask16 chance(const level_job *job, size_t i, __mmask16 lanes, __m512 f)
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

static void avx512_dither_levels(const level_job *job)
{
    const level_job here = *job;
    for (size_t i = 0; i < here.n; i += 16) {
        const __mmask16 lanes = first_lanes(here.n - i);
        const __m512 x = _mm512_maskz_loadu_ps(lanes, here.x + i), t = level_position(&here, x);
        const __m512i level = _mm512_cvttps_epu32(t);
        const __mmask16 up = chance(&here, i, lanes, _mm512_sub_ps(t, _mm512_cvtepu32_ps(level)));
        store_levels(&here, i, lanes, x, _mm512_mask_add_epi32(level, up, level, _mm512_set1_epi32(1)));
    }
}

static void avx512_natdither_levels(const level_job *job)
{
    const level_job here = *job;
    for (size_t i = 0; i < here.n; i += 16) {
        const __mmask16 lanes = first_lanes(here.n - i);
        const __m512 x = _mm512_maskz_loadu_ps(lanes, here.x + i), t = level_position(&here, x);
        const __mmask16 small = _mm512_cmp_ps_mask(t, _mm512_set1_ps(1), _CMP_LT_OQ);
        const __m512i bits = _mm512_castps_si512(t),
                      mantissa = _mm512_and_si512(bits, _mm512_set1_epi32(0x7fffff));
        const __m512 above = _mm512_mul_ps(_mm512_cvtepi32_ps(mantissa), _mm512_set1_ps(0x1p-23f));
        const __mmask16 up = chance(&here, i, lanes, _mm512_mask_blend_ps(small, above, t));
        const __m512i level =
            _mm512_maskz_sub_epi32((__mmask16)~small, _mm512_srli_epi32(bits, 23), _mm512_set1_epi32(126));
        store_levels(&here, i, lanes, x, _mm512_mask_add_epi32(level, up, level, _mm512_set1_epi32(1)));
    }
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
    .codes_add = avx512_codes_add,
    .compact = avx512_compact,
    .collect = avx512_collect,
    .gap_bits = define_gap_bits,
    .gap_write = avx512_gap_write,
    .crc32c = x86_crc32c,
    DEFINE_ROWS,
};
#endif
