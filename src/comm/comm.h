/* comm.h - send and receive, counted and with a deadline. */
#ifndef COMM_COMM_H
#define COMM_COMM_H

#include "base/status.h"
#include "tithe/comm.h"

#include <stdbool.h>

static inline bool comm_is_local(const tithe_comm *comm, unsigned rank)
{
    return rank - comm->first < comm->local; /* wraps around below first */
}

/* A message that needs no sending, because both ranks are here: it counts all the same. */
void ti_comm_count(tithe_comm *comm, uint64_t messages, uint64_t bytes);

tithe_status ti_comm_send(tithe_comm *comm, unsigned from, unsigned to, const void *bytes, size_t length,
                          tithe_error *error);
tithe_status ti_comm_receive(tithe_comm *comm, unsigned at, unsigned from, void *bytes, size_t length,
                             tithe_error *error);
tithe_status ti_comm_flush(tithe_comm *comm, tithe_error *error);

#endif
