/* probe.h - what a link does: latency and bandwidth, measured over a live transport. */
#ifndef TITHE_PROBE_H
#define TITHE_PROBE_H

#include "tithe/comm.h"
#include "tithe/link.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tithe_probe_link {
    unsigned from, to;
    tithe_link link; /* latency and bandwidth; without the points, which are */
    tithe_link_point points[TITHE_LINK_POINTS];
    size_t count;
} tithe_probe_link;

/* Messages of growing length between rank 0 and each other rank, for about `seconds` in all (at least one of each
 * length; lengths that would take too long are left out). Called by all ranks; one rank in each process. `links` takes
 * size - 1 of them and is filled on rank 0. A peer that does not answer within the timeout of comm is an error that names
 * it. */
TITHE_API tithe_status tithe_probe(tithe_comm *comm, double seconds, tithe_probe_link *links,
                                   tithe_error *error);

#ifdef __cplusplus
}
#endif
#endif
