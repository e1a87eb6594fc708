/* estimator_full.c - the whole gradient of a worker: no noise, a pass over the data for each step. */
#include "learn/estimate.h"

static double passes(double m, size_t batch)
{
    (void)m;
    (void)batch;
    return 1;
}

static double gradient(const estimate *s, unsigned local, unsigned draw, const double *x, double *g,
                       void *scratch)
{
    (void)draw;
    const double penalty = ti_estimate_penalty(s, x, g);
    return penalty + ti_estimate_whole(s, local, x, g, scratch);
}

/* |grad f|^2 <= 2 L (f - f*) */
static tithe_unified unified(double L, double script_L, double sigma_star, double n, double m)
{
    (void)script_L;
    (void)sigma_star;
    (void)n;
    (void)m;
    return (tithe_unified){.A = L, .rho = 1};
}

static double step_size(double L, double script_L, double n, double m)
{
    (void)script_L;
    (void)n;
    (void)m;
    return 1 / L;
}

const tithe_estimator ti_estimator_full = {
    .name = "full",
    .summary = "the whole gradient of each worker",
    .passes = passes,
    .gradient = gradient,
    .unified = unified,
    .step_size = step_size,
};
