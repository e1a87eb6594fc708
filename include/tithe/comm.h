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
