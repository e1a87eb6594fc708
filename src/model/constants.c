/* constants.c - the numbers that step sizes and rates are made of.
 *
 * With N rows and n workers, f_i is the mean over the rows j of worker i of f_ij = c_i loss_ij + penalty, where c_i =
 * n m_i / N is 1 when all shares are equally long. Sampling draws the loss alone; the penalty is always exact. */
#include "model/constants.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "comm/comm.h"
#include "model/rows.h"
#include "model/sums.h"
#include "model/vectors.h"

tithe_status ti_row_constants(const tithe_problem *p, tithe_constants *constants, tithe_error *error)
{
    double all = 0, max[] = {0, 0}; /* of a row, and of a worker's mean */
    if (!(p->model->curvature > 0)) return TITHE_OK;
    for (unsigned worker = 0; worker < p->data->local; worker++) {
        const tithe_batch rows = ti_worker_rows(p->data, worker, 1);
        double sum = 0;
        for (size_t i = 0; i < rows.count; i++) {
            const double smoothness = p->model->curvature * ti_row_square(p->data, rows.first + i);
            sum += smoothness;
            max[0] = fmax(max[0], smoothness);
        }
        all += sum;
        max[1] = fmax(max[1], sum / (double)rows.count);
    }
    tithe_status status = p->comm ? ti_comm_fold(p->comm, COMM_SUM, &all, 1, error) : TITHE_OK;
    if (p->comm && !status) status = ti_comm_fold(p->comm, COMM_MAX, max, 2, error);
    if (status) return status;
    constants->L_US = max[0];
    constants->L_IS = max[1];
    constants->L_mean = all / (double)p->data->total_rows;
    return TITHE_OK;
}

tithe_status tithe_problem_constants(const tithe_problem *p, struct tithe_pool *pool,
                                     tithe_constants *constants, tithe_error *error)
{
    tithe_constants found = {NAN, NAN, NAN, NAN, NAN, NAN, NAN};
    tithe_status status = ti_expect_all_workers(p, error);
    if (!status) status = ti_smoothness(p, pool, NULL, &found.L, error);
    if (!status) status = ti_row_constants(p, &found, error);
    if (!status) *constants = found;
    return status;
}

/* ---- noise at the optimum -------------------------------------------------------------------------------- */

/* Workers that are looked at side by side, with memory for each, and what was found for every worker. */
typedef struct noise_wave {
    const tithe_problem *p;
    const linear_loss *loss;
    const double *x;
    const double *weights; /* of a row that is drawn; NULL: nobody asks */
    unsigned first;
    double *gradients; /* p->size for each of the wave */
    double *sigma, *sigma_IS, *sigma_own, *zeta;
} noise_wave;

/* Variances as E|v|^2 - |E v|^2. A row's gradient is slope * a. Drawn with P(j) = L_j / sum L and weighted with
 * 1/(m P(j)), where L_j = curvature |a_j|^2, its square has the mean (1/m) sum of (mean L / L_j) slope^2 |a_j|^2. With any
 * P(j) and the weight w_j = (workers/N)/P(j) that makes up for it, the mean is (workers/N) sum of w_j slope^2 |a_j|^2. */
static void look_at_worker(void *context, unsigned slot)
{
    const noise_wave *w = context;
    const tithe_problem *p = w->p;
    const unsigned worker = w->first + slot;
    const double total = (double)p->data->total_rows, workers = (double)p->data->workers;
    const tithe_batch rows = ti_worker_rows(p->data, worker, workers / total);
    const double m = (double)rows.count, share = workers * m / total;
    double *g = w->gradients + slot * p->size;

    memset(g, 0, p->size * sizeof *g);
    ti_linear_add(w->loss, p->data, &rows, w->x, g, NULL);
    const double mean_square = ti_dot(p->size, g, g);
    p->model->penalty(p, w->x, g);
    w->zeta[worker] = ti_dot(p->size, g, g);

    double products[MAX_ROWS], losses[MAX_ROWS], slopes[MAX_ROWS];
    double squares = 0, slope_squares = 0, lengths = 0, weighted = 0;
    for (size_t first = 0, count; first < rows.count; first += count) {
        count = ti_rows_block(p->data, &rows, first);
        ti_rows_dot(p->data, &rows, first, count, w->x, products);
        w->loss->values(products, p->data->labels + rows.first + first, count, losses, slopes);
        for (size_t i = 0; i < count; i++) {
            const double length = ti_row_square(p->data, rows.first + first + i);
            squares += slopes[i] * slopes[i] * length;
            lengths += length;
            if (w->weights) weighted += w->weights[rows.first + first + i] * slopes[i] * slopes[i] * length;
            if (length > 0) slope_squares += slopes[i] * slopes[i];
        }
    }
    /* Rounding may leave a variance of nothing slightly negative. */
    w->sigma[worker] = fmax(0, share * share * squares / m - mean_square);
    w->sigma_own[worker] = fmax(0, rows.weight * weighted - mean_square);
    w->sigma_IS[worker] = fmax(0, share * share * (lengths / m) * (slope_squares / m) - mean_square);
}

static double sum_of(const double *values, unsigned n)
{
    double sum = 0;
    for (unsigned i = 0; i < n; i++) sum += values[i];
    return sum;
}

tithe_status ti_noise(const tithe_problem *p, struct tithe_pool *pool, const double *optimum,
                      const double *weights, tithe_constants *constants, double *sigma, tithe_error *error)
{
    tithe_status status = ti_expect_all_workers(p, error);
    if (status) return status;
    const linear_loss *loss = p->model->linear;
    if (!loss) return TITHE_OK;
    const unsigned workers = p->data->local, threads = tithe_pool_threads(pool),
                   slots = workers < threads ? workers : threads;
    double *sums = malloc(4 * (size_t)workers * sizeof *sums);
    noise_wave w = {.p = p, .loss = loss, .x = optimum, .weights = weights};
    w.gradients = malloc(slots * p->size * sizeof *w.gradients);
    if (sums && w.gradients) {
        w.sigma = sums;
        w.sigma_IS = sums + workers;
        w.zeta = sums + 2 * (size_t)workers;
        w.sigma_own = sums + 3 * (size_t)workers;
        for (; w.first < workers; w.first += slots)
            ti_pool_run(pool, workers - w.first < slots ? workers - w.first : slots, look_at_worker, &w);
        double found[] = {sum_of(w.sigma, workers), sum_of(w.sigma_IS, workers), sum_of(w.zeta, workers),
                          sum_of(w.sigma_own, workers)};
        constants->sigma_star = found[0] / p->data->workers;
        constants->sigma_star_IS = found[1] / p->data->workers;
        constants->zeta_star = found[2] / p->data->workers;
        *sigma = weights ? found[3] / p->data->workers : constants->sigma_star;
    }
    const bool ok = sums && w.gradients;
    free(sums);
    free(w.gradients);
    if (status) return status;
    return ok ? TITHE_OK : ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory to find the noise.");
}

tithe_status tithe_problem_noise(const tithe_problem *p, struct tithe_pool *pool, const double *optimum,
                                 tithe_constants *constants, tithe_error *error)
{
    double sigma;
    return ti_noise(p, pool, optimum, NULL, constants, &sigma, error);
}
