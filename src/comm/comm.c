/* comm.c - counts what is sent, and gives every wait its timeout. */
#include "comm/comm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

enum { DEFAULT_TIMEOUT = 30 };

/* ---- making one -------------------------------------------------------------------------------------------- */

static tithe_status make(tithe_comm like, tithe_comm **comm, tithe_error *error)
{
    tithe_comm *made = malloc(sizeof *made);
    if (!made) return ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory for a group of ranks.");
    *made = like;
    *comm = made;
    return TITHE_OK;
}

tithe_status tithe_comm_local(unsigned size, tithe_comm **comm, tithe_error *error)
{
    if (size < 1 || !comm)
        return ti_fail(error, TITHE_E_ARGUMENT, 0, "At least one rank and a place for the group are needed.");
    return make((tithe_comm){.size = size, .local = size}, comm, error);
}

tithe_status tithe_comm_custom(const tithe_transport *transport, void *self, const tithe_place *place,
                               tithe_comm **comm, tithe_error *error)
{
    if (!transport || !place || !comm || transport->size < sizeof *transport || place->size < sizeof *place)
        return ti_fail(
            error, TITHE_E_ARGUMENT, 0,
            "A transport and a place, each with its size in `size`, and room for the group are needed.");
    if (!transport->send || !transport->receive || !transport->flush || !transport->give_up)
        return ti_fail(error, TITHE_E_ARGUMENT, 0, "The transport '%.40s' lacks one of its functions.",
                       transport->name ? transport->name : "");
    if (place->ranks < 1 || place->local > place->ranks || place->first > place->ranks - place->local ||
        place->server > place->ranks)
        return ti_fail(error, TITHE_E_ARGUMENT, 0,
                       "Ranks %u to %u of %u, with the server at %u: that cannot be.", place->first,
                       place->first + place->local, place->ranks, place->server);
    return make((tithe_comm){.size = place->ranks,
                             .first = place->first,
                             .local = place->local,
                             .server = place->server,
                             .transport = transport,
                             .self = self,
                             .one_thread = place->one_thread,
                             .timeout = place->timeout},
                comm, error);
}

void tithe_comm_free(tithe_comm *comm)
{
    if (!comm) return;
    ti_comm_detach(comm);
    if (comm->transport && !comm->failed.code) ti_comm_dismiss_server(comm, NULL);
    if (comm->transport && comm->transport->close) comm->transport->close(comm->self);
    free(comm);
}

/* ---- what it says of itself -------------------------------------------------------------------------------- */

unsigned tithe_comm_size(const tithe_comm *comm)
{
    return comm->size;
}

unsigned tithe_comm_rank(const tithe_comm *comm)
{
    return comm->first;
}

unsigned tithe_comm_local_ranks(const tithe_comm *comm)
{
    return comm->local;
}

const char *tithe_comm_transport(const tithe_comm *comm)
{
    return comm->transport ? comm->transport->name : "inproc";
}

uint64_t tithe_comm_sent_bytes(const tithe_comm *comm)
{
    return comm->sent_bytes;
}

uint64_t tithe_comm_sent_messages(const tithe_comm *comm)
{
    return comm->sent_messages;
}

void tithe_comm_set_timeout(tithe_comm *comm, double seconds)
{
    comm->timeout = seconds;
}

void tithe_comm_give_up(tithe_comm *comm, const char *why)
{
    if (comm->transport && !comm->all_know) comm->transport->give_up(comm->self, why);
    comm->all_know = true;
}

/* ---- messages, counted and with a timeout ------------------------------------------------------------------- */

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
static double timeout(const tithe_comm *comm)
{
    const double stated = comm->timeout > 0 ? comm->timeout : DEFAULT_TIMEOUT;
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

/* The others hear of it at once: afterwards nobody reads what was to be sent, and its owner may free it. */
static tithe_status note(tithe_comm *comm, tithe_status status, tithe_error *error)
{
    if (!status) return status;
    name_phase(comm, error);
    error->code = status;
    comm->failed = *error;
    tithe_comm_give_up(comm, error->text);
    return status;
}

/* One failure is enough: whoever asks again hears of it at once, and does not wait once more. */
static tithe_status fail_again(const tithe_comm *comm, tithe_error *error)
{
    if (error) *error = comm->failed;
    return comm->failed.code;
}

tithe_status ti_comm_send(tithe_comm *comm, unsigned from, unsigned to, const void *bytes, size_t length,
                          tithe_error *error)
{
    if (comm->failed.code) return fail_again(comm, error);
    comm->all_know = false; /* they went on */
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
        comm->transport->receive(comm->self, at, from, bytes, length, timeout(comm), error);
    comm->waited += clock_now() - start;
    return note(comm, status, error);
}

tithe_status ti_comm_send_piece(tithe_comm *comm, unsigned from, unsigned to, const void *bytes,
                                size_t length, tithe_error *error)
{
    const tithe_transport *t = comm->transport;
    if (!t->send_piece) return ti_comm_send(comm, from, to, bytes, length, error);
    if (comm->failed.code) return fail_again(comm, error);
    comm->all_know = false;
    ti_comm_count(comm, 1, length);
    tithe_error own = {0};
    if (!error) error = &own;
    return note(comm, t->send_piece(comm->self, from, to, bytes, length, error), error);
}

tithe_status ti_comm_expect(tithe_comm *comm, unsigned at, unsigned from, void *room, size_t length,
                            tithe_error *error)
{
    const tithe_transport *t = comm->transport;
    if (!t->expect_piece) return TITHE_OK;
    if (comm->failed.code) return fail_again(comm, error);
    tithe_error own = {0};
    if (!error) error = &own;
    return note(comm, t->expect_piece(comm->self, at, from, room, length, error), error);
}

tithe_status ti_comm_take(tithe_comm *comm, unsigned at, unsigned from, void *room, size_t length,
                          const void **bytes, tithe_error *error)
{
    const tithe_transport *t = comm->transport;
    *bytes = room;
    if (!t->take_piece) return ti_comm_receive(comm, at, from, room, length, error);
    if (comm->failed.code) return fail_again(comm, error);
    tithe_error own = {0};
    if (!error) error = &own;
    const double start = clock_now();
    const tithe_status status =
        t->take_piece(comm->self, at, from, room, length, bytes, timeout(comm), error);
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
    const tithe_status status = comm->transport->flush(comm->self, timeout(comm), error);
    comm->waited += clock_now() - start;
    return note(comm, status, error);
}

tithe_status ti_comm_all_reduce(tithe_comm *comm, float *vector, size_t n, tithe_error *error)
{
    if (comm->failed.code) return fail_again(comm, error);
    comm->all_know = false;
    tithe_error own = {0};
    if (!error) error = &own;
    const double start = clock_now();
    const tithe_status status = comm->transport->all_reduce(comm->self, vector, n, timeout(comm), error);
    comm->waited += clock_now() - start;
    return note(comm, status, error);
}
