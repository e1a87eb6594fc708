/* cost_alphabeta.c - seconds by latency and bandwidth: of one message on its link, or of a collective in which every
 * worker sends one such message. Key: tyagi2023artopk, with the formulas of coll.h. */
#include <math.h>

#include "cost/cost.h"
#include "tithe/coll.h"

enum { LATENCY, BANDWIDTH, COLLECTIVE, WORKERS };
enum { LINK, ALLGATHER, RING, TREE, STAR };

static const char *const names[] = {[RING] = "ring", [TREE] = "tree", [STAR] = "star"};

static double of_alphabeta(const tithe_cost *cost, double bits)
{
    const double *p = cost->params, bytes = bits / 8;
    const unsigned how = (unsigned)p[COLLECTIVE], workers = (unsigned)p[WORKERS];
    if (how == LINK) return p[LATENCY] + bytes / p[BANDWIDTH];
    if (how == ALLGATHER) return p[LATENCY] * log2(p[WORKERS]) + (p[WORKERS] - 1) * bytes / p[BANDWIDTH];
    const tithe_collective *c = tithe_collective_find(names[how]);
    if (c->gather_seconds) return c->gather_seconds(workers, bytes, p[LATENCY], p[BANDWIDTH]);
    return c->reduce_seconds(workers, bytes, p[LATENCY], p[BANDWIDTH]);
}

static const char *refuse(const double *p)
{
    if (p[COLLECTIVE] != LINK && p[WORKERS] < 2)
        return "A collective needs workers=: at least 2, so that there is something to send.";
    return NULL;
}

static const tithe_param params[] = {
    [LATENCY] = {.name = "latency",
                 .doc = "seconds of a message one way, however short",
                 .fallback = NAN,
                 .min = 0,
                 .max = 1e6,
                 .unit = TITHE_UNIT_SECONDS},
    [BANDWIDTH] = {.name = "bandwidth",
                   .doc = "bytes a second",
                   .fallback = NAN,
                   .min = 1e-3,
                   .max = 1e15,
                   .unit = TITHE_UNIT_RATE},
    [COLLECTIVE] = {.name = "collective",
                    .doc = "one message on its link, or all workers' messages by a collective",
                    .fallback = LINK,
                    .max = STAR,
                    .choices = "link|allgather|ring|tree|star"},
    [WORKERS] = {.name = "workers",
                 .doc = "ranks that take part in the collective",
                 .fallback = 1,
                 .min = 1,
                 .max = 1e6,
                 .whole = true},
    {.name = NULL},
};

const tithe_cost_model ti_cost_alphabeta = {
    .name = "alphabeta",
    .summary = "seconds by latency and bandwidth, of a link or of a collective",
    .paper = "tyagi2023artopk",
    .unit = "s",
    .params = params,
    .refuse = refuse,
    .of = of_alphabeta,
    .below = cost_line,
};
