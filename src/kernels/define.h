/* define.h - what every kernel computes, in plain C. The compiler vectorises most of it; a table for an
 * instruction set starts from these functions, compiled with its flags, and replaces those where
 * hand-written code is faster. What belongs together and is long stands in define_*.h. */
#ifndef KERNELS_DEFINE_H
#define KERNELS_DEFINE_H

#include <math.h>

#include "base/bytes.h"
#include "base/crc32c_table.h"
#include "base/rng.h"
#include "kernels/define_codes.h"
#include "kernels/define_dither.h"
#include "kernels/define_gaps.h"
#include "kernels/define_half.h"
#include "kernels/define_late.h"
#include "kernels/define_sums.h"
#include "kernels/kernels.h"
#include "kernels/rows.h"

static inline bool define_runs_anywhere(void)
{
    return true;
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

static inline size_t define_form(const form_job *job, double sums[3], bool *finite)
{
    return form_by(job, define_select, define_drift, define_keep, sums, finite);
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

#define DEFINE_ALL                                                                                 \
    .random_block = define_random_block, .natural_encode = define_natural_encode,                  \
    .natural_decode_add = define_natural_decode_add, .select = define_select, .form = define_form, \
    .compact = define_compact, .collect = define_collect, .crc32c = define_crc32c, DEFINE_CODES,   \
    DEFINE_DITHER, DEFINE_GAPS, DEFINE_HALF, DEFINE_LATE, DEFINE_ROWS, DEFINE_SUMS

#endif
