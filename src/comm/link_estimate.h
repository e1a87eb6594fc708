/* link_estimate.h - times of real messages, and what they say about the link. */
#ifndef COMM_LINK_ESTIMATE_H
#define COMM_LINK_ESTIMATE_H

#include "comm/comm.h"
#include "tithe/link_estimate.h"

typedef struct link_sample {
    double bytes, seconds; /* 0 bytes: no sample */
    unsigned hops;         /* latencies in it: 1, or 2 with an answer */
    unsigned group;        /* samples of one group were taken at the same time, or by the same rank */
} link_sample;

struct tithe_link_estimate {
    tithe_link now; /* latency is that of the slowest link */
    double noise;   /* seconds that a short message usually takes more than that */
    double newest;  /* bandwidth, by the rounds of the last report alone; NAN: they do not tell */
    /* Sent for this estimate so far, by all processes; not in their sent_bytes: */
    double probe_bytes; /* reports and probes, */
    double look_bytes;  /* and for a tuner, messages before the first step and meetings without reports */
    double met_bytes;   /* of the last meeting, without its report */
    /* what it is made of: the last few updates, and the last few probes */
    link_sample rounds[LINK_WINDOW * LINK_ROUNDS], pings[LINK_PINGS];
    unsigned reports, pinged, answered; /* so far */
    uint64_t ping_length;               /* of the next probe, at least */
    bool reports_next;                  /* the next update has the budget for the rounds */
};

tithe_link_estimate ti_link_start(void);

/* A round in which everybody sent and received, and which began with all ranks together: this one began to send at
 * `start` and has just received `bytes`. `longest` is that of any rank. */
void ti_link_round(tithe_comm *comm, uint64_t longest, uint64_t bytes, double start);

/* A latency, one way, as this process saw it at an update; 0: it did not. */
void ti_link_hear(tithe_comm *comm, double latency);

/* tithe_link_update; the caller's values are summed over all processes along the way. `last`: no update will follow, so
 * that nothing is sent to be timed. At most LINK_VALUES of them. */
enum { LINK_VALUES = 4 };
tithe_status ti_link_meet(tithe_comm *comm, tithe_link_estimate *link, double *values, size_t n, bool last,
                          tithe_error *error);

/* Seconds that it takes on a link, without a probe. */
double ti_link_meet_seconds(const tithe_comm *comm, const tithe_link *link);

/* One report: the latency (NAN or 0: not known), the rounds and the probe since the last one, as means over the ranks. */
void ti_link_learn(tithe_link_estimate *link, double latency, const link_sample *rounds, link_sample ping);

#endif
