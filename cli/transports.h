/* transports.h - how ranks of several processes can talk to each other, as a table. What a transport needs is loaded when it
 * is used: no other command waits for MPI or ZeroMQ, or misses them where they are not installed. */
#ifndef TITHE_CLI_TRANSPORTS_H
#define TITHE_CLI_TRANSPORTS_H

#include "tithe/transport.h"

/* Its place in the table. */
typedef enum transport_id { TRANSPORT_INPROC, TRANSPORT_MPI, TRANSPORT_ZMQ } transport_id;

typedef struct transport_row {
    const char *name, *summary, *paper;
    const char *library, *function; /* that makes a group of ranks; NULL: nothing is to be loaded */
    const char *missing;            /* NULL, or what to say where this build has no such library */
} transport_row;

const transport_row *transports(void);                 /* ends with a NULL name */
const transport_row *transport_find(const char *name); /* NULL: there is none, and that was said */

typedef tithe_status transport_open_mpi(const void *mpi_comm, tithe_comm **comm, tithe_error *error);
typedef tithe_status transport_open_zmq(const tithe_zmq_options *options, tithe_comm **comm,
                                        tithe_error *error);

/* The function of transport.h, from its library. NULL: it cannot be loaded, and that was said. */
transport_open_mpi *transport_load_mpi(void);
transport_open_zmq *transport_load_zmq(void);

#endif
