/* run.h - everything that one training run holds. */
#ifndef LEARN_RUN_H
#define LEARN_RUN_H

#include "base/description.h"
#include "comm/link_estimate.h"
#include "exchange/options.h"
#include "learn/average.h"
#include "learn/checkpoint_file.h"
#include "learn/estimate.h"
#include "learn/network.h"
#include "learn/steps.h"
#include "learn/theory.h"

enum { MOST_LAYERS = 16 };

/* What a thread needs while it computes. */
typedef struct run_lane {
    double *gradient, *iterate; /* the latter for local steps */
    void *scratch;
    double seconds;
} run_lane;

typedef struct run {
    const tithe_train_options *o; /* with all texts that have a default */
    tithe_pool *pool;
    tithe_data *share;
    tithe_problem problem;
    tithe_constants constants;
    tithe_optimum optimum;
    const tithe_estimator *estimator;
    const tithe_sampling *sampling;
    double estimator_params[TITHE_MAX_PARAMS];
    estimate estimate;
    void **scratch;           /* of each lane */
    exchange_methods methods; /* codecs, feedback, tuners */
    tithe_cost **costs;       /* cost_count of them */
    size_t cost_count;
    const tithe_cost **rank_costs; /* of each worker; NULL: the first for all */
    tithe_comm *own, *comm;        /* own: where all workers are here; NULL: the comm of the options */
    tithe_exchange *exchange;
    step_plan steps;
    average average;
    theory theory;
    description files; /* rows: what is in the files that options name */
    network network;
    double virtual_compute, virtual_transfer; /* on that network */
    tithe_train_facts facts;
    double m;         /* rows per worker, not rounded */
    double sigma;     /* noise of the rows that are drawn, one at a time, at the minimum; NAN: not known */
    double threshold; /* lambda, for |e|^2 <= gamma^2 lambda^2 d; NAN: another codec */

    size_t size;
    size_t layers[MOST_LAYERS], layer_count;
    unsigned lane_count;
    run_lane *lanes;
    double *x, *averaged, *losses; /* losses: of each worker, in this step */
    float *gradients;              /* of each worker */
    double *momentum;              /* of each worker; NULL: none */
    double *momentum_next;         /* becomes momentum when the step is taken; NULL: changed in place */
    float *update;
    unsigned *clients; /* workers in random order; the first o->clients take part. NULL: all do */
    bool *active;      /* of each worker; NULL: all are */

    /* where it stands */
    uint64_t step;
    double epochs, started, compute, other;
    double shown; /* when progress was shown last */
    double first_loss;
    double gamma;
    bool reached;
    bool asked, stopped;          /* the caller wants to stop; all processes do so now */
    uint64_t next_check, checked; /* steps after which the processes ask each other whether to go on */
    double checked_at;
    tithe_link_estimate link; /* what their messages say about it; the same on all processes */
    tithe_trace_record last;
    uint64_t saved;           /* step of the last checkpoint */
    double sent_before;       /* bytes, before the run was resumed */
    checkpoint_head *resumed; /* NULL: a new run, or not rank 0 */
    checkpoint_file resume_file;
    double distance; /* |x_0 - x*|^2; NAN: not known */
    double level_sum, kept_sum, kept_least, speedup_sum, speedup_least, residual_most, measured;
} run;

tithe_status ti_run_prepare(run *r, tithe_error *error); /* prepare.c */
void ti_run_free(run *r);
tithe_status ti_run_loop(run *r, tithe_error *error); /* loop.c */

/* account.c: count a step; a loss, and whether rows can be right or wrong; a record (loss NAN: computed there). */
void ti_run_count(run *r);
double ti_run_loss(run *r, const double *x, size_t *correct);
bool ti_run_classifies(const run *r);
tithe_status ti_run_record(run *r, double loss, tithe_error *error);

/* Codecs, feedback, tuner and cost from the options; then an exchange for n numbers (messages.c). */
tithe_status ti_run_codecs(run *r, tithe_error *error);
tithe_status ti_run_exchange(run *r, size_t n, tithe_error *error);

/* Stop when all processes can: at once where there is but one, otherwise when they next look around together. */
void ti_run_ask_to_stop(run *r);
/* False: the caller wants to stop. */
bool ti_run_progress(run *r, const char *what, double done);

static inline bool run_is_remote(const run *r)
{
    return r->comm->local < r->comm->size;
}

#endif
