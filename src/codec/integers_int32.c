/* integers_int32.c - int32 for a switch: the exponent of a block is the largest of all ranks, and numbers have as many bits as leave
 * room for the sum, W = 31 - ceil(log2 N), sign included. A number is written as what it is above the smallest one. */
#include "codec/int32.h"
#include "codec/integers.h"

static const char *refuse(const double *params)
{
    (void)params;
    return NULL;
}

static unsigned rounds(const integers_call *c)
{
    (void)c;
    return 1;
}

static size_t scales(const integers_call *c)
{
    return ti_int32_blocks(&c->quant);
}

static tithe_status propose(const integers_call *c, unsigned round, const float *x, uint32_t *numbers,
                            tithe_error *error)
{
    (void)round;
    (void)error;
    const size_t block = ti_int32_block(&c->quant), count = c->quant.count;
    for (size_t first = 0; first < count; first += block)
        numbers[first / block] = ti_int32_field(x + first, count - first < block ? count - first : block);
    return TITHE_OK;
}

static uint32_t zero_of(const integers_call *c)
{
    return UINT32_C(1) << (integers_window(c->ranks) - 1);
}

static agg_reduction shape(const integers_call *c)
{
    return (agg_reduction){
        .operation = OPERATION_SUM, .up = 32, .down = 32, .most = 2 * zero_of(c), .n = c->quant.count};
}

static double encode(const integers_call *c, float *x, uint8_t *codes)
{
    const size_t block = ti_int32_block(&c->quant), count = c->quant.count;
    const int bits = (int)integers_window(c->ranks) - 1;
    const uint32_t zero = zero_of(c);
    uint32_t random[TITHE_BLOCK];
    double energy = 0;
    for (size_t first = 0, end; first < count; first = end) {
        const uint8_t field = (uint8_t)c->scales[first / block];
        end = int32_stretch(first, block, count);
        if (first % TITHE_BLOCK == 0) tithe_random_block(c->quant.key, first / TITHE_BLOCK, random);
        for (size_t i = first; i < end; i++) {
            const int32_t number = int32_round(x[i], field, bits, random[i % TITHE_BLOCK], c->quant.key, i);
            const double value = int32_value(number, field, bits);
            put_u32(codes + 4 * i, (uint32_t)number + zero);
            x[i] = (float)((double)x[i] - value);
            if (c->measure) energy += value * value;
        }
    }
    return energy;
}

static void decode(const integers_call *c, const uint8_t *sums, float weight, float *y)
{
    const size_t block = ti_int32_block(&c->quant), count = c->quant.count;
    const int bits = (int)integers_window(c->ranks) - 1;
    const int64_t zero = (int64_t)zero_of(c) * c->ranks;
    for (size_t first = 0; first < count; first += block) {
        const size_t end = count - first < block ? count : first + block;
        const double unit = int32_power((int)c->scales[first / block] - 126 - bits) * (double)weight;
        for (size_t i = first; i < end; i++)
            y[i] = (float)((double)((int64_t)get_u32(sums + 4 * i) - zero) * unit);
    }
}

const struct quant_integers ti_integers_int32 = {
    .refuse = refuse,
    .rounds = rounds,
    .scales = scales,
    .scale_bits = 8,
    .propose = propose,
    .shape = shape,
    .encode = encode,
    .decode = decode,
};
