/* linear.c - see linear.h. */
#include "model/linear.h"

#include "model/rows.h"
#include "model/vectors.h"

double ti_linear_add(const linear_loss *loss, const tithe_data *data, const tithe_batch *batch,
                     const double *x, double *g, size_t *correct)
{
    double products[MAX_ROWS], labels[MAX_ROWS], losses[MAX_ROWS], slopes[MAX_ROWS], sum = 0;
    size_t right = 0;
    for (size_t first = 0, count; first < batch->count; first += count) {
        count = ti_rows_block(data, batch, first);
        ti_rows_dot(data, batch, first, count, x, products);
        for (size_t i = 0; i < count; i++) labels[i] = data->labels[batch_row(batch, first + i)];
        loss->values(products, labels, count, losses, slopes);
        for (size_t i = 0; i < count; i++) {
            const double weight = batch_weight(batch, first + i);
            sum += weight * losses[i];
            slopes[i] *= weight;
        }
        if (g) ti_rows_add(data, batch, first, count, slopes, g);
        if (correct && loss->is_right)
            for (size_t i = 0; i < count; i++) right += loss->is_right(products[i], labels[i]);
    }
    if (correct) *correct = right;
    return sum;
}

size_t ti_linear_size(const double *params, const tithe_data *data)
{
    (void)params;
    return data->features;
}

double ti_ridge(const tithe_problem *p, const double *x, double *g)
{
    if (p->l2 == 0) return 0; /* also where |x|^2 overflows */
    return p->l2 / 2 * (g ? ti_add_dot(p->size, p->l2, x, g) : ti_dot(p->size, x, x));
}

static void product_values(const double *products, const double *labels, size_t n, double *losses,
                           double *slopes)
{
    (void)labels;
    for (size_t i = 0; i < n; i++) {
        losses[i] = products[i] * products[i] / 2;
        slopes[i] = products[i];
    }
}

static void product_curvatures(const double *products, const double *labels, size_t n, double *out)
{
    (void)products, (void)labels;
    for (size_t i = 0; i < n; i++) out[i] = 1;
}

const linear_loss ti_loss_product = {product_values, product_curvatures, NULL};
