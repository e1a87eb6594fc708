/* serve.h - the loop of a process that has no ranks. */
#ifndef SERVE_SERVE_H
#define SERVE_SERVE_H

#include "comm/comm.h"

/* Serves the others until they are done. */
tithe_status ti_serve(tithe_comm *comm, const comm_service *service, tithe_error *error);

#endif
