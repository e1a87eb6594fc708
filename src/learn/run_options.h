/* run_options.h - the options of a run, by their table. */
#ifndef LEARN_RUN_OPTIONS_H
#define LEARN_RUN_OPTIONS_H

#include "tithe/learn.h"

/* NULL: there is none of that name. */
const tithe_train_option *ti_option_find(const char *name);

/* The value as text that ti_option_read takes: a pointer to it, in `room` or elsewhere. NULL: it is not given. */
enum { OPTION_ROOM = 40 };
const char *ti_option_write(const tithe_train_options *options, const tithe_train_option *row,
                            char room[static OPTION_ROOM]);
tithe_status ti_option_read(tithe_train_options *options, const tithe_train_option *row, const char *text,
                            tithe_error *error);
/* As if it had not been given. */
void ti_option_clear(tithe_train_options *options, const tithe_train_option *row);
/* The texts that were not given, where the table knows what they are. */
void ti_options_complete(tithe_train_options *options);

#endif
