/* estimator_sgd.c - one row for each worker and step, weighted so that its expectation is the gradient. */
#include <math.h>

#include "learn/estimate.h"

static double passes(double m, size_t batch)
{
    (void)batch;
    return 1 / m;
}

static double gradient(const estimate *s, unsigned local, unsigned draw, const double *x, double *g,
                       void *scratch)
{
    ti_estimate_penalty(s, x, g);
    double weight;
    const uint32_t row = ti_sampling_draw(s, local, draw, &weight);
    ti_estimate_add_row(s, row, weight, x, g, scratch);
    return NAN;
}

const tithe_estimator ti_estimator_sgd = {
    .name = "sgd",
    .summary = "one row per worker and step",
    .paper = "danilova2022",
    .samples = true,
    .noisy = true,
    .passes = passes,
    .gradient = gradient,
    .unified = ti_drawn_unified,
    .step_size = ti_drawn_step_size,
};
