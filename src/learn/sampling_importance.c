/* sampling_importance.c - rows in proportion to L_ij, up to a factor the square of their length. Key: danilova2022. */
#include "learn/estimate.h"
#include "learn/rows.h"

static tithe_status weigh(const tithe_data *data, const char *path, double *p, tithe_error *error)
{
    (void)path, (void)error;
    for (size_t r = 0; r < data->rows; r++) p[r] = ti_row_square(data, r);
    return TITHE_OK;
}

static double largest_mean(const tithe_constants *c)
{
    return c->L_IS;
}

const tithe_sampling ti_sampling_importance = {
    .name = "importance",
    .summary = "rows in proportion to their smoothness constants",
    .paper = "danilova2022",
    .weigh = weigh,
    .script_L = largest_mean,
};
