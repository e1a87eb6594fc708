/* zmq_wire.h - sockets of ZeroMQ, for messages that are a head (kind, from, to) and a body. What they mean is not known
 * here. */
#ifndef COMM_ZMQ_WIRE_H
#define COMM_ZMQ_WIRE_H

#include "tithe/status.h"

#include <stdbool.h>
#include <stdint.h>

enum { WIRE_MAX_SOCKETS = 1024 };

/* ZeroMQ's name of a connection, on a socket that several share; of length 0 where there is but one. */
typedef struct wire_name {
    uint8_t bytes[32];
    size_t length;
} wire_name;

typedef struct wire_body {
    struct wire_body *next; /* in a queue of its owner's */
    size_t length;
    const uint8_t *bytes;
} wire_body;

typedef struct wire_arrival {
    wire_name name;
    uint32_t kind, from, to;
    wire_body *body; /* for the taker to drop; NULL: there was no memory for it */
} wire_arrival;

/* What the sockets of one process share. */
typedef struct wire wire;
wire *ti_wire_open(void); /* NULL: no memory */
/* After all of its sockets. Waits for what is still to be sent, for two seconds, or as long as ti_wire_hurry said. NULL is
 * fine. */
void ti_wire_close(wire *w);

/* Where many connect, once for each wire, and what connects to one of those. NULL: *why says why not. `timeout` is for a send, in seconds;
 * `file` is a socket that listens there already, or 0. */
void *ti_wire_listen(wire *w, const char *endpoint, int file, double timeout, const char **why);
void *ti_wire_connect(wire *w, const char *endpoint, double timeout, const char **why);
void ti_wire_close_socket(void *socket);
void ti_wire_close_listener(wire *w, void *socket); /* takes the file of an ipc:// endpoint away, too */
void ti_wire_hurry(void *socket, double seconds);
bool ti_wire_address(void *socket, char *address, size_t room); /* where it listens */

/* Messages whose bytes ZeroMQ still reads where they are. */
typedef struct wire_loan {
    struct wire *wire;
    unsigned count; /* guarded by the wire: ti_wire_owes */
} wire_loan;

/* Send to `name` where several share the socket. Short messages are copied; the bytes of a long one are lent, and must stay as
 * they are until ti_wire_flush. `loan` is NULL: all are copied. */
tithe_status ti_wire_send(wire *w, void *socket, const wire_name *name, const uint32_t head[3],
                          const void *bytes, size_t length, wire_loan *loan, tithe_error *error);
/* Wait, for at most `seconds`, until nothing is lent any more: the system has taken all long messages, or their sockets were
 * closed. False: not yet. */
bool ti_wire_flush(wire *w, double seconds);
bool ti_wire_owes(const wire_loan *loan);
/* Wait for anything to arrive, for at most `seconds`: ready[i] belongs to sockets[i]. A signal may end it early. */
tithe_status ti_wire_wait(void *const *sockets, size_t count, double seconds, bool *ready,
                          tithe_error *error);
/* One message, if there is one. False: it is none of ours, and is dropped with all its parts. */
bool ti_wire_take(void *socket, bool shared, wire_arrival *a);
void ti_wire_drop(wire_body *body); /* NULL is fine */
/* Whoever sent this is no stranger: from now on it may send as much as it likes (zmq_strangers.h). */
void ti_wire_know(wire *w, const wire_body *body);

bool ti_wire_same_name(const wire_name *a, const wire_name *b);

#endif
