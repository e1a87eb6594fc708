/* cost_bits.c - a message costs its bits. */
#include "cost/cost.h"

static double of_bits(const tithe_cost *cost, double bits)
{
    (void)cost;
    return bits;
}

static void below_bits(const tithe_cost *cost, double from, double to, double line[2])
{
    (void)cost;
    line[0] = from;
    line[1] = to;
}

static const tithe_param params[] = {{.name = NULL}};

const tithe_cost_model ti_cost_bits = {
    .name = "bits",
    .summary = "the bits of the message, and nothing besides",
    .paper = "khirirat2021cat",
    .unit = "bit",
    .params = params,
    .of = of_bits,
    .below = below_bits,
};
