/* optimum.c - the minimum: from the cache, or by L-BFGS and then Newton's method; and its certificate.
 *
 * With l2 the strong convexity, f(x) - f* <= |grad f(x)|^2 / (2 l2). */
#include "model/optimum.h"

#include <lbfgs.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "model/constants.h"
#include "model/linear.h"
#include "model/sums.h"
#include "model/vectors.h"

enum {
    MAX_ITERATIONS =
        300,        /* what is not found by then is badly conditioned, which Newton's method minds less */
    REMEMBERED = 12 /* pairs of vectors in L-BFGS */
};

typedef struct descent {
    const tithe_problem *p;
    tithe_pool *pool;
    const tithe_optimum *asked;
    double target; /* for |gradient| */
    unsigned iterations;
} descent;

bool ti_optimum_go_on(const tithe_optimum *o)
{
    return !o->go_on || o->go_on(o->context);
}

static lbfgsfloatval_t evaluate(void *instance, const lbfgsfloatval_t *x, lbfgsfloatval_t *g, const int n,
                                const lbfgsfloatval_t step)
{
    (void)n, (void)step;
    descent *s = instance;
    ti_optimum_go_on(s->asked); /* a line search may take long; it is ended by `progress` */
    return ti_objective(s->p, s->pool, x, g);
}

static int progress(void *instance, const lbfgsfloatval_t *x, const lbfgsfloatval_t *g,
                    const lbfgsfloatval_t fx, const lbfgsfloatval_t xnorm, const lbfgsfloatval_t gnorm,
                    const lbfgsfloatval_t step, int n, int k, int ls)
{
    (void)x, (void)g, (void)fx, (void)xnorm, (void)step, (void)n, (void)ls;
    descent *s = instance;
    s->iterations = (unsigned)k;
    return gnorm <= s->target || !ti_optimum_go_on(s->asked); /* anything but 0 ends the search */
}

/* Whatever L-BFGS answers, x is the best that it found: Newton's method takes it from there. */
static bool minimize(descent *s, double *result)
{
    const size_t n = s->p->size;
    double *x = lbfgs_malloc((int)n);
    if (!x) return false;
    memset(x, 0, n * sizeof *x);
    lbfgs_parameter_t parameters;
    lbfgs_parameter_init(&parameters);
    parameters.m = REMEMBERED;
    parameters.epsilon = 0;
    parameters.max_iterations = MAX_ITERATIONS;
    parameters.max_linesearch = 40;
    const int answer = lbfgs((int)n, x, NULL, evaluate, progress, s, &parameters);
    memcpy(result, x, n * sizeof *x);
    lbfgs_free(x);
    if (answer == LBFGSERR_OUTOFMEMORY) return false;
    return ti_newton(s->p, s->pool, s->asked, s->target, result, &s->iterations);
}

/* From one evaluation, in the order in which everybody else computes the loss. */
static bool certify(const tithe_problem *p, tithe_pool *pool, double *g, tithe_optimum *o)
{
    const double loss = tithe_problem_loss(p, pool, o->x, g, NULL);
    o->slack = ti_dot(p->size, g, g) / (2 * p->l2);
    o->certified = isfinite(loss) && o->slack <= OPTIMUM_SLACK;
    o->loss = o->certified ? loss : NAN;
    return o->certified;
}

tithe_status tithe_problem_optimum(const tithe_problem *p, struct tithe_pool *pool, const char *cache,
                                   tithe_optimum *optimum, tithe_error *error)
{
    return ti_optimum_find(p, pool, cache, true, optimum, error);
}

tithe_status ti_optimum_find(const tithe_problem *p, struct tithe_pool *pool, const char *cache, bool search,
                             tithe_optimum *optimum, tithe_error *error)
{
    if (!p || !optimum || !optimum->x)
        return ti_fail(error, TITHE_E_ARGUMENT, 0, "A problem, and room for its minimum, are needed.");
    tithe_status status = ti_expect_all_workers(p, error);
    if (status) return status;
    tithe_optimum found = {
        .loss = NAN, .slack = NAN, .x = optimum->x, .go_on = optimum->go_on, .context = optimum->context};
    if (!p->model->convex || !(p->l2 > 0) || !p->model->linear) {
        *optimum = found;
        return TITHE_OK;
    }
    if (p->size > INT_MAX)
        return ti_fail(error, TITHE_E_ARGUMENT, 0, "L-BFGS takes at most %d numbers.", INT_MAX);

    double *g = malloc(p->size * sizeof *g);
    if (!g) return ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory to find the minimum.");
    found.cached = ti_optimum_read(p, cache, found.x, &found.iterations) && certify(p, pool, g, &found);
    if (!found.cached && search) {
        descent s = {.p = p, .pool = pool, .asked = &found, .target = sqrt(2 * p->l2 * OPTIMUM_SLACK) / 2};
        const bool searched = minimize(&s, found.x);
        found.iterations = s.iterations;
        if (searched && certify(p, pool, g, &found)) ti_optimum_write(p, cache, found.x, found.iterations);
        if (!searched)
            status = ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory to find the minimum.");
    }
    free(g);
    if (!status) *optimum = found;
    return status;
}
