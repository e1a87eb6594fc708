/* train_run.h - one run, with its trace, its progress line and its answer in words and in JSON. */
#ifndef TITHE_CLI_TRAIN_RUN_H
#define TITHE_CLI_TRAIN_RUN_H

#include "train_options.h"

typedef struct train_outcome {
    tithe_status status;
    tithe_error error;
    tithe_train_result result;
    tithe_trace *trace;
} train_outcome;

/* `line` is the command as it stands in the report; `quiet`: nothing but progress and complaints. False: a complaint was made,
 * and there is no outcome; after divergence there is one, with its status. */
bool train_run(const train_settings *s, const char *name, const char *line, bool quiet, train_outcome *out);
void train_outcome_free(train_outcome *out);

/* argv as one line that a shell would read back. */
char *train_command(const char *verb, int argc, char **argv);
/* The same with these options of a run in place of all that says how messages are made. */
char *train_command_with(const char *verb, int argc, char **argv, const char *options);

/* From now on Ctrl-C, SIGTERM and SIGHUP are noted, and end the run in good order: the first thing that a verb does, so that
 * none comes too early. A second one ends the program as usual, unless `all` are to be noted. */
void train_catch_interrupt(bool all);
/* How many were noted, by this process or the one that it was forked from. */
int train_interrupts(void);
/* The status that a shell knows: 130 after Ctrl-C, 143 after SIGTERM, and where another process was told to stop. */
int train_exit_stopped(void);
/* The same where a signal was noted and ended what was going on, badly or well; otherwise the status itself. */
int train_exit(int status);

#endif
