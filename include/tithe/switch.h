/* switch.h - a switch that adds what passes through it, and the way to it: libtithe_switch. docs/in-network.md tells what it is for.
 *
 *     tithe_switch_options at = {.size = sizeof at, .address = "10.0.0.9:5555", .key = "run.key"};
 *     tithe_switch_attach(comm, &at, &error);             // a group of ranks has a switch from now on
 *     tithe_exchange_open(comm, "codec=all|natural;scheme=switch", n, &exchange, &error);
 *
 * and in a process of its own, which `tithe switch` is:
 *
 *     at.workers = 4;
 *     tithe_switch_serve(&at, &counts, &error);           // until at.stop says so */
#ifndef TITHE_SWITCH_H
#define TITHE_SWITCH_H

#include <stdint.h>

#include "tithe/comm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Zero is a good value for all but size and address, and of a switch for the number of its workers. */
typedef struct tithe_switch_options {
    size_t size;         /* sizeof(tithe_switch_options) */
    const char *address; /* HOST:PORT, or [HOST]:PORT: where the switch is; port 0: one that is free */
    const char *key; /* a file with the secret that signs packets, the same at both ends. NULL: none does */
    /* of the switch alone */
    unsigned workers;    /* of each job */
    unsigned jobs;       /* at the same time; 0: 4 */
    unsigned slots;      /* of a job, a power of two; 0: as many packets as the socket has room for */
    unsigned datagram;   /* bytes, at most; 0: what the interface carries */
    const char *backend; /* one of tithe_switch_backends; NULL: the first */
    bool trusted;        /* listen beyond this machine without a key: everybody there may add to sums */
    /* Asked at least twice a second. True: the switch ends, and a wait for it ends with TITHE_E_STOPPED. NULL: never. */
    bool (*stop)(void *context);
    void *stop_context;
    /* Called when workers may come, with the address that they come to. NULL: never. */
    void (*ready)(void *context, const char *address);
    void *ready_context;
} tithe_switch_options;

/* The group's scheme `switch` reduces there. Nothing is sent before the first step. The switch is let go of with the group. */
TITHE_API tithe_status tithe_switch_attach(tithe_comm *comm, const tithe_switch_options *options,
                                           tithe_error *error);

enum { TITHE_SWITCH_REASONS = 24 };
typedef struct tithe_switch_counts {
    size_t size;                            /* sizeof(tithe_switch_counts), set by whoever asks */
    uint64_t packets;                       /* that came */
    uint64_t aggregated;                    /* sums that were finished */
    uint64_t retransmitted;                 /* parts that were in already */
    uint64_t dropped;                       /* packets that were not taken, */
    uint64_t reasons[TITHE_SWITCH_REASONS]; /* and why: tithe_switch_reason names them */
} tithe_switch_counts;
/* NULL: there is no reason of that number. Number 0 is none at all. */
TITHE_API const char *tithe_switch_reason(unsigned number);

/* How packets get to the switch and back. */
typedef struct tithe_switch_backend {
    const char *name, *summary;
    /* NULL, or a sentence: why it cannot be used here. The text is static. */
    const char *(*refuse)(const tithe_switch_options *options);
    tithe_status (*serve)(const tithe_switch_options *options, tithe_switch_counts *counts,
                          tithe_error *error);
} tithe_switch_backend;
TITHE_API const tithe_switch_backend *const *tithe_switch_backends(void); /* ends with NULL */

/* Add, until options->stop says so. `counts` is filled in the end, also after a failure. */
TITHE_API tithe_status tithe_switch_serve(const tithe_switch_options *options, tithe_switch_counts *counts,
                                          tithe_error *error);

/* ---- how fast it is here ------------------------------------------------------------------------------------ */

/* Two workers on the loopback, and nothing but reductions. */
typedef struct tithe_switch_row {
    const char *name;        /* "switch.udp"; "echo": the same packets, sent back by sockets alone */
    const char *what;        /* numbers and packets, or the round trip of one packet */
    size_t n;                /* numbers of a reduction */
    double seconds, fastest; /* of one: the median, and the shortest */
    double rate;             /* numbers in a second */
    bool trip;               /* of a round trip */
    double gate;             /* at least this rate; of a round trip, at most these seconds; 0: none */
    bool met;
    uint64_t retransmitted;
    const char *why; /* nothing could be measured here; NULL: it was */
} tithe_switch_row;
TITHE_API tithe_status tithe_switch_bench(void (*report)(void *context, const tithe_switch_row *row),
                                          void *context, tithe_error *error);

#ifdef __cplusplus
}
#endif
#endif
