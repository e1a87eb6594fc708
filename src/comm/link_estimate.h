/* link.h - times of real messages, and what they say about the link. */
#ifndef COMM_LINK_H
#define COMM_LINK_H

#include "tithe/link_estimate.h"

/* A round in which everybody sent and received, and which began with all ranks together: this one began to send at
 * `start` and has just received `bytes`. `longest` is that of any rank. */
void ti_link_round(tithe_comm *comm, uint64_t longest, uint64_t bytes, double start);

/* A latency, one way, as this process saw it at an update. */
void ti_link_hear(tithe_comm *comm, double latency);

/* tithe_link_update; the caller's values are summed over all processes along the way. `last`: no update will follow, so
 * that nothing is sent to be timed. At most LINK_VALUES of them. */
enum { LINK_VALUES = 4 };
tithe_status ti_link_meet(tithe_comm *comm, tithe_link_estimate *link, double *values, size_t n, bool last,
                          tithe_error *error);

/* One report: the latency (NAN or 0: not known), the rounds and the probe since the last one, as means over the ranks. */
void ti_link_learn(tithe_link_estimate *link, double latency, const tithe_link_sample *rounds,
                   tithe_link_sample ping);

#endif
