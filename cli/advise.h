/* advise.h - candidates of `tithe advise`, and what came of trying them. */
#ifndef TITHE_CLI_ADVISE_H
#define TITHE_CLI_ADVISE_H

#include "train_run.h"

/* One way to train. */
typedef struct advise_row {
    const char *name; /* as a person would call it */
    char codec[64];
    const char *tuner;               /* NULL: by the codec */
    const char *scheme, *collective; /* of the fastest step, by the plan; NULL: auto */
    double codec_seconds;            /* of a step, by the plan */
    bool late;                       /* what waits (cat:late=on) */
    bool reached;                    /* the target */
    uint64_t steps;                  /* until then, or as many as were tried */
    double bytes;                    /* sent by all processes meanwhile */
    double transfer,
        seconds; /* of the job on this link: of the transfer alone, and with all else; NAN: there is no link */
    double cost; /* of the way up, in the unit of the cost */
    double accuracy, loss;
    tithe_trace *trace; /* NULL: it was not tried */
} advise_row;

enum { ADVISE_ROWS = 12 };

typedef struct advise {
    train_settings train; /* data, model, workers and the like */
    bool has_link;        /* otherwise messages have a price, and no time */
    tithe_link link;
    tithe_cost *cost; /* what a message costs */
    char price[600];  /* its spec */
    char sample[300]; /* a file with a part of the rows; "": all of them are tried */
    uint64_t data_rows, used, features;
    double compute;     /* seconds of a worker's gradient on all of its rows */
    double target;      /* the loss to be reached */
    size_t count, best; /* rows[0] is dense; best: the one to take */
    advise_row rows[ADVISE_ROWS];
} advise;

/* A look at the data; the part of it that is tried, where it is long. False: that was said. Whatever it says, advise_end. */
bool advise_data(advise *a);
/* The candidates, and the plan of their steps. */
bool advise_plan(advise *a);
/* Try all of them. False: it failed, and that was said, or a signal came. */
bool advise_try(advise *a);
/* By seconds where there is a link, by cost elsewhere. */
double advise_measure(const advise *a, const advise_row *row);
void advise_end(advise *a);

#endif
