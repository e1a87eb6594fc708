/* run_description.h - what a run is, in rows "key: value" by the table of options: for the handshake, the server and checkpoints.
 *
 * Values are what they come to, so that it makes no difference whether a default was stated. */
#ifndef LEARN_RUN_DESCRIPTION_H
#define LEARN_RUN_DESCRIPTION_H

#include "base/description.h"
#include "learn/run.h"

/* The options as they came out: the codec in full, the feedback, scheme and tuner that were chosen. In a server, which has no
 * data and no model, as far as it can tell. */
tithe_train_options ti_run_resolved(const run *r);

/* The rows of the options that have one of the flags. For a comparison also of those that were not given, so that both sides have
 * the same rows in the same order, and the first difference is the one that explains the others. */
typedef enum describe_what { DESCRIBE_GIVEN, DESCRIBE_ALL } describe_what;
void ti_describe_options(const tithe_train_options *options, unsigned flags, describe_what what,
                         description *d);
/* What is in the files that options name, into r->files. */
tithe_status ti_describe_files(run *r, tithe_error *error);

/* The handshake, ahead of the first collective: is it the same run in all processes? */
tithe_status ti_run_agree(run *r, tithe_error *error);

#endif
