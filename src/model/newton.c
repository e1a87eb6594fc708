/* newton.c - the last digits of a minimum.
 *
 * L-BFGS compares losses, and near the minimum those differ by less than a double shows while the gradient is still far
 * from zero. Newton's method can go by the gradient alone: its direction always makes |gradient| smaller, if the
 * step is short enough. The equation H d = -g is solved by conjugate gradients; H v costs as much as a gradient. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/optimum.h"
#include "model/rows.h"
#include "model/sums.h"
#include "model/vectors.h"

enum { MAX_NEWTON_STEPS = 60, MAX_HALVINGS = 30, MAX_PRODUCTS = 5000 };

typedef struct newton {
    const tithe_problem *p;
    tithe_pool *pool;
    const tithe_optimum *asked;
    size_t n;
    double *weights;                 /* of the rows: second derivative of the loss / N */
    double *g, *trial, *trial_g;     /* gradient here; the next point and its gradient */
    double *d, *r, *q, *v, *inverse; /* conjugate gradients: solution, rest, direction, H q, preconditioner */
} newton;

double ti_objective(const tithe_problem *p, tithe_pool *pool, const double *x, double *g)
{
    const row_sum all = {.problem = p, .weight = 1 / (double)p->data->total_rows};
    double sum;
    if (!ti_row_sum(&all, pool, x, g, &sum, NULL)) return NAN;
    return sum + p->model->penalty(p, x, g);
}

static void add_squares(const tithe_data *data, size_t row, double weight, double *diagonal)
{
    const size_t begin = data->offsets ? data->offsets[row] : row * data->features;
    const size_t end = data->offsets ? data->offsets[row + 1] : begin + data->features;
    for (size_t i = begin; i < end; i++) {
        const double value = (double)data->values[i];
        diagonal[data->offsets ? data->indices[i] : i - begin] += weight * value * value;
    }
}

/* Weights of the rows at x, and the inverse of the Hessian's diagonal. */
static void look_around(newton *s, const double *x)
{
    const tithe_data *data = s->p->data;
    const linear_loss *loss = s->p->model->linear;
    const tithe_batch all = {.first = 0, .count = data->rows};
    const double scale = 1 / (double)data->total_rows;
    double products[MAX_ROWS];
    for (size_t i = 0; i < s->n; i++) s->inverse[i] = s->p->l2;
    for (size_t first = 0, count; first < data->rows; first += count) {
        count = ti_rows_block(data, &all, first);
        ti_rows_dot(data, &all, first, count, x, products);
        loss->curvatures(products, data->labels + first, count, s->weights + first);
        for (size_t i = first; i < first + count; i++) {
            s->weights[i] *= scale;
            add_squares(data, i, s->weights[i], s->inverse);
        }
    }
    for (size_t i = 0; i < s->n; i++) s->inverse[i] = 1 / s->inverse[i];
}

static bool multiply(newton *s, const double *v, double *product)
{
    const row_sum hessian = {.problem = s->p, .loss = &ti_loss_product, .weights = s->weights};
    double unused;
    if (!ti_row_sum(&hessian, s->pool, v, product, &unused, NULL)) return false;
    ti_add(s->n, s->p->l2, v, product);
    return true;
}

static double precondition(const newton *s, double *z)
{
    double sum = 0;
    for (size_t i = 0; i < s->n; i++) {
        z[i] = s->inverse[i] * s->r[i];
        sum += z[i] * s->r[i];
    }
    return sum;
}

/* d with |H d + g| <= rest. `trial` is free while this runs and holds the preconditioned rest. */
static bool solve(newton *s, double rest)
{
    memset(s->d, 0, s->n * sizeof *s->d);
    for (size_t i = 0; i < s->n; i++) s->r[i] = -s->g[i];
    double energy = precondition(s, s->trial);
    memcpy(s->q, s->trial, s->n * sizeof *s->q);
    for (int i = 0; i < MAX_PRODUCTS && sqrt(ti_dot(s->n, s->r, s->r)) > rest && ti_optimum_go_on(s->asked);
         i++) {
        if (!multiply(s, s->q, s->v)) return false;
        const double length = energy / ti_dot(s->n, s->q, s->v);
        if (!isfinite(length)) break;
        ti_add(s->n, length, s->q, s->d);
        ti_add(s->n, -length, s->v, s->r);
        const double next = precondition(s, s->trial), turn = next / energy;
        energy = next;
        for (size_t k = 0; k < s->n; k++) s->q[k] = s->trial[k] + turn * s->q[k];
    }
    return true;
}

/* The first of the steps 1, 1/2, 1/4, ... that makes the gradient smaller; |gradient| there, or `norm` when there is
 * none. */
static double step(newton *s, const double *x, double norm)
{
    double length = 1;
    for (int i = 0; i < MAX_HALVINGS && ti_optimum_go_on(s->asked); i++, length /= 2) {
        memcpy(s->trial, x, s->n * sizeof *x);
        ti_add(s->n, length, s->d, s->trial);
        if (isnan(ti_objective(s->p, s->pool, s->trial, s->trial_g))) continue;
        const double there = sqrt(ti_dot(s->n, s->trial_g, s->trial_g));
        if (there <= (1 - length / 10) * norm) return there;
    }
    return norm;
}

static bool iterate(newton *s, double target, double *x, unsigned *steps)
{
    if (isnan(ti_objective(s->p, s->pool, x, s->g))) return false;
    double norm = sqrt(ti_dot(s->n, s->g, s->g));
    for (int i = 0; i < MAX_NEWTON_STEPS && norm > target && ti_optimum_go_on(s->asked); i++) {
        look_around(s, x);
        /* Far away a rough solution will do; near by it decides how near. */
        if (!solve(s, fmax(target / 4, norm * fmin(0.1, sqrt(norm))))) return false;
        const double there = step(s, x, norm);
        if (!(there < norm)) break;
        norm = there;
        memcpy(x, s->trial, s->n * sizeof *x);
        memcpy(s->g, s->trial_g, s->n * sizeof *s->g);
        ++*steps;
    }
    return true;
}

bool ti_newton(const tithe_problem *p, tithe_pool *pool, const tithe_optimum *asked, double target, double *x,
               unsigned *steps)
{
    const size_t n = p->size;
    double *memory = malloc((8 * n + p->data->rows) * sizeof *memory);
    if (!memory) return false;
    newton s = {.p = p, .pool = pool, .asked = asked, .n = n, .weights = memory + 8 * n};
    double **vectors[] = {&s.g, &s.trial, &s.trial_g, &s.d, &s.r, &s.q, &s.v, &s.inverse};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) *vectors[i] = memory + i * n;
    const bool ok = iterate(&s, target, x, steps);
    free(memory);
    return ok;
}
