/* comm.h - a group of ranks that exchange messages, some or all of which live in this process.
 *
 * All ranks here (`tithe_comm_local`) is the everyday case of a simulation: nothing has to move, and messages
 * between ranks of the same process are only counted. With a transport, ranks live in several processes. Bring
 * your own transport by filling in five functions; docs/transports.md walks through one. */
#ifndef TITHE_COMM_H
#define TITHE_COMM_H

#include <stdbool.h>
#include <stdint.h>

#include "tithe/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How messages travel between processes. Every function gets `self`; those that wait get a deadline in seconds from
 * now, and fail with TITHE_E_TIMEOUT or TITHE_E_PEER and a sentence that names the rank. Messages between two ranks
 * arrive in the order in which they were sent. */
typedef struct tithe_transport {
    const char *name, *summary;
    /* Start to send. The bytes stay as they are until the next flush. Never waits for the receiver. */
    tithe_status (*send)(void *self, unsigned from, unsigned to, const void *bytes, size_t length,
                         tithe_error *error);
    /* Wait for the next message of a rank: exactly `length` bytes. */
    tithe_status (*receive)(void *self, unsigned at, unsigned from, void *bytes, size_t length,
                            double deadline, tithe_error *error);
    /* Wait until the bytes of all sends may be changed. */
    tithe_status (*flush)(void *self, double deadline, tithe_error *error);
    /* Tell the others that this process gives up, so that nobody waits for it. */
    void (*give_up)(void *self, const char *why);
    void (*close)(void *self);
    /* Optional: an all-reduce of its own, of one vector for each process. NULL: it has none. */
    tithe_status (*all_reduce)(void *self, float *vector, size_t n, double deadline, tithe_error *error);
} tithe_transport;

/* What this process has seen of the link since all last told each other; link_estimate.h makes an estimate of it. */
enum { TITHE_LINK_ROUNDS = 4, TITHE_LINK_WINDOW = 5 };
typedef struct tithe_link_round {
    uint64_t longest; /* message of any rank in this round, in bytes: the same on all ranks; 0: no round */
    double bytes;     /* that this rank received */
    double seconds;   /* from its sending to its having received */
} tithe_link_round;
typedef struct tithe_link_seen {
    /* All ranks have just heard of each other, so that none is late by more than a few latencies. Set by collectives in
     * which everybody sends and receives; whoever computes between two of them clears it, as the exchange does. */
    bool together;
    tithe_link_round rounds[TITHE_LINK_ROUNDS]; /* the longest of those that began together */
    double latency[TITHE_LINK_WINDOW];          /* of this process, at the last few updates; 0: none */
    unsigned updates;
    double server_sent;              /* bytes, by a server without ranks, at the last update */
    double ping_bytes, ping_seconds; /* of a message that was sent to be timed, and its answer; 0: none */
} tithe_link_seen;

typedef struct tithe_comm {
    unsigned size;         /* ranks in all */
    unsigned first, local; /* those of this process: first, first + 1, ... */
    unsigned server;       /* who collects: rank 0, or `size`, which is a process without a rank of its own */
    const tithe_transport *transport; /* NULL: all are here */
    void *self;
    bool one_thread;   /* only the thread that opened it may use it: nothing can be sent on the side */
    double deadline;   /* seconds that any one wait may take; 0: 30 */
    const char *phase; /* what is being done, for the sentence when a wait fails; static, or NULL */
    /* counted here and nowhere else */
    uint64_t sent_bytes, sent_messages; /* by the ranks of this process */
    double waited;                      /* seconds */
    tithe_link_seen seen;
    tithe_error
        failed; /* the first of its waits that failed; from then on nothing is sent or waited for. Code 0: none */
} tithe_comm;

TITHE_API tithe_comm tithe_comm_local(unsigned size);
TITHE_API void tithe_comm_close(tithe_comm *comm); /* ends the transport; NULL is fine */

/* For languages that see the struct as a pointer: close it and free its memory, which tithe_comm_mpi_fortran made; and its
 * field of that name. */
TITHE_API void tithe_comm_free(tithe_comm *comm);
TITHE_API uint64_t tithe_comm_sent_bytes(const tithe_comm *comm);

#ifdef __cplusplus
}
#endif
#endif
