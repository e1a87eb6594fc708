/* linear.h - losses that see a row only through its product with x. */
#ifndef LEARN_LINEAR_H
#define LEARN_LINEAR_H

#include "tithe/model.h"

typedef tithe_linear_loss linear_loss;

extern const linear_loss ti_loss_logistic, ti_loss_squares;
/* product^2 / 2, whatever the label: its gradient is the product with A'A, weights in between. */
extern const linear_loss ti_loss_product;

/* tithe_model.add for such a loss. */
double ti_linear_add(const linear_loss *loss, const tithe_data *data, const tithe_batch *batch,
                     const double *x, double *g, size_t *correct);

size_t ti_linear_size(const double *params, const tithe_data *data);

/* Penalty (l2/2) |x|^2. */
double ti_ridge(const tithe_problem *p, const double *x, double *g);

#endif
