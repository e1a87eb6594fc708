/* fold.c - sums among all processes, and calls to a server without ranks (src/serve).
 *
 * All send to one process, which folds in rank order and tells all: two latencies, however many there are. That is rank 0 where every
 * process has ranks (MPI), and otherwise the server (ZeroMQ). Processes that ask each other (COMM_ASK) want to know the latency, too; among
 * ranks they hand their numbers along. All of it gives the same bits as adding in rank order in one process. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "comm/calls.h"
#include "comm/handshake.h"
#include "comm/link_estimate.h"

bool ti_comm_has_own_server(const tithe_comm *comm)
{
    return comm->transport && comm->server == comm->size;
}

void ti_comm_fold_in(comm_fold how, double *values, const double *more, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const bool max = how == COMM_MAX || (how == COMM_ASK && i + 1 == n);
        if (!max) values[i] += more[i];
        if (max && more[i] > values[i]) values[i] = more[i];
    }
}

/* ---- calls to a server that has no ranks ------------------------------------------------------------------ */

static tithe_status call(tithe_comm *comm, uint32_t what, uint32_t how, uint64_t n, tithe_error *error)
{
    if (comm->first != 0 || !ti_comm_has_own_server(comm)) return TITHE_OK; /* one voice is enough */
    uint8_t bytes[COMM_CALL_BYTES];
    put_u32(bytes, what);
    put_u32(bytes + 4, how);
    put_u64(bytes + 8, n);
    const tithe_status status = ti_comm_send(comm, 0, comm->server, bytes, sizeof bytes, error);
    return status ? status : ti_comm_flush(comm, error);
}

tithe_status ti_comm_call_judge(tithe_comm *comm, tithe_error *error)
{
    return call(comm, CALL_AGREE, 0, 0, error);
}

tithe_status ti_comm_call_server(tithe_comm *comm, unsigned exchange, tithe_error *error)
{
    return call(comm, CALL_STEP, exchange, 0, error);
}

tithe_status ti_comm_dismiss_server(tithe_comm *comm, tithe_error *error)
{
    if (comm->dismissed) return TITHE_OK;
    comm->dismissed = true;
    return call(comm, CALL_END, 0, 0, error);
}

tithe_status ti_comm_call_state(tithe_comm *comm, bool restore, uint64_t step, tithe_error *error)
{
    return call(comm, CALL_STATE, restore, step, error);
}

tithe_status ti_comm_call_ping(tithe_comm *comm, unsigned rank, uint64_t length, tithe_error *error)
{
    return call(comm, CALL_PING, rank, length, error);
}

tithe_status ti_comm_sent(tithe_comm *comm, double *bytes, tithe_error *error)
{
    *bytes = (double)comm->sent_bytes;
    if (!ti_comm_has_own_server(comm) || comm->first != 0) return TITHE_OK;
    uint8_t count[8];
    tithe_status status = call(comm, CALL_COUNT, 0, 0, error);
    if (!status) status = ti_comm_receive(comm, 0, comm->server, count, sizeof count, error);
    if (!status) *bytes += (double)get_u64(count);
    return status;
}

/* ---- folding ------------------------------------------------------------------------------------------------ */

tithe_status ti_comm_to_everybody(tithe_comm *comm, unsigned from, const void *bytes, size_t length,
                                  tithe_error *error)
{
    tithe_status status = TITHE_OK;
    for (unsigned r = 0; r < comm->size && !status; r++)
        if (r != from) status = ti_comm_send(comm, from, r, bytes, length, error);
    return status ? status : ti_comm_flush(comm, error);
}

static tithe_status fold_at_first(tithe_comm *comm, comm_fold how, double *values, double *room, size_t n,
                                  tithe_error *error)
{
    const size_t bytes = n * sizeof *values;
    tithe_status status = TITHE_OK;
    if (comm->first != 0) {
        status = ti_comm_send(comm, comm->first, 0, values, bytes, error);
        if (!status) status = ti_comm_flush(comm, error);
        return status ? status : ti_comm_receive(comm, comm->first, 0, values, bytes, error);
    }
    for (unsigned r = 1; r < comm->size && !status; r++) {
        status = ti_comm_receive(comm, 0, r, room, bytes, error);
        if (!status) ti_comm_fold_in(how, values, room, n);
    }
    return status ? status : ti_comm_to_everybody(comm, 0, values, bytes, error);
}

/* Receive what the ranks before have, add what is here, pass it on; the last one has it all, N latencies after the first began. */
static tithe_status ask_along(tithe_comm *comm, double *values, double *room, size_t n, tithe_error *error)
{
    const unsigned rank = comm->first, last = comm->size - 1;
    const size_t bytes = n * sizeof *values;
    tithe_status status = TITHE_OK;
    if (rank > 0) {
        status = ti_comm_receive(comm, rank, rank - 1, room, bytes, error);
        if (status) return status;
        ti_comm_fold_in(COMM_ASK, room, values, n); /* theirs first: rank order */
        memcpy(values, room, bytes);
    }
    if (rank == last) return ti_comm_to_everybody(comm, last, values, bytes, error);
    const double start = clock_now();
    status = ti_comm_send(comm, rank, rank + 1, values, bytes, error);
    if (!status) status = ti_comm_flush(comm, error);
    if (!status) status = ti_comm_receive(comm, rank, last, values, bytes, error);
    if (!status && rank == 0) ti_link_hear(comm, (clock_now() - start) / comm->size);
    return status;
}

/* When asked, the server says behind the sum for how long it held this rank's numbers, if it knows, the rest was on the
 * way; and what it has sent itself. */
static tithe_status fold_at_server(tithe_comm *comm, comm_fold how, double *values, double *room, size_t n,
                                   tithe_error *error)
{
    const size_t bytes = n * sizeof *values, back = bytes + (how == COMM_ASK ? 2 * sizeof *room : 0);
    tithe_status status = call(comm, CALL_FOLD, how, n, error);
    const double start = clock_now();
    if (!status) status = ti_comm_send(comm, comm->first, comm->server, values, bytes, error);
    if (!status) status = ti_comm_flush(comm, error);
    if (!status) status = ti_comm_receive(comm, comm->first, comm->server, room, back, error);
    if (status) return status;
    memcpy(values, room, bytes);
    if (how == COMM_ASK) {
        ti_link_hear(comm, isnan(room[n]) ? 0 : (clock_now() - start - room[n]) / 2);
        comm->seen.server_sent = room[n + 1];
    }
    return TITHE_OK;
}

static tithe_status fold_all(tithe_comm *comm, comm_fold how, double *values, size_t n, tithe_error *error)
{
    double *room = malloc((n + 2) * sizeof *room);
    if (!room)
        return ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory to add up what the ranks have.");
    tithe_status status;
    if (ti_comm_has_own_server(comm))
        status = fold_at_server(comm, how, values, room, n, error);
    else if (how == COMM_ASK)
        status = ask_along(comm, values, room, n, error);
    else
        status = fold_at_first(comm, how, values, room, n, error);
    free(room);
    return status;
}

tithe_status ti_comm_fold(tithe_comm *comm, comm_fold how, double *values, size_t n, tithe_error *error)
{
    if (!comm || !comm->transport || comm->local == comm->size || n == 0) return TITHE_OK;
    const uint64_t sent = comm->sent_bytes, messages = comm->sent_messages;
    const char *phase = comm->phase;
    if (!phase) comm->phase = "adding up losses and totals";
    tithe_status status = TITHE_OK;
    for (size_t done = 0; done < n && !status; done += FOLD_BLOCK)
        status = fold_all(comm, how, values + done, n - done < FOLD_BLOCK ? n - done : FOLD_BLOCK, error);
    comm->phase = phase;
    if (how == COMM_ASK) ti_comm_uncount(comm, sent, messages);
    return status;
}

/* Where the server has no rank, the first worker also calls it. */
void ti_comm_fold_rounds(unsigned ranks, bool server_apart, size_t n, tithe_rounds *list)
{
    const double others = server_apart ? ranks : ranks - 1.0, call = server_apart ? COMM_CALL_BYTES : 0;
    const double down = others * (double)(n * sizeof(double)), up = down + call;
    if (others < 1) return;
    tithe_rounds_add(list, (tithe_round){1, up, up, others + server_apart, TITHE_TO_ONE});
    tithe_rounds_add(list, (tithe_round){1, down, down, others, TITHE_FROM_ONE});
}

/* ---- blocks of one rank, to rank 0 and back -------------------------------------------------------------------- */

/* Workers may know only the server, which then passes it on. */
static tithe_status pass_block(tithe_comm *comm, uint32_t what, unsigned rank, void *bytes, size_t length,
                               tithe_error *error)
{
    if (!comm->transport || comm->local == comm->size || rank == 0 || length == 0) return TITHE_OK;
    const bool first = comm->first == 0, up = what == CALL_COLLECT;
    if (!first && !comm_is_local(comm, rank)) return TITHE_OK;
    const unsigned me = first ? 0 : rank, other = first ? rank : 0;
    const unsigned via = ti_comm_has_own_server(comm) ? comm->server : other;
    tithe_status status = call(comm, what, rank, length, error);
    if (status) return status;
    if (first == up) return ti_comm_receive(comm, me, via, bytes, length, error);
    status = ti_comm_send(comm, me, via, bytes, length, error);
    return status ? status : ti_comm_flush(comm, error);
}

tithe_status ti_comm_collect(tithe_comm *comm, unsigned rank, void *bytes, size_t length, tithe_error *error)
{
    return pass_block(comm, CALL_COLLECT, rank, bytes, length, error);
}

tithe_status ti_comm_deliver(tithe_comm *comm, unsigned rank, void *bytes, size_t length, tithe_error *error)
{
    return pass_block(comm, CALL_DELIVER, rank, bytes, length, error);
}
