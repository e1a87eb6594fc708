/* gen.c - gen:sparse and gen:dense: rows of length about 1, labels from a planted model.
 *
 * Row i stands at t = -1 ... 1 along the file. With bell-shaped values a and a planted model w + heterogeneity * t * v,
 *
 *     margin = a.w + heterogeneity * t * a.v,      number = margin + noise * bell,      label = its sign
 *
 * so that with heterogeneity 0 all rows are alike, and with more a contiguous split gives each worker an optimum of
 * its own. The margin has variance 1 when heterogeneity is 0: noise is in that unit. */
#include <stdlib.h>

#include "base/status.h"
#include "data/data.h"
#include "data/draw.h"

enum { SPARSE_ROWS, SPARSE_FEATURES, SPARSE_NOISE, SPARSE_HETEROGENEITY, SPARSE_SEED, SPARSE_DENSITY };

/* clang-format off */
#define GEN_PARAMS(rows_, features_)                                                                          \
    {.name = "rows", .doc = "how many rows", .fallback = (rows_), .min = 2, .max = 1e9, .whole = true},        \
    {.name = "features", .doc = "how many features", .fallback = (features_), .min = 1, .max = 1e9, .whole = true}, \
    {.name = "noise", .doc = "of the labels: 0 none, 1 as much as the planted model says", .fallback = 0.1,    \
     .max = 1000},                                                                                             \
    {.name = "heterogeneity", .doc = "0: all rows alike; more: the planted model drifts along the file",       \
     .max = 1000},                                                                                             \
    {.name = "seed", .doc = "another seed is another set", .max = 4294967295.0, .whole = true}
#define GEN_END {.name = NULL}
/* clang-format on */

typedef struct gen_work {
    size_t rows, features;
    double noise, heterogeneity, seed;
    double each; /* values in a row, on average */
    tithe_task task;
    tithe_key model, drift;
} gen_work;

static gen_work start(const data_request *r, double density)
{
    const double *p = r->params;
    gen_work w = {.rows = (size_t)p[SPARSE_ROWS],
                  .features = (size_t)p[SPARSE_FEATURES],
                  .noise = p[SPARSE_NOISE],
                  .heterogeneity = p[SPARSE_HETEROGENEITY],
                  .seed = p[SPARSE_SEED],
                  .task = r->options->task};
    w.each = density * (double)w.features;
    w.model = draw_start(w.seed, DRAW_MODEL, 0).key;
    w.drift = draw_start(w.seed, DRAW_OTHER_MODEL, 0).key;
    return w;
}

/* `own` and `drifting` are the products of the row with the two planted models. */
static double label_of(const gen_work *w, size_t row, double own, double drifting)
{
    draw random = draw_start(w->seed, DRAW_NOISE, row);
    const double t = (double)(2 * row + 1) / (double)w->rows - 1;
    const double number = own + w->heterogeneity * t * drifting + w->noise * draw_bell(&random);
    return w->task == TITHE_TASK_NUMBER ? number : number > 0 ? 1 : -1;
}

/* ---- sparse ---------------------------------------------------------------------------------------------------- */

/* floor or ceil of the average, so that the average comes out. */
static size_t length_of(const gen_work *w, draw *random)
{
    const size_t n = (size_t)(w->each + draw_unit(random));
    return n < w->features ? n : w->features;
}

/* One feature from each of n equal stretches: distinct, ascending, and each as likely as the other. */
static void fill_sparse_row(const gen_work *w, size_t row, data_rows *d)
{
    draw random = draw_start(w->seed, DRAW_ROWS, row);
    const size_t n = length_of(w, &random);
    const double scale = 1 / sqrt(w->each > 1 ? w->each : 1);
    double own = 0, drifting = 0;
    for (size_t k = 0; k < n; k++) {
        const size_t first = k * w->features / n, next = (k + 1) * w->features / n;
        const uint32_t index = (uint32_t)(first + draw_below(&random, (uint32_t)(next - first)));
        const double value = draw_bell(&random) * scale;
        d->indices[d->count] = index;
        d->values[d->count++] = (float)value;
        own += value * bell_of_bits(rng_at(w->model, index));
        if (w->heterogeneity > 0) drifting += value * bell_of_bits(rng_at(w->drift, index));
    }
    d->offsets[row + 1] = d->count;
    d->labels[row] = label_of(w, row, own, drifting);
}

static tithe_status make_sparse(const data_request *r, data_rows *d, tithe_error *error)
{
    const gen_work w = start(r, r->params[SPARSE_DENSITY]);
    size_t count = 0;
    for (size_t i = 0; i < w.rows; i++) {
        draw random = draw_start(w.seed, DRAW_ROWS, i);
        count += length_of(&w, &random);
    }
    const tithe_status status = ti_data_make_room(d, w.rows, count, false, error);
    if (status) return status;
    for (size_t i = 0; i < w.rows; i++) fill_sparse_row(&w, i, d);
    d->rows = w.rows;
    d->features = w.features;
    return TITHE_OK;
}

static const tithe_param sparse_params[] = {
    GEN_PARAMS(10000, 1000),
    {.name = "density", .doc = "share of the values that are there", .fallback = 0.01, .max = 1},
    GEN_END,
};

const data_maker ti_data_gen_sparse = {
    {"gen:sparse", "sparse rows of length about 1, labels from a planted model", "-", sparse_params},
    make_sparse};

/* ---- dense ------------------------------------------------------------------------------------------------------ */

static void fill_dense_row(const gen_work *w, size_t row, const double *models, data_rows *d)
{
    draw random = draw_start(w->seed, DRAW_ROWS, row);
    const double scale = 1 / sqrt((double)w->features);
    float *values = d->values + row * w->features;
    double own = 0, drifting = 0;
    for (size_t j = 0; j < w->features; j++) {
        const double value = draw_bell(&random) * scale;
        values[j] = (float)value;
        own += value * models[2 * j];
        drifting += value * models[2 * j + 1];
    }
    d->labels[row] = label_of(w, row, own, drifting);
}

static tithe_status make_dense(const data_request *r, data_rows *d, tithe_error *error)
{
    const gen_work w = start(r, 1);
    if (w.rows > SIZE_MAX / sizeof(float) / w.features)
        return ti_fail(error, TITHE_E_MEMORY, 0, "%zu rows of %zu features do not fit in memory.", w.rows,
                       w.features);
    const tithe_status status = ti_data_make_room(d, w.rows, w.rows * w.features, true, error);
    if (status) return status;
    double *models = calloc(2 * w.features, sizeof *models); /* both, side by side */
    if (!models)
        return ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory for %zu features.", w.features);
    for (size_t j = 0; j < w.features; j++) {
        models[2 * j] = bell_of_bits(rng_at(w.model, j));
        models[2 * j + 1] = bell_of_bits(rng_at(w.drift, j));
    }
    for (size_t i = 0; i < w.rows; i++) fill_dense_row(&w, i, models, d);
    free(models);
    d->rows = w.rows;
    d->features = w.features;
    d->count = w.rows * w.features;
    return TITHE_OK;
}

static const tithe_param dense_params[] = {GEN_PARAMS(10000, 100), GEN_END};

const data_maker ti_data_gen_dense = {
    {"gen:dense", "dense rows of length about 1, labels from a planted model", "-", dense_params},
    make_dense};
