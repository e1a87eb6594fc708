/* zmq_state.h - what the two halves of the transport over ZeroMQ share: zmq_meet.c gets everybody together, zmq.c sends
 * and receives from then on. */
#ifndef COMM_ZMQ_STATE_H
#define COMM_ZMQ_STATE_H

#include "comm/zmq_wire.h"
#include "tithe/transport.h"

enum {
    HELLO,   /* a worker to the server: version, workers, and where it listens */
    WELCOME, /* the server to a worker: its rank, the run's number, and where everybody listens */
    I_AM, /* of two workers, the one that connected says who it is, and knows the number; the other one answers */
    MESSAGE,
    GIVE_UP, /* also from the server to a worker that it does not take. The same in all versions */
    WAITING, /* for this rank, for long; or for nobody any more */
    NUMBER_BYTES = 16,
    MAX_QUEUED =
        1 << 16 /* messages of one peer that nobody has asked for: far more than a step sends ahead */
};

/* The other end of one connection, and what it has sent. */
typedef struct zmq_peer {
    void *socket; /* NULL: not connected */
    wire_name name;
    bool answered; /* our I_AM */
    wire_body *first, *last;
    unsigned queued;
    wire_body *taken; /* the piece that was taken last: whoever asked for it reads it where it is */
    wire_loan loan;   /* of what is on its way to it */
} zmq_peer;

typedef struct zmq_state {
    wire *wire;
    void *listener;      /* many connect here; NULL: nobody does */
    void *server;        /* a worker's connection to the server */
    unsigned rank, size; /* rank `size` is the server */
    bool serves;
    double timeout;
    bool (*stop)(void *context); /* tithe_zmq_options */
    void *stop_context;
    zmq_peer *peers;              /* size + 1 of them */
    unsigned *waits;              /* comm.h: what each has said of itself */
    uint8_t number[NUMBER_BYTES]; /* drawn by the server for this run */
} zmq_state;

/* The server: wait until all workers are there. A worker: find the server, and the other workers. */
tithe_status ti_zmq_gather_workers(zmq_state *s, const tithe_zmq_options *o, tithe_error *error);
tithe_status ti_zmq_join(zmq_state *s, const tithe_zmq_options *o, tithe_error *error);

tithe_status ti_zmq_put(zmq_state *s, unsigned to, uint32_t kind, const void *bytes, size_t length,
                        tithe_error *error);
/* Tell somebody who is no rank that it will be none. */
void ti_zmq_refuse(zmq_state *s, const wire_name *whom, const char *why);
void ti_zmq_give_up(void *state, const char *why); /* tell everybody that we are connected to */

/* Wait for anything on these sockets, unless the caller wants to stop. */
tithe_status ti_zmq_wait(const zmq_state *s, void *const *sockets, size_t count, double seconds, bool *ready,
                         tithe_error *error);
/* Wait for anything to arrive, and sort it: messages into their queues, what strangers say into none. */
tithe_status ti_zmq_pump(zmq_state *s, double seconds, tithe_error *error);

/* How much of a text that somebody has sent goes into a sentence: it may be longer than an int can say. */
static inline int zmq_text_length(const wire_body *text)
{
    enum { MAX_LETTERS = 200 };
    return text->length < MAX_LETTERS ? (int)text->length : MAX_LETTERS;
}

/* The rank that has this name on the listener; more than `size`: none. */
unsigned ti_zmq_rank_of(const zmq_state *s, const wire_name *name);

#endif
