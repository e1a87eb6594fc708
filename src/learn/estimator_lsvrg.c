/* estimator_lsvrg.c - loopless SVRG: one row, corrected by what the same row said at an anchor point, at which the
 * whole gradient is known. The noise goes to zero with the distance to the optimum.
 *
 * With probability 1/m, one coin for all workers, the anchor moves to the current x (danilova2022). */
#include <math.h>

#include "learn/estimate.h"

static double passes(double m, size_t batch)
{
    (void)batch;
    return 2 / m; /* and 1 for each refresh, which the loop counts */
}

static double gradient(const estimate *s, unsigned local, unsigned draw, const double *x, double *g,
                       void *scratch)
{
    ti_estimate_penalty(s, x, g);
    double weight;
    const uint32_t row = ti_sampling_draw(s, local, draw, &weight);
    ti_estimate_add_row(s, row, weight, x, g, scratch);
    ti_estimate_add_row(s, row, -weight, s->anchor, g, scratch);
    const size_t size = s->problem->size;
    const double *whole = s->anchor_gradients + local * size;
    for (size_t j = 0; j < size; j++) g[j] += whole[j];
    return NAN;
}

static tithe_unified unified(double L, double script_L, double sigma_star, double n, double m)
{
    (void)sigma_star;
    return (tithe_unified){.A = L + 2 * script_L / n, .B = 2 / n, .C = script_L / m, .rho = 1 / m};
}

/* 1 / (4 (A + C F)) with F = 4B / (3 rho) */
static double step_size(double L, double script_L, double n, double m)
{
    (void)m;
    return 1 / (4 * (L + 14 * script_L / (3 * n)));
}

const tithe_estimator ti_estimator_lsvrg = {
    .name = "lsvrg",
    .summary = "loopless SVRG: one row per worker and step, without noise at the optimum",
    .paper = "danilova2022",
    .samples = true,
    .passes = passes,
    .gradient = gradient,
    .unified = unified,
    .step_size = step_size,
};
