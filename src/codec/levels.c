/* levels.c - see levels.h.
 *
 * payload: one norm for every bucket: f32 (0 to 2^127), or one byte: the exponent field of a float, which
 *          is natural compression of a number that has no sign (255 never occurs)
 *          then count codes: `fixed`, 1 + ceil(log2(s+1)) bits: level + sign * 2^(bits-1);
 *          or `elias`: gamma(level + 1), and a sign bit if the level is not zero; padded with zeros
 *
 * scale=contractive multiplies the norm by |x|^2 / E|C(x)|^2 of its bucket, which the encoder knows exactly. */
#include "codec/levels.h"

#include "kernels/kernels.h"

#define LARGEST_NORM 0x1p127f /* so that no level is infinite, however norm / s was rounded */

static unsigned levels_of(const tithe_quant_call *c)
{
    return (unsigned)c->params[LEVEL_S];
}

static size_t bucket_of(const tithe_quant_call *c)
{
    const size_t bucket = (size_t)c->params[LEVEL_BUCKET];
    return bucket && bucket < c->count ? bucket : c->count;
}

static size_t bucket_count(const tithe_quant_call *c)
{
    return c->count ? (c->count - 1) / bucket_of(c) + 1 : 0;
}

static unsigned norm_bytes(const tithe_quant_call *c)
{
    return c->params[LEVEL_NORM] == 1 ? 1 : 4;
}

static bool is_elias(const tithe_quant_call *c)
{
    return c->params[LEVEL_CODE] == 1;
}

static unsigned log2_floor(unsigned v)
{
    return 31u - (unsigned)__builtin_clz(v);
}

static unsigned code_width(unsigned s)
{
    return 2 + log2_floor(s); /* sign, and ceil(log2(s + 1)) */
}

bool ti_levels_fixed_size(const double *params)
{
    return params[LEVEL_CODE] == 0;
}

uint64_t ti_levels_max_bits(const tithe_quant_call *c)
{
    const unsigned s = levels_of(c), width = is_elias(c) ? 2 * log2_floor(s + 1) + 2 : code_width(s);
    return (uint64_t)bucket_count(c) * norm_bytes(c) * 8 + (uint64_t)c->count * width;
}

/* ---- norms -------------------------------------------------------------------------------------------- */

static double norm_p(const tithe_quant_call *c, const float *x, size_t count)
{
    switch ((int)c->params[LEVEL_P]) {
    case LEVEL_P_1: return ti_norm1(TITHE_F32, x, count);
    case LEVEL_P_2: return ti_norm2(TITHE_F32, x, count);
    default: return ti_norm_max(TITHE_F32, x, count);
    }
}

/* Write a norm; the result is what the decoder will read. */
static float put_norm(const tithe_quant_call *c, uint8_t *dst, size_t bucket, float norm)
{
    if (norm_bytes(c) == 4) {
        put_f32(dst + 4 * bucket, norm);
        return norm;
    }
    const uint32_t bits = f32_bits(norm), random = (uint32_t)(rng_at(ti_rng_derive(c->key, RNG_NORM), bucket) >> 41);
    uint32_t field = (bits >> 23) + (random < (bits & 0x7fffffu));
    if (field > 254) field = 254;
    dst[bucket] = (uint8_t)field;
    return f32_from_bits(field << 23);
}

static float get_norm(const tithe_quant_call *c, const uint8_t *src, size_t bucket)
{
    return norm_bytes(c) == 4 ? get_f32(src + 4 * bucket) : f32_from_bits((uint32_t)src[bucket] << 23);
}

/* ---- encode ------------------------------------------------------------------------------------------- */

enum { FEW_LEVELS = 127 }; /* up to here the kernels take a level and its sign as one byte */

/* t = (|x| * lift) * slope. The lift, a power of two, keeps the slope a normal number for norms near either end of
 * the range of floats. */
typedef struct bucket_scale {
    float lift, slope;
} bucket_scale;

static bucket_scale scale_of(double steps, float norm)
{
    bucket_scale b = {1, 0};
    if (norm < 0x1p-60f) b.lift = 0x1p100f;
    if (norm > 0x1p60f) b.lift = 0x1p-64f;
    if (norm > 0) b.slope = (float)(steps / ((double)norm * (double)b.lift));
    return b;
}

static inline float level_position(bucket_scale b, float x)
{
    return (fabsf(x) * b.lift) * b.slope;
}

/* |x|^2 / E|C(x)|^2 over one bucket. */
static double bucket_contraction(const level_grid *grid, bucket_scale b, const float *x, size_t count)
{
    double squares, expected;
    const level_job job = {.x = x, .n = count, .lift = b.lift, .slope = b.slope};
    grid->moments(&job, &squares, &expected);
    return expected > 0 ? squares / expected : 1;
}

static void put_level(const tithe_quant_call *c, bit_writer *w, unsigned level, bool negative)
{
    if (!is_elias(c)) {
        const unsigned width = code_width(levels_of(c));
        bits_put(w, level | (unsigned)negative << (width - 1), width);
        return;
    }
    const unsigned value = level + 1, extra = log2_floor(value);
    bits_put(w, 1u << extra, extra + 1); /* `extra` zeros, then a one */
    bits_put(w, value & ((1u << extra) - 1), extra);
    if (level) bits_put(w, negative, 1);
}

/* Up to 127 levels: bytes from the kernel, nibbles packed many at a time. `block` gets what the decoder will see. */
static void encode_few(const level_grid *grid, const tithe_quant_call *c, bucket_scale scale, const float *x,
                       size_t many, const uint32_t *random, const float *value, bit_writer *w, float *block)
{
    uint8_t codes[TITHE_BLOCK];
    const level_job job = {x, many, scale.lift, scale.slope, levels_of(c), random, codes};
    grid->levels(&job);
    size_t packed = 0;
    if (!is_elias(c) && code_width(levels_of(c)) == 4 && bits_at_byte(w)) {
        packed = many / 2 * 2;
        ti_kernels()->pack_nibbles(codes, packed, bits_take_bytes(w, packed / 2));
    }
    for (size_t i = packed; i < many; i++) put_level(c, w, codes[i] & 127, codes[i] >> 7);
    for (size_t i = 0; block && i < many; i++) block[i] = value[codes[i]];
}

static void encode_many(const level_grid *grid, const tithe_quant_call *c, bucket_scale scale, const float *x,
                        size_t many, const uint32_t *random, float written, bit_writer *w, float *block)
{
    const unsigned s = levels_of(c);
    for (size_t i = 0; i < many; i++) {
        unsigned level = grid->round(level_position(scale, x[i]), random[i]);
        if (level > s) level = s; /* t may exceed its end by a rounding error */
        put_level(c, w, level, x[i] < 0 && level);
        const float value = grid->value(level, s, written);
        block[i] = x[i] < 0 ? -value : value;
    }
}

/* value[code] for a byte of level and sign. */
static void value_table(const level_grid *grid, unsigned s, float norm, float value[256])
{
    for (unsigned level = 0; level <= s; level++) {
        value[level] = grid->value(level, s, norm);
        value[128 + level] = -value[level];
    }
}

/* Random numbers belong to positions of the whole message, wherever its buckets begin and end. */
typedef struct random_cursor {
    uint64_t block;
    bool loaded;
    uint32_t numbers[TITHE_BLOCK];
} random_cursor;

/* How far one can go from `first` with one block of random numbers; they are made when the block changes. */
static size_t random_span(random_cursor *r, tithe_key key, size_t first, size_t end)
{
    const uint64_t block = first / TITHE_BLOCK;
    if (!r->loaded || r->block != block) {
        tithe_random_block(key, block, r->numbers);
        r->block = block;
        r->loaded = true;
    }
    const size_t left = TITHE_BLOCK - first % TITHE_BLOCK;
    return end - first < left ? end - first : left;
}

/* A bucket that fits a block can be put together from e and the gradient, written, and what is left of it stored, all
 * while it is in the cache. */
bool ti_levels_fuse(const double *params)
{
    return params[LEVEL_BUCKET] > 0 && params[LEVEL_BUCKET] <= TITHE_BLOCK;
}

tithe_status ti_levels_encode(const level_grid *grid, const tithe_quant_call *c, const float *values, uint8_t *dst,
                              uint64_t *bits, const tithe_sink *sent)
{
    const unsigned s = levels_of(c);
    const size_t bucket = bucket_of(c), buckets = bucket_count(c);
    bit_writer w = bit_writer_at(dst + buckets * norm_bytes(c));
    random_cursor random = {.loaded = false};
    tithe_status status = TITHE_OK;

    for (size_t b = 0; b < buckets; b++) {
        const size_t begin = b * bucket, end = c->count - begin < bucket ? c->count : begin + bucket;
        float sum[TITHE_BLOCK];
        const float *x = values + begin;
        if (c->gradient) {
            memcpy(sum, x, (end - begin) * sizeof *sum);
            ti_kernels()->add_scaled(sum, c->gradient + begin, c->gamma, end - begin);
            x = sum;
        }
        double norm = norm_p(c, x, end - begin);
        const bool refused = !(norm <= (double)LARGEST_NORM); /* or something in it is not finite */
        if (refused) {
            status = TITHE_E_NONFINITE;
            norm = 0;
        }
        const bucket_scale scale = scale_of(grid->steps(s), (float)norm);
        double factor = 1;
        if (c->contractive) {
            factor = bucket_contraction(grid, scale, x, end - begin);
            if (norm_bytes(c) == 1) factor *= 8.0 / 9;
        }
        const float written = put_norm(c, dst, b, refused ? 0 : (float)((double)(float)norm * factor));
        float value[256];
        if (s <= FEW_LEVELS) value_table(grid, s, written, value);

        for (size_t first = begin, span; first < end; first += span) {
            span = random_span(&random, c->key, first, end);
            const uint32_t *mine = random.numbers + first % TITHE_BLOCK;
            const float *from = x + (first - begin);
            float block[TITHE_BLOCK];
            if (refused) {
                for (size_t i = 0; i < span; i++) put_level(c, &w, 0, false);
                continue;
            }
            if (s <= FEW_LEVELS)
                encode_few(grid, c, scale, from, span, mine, value, &w, sent->y ? block : NULL);
            else
                encode_many(grid, c, scale, from, span, mine, written, &w, block);
            if (c->gradient) memcpy((float *)sent->y + first, from, span * sizeof *from);
            tithe_sink_add(sent, first, block, span);
        }
    }
    *bits = (uint64_t)buckets * norm_bytes(c) * 8 + bits_finish(&w);
    return status;
}

/* ---- decode ------------------------------------------------------------------------------------------- */

/* The next level, with its sign; more than s where the bytes make no sense. */
static unsigned get_level(const tithe_quant_call *c, bit_reader *r, bool *negative)
{
    if (!is_elias(c)) {
        const unsigned width = code_width(levels_of(c)), code = bits_get(r, width);
        *negative = code >> (width - 1);
        return code & ((1u << (width - 1)) - 1);
    }
    *negative = false;
    const uint64_t extra = bits_get_unary(r);
    if (extra > 16) return UINT32_MAX;
    const unsigned level = (1u << extra | bits_get(r, (unsigned)extra)) - 1;
    if (level) *negative = bits_get(r, 1);
    return level;
}

/* No nibble is 8; one of padding is zero, which is fine too. */
static bool nibbles_are_sound(const uint8_t *src, size_t length)
{
    const uint64_t ones = UINT64_C(0x1111111111111111), tops = ones << 3;
    bool sound = true;
    size_t i = 0;
    for (; i + 8 <= length; i += 8) {
        const uint64_t v = get_u64(src + i) ^ tops; /* a nibble of 8 becomes 0 */
        sound &= ((v - ones) & ~v & tops) == 0;
    }
    for (; i < length; i++) sound &= (src[i] & 15) != 8 && src[i] >> 4 != 8;
    return sound;
}

tithe_status ti_levels_check(const tithe_quant_call *c, const uint8_t *src, size_t length, uint64_t *bits)
{
    const size_t norms = bucket_count(c) * norm_bytes(c);
    /* No code is shorter than a bit, so a count that the bytes cannot hold is found before any loop runs. */
    if (length < norms || (uint64_t)c->count > (uint64_t)(length - norms) * 8) return TITHE_E_CORRUPT;
    bool sound = true;
    for (size_t b = 0; b < bucket_count(c); b++) {
        const float norm = get_norm(c, src, b);
        sound &= norm <= LARGEST_NORM && !signbit(norm);
    }
    const unsigned s = levels_of(c);
    if (!is_elias(c) && s == 7) { /* every code but the negative zero is a code: look at sixteen at a time */
        *bits = ti_levels_max_bits(c);
        return sound && bytes_of_bits(*bits) == length && padding_is_zero(src, *bits) &&
                       nibbles_are_sound(src + norms, length - norms)
                   ? TITHE_OK
                   : TITHE_E_CORRUPT;
    }
    bit_reader r = bit_reader_at(src + norms, length - norms, 0);
    for (size_t i = 0; i < c->count && !r.overrun && sound; i++) {
        bool negative;
        const unsigned level = get_level(c, &r, &negative);
        sound = level <= s && !(negative && level == 0);
    }
    if (!sound || r.overrun || !bits_padding_is_zero(&r)) return TITHE_E_CORRUPT;
    *bits = (uint64_t)norms * 8 + r.position;
    return bytes_of_bits(*bits) == length ? TITHE_OK : TITHE_E_CORRUPT;
}

void ti_levels_decode(const level_grid *grid, const tithe_quant_call *c, const uint8_t *src, size_t length,
                      const tithe_sink *out)
{
    const unsigned s = levels_of(c);
    const size_t bucket = bucket_of(c), norms = bucket_count(c) * norm_bytes(c);
    bit_reader r = bit_reader_at(src + norms, length - norms, 0);
    /* Four bits, straight into a dense vector: a table of sixteen values does it. */
    const bool nibbles = !is_elias(c) && code_width(s) == 4 && !out->at && out->y;
    for (size_t b = 0; b < bucket_count(c); b++) {
        const size_t begin = b * bucket, end = c->count - begin < bucket ? c->count : begin + bucket;
        const float norm = get_norm(c, src, b);
        if (nibbles && begin % 2 == 0 && (end - begin) % 2 == 0) {
            float table[16] = {0};
            for (unsigned level = 0; level <= s; level++) {
                table[level] = (float)out->scale * grid->value(level, s, norm);
                table[8 + level] = (float)out->scale * -grid->value(level, s, norm);
            }
            ti_kernels()->nibbles_add(src + norms + begin / 2, end - begin, table, (float *)out->y + begin);
            r.position += 4 * (uint64_t)(end - begin);
            continue;
        }
        for (size_t first = begin; first < end; first += TITHE_BLOCK) {
            const size_t many = block_length(first, end);
            float block[TITHE_BLOCK];
            for (size_t i = 0; i < many; i++) {
                bool negative;
                const float value = grid->value(get_level(c, &r, &negative), s, norm);
                block[i] = negative ? -value : value;
            }
            tithe_sink_add(out, first, block, many);
        }
    }
}

void ti_levels_claims(const level_grid *grid, const tithe_quant_call *c, tithe_claims *claims)
{
    /* |x|_p <= d^(1/r - 1/2) |x|_2 with r = min(p, 2); reach is that factor times sqrt(d). */
    const double d = c->count ? (double)bucket_of(c) : 1;
    const double reach = c->params[LEVEL_P] == LEVEL_P_1 ? d : sqrt(d);
    double second = 1 + grid->variance(c->params[LEVEL_S], reach);
    if (norm_bytes(c) == 1) second *= 9.0 / 8;
    claims->traits = c->contractive ? 0 : TITHE_UNBIASED;
    claims->omega = c->contractive ? 0 : second - 1;
    claims->delta = c->contractive ? 1 / second : 2 - second;
    claims->smallest = norm_bytes(c) == 1 ? 0x1p-126 : 0;
    claims->largest = 0x1p127 / reach;
}
