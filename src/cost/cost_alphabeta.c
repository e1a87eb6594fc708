/* cost_alphabeta.c - seconds by latency and bandwidth: of one message on its link, or of a collective in which every
 * worker sends one such message. Key: tyagi2023artopk, with the formulas of coll.h. */
#include <math.h>

#include "coll/coll.h"
#include "cost/cost.h"

enum { LATENCY, BANDWIDTH, COLLECTIVE, WORKERS };
enum { LINK, ALLGATHER, RING, TREE, STAR };

static const tithe_collective *const collectives[] = {
    [ALLGATHER] = &ti_coll_ring, [RING] = &ti_coll_ring, [TREE] = &ti_coll_tree, [STAR] = &ti_coll_star};

static tithe_link link_of(const double *p)
{
    return (tithe_link){.latency = p[LATENCY], .bandwidth = p[BANDWIDTH]};
}

/* Every worker has one such message: they are gathered, or where that is not possible, summed. */
static double of_alphabeta(const tithe_cost *cost, double bits)
{
    const double *p = cost->params, bytes = bits / 8;
    const unsigned how = (unsigned)p[COLLECTIVE], workers = (unsigned)p[WORKERS];
    const tithe_link link = link_of(p);
    if (how == LINK) return tithe_link_seconds(&link, bytes);
    const tithe_collective *c = collectives[how];
    tithe_rounds rounds;
    tithe_rounds_start(&rounds);
    if (c->gather_rounds)
        c->gather_rounds(&(tithe_blocks){.count = workers, .length = bytes}, &rounds);
    else
        c->reduce_rounds(workers, bytes / sizeof(float), &rounds);
    return tithe_rounds_seconds(&rounds, &link);
}

static bool link_of_alphabeta(const tithe_cost *cost, tithe_link *link)
{
    *link = link_of(cost->params);
    return cost->params[COLLECTIVE] == LINK;
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
    .link = link_of_alphabeta,
};
