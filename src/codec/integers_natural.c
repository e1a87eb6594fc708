/* integers_natural.c - natural compression for a switch: sign and exponent in a byte, in units of a power of two that ranks share
 * in blocks of 256 values.
 *
 * With F the largest exponent field of the block on any rank and W = 31 - ceil(log2 N), exponent e of the byte stands for the
 * field F - W + e. So the W largest exponents can be written. What is smaller goes to zero or to the smallest of them at
 * random, such that the mean stays: of the sum of all ranks, W bits below its largest term, that is the last one. */
#include "codec/integers.h"
#include "codec/quant.h"
#include "kernels/kernels.h"

enum { BLOCK = 256, LARGEST_FIELD = 254, NATURAL_BITS_EIGHT = 1 };

static const char *refuse(const double *params)
{
    return params[0] == NATURAL_BITS_EIGHT
               ? "A switch has exponents of its own for `natural`: leave bits=8 out."
               : NULL;
}

static unsigned rounds(const integers_call *c)
{
    (void)c;
    return 1;
}

static size_t scales(const integers_call *c)
{
    return (c->quant.count + BLOCK - 1) / BLOCK;
}

static size_t block_end(size_t first, size_t end)
{
    return end - first < BLOCK ? end : first + BLOCK;
}

/* The largest exponent field that rounding may give. */
static tithe_status propose(const integers_call *c, unsigned round, const float *x, uint32_t *numbers,
                            tithe_error *error)
{
    (void)round;
    (void)error;
    for (size_t first = 0; first < c->quant.count; first += BLOCK) {
        const size_t many = block_end(first, c->quant.count) - first;
        const uint32_t field = (f32_bits(ti_kernels()->max_abs(x + first, many)) + 0x7fffffu) >> 23;
        numbers[first / BLOCK] = field < LARGEST_FIELD ? field : LARGEST_FIELD;
    }
    return TITHE_OK;
}

static agg_reduction shape(const integers_call *c)
{
    return (agg_reduction){.operation = OPERATION_NATURAL,
                           .up = 8,
                           .down = 8,
                           .most = integers_window(c->ranks),
                           .n = c->quant.count};
}

static float contraction(const integers_call *c)
{
    return c->quant.contractive ? (float)(8.0 / 9) : 1.0f;
}

static float power(uint32_t field, bool negative)
{
    return f32_from_bits((uint32_t)negative << 31 | field << 23);
}

/* A field too small to be written: with the chance 2^-(missing) it becomes the smallest that can. */
static bool goes_up(tithe_key key, uint64_t position, unsigned missing)
{
    return missing < 64 && rng_at(key, position) << (64 - missing) == 0;
}

static double encode(const integers_call *c, float *x, uint8_t *codes)
{
    const int window = (int)integers_window(c->ranks);
    const tithe_key coins = ti_rng_derive(c->quant.key, RNG_WINDOW);
    const float factor = contraction(c);
    double energy = 0;
    for (size_t first = 0; first < c->quant.count; first += NATURAL_SPAN) {
        uint8_t fields[NATURAL_SPAN], signs[NATURAL_SPAN / 8];
        const size_t many = c->quant.count - first < NATURAL_SPAN ? c->quant.count - first : NATURAL_SPAN;
        const natural_job job = {.source = {x + first, NULL, 0},
                                 .n = many,
                                 .key = c->quant.key,
                                 .position = first,
                                 .fields = fields,
                                 .signs = signs,
                                 .subtract = true,
                                 .factor = factor};
        ti_kernels()->natural_encode(&job);
        for (size_t i = 0; i < many; i++) {
            const uint32_t sign = signs[i / 8] >> i % 8 & 1;
            const int below = (int)c->scales[(first + i) / BLOCK] - window; /* the first that is too small */
            int code = fields[i] ? fields[i] - below : 0;
            if (fields[i] && code < 1) {
                code = goes_up(coins, first + i, (unsigned)(1 - code));
                const float meant = power(fields[i], sign),
                            sent = code ? power((uint32_t)(below + 1), sign) : 0;
                x[first + i] += factor * (meant - sent);
            }
            codes[first + i] = (uint8_t)(code ? (unsigned)code | sign << 7 : 0);
            if (c->measure && code) {
                const double value = (double)(factor * power((uint32_t)(below + code), false));
                energy += value * value;
            }
        }
    }
    return energy;
}

/* The arithmetic is that of decoding a frame: weight * (factor * value). */
static void decode(const integers_call *c, const uint8_t *sums, float weight, float *y)
{
    const int window = (int)integers_window(c->ranks);
    const float factor = contraction(c);
    for (size_t first = 0; first < c->quant.count; first += BLOCK) {
        const int below = (int)c->scales[first / BLOCK] - window;
        float value[256] = {0};
        for (int code = 1; code <= 31; code++) {
            const int field = below + code < LARGEST_FIELD ? below + code : LARGEST_FIELD;
            value[code] = weight * (ldexpf(1, field - 127) * factor);
            value[128 + code] = -value[code];
        }
        const size_t end = block_end(first, c->quant.count);
        for (size_t i = first; i < end; i++) y[i] = value[sums[i]];
    }
}

const struct quant_integers ti_integers_natural = {
    .rounds_sums = true,
    .refuse = refuse,
    .rounds = rounds,
    .scales = scales,
    .scale_bits = 8,
    .propose = propose,
    .shape = shape,
    .encode = encode,
    .decode = decode,
};
