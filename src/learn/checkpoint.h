/* checkpoint.h - the state of a run after a step, in one file for all processes: rank 0 writes and reads it, and the others
 * send and get their parts through the transport. docs/checkpoint.md describes the file.
 *
 * All functions are called by all processes at the same point. */
#ifndef LEARN_CHECKPOINT_H
#define LEARN_CHECKPOINT_H

#include "learn/run.h"

/* Before any work: is the file to resume from there and whole, can the other one be written? */
tithe_status ti_checkpoint_begin(run *r, tithe_error *error);
/* Is it a checkpoint of this run? Asked when there are codecs, so that nobody reads data in vain, and when everything is known. */
tithe_status ti_checkpoint_expect_early(const run *r, tithe_error *error);
tithe_status ti_checkpoint_expect(run *r, tithe_error *error);
/* Put the run where the file left it. */
tithe_status ti_checkpoint_load(run *r, tithe_error *error);
/* The penalty of the run that goes on, as it was found or given; NAN: there is none, or it is not known here. */
double ti_checkpoint_l2(const run *r);
tithe_status ti_checkpoint_save(run *r, tithe_error *error);

#endif
