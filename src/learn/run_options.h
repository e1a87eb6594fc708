/* run_options.h - the options of a run, by their table. */
#ifndef LEARN_RUN_OPTIONS_H
#define LEARN_RUN_OPTIONS_H

#include "base/options.h"
#include "tithe/learn.h"

/* NULL: there is none of that name. */
const tithe_option *ti_option_find(const char *name);
/* A copy of options that may be shorter than ours; what they do not have is as nobody had said it. */
tithe_status ti_train_options_take(const tithe_train_options *options, tithe_train_options *o,
                                   tithe_error *error);

#endif
