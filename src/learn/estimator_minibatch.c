/* estimator_minibatch.c - B rows for each worker and step, drawn independently of each other. */
#include <math.h>

#include "learn/estimate.h"

static const tithe_param params[] = {
    {.name = "batch",
     .doc = "rows per worker and step",
     .fallback = 32,
     .min = 1,
     .max = 1u << 30,
     .whole = true},
    {.name = NULL},
};

static tithe_status open(estimate *s, const double *values, tithe_error *error)
{
    (void)error;
    s->batch = (size_t)values[0];
    return TITHE_OK;
}

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

const tithe_estimator ti_estimator_minibatch = {
    .name = "minibatch",
    .summary = "several rows per worker and step",
    .paper = "danilova2022",
    .params = params,
    .samples = true,
    .noisy = true,
    .open = open,
    .passes = passes,
    .gradient = gradient,
    .unified = ti_drawn_unified,
    .step_size = ti_drawn_step_size,
};
