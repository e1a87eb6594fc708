/* sums.h - sums over all rows, on the threads of a pool and, of numbers, in several processes, that depend on neither.
 *
 * The rows of each worker are summed on their own, and the workers' sums are added up in rank order. */
#ifndef MODEL_SUMS_H
#define MODEL_SUMS_H

#include "base/pool.h"
#include "model/linear.h"

typedef struct row_sum {
    const tithe_problem *problem;
    const linear_loss *loss; /* instead of the model's own; NULL: the model's */
    const double *weights;   /* of all rows here; NULL: `weight` */
    double weight;
} row_sum;

/* Sets g (NULL: not wanted) to the sum of weight * gradient over the rows here, without penalty, and *sum to that of the losses,
 * of all processes. False when memory ran out, or another process was lost. */
bool ti_row_sum(const row_sum *s, tithe_pool *pool, const double *x, double *g, double *sum, size_t *correct);

/* The rows of worker `local` (counted from the first one that is here), `weight` each. */
tithe_batch ti_worker_rows(const tithe_data *data, unsigned local, double weight);

size_t ti_scratch_bytes(const tithe_problem *p); /* that the model's add asks for, rounded up to lines */

#endif
