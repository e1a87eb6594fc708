/* quant_dither.c - standard dithering: levels 0, 1/s, 2/s ... 1 of the bucket's norm. QSGD is p=2.
 *
 * omega: the variance of rounding t to a neighbour is f(1-f) <= min(t, 1/4), f the fraction of t. Summed
 * over a bucket, in units of (norm/s)^2, that is at most min(s |x|_1 / norm, d/4); with |x|_1 <= sqrt(d)
 * |x|_2 and norm <= reach/sqrt(d) |x|_2 it is min(reach/s, reach^2/(4 s^2)) |x|_2^2. Key:
 * alistarh2017qsgd. */
#include "codec/dithering.h"
#include "codec/integers.h"

static const tithe_param dither_params[] = {LEVEL_PARAMS(16383), {0}};

static double dither_steps(unsigned s)
{
    return s;
}

static void dither_levels(const level_job *job)
{
    ti_kernels()->dither_levels(job);
}

static void dither_moments(const level_job *job, double *squares, double *expected)
{
    ti_kernels()->dither_moments(job, squares, expected);
}

static float dither_step(unsigned s, float norm)
{
    return norm / (float)s;
}

static float dither_value(unsigned level, unsigned s, float norm)
{
    return (float)level * dither_step(s, norm);
}

static void dither_values(unsigned count, unsigned s, float norm, float *value)
{
    for (unsigned level = 0; level < count; level++) value[level] = dither_value(level, s, norm);
}

static double dither_variance(double s, double reach)
{
    return fmin(reach / s, reach * reach / (4 * s * s));
}

static const level_grid dither_grid = {dither_steps, define_dither_round, dither_levels,   dither_moments,
                                       dither_value, dither_values,       dither_variance, dither_step};

static tithe_status dither_encode(const tithe_quant_call *c, const void *values, uint8_t *dst, uint64_t *bits,
                                  const tithe_sink *sent, tithe_error *error)
{
    (void)error;
    return ti_levels_encode(&dither_grid, c, values, dst, bits, sent);
}

static void dither_decode(const tithe_quant_call *c, const uint8_t *src, size_t length, const tithe_sink *out)
{
    ti_levels_decode(&dither_grid, c, src, length, out);
}

/* horvath2022natural: 31 + d (2 + s) bits for 2^(s-1) levels; a norm has no sign. */
static double dither_paper_bits(const tithe_quant_call *c)
{
    return ti_levels_paper_bits(c, 31, 3);
}

static void dither_claims(const tithe_quant_call *c, tithe_claims *claims)
{
    ti_levels_claims(&dither_grid, c, claims);
}

const tithe_quantizer ti_quant_dither = {
    .name = "dither",
    .summary = "a norm, and one of s even levels each; s=127,p=inf,bucket=128: 8 bits, off by 1 to 4 %",
    .paper = "alistarh2017qsgd",
    .params = dither_params,
    .id = 5,
    .common = TITHE_COMMON_NORM,
    .fuses = ti_levels_fuse,
    .fixed_size = ti_levels_fixed_size,
    .bucket = ti_levels_bucket_of,
    .max_bits = ti_levels_max_bits,
    .paper_bits = dither_paper_bits,
    .encode = dither_encode,
    .check = ti_levels_check,
    .decode = dither_decode,
    .claims = dither_claims,
    .integers = &ti_integers_dither,
};
