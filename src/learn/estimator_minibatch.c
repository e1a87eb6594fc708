/* estimator_minibatch.c - B rows for each worker and step, drawn independently of each other. */
#include <math.h>

#include "learn/estimate.h"

static double passes(double m, size_t batch)
{
    return (double)batch / m;
}

static double gradient(const estimate *s, unsigned local, unsigned draw, const double *x, double *g,
                       void *scratch)
{
    enum { CHUNK = 256 };
    uint32_t rows[CHUNK];
    double weights[CHUNK];
    ti_estimate_penalty(s, x, g);
    const tithe_problem *p = s->problem;
    for (size_t done = 0; done < s->batch;) { /* several rows at a time: an MLP wants a matrix */
        size_t count = 0;
        for (; count < CHUNK && done < s->batch; count++, done++) {
            rows[count] = ti_sampling_draw(s, local, (unsigned)(draw * s->batch + done), &weights[count]);
            weights[count] /= (double)s->batch;
        }
        const tithe_batch batch = {.rows = rows, .count = count, .weights = weights};
        p->model->add(p, &batch, x, g, scratch, NULL);
    }
    return NAN;
}

/* As for sgd: script_L and sigma_star are the mini-batch's. */
static tithe_unified unified(double L, double script_L, double sigma_star, double n, double m)
{
    (void)m;
    return (tithe_unified){.A = L + 2 * script_L / n, .D1 = 2 * sigma_star / n, .rho = 1};
}

static double step_size(double L, double script_L, double n, double m)
{
    (void)m;
    return 1 / (4 * (L + 2 * script_L / n));
}

const tithe_estimator ti_estimator_minibatch = {
    .name = "minibatch",
    .summary = "--batch rows per worker and step",
    .paper = "danilova2022",
    .samples = true,
    .noisy = true,
    .passes = passes,
    .gradient = gradient,
    .unified = unified,
    .step_size = step_size,
};
