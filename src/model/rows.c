/* rows.c - see rows.h. */
#include "model/rows.h"

#include "kernels/kernels.h"

/* Two things want to stay in the second-level cache: the block and, when it is dense, x or g beside it. */
enum { BLOCK_BYTES = 1 << 16 };

size_t ti_rows_block(const tithe_data *data, const tithe_batch *batch, size_t first)
{
    const size_t left = batch->count - first;
    size_t rows = MAX_ROWS;
    if (!data->offsets) { /* sparse blocks are small enough as they are */
        const size_t fit = BLOCK_BYTES / sizeof(float) / (data->features + 1);
        rows = fit < ROWS_AT_ONCE ? ROWS_AT_ONCE
               : fit < MAX_ROWS   ? fit / ROWS_AT_ONCE * ROWS_AT_ONCE
                                  : MAX_ROWS;
    }
    return left < rows ? left : rows;
}

/* ---- sparse ---------------------------------------------------------------------------------------------- */

static void sparse_add(const uint32_t *indices, const float *values, size_t n, double scale, double *g)
{
    for (size_t i = 0; i < n; i++) g[indices[i]] += scale * (double)values[i];
}

/* ---- dense ---------------------------------------------------------------------------------------------- */

/* Up to four rows, and those that stand at the same places of the block after this one, which come next. */
typedef struct four {
    const float *rows[ROWS_AT_ONCE], *ahead[ROWS_AT_ONCE];
    unsigned count;
} four;

static four take_four(const tithe_data *data, const tithe_batch *batch, size_t first, size_t count,
                      size_t block)
{
    four f = {.count = (unsigned)(count < ROWS_AT_ONCE ? count : ROWS_AT_ONCE)};
    for (size_t r = 0; r < ROWS_AT_ONCE; r++) {
        const size_t at = first + (r < f.count ? r : 0), next = at + block;
        f.rows[r] = data->values + batch_row(batch, at) * data->features;
        f.ahead[r] = next < batch->count ? data->values + batch_row(batch, next) * data->features : f.rows[r];
    }
    return f;
}

/* ---- either --------------------------------------------------------------------------------------------- */

void ti_rows_dot(const tithe_data *data, const tithe_batch *batch, size_t first, size_t count,
                 const double *x, double *products)
{
    const kernels *k = ti_kernels();
    if (data->offsets) {
        for (size_t i = 0; i < count; i++) {
            const size_t row = batch_row(batch, first + i), at = data->offsets[row];
            products[i] =
                k->sparse_dot(data->indices + at, data->values + at, data->offsets[row + 1] - at, x);
        }
        return;
    }
    for (size_t i = 0; i < count; i += ROWS_AT_ONCE) {
        const four f = take_four(data, batch, first + i, count - i, count);
        k->rows_dot(f.rows, f.count, f.ahead, x, data->features, products + i);
    }
}

void ti_rows_add(const tithe_data *data, const tithe_batch *batch, size_t first, size_t count,
                 const double *scales, double *g)
{
    if (data->offsets) {
        for (size_t i = 0; i < count; i++) {
            const size_t row = batch_row(batch, first + i), at = data->offsets[row];
            sparse_add(data->indices + at, data->values + at, data->offsets[row + 1] - at, scales[i], g);
        }
        return;
    }
    const kernels *k = ti_kernels();
    for (size_t i = 0; i < count; i += ROWS_AT_ONCE) {
        const four f = take_four(data, batch, first + i, count - i, count);
        k->rows_add(f.rows, f.count, f.ahead, scales + i, data->features, g);
    }
}

double ti_row_square(const tithe_data *data, size_t row)
{
    const size_t begin = data->offsets ? data->offsets[row] : row * data->features;
    const size_t end = data->offsets ? data->offsets[row + 1] : begin + data->features;
    double sum = 0;
    for (size_t i = begin; i < end; i++) sum += (double)data->values[i] * (double)data->values[i];
    return sum;
}
