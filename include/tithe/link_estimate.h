/* link_estimate.h - what the link does now: latency and bandwidth, from the messages of a running job.
 *
 *     tithe_link_estimate *estimate;
 *     tithe_link_estimate_create(&estimate, &error);
 *     for (;;) {
 *         ... a step ...
 *         if (it is time) tithe_link_update(comm, estimate, &error);      // all processes together, after the same step
 *     }
 *
 * `tithe_probe` (probe.h) asks the same with messages of its own, before a job. Here the messages are those of the
 * collectives, and what they are not enough for is asked with small probes, which together with what the processes say of
 * their messages stay below 1 % of what the job has sent. All ranks hold the same estimate, to the bit. It
 * depends on the clock, so nothing that has to come out the same twice may look at it.
 *
 * What is timed, and why it is right, stands at the top of src/comm/link_estimate.c. */
#ifndef TITHE_LINK_ESTIMATE_H
#define TITHE_LINK_ESTIMATE_H

#include "tithe/comm.h"
#include "tithe/link.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tithe_link_estimate tithe_link_estimate;

TITHE_API tithe_status tithe_link_estimate_create(tithe_link_estimate **estimate, tithe_error *error);
TITHE_API void tithe_link_estimate_free(tithe_link_estimate *estimate); /* NULL is fine */

/* Called by all processes at once, between two steps; one rank in each. Twice a second is often enough. Where all ranks are
 * in this process there is no link, and the estimate stays unknown. */
TITHE_API tithe_status tithe_link_update(tithe_comm *comm, tithe_link_estimate *estimate, tithe_error *error);

/* The link as it is now; its latency is that of the slowest one. */
TITHE_API void tithe_link_now(const tithe_link_estimate *estimate, tithe_link *link);
/* Sent for this estimate so far, by all processes; not in their sent_bytes. */
TITHE_API double tithe_link_probe_bytes(const tithe_link_estimate *estimate);

#ifdef __cplusplus
}
#endif
#endif
