/* replay.c - see replay.h. */
#include "learn/replay.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "exchange/control.h"

static tithe_status broken(const char *line, tithe_error *error)
{
    return ti_fail(error, TITHE_E_DATA, 0,
                   "A replay has lines 'STEP OPTIONS' with steps that ascend, from 0 on; '%.60s' is none.",
                   line);
}

/* "20 codec=...;scheme=..." */
static tithe_status read_line(char *line, replay *p, tithe_error *error)
{
    char *end;
    errno = 0;
    const unsigned long long step = strtoull(line, &end, 10);
    if (end == line || errno || *end != ' ' || *line == '-') return broken(line, error);
    if (p->count ? step < p->all[p->count - 1].step : step != 0) return broken(line, error);
    if (p->count && p->all[p->count - 1].step == step) p->count--; /* the last word counts */
    p->all[p->count++] = (replay_line){step, end + 1};
    return TITHE_OK;
}

tithe_status ti_replay_read(const char *text, replay *p, tithe_error *error)
{
    const size_t size = strlen(text) + 1;
    size_t lines = 1;
    for (const char *at = text; *at; at++) lines += *at == '\n';
    *p = (replay){.text = malloc(size), .all = calloc(lines, sizeof *p->all)};
    if (!p->text || !p->all)
        return ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory to replay a run.");
    memcpy(p->text, text, size);
    tithe_status status = TITHE_OK;
    for (char *at = p->text; *at && !status;) {
        char *end = at + strcspn(at, "\n");
        const bool more = *end;
        *end = 0;
        status = read_line(at, p, error);
        at = end + more;
    }
    return status || p->count ? status : broken("", error);
}

tithe_status ti_replay_step(replay *p, tithe_exchange *ex, uint64_t step, tithe_error *error)
{
    size_t last = p->next;
    while (last < p->count && p->all[last].step <= step) last++; /* resumed: those before went by */
    if (last == p->next) return TITHE_OK;
    p->next = last;
    return ti_control_follow(ex, p->all[last - 1].options, error);
}

void ti_replay_free(replay *p)
{
    free(p->text);
    free(p->all);
    *p = (replay){0};
}
