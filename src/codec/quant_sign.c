/* quant_sign.c - one magnitude for all, and a sign each.
 *
 * payload: f32 magnitude, finite and not negative; count bits: 1 for x < 0; padded with zeros
 *
 * scale=mean writes the mean of the survivors' magnitudes, which makes the message as long as it should be
 * along its direction: |C(x)-x|^2 = |x|^2 - |x|_1^2/count. scale=norm writes the l2 norm of the whole
 * vector, as CAT's slide and Alistarh's S+Q have it. A zero is written as positive: two symbols, one bit.
 * Keys: khirirat2021cat (S+Q), alistarh2017qsgd, karimireddy2019. */
#include "codec/quant.h"
#include "kernels/kernels.h"

enum { SCALE = 0, SCALE_MEAN = 0, SCALE_NORM = 1 };

static const tithe_param sign_params[] = {
    {.name = "scale",
     .doc = "the magnitude: mean of the survivors, or l2 norm of the whole",
     .fallback = SCALE_MEAN,
     .max = 1,
     .choices = "mean|norm"},
    {0}};

static bool sign_needs_norm(const double *params)
{
    return params[SCALE] == SCALE_NORM;
}

static uint64_t sign_max_bits(const tithe_quant_call *c)
{
    return c->count ? 32 + (uint64_t)c->count : 0;
}

/* S+Q of CAT: one norm, and a sign each. */
static double sign_paper_bits(const tithe_quant_call *c)
{
    return 32 + (double)c->count;
}

/* Values [first, first + count), first a multiple of 8: straight into a dense vector, or by way of a block. */
static void add_signs(const uint8_t *signs, float magnitude, size_t first, size_t count,
                      const tithe_sink *out)
{
    if (!out->y) return;
    if (!out->at) {
        ti_kernels()->sign_add(signs + first / 8, count, (float)out->scale * magnitude,
                               (float *)out->y + first);
        return;
    }
    for (size_t done = 0; done < count; done += TITHE_BLOCK) {
        const size_t length = block_length(done, count);
        float block[TITHE_BLOCK];
        for (size_t i = 0; i < length; i++) {
            const size_t at = first + done + i;
            block[i] = signs[at / 8] >> at % 8 & 1 ? -magnitude : magnitude;
        }
        tithe_sink_add(out, first + done, block, length);
    }
}

static tithe_status sign_encode(const tithe_quant_call *c, const void *values, uint8_t *dst, uint64_t *bits,
                                const tithe_sink *sent, tithe_error *error)
{
    (void)error;
    *bits = sign_max_bits(c);
    if (c->count == 0) return TITHE_OK;
    const float *x = values;
    const float magnitude = c->params[SCALE] == SCALE_NORM
                                ? (float)c->whole_norm
                                : (float)(ti_norm1(TITHE_F32, x, c->count) / (double)c->count);
    put_f32(dst, magnitude);
    const size_t step =
        sent->y ? TITHE_BLOCK : c->count; /* what is sent is taken back while it is in the cache */
    for (size_t first = 0; first < c->count; first += step) {
        const size_t length = c->count - first < step ? c->count - first : step;
        ti_kernels()->sign_encode(x + first, length, dst + 4 + first / 8);
        add_signs(dst + 4, magnitude, first, length, sent);
    }
    return TITHE_OK;
}

static tithe_status sign_check(const tithe_quant_call *c, const uint8_t *src, size_t length, uint64_t *bits)
{
    *bits = sign_max_bits(c);
    if (length != bytes_of_bits(*bits)) return TITHE_E_CORRUPT;
    if (c->count == 0) return TITHE_OK;
    const float magnitude = get_f32(src);
    return isfinite(magnitude) && !signbit(magnitude) && padding_is_zero(src, *bits) ? TITHE_OK
                                                                                     : TITHE_E_CORRUPT;
}

static void sign_decode(const tithe_quant_call *c, const uint8_t *src, size_t length, const tithe_sink *out)
{
    (void)length;
    if (c->count == 0) return;
    add_signs(src + 4, get_f32(src), 0, c->count, out);
}

static void sign_claims(const tithe_quant_call *c, tithe_claims *claims)
{
    const double count = c->count ? (double)c->count : 1;
    claims->traits = 0;
    claims->smallest = 0;
    claims->largest = 0x1.fffffep127;
    if (c->params[SCALE] == SCALE_MEAN) {
        claims->omega = 0;
        claims->delta = 1 / count; /* |x|_1 >= |x|_2 */
    } else {
        claims->omega = count - 1; /* |C(x)|^2 = count |x|^2, and <C(x), x> >= 0 */
        claims->delta = -count;
    }
}

const tithe_quantizer ti_quant_sign = {
    .name = "sign",
    .summary = "1 bit: the sign, and one magnitude for all",
    .paper = "khirirat2021cat",
    .params = sign_params,
    .id = 4,
    .common = TITHE_COMMON_MEAN,
    .needs_norm = sign_needs_norm,
    .max_bits = sign_max_bits,
    .paper_bits = sign_paper_bits,
    .encode = sign_encode,
    .check = sign_check,
    .decode = sign_decode,
    .claims = sign_claims,
};
