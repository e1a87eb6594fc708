/* comm.c - counts what is sent, and gives every wait its deadline. */
#include "comm/comm.h"

#include <stdio.h>
#include <stdlib.h>
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

void tithe_comm_free(tithe_comm *comm)
{
    tithe_comm_close(comm);
    free(comm);
}

uint64_t tithe_comm_sent_bytes(const tithe_comm *comm)
{
    return comm->sent_bytes;
}

void ti_comm_count(tithe_comm *comm, uint64_t messages, uint64_t bytes)
{
    comm->sent_messages += messages;
    comm->sent_bytes += bytes;
}

void ti_comm_uncount(tithe_comm *comm, uint64_t bytes, uint64_t messages)
{
    comm->sent_bytes = bytes;
    comm->sent_messages = messages;
}

/* A server gives up a little earlier than those who wait for it: it knows who is missing, and tells them. */
static double deadline(const tithe_comm *comm)
{
    const double stated = comm->deadline > 0 ? comm->deadline : DEFAULT_DEADLINE;
    return comm->local == 0 ? 0.75 * stated : stated;
}

/* "... within 30 seconds." becomes "... within 30 seconds, while exchanging frames." */
static void name_phase(const tithe_comm *comm, tithe_error *error)
{
    if (!comm->phase || strstr(error->text, ", while "))
        return; /* somebody else's failure has its phase already */
    size_t length = strlen(error->text);
    if (length && error->text[length - 1] == '.') length--;
    snprintf(error->text + length, sizeof error->text - length, ", while %s.", comm->phase);
}

static tithe_status note(tithe_comm *comm, tithe_status status, tithe_error *error)
{
    if (!status) return status;
    name_phase(comm, error);
    error->code = status;
    comm->failed = *error;
    return status;
}

/* One failure is enough: whoever asks again hears of it at once, and does not wait for another deadline. */
static tithe_status fail_again(const tithe_comm *comm, tithe_error *error)
{
    if (error) *error = comm->failed;
    return comm->failed.code;
}

tithe_status ti_comm_send(tithe_comm *comm, unsigned from, unsigned to, const void *bytes, size_t length,
                          tithe_error *error)
{
    if (comm->failed.code) return fail_again(comm, error);
    ti_comm_count(comm, 1, length);
    tithe_error own = {0};
    const tithe_status status =
        comm->transport->send(comm->self, from, to, bytes, length, error ? error : &own);
    return note(comm, status, error ? error : &own);
}

tithe_status ti_comm_receive(tithe_comm *comm, unsigned at, unsigned from, void *bytes, size_t length,
                             tithe_error *error)
{
    if (comm->failed.code) return fail_again(comm, error);
    tithe_error own = {0};
    if (!error) error = &own;
    const double start = clock_now();
    const tithe_status status =
        comm->transport->receive(comm->self, at, from, bytes, length, deadline(comm), error);
    comm->waited += clock_now() - start;
    return note(comm, status, error);
}

tithe_status ti_comm_flush(tithe_comm *comm, tithe_error *error)
{
    if (!comm->transport) return TITHE_OK;
    if (comm->failed.code) return fail_again(comm, error);
    tithe_error own = {0};
    if (!error) error = &own;
    const double start = clock_now();
    const tithe_status status = comm->transport->flush(comm->self, deadline(comm), error);
    comm->waited += clock_now() - start;
    return note(comm, status, error);
}

tithe_status ti_comm_all_reduce(tithe_comm *comm, float *vector, size_t n, tithe_error *error)
{
    if (comm->failed.code) return fail_again(comm, error);
    tithe_error own = {0};
    if (!error) error = &own;
    const double start = clock_now();
    const tithe_status status = comm->transport->all_reduce(comm->self, vector, n, deadline(comm), error);
    comm->waited += clock_now() - start;
    return note(comm, status, error);
}
