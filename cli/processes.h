/* processes.h - a run over several processes: MPI, or ZeroMQ with roles, or all roles started here. */
#ifndef TITHE_CLI_PROCESSES_H
#define TITHE_CLI_PROCESSES_H

#include "train_options.h"

/* What this process is to do after processes_begin. */
typedef enum process_part {
    PART_ALL,    /* there is only this process */
    PART_FIRST,  /* the worker that speaks for all */
    PART_OTHER,  /* another worker: it keeps silent */
    PART_SERVED, /* a server, and it is done: `status` says how */
    PART_FAILED  /* that was said */
} process_part;

typedef struct processes {
    tithe_comm comm;
    bool open;
    int status;
} processes;

/* Joins the others. With --local, this call starts them; the caller comes back as the server, after all was done, and
 * each worker comes back in a process of its own. */
process_part processes_begin(train_settings *s, processes *p);
void processes_end(processes *p);

#endif
