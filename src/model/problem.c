/* problem.c - a model on data: checked once, then its loss and gradient. */
#include <math.h>

#include "base/spec.h"
#include "base/status.h"
#include "model/constants.h"
#include "model/sums.h"

/* Labels that a task cannot have come from data that were opened for another one. */
static tithe_status expect_labels(const tithe_model *model, const tithe_data *data, tithe_error *error)
{
    if (model->task == TITHE_TASK_CLASSES && data->classes < 2)
        return ti_fail(error, TITHE_E_DATA, 0, "%s needs at least two classes; these data have %u.",
                       model->name, data->classes);
    for (size_t i = 0; i < data->rows; i++) {
        const double label = data->labels[i];
        const bool fits = model->task == TITHE_TASK_BINARY ? label == 1 || label == -1
                          : model->task == TITHE_TASK_NUMBER
                              ? isfinite(label)
                              : label >= 0 && label < data->classes && label == floor(label);
        if (!fits)
            return ti_fail(error, TITHE_E_DATA, i, "Row %zu has the label %.10g, which is none for %s: %s.",
                           i, label, model->name,
                           model->task == TITHE_TASK_BINARY   ? "it takes -1 and +1"
                           : model->task == TITHE_TASK_NUMBER ? "it takes finite numbers"
                                                              : "classes count from 0");
    }
    return TITHE_OK;
}

tithe_status tithe_problem_make(const char *spec, const tithe_data *share, double l2, struct tithe_comm *comm,
                                struct tithe_pool *pool, tithe_problem *problem, tithe_error *error)
{
    if (!share || !problem)
        return ti_fail(error, TITHE_E_ARGUMENT, 0, "Data, and a place for the problem, are needed.");
    if (!share->workers || !share->local || !share->begin || !share->total_rows || !share->features)
        return ti_fail(error, TITHE_E_ARGUMENT, 0, "The data have to be split among workers first.");
    if (share->features > INT32_MAX) /* kernels count so far */
        return ti_fail(error, TITHE_E_ARGUMENT, 0, "%zu features are too many: the most is %d.",
                       share->features, INT32_MAX);
    if (isnan(l2) || l2 == (double)INFINITY)
        return ti_fail(error, TITHE_E_ARGUMENT, 0,
                       "l2 must be a number; a negative one asks for the default.");
    tithe_problem made = {.data = share, .comm = comm, .l2 = l2 < 0 ? 0 : l2};
    tithe_status status = tithe_model_find(spec, &made.model, made.params, error);
    if (!status) status = expect_labels(made.model, share, error);
    if (status) return status;
    made.size = made.model->size(made.params, share);
    ti_spec_write(made.spec, sizeof made.spec, made.model->name, made.model->params, made.params);
    if (l2 < 0 && made.model->curvature > 0) {
        double L;
        status = ti_smoothness(&made, pool, NULL, &L, error);
        if (status) return status;
        made.l2 = L / 1e4;
    }
    *problem = made;
    return TITHE_OK;
}

double tithe_problem_loss(const tithe_problem *p, struct tithe_pool *pool, const double *x, double *g,
                          size_t *correct)
{
    const row_sum all = {.problem = p, .weight = 1 / (double)p->data->total_rows};
    double sum;
    if (!ti_row_sum(&all, pool, x, g, &sum, correct)) return NAN;
    return sum + p->model->penalty(p, x, g);
}
