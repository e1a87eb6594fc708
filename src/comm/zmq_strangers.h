/* zmq_strangers.h - connections of whom nobody knows yet who they are, and an end to those that say too much.
 *
 * ZeroMQ counts messages, not their parts, and hands over none before its last part has come: one that never ends fills the
 * memory, whatever its limits for messages and queues are. So who is not known may send STRANGERS_MAX_BYTES, which a hello does not
 * come near, and is cut off after that. */
#ifndef COMM_ZMQ_STRANGERS_H
#define COMM_ZMQ_STRANGERS_H

#include <stdbool.h>

enum { STRANGERS_MAX_BYTES = 64 << 10 };

typedef struct strangers strangers;

strangers *ti_strangers_open(void); /* NULL: no memory */
void ti_strangers_close(strangers *s);

/* A connection, by its file descriptor: it has come, it has gone, or somebody whom we know is at its other end. Any thread may
 * call these. */
void ti_strangers_come(strangers *s, int file);
void ti_strangers_go(strangers *s, int file);
void ti_strangers_know(strangers *s, int file);

/* Cut off those who have sent too much. False: there are no strangers, and so nothing to watch. */
bool ti_strangers_watch(strangers *s);

#endif
