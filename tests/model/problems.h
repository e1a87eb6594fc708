/* problems.h - small data sets made by hand, models on them, and what they should come to, in long double. */
#ifndef TESTS_MODEL_PROBLEMS_H
#define TESTS_MODEL_PROBLEMS_H

#include "kernels/kernels.h"
#include "support.h"
#include "tithe/model.h"
#include "tithe/pool.h"

/* ---- data ----------------------------------------------------------------------------------------------- */

typedef struct data_wanted {
    size_t rows, features;
    unsigned workers;
    tithe_task task;
    bool dense;
    double density; /* of a sparse one; 0: 0.3 */
    double scale;   /* of the values; 0: 1 */
    uint64_t seed;
} data_wanted;

static inline double any_label(dice *d, tithe_task task)
{
    if (task == TITHE_TASK_BINARY) return roll(d) & 1 ? 1 : -1;
    return task == TITHE_TASK_NUMBER ? roll_gauss(d) : (double)roll_below(d, 4);
}

/* Dense and sparse hold the same numbers when all else is equal: zeros are left out. Row 1 is all zeros. */
static inline tithe_data *data_make(data_wanted w)
{
    dice d = {w.seed + 5};
    const double density = w.density > 0 ? w.density : 0.3, scale = w.scale > 0 ? w.scale : 1;
    tithe_data *data = calloc(1, sizeof *data);
    float *values = malloc(w.rows * w.features * sizeof *values);
    uint32_t *indices = malloc(w.rows * w.features * sizeof *indices);
    size_t *offsets = malloc((w.rows + 1) * sizeof *offsets),
           *begin = malloc((w.workers + 1) * sizeof *begin);
    double *labels = malloc(w.rows * sizeof *labels);
    assert_true(data && values && indices && offsets && begin && labels);
    size_t at = 0;
    for (size_t i = 0; i < w.rows; i++) {
        offsets[i] = at;
        for (size_t j = 0; j < w.features; j++) {
            const double value = scale * roll_gauss(&d);
            const bool there = roll_unit(&d) < density && i != 1;
            if (!there && !w.dense) continue;
            indices[at] = (uint32_t)j;
            values[at++] = there ? (float)value : 0;
        }
        labels[i] = any_label(&d, w.task);
    }
    offsets[w.rows] = at;
    begin[0] = 0;
    for (unsigned k = 0; k < w.workers; k++)
        begin[k + 1] = begin[k] + w.rows / w.workers + (k < w.rows % w.workers);
    if (w.dense) {
        free(indices);
        free(offsets);
        indices = NULL;
        offsets = NULL;
    }
    *data = (tithe_data){.rows = w.rows,
                         .features = w.features,
                         .nonzeros = at,
                         .offsets = offsets,
                         .indices = indices,
                         .values = values,
                         .labels = labels,
                         .classes = w.task == TITHE_TASK_CLASSES ? 4 : 0,
                         .total_rows = w.rows,
                         .workers = w.workers,
                         .local = w.workers,
                         .begin = begin,
                         .hash = w.seed * 77 + w.rows};
    return data;
}

static inline void data_drop(tithe_data *data)
{
    free((void *)data->offsets);
    free((void *)data->indices);
    free((void *)data->values);
    free((void *)data->labels);
    free((void *)data->begin);
    free(data);
}

static inline double value_at(const tithe_data *data, size_t row, size_t column)
{
    if (!data->offsets) return (double)data->values[row * data->features + column];
    for (size_t i = data->offsets[row]; i < data->offsets[row + 1]; i++)
        if (data->indices[i] == column) return (double)data->values[i];
    return 0;
}

/* ---- problems ------------------------------------------------------------------------------------------- */

static inline tithe_problem problem_of(const char *spec, const tithe_data *data, double l2)
{
    tithe_problem p;
    tithe_error error = {0};
    if (tithe_problem_make(spec, data, l2, NULL, NULL, &p, &error)) fail_msg("%s: %s", spec, error.text);
    return p;
}

static inline tithe_pool *pool_of(unsigned threads)
{
    tithe_pool *pool = NULL;
    assert_int_equal(tithe_pool_create(threads, &pool, NULL), TITHE_OK);
    return pool;
}

static inline double *numbers(size_t n)
{
    double *x = calloc(n + 1, sizeof *x);
    assert_non_null(x);
    return x;
}

static inline double *random_point(size_t n, double scale, uint64_t seed)
{
    dice d = {seed + 1000};
    double *x = numbers(n);
    for (size_t i = 0; i < n; i++) x[i] = scale * roll_gauss(&d);
    return x;
}

/* ---- what a linear model should come to ------------------------------------------------------------------ */

static inline long double true_product(const tithe_data *data, size_t row, const double *x)
{
    long double sum = 0;
    for (size_t j = 0; j < data->features; j++)
        sum += (long double)value_at(data, row, j) * (long double)x[j];
    return sum;
}

/* Loss of a row, and its derivative along the product. */
static inline long double true_loss(const tithe_problem *p, size_t row, const double *x, long double *slope)
{
    const long double a = true_product(p->data, row, x), y = (long double)p->data->labels[row];
    if (p->model->task == TITHE_TASK_NUMBER) {
        *slope = a - y;
        return (a - y) * (a - y) / 2;
    }
    *slope = -y / (1 + expl(y * a));
    return y * a > 0 ? log1pl(expl(-y * a)) : -y * a + log1pl(expl(y * a));
}

/* f over rows [from, to), each times weight, and the penalty; g takes the gradient. */
static inline long double true_sum(const tithe_problem *p, size_t from, size_t to, long double weight,
                                   const double *x, long double *g)
{
    long double sum = 0, slope;
    const long double l2 = (long double)p->l2;
    for (size_t j = 0; j < p->size; j++) g[j] = 0;
    for (size_t i = from; i < to; i++) {
        sum += weight * true_loss(p, i, x, &slope);
        for (size_t j = 0; j < p->size; j++) g[j] += weight * slope * (long double)value_at(p->data, i, j);
    }
    for (size_t j = 0; j < p->size; j++) {
        const long double v = (long double)x[j];
        sum += p->model->convex ? l2 / 2 * v * v : l2 * v * v / (1 + v * v);
        g[j] += p->model->convex ? l2 * v : l2 * 2 * v / ((1 + v * v) * (1 + v * v));
    }
    return sum;
}

#endif
