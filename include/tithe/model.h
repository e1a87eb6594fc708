/* model.h - what is learned: losses, their gradients, and the constants that the theory asks for.
 *
 * The objective is f(x) = (1/N) sum over all N rows of loss(row, x) + penalty(x). Worker i holds
 * f_i(x) = (workers/N) sum over its own rows + penalty(x), so that f is exactly the mean of the f_i, however the
 * rows were split. Iterates and sums are double; rows are float.
 * Part of the trainer (libtithe_learn). */
#ifndef TITHE_MODEL_H
#define TITHE_MODEL_H

#include "tithe/data.h"
#include "tithe/variant.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tithe_problem;
struct tithe_comm; /* comm.h */

/* Some rows of the local data with a weight each: the unit in which models compute. */
typedef struct tithe_batch {
    const uint32_t *rows; /* NULL: rows first, first + 1, ... */
    size_t first, count;
    const double *weights; /* NULL: `weight` for all of them */
    double weight;
} tithe_batch;

/* What a loss that sees a row only through its product with x makes of products and labels. */
typedef struct tithe_linear_loss {
    void (*values)(const double *products, const double *labels, size_t n, double *losses, double *slopes);
    /* The second derivatives along the product, for Newton's method. */
    void (*curvatures)(const double *products, const double *labels, size_t n, double *out);
    bool (*is_right)(double product, double label); /* NULL: there is no right and wrong */
} tithe_linear_loss;

typedef struct tithe_model {
    const char *name, *summary, *paper;
    const tithe_param *params;
    tithe_task task;
    bool convex;
    /* Most that the second derivative of a row's loss along its a.x can be (1/4, 1); 0: no such bound is known. */
    double curvature;
    /* Of the penalty: its second derivative is at most so many times l2. */
    double penalty_curvature;
    const tithe_linear_loss *linear; /* NULL: it sees more of a row than the product */

    size_t (*size)(const double *params, const tithe_data *data); /* numbers in x */
    /* Lengths of the layers, at most `room` of them: they add up to size(). Returns how many. NULL: one layer. */
    size_t (*layers)(const double *params, const tithe_data *data, size_t *lengths, size_t room);
    void (*start)(const struct tithe_problem *p, uint64_t seed, double *x); /* NULL: x = 0 */
    size_t (*scratch)(const struct tithe_problem *p);                       /* bytes for add; NULL: none */
    /* Add sum of weight * gradient of each row to g (NULL: only the loss is wanted) and return the weighted sum of
     * the losses. `correct` (NULL: not wanted) is set to how many rows were predicted right (0 where the task knows
     * no right and wrong: TITHE_TASK_NUMBER). */
    double (*add)(const struct tithe_problem *p, const tithe_batch *batch, const double *x, double *g,
                  void *scratch, size_t *correct);
    /* Add the gradient of the penalty to g (NULL: not wanted) and return the penalty. */
    double (*penalty)(const struct tithe_problem *p, const double *x, double *g);
} tithe_model;

TITHE_API const tithe_model *const *tithe_models(void); /* ends with NULL */

/* A model on a share of data. Nothing in it changes once it was made, so threads may share it. */
typedef struct tithe_problem {
    const tithe_model *model;
    double params[TITHE_MAX_PARAMS];
    const tithe_data *data;
    /* The other processes, with which losses are added up, if only the rows of some workers are here; NULL: all are. */
    struct tithe_comm *comm;
    double l2;
    size_t size; /* numbers in x */
    char spec[128];
} tithe_problem;

/* spec: "logistic", "mlp:hidden=64". l2 < 0 asks for the default, L/1e4 of the loss without it (0 where the model has
 * no L), for which all workers must be here. The data must have been opened for the model's task, and split. */
TITHE_API tithe_status tithe_model_find(const char *spec, const tithe_model **model, double *params,
                                        tithe_error *error);
TITHE_API tithe_status tithe_problem_make(const char *spec, const tithe_data *share, double l2,
                                          struct tithe_comm *comm, struct tithe_pool *pool,
                                          tithe_problem *problem, tithe_error *error);

/* Loss over all rows, penalty included, and its gradient over the rows here (NULL: not wanted), summed worker by worker in rank
 * order, so the bits do not depend on the pool. NAN when memory ran out, or a process failed. */
TITHE_API double tithe_problem_loss(const tithe_problem *p, struct tithe_pool *pool, const double *x,
                                    double *g, size_t *correct);

/* Constants of the theory, l2 not counted (the step-size formulas add it). NAN where the model has none. Only for a
 * problem that holds all workers, as is everything below. */
typedef struct tithe_constants {
    double L; /* smoothness of the mean loss: curvature * sigma_max(A)^2 / N, by the method of Lanczos, which
                       * like power iteration comes from below: right to 1e-10 as a rule, never too large */
    double L_mean;                /* mean over all rows of L_ij = curvature * |a_ij|^2 */
    double L_US;                  /* largest L_ij */
    double L_IS;                  /* largest over workers of the mean of L_ij */
    double sigma_star, zeta_star; /* squared: noise of uniform sampling and heterogeneity at the optimum */
    double sigma_star_IS;         /* the same under importance sampling */
} tithe_constants;
TITHE_API tithe_status tithe_problem_constants(const tithe_problem *p, struct tithe_pool *pool,
                                               tithe_constants *constants, tithe_error *error);
/* Fills in sigma_star, sigma_star_IS and zeta_star from x*: means over the workers i of E|g_i - grad f_i(x*)|^2, with
 * g_i one row's gradient, drawn uniformly, or with P(j) = L_ij / sum of L_ij and weighted by 1/(m P(j)), plus the
 * exact gradient of the penalty; and of |grad f_i(x*)|^2. */
TITHE_API tithe_status tithe_problem_noise(const tithe_problem *p, struct tithe_pool *pool,
                                           const double *optimum, tithe_constants *constants,
                                           tithe_error *error);

/* The minimum, by L-BFGS and Newton's method, certified: |grad f(x)|^2 / (2 l2) <= 1e-12 bounds how far f(x) is above
 * it. Kept in a cache by the hash of data, model and l2 (directory: NULL for $XDG_CACHE_HOME/tithe or ~/.cache/tithe;
 * "" for no cache; a cache that cannot be read or written is no failure). Without a certificate (l2 = 0, not convex,
 * rounding stands in the way, or go_on said no) `certified` is false and `loss` NAN. */
typedef struct tithe_optimum {
    bool certified;
    double loss;
    double slack; /* the certificate: f(x) - f* is at most this */
    unsigned iterations;
    bool cached;
    double *x; /* problem->size numbers, the caller's */
    /* Asked again and again while it searches; false ends the search, without a certificate. NULL: nobody is asked. */
    bool (*go_on)(void *context);
    void *context;
} tithe_optimum;
TITHE_API tithe_status tithe_problem_optimum(const tithe_problem *p, struct tithe_pool *pool,
                                             const char *cache, tithe_optimum *optimum, tithe_error *error);

#ifdef __cplusplus
}
#endif
#endif
