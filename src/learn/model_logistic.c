/* model_logistic.c - logistic regression: log(1 + exp(-label * a.x)) + (l2/2) |x|^2, labels -1 and +1. */
#include "kernels/kernels.h"
#include "learn/linear.h"
#include "learn/models.h"

static const tithe_param params[] = {{0}};

static void values(const double *products, const double *labels, size_t n, double *losses, double *slopes)
{
    ti_kernels()->logistic(products, labels, n, losses, slopes);
}

/* With q = 1/(1 + exp(m)) = |slope| this is q (1 - q); below the smallest q that can be told from 0 it is 0. */
static void curvatures(const double *products, const double *labels, size_t n, double *out)
{
    const kernels *k = ti_kernels();
    for (size_t i = 0; i < n; i++) {
        double loss, slope;
        k->logistic(products + i, labels + i, 1, &loss, &slope);
        const double q = slope < 0 ? -slope : slope;
        out[i] = q * (1 - q);
    }
}

/* A product of zero, as at the start, says -1: in the data at hand that is the larger class. */
static bool is_right(double product, double label)
{
    return product > 0 ? label > 0 : label < 0;
}

const linear_loss ti_loss_logistic = {values, curvatures, is_right};

static double add(const tithe_problem *p, const tithe_batch *batch, const double *x, double *g, void *scratch,
                  size_t *correct)
{
    (void)scratch;
    return ti_linear_add(&ti_loss_logistic, p->data, batch, x, g, correct);
}

const tithe_model ti_model_logistic = {
    .name = "logistic",
    .summary = "logistic regression of two labels, with (l2/2) |x|^2",
    .paper = "danilova2022",
    .params = params,
    .task = TITHE_TASK_BINARY,
    .convex = true,
    .curvature = 0.25,
    .penalty_curvature = 1,
    .linear = &ti_loss_logistic,
    .size = ti_linear_size,
    .add = add,
    .penalty = ti_ridge,
};
