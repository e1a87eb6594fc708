/* linear.h - losses that see a row only through its product with x. */
#ifndef LEARN_LINEAR_H
#define LEARN_LINEAR_H

#include "tithe/model.h"

/* What a loss makes of products and labels. */
typedef struct linear_loss {
    void (*values)(const double *products, const double *labels, size_t n, double *losses, double *slopes);
    /* The second derivatives along the product, for Newton's method. */
    void (*curvatures)(const double *products, const double *labels, size_t n, double *out);
    bool (*is_right)(double product, double label); /* NULL: there is no right and wrong */
} linear_loss;

extern const linear_loss ti_loss_logistic, ti_loss_squares;
/* product^2 / 2, whatever the label: its gradient is the product with A'A, weights in between. */
extern const linear_loss ti_loss_product;

/* The loss of a model, or NULL when it sees more of a row than the product. */
const linear_loss *ti_linear_loss(const tithe_model *model);

/* tithe_model.add for such a loss. */
double ti_linear_add(const linear_loss *loss, const tithe_data *data, const tithe_batch *batch,
                     const double *x, double *g, size_t *correct);

size_t ti_linear_size(const double *params, const tithe_data *data);

/* Penalty (l2/2) |x|^2. */
double ti_ridge(const tithe_problem *p, const double *x, double *g);

#endif
