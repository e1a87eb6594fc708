/* link_estimate.h - what the link does now: latency and bandwidth, from the messages of a running job.
 *
 *     tithe_link_estimate link = tithe_link_start();
 *     for (;;) {
 *         ... a step ...
 *         if (it is time) tithe_link_update(&comm, &link, &error);      // all processes together, after the same step
 *     }
 *
 * `tithe_probe` (probe.h) asks the same with messages of its own, before a job. Here the messages are those of the
 * collectives, and what they are not enough for is asked with small probes, which together with the numbers that the
 * processes tell each other stay below 1 % of what the job has sent. All ranks hold the same estimate, to the bit. It
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

typedef struct tithe_link_sample {
    double bytes, seconds; /* 0 bytes: no sample */
    unsigned hops;         /* latencies in it: 1, or 2 with an answer */
    unsigned group;        /* samples of one group were taken at the same time, or by the same rank */
} tithe_link_sample;

typedef struct tithe_link_estimate {
    tithe_link now;     /* latency is that of the slowest link */
    double probe_bytes; /* sent for this estimate so far, by all processes; not in their sent_bytes */
    /* what it is made of: the last few updates, and the last few probes */
    tithe_link_sample rounds[TITHE_LINK_WINDOW * TITHE_LINK_ROUNDS], pings[TITHE_LINK_WINDOW];
    unsigned reports, pinged, answered; /* so far */
    uint64_t ping_length;               /* of the next probe, at least */
    bool reports_next;                  /* the next update has the budget for the rounds */
} tithe_link_estimate;

TITHE_API tithe_link_estimate tithe_link_start(void);

/* Called by all processes at once, between two steps; one rank in each. Twice a second is often enough. Where all ranks are
 * in this process there is no link, and the estimate stays unknown. */
TITHE_API tithe_status tithe_link_update(tithe_comm *comm, tithe_link_estimate *link, tithe_error *error);

#ifdef __cplusplus
}
#endif
#endif
