/* model_least_squares.c - least squares: (a.x - label)^2 / 2 + (l2/2) |x|^2. */
#include "learn/linear.h"
#include "learn/models.h"

static const tithe_param params[] = {{0}};

static void values(const double *products, const double *labels, size_t n, double *losses, double *slopes)
{
    for (size_t i = 0; i < n; i++) {
        slopes[i] = products[i] - labels[i];
        losses[i] = slopes[i] * slopes[i] / 2;
    }
}

static void curvatures(const double *products, const double *labels, size_t n, double *out)
{
    (void)products, (void)labels;
    for (size_t i = 0; i < n; i++) out[i] = 1;
}

const linear_loss ti_loss_squares = {values, curvatures, NULL};

static double add(const tithe_problem *p, const tithe_batch *batch, const double *x, double *g, void *scratch,
                  size_t *correct)
{
    (void)scratch;
    return ti_linear_add(&ti_loss_squares, p->data, batch, x, g, correct);
}

const tithe_model ti_model_least_squares = {
    .name = "least-squares",
    .summary = "half the squared distance to a number, with (l2/2) |x|^2",
    .paper = "khirirat2021cat",
    .params = params,
    .task = TITHE_TASK_NUMBER,
    .convex = true,
    .curvature = 1,
    .penalty_curvature = 1,
    .linear = &ti_loss_squares,
    .size = ti_linear_size,
    .add = add,
    .penalty = ti_ridge,
};
