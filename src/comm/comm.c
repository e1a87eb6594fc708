/* comm.c - counts what is sent, and gives every wait its deadline. */
#include "comm/comm.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"

enum { DEFAULT_DEADLINE = 30 };

tithe_comm tithe_comm_local(unsigned size)
{
    return (tithe_comm){.size = size, .local = size};
}

void tithe_comm_close(tithe_comm *comm)
{
    if (!comm || !comm->transport) return;
    comm->transport->close(comm->self);
    comm->transport = NULL;
}

void ti_comm_count(tithe_comm *comm, uint64_t messages, uint64_t bytes)
{
    comm->sent_messages += messages;
    comm->sent_bytes += bytes;
}

/* A server gives up a little earlier than those who wait for it: it knows who is missing, and tells them. */
static double deadline(const tithe_comm *comm)
{
    const double stated = comm->deadline > 0 ? comm->deadline : DEFAULT_DEADLINE;
    return comm->local == 0 ? 0.75 * stated : stated;
}

tithe_status ti_comm_send(tithe_comm *comm, unsigned from, unsigned to, const void *bytes, size_t length,
                          tithe_error *error)
{
    ti_comm_count(comm, 1, length);
    return comm->transport->send(comm->self, from, to, bytes, length, error);
}

/* "... within 30 seconds." becomes "... within 30 seconds, while exchanging frames." */
static void name_phase(const tithe_comm *comm, tithe_error *error)
{
    if (!error || !comm->phase) return;
    size_t length = strlen(error->text);
    if (length && error->text[length - 1] == '.') length--;
    snprintf(error->text + length, sizeof error->text - length, ", while %s.", comm->phase);
}

tithe_status ti_comm_receive(tithe_comm *comm, unsigned at, unsigned from, void *bytes, size_t length,
                             tithe_error *error)
{
    const double start = clock_now();
    const tithe_status status =
        comm->transport->receive(comm->self, at, from, bytes, length, deadline(comm), error);
    comm->waited += clock_now() - start;
    if (status) name_phase(comm, error);
    return status;
}

tithe_status ti_comm_flush(tithe_comm *comm, tithe_error *error)
{
    if (!comm->transport) return TITHE_OK;
    const double start = clock_now();
    const tithe_status status = comm->transport->flush(comm->self, deadline(comm), error);
    comm->waited += clock_now() - start;
    return status;
}

tithe_status ti_comm_all_reduce(tithe_comm *comm, float *vector, size_t n, tithe_error *error)
{
    const double start = clock_now();
    const tithe_status status = comm->transport->all_reduce(comm->self, vector, n, deadline(comm), error);
    comm->waited += clock_now() - start;
    if (status) name_phase(comm, error);
    return status;
}
