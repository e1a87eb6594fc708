/* together.c - sums among all processes, and what a server without ranks does for them.
 *
 * Where every process has ranks (MPI), numbers are handed along the ranks, each adding its own, and the last one tells
 * all. Where there is a server without ranks (ZeroMQ), all send to it, and it folds in the same order. Both give the same
 * bits as adding in rank order in one process. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "comm/agree.h"
#include "comm/link_estimate.h"

enum {
    CALL_FOLD = 1,
    CALL_AGREE = 2,
    CALL_STEP = 3,
    CALL_END = 4,
    CALL_COUNT = 5,
    CALL_COLLECT = 6,
    CALL_DELIVER = 7,
    CALL_STATE = 8,
    CALL_PING = 9,
    MOST_ASKED = 1024,   /* numbers in a fold that is timed */
    FOLD_BLOCK = 1 << 16 /* numbers: a server holds so many of each rank, however long the vector is */
};

bool ti_comm_has_own_server(const tithe_comm *comm)
{
    return comm->transport && comm->server == comm->size;
}

static void fold(comm_fold how, double *values, const double *more, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const bool most = how == COMM_MOST || (how == COMM_ASK && i + 1 == n);
        if (!most) values[i] += more[i];
        if (most && more[i] > values[i]) values[i] = more[i];
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

tithe_status ti_comm_call_server(tithe_comm *comm, tithe_error *error)
{
    return call(comm, CALL_STEP, 0, 0, error);
}

tithe_status ti_comm_dismiss_server(tithe_comm *comm, tithe_error *error)
{
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

void ti_comm_give_up(tithe_comm *comm, const char *why)
{
    if (comm->transport) comm->transport->give_up(comm->self, why);
}

/* ---- folding ------------------------------------------------------------------------------------------------ */

static tithe_status to_everybody(tithe_comm *comm, unsigned from, const void *bytes, size_t length,
                                 tithe_error *error)
{
    tithe_status status = TITHE_OK;
    for (unsigned r = 0; r < comm->size && !status; r++)
        if (r != from) status = ti_comm_send(comm, from, r, bytes, length, error);
    return status ? status : ti_comm_flush(comm, error);
}

/* Receive what the ranks before have, add what is here, pass it on; the last one has it all. */
static tithe_status fold_along(tithe_comm *comm, comm_fold how, double *values, double *room, size_t n,
                               tithe_error *error)
{
    const unsigned rank = comm->first, last = comm->size - 1;
    const size_t bytes = n * sizeof *values;
    tithe_status status = TITHE_OK;
    if (rank > 0) {
        status = ti_comm_receive(comm, rank, rank - 1, room, bytes, error);
        if (status) return status;
        fold(how, room, values, n); /* theirs first: rank order */
        memcpy(values, room, bytes);
    }
    if (rank == last) return to_everybody(comm, last, values, bytes, error);
    const double start = clock_now();
    status = ti_comm_send(comm, rank, rank + 1, values, bytes, error);
    if (!status) status = ti_comm_flush(comm, error);
    if (!status) status = ti_comm_receive(comm, rank, last, values, bytes, error);
    if (!status && how == COMM_ASK && rank == 0) ti_link_hear(comm, (clock_now() - start) / comm->size);
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
    const tithe_status status = ti_comm_has_own_server(comm)
                                    ? fold_at_server(comm, how, values, room, n, error)
                                    : fold_along(comm, how, values, room, n, error);
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

/* ---- the server ---------------------------------------------------------------------------------------------- */

/* When did the message come that was just asked for? Nobody knows (NAN) unless it was waited for: others wait in a queue. */
static double arrival(const tithe_comm *comm, double waited_before)
{
    const double moment = 2e-5; /* seconds that it takes to find one there */
    return comm->waited - waited_before > moment ? clock_now() : NAN;
}

/* The numbers of rank 0 come with its call. Of the others, one after the other is asked first. */
static tithe_status fold_timed(tithe_comm *comm, double *rows, double *came, size_t n, tithe_error *error)
{
    const unsigned size = comm->size, first = comm->seen.updates++;
    const double sent = (double)comm->sent_bytes;
    tithe_status status = TITHE_OK;
    for (unsigned i = 0; i < size && !status; i++) {
        const unsigned r = i == 0 ? 0 : 1 + (first + i) % (size - 1);
        const double waited = comm->waited;
        status = ti_comm_receive(comm, comm->server, r, rows + r * (n + 2), n * sizeof *rows, error);
        if (r) came[r] = arrival(comm, waited);
    }
    for (unsigned r = 1; r < size && !status; r++) fold(COMM_ASK, rows, rows + r * (n + 2), n);
    for (unsigned r = 0; r < size && !status; r++) {
        double *row = rows + r * (n + 2);
        if (r) memcpy(row, rows, n * sizeof *row);
        row[n] = clock_now() - came[r];
        row[n + 1] = sent;
        status = ti_comm_send(comm, comm->server, r, row, (n + 2) * sizeof *row, error);
    }
    return status ? status : ti_comm_flush(comm, error);
}

static tithe_status serve_asked(tithe_comm *comm, size_t n, double called, tithe_error *error)
{
    const uint64_t sent = comm->sent_bytes, messages = comm->sent_messages;
    double *rows = n <= MOST_ASKED ? malloc((n + 3) * comm->size * sizeof *rows) : NULL;
    if (!rows)
        return ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory to add up what the ranks have.");
    double *came = rows + (n + 2) * comm->size;
    came[0] = called;
    const tithe_status status = fold_timed(comm, rows, came, n, error);
    free(rows);
    ti_comm_uncount(comm, sent, messages);
    return status;
}

static tithe_status serve_fold(tithe_comm *comm, comm_fold how, size_t n, tithe_error *error)
{
    double *values = n <= UINT32_MAX ? malloc(2 * n * sizeof *values) : NULL;
    if (!values)
        return ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory to add up what the ranks have.");
    tithe_status status = TITHE_OK;
    for (unsigned r = 0; r < comm->size && !status; r++) {
        double *to = r ? values + n : values;
        status = ti_comm_receive(comm, comm->server, r, to, n * sizeof *to, error);
        if (!status && r) fold(how, values, to, n);
    }
    if (!status) status = to_everybody(comm, comm->server, values, n * sizeof *values, error);
    free(values);
    return status;
}

static tithe_status relay(tithe_comm *comm, unsigned from, unsigned to, uint64_t length, tithe_error *error)
{
    if (from >= comm->size || to >= comm->size || length > COMM_BLOCK)
        return ti_fail(error, TITHE_E_CORRUPT, 0,
                       "The first worker asked for %llu bytes of rank %u for rank %u.",
                       (unsigned long long)length, from, to);
    void *bytes = malloc((size_t)length + 1);
    if (!bytes) return ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory to pass on a block.");
    tithe_status status = ti_comm_receive(comm, comm->server, from, bytes, (size_t)length, error);
    if (!status) status = ti_comm_send(comm, comm->server, to, bytes, (size_t)length, error);
    if (!status) status = ti_comm_flush(comm, error);
    free(bytes);
    return status;
}

tithe_status ti_comm_serve(tithe_comm *comm, const comm_service *service, tithe_error *error)
{
    for (;;) {
        uint8_t bytes[COMM_CALL_BYTES];
        comm->phase = "waiting for the next step";
        const double waited = comm->waited;
        tithe_status status = ti_comm_receive(comm, comm->server, 0, bytes, sizeof bytes, error);
        const double called = arrival(comm, waited);
        if (status) return status;
        comm->phase = "adding up losses and totals";
        const uint32_t what = get_u32(bytes);
        if (what == CALL_END) return TITHE_OK;
        if (what == CALL_FOLD && get_u32(bytes + 4) == COMM_ASK) {
            status = serve_asked(comm, (size_t)get_u64(bytes + 8), called, error);
        } else if (what == CALL_FOLD) {
            status = serve_fold(comm, (comm_fold)get_u32(bytes + 4), (size_t)get_u64(bytes + 8), error);
        } else if (what == CALL_PING) {
            status = ti_comm_answer_ping(comm, get_u32(bytes + 4), get_u64(bytes + 8), error);
        } else if (what == CALL_AGREE) {
            status = ti_comm_judge(comm, NULL, service, error);
        } else if (what == CALL_STEP) {
            status = service->step(service->context, error);
        } else if (what == CALL_COLLECT) {
            status = relay(comm, get_u32(bytes + 4), 0, get_u64(bytes + 8), error);
        } else if (what == CALL_DELIVER) {
            status = relay(comm, 0, get_u32(bytes + 4), get_u64(bytes + 8), error);
        } else if (what == CALL_STATE && service->state) {
            status = service->state(service->context, get_u32(bytes + 4) != 0, get_u64(bytes + 8), error);
        } else if (what == CALL_COUNT) {
            uint8_t count[8];
            put_u64(count, comm->sent_bytes);
            status = ti_comm_send(comm, comm->server, 0, count, sizeof count, error);
            if (!status) status = ti_comm_flush(comm, error);
        } else {
            status =
                ti_fail(error, TITHE_E_CORRUPT, 0, "The first worker asked for something that there is not.");
        }
        if (status) return status;
    }
}
