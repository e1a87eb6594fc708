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

const tithe_estimator ti_estimator_minibatch = {
    .name = "minibatch",
    .summary = "--batch rows per worker and step",
    .paper = "danilova2022",
    .samples = true,
    .noisy = true,
    .passes = passes,
    .gradient = gradient,
    .unified = ti_drawn_unified,
    .step_size = ti_drawn_step_size,
};
