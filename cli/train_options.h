/* train_options.h - the options of one run, for `tithe train` and for each line of a file for `tithe compare`. */
#ifndef TITHE_CLI_TRAIN_OPTIONS_H
#define TITHE_CLI_TRAIN_OPTIONS_H

#include "options.h"
#include "tithe/learn.h"

enum { TRAIN_OPTIONS = 64 }; /* room for a table */

typedef struct train_settings {
    tithe_train_options run;
    int split, count, normalize, level, overlap;
    uint64_t workers, batch, local_steps, features, threads;
    const char *transport, *clients, *bucket;
    const char *role, *listen, *connect; /* of a zmq process */
    uint64_t local;                      /* start so many zmq workers, and the server, here */
    double deadline;
    const char *trace, *report, *json;
} train_settings;

train_settings train_settings_defaults(void);

/* Rows for all options of a run, with `s` as their target; returns how many. No end is added. */
size_t train_options_table(train_settings *s, option *table);

/* The rows for transports and roles. */
size_t train_process_options(train_settings *s, option *table);

/* After parsing: the numbers into s->run. False: something does not fit, and that was said. */
bool train_options_finish(train_settings *s);

#endif
