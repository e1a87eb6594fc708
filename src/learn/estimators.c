/* estimators.c - the table of estimators, and what they have in common. */
#include <string.h>

#include "base/family.h"
#include "learn/estimate.h"

static const tithe_estimator *const estimators[] = {&ti_estimator_full, &ti_estimator_sgd,
                                                    &ti_estimator_minibatch, &ti_estimator_lsvrg, NULL};

const tithe_estimator *const *tithe_estimators(void)
{
    return estimators;
}

static family_row row(size_t i)
{
    return estimators[i] ? (family_row){estimators[i]->name, estimators[i]->params} : (family_row){0};
}

tithe_status tithe_estimator_find(const char *spec, const tithe_estimator **estimator, double *params,
                                  tithe_error *error)
{
    static const family all = {.what = "estimator", .row = row};
    size_t place;
    const tithe_status status = ti_family_find(&all, spec, &place, params, error);
    if (!status) *estimator = estimators[place];
    return status;
}

/* Below so many numbers in all, waking threads takes longer than the work. */
enum { WORTH_THREADS = 1 << 15 };

tithe_pool *ti_estimate_pool(const estimate *s, double numbers)
{
    return numbers >= WORTH_THREADS ? s->pool : NULL;
}

double ti_estimate_whole(const estimate *s, unsigned local, const double *x, double *g, void *scratch)
{
    const tithe_problem *p = s->problem;
    const size_t first = p->data->begin[local], end = p->data->begin[local + 1];
    const tithe_batch batch = {.first = first,
                               .count = end - first,
                               .weight = (double)p->data->workers / (double)p->data->total_rows};
    return p->model->add(p, &batch, x, g, scratch, NULL);
}

double ti_estimate_penalty(const estimate *s, const double *x, double *g)
{
    memset(g, 0, s->problem->size * sizeof *g);
    return s->problem->model->penalty(s->problem, x, g);
}

void ti_estimate_add_row(const estimate *s, uint32_t row, double weight, const double *x, double *g,
                         void *scratch)
{
    const tithe_batch batch = {.rows = &row, .count = 1, .weight = weight};
    s->problem->model->add(s->problem, &batch, x, g, scratch, NULL);
}

tithe_unified ti_drawn_unified(double L, double script_L, double sigma_star, double n, double m)
{
    (void)m;
    return (tithe_unified){.A = L + 2 * script_L / n, .D1 = 2 * sigma_star / n, .rho = 1};
}

double ti_drawn_step_size(double L, double script_L, double n, double m)
{
    (void)m;
    return 1 / (4 * (L + 2 * script_L / n));
}
