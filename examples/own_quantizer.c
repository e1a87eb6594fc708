/* own_quantizer.c - bring your own quantizer: the program that docs/add-a-quantizer.md walks through. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <tithe/check.h> /* in libtithe_measure */
#include <tithe/tithe.h>

/* ternary: minus, zero or plus the largest magnitude, unbiased.
 *
 * payload: f32 magnitude; count codes of 2 bits, lowest first: 0 zero, 1 plus, 2 minus; padded with zeros
 * E|C(x)|^2 = M |x|_1 <= sqrt(d) |x|^2, M the largest magnitude, so omega = sqrt(d) - 1 */

static const tithe_param ternary_params[] = {{0}};

static uint64_t ternary_max_bits(const tithe_quant_call *c)
{
    return c->count ? 32 + 2 * (uint64_t)c->count : 0;
}

static tithe_status ternary_encode(const tithe_quant_call *c, const void *values, uint8_t *dst,
                                   uint64_t *bits, const tithe_sink *sent, tithe_error *error)
{
    (void)error;
    *bits = ternary_max_bits(c);
    if (c->count == 0) return TITHE_OK;
    const float *x = values;
    float max = 0;
    for (size_t i = 0; i < c->count; i++) max = fmaxf(max, fabsf(x[i]));

    uint32_t word;
    memcpy(&word, &max, 4);
    for (int b = 0; b < 4; b++) dst[b] = (uint8_t)(word >> 8 * b);
    memset(dst + 4, 0, (c->count + 3) / 4);
    for (size_t first = 0; first < c->count; first += TITHE_BLOCK) {
        uint32_t random[TITHE_BLOCK];
        float block[TITHE_BLOCK];
        tithe_random_block(c->key, first / TITHE_BLOCK, random);
        size_t i = 0;
        for (; i < TITHE_BLOCK && first + i < c->count; i++) {
            const double p = max > 0 ? (double)fabsf(x[first + i]) / (double)max : 0;
            const bool go = tithe_random_below(p, random[i], c->key, first + i);
            const unsigned code = !go ? 0 : x[first + i] > 0 ? 1 : 2;
            dst[4 + (first + i) / 4] |= (uint8_t)(code << 2 * ((first + i) % 4));
            block[i] = !go ? 0 : x[first + i] > 0 ? max : -max;
        }
        tithe_sink_add(sent, first, block, i);
    }
    return TITHE_OK;
}

static float ternary_magnitude(const uint8_t *src)
{
    const uint32_t word = src[0] | (uint32_t)src[1] << 8 | (uint32_t)src[2] << 16 | (uint32_t)src[3] << 24;
    float magnitude;
    memcpy(&magnitude, &word, 4);
    return magnitude;
}

static tithe_status ternary_check(const tithe_quant_call *c, const uint8_t *src, size_t length,
                                  uint64_t *bits)
{
    *bits = ternary_max_bits(c);
    if (length != (c->count ? 4 + (c->count + 3) / 4 : 0)) return TITHE_E_CORRUPT;
    if (c->count == 0) return TITHE_OK;
    const float magnitude = ternary_magnitude(src);
    if (!isfinite(magnitude) || signbit(magnitude)) return TITHE_E_CORRUPT;
    for (size_t i = 0; i < 4 * (length - 4); i++) {
        const unsigned code = src[4 + i / 4] >> 2 * (i % 4) & 3;
        if (code == 3 || (i >= c->count && code)) return TITHE_E_CORRUPT;
    }
    return TITHE_OK;
}

static void ternary_decode(const tithe_quant_call *c, const uint8_t *src, size_t length,
                           const tithe_sink *out)
{
    (void)length;
    const float magnitude = c->count ? ternary_magnitude(src) : 0;
    for (size_t first = 0; first < c->count; first += TITHE_BLOCK) {
        float block[TITHE_BLOCK];
        size_t i = 0;
        for (; i < TITHE_BLOCK && first + i < c->count; i++) {
            const unsigned code = src[4 + (first + i) / 4] >> 2 * ((first + i) % 4) & 3;
            block[i] = code == 0 ? 0 : code == 1 ? magnitude : -magnitude;
        }
        tithe_sink_add(out, first, block, i);
    }
}

static void ternary_claims(const tithe_quant_call *c, tithe_claims *claims)
{
    claims->traits = TITHE_UNBIASED;
    claims->omega = c->count ? sqrt((double)c->count) - 1 : 0;
    claims->delta = 1 - claims->omega;
    claims->smallest = 0;
    claims->largest = 3e38;
}

static const tithe_quantizer ternary = {
    .name = "ternary",
    .summary = "minus, zero or plus the largest magnitude",
    .paper = "wen2017terngrad",
    .params = ternary_params,
    .id = TITHE_FIRST_PRIVATE_ID,
    .common = TITHE_COMMON_NORM,
    .max_bits = ternary_max_bits,
    .encode = ternary_encode,
    .check = ternary_check,
    .decode = ternary_decode,
    .claims = ternary_claims,
};

static bool print_row(void *all_hold, const tithe_check_row *row)
{
    printf("  %-28s measured %-12.6g bound %-12.6g %s\n", row->claim, row->measured, row->bound,
           row->holds ? "holds" : "DOES NOT HOLD");
    *(bool *)all_hold &= row->holds;
    return true;
}

int main(void)
{
    tithe_codec *codec;
    tithe_error error;
    bool all_hold = true;
    if (tithe_codec_make(tithe_selectors()[0], NULL, &ternary, NULL, NULL, &codec, &error)) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    printf("%s\n", tithe_codec_spec(codec));
    const tithe_status status = tithe_check_codec(codec, 1, print_row, &all_hold);
    tithe_codec_free(codec);
    return status == TITHE_OK && all_hold ? 0 : 1;
}
