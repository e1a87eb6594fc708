/* smoothness.c - the largest eigenvalue of A'A/N, by the method of Lanczos.
 *
 * Power iteration looks at the last vector only; Lanczos takes the best of all vectors that the same products with A
 * have shown so far, for three vectors of memory, so it needs the square root of as many products. Both approach
 * the eigenvalue from below (up to rounding): what comes out is never too large, and as a rule right to 1e-10 of
 * itself, unless the limit of steps was reached. The vectors lose their orthogonality in time; that only makes copies of
 * eigenvalues that were found already, and never moves the largest (Paige 1971). */
#include <math.h>
#include <stdlib.h>

#include "base/rng.h"
#include "base/status.h"
#include "model/constants.h"
#include "model/sums.h"
#include "model/vectors.h"

enum {
    MAX_STEPS = 400,
    QUIET_STEPS = 6 /* without progress: one alone may be an accident */
};

typedef struct tridiagonal {
    double diagonal[MAX_STEPS], beside[MAX_STEPS]; /* beside[i]: between i and i + 1 */
    size_t size;
} tridiagonal;

/* Are all eigenvalues below x? The signs of the pivots of T - x tell (Sylvester). */
static bool all_below(const tridiagonal *t, double x)
{
    double pivot = t->diagonal[0] - x;
    for (size_t i = 1; i < t->size && pivot < 0; i++)
        pivot = t->diagonal[i] - x - t->beside[i - 1] * t->beside[i - 1] / pivot;
    return pivot < 0;
}

/* By halving an interval in which it lies: from what is known to the limit of Gershgorin. */
static double largest_eigenvalue(const tridiagonal *t, double known)
{
    double low = known, high = known;
    for (size_t i = 0; i < t->size; i++) {
        const double reach =
            t->diagonal[i] + (i ? t->beside[i - 1] : 0) + (i + 1 < t->size ? t->beside[i] : 0);
        if (reach > high) high = reach;
    }
    for (int i = 0; i < 200; i++) {
        const double middle = low + (high - low) / 2;
        if (middle <= low || middle >= high) break;
        *(all_below(t, middle) ? &high : &low) = middle;
    }
    return low;
}

/* Any vector will do that is not orthogonal to the one that is looked for; the same one each time. */
static void start_vector(double *v, size_t n)
{
    for (size_t i = 0; i < n; i++) v[i] = (double)(rng_mix((i + 1) * RNG_GOLDEN) >> 11) * 0x1p-52 - 1;
    const double norm = sqrt(ti_dot(n, v, v));
    for (size_t i = 0; i < n; i++) v[i] = norm > 0 ? v[i] / norm : 1;
}

static double lanczos(const row_sum *gram, tithe_pool *pool, const patience *asked, double *v, double *before,
                      double *product, bool *ok)
{
    const size_t n = gram->problem->size;
    tridiagonal t = {.size = 0};
    double largest = 0, b = 0, unused;
    start_vector(v, n);
    for (size_t i = 0; i < n; i++) before[i] = 0;
    for (int quiet = 0; t.size < MAX_STEPS && quiet < QUIET_STEPS && patience_lasts(asked);) {
        *ok = ti_row_sum(gram, pool, v, product, &unused, NULL);
        if (!*ok) return NAN;
        const double a = ti_dot(n, v, product);
        for (size_t i = 0; i < n; i++) product[i] = product[i] - a * v[i] - b * before[i];
        t.diagonal[t.size++] = a;
        const double found = largest_eigenvalue(&t, largest);
        quiet = found - largest <= 1e-13 * found ? quiet + 1 : 0;
        largest = found;
        b = sqrt(ti_dot(n, product, product));
        t.beside[t.size - 1] = b;
        if (!(b > 1e-14 * largest)) break; /* nothing new to be seen */
        for (size_t i = 0; i < n; i++) {
            before[i] = v[i];
            v[i] = product[i] / b;
        }
    }
    return largest;
}

tithe_status ti_expect_all_workers(const tithe_problem *p, tithe_error *error)
{
    if (p->data->local == p->data->workers) return TITHE_OK;
    return ti_fail(error, TITHE_E_ARGUMENT, 0,
                   "Rows of only %u of %u workers are here, but this needs all of them (state l2 where a "
                   "share is used).",
                   p->data->local, p->data->workers);
}

tithe_status ti_smoothness(const tithe_problem *p, struct tithe_pool *pool, const patience *asked, double *L,
                           tithe_error *error)
{
    *L = NAN;
    if (!(p->model->curvature > 0)) return TITHE_OK;
    const tithe_status status = ti_expect_all_workers(p, error);
    if (status) return status;
    const row_sum gram = {.problem = p, .loss = &ti_loss_product, .weight = 1 / (double)p->data->total_rows};
    double *memory = malloc(3 * p->size * sizeof *memory);
    bool ok = memory != NULL;
    if (ok)
        *L = p->model->curvature *
             lanczos(&gram, pool, asked, memory, memory + p->size, memory + 2 * p->size, &ok);
    free(memory);
    return ok ? TITHE_OK : ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory to find L.");
}
