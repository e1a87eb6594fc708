/* ping.c - one message that is sent to be timed, and a byte in return. */
#include <stdlib.h>

#include "base/clock.h"
#include "comm/comm.h"

tithe_status ti_comm_answer_ping(tithe_comm *comm, unsigned rank, uint64_t length, tithe_error *error)
{
    if (rank >= comm->size || length > 2 * COMM_BLOCK)
        return ti_fail(error, TITHE_E_CORRUPT, 0, "Rank %u should send %llu bytes to be timed.", rank,
                       (unsigned long long)length);
    const uint64_t sent = comm->sent_bytes, messages = comm->sent_messages;
    const unsigned me = comm->server;
    uint8_t *bytes = malloc((size_t)length + 1), answer = 1;
    if (!bytes) return ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory to time a message.");
    tithe_status status = ti_comm_receive(comm, me, rank, bytes, (size_t)length, error);
    if (!status) status = ti_comm_send(comm, me, rank, &answer, 1, error);
    if (!status) status = ti_comm_flush(comm, error);
    free(bytes);
    ti_comm_uncount(comm, sent, messages);
    return status;
}

static tithe_status time_ping(tithe_comm *comm, uint64_t length, double *seconds, tithe_error *error)
{
    uint8_t *bytes = malloc((size_t)length + 1), answer;
    if (!bytes) return ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory to time a message.");
    uint64_t state = length;
    for (uint64_t i = 0; i < length; i++) { /* nothing that a link on the way could make shorter */
        state = state * UINT64_C(6364136223846793005) + 1;
        bytes[i] = (uint8_t)(state >> 56);
    }
    const double start = clock_now();
    tithe_status status = ti_comm_send(comm, comm->first, comm->server, bytes, (size_t)length, error);
    if (!status) status = ti_comm_receive(comm, comm->first, comm->server, &answer, 1, error);
    *seconds = clock_now() - start;
    if (!status) status = ti_comm_flush(comm, error);
    free(bytes);
    return status;
}

tithe_status ti_comm_ping(tithe_comm *comm, unsigned rank, uint64_t length, double *seconds,
                          tithe_error *error)
{
    const uint64_t sent = comm->sent_bytes, messages = comm->sent_messages;
    const char *phase = comm->phase;
    comm->phase = "timing a message";
    tithe_status status = ti_comm_call_ping(comm, rank, length, error);
    if (!status && comm->first == rank) status = time_ping(comm, length, seconds, error);
    if (!status && comm->first == comm->server) status = ti_comm_answer_ping(comm, rank, length, error);
    comm->phase = phase;
    ti_comm_uncount(comm, sent, messages);
    return status;
}
