/* rows.h - products with the rows of a data set, dense or sparse, for any choice of rows.
 *
 * Rows come in blocks: all products of a block first, then what a loss makes of them, then the sum. A block is short
 * enough that its rows are still in the cache when they are needed again. Blocks change no bit: each product is a sum
 * of its own, and rows are added one after the other. */
#ifndef MODEL_ROWS_H
#define MODEL_ROWS_H

#include "tithe/model.h"

enum { MAX_ROWS = 64 }; /* in a block */

static inline size_t batch_row(const tithe_batch *batch, size_t i)
{
    return batch->rows ? batch->rows[i] : batch->first + i;
}

static inline double batch_weight(const tithe_batch *batch, size_t i)
{
    return batch->weights ? batch->weights[i] : batch->weight;
}

/* How many rows from place `first` of the batch on make a good block: 1 to MAX_ROWS, or what is left. */
size_t ti_rows_block(const tithe_data *data, const tithe_batch *batch, size_t first);

/* products[i] = (row at place first + i of the batch) . x */
void ti_rows_dot(const tithe_data *data, const tithe_batch *batch, size_t first, size_t count,
                 const double *x, double *products);
/* g += scales[i] * (row at place first + i) */
void ti_rows_add(const tithe_data *data, const tithe_batch *batch, size_t first, size_t count,
                 const double *scales, double *g);

double ti_row_square(const tithe_data *data, size_t row); /* |a|^2 */

#endif
