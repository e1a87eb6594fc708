/* cost_bits.c - a message costs its bits. */
#include "cost/cost.h"

static double of_bits(const tithe_cost *cost, double bits)
{
    (void)cost;
    return bits;
}

static const tithe_param params[] = {{.name = NULL}};

const tithe_cost_model ti_cost_bits = {
    .name = "bits",
    .summary = "the bits of the message, and nothing besides",
    .paper = "khirirat2021",
    .unit = "bit",
    .params = params,
    .of = of_bits,
};
