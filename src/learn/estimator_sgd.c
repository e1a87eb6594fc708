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

static tithe_unified unified(double L, double script_L, double sigma_star, double n, double m)
{
    (void)m;
    return (tithe_unified){.A = L + 2 * script_L / n, .D1 = 2 * sigma_star / n, .rho = 1};
}

/* 1 / (4A) */
static double step_size(double L, double script_L, double n, double m)
{
    (void)m;
    return 1 / (4 * (L + 2 * script_L / n));
}

const tithe_estimator ti_estimator_sgd = {
    .name = "sgd",
    .summary = "one row per worker and step",
    .paper = "danilova2022",
    .samples = true,
    .noisy = true,
    .passes = passes,
    .gradient = gradient,
    .unified = unified,
    .step_size = step_size,
};
