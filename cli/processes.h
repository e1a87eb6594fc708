/* processes.h - a run over several processes: MPI, or ZeroMQ with roles, or all roles started here. */
#ifndef TITHE_CLI_PROCESSES_H
#define TITHE_CLI_PROCESSES_H

#include "train_options.h"
#include "transports.h"

typedef struct processes {
    tithe_comm *comm;             /* NULL: there is only this process */
    bool waits_can_stop;          /* a wait for the others ends when Ctrl-C or SIGTERM is noted */
    transport_open_zmq *open_zmq; /* loaded before others are started, which share it */
    int status;
} processes;

/* Joins the others. With --local, this call starts them: it comes back in each of them, and in the caller after all
 * have ended. */
process_part processes_begin(train_settings *s, processes *p);
void processes_end(processes *p);

/* For the table of transports. */
process_part processes_begin_mpi(const transport_row *t, train_settings *s, processes *p);
process_part processes_begin_zmq(const transport_row *t, train_settings *s, processes *p);

#endif
