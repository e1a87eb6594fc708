/* model_nonconvex.c - logistic loss with a penalty that levels off: l2 * sum of x_j^2 / (1 + x_j^2).
 *
 * Near zero it pulls as 2 l2 x does, far away not at all, so the sum is smooth but not convex. */
#include "learn/linear.h"
#include "learn/models.h"

static const tithe_param params[] = {{0}};

static double add(const tithe_problem *p, const tithe_batch *batch, const double *x, double *g, void *scratch,
                  size_t *correct)
{
    (void)scratch;
    return ti_linear_add(&ti_loss_logistic, p->data, batch, x, g, correct);
}

/* x^2/(1+x^2) = 1 - 1/(1+x^2), with derivative 2x/(1+x^2)^2; written so that a large x does not overflow. */
static double penalty(const tithe_problem *p, const double *x, double *g)
{
    double sum = 0;
    for (size_t i = 0; i < p->size; i++) {
        const double share = 1 / (1 + x[i] * x[i]);
        sum += x[i] * x[i] > 1 ? 1 - share : x[i] * x[i] * share;
        if (g) g[i] += p->l2 * 2 * (x[i] * share) * share;
    }
    return p->l2 * sum;
}

const tithe_model ti_model_nonconvex = {
    .name = "nonconvex-logistic",
    .summary = "logistic regression of two labels, with l2 * sum x^2/(1+x^2)",
    .params = params,
    .task = TITHE_TASK_BINARY,
    .convex = false,
    .curvature = 0.25,
    .penalty_curvature = 2,
    .linear = &ti_loss_logistic,
    .size = ti_linear_size,
    .add = add,
    .penalty = penalty,
};
