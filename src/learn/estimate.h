/* estimate.h - what an estimator knows while it computes gradients. */
#ifndef LEARN_ESTIMATE_H
#define LEARN_ESTIMATE_H

#include "base/rng.h"
#include "base/status.h"
#include "tithe/learn.h"

/* Which row a worker draws, and what that row then weighs so that the estimate is unbiased. */
typedef struct sampling {
    const tithe_sampling *kind;
    /* Walker's alias method, a table for each worker, one after the other as the rows are. NULL: uniform. */
    double *accept;
    uint32_t *alias;
    double *weights; /* of a drawn row; NULL: `weight` for all of a worker's rows */
} sampling;

struct tithe_estimate {
    const tithe_problem *problem;
    uint64_t seed;
    uint32_t step;
    size_t batch; /* rows of a worker and step, where there are several */
    sampling rows;
    double m;  /* rows per worker, not rounded */
    void *own; /* the estimator's */
    tithe_pool *pool;
    unsigned lanes;       /* threads at most; */
    void *const *scratch; /* of each of them, for the model */
};

typedef struct tithe_estimate estimate;

/* The spec is the one by which the kind was found; it may name a file. */
tithe_status ti_sampling_make(const tithe_sampling *kind, const char *spec, const tithe_problem *problem,
                              sampling *s, tithe_error *error);
void ti_sampling_free(sampling *s);
/* The file in a spec; NULL: it takes none. */
const char *ti_sampling_path(const tithe_sampling *kind, const char *spec);
extern const tithe_sampling ti_sampling_uniform, ti_sampling_importance, ti_sampling_file;

/* A row for worker `local`, and its weight. `draw` numbers the draws of this step. */
uint32_t ti_sampling_draw(const estimate *s, unsigned local, unsigned draw, double *weight);

/* The gradient of the loss (no penalty) over all rows of a worker; returns the loss. */
double ti_estimate_whole(const estimate *s, unsigned local, const double *x, double *g, void *scratch);
/* g = the penalty's gradient; returns the penalty. */
double ti_estimate_penalty(const estimate *s, const double *x, double *g);
/* Add one row's gradient at x, times weight. */
void ti_estimate_add_row(const estimate *s, uint32_t row, double weight, const double *x, double *g,
                         void *scratch);

/* The pool, if so many numbers are worth waking it. */
tithe_pool *ti_estimate_pool(const estimate *s, double numbers);

/* The constants of rows that are drawn anew in each step, one or a batch of them: script_L and sigma_star are theirs. */
tithe_unified ti_drawn_unified(double L, double script_L, double sigma_star, double n, double m);
double ti_drawn_step_size(double L, double script_L, double n, double m); /* 1 / (4A) */

extern const tithe_estimator ti_estimator_full, ti_estimator_sgd, ti_estimator_minibatch, ti_estimator_lsvrg;

#endif
