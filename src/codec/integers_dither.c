/* integers_dither.c - standard dithering for a switch: levels of a norm that is the largest of all ranks. Levels add as they are, and
 * so does the width of what comes back: a level has 2s + 1 values, a sum of N of them 2sN + 1. They are written as what
 * they are above -s.
 *
 * scale=contractive needs a factor that is the same on all ranks, since the sum has but one. With E|Q|^2 <= (1 + w) |x|^2 on every
 * rank, 1 / (1 + w) is a contraction on each; the largest 1 + w is agreed on in a second round. */
#include "codec/dithering.h"
#include "codec/integers.h"

static const char *refuse(const double *params)
{
    if (params[LEVEL_NORM] != 0 || params[LEVEL_CODE] != 0)
        return "A switch adds levels of one width and one norm: leave norm=natural and code=elias out.";
    return NULL;
}

static unsigned rounds(const integers_call *c)
{
    return c->quant.contractive ? 2 : 1;
}

static size_t scales(const integers_call *c)
{
    return levels_bucket_count(&c->quant);
}

static float norm_of(const integers_call *c, size_t b)
{
    return f32_from_bits(c->scales[b]);
}

/* What the levels of bucket b are multiplied with, times s. */
static float scale_of_bucket(const integers_call *c, size_t b)
{
    if (rounds(c) == 1) return norm_of(c, b);
    const float loss = f32_from_bits(c->scales[scales(c) + b]); /* 1 + w */
    return loss > 0 ? norm_of(c, b) / loss : 0;
}

/* E|Q|^2 / |x|^2, rounded up; 0 where there is nothing to write. */
static float loss_of(const integers_call *c, size_t b, const float *x, size_t count)
{
    const bucket_scale scale = levels_scale(levels_of(&c->quant), norm_of(c, b));
    const level_job job = {.x = x, .n = count, .lift = scale.lift, .slope = scale.slope};
    double squares, expected;
    ti_kernels()->dither_moments(&job, &squares, &expected);
    return squares > 0 ? nextafterf((float)(expected / squares), INFINITY) : 0;
}

/* Floats that are not negative have the order of their bits. */
static tithe_status propose(const integers_call *c, unsigned round, const float *x, uint32_t *numbers,
                            tithe_error *error)
{
    for (size_t b = 0; b < scales(c); b++) {
        const size_t begin = b * levels_bucket(&c->quant), many = levels_bucket_end(&c->quant, b) - begin;
        const double norm = round == 0 ? ti_levels_norm(&c->quant, x + begin, many) : 0;
        if (!(norm <= (double)LARGEST_NORM))
            return ti_fail(error, TITHE_E_RANGE, begin,
                           "The norm of the values from %zu on is %g, and `dither` writes none above 2^127.",
                           begin, norm);
        numbers[b] = f32_bits(round == 0 ? (float)norm : loss_of(c, b, x + begin, many));
    }
    return TITHE_OK;
}

static agg_reduction shape(const integers_call *c)
{
    const uint32_t most = 2 * levels_of(&c->quant);
    return (agg_reduction){.operation = OPERATION_SUM,
                           .up = integers_bits(most),
                           .down = integers_bits((uint64_t)most * c->ranks),
                           .most = most,
                           .n = c->quant.count};
}

static unsigned level_of(const integers_call *c, const level_job *job, const uint32_t *random, size_t i)
{
    const unsigned s = levels_of(&c->quant);
    const unsigned level =
        define_dither_round(define_level_position(job, i), random[(job->position + i) % TITHE_BLOCK],
                            c->quant.key, job->position + i);
    return level < s ? level : s; /* the position may exceed its end by a rounding error */
}

static double encode(const integers_call *c, float *x, uint8_t *codes)
{
    const unsigned s = levels_of(&c->quant), width = shape(c).up;
    const size_t bucket = levels_bucket(&c->quant), count = c->quant.count;
    bit_writer w = bit_writer_at(codes);
    uint32_t random[TITHE_BLOCK];
    double energy = 0;
    for (size_t first = 0, end; first < count; first = end) {
        const size_t b = first / bucket, block = first - first % TITHE_BLOCK + TITHE_BLOCK;
        end = levels_bucket_end(&c->quant, b) < block ? levels_bucket_end(&c->quant, b) : block;
        if (end > count) end = count;
        if (first % TITHE_BLOCK == 0) tithe_random_block(c->quant.key, first / TITHE_BLOCK, random);
        const bucket_scale scale = levels_scale(s, norm_of(c, b));
        const float unit = scale_of_bucket(c, b) / (float)s;
        const level_job job = {.x = x + first, .lift = scale.lift, .slope = scale.slope, .position = first};
        for (size_t i = 0; i < end - first; i++) {
            const unsigned level = level_of(c, &job, random, i);
            const float value = (float)level * unit;
            const bool negative = x[first + i] < 0;
            bits_put(&w, negative ? s - level : s + level, width);
            x[first + i] -= negative ? -value : value;
            if (c->measure) energy += (double)value * (double)value;
        }
    }
    bits_finish(&w);
    return energy;
}

static void decode(const integers_call *c, const uint8_t *sums, float weight, float *y)
{
    const unsigned s = levels_of(&c->quant), width = shape(c).down;
    const int64_t zero = (int64_t)s * c->ranks;
    bit_reader r = bit_reader_at(sums, bytes_of_bits((uint64_t)width * c->quant.count), 0);
    for (size_t b = 0; b < scales(c); b++) {
        const double unit = (double)(scale_of_bucket(c, b) / (float)s) * (double)weight;
        for (size_t i = b * levels_bucket(&c->quant); i < levels_bucket_end(&c->quant, b); i++)
            y[i] = (float)((double)((int64_t)bits_get(&r, width) - zero) * unit);
    }
}

const struct quant_integers ti_integers_dither = {
    .refuse = refuse,
    .rounds = rounds,
    .scales = scales,
    .scale_bits = 32,
    .propose = propose,
    .shape = shape,
    .encode = encode,
    .decode = decode,
};
