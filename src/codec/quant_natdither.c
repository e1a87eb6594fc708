/* quant_natdither.c - natural dithering: levels 0, 2^(1-s), 2^(2-s) ... 1/2, 1 of the bucket's norm.
 *
 * Above the smallest level this is natural compression (at most 1/8 of the square), below it a coin
 * between 0 and the smallest level u = 2^(1-s): norm^2 y(u-y) <= norm^2 min(yu, u^2/4). Summed as in
 * quant_dither.c: omega = 1/8 + min(reach u, reach^2 u^2 / 4). Key: horvath2022natural. */
#include "codec/dithering.h"

static const tithe_param natdither_params[] = {LEVEL_PARAMS(64), {0}};

static double natdither_steps(unsigned s)
{
    return ldexp(1, (int)s - 1);
}

static void natdither_levels(const level_job *job)
{
    ti_kernels()->natdither_levels(job);
}

static void natdither_moments(const level_job *job, double *squares, double *expected)
{
    ti_kernels()->natdither_moments(job, squares, expected);
}

static float natdither_value(unsigned level, unsigned s, float norm)
{
    return level ? norm * f32_from_bits((127 + level - s) << 23) : 0;
}

static void natdither_values(unsigned count, unsigned s, float norm, float *value)
{
    for (unsigned level = 0; level < count; level++) value[level] = natdither_value(level, s, norm);
}

static double natdither_variance(double s, double reach)
{
    const double min = exp2(1 - s);
    return 1.0 / 8 + fmin(reach * min, reach * reach * min * min / 4);
}

static const level_grid natdither_grid = {
    natdither_steps, define_natdither_round, natdither_levels,   natdither_moments,
    natdither_value, natdither_values,       natdither_variance, NULL};

static tithe_status natdither_encode(const tithe_quant_call *c, const void *values, uint8_t *dst,
                                     uint64_t *bits, const tithe_sink *sent, tithe_error *error)
{
    (void)error;
    return ti_levels_encode(&natdither_grid, c, values, dst, bits, sent);
}

static void natdither_decode(const tithe_quant_call *c, const uint8_t *src, size_t length,
                             const tithe_sink *out)
{
    ti_levels_decode(&natdither_grid, c, src, length, out);
}

/* horvath2022natural: 8 + d (2 + log2 s) bits; the norm is rounded to a power of two, too. */
static double natdither_paper_bits(const tithe_quant_call *c)
{
    return ti_levels_paper_bits(c, 8, 2);
}

static void natdither_claims(const tithe_quant_call *c, tithe_claims *claims)
{
    ti_levels_claims(&natdither_grid, c, claims);
}

const tithe_quantizer ti_quant_natdither = {
    .name = "natdither",
    .summary = "a norm, and one of s powers of two each",
    .paper = "horvath2022natural",
    .params = natdither_params,
    .id = 6,
    .common = TITHE_COMMON_NORM,
    .fuses = ti_levels_fuse,
    .fixed_size = ti_levels_fixed_size,
    .bucket = ti_levels_bucket_of,
    .max_bits = ti_levels_max_bits,
    .paper_bits = natdither_paper_bits,
    .encode = natdither_encode,
    .check = ti_levels_check,
    .decode = natdither_decode,
    .claims = natdither_claims,
};
