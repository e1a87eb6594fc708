/* probe.h - what a link does: latency and bandwidth, measured over a live transport. */
#ifndef TITHE_PROBE_H
#define TITHE_PROBE_H

#include "tithe/comm.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TITHE_PROBE_POINTS = 24 };

typedef struct tithe_probe_point {
    double bytes, seconds; /* a message of that many bytes, one way */
} tithe_probe_point;

typedef struct tithe_probe_link {
    unsigned from, to;
    double latency;   /* seconds, one way */
    double bandwidth; /* bytes per second */
    tithe_probe_point points[TITHE_PROBE_POINTS];
    size_t count;
} tithe_probe_link;

/* Messages of growing length between rank 0 and each other rank, for about `seconds` in all (at least one of each
 * length; lengths that would take too long are left out). Called by all ranks; one rank in each process. `links` takes
 * size - 1 of them and is filled on rank 0. A peer that does not answer within the deadline of comm is an error that names
 * it. */
TITHE_API tithe_status tithe_probe(tithe_comm *comm, double seconds, tithe_probe_link *links,
                                   tithe_error *error);

/* Latency and bandwidth from points: the median of the shortest messages, and the median slope between long ones, so that
 * a few late messages, and a bucket of bytes that passes unhindered, do no harm. */
TITHE_API void tithe_probe_fit(tithe_probe_link *link);

#ifdef __cplusplus
}
#endif
#endif
