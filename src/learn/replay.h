/* replay.h - the settings of a run under a tuner that steers, to be taken once more at the same steps. */
#ifndef LEARN_REPLAY_H
#define LEARN_REPLAY_H

#include <stddef.h>
#include <stdint.h>

#include "tithe/exchange.h"

typedef struct replay_line {
    uint64_t step;
    const char *options;
} replay_line;

typedef struct replay {
    char *text;
    replay_line *all;
    size_t count, next; /* the latter: that was not taken yet */
} replay;

/* Lines "STEP OPTIONS". */
tithe_status ti_replay_read(const char *text, replay *p, tithe_error *error);
void ti_replay_free(replay *p);
/* Before a step: change to what it was made with. */
tithe_status ti_replay_step(replay *p, tithe_exchange *ex, uint64_t step, tithe_error *error);

#endif
