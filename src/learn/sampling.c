/* sampling.c - which row a worker looks at, whatever the numbers by which it is drawn.
 *
 * A row that is drawn with probability p weighs (workers/N)/p, so that the estimate is unbiased whatever p is. */
#include <stdlib.h>

#include "learn/estimate.h"

/* ---- drawing ------------------------------------------------------------------------------------------- */

uint32_t ti_sampling_draw(const estimate *s, unsigned local, unsigned draw, double *weight)
{
    const tithe_data *data = s->problem->data;
    const size_t first = data->begin[local], count = data->begin[local + 1] - first;
    const tithe_key key = ti_rng_key(s->seed, s->step, data->first + local, 0, RNG_ROWS);
    const uint64_t random = rng_at(key, draw);
    /* The upper half picks a column, the lower half decides whether to go to its alias. */
    const uint32_t column = (uint32_t)((random >> 32) * count >> 32);
    const double u = (double)(uint32_t)random * 0x1p-32;
    size_t row = first + column;
    if (s->rows.accept && u >= s->rows.accept[row]) row = first + s->rows.alias[row];
    const double share = (double)data->workers / (double)data->total_rows;
    *weight = s->rows.weights ? s->rows.weights[row] : share * (double)count;
    return (uint32_t)row;
}

/* ---- tables -------------------------------------------------------------------------------------------- */

/* Walker's method: columns of equal width, each shared by at most two rows. */
static void fill_alias(const double *p, size_t count, double total, double *accept, uint32_t *alias,
                       uint32_t *small, uint32_t *large)
{
    size_t smalls = 0, larges = 0;
    for (size_t i = 0; i < count; i++) {
        accept[i] = p[i] * (double)count / total;
        alias[i] = (uint32_t)i;
        if (accept[i] < 1)
            small[smalls++] = (uint32_t)i;
        else
            large[larges++] = (uint32_t)i;
    }
    while (smalls && larges) {
        const uint32_t low = small[--smalls], high = large[larges - 1];
        alias[low] = high;
        accept[high] -= 1 - accept[low];
        if (accept[high] < 1) {
            larges--;
            small[smalls++] = high;
        }
    }
    while (larges) accept[large[--larges]] = 1; /* what is left is 1 up to rounding */
    while (smalls) accept[small[--smalls]] = 1;
}

static tithe_status fill_tables(const tithe_problem *problem, const double *p, sampling *s,
                                tithe_error *error)
{
    const tithe_data *data = problem->data;
    if (data->rows == 0) return TITHE_OK; /* nothing to draw */
    uint32_t *stack = malloc(2 * data->rows * sizeof *stack);
    s->accept = malloc(data->rows * sizeof *s->accept);
    s->alias = malloc(data->rows * sizeof *s->alias);
    s->weights = malloc(data->rows * sizeof *s->weights);
    if (!stack || !s->accept || !s->alias || !s->weights) {
        free(stack);
        return ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory to draw rows by weight.");
    }
    const double share = (double)data->workers / (double)data->total_rows;
    tithe_status status = TITHE_OK;
    for (unsigned i = 0; i < data->local && !status; i++) {
        const size_t first = data->begin[i], count = data->begin[i + 1] - first;
        double total = 0;
        for (size_t j = first; j < first + count; j++) total += p[j];
        if (!(total > 0)) {
            status = ti_fail(error, TITHE_E_DATA, i,
                             "All rows of worker %u have weight 0: it cannot draw one.", data->first + i);
            break;
        }
        fill_alias(p + first, count, total, s->accept + first, s->alias + first, stack, stack + data->rows);
        for (size_t j = first; j < first + count; j++) s->weights[j] = p[j] > 0 ? share * total / p[j] : 0;
    }
    free(stack);
    return status;
}

tithe_status ti_sampling_make(const tithe_sampling *kind, const char *spec, const tithe_problem *problem,
                              sampling *s, tithe_error *error)
{
    *s = (sampling){.kind = kind};
    if (!kind->weigh) return TITHE_OK;
    double *p = malloc((problem->data->rows ? problem->data->rows : 1) * sizeof *p);
    if (!p) return ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory to draw rows by weight.");
    tithe_status status = kind->weigh(problem->data, ti_sampling_path(kind, spec), p, error);
    if (!status) status = fill_tables(problem, p, s, error);
    free(p);
    if (status) ti_sampling_free(s);
    return status;
}

void ti_sampling_free(sampling *s)
{
    free(s->accept);
    free(s->alias);
    free(s->weights);
    *s = (sampling){0};
}
