/* train_options.h - the options of one run, for `tithe train` and for each line of a file for `tithe compare`. */
#ifndef TITHE_CLI_TRAIN_OPTIONS_H
#define TITHE_CLI_TRAIN_OPTIONS_H

#include "options.h"
#include "tithe/learn.h"

enum { TRAIN_OPTIONS = 64 }; /* room for a table */

typedef struct train_settings {
    tithe_train_options run;
    char *resumed;                       /* texts of a checkpoint that `run` points into */
    const char *transport;               /* NULL: as there are processes (train_transport) */
    const char *role, *listen, *connect; /* of a zmq process */
    const char *at_switch, *key; /* where a switch adds, and the secret that it shares with the workers */
    uint64_t local;              /* start so many zmq workers, and the server, here */
    double deadline;
    const char *trace, *report, *json;
    bool quiet;                      /* one of them is standard output */
    const char *replay;              /* a trace whose settings are taken once more, */
    char *replayed, *replayed_tuner; /* and what was read from it */
    char **words;                    /* as they were typed */
    int word_count;
} train_settings;

train_settings train_settings_defaults(void);
void train_settings_free(train_settings *s);

/* Rows for all options of a run, with `s` as their target; returns how many. No end is added. */
size_t train_options_table(train_settings *s, option *table);

/* The rows for transports and roles; those for a run in several parts. */
size_t train_process_options(train_settings *s, option *table);
size_t train_parts_options(train_settings *s, option *table);
size_t train_switch_options(train_settings *s, option *table);

/* The transport that was named; else mpi in a process that mpirun has started with others, and inproc elsewhere. */
const char *train_transport(const train_settings *s);
/* Have several processes been started by mpirun, or its like? */
bool train_by_mpirun(void);

/* After parsing a --resume: take the options of the checkpoint. Then parse again, so that those of the command line override
 * them. False: it cannot be read, and that was said. */
bool train_options_resume(train_settings *s);

/* After parsing. False: something does not fit, and that was said. */
bool train_options_finish(train_settings *s);

#endif
