/* train_replay.h - --replay TRACE: the decisions of a run under a tuner that steers, for another one. */
#ifndef TITHE_CLI_TRAIN_REPLAY_H
#define TITHE_CLI_TRAIN_REPLAY_H

#include "train_options.h"

/* False: it cannot be read, or has none, and that was said. */
bool train_replay_read(const char *path, train_settings *s);

#endif
