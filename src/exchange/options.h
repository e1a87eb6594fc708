/* options.h - an exchange from names: what they stand for, and what of it has to be the same on all ranks. */
#ifndef EXCHANGE_OPTIONS_H
#define EXCHANGE_OPTIONS_H

#include "base/description.h"
#include "base/options.h"
#include "tithe/exchange.h"

enum { OPTION_SHAPES_MESSAGES = TITHE_OPTION_AGREES | TITHE_OPTION_SAVED | TITHE_OPTION_SERVER };

/* Names, as they are given; those of option_rows.h are called as in a run. */
typedef struct exchange_options {
    const char *codec, *downlink, *feedback, *downlink_feedback, *scheme, *collective, *leader, *tuner, *cost;
    size_t bucket_bytes;
    bool overlap, shared_level, count_paper, skip_nonfinite, deterministic;
    uint64_t seed;
    unsigned threads;
    double momentum;
} exchange_options;
extern const tithe_option ti_exchange_option_table[];

/* What the names stand for. */
typedef struct exchange_methods {
    tithe_codec *codec, *downlink;                      /* the latter may be NULL: the scheme knows */
    const tithe_feedback *feedback, *downlink_feedback; /* so may this, */
    const tithe_tuner *tuner, *downlink_tuner;          /* and this */
    double tuner_params[TITHE_MAX_PARAMS];              /* as stated */
    double feedback_params[TITHE_MAX_PARAMS];
    char tuner_spec[120], feedback_spec[60]; /* both with those that differ from their defaults */
} exchange_methods;

/* For feedback that keeps nothing, or not what was not sent. */
#define STEERED_KEEPS "A tuner that steers keeps what is late: take `feedback=ec`, or leave it out."

/* A NULL name is the default: all|raw, feedback where the codec is biased, a tuner where it states no level. */
tithe_status ti_exchange_find(const char *codec, const char *feedback, const char *tuner, const char *scheme,
                              const char *downlink, const char *downlink_feedback, exchange_methods *methods,
                              tithe_error *error);
void ti_exchange_methods_free(exchange_methods *methods);

/* The tuner's parameters: as stated, or what it has by itself. */
void ti_exchange_tuner_params(const tithe_exchange_config *c, double *params);

/* tithe_exchange_open_layers, without asking the others (open.c). */
tithe_status ti_exchange_open_here(tithe_comm *comm, const char *options, const size_t *layers,
                                   size_t layer_count, tithe_exchange **ex, tithe_error *error);

#endif
