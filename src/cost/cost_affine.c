/* cost_affine.c - so much for a message at all, and so much for each of its bits (CAT, c0 + c1 P(T)). */
#include <float.h>
#include <math.h>

#include "cost/cost.h"

enum { C0, C1 };

static double of_affine(const tithe_cost *cost, double bits)
{
    return cost->params[C0] + cost->params[C1] * bits;
}

static const tithe_param params[] = {
    [C0] =
        {.name = "c0", .doc = "cost of a message, however short", .fallback = NAN, .min = 0, .max = DBL_MAX},
    [C1] = {.name = "c1", .doc = "cost of each bit", .fallback = 1, .min = 0, .max = DBL_MAX},
    {.name = NULL},
};

const tithe_cost_model ti_cost_affine = {
    .name = "affine",
    .summary = "c0 for a message and c1 for each of its bits",
    .paper = "khirirat2021cat",
    .unit = "bit",
    .params = params,
    .of = of_affine,
    .below = cost_line,
};
