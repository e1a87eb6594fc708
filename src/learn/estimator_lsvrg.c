/* estimator_lsvrg.c - loopless SVRG: one row, corrected by what the same row said at an anchor point, at which the
 * whole gradient is known. The noise goes to zero with the distance to the optimum.
 *
 * With probability 1/m, one coin for all workers, the anchor moves to the current x (danilova2022). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/pool.h"
#include "learn/estimate.h"

/* The point at which all workers know their whole gradient, and those gradients, worker by worker. */
typedef struct anchored {
    double *anchor, *gradients;
} anchored;

/* ---- the anchor ------------------------------------------------------------------------------------------- */

static void close(estimate *s)
{
    anchored *a = s->own;
    if (!a) return;
    free(a->anchor);
    free(a->gradients);
    free(a);
    s->own = NULL;
}

static tithe_status open(estimate *s, const double *params, tithe_error *error)
{
    (void)params;
    const size_t size = s->problem->size;
    const unsigned local = s->problem->data->local;
    anchored *a = s->own = calloc(1, sizeof *a);
    if (a) {
        a->anchor = calloc(size, sizeof *a->anchor);
        a->gradients = calloc(size * local, sizeof *a->gradients);
    }
    if (a && a->anchor && a->gradients) return TITHE_OK;
    return ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory for the gradients of %u workers.",
                   local);
}

static void refresh_lane(void *context, unsigned l)
{
    const estimate *s = context;
    const anchored *a = s->own;
    const size_t size = s->problem->size;
    for (unsigned w = l; w < s->problem->data->local; w += s->lanes) {
        double *g = a->gradients + w * size;
        memset(g, 0, size * sizeof *g);
        ti_estimate_whole(s, w, a->anchor, g, s->scratch[l]);
    }
}

static double start(estimate *s, const double *x)
{
    const anchored *a = s->own;
    if (x) memcpy(a->anchor, x, s->problem->size * sizeof *x);
    ti_pool_run(ti_estimate_pool(s, (double)s->problem->data->nonzeros), s->lanes, refresh_lane, s);
    return 1;
}

/* One coin for all workers; the anchor takes the x that this step started from. */
static double after(estimate *s, const double *x)
{
    const tithe_key key = ti_rng_key(s->seed, s->step, 0, 0, RNG_COIN);
    const double u = (double)(rng_at(key, 0) >> 11) * 0x1p-53;
    return u < 1 / s->m ? start(s, x) : 0;
}

static double after_passes(double m)
{
    return 1 / m;
}

static double *saved(estimate *s)
{
    const anchored *a = s->own;
    return a->anchor;
}

/* ---- a step ----------------------------------------------------------------------------------------------- */

static double passes(double m, size_t batch)
{
    (void)batch;
    return 2 / m;
}

static double gradient(const estimate *s, unsigned local, unsigned draw, const double *x, double *g,
                       void *scratch)
{
    const anchored *a = s->own;
    ti_estimate_penalty(s, x, g);
    double weight;
    const uint32_t row = ti_sampling_draw(s, local, draw, &weight);
    ti_estimate_add_row(s, row, weight, x, g, scratch);
    ti_estimate_add_row(s, row, -weight, a->anchor, g, scratch);
    const size_t size = s->problem->size;
    const double *whole = a->gradients + local * size;
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
    .open = open,
    .close = close,
    .start = start,
    .after = after,
    .after_passes = after_passes,
    .saved = saved,
    .passes = passes,
    .gradient = gradient,
    .unified = unified,
    .step_size = step_size,
};
