/* transports.h - how ranks of several processes can talk to each other, as a table. What a transport needs is loaded when it
 * is used: no other command waits for MPI or ZeroMQ, or misses them where they are not installed. */
#ifndef TITHE_CLI_TRANSPORTS_H
#define TITHE_CLI_TRANSPORTS_H

#include "tithe/transport.h"
#include "tithe/variant.h"

struct train_settings;
struct processes;

/* What this process is to do when its transport has begun. */
typedef enum process_part {
    PART_ALL,    /* there is only this process */
    PART_FIRST,  /* the worker that speaks for all */
    PART_OTHER,  /* another worker: it keeps silent */
    PART_SERVED, /* a server, or the parent of all, and it is done: `status` says how */
    PART_FAILED  /* that was said */
} process_part;

typedef struct transport_row {
    const char *name, *summary, *paper; /* paper NULL: of no paper */
    const tithe_param *params;          /* NULL: none */
    const char *library, *function;     /* that makes a group of ranks; NULL: nothing is to be loaded */
    const char *missing;                /* NULL, or what to say where this build has no such library */
    const char *starter;                /* NULL, or what starts its processes, followed by their number */
    /* Joins the others (processes.c). NULL: there are none. */
    process_part (*begin)(const struct transport_row *t, struct train_settings *s, struct processes *p);
} transport_row;

const transport_row *transports(void);                 /* ends with a NULL name */
const transport_row *transport_find(const char *name); /* NULL: there is none, and that was said */

typedef tithe_status transport_open_mpi(const void *mpi_comm, tithe_comm **comm, tithe_error *error);
typedef tithe_status transport_open_zmq(const tithe_zmq_options *options, tithe_comm **comm,
                                        tithe_error *error);

/* The function of transport.h, from its library, into a pointer of its type. False: it cannot be loaded, and that was said. */
bool transport_load(const transport_row *t, void *function);

#endif
