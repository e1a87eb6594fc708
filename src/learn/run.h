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
#include "learn/replay.h"
#include "learn/steps.h"
#include "learn/theory.h"

enum { MAX_LAYERS = 16 };

/* What a thread needs while it computes. */
typedef struct run_lane {
    double *gradient, *iterate; /* the latter for local steps */
    void *scratch;
    double seconds;
} run_lane;

/* The clock of --network (loop.c). */
typedef struct run_clock {
    network network;
    double compute, transfer; /* seconds on that network */
} run_clock;

/* How processes that have to end together do so (loop.c). */
typedef struct run_stop {
    bool asked, stopped;          /* the caller wants to stop; all processes do so now */
    uint64_t next_check, checked; /* steps after which they ask each other whether to go on */
    double checked_at;
    double asking; /* seconds that the last one took */
} run_stop;

/* Where the state of a run is written, and where it came from (checkpoint*.c). */
typedef struct run_file {
    uint64_t saved;           /* step of the last checkpoint */
    double sent_before;       /* bytes, before the run was resumed */
    checkpoint_head *resumed; /* NULL: a new run, or not rank 0 */
    uint32_t parts;           /* of the file that was resumed */
    checkpoint_file source;
} run_file;

/* What came before the first step: by this process, and by a server without ranks for the first. */
typedef struct run_set_up {
    double sent; /* bytes */
    double seconds;
    bool cut; /* it was stopped before the penalty was known */
} run_set_up;

/* Where the loss was lowest, for runs that may have to go back there (restart.c; a checkpoint has it). */
enum { MAX_RESTARTS = 60 };
typedef struct run_restart {
    double *x;      /* NULL: this run never does */
    double lowest;  /* its loss */
    unsigned count; /* how often it went back: each time with half the step */
} run_restart;

/* The model before a trial of the tuner (trial.c). */
typedef struct run_trial {
    unsigned number; /* 0: none */
    double *x, *momentum, *anchor;
    uint64_t step;
    double epochs;
} run_trial;

/* Sums over the steps (run_totals.c; a checkpoint saves and loads them). */
typedef struct run_sums {
    double level, kept, kept_least, speedup, speedup_least, residual_max, measured;
} run_sums;

/* Who may change what is said at each group; everybody may read all of it. */
typedef struct run {
    /* ---- what the run is: by prepare.c, setup.c and run_exchange.c, once */
    const tithe_train_options *o; /* with all texts that have a default */
    tithe_pool *pool;
    tithe_data *share;
    tithe_problem problem;
    tithe_constants constants;
    tithe_optimum optimum; /* without its x */
    const tithe_estimator *estimator;
    const tithe_sampling *sampling;
    double estimator_params[TITHE_MAX_PARAMS];
    exchange_methods methods; /* codecs, feedback, tuners */
    tithe_cost **costs;       /* cost_count of them */
    size_t cost_count;
    const tithe_cost **rank_costs; /* of each worker; NULL: the first for all */
    tithe_comm *own, *comm;        /* own: where all workers are here; NULL: the comm of the options */
    step_plan steps;
    theory theory;
    description files; /* rows: what is in the files that options name */
    tithe_train_facts facts;
    double m;         /* rows per worker, not rounded */
    double sigma;     /* noise of the rows that are drawn, one at a time, at the minimum; NAN: not known */
    double threshold; /* lambda, for |e|^2 <= gamma^2 lambda^2 d; NAN: another codec */
    double distance;  /* |x_0 - x*|^2; NAN: not known */
    size_t size;
    size_t layers[MAX_LAYERS], layer_count;
    run_set_up set_up;

    /* ---- what a step works on: made by prepare.c, changed by loop.c */
    tithe_exchange *exchange;
    estimate estimate;
    average average;
    unsigned lane_count;
    run_lane *lanes;
    void **scratch;                /* of each lane */
    double *x, *averaged, *losses; /* losses: of each worker, in this step */
    float *gradients;              /* of each worker */
    double *momentum;              /* of each worker; NULL: none */
    double *momentum_next;         /* becomes momentum when the step is taken; NULL: changed in place */
    float *update;
    unsigned *clients; /* workers in random order; the first o->clients take part. NULL: all do */
    bool *active;      /* of each worker; NULL: all are */

    /* ---- where it stands: by loop.c and run_totals.c */
    uint64_t step;
    double epochs;
    double started, paused_at; /* the clock of `seconds`; 0: it runs */
    double compute, record;    /* seconds: gradients and updates; while it stood still */
    double met;                /* `seconds` at the last record */
    double checking;           /* seconds of check-ins since then, in which `seconds` stood still */
    double shown;              /* when progress was shown last */
    double first_loss;
    double gamma;
    double taken; /* gamma of the last step */
    bool reached;
    unsigned changes; /* of the setting, that were written down, the first one among them */
    /* What messages say about the link, the same on all processes: own, or a tuner's that watches it. */
    tithe_link_estimate own_link, *link;
    tithe_trace_record last;

    replay replay; /* count 0: none */
    run_clock clock;
    run_restart restart;
    run_trial trial;
    run_stop stop;
    run_file file;
    run_sums sums;
} run;

tithe_status ti_run_prepare(run *r, tithe_error *error); /* prepare.c */
void ti_run_free(run *r);
tithe_status ti_run_loop(run *r, tithe_error *error);  /* loop.c */
tithe_status ti_run_judge(run *r, tithe_error *error); /* at the end: has it diverged? */

/* restart.c: the share of the step that restarts have left; is it time for one, with such a loss at r->x; back to the lowest. */
tithe_status ti_restart_open(run *r, tithe_error *error);
void ti_restart_close(run *r);
double ti_restart_share(const run *r);
bool ti_restart_wanted(run *r, double loss);
void ti_restart(run *r);

/* trial.c: a tuner's trials. Before gradients are computed: remember the model, or go back to it; at the end of a run, likewise. */
tithe_status ti_trial_open(run *r, tithe_error *error);
void ti_trial_close(run *r);
void ti_trial_follow(run *r);
void ti_trial_end(run *r);

/* run_totals.c: `seconds` are those of steps. Their clock stands still while something is written down, and among processes
 * looked around for. */
void ti_run_pause(run *r);
void ti_run_go_on(run *r);
double ti_run_seconds(const run *r);
/* Count a step; a loss, and whether rows can be right or wrong; a record (loss NAN: computed there). */
void ti_run_count(run *r);
double ti_run_loss(run *r, const double *x, size_t *correct);
bool ti_run_classifies(const run *r);
tithe_status ti_run_record(run *r, double loss, tithe_error *error);
/* Another setting, if there is one, without a loss. */
void ti_run_record_change(run *r);

/* Codecs, feedback, tuner and cost from the options; then an exchange for n numbers (run_exchange.c). */
tithe_status ti_run_codecs(run *r, tithe_error *error);
tithe_status ti_run_exchange(run *r, size_t n, tithe_error *error);

/* Stop when all processes can: at once where there is but one, otherwise when they next look around together. */
void ti_run_ask_to_stop(run *r);
/* False: the caller wants to stop. */
bool ti_run_progress(run *r, const char *what, double done);

/* The loss of x comes with the gradients of all workers, over all rows. */
static inline bool run_has_free_loss(const run *r)
{
    return !r->estimator->samples && !r->clients;
}

static inline bool run_is_remote(const run *r)
{
    return r->comm->local < r->comm->size;
}

#endif
