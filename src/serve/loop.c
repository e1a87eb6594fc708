/* loop.c - what a process without ranks does for the others: it answers the calls of the first worker (comm/calls.h), until
 * that says that they are done. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "comm/calls.h"
#include "comm/handshake.h"
#include "serve/serve.h"

/* When did the message come that was just asked for? Nobody knows (NAN) unless it was waited for: others wait in a queue. */
static double arrival(const tithe_comm *comm, double waited_before)
{
    const double moment = 2e-5; /* seconds that it takes to find one there */
    return comm->waited - waited_before > moment ? clock_now() : NAN;
}

/* The numbers of rank 0 come with its call. Of the others, one after the other is asked first. */
static tithe_status fold_timed(tithe_comm *comm, double *rows, double *came, size_t n, tithe_error *error)
{
    const unsigned size = comm->size, first = comm->seen.turn++;
    const double sent = (double)comm->sent_bytes;
    tithe_status status = TITHE_OK;
    for (unsigned i = 0; i < size && !status; i++) {
        const unsigned r = i == 0 ? 0 : 1 + (first + i) % (size - 1);
        const double waited = comm->waited;
        status = ti_comm_receive(comm, comm->server, r, rows + r * (n + 2), n * sizeof *rows, error);
        if (r) came[r] = arrival(comm, waited);
    }
    for (unsigned r = 1; r < size && !status; r++) ti_comm_fold_in(COMM_ASK, rows, rows + r * (n + 2), n);
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
    double *rows = n <= MAX_ASKED ? malloc((n + 3) * comm->size * sizeof *rows) : NULL;
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
        if (!status && r) ti_comm_fold_in(how, values, to, n);
    }
    if (!status) status = ti_comm_to_everybody(comm, comm->server, values, n * sizeof *values, error);
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

tithe_status ti_serve(tithe_comm *comm, const comm_service *service, tithe_error *error)
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
            status = service->step(service->context, get_u32(bytes + 4), error);
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
