/* checkpoint_text.h - what a checkpoint says of its run: a description, and the accounts of the workers. */
#ifndef LEARN_CHECKPOINT_TEXT_H
#define LEARN_CHECKPOINT_TEXT_H

#include "learn/checkpoint_file.h"
#include "learn/run.h"

/* Which vectors a checkpoint of this run has. */
uint32_t ti_checkpoint_parts(const run *r);
void ti_checkpoint_describe(const run *r, checkpoint_head *head);
/* Is there room for the description? */
tithe_status ti_checkpoint_expect_room(const run *r, tithe_error *error);

/* The options that the text of a head states, into `options` (checkpoint_options.c). *texts is memory for them, to be freed. A
 * text may be anybody's: what is no option, or no value of one, is refused. */
tithe_status ti_checkpoint_options(const char *path, const checkpoint_head *head,
                                   tithe_train_options *options, char **texts, tithe_error *error);
/* Does the head belong to this run? Names both sides where it does not. As far as codecs tell, and then all of it. */
tithe_status ti_checkpoint_compare_early(const run *r, const checkpoint_head *head, tithe_error *error);
tithe_status ti_checkpoint_compare(const run *r, const checkpoint_head *head, tithe_error *error);

/* ACCOUNT_NUMBERS for each local worker. */
tithe_status ti_checkpoint_account(run *r, double *accounts, tithe_error *error);
void ti_checkpoint_take_account(run *r, const double *accounts);

#endif
