/* run_options.h - the options of a run, by their table. */
#ifndef LEARN_RUN_OPTIONS_H
#define LEARN_RUN_OPTIONS_H

#include "base/options.h"
#include "tithe/learn.h"

/* NULL: there is none of that name. */
const tithe_option *ti_option_find(const char *name);

#endif
