/* learn.h - distributed training from start to end: data, workers, compressed messages, an account of what it cost.
 *
 *     tithe_train_options o = {.size = sizeof o};
 *     tithe_train_defaults(&o);
 *     o.data = "w8a-like";
 *     o.workers = 20;
 *     o.codec = "topk:keep=0.02";
 *     tithe_train_run(&o, &result, &error);
 *
 * What `tithe train` does, for programs. Part of the trainer (libtithe_learn). Every text option is written as on the
 * command line; NULL is its default. Whoever has all options as text sets them by name:
 *
 *     tithe_train_options_set(&o, "local-steps", "4", &error); */
#ifndef TITHE_LEARN_H
#define TITHE_LEARN_H

#include "tithe/exchange.h"
#include "tithe/model.h"
#include "tithe/options.h"
#include "tithe/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the estimators, as a table ------------------------------------------------------------------------ */

/* Constants of the unified analysis (danilova2022), with the penalty counted in:
 *   E|g|^2 <= 2A (f(x) - f*) + B s + D1,   E s' <= (1 - rho) s + 2C (f(x) - f*) + D2. */
typedef struct tithe_unified {
    double A, B, C, D1, D2, rho;
} tithe_unified;

struct tithe_estimate;

typedef struct tithe_estimator {
    const char *name, *summary, *paper; /* paper NULL: of no paper */
    const tithe_param *params;          /* NULL: none */
    bool samples;                       /* looks at some rows only: a loss has to be computed on its own */
    bool noisy;                         /* at the minimum, too */
    /* State of its own, in the estimate; params with their defaults. NULL: there is none. */
    tithe_status (*open)(struct tithe_estimate *s, const double *params, tithe_error *error);
    void (*close)(struct tithe_estimate *s);
    /* At the start of a run, from x; x is NULL where a checkpoint brought the state. Returns passes over the data. */
    double (*start)(struct tithe_estimate *s, const double *x);
    /* After the exchange of a step, which began at x. Returns passes over the data, on average `after_passes`. */
    double (*after)(struct tithe_estimate *s, const double *x);
    double (*after_passes)(double m);
    /* What a checkpoint has to keep of the state: as many numbers as x has, the same in all processes. NULL: nothing. */
    double *(*saved)(struct tithe_estimate *s);
    /* Passes over the data that the gradients of a step take; m = rows / workers. */
    double (*passes)(double m, size_t batch);
    /* The gradient of worker `local` (counted from 0 here) at x into g, penalty included. Returns the worker's loss
     * where that comes for free, NAN otherwise. `draw` numbers the draws of a worker within a step. */
    double (*gradient)(const struct tithe_estimate *s, unsigned local, unsigned draw, const double *x,
                       double *g, void *scratch);
    /* Sizes of the step: scriptL is L_US, L_IS, or the mini-batch's; n is the number of workers. All with l2. */
    tithe_unified (*unified)(double L, double scriptL, double sigma_star, double n, double m);
    double (*step_size)(double L, double scriptL, double n, double m);
} tithe_estimator;

TITHE_API const tithe_estimator *const *tithe_estimators(void); /* ends with NULL */
/* From its spec; params takes TITHE_MAX_PARAMS values, NAN where nothing was stated, or is NULL. So do the others below. */
TITHE_API tithe_status tithe_estimator_find(const char *spec, const tithe_estimator **estimator,
                                            double *params, tithe_error *error);

/* ---- how rows are drawn, as a table ---------------------------------------------------------------------- */

typedef struct tithe_sampling {
    const char *name, *summary, *paper;
    const tithe_param *params;
    bool takes_file; /* its spec is name:PATH, or the path alone */
    /* A number for each row that is here, in proportion to which a worker draws it. NULL: all alike. */
    tithe_status (*weigh)(const tithe_data *data, const char *path, double *weights, tithe_error *error);
    /* Script L of the theory. NULL: it is found from the weights. */
    double (*script_L)(const tithe_constants *constants);
} tithe_sampling;

TITHE_API const tithe_sampling *const *tithe_samplings(void); /* ends with NULL */
TITHE_API tithe_status tithe_sampling_find(const char *spec, const tithe_sampling **sampling, double *params,
                                           tithe_error *error);

/* ---- averages of the iterates, as a table --------------------------------------------------------------- */

struct tithe_averaged;

typedef struct tithe_average {
    const char *name, *summary, *paper;
    const tithe_param *params;
    unsigned vectors;                                       /* that it keeps from step to step */
    void (*add)(struct tithe_averaged *a, const double *x); /* NULL: nothing is averaged */
    void (*get)(const struct tithe_averaged *a, double *x);
} tithe_average;

TITHE_API const tithe_average *const *tithe_averages(void); /* ends with NULL */
TITHE_API tithe_status tithe_average_find(const char *spec, const tithe_average **kind, double *params,
                                          tithe_error *error);

/* ---- rules for the step size, as a table ---------------------------------------------------------------- */

typedef struct tithe_step_rule {
    const char *name, *summary, *paper;
    const tithe_param *params; /* the first is `start`; where it is not stated, it is auto */
    double (*at)(const double *params, double start, uint64_t step);
    bool (*constant)(const double *params); /* the same in every step; NULL: no */
} tithe_step_rule;

TITHE_API const tithe_step_rule *const *tithe_step_rules(void); /* ends with NULL */
/* Besides, auto and X are constant, auto/k and X/k harmonic. */
TITHE_API tithe_status tithe_step_rule_find(const char *spec, const tithe_step_rule **rule, double *params,
                                            tithe_error *error);

/* ---- one run ------------------------------------------------------------------------------------------- */

struct tithe_train_facts;

typedef struct tithe_train_options {
    size_t size; /* sizeof(tithe_train_options): what was compiled against this header */
    const char *data;
    tithe_data_options reading; /* task is set by the model */
    const char *model;
    double l2; /* negative: L/1e4 */
    unsigned workers;
    tithe_split split;
    const char *estimator;
    const char *sampling; /* uniform, importance, or a file with one weight for each row */
    size_t batch;         /* of minibatch, in place of minibatch:batch=B; 0: not given */
    unsigned local_steps; /* 1: send gradients; more: send differences of models */
    const char *average;  /* none, tail, weighted */
    double momentum;
    const char *codec, *downlink, *feedback, *downlink_feedback;
    const char *scheme, *collective;
    const char *leader;  /* of the scheme artopk: round-robin, variance or auto */
    size_t bucket_bytes; /* of a message (exchange.h): 0: one for all; TITHE_EACH_LAYER: one for each layer */
    bool overlap;        /* send a bucket while the next one is encoded */
    bool deterministic;  /* refuse what cannot promise the same result everywhere */
    const char *tuner;
    bool shared_level; /* one level for all workers, in place of one for each */
    const char *cost;  /* several with semicolons between them: worker i takes the i-th, round and round */
    bool count_paper;
    unsigned clients; /* workers that take part in a step, drawn anew each time; 0: all of them */
    /* A clock that is computed: latency=,bandwidth=,compute= or a schedule; NULL: the real one. */
    const char *network;
    const char *step_size;          /* auto, X, X/k, decay:start=X,factor=F,every=K */
    uint64_t steps;                 /* 0: no limit */
    double epochs;                  /* 0: no limit */
    double target_loss, target_gap; /* NAN: none */
    uint64_t seed;
    tithe_comm *comm; /* the processes that share the work, a worker in each; NULL: all workers in this one */
    unsigned threads; /* 0: as many as there are processors */
    /* Do not look for f*: gap stays unknown, unless a target asks for it. Over a real transport f* is known only if the
     * cache of rank 0 has it, or `exact` or a target asks for it. */
    bool no_optimum;
    const char *cache;      /* directory for f*: see model.h */
    unsigned records;       /* about how many records a run with samples leaves; 0: 400 */
    const char *checkpoint; /* a file for the state of the run (docs/checkpoint.md), by rank 0; NULL: none */
    uint64_t every;         /* steps between two checkpoints; 0: only at the end */
    const char *resume;     /* a checkpoint to go on from, read by rank 0; NULL: start anew */

    void *context;
    /* Called once, when everything is known but nothing was done. */
    void (*begin)(void *context, const struct tithe_train_facts *facts);
    /* Each record as it is made. False: stop here, in good order. */
    bool (*record)(void *context, const tithe_trace_record *record);
    /* What is being done now, and how much of it (0 to 1; NAN: nobody knows). False: stop. */
    bool (*progress)(void *context, const char *what, double done);
    /* f*, and all that set-up leaves out otherwise, over a real transport, too: rank 0 finds it while the others wait. */
    bool exact;
    /* Skip steps in which a gradient cannot be sent, in place of ending there (exchange.h). */
    bool skip_nonfinite;
    /* Under a tuner that steers: lines "STEP OPTIONS", from step 0 on, as records with a `setting` have them. These settings are
     * taken, and nothing else is decided. NULL: the tuner does. */
    const char *replay;
} tithe_train_options;

/* All but `size`, which tells how much there is to set. */
TITHE_API void tithe_train_defaults(tithe_train_options *options);

/* ---- its options, as a table ---------------------------------------------------------------------------- */

/* The one list of what makes a run: command line, handshake, checkpoint and server read it. */
TITHE_API const tithe_option *tithe_train_option_table(void);
/* An option from its text; of a flag yes or no, NULL is yes. Texts are not copied: they have to outlive the options. */
TITHE_API tithe_status tithe_train_options_set(tithe_train_options *options, const char *name,
                                               const char *text, tithe_error *error);
/* The other way: as much as there is room for. False: it is not given, or there is no such option. */
TITHE_API bool tithe_train_options_get(const tithe_train_options *options, const char *name, char *text,
                                       size_t room);
/* The options of the run that wrote this checkpoint, in place of those that are saved in one (where `options` say when to
 * end, its own end is not taken). What is set afterwards overrides; what may not change is refused by tithe_train_run.
 * *texts is memory that the options point into: free() it after the run. */
TITHE_API tithe_status tithe_train_options_resume(tithe_train_options *options, const char *path,
                                                  char **texts, tithe_error *error);

/* ---- what comes of it ----------------------------------------------------------------------------------- */

/* What was found out before the first step. Texts that are pointers are static. */
typedef struct tithe_train_facts {
    const tithe_data *data; /* NULL in a result, as is the next: they are gone by then */
    const tithe_problem *problem;
    char data_name[128];     /* as a person would call it */
    uint64_t rows, features; /* of the whole data set */
    unsigned workers;
    uint64_t seed;
    char model[128];
    double l2; /* NAN: the run was stopped before it was known */
    tithe_constants constants;
    tithe_unified unified;
    double script_L; /* of the sampling that is used */
    double optimum;  /* f*; NAN: not known */
    double optimum_slack;
    double step_size;            /* of step 0 */
    double omega_up, omega_down; /* of the two codecs; infinite: nothing is promised */
    double slowdown; /* predicted for compression both ways (horvath2022natural); NAN: no prediction */
    const char *estimator, *scheme, *collective, *transport, *cost_unit;
    char codec[256], downlink[256], feedback[60], tuner[120], cost[1024]; /* specs; downlink "": all|raw */
    unsigned buckets;                                                     /* messages of a worker in a step */
    size_t raw_bytes;                                                     /* of one uncompressed message */
    double bound_step_size; /* the largest for which the theorem bounds the gap; NAN: for none */
    unsigned settings;      /* among which the tuner chooses (tuner.h); 0: it does not steer */
} tithe_train_facts;

typedef enum tithe_target { TITHE_NO_TARGET, TITHE_TARGET_REACHED, TITHE_TARGET_MISSED } tithe_target;

/* Steps to reach the gap that the run reached, as the theory of CAT counts them (khirirat2021cat): without compression,
 * with this run's compression (divided by the energy kept), and with the worst vector (times what the codec's claims allow,
 * d/T for the T largest entries; never less than this run's). NAN: not known. */
typedef struct tithe_complexity {
    double gap;
    double strongly_convex[3], convex[3], nonconvex[3];
} tithe_complexity;

typedef struct tithe_train_result {
    uint64_t steps;
    tithe_target target;
    bool stopped; /* by the caller */
    tithe_trace_record last;
    char model_hash[17];
    double kept_mean, kept_least;       /* energy kept (tithe_exchange_record), over the steps */
    double speedup_mean, speedup_least; /* kept / (entries / d): SpeedUp(T) of CAT */
    unsigned restarts;                  /* how often it went back to the lowest loss, with half the step */
    double residual_max; /* largest |e|^2 / (gamma^2 lambda^2 d) of any worker and step, under `threshold` */
    tithe_link link;     /* at the end, as its messages showed it (link_estimate.h) */
    double probe_bytes;  /* sent to find that out, by all processes; not in sent_bytes */
    tithe_train_facts facts;
    tithe_complexity complexity;
    double *x; /* the final iterate, if the caller gave room (it is not allocated here); may be NULL */
    size_t x_room;
    /* Under a tuner that steers: the last setting, as options for tithe_exchange_change, what it would have taken from the start,
     * and how often it changed. */
    char setting[TITHE_SETTING_TEXT], hindsight[TITHE_SETTING_TEXT];
    unsigned changes;
} tithe_train_result;

/* Does what the options name exist, and go together? As far as can be told without a look at the data. */
TITHE_API tithe_status tithe_train_check(const tithe_train_options *options, tithe_error *error);

/* The server of a run over a transport that has one without a rank (transport.h): serves the workers until they are
 * done. Options as theirs; data is not needed. */
TITHE_API tithe_status tithe_train_serve(const tithe_train_options *options, tithe_error *error);

/* A run that diverges ends with TITHE_E_DIVERGED and a hint; the result holds what was done so far then too. */
TITHE_API tithe_status tithe_train_run(const tithe_train_options *options, tithe_train_result *result,
                                       tithe_error *error);

/* ---- checkpoints --------------------------------------------------------------------------------------- */

/* What a checkpoint says of its run; docs/checkpoint.md explains the file. */
typedef struct tithe_checkpoint {
    size_t size; /* sizeof(tithe_checkpoint), set by whoever asks: so much is filled in */
    uint64_t step, n, seed, data_hash;
    unsigned workers;
    bool moved; /* a vector: the last update, as each worker remembers it. It stands in what was a gap */
    double epochs, seconds;
    /* vectors besides the model */
    bool residual, aggregate, server_residual, anchor, averages, clients, momentum, lowest;
    uint64_t learned;                    /* numbers of the scheme */
    uint64_t shared_bytes, worker_bytes; /* what is there once, and for each worker */
    char text[4097];                     /* lines "key: value": codec, feedback, estimator, ... */
    tithe_exchange_totals totals;        /* so far, over all workers; sent_bytes is all that was sent */
} tithe_checkpoint;

/* Does it begin as a checkpoint does? No frame and no trace does. */
TITHE_API bool tithe_checkpoint_is(const uint8_t *bytes, size_t length);
/* All bytes of a file, whose name stands in the sentences of errors. Trusts nothing: whatever the bytes, they are refused, or
 * the checksum over all of them is right. */
TITHE_API tithe_status tithe_checkpoint_read(const char *name, const uint8_t *bytes, size_t length,
                                             tithe_checkpoint *checkpoint, tithe_error *error);

#ifdef __cplusplus
}
#endif
#endif
