/* define.h - what every kernel computes, in plain C. The compiler vectorises most of it; a table for an
 * instruction set starts from these functions, compiled with its flags, and replaces those where
 * hand-written code is faster. */
#ifndef KERNELS_DEFINE_H
#define KERNELS_DEFINE_H

#include <math.h>

#include "base/bits.h"
#include "base/bytes.h"
#include "base/crc32c_table.h"
#include "base/rng.h"
#include "kernels/define_codes.h"
#include "kernels/define_half.h"
#include "kernels/kernels.h"
#include "kernels/rows.h"

enum { LANES = 16 };

static inline bool define_runs_anywhere(void)
{
    return true;
}

/* ---- reductions --------------------------------------------------------------------------------------- */

static inline size_t define_find_nonfinite(const float *x, size_t n)
{
    /* Blocks without a branch inside vectorise; the position is looked for only where there is something. */
    for (size_t first = 0; first < n; first += 1024) {
        const size_t end = n - first < 1024 ? n : first + 1024;
        uint32_t found = 0;
        for (size_t i = first; i < end; i++) found |= (f32_bits(x[i]) & 0x7fffffffu) >= 0x7f800000u;
        if (!found) continue;
        for (size_t i = first; i < end; i++)
            if (!isfinite(x[i])) return i;
    }
    return n;
}

static inline double define_fold(double lane[LANES])
{
    for (int width = LANES / 2; width; width /= 2)
        for (int j = 0; j < width; j++) lane[j] += lane[j + width];
    return lane[0];
}

#include "kernels/define_late.h"

static inline double define_sum_abs(const float *x, size_t n)
{
    double lane[LANES] = {0};
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int j = 0; j < LANES; j++) lane[j] += (double)fabsf(x[i + (size_t)j]);
    for (int j = 0; i < n; i++, j++) lane[j] += (double)fabsf(x[i]);
    return define_fold(lane);
}

static inline double define_sum_squares(const float *x, size_t n)
{
    double lane[LANES] = {0};
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int j = 0; j < LANES; j++) {
            const double v = (double)x[i + (size_t)j];
            lane[j] += v * v;
        }
    for (int j = 0; i < n; i++, j++) lane[j] += (double)x[i] * (double)x[i];
    return define_fold(lane);
}

static inline double define_sum_below(const float *x, size_t n, float limit, size_t *others)
{
    double lane[LANES] = {0};
    uint32_t count[LANES] = {0};
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int j = 0; j < LANES; j++) {
            const float magnitude = fabsf(x[i + (size_t)j]);
            lane[j] += magnitude < limit ? (double)magnitude : 0;
            count[j] += magnitude >= limit;
        }
    for (int j = 0; i < n; i++, j++) {
        lane[j] += fabsf(x[i]) < limit ? (double)fabsf(x[i]) : 0;
        count[j] += fabsf(x[i]) >= limit;
    }
    *others = 0;
    for (int j = 0; j < LANES; j++) *others += count[j];
    return define_fold(lane);
}

static inline float define_max_abs(const float *x, size_t n)
{
    /* As integers, magnitudes compare in the order of their bits, and maxima vectorise. */
    uint32_t max = 0;
    for (size_t i = 0; i < n; i++) {
        const uint32_t magnitude = f32_bits(x[i]) & 0x7fffffffu;
        max = magnitude > max ? magnitude : max;
    }
    return f32_from_bits(max);
}

static inline void define_add_scaled(float *y, const float *x, float scale, size_t n)
{
    for (size_t i = 0; i < n; i++) y[i] += scale * x[i];
}

/* ---- random numbers: docs/format.md section 5 --------------------------------------------------------- */

enum { RNG_LANES = 8 };

static inline void define_random_start(tithe_key key, uint64_t block, uint64_t s0[RNG_LANES],
                                       uint64_t s1[RNG_LANES])
{
    for (int lane = 0; lane < RNG_LANES; lane++) {
        const uint64_t counter = block * RNG_LANES + (uint64_t)lane;
        s0[lane] = rng_mix(rng_mix(key.a + counter * RNG_GOLDEN) + key.b);
        s1[lane] = rng_mix(rng_mix(key.b + counter * RNG_SILVER) + key.a);
    }
}

static inline void define_random_block(tithe_key key, uint64_t block, uint32_t *out)
{
    uint64_t s0[RNG_LANES], s1[RNG_LANES];
    define_random_start(key, block, s0, s1);
    for (int i = 0; i < TITHE_BLOCK; i += 2 * RNG_LANES) {
        for (int lane = 0; lane < RNG_LANES; lane++) {
            uint64_t x = s0[lane];
            const uint64_t y = s1[lane];
            x ^= x << 23;
            s0[lane] = y;
            s1[lane] = x ^ y ^ x >> 18 ^ y >> 5;
            const uint64_t value = s1[lane] + y;
            out[i + 2 * lane] = (uint32_t)value;
            out[i + 2 * lane + 1] = (uint32_t)(value >> 32);
        }
    }
}

/* ---- natural compression ------------------------------------------------------------------------------ */

/* v = x, or x + gamma*g. */
static inline float define_load(const kernel_source *s, size_t i)
{
    return s->g ? s->x[i] + s->gamma * s->g[i] : s->x[i];
}

/* What becomes of e where the sum is not finite. */
static inline void define_store_overflow(const kernel_source *s, size_t i)
{
    if (!s->g || !isfinite(s->x[i])) return;
    const float added = s->gamma * s->g[i];
    if (isfinite(added)) s->x[i] = copysignf(0x1.fffffep127f, added);
}

static inline bool define_is_finite(uint32_t bits)
{
    return (bits & 0x7f800000u) != 0x7f800000u;
}

/* The exponent field after random rounding. Sixteen random bits decide against the top of the mantissa,
 * unless they equal it; that one case in 65536 looks up seven more bits. P(up) is mantissa / 2^23 to the
 * last bit. */
static inline uint32_t define_natural_round(uint32_t bits, uint32_t random16, tithe_key key,
                                            uint64_t position)
{
    const uint32_t magnitude = bits & 0x7fffffffu, mantissa = magnitude & 0x7fffffu, top = mantissa >> 7;
    bool up = random16 < top;
    if (random16 == top) up = rng_at(key, position) >> 57 < (mantissa & 127);
    const uint32_t field = (magnitude >> 23) + up;
    return field < 255 ? field : 254;
}

/* Two values share a random number: the even one takes its low half, the odd one its high half. */
static inline uint32_t define_half(const uint32_t *random, size_t i)
{
    return random[i / 2] >> 16 * (i % 2) & 0xffff;
}

/* Values [begin, end), whose random numbers are random[0] on. */
static inline bool define_natural_values(const natural_job *job, size_t begin, size_t end,
                                         const uint32_t *random)
{
    bool finite = true;
    for (size_t i = begin; i < end; i++) {
        const float v = define_load(&job->source, i);
        const uint32_t bits = f32_bits(v);
        const uint32_t rounded =
            define_natural_round(bits, define_half(random, i - begin), job->key, job->position + i);
        const uint32_t field = define_is_finite(bits) ? rounded : 0;
        job->fields[i] = (uint8_t)field;
        if (i % 8 == 0) job->signs[i / 8] = 0;
        job->signs[i / 8] |= (uint8_t)(bits >> 31 << i % 8);
        if (!define_is_finite(bits)) {
            finite = false;
            define_store_overflow(&job->source, i);
        } else if (job->subtract)
            job->source.x[i] = v - f32_from_bits((bits & 0x80000000u) | field << 23) * job->factor;
        else if (job->source.g)
            job->source.x[i] = v;
    }
    return finite;
}

static inline bool define_natural_encode(const natural_job *job)
{
    bool finite = true;
    for (size_t first = 0; first < job->n; first += NATURAL_SPAN) {
        uint32_t random[TITHE_BLOCK];
        define_random_block(job->key, (job->position + first) / NATURAL_SPAN, random);
        const size_t end = job->n - first < NATURAL_SPAN ? job->n : first + NATURAL_SPAN;
        finite &= define_natural_values(job, first, end, random);
    }
    return finite;
}

static inline void define_natural_decode_add(const uint8_t *fields, const uint8_t *signs, size_t n,
                                             float factor, float scale, float *y)
{
    for (size_t i = 0; i < n; i++) {
        const uint32_t sign = (uint32_t)(signs[i / 8] >> i % 8 & 1) << 31;
        y[i] += scale * (f32_from_bits(sign | (uint32_t)fields[i] << 23) * factor);
    }
}

/* ---- selection ---------------------------------------------------------------------------------------- */

static inline size_t define_select_from(const select_job *job, size_t begin, size_t count, bool *finite)
{
    *finite = true;
    for (size_t i = begin; i < job->n; i++) {
        const float v = define_load(&job->source, i);
        const uint32_t bits = f32_bits(v);
        if (!define_is_finite(bits)) {
            *finite = false;
            define_store_overflow(&job->source, i);
        } else if (job->source.g)
            job->source.x[i] = v;
        if ((bits & 0x7fffffffu) < job->min) continue;
        if (count < job->capacity) {
            job->indices[count] = job->first + (uint32_t)i;
            job->values[count] = v;
        }
        count++;
    }
    return count;
}

static inline size_t define_select(const select_job *job, bool *finite)
{
    return define_select_from(job, 0, 0, finite);
}

/* In place: entries whose magnitude has at least the bits `least`, in order. */
static inline size_t define_compact(uint32_t *indices, float *values, size_t n, uint32_t min)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        const float value = values[i];
        values[kept] = value;
        indices[kept] = indices[i];
        kept += (f32_bits(value) & 0x7fffffffu) >= min;
    }
    return kept;
}

static inline size_t define_collect(const float *values, size_t n, uint32_t min, uint32_t max, uint32_t *keys,
                                    size_t *above)
{
    size_t count = 0, larger = 0;
    for (size_t i = 0; i < n; i++) {
        const uint32_t key = f32_bits(values[i]) & 0x7fffffffu;
        keys[count] = key;
        count += key >= min && key <= max;
        larger += key > max;
    }
    *above = larger;
    return count;
}

/* ---- dithering ---------------------------------------------------------------------------------------- */

static inline float define_level_position(const level_job *job, size_t i)
{
    return (fabsf(job->x[i]) * job->lift) * job->slope;
}

/* True with probability f in [0, 1), exactly: 31 random bits against those of f, and 24 more if they are
 * equal. */
static inline bool define_chance(float f, uint32_t random, tithe_key key, uint64_t position)
{
    const float scaled = f * 2147483648.0f;
    const uint32_t whole = (uint32_t)(int)scaled; /* signed: every vector unit converts those */
    if (random >> 1 != whole) return random >> 1 < whole;
    return (float)(rng_at(key, position) >> 40) < (scaled - (float)whole) * 16777216.0f;
}

static inline unsigned define_dither_round(float t, uint32_t random, tithe_key key, uint64_t position)
{
    const int level = (int)t;
    return (unsigned)level + define_chance(t - (float)level, random, key, position);
}

/* t in [0, 2^(s-1)]: 0 is level 0, 2^j is level j + 1. Below 1, t is the chance of level 1; above, the
 * mantissa is that of the next power. */
static inline unsigned define_natdither_round(float t, uint32_t random, tithe_key key, uint64_t position)
{
    if (t < 1) return define_chance(t, random, key, position);
    const uint32_t bits = f32_bits(t);
    const float mantissa = (float)(bits & 0x7fffffu) * 0x1p-23f;
    return (bits >> 23) - 126 + define_chance(mantissa, random, key, position);
}

/* t may exceed its end by a rounding error; a zero is positive. */
static inline uint8_t define_level_code(const level_job *job, size_t i, unsigned level)
{
    if (level > job->s) level = job->s;
    return (uint8_t)(level | (job->x[i] < 0 && level ? 128 : 0));
}

static inline void define_dither_levels(const level_job *job)
{
    for (size_t i = 0; i < job->n; i++)
        job->codes[i] = define_level_code(
            job, i,
            define_dither_round(define_level_position(job, i), job->random[i], job->key, job->position + i));
}

static inline void define_natdither_levels(const level_job *job)
{
    for (size_t i = 0; i < job->n; i++)
        job->codes[i] =
            define_level_code(job, i,
                              define_natdither_round(define_level_position(job, i), job->random[i], job->key,
                                                     job->position + i));
}

/* E level^2 = l^2 + f(2l+1), l and f the whole and the fraction of t */
static inline double define_dither_moment(float t)
{
    const float whole = (float)(int)t, fraction = t - whole;
    return (double)whole * (double)whole + (double)fraction * (2 * (double)whole + 1);
}

/* With p the power of two below t >= 1 and u = t/p, E = p^2 (3u - 2) = p (3t - 2p); below 1 it is t. */
static inline double define_natdither_moment(float t)
{
    const float power = f32_from_bits(f32_bits(t) & 0x7f800000u);
    return t < 1 ? (double)t : (double)power * (3 * (double)t - 2 * (double)power);
}

typedef double level_moment(float t);

static inline void define_moments(const level_job *job, double *squares, double *expected,
                                  level_moment *moment)
{
    double square[LANES] = {0}, second[LANES] = {0};
    size_t i = 0;
    for (; i + LANES <= job->n; i += LANES)
        for (size_t j = 0; j < LANES; j++) {
            const float t = define_level_position(job, i + j);
            square[j] += (double)t * (double)t;
            second[j] += moment(t);
        }
    for (size_t j = 0; i < job->n; i++, j++) {
        const float t = define_level_position(job, i);
        square[j] += (double)t * (double)t;
        second[j] += moment(t);
    }
    *squares = define_fold(square);
    *expected = define_fold(second);
}

static inline void define_dither_moments(const level_job *job, double *squares, double *expected)
{
    define_moments(job, squares, expected, define_dither_moment);
}

static inline void define_natdither_moments(const level_job *job, double *squares, double *expected)
{
    define_moments(job, squares, expected, define_natdither_moment);
}

static inline void define_pack_nibbles(const uint8_t *codes, size_t n, uint8_t *dst)
{
    for (size_t i = 0; i < n; i += 2) {
        const unsigned low = (codes[i] & 7u) | (codes[i] >> 4 & 8u),
                       high = (codes[i + 1] & 7u) | (codes[i + 1] >> 4 & 8u);
        dst[i / 2] = (uint8_t)(low | high << 4);
    }
}

static inline void define_nibbles_add(const uint8_t *src, size_t n, const float table[16], float *y)
{
    for (size_t i = 0; i < n; i += 2) {
        y[i] += table[src[i / 2] & 15];
        y[i + 1] += table[src[i / 2] >> 4];
    }
}

/* ---- index coding ------------------------------------------------------------------------------------- */

/* Sums of quotients stay below the last index, so 32 bits hold them. The division by 3 is a product: in 32 bits
 * while no dividend has more than 16, else in 64. */
static inline void define_gap_bits(const uint32_t *indices, size_t n, unsigned shift, bool three,
                                   uint64_t bits[3])
{
    uint32_t a = 0, b = 0, c = 0, digits_a = 0, digits_b = 0, digits_c = 0;
    uint32_t ones = 0; /* of all gaps */
    for (size_t i = 1; i < n && three; i++) ones |= indices[i] - indices[i - 1] - 1;
    const bool narrow = ones >> shift < 65536;
    const uint32_t first = n ? indices[0] >> shift : 0;
    for (size_t i = 1; i < n && !three; i++) {
        const uint32_t gap = (indices[i] - indices[i - 1] - 1) >> shift;
        a += gap;
        b += gap >> 1;
        c += gap >> 2;
    }
    for (size_t i = 1; i < n && three && narrow; i++) {
        const uint32_t gap = (indices[i] - indices[i - 1] - 1) >> shift;
        const uint32_t p = gap * 0xaaabu >> 17, q = (gap >> 1) * 0xaaabu >> 17,
                       r = (gap >> 2) * 0xaaabu >> 17;
        a += p;
        b += q;
        c += r;
        digits_a += gap != 3 * p;
        digits_b += gap >> 1 != 3 * q;
        digits_c += gap >> 2 != 3 * r;
    }
    for (size_t i = 1; i < n && three && !narrow; i++) {
        const uint32_t gap = (indices[i] - indices[i - 1] - 1) >> shift;
        a += gap / 3;
        b += (gap >> 1) / 3;
        c += (gap >> 2) / 3;
        digits_a += gap % 3 > 0;
        digits_b += (gap >> 1) % 3 > 0;
        digits_c += (gap >> 2) % 3 > 0;
    }
    const uint32_t quotients[3] = {a, b, c}, digits[3] = {digits_a, digits_b, digits_c};
    for (int k = 0; k < 3; k++) {
        const uint32_t part = first >> k, whole = three ? part / 3 : part;
        bits[k] = (uint64_t)quotients[k] + whole + digits[k] + (three && part % 3 > 0) +
                  (three ? 2 : 1) * (uint64_t)n;
    }
}

/* One gap, as the low bits for the first plane and a code word for the second. */
typedef struct gap_code {
    uint32_t low, zeros, end; /* `zeros` zeros, then the bits of `end`, the lowest first */
    unsigned width;           /* of end */
} gap_code;

static inline gap_code define_gap_code(uint32_t gap, unsigned shift, uint32_t mask, bool three)
{
    const uint32_t part = gap >> shift;
    gap_code code = {gap & mask, part, 1, 1};
    if (three) { /* after the one that ends the zeros, the digit: 0, 1 0 or 1 1 */
        code.zeros = part / 3;
        const uint32_t digit = part - 3 * code.zeros;
        code.end = (2u << digit) - 1;
        code.width = digit ? 3 : 2;
    }
    return code;
}

static inline void define_put_code(bit_writer *w, const gap_code *code)
{
    if (code->zeros <= 29) {
        bits_put(w, code->end << code->zeros, code->zeros + code->width);
    } else {
        bits_put_zeros(w, code->zeros);
        bits_put(w, code->end, code->width);
    }
}

/* Both planes grow side by side, so that neither writer waits for the other. The byte in which one ends and the other
 * begins is put together last. */
typedef struct gap_planes {
    bit_writer low, high;
} gap_planes;

static inline gap_planes define_gap_begin(size_t n, unsigned shift, uint8_t *dst)
{
    const uint64_t low_bits = (uint64_t)n * shift;
    gap_planes planes = {bit_writer_at(dst), bit_writer_at(dst + low_bits / 8)};
    bits_put(&planes.high, 0, low_bits % 8);
    return planes;
}

static inline void define_gap_one(const uint32_t *indices, size_t i, unsigned shift, bool three,
                                  gap_planes *planes)
{
    const uint32_t gap = indices[i] - (i ? indices[i - 1] + 1 : 0);
    const gap_code code = define_gap_code(gap, shift, (uint32_t)((UINT64_C(1) << shift) - 1), three);
    bits_put(&planes->low, code.low, shift);
    define_put_code(&planes->high, &code);
}

static inline void define_gap_end(size_t n, unsigned shift, uint8_t *dst, gap_planes *planes)
{
    const uint64_t low_bits = (uint64_t)n * shift;
    bits_finish(&planes->high);
    const uint8_t second = low_bits % 8 ? dst[low_bits / 8] : 0; /* no entries: no byte */
    bits_finish(&planes->low);
    if (low_bits % 8) dst[low_bits / 8] |= second;
}

/* Two gaps at a time while they are short and neither plane is near its end. */
static inline void define_gap_planes(const uint32_t *indices, size_t n, unsigned shift, const bool three,
                                     size_t bytes, uint8_t *dst)
{
    const uint32_t mask = (uint32_t)((UINT64_C(1) << shift) - 1);
    gap_planes planes = define_gap_begin(n, shift, dst);
    const uint8_t *low_end = planes.high.next, *high_end = dst + bytes;
    size_t i = 0;
    while (i < n) {
        while (shift <= 16 && i + 2 <= n && low_end - planes.low.next >= 8 &&
               high_end - planes.high.next >= 8) {
            const uint32_t expected = i ? indices[i - 1] + 1 : 0;
            const gap_code a = define_gap_code(indices[i] - expected, shift, mask, three);
            const gap_code b = define_gap_code(indices[i + 1] - indices[i] - 1, shift, mask, three);
            if (a.zeros > 26 || b.zeros > 26 - a.zeros) break;
            const unsigned first = a.zeros + a.width;
            bits_put_ahead(&planes.low, a.low | b.low << shift, 2 * shift);
            bits_put_ahead(&planes.high, a.end << a.zeros | b.end << (first + b.zeros),
                           first + b.zeros + b.width);
            i += 2;
        }
        if (i < n) define_gap_one(indices, i++, shift, three, &planes);
    }
    define_gap_end(n, shift, dst, &planes);
}

static inline void define_gap_write(const uint32_t *indices, size_t n, unsigned shift, bool three,
                                    size_t bytes, uint8_t *dst)
{
    if (three)
        define_gap_planes(indices, n, shift, true, bytes, dst);
    else
        define_gap_planes(indices, n, shift, false, bytes, dst);
}

/* ---- checksum ----------------------------------------------------------------------------------------- */

static inline uint32_t define_crc32c(uint32_t crc, const uint8_t *bytes, size_t n)
{
    for (; n >= 8; n -= 8, bytes += 8) {
        const uint32_t low = crc ^ get_u32(bytes);
        crc = crc32c_table[7][low & 0xff] ^ crc32c_table[6][low >> 8 & 0xff] ^
              crc32c_table[5][low >> 16 & 0xff] ^ crc32c_table[4][low >> 24] ^ crc32c_table[3][bytes[4]] ^
              crc32c_table[2][bytes[5]] ^ crc32c_table[1][bytes[6]] ^ crc32c_table[0][bytes[7]];
    }
    for (; n; n--, bytes++) crc = crc >> 8 ^ crc32c_table[0][(crc ^ *bytes) & 0xff];
    return crc;
}

#define DEFINE_ALL                                                                                     \
    .find_nonfinite = define_find_nonfinite, .sum_below = define_sum_below, .sum_abs = define_sum_abs, \
    .sum_squares = define_sum_squares, .max_abs = define_max_abs, .add_scaled = define_add_scaled,     \
    .random_block = define_random_block, .natural_encode = define_natural_encode,                      \
    .natural_decode_add = define_natural_decode_add, .bf16_encode = define_bf16_encode,                \
    .select = define_select, .dither_levels = define_dither_levels,                                    \
    .natdither_levels = define_natdither_levels, .dither_moments = define_dither_moments,              \
    .natdither_moments = define_natdither_moments, .pack_nibbles = define_pack_nibbles,                \
    .nibbles_add = define_nibbles_add, .gap_bits = define_gap_bits, .gap_write = define_gap_write,     \
    .compact = define_compact, .collect = define_collect, .crc32c = define_crc32c, DEFINE_CODES,       \
    DEFINE_HALF, DEFINE_LATE, DEFINE_ROWS

#endif
