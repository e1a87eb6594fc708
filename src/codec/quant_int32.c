/* quant_int32.c - whole numbers of 32 bits, scaled by a power of two for each block: what a switch can add without loss.
 *
 * payload: one byte for each block, f: all its magnitudes are below 2^(f - 126); 0: all are zero, 255 is corrupt
 *          count numbers of 32 bits, two's complement, from -2^30 to 2^30: the value is number * 2^(f - 156)
 *
 * What is not a multiple of 2^(f - 156) goes to one of its neighbours at random, unbiased. A float has 24 bits, so that happens
 * only to values below 2^-6 of the block's largest one, and what comes out is a float again: decoding rounds nothing.
 * The error of a value is at most 2^(f - 156) / 2 on average, hence omega <= block * 2^-60; 2^-40 is promised. Key: sapio2021. */
#include "codec/int32.h"
#include "codec/integers.h"

enum { BLOCK_PLACE = 0, INT32_BITS = 30 };

static const tithe_param int32_params[] = {{.name = "block",
                                            .doc = "values that share an exponent; 0 for all of them",
                                            .fallback = 256,
                                            .min = 0,
                                            .max = 16383,
                                            .whole = true,
                                            .wire = TITHE_WIRE_NUMBER},
                                           {0}};

size_t ti_int32_block(const tithe_quant_call *c)
{
    const size_t block = (size_t)c->params[BLOCK_PLACE];
    return block && block < c->count ? block : c->count;
}

size_t ti_int32_blocks(const tithe_quant_call *c)
{
    return c->count ? (c->count - 1) / ti_int32_block(c) + 1 : 0;
}

static size_t block_of(const double *params)
{
    return (size_t)params[BLOCK_PLACE];
}

static uint64_t int32_max_bits(const tithe_quant_call *c)
{
    return 8 * (uint64_t)ti_int32_blocks(c) + 32 * (uint64_t)c->count;
}

static double int32_paper_bits(const tithe_quant_call *c)
{
    return 8 * (double)ti_int32_blocks(c) + 32 * (double)c->count;
}

uint8_t ti_int32_field(const float *x, size_t count)
{
    const uint32_t bits = f32_bits(ti_kernels()->max_abs(x, count));
    const uint32_t field = bits >> 23;
    return (uint8_t)(field || !bits ? field : 1); /* below the normal numbers, as the first of them */
}

static tithe_status int32_encode(const tithe_quant_call *c, const void *values, uint8_t *dst, uint64_t *bits,
                                 const tithe_sink *sent, tithe_error *error)
{
    (void)error;
    const float *x = values;
    const size_t block = ti_int32_block(c), blocks = ti_int32_blocks(c);
    uint8_t *numbers = dst + blocks;
    uint32_t random[TITHE_BLOCK];
    float out[TITHE_BLOCK];
    for (size_t b = 0; b < blocks; b++) {
        const size_t begin = b * block;
        dst[b] = ti_int32_field(x + begin, c->count - begin < block ? c->count - begin : block);
    }
    for (size_t first = 0, end; first < c->count; first = end) {
        const size_t at = first % TITHE_BLOCK;
        const uint8_t field = dst[first / block];
        end = int32_stretch(first, block, c->count);
        if (at == 0) tithe_random_block(c->key, first / TITHE_BLOCK, random);
        for (size_t i = 0; i < end - first; i++) {
            const int32_t number =
                int32_round(x[first + i], field, INT32_BITS, random[at + i], c->key, first + i);
            put_u32(numbers + 4 * (first + i), (uint32_t)number);
            out[i] = (float)int32_value(number, field, INT32_BITS);
        }
        tithe_sink_add(sent, first, out, end - first);
    }
    *bits = int32_max_bits(c);
    return TITHE_OK;
}

/* Beyond the largest float there is nothing to decode to. */
static uint32_t int32_most(uint8_t field)
{
    return (UINT32_C(1) << INT32_BITS) - (field == 254 ? 64 : 0);
}

static tithe_status int32_check(const tithe_quant_call *c, const uint8_t *src, size_t length, uint64_t *bits)
{
    const size_t block = ti_int32_block(c), blocks = ti_int32_blocks(c);
    *bits = int32_max_bits(c);
    if (length != blocks + 4 * c->count) return TITHE_E_CORRUPT;
    bool sound = true;
    for (size_t b = 0; b < blocks; b++) {
        const size_t begin = b * block, end = c->count - begin < block ? c->count : begin + block;
        const uint32_t most = src[b] ? int32_most(src[b]) : 0;
        uint32_t wrong = src[b] == 255;
        for (size_t i = begin; i < end; i++) wrong |= get_u32(src + blocks + 4 * i) + most > 2 * most;
        sound &= !wrong;
    }
    return sound ? TITHE_OK : TITHE_E_CORRUPT;
}

static void int32_decode(const tithe_quant_call *c, const uint8_t *src, size_t length, const tithe_sink *out)
{
    (void)length;
    const size_t block = ti_int32_block(c), blocks = ti_int32_blocks(c);
    float value[TITHE_BLOCK];
    for (size_t first = 0, end; first < c->count; first = end) {
        const uint8_t field = src[first / block];
        const uint8_t *numbers = src + blocks + 4 * first;
        end = int32_stretch(first, block, c->count);
        for (size_t i = 0; i < end - first; i++)
            value[i] = (float)int32_value((int32_t)get_u32(numbers + 4 * i), field, INT32_BITS);
        tithe_sink_add(out, first, value, end - first);
    }
}

static void int32_claims(const tithe_quant_call *c, tithe_claims *claims)
{
    (void)c;
    claims->traits = TITHE_UNBIASED;
    claims->omega = 0x1p-40;
    claims->delta = 1 - 0x1p-40;
    claims->smallest = 0;
    claims->largest = 0x1.fffffep127;
}

const tithe_quantizer ti_quant_int32 = {
    .name = "int32",
    .summary = "32 bits: whole numbers, and an exponent for each block",
    .paper = "sapio2021",
    .params = int32_params,
    .id = 7,
    .common = TITHE_COMMON_NORM,
    .bucket = block_of,
    .max_bits = int32_max_bits,
    .paper_bits = int32_paper_bits,
    .encode = int32_encode,
    .check = int32_check,
    .decode = int32_decode,
    .claims = int32_claims,
    .integers = &ti_integers_int32,
};
