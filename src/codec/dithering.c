/* dithering.c - see dithering.h.
 *
 * payload: one norm for every bucket: f32 (0 to 2^127), or one byte: the exponent field of a float, which
 *          is natural compression of a number that has no sign (255 never occurs)
 *          then count codes: `fixed`, 1 + ceil(log2(s+1)) bits: level + sign * 2^(bits-1);
 *          or `elias`: gamma(level + 1), and a sign bit if the level is not zero; padded with zeros
 *
 * scale=contractive multiplies the norm by |x|^2 / E|C(x)|^2 of its bucket, which the encoder knows
 * exactly. */
#include "codec/dithering.h"

bool ti_levels_fixed_size(const double *params)
{
    return params[LEVEL_CODE] == 0;
}

size_t ti_levels_bucket_of(const double *params)
{
    return (size_t)params[LEVEL_BUCKET];
}

double ti_levels_norm(const tithe_quant_call *c, const float *x, size_t count)
{
    switch ((int)c->params[LEVEL_P]) {
    case LEVEL_P_1: return ti_norm1(TITHE_F32, x, count);
    case LEVEL_P_2: return ti_norm2(TITHE_F32, x, count);
    default: return ti_norm_max(TITHE_F32, x, count);
    }
}

uint64_t ti_levels_max_bits(const tithe_quant_call *c)
{
    const unsigned s = levels_of(c),
                   width = levels_are_elias(c) ? 2 * log2_floor(s + 1) + 2 : level_code_width(s);
    return (uint64_t)levels_bucket_count(c) * levels_norm_bytes(c) * 8 + (uint64_t)c->count * width;
}

double ti_levels_paper_bits(const tithe_quant_call *c, double norm, double each)
{
    return (double)levels_bucket_count(c) * norm + (double)c->count * (each + log2(c->params[LEVEL_S]));
}

static float get_norm(const tithe_quant_call *c, const uint8_t *src, size_t bucket)
{
    return levels_norm_bytes(c) == 4 ? get_f32(src + 4 * bucket) : f32_from_bits((uint32_t)src[bucket] << 23);
}

/* ---- decode ------------------------------------------------------------------------------------------- */

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

/* A table to read Elias codes by, where there are enough to pay for it. */
static const elias_table *table_for(const tithe_quant_call *c, elias_table *table)
{
    if (!levels_are_elias(c) || c->count < ELIAS_WORTH) return NULL;
    ti_elias_table(table, levels_of(c));
    return table;
}

static bool codes_are_sound(const tithe_quant_call *c, bit_reader *r)
{
    const unsigned s = levels_of(c);
    const bool elias = levels_are_elias(c);
    if (s > FEW_LEVELS) {
        bool negative;
        for (size_t i = 0; i < c->count; i++) {
            const unsigned level = get_level(r, elias, s, &negative);
            if (r->overrun || level > s || (negative && level == 0)) return false;
        }
        return true;
    }
    if (elias) {
        elias_table room;
        return ti_elias_codes_pass(r, s, table_for(c, &room), c->count);
    }
    uint8_t room[TITHE_BLOCK + CODES_SPARE];
    for (size_t first = 0; first < c->count; first += TITHE_BLOCK) {
        const size_t many = block_length(first, c->count);
        const uint8_t *codes = ti_level_codes_view(r, false, s, NULL, many, room);
        if (!codes || !ti_level_codes_sound(codes, many, s)) return false;
    }
    return true;
}

tithe_status ti_levels_check(const tithe_quant_call *c, const uint8_t *src, size_t length, uint64_t *bits)
{
    const size_t norms = levels_bucket_count(c) * levels_norm_bytes(c);
    /* No code is shorter than a bit, so a count that the bytes cannot hold is found before any loop runs. */
    if (length < norms || (uint64_t)c->count > (uint64_t)(length - norms) * 8) return TITHE_E_CORRUPT;
    bool sound = true;
    for (size_t b = 0; b < levels_bucket_count(c); b++) {
        const float norm = get_norm(c, src, b);
        sound &= norm <= LARGEST_NORM && !signbit(norm);
    }
    const unsigned s = levels_of(c);
    if (!levels_are_elias(c) &&
        s == 7) { /* every code but the negative zero is a code: look at sixteen at a time */
        *bits = ti_levels_max_bits(c);
        return sound && bytes_of_bits(*bits) == length && padding_is_zero(src, *bits) &&
                       nibbles_are_sound(src + norms, length - norms)
                   ? TITHE_OK
                   : TITHE_E_CORRUPT;
    }
    bit_reader r = bit_reader_at(src + norms, length - norms, 0);
    if (!sound || !codes_are_sound(c, &r) || !bits_padding_is_zero(&r)) return TITHE_E_CORRUPT;
    *bits = (uint64_t)norms * 8 + r.position;
    return bytes_of_bits(*bits) == length ? TITHE_OK : TITHE_E_CORRUPT;
}

typedef struct decode_work {
    const level_grid *grid;
    const tithe_quant_call *c;
    const uint8_t *src;
    size_t length;
    const tithe_sink *out;
    unsigned parts;
} decode_work;

/* Four bits, straight into a dense vector: a table of sixteen values does it. */
static bool decodes_nibbles(const decode_work *work)
{
    const tithe_quant_call *c = work->c;
    return !levels_are_elias(c) && level_code_width(levels_of(c)) == 4 && !work->out->at &&
           levels_bucket(c) % 2 == 0 && c->count % 2 == 0;
}

static void decode_nibbles(const decode_work *work, size_t first, size_t end)
{
    const tithe_quant_call *c = work->c;
    const uint8_t *codes = work->src + levels_bucket_count(c) * levels_norm_bytes(c);
    for (size_t b = first; b < end; b++) {
        const size_t begin = b * levels_bucket(c), many = levels_bucket_end(c, b) - begin;
        float values[16];
        level_nibble_table(work->grid, levels_of(c), get_norm(c, work->src, b), (float)work->out->scale,
                           values);
        ti_kernels()->nibbles_add(codes + begin / 2, many, values, (float *)work->out->y + begin);
    }
}

/* Codes of values [first, stop), whatever buckets they are of. */
static void add_codes(const decode_work *work, const uint8_t *codes, size_t first, size_t stop)
{
    const tithe_quant_call *c = work->c;
    for (size_t at = first, next; at < stop; at = next) {
        const size_t b = at / levels_bucket(c), end = levels_bucket_end(c, b);
        next = end < stop ? end : stop;
        level_codes_add(work->grid, levels_of(c), get_norm(c, work->src, b), codes + (at - first), at,
                        next - at, work->out);
    }
}

/* Long rows of Elias codes, from several places side by side. */
static bool decode_chains(const decode_work *work, bit_reader *start, const elias_table *table)
{
    enum { LENGTH = 2048 }; /* so that all of it stays in the first-level cache */
    const unsigned s = levels_of(work->c);
    const size_t count = work->c->count;
    elias_point points[ELIAS_CHAINS];
    size_t passed;
    bit_reader r[ELIAS_CHAINS], ahead = *start;
    if (!table || count < ELIAS_SPLIT || !ti_elias_split(&ahead, s, table, count, points, &passed))
        return false;
    uint8_t room[ELIAS_CHAINS][LENGTH + CODES_SPARE], *const codes[] = {room[0], room[1], room[2], room[3]};
    size_t stop[ELIAS_CHAINS];
    for (unsigned k = 0; k < ELIAS_CHAINS; k++) {
        r[k] = *start;
        r[k].position = points[k].position;
        stop[k] = k + 1 < ELIAS_CHAINS ? points[k + 1].index : count;
    }
    for (bool more = true; more;) {
        size_t wanted[ELIAS_CHAINS], got[ELIAS_CHAINS];
        for (unsigned k = 0; k < ELIAS_CHAINS; k++) {
            const size_t left = stop[k] - points[k].index;
            wanted[k] = got[k] = left < LENGTH ? left : LENGTH;
        }
        ti_kernels()->elias_chains(table, r, got, codes);
        more = false;
        for (unsigned k = 0; k < ELIAS_CHAINS; k++) {
            ti_level_codes_read(&r[k], true, s, table, wanted[k] - got[k], codes[k] + got[k]);
            add_codes(work, codes[k], points[k].index, points[k].index + wanted[k]);
            points[k].index += wanted[k];
            more |= wanted[k] > 0;
        }
    }
    return true;
}

/* Up to 127 levels. */
static void decode_few(const decode_work *work, size_t begin, size_t end, bit_reader *r)
{
    const tithe_quant_call *c = work->c;
    elias_table table_room;
    const elias_table *table = table_for(c, &table_room);
    if (decode_chains(work, r, table)) return;
    uint8_t room[TITHE_BLOCK + CODES_SPARE];
    for (size_t first = begin; first < end; first += TITHE_BLOCK) {
        const size_t many = block_length(first, end);
        const uint8_t *codes = ti_level_codes_view(r, levels_are_elias(c), levels_of(c), table, many,
                                                   room); /* check() has seen that it can */
        add_codes(work, codes, first, first + many);
    }
}

static void decode_many(const decode_work *work, size_t begin, size_t end, bit_reader *r)
{
    const tithe_quant_call *c = work->c;
    const unsigned s = levels_of(c);
    const bool elias = levels_are_elias(c);
    const size_t bucket = levels_bucket(c);
    for (size_t first = begin, many; first < end; first += many) {
        const size_t left = bucket - first % bucket; /* a block, of one bucket */
        many = block_length(first, left < end - first ? first + left : end);
        const float norm = get_norm(c, work->src, first / bucket);
        float block[TITHE_BLOCK];
        for (size_t i = 0; i < many; i++) {
            bool negative;
            const float magnitude = work->grid->value(get_level(r, elias, s, &negative), s, norm);
            block[i] = negative ? -magnitude : magnitude;
        }
        tithe_sink_add(work->out, first, block, many);
    }
}

static void decode_part(void *context, unsigned part)
{
    const decode_work *work = context;
    const tithe_quant_call *c = work->c;
    const size_t buckets = levels_bucket_count(c), norms = buckets * levels_norm_bytes(c);
    const size_t first = pool_begin(buckets, LEVEL_UNIT, work->parts, part);
    const size_t last = pool_begin(buckets, LEVEL_UNIT, work->parts, part + 1);
    if (first == last) return;
    if (decodes_nibbles(work)) {
        decode_nibbles(work, first, last);
        return;
    }
    const size_t begin = first * levels_bucket(c), end = levels_bucket_end(c, last - 1);
    const uint64_t before = part ? (uint64_t)begin * level_code_width(levels_of(c)) : 0;
    bit_reader r = bit_reader_at(work->src + norms, work->length - norms, before);
    if (levels_of(c) <= FEW_LEVELS)
        decode_few(work, begin, end, &r);
    else
        decode_many(work, begin, end, &r);
}

void ti_levels_decode(const level_grid *grid, const tithe_quant_call *c, const uint8_t *src, size_t length,
                      const tithe_sink *out)
{
    if (!out->y) return;
    decode_work work = {grid, c, src, length, out, levels_parts(c)};
    ti_pool_run(c->pool, work.parts, decode_part, &work);
}

void ti_levels_claims(const level_grid *grid, const tithe_quant_call *c, tithe_claims *claims)
{
    /* |x|_p <= d^(1/r - 1/2) |x|_2 with r = min(p, 2); reach is that factor times sqrt(d). */
    const double d = c->count ? (double)levels_bucket(c) : 1;
    const double reach = c->params[LEVEL_P] == LEVEL_P_1 ? d : sqrt(d);
    double second = 1 + grid->variance(c->params[LEVEL_S], reach);
    if (levels_norm_bytes(c) == 1) second *= 9.0 / 8;
    claims->traits = c->contractive ? 0 : TITHE_UNBIASED;
    claims->omega = c->contractive ? 0 : second - 1;
    claims->delta = c->contractive ? 1 / second : 2 - second;
    claims->smallest = 0x1p-100; /* the norm is a float, and has to be a normal one */
    claims->largest = (double)LARGEST_NORM / (c->params[LEVEL_P] == LEVEL_P_INF ? 1 : reach);
}
