/* handshake.h - what handshake.c and the loop of a server know of each other. */
#ifndef COMM_HANDSHAKE_H
#define COMM_HANDSHAKE_H

#include "comm/comm.h"

/* The server takes the texts of all ranks and tells them what came of it: rank 0, which has a text of its own, or a process
 * without ranks, which has a service that may refuse what they agreed on. */
tithe_status ti_comm_judge(tithe_comm *comm, const char *text, const comm_service *service,
                           tithe_error *error);
/* To a server without ranks, by the first worker: the texts are coming. */
tithe_status ti_comm_call_judge(tithe_comm *comm, tithe_error *error);

#endif
