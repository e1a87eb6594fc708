/* train_replay.c - see train_replay.h. */
#include "train_replay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

/* One line for each change (learn.h). */
static char *lines_of(const tithe_trace *trace)
{
    size_t room = 1;
    for (size_t i = 0; i < tithe_trace_count(trace); i++)
        room += strlen(tithe_trace_at(trace, i)->setting) + 24;
    char *text = text_memory(room);
    size_t used = 0;
    *text = 0;
    for (size_t i = 0; i < tithe_trace_count(trace); i++) {
        const tithe_trace_record *r = tithe_trace_at(trace, i);
        if (*r->setting) used += (size_t)snprintf(text + used, room - used, "%.0f %s\n", r->step, r->setting);
    }
    return text;
}

/* A step that was lost with its switch would be one that goes through. */
static bool lost_a_step(const tithe_trace *trace)
{
    for (size_t i = 0; i < tithe_trace_count(trace); i++)
        if (strstr(tithe_trace_at(trace, i)->reason, TITHE_SWITCH_LOST)) return true;
    return false;
}

bool train_replay_read(const char *path, train_settings *s)
{
    tithe_trace *trace = NULL;
    tithe_error error = {0};
    const tithe_status status = tithe_trace_read(path, &trace, &error);
    if (status) {
        text_fail_status(NULL, status, &error);
        return false;
    }
    const char *tuner = tithe_trace_find(trace, "tuner");
    free(s->replayed);
    s->replayed = lines_of(trace);
    const bool steered = *s->replayed, lost = lost_a_step(trace);
    if (lost)
        text_fail("--replay: the run of '%s' lost its switch, and a step with it, which cannot be made again",
                  path);
    else if (!steered)
        text_fail("--replay: '%s' has no setting in it: it takes the trace of a run under --tuner auto",
                  path);
    if (!s->run.tuner && tuner) s->run.tuner = s->replayed_tuner = text_copy(tuner);
    s->run.replay = s->replayed;
    tithe_trace_free(trace);
    return steered && !lost;
}
