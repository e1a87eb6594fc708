/* comm.h - a group of ranks that exchange messages, some or all of which live in this process.
 *
 * All ranks here (`tithe_comm_local`) is the everyday case of a simulation: nothing has to move, and messages between ranks
 * of the same process are only counted. Over MPI and ZeroMQ ranks live in several processes (transport.h). Bring your own
 * transport by filling in five functions; docs/transports.md walks through one. */
#ifndef TITHE_COMM_H
#define TITHE_COMM_H

#include <stdbool.h>
#include <stdint.h>

#include "tithe/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tithe_comm tithe_comm;

/* All ranks, from 1 on, in this process. */
TITHE_API tithe_status tithe_comm_local(unsigned size, tithe_comm **comm, tithe_error *error);
TITHE_API void tithe_comm_free(tithe_comm *comm); /* ends its transport, too; NULL is fine */

TITHE_API unsigned tithe_comm_size(const tithe_comm *comm);        /* ranks in all */
TITHE_API unsigned tithe_comm_rank(const tithe_comm *comm);        /* the first rank of this process */
TITHE_API unsigned tithe_comm_local_ranks(const tithe_comm *comm); /* how many live here; 0: it is a server */
TITHE_API const char *tithe_comm_transport(const tithe_comm *comm); /* "inproc", "mpi", "zmq", ... */
/* What the ranks of this process have sent so far, all of it. */
TITHE_API uint64_t tithe_comm_sent_bytes(const tithe_comm *comm);
TITHE_API uint64_t tithe_comm_sent_messages(const tithe_comm *comm);
/* Seconds that any one wait may take; 0: 30. */
TITHE_API void tithe_comm_set_timeout(tithe_comm *comm, double seconds);
/* Tell the others that this process cannot go on, so that nobody waits for it. Says nothing where opening an exchange has
 * just told all of them. */
TITHE_API void tithe_comm_give_up(tithe_comm *comm, const char *why);

/* ---- a transport of your own ------------------------------------------------------------------------------- */

/* How messages travel between processes. Every function gets `self`; those that wait get the seconds that they may take,
 * and fail with TITHE_E_TIMEOUT or TITHE_E_PEER and a sentence that names the rank. Messages between two ranks
 * arrive in the order in which they were sent. */
typedef struct tithe_transport {
    size_t size; /* sizeof(tithe_transport): what was compiled against this header */
    const char *name, *summary;
    /* Start to send. The bytes stay as they are until the next flush, or until the receiver has taken them. Never waits for the
     * receiver. */
    tithe_status (*send)(void *self, unsigned from, unsigned to, const void *bytes, size_t length,
                         tithe_error *error);
    /* Wait for the next message of a rank: exactly `length` bytes. */
    tithe_status (*receive)(void *self, unsigned at, unsigned from, void *bytes, size_t length,
                            double timeout, tithe_error *error);
    /* Wait until the bytes of all sends may be changed. */
    tithe_status (*flush)(void *self, double timeout, tithe_error *error);
    /* Tell the others that this process gives up, so that nobody waits for it. Also called when one of the functions failed;
     * afterwards nobody reads the bytes of earlier sends, nor writes to the room of pieces. */
    void (*give_up)(void *self, const char *why);
    void (*close)(void *self); /* may be NULL */
    /* Optional: an all-reduce of its own, of one vector for each process. NULL: it has none. */
    tithe_status (*all_reduce)(void *self, float *vector, size_t n, double timeout, tithe_error *error);
    /* Optional: pieces of a long message, which are passed on as they come, with receives that are posted ahead. A piece
     * comes only from a rank that sends pieces to one that takes them. NULL:
     * they go as messages. */
    tithe_status (*send_piece)(void *self, unsigned from, unsigned to, const void *bytes, size_t length,
                               tithe_error *error);
    /* The next piece but those that were asked for already will be this long, and has this room. */
    tithe_status (*expect_piece)(void *self, unsigned at, unsigned from, void *room, size_t length,
                                 tithe_error *error);
    /* Wait for the next piece: in its room, or where the transport has it until the next one is taken. */
    tithe_status (*take_piece)(void *self, unsigned at, unsigned from, void *room, size_t length,
                               const void **bytes, double timeout, tithe_error *error);
} tithe_transport;

/* Who is where. */
typedef struct tithe_place {
    size_t size;     /* sizeof(tithe_place) */
    unsigned ranks;  /* in all */
    unsigned first;  /* of this process, which has `local` of them: first, first + 1, ... */
    unsigned local;  /* 0: it is a server that has none */
    unsigned server; /* who collects: rank 0, or `ranks`, which is a process without a rank of its own */
    bool one_thread; /* only the thread that made it may use it: nothing can be sent on the side */
    double timeout;  /* seconds that any one wait may take; 0: 30 */
} tithe_place;

/* The transport must outlive the group; `self` belongs to it from now on, and is ended by its `close`. */
TITHE_API tithe_status tithe_comm_custom(const tithe_transport *transport, void *self,
                                         const tithe_place *place, tithe_comm **comm, tithe_error *error);

#ifdef __cplusplus
}
#endif
#endif
