/* quant_natural.c - natural compression: sign and exponent. |t| = u 2^k with u in [1,2) goes to 2^k with
 * probability 2-u and to 2^(k+1) with probability u-1, which is exactly unbiased and has omega = 1/8.
 *
 * payload, 9 bits (f32):  count bytes: exponent field, 0 for zero, never 255
 *                         count bits: signs, 1 for negative; padded with zeros
 *          8 bits (f32):  count bytes: sign * 128 + code; code 0 is zero, code c is 2^(c - 109)
 *         12 bits (f64):  count numbers of 12 bits: exponent field + 2048 * sign; padded with zeros
 *
 * The 8-bit form reaches from 2^-108 to 2^18: what is smaller becomes zero, what is larger 2^18. A number
 * above 2^127 (2^1023) has no upper neighbour and goes to the lower one. Denormals round to zero or to the
 * smallest normal number: unbiased, but with a larger variance. scale=contractive multiplies by 8/9 in the
 * decoder. Key: horvath2022natural. */
#include "codec/integers.h"
#include "codec/quant.h"
#include "kernels/define.h"
#include "kernels/parallel.h"

enum { BITS = 0 };
enum { BITS_AUTO, BITS_8, BITS_9, BITS_12 };

static const tithe_param natural_params[] = {
    {.name = "bits",
     .doc = "auto is 9 for f32 and 12 for f64; 8 reaches from 2^-108 to 2^18",
     .fallback = BITS_AUTO,
     .max = 3,
     .choices = "auto|8|9|12",
     .wire = 2},
    QUANT_TYPE,
    QUANT_SCALE,
    {0}};

#define CODE_SHIFT 18 /* exponent field minus code, in the 8-bit form */

static const char *natural_refuse(const double *params, tithe_type type)
{
    const int bits = (int)params[BITS];
    if (type == TITHE_F64 && (bits == BITS_8 || bits == BITS_9)) return "natural writes doubles in 12 bits";
    if (type == TITHE_F32 && bits == BITS_12) return "12 bits are for doubles: floats take 9 (or 8)";
    return NULL;
}

static bool natural_fuses(const double *params)
{
    return params[BITS] != BITS_8;
}

static unsigned natural_width(const tithe_quant_call *c)
{
    if (c->type == TITHE_F64) return 12;
    return c->params[BITS] == BITS_8 ? 8 : 9;
}

static uint64_t natural_max_bits(const tithe_quant_call *c)
{
    return (uint64_t)c->count * natural_width(c);
}

/* Whatever `bits` says: the paper has but this one. */
static double natural_paper_bits(const tithe_quant_call *c)
{
    return (c->type == TITHE_F64 ? 12 : 9) * (double)c->count;
}

static inline uint32_t round_f64(uint64_t bits, uint32_t random16, tithe_key key, uint64_t position)
{
    const uint64_t magnitude = bits & UINT64_C(0x7fffffffffffffff),
                   mantissa = magnitude & UINT64_C(0xfffffffffffff);
    const uint64_t top = mantissa >> 36;
    bool up = random16 < top;
    if (random16 == top) up = rng_at(key, position) >> 28 < (mantissa & UINT64_C(0xfffffffff));
    const uint32_t field = (uint32_t)(magnitude >> 52) + up;
    return field < 2047 ? field : 2046;
}

static inline uint32_t code8(uint32_t field)
{
    if (field <= CODE_SHIFT) return 0;
    return field - CODE_SHIFT < 127 ? field - CODE_SHIFT : 127;
}

static float contraction(const tithe_quant_call *c)
{
    return c->contractive ? (float)(8.0 / 9) : 1.0f;
}

static void decode_f32(const tithe_quant_call *c, const uint8_t *src, const tithe_sink *out)
{
    const bool bytes_only = natural_width(c) == 8;
    const float factor = contraction(c);
    const uint8_t *signs = src + c->count;
    if (!out->y) return;
    if (!bytes_only && !out->at) {
        ti_parallel_natural_decode_add(c->pool, src, signs, c->count, factor, (float)out->scale, out->y);
        return;
    }
    for (size_t first = 0; first < c->count; first += TITHE_BLOCK) {
        const size_t length = block_length(first, c->count);
        float block[TITHE_BLOCK];
        for (size_t i = 0; i < length; i++) {
            const size_t at = first + i;
            uint32_t field = src[at], sign;
            if (bytes_only) {
                sign = field >> 7;
                field = field & 127 ? (field & 127) + CODE_SHIFT : 0;
            } else {
                sign = signs[at / 8] >> at % 8 & 1;
            }
            block[i] = f32_from_bits(sign << 31 | field << 23) * factor;
        }
        tithe_sink_add(out, first, block, length);
    }
}

/* Nine bits: the kernel does it all, the subtraction too where the values lie in the vector that keeps the
 * rest. */
static bool encode_nine(const tithe_quant_call *c, const float *values, uint8_t *dst, const tithe_sink *sent)
{
    const bool in_place = sent->y == values && !sent->at && sent->scale == -1;
    const natural_job job = {
        .source = {(float *)values, c->gradient, c->gamma},
        .n = c->count,
        .key = c->key,
        .fields = dst,
        .signs = dst + c->count,
        .subtract = in_place,
        .factor = contraction(c),
    };
    const bool finite = ti_parallel_natural_encode(c->pool, &job, c->checksum);
    if (!in_place) decode_f32(c, dst, sent);
    return finite;
}

/* Eight bits: the same, a span at a time, with the two planes folded into one. */
static bool encode_eight(const tithe_quant_call *c, const float *values, uint8_t *dst, const tithe_sink *sent)
{
    bool finite = true;
    for (size_t first = 0; first < c->count; first += NATURAL_SPAN) {
        uint8_t fields[NATURAL_SPAN], signs[NATURAL_SPAN / 8];
        const size_t many = c->count - first < NATURAL_SPAN ? c->count - first : NATURAL_SPAN;
        const natural_job job = {
            .source = {(float *)values + first, NULL, 0},
            .n = many,
            .key = c->key,
            .position = first,
            .fields = fields,
            .signs = signs,
            .factor = 1,
        };
        finite &= ti_kernels()->natural_encode(&job);
        for (size_t i = 0; i < many; i++)
            dst[first + i] = (uint8_t)(code8(fields[i]) | (signs[i / 8] >> i % 8 & 1u) << 7);
    }
    decode_f32(c, dst, sent);
    return finite;
}

static void encode_f64(const tithe_quant_call *c, const double *values, uint8_t *dst, const tithe_sink *sent)
{
    const double factor = c->contractive ? 8.0 / 9 : 1;
    bit_writer w = bit_writer_at(dst);
    uint32_t random[TITHE_BLOCK];
    for (size_t first = 0; first < c->count; first += TITHE_BLOCK) {
        const size_t length = block_length(first, c->count), pair = first / TITHE_BLOCK;
        if (pair % 2 == 0) tithe_random_block(c->key, pair / 2, random);
        const uint32_t *mine = random + pair % 2 * (TITHE_BLOCK / 2);
        double block[TITHE_BLOCK];
        for (size_t i = 0; i < length; i++) {
            const uint64_t bits = f64_bits(values[first + i]);
            const uint64_t field = round_f64(bits, define_half(mine, i), c->key, first + i);
            bits_put(&w, (uint32_t)(field | bits >> 63 << 11), 12);
            block[i] = f64_from_bits(bits >> 63 << 63 | field << 52) * factor;
        }
        tithe_sink_add(sent, first, block, length);
    }
    bits_finish(&w);
}

static tithe_status natural_encode(const tithe_quant_call *c, const void *values, uint8_t *dst,
                                   uint64_t *bits, const tithe_sink *sent, tithe_error *error)
{
    (void)error;
    bool finite = true;
    if (natural_width(c) == 9)
        finite = encode_nine(c, values, dst, sent);
    else if (natural_width(c) == 8)
        finite = encode_eight(c, values, dst, sent);
    else
        encode_f64(c, values, dst, sent);
    *bits = natural_max_bits(c);
    return finite ? TITHE_OK : TITHE_E_NONFINITE;
}

static tithe_status natural_check(const tithe_quant_call *c, const uint8_t *src, size_t length,
                                  uint64_t *bits)
{
    *bits = natural_max_bits(c);
    if (natural_refuse(c->params, c->type)) return TITHE_E_CORRUPT;
    if (length != bytes_of_bits(*bits) || !padding_is_zero(src, *bits)) return TITHE_E_CORRUPT;
    bool sound = true;
    if (natural_width(c) == 9) {
        for (size_t first = 0; first < c->count; first += TITHE_BLOCK) { /* bytes among bytes vectorise */
            const size_t end = first + block_length(first, c->count);
            uint8_t found = 0;
            for (size_t i = first; i < end; i++) found |= (uint8_t)(src[i] == 255);
            sound &= !found;
        }
    } else if (natural_width(c) == 12) {
        bit_reader r = bit_reader_at(src, length, 0);
        for (size_t i = 0; i < c->count; i++) sound &= (bits_get(&r, 12) & 2047) != 2047;
    }
    return sound ? TITHE_OK : TITHE_E_CORRUPT;
}

static void natural_decode(const tithe_quant_call *c, const uint8_t *src, size_t length,
                           const tithe_sink *out)
{
    (void)length;
    if (c->type == TITHE_F32) {
        decode_f32(c, src, out);
        return;
    }
    bit_reader r = bit_reader_at(src, bytes_of_bits(natural_max_bits(c)), 0);
    for (size_t first = 0; first < c->count; first += TITHE_BLOCK) {
        const size_t many = block_length(first, c->count);
        double block[TITHE_BLOCK];
        for (size_t i = 0; i < many; i++) {
            const uint64_t code = bits_get(&r, 12);
            block[i] = f64_from_bits(code >> 11 << 63 | (code & 2047) << 52) * (c->contractive ? 8.0 / 9 : 1);
        }
        tithe_sink_add(out, first, block, many);
    }
}

static void natural_claims(const tithe_quant_call *c, tithe_claims *claims)
{
    claims->traits = c->contractive ? 0 : TITHE_UNBIASED;
    claims->omega = c->contractive ? 0 : 1.0 / 8;
    claims->delta = c->contractive ? 8.0 / 9 : 7.0 / 8;
    claims->smallest = c->type == TITHE_F64 ? 0x1p-1022 : natural_width(c) == 8 ? 0x1p-108 : 0x1p-126;
    claims->largest = c->type == TITHE_F64 ? 0x1p1023 : natural_width(c) == 8 ? 0x1p18 : 0x1p127;
}

const tithe_quantizer ti_quant_natural = {
    .name = "natural",
    .summary = "9 bits: sign and exponent, rounded at random",
    .paper = "horvath2022natural",
    .params = natural_params,
    .id = 3,
    .takes_f64 = true,
    .saturates = true,
    .refuse = natural_refuse,
    .fuses = natural_fuses,
    .max_bits = natural_max_bits,
    .paper_bits = natural_paper_bits,
    .encode = natural_encode,
    .check = natural_check,
    .decode = natural_decode,
    .claims = natural_claims,
    .integers = &ti_integers_natural,
};
