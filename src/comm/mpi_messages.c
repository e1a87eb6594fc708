/* mpi_messages.c - messages over MPI, whole or in pieces that were asked for ahead. */
#include <sched.h>
#include <stdlib.h>

#include "base/clock.h"
#include "comm/mpi_state.h"
#include "comm/transport_fail.h"

/* Messages travel in pieces that MPI sends at once. A longer one it would announce first, and send when the receiver has
 * answered: a round trip for each message, and behind whatever else waits in the line of the receiver. Open MPI's limit
 * over TCP is 64 kB with its own head. */
enum { AT_ONCE = 60 << 10 };

/* MPI takes a message that is too short without a word. */
static tithe_status expect_length(const mpi_state *s, size_t length, unsigned from, tithe_error *error)
{
    int count = 0;
    MPI_Get_count(&s->arrived, MPI_BYTE, &count);
    if ((size_t)count == length) return TITHE_OK;
    return transport_fail(error, TITHE_E_MISMATCH, from,
                          "A message of rank %u has %d bytes where %zu were expected.", from, count, length);
}

/* Its room may go away afterwards. What has begun to arrive cannot be cancelled, and gets a second to end. */
static void drop_receive(MPI_Request *request)
{
    if (*request == MPI_REQUEST_NULL) return;
    MPI_Cancel(request);
    const double end = clock_now() + 1;
    for (int done = 0; !done && clock_now() < end; sched_yield()) MPI_Test(request, &done, MPI_STATUS_IGNORE);
    if (*request != MPI_REQUEST_NULL) MPI_Request_free(request); /* its sender is gone in the middle of it */
}

static tithe_status post(mpi_state *s, const void *bytes, size_t length, unsigned to, int tag,
                         tithe_error *error)
{
    if (s->count == s->room) {
        const size_t room = s->room ? 2 * s->room : 64;
        posted *more = realloc(s->requests, room * sizeof *more);
        if (!more) return transport_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory to send.");
        s->requests = more;
        s->room = room;
    }
    const int code =
        MPI_Isend(bytes, (int)length, MPI_BYTE, (int)to, tag, s->comm, &s->requests[s->count].request);
    if (code != MPI_SUCCESS) return ti_mpi_fail(code, "send", error);
    s->requests[s->count++].to = to;
    return TITHE_OK;
}

tithe_status ti_mpi_send(void *self, unsigned from, unsigned to, const void *bytes, size_t length,
                         tithe_error *error)
{
    (void)from;
    const uint8_t *at = bytes;
    tithe_status status;
    do {
        const size_t piece = length < AT_ONCE ? length : AT_ONCE;
        status = post(self, at, piece, to, TAG_MESSAGE, error);
        at += piece;
        length -= piece;
    } while (length && !status);
    return status;
}

tithe_status ti_mpi_receive(void *self, unsigned at_rank, unsigned from, void *bytes, size_t length,
                            double timeout, tithe_error *error)
{
    (void)at_rank;
    mpi_state *s = self;
    uint8_t *at = bytes;
    tithe_status status = TITHE_OK;
    do {
        const size_t piece = length < AT_ONCE ? length : AT_ONCE;
        MPI_Request request;
        const int code = MPI_Irecv(at, (int)piece, MPI_BYTE, (int)from, TAG_MESSAGE, s->comm, &request);
        if (code != MPI_SUCCESS) return ti_mpi_fail(code, "receive", error);
        status = ti_mpi_wait(s, &request, timeout, "receive from", from, error);
        if (status) drop_receive(&request);
        if (!status) status = expect_length(s, piece, from, error);
        at += piece;
        length -= piece;
    } while (length && !status);
    return status;
}

/* ---- pieces: their receivers have asked for them, so that MPI need not announce them and wait ------------- */

tithe_status ti_mpi_send_piece(void *self, unsigned from, unsigned to, const void *bytes, size_t length,
                               tithe_error *error)
{
    (void)from;
    return post(self, bytes, length, to, TAG_PIECE, error);
}

tithe_status ti_mpi_expect_piece(void *self, unsigned at, unsigned from, void *room, size_t length,
                                 tithe_error *error)
{
    (void)at;
    mpi_state *s = self;
    if (s->piece_count == MAX_PIECES)
        return transport_fail(error, TITHE_E_ARGUMENT, from, "At most %d pieces can be asked for ahead.",
                              MAX_PIECES);
    expected *e = &s->pieces[(s->first_piece + s->piece_count) % MAX_PIECES];
    *e = (expected){.request = MPI_REQUEST_NULL, .from = from, .length = length};
    const int code = MPI_Irecv(room, (int)length, MPI_BYTE, (int)from, TAG_PIECE, s->comm, &e->request);
    if (code != MPI_SUCCESS) return ti_mpi_fail(code, "receive", error);
    s->piece_count++;
    return TITHE_OK;
}

void ti_mpi_cancel_pieces(mpi_state *s)
{
    for (; s->piece_count; s->piece_count--, s->first_piece = (s->first_piece + 1) % MAX_PIECES)
        drop_receive(&s->pieces[s->first_piece].request);
}

tithe_status ti_mpi_take_piece(void *self, unsigned at, unsigned from, void *room, size_t length,
                               const void **bytes, double timeout, tithe_error *error)
{
    (void)at;
    mpi_state *s = self;
    expected *e = &s->pieces[s->first_piece];
    if (!s->piece_count || e->from != from || e->length != length)
        return transport_fail(error, TITHE_E_ARGUMENT, from, "A piece was taken that was not asked for.");
    *bytes = room;
    const tithe_status status = ti_mpi_wait(s, &e->request, timeout, "receive from", from, error);
    if (status) {
        ti_mpi_cancel_pieces(s);
        return status;
    }
    s->first_piece = (s->first_piece + 1) % MAX_PIECES;
    s->piece_count--;
    return expect_length(s, length, from, error);
}

tithe_status ti_mpi_flush(void *self, double timeout, tithe_error *error)
{
    mpi_state *s = self;
    tithe_status status = TITHE_OK;
    for (size_t i = 0; i < s->count && !status; i++)
        status =
            ti_mpi_wait(s, &s->requests[i].request, timeout, "hand a message to", s->requests[i].to, error);
    if (!status) s->count = 0;
    return status;
}

/* What was to be sent may go away afterwards. Messages that nobody takes cannot be called back: MPI would send them when it
 * is called again, so it is not. */
void ti_mpi_end_sends(mpi_state *s)
{
    const double end = clock_now() + 1;
    size_t left;
    do {
        left = 0;
        for (size_t i = 0; i < s->count; i++) {
            int done = 1;
            if (s->requests[i].request != MPI_REQUEST_NULL)
                MPI_Test(&s->requests[i].request, &done, MPI_STATUS_IGNORE);
            left += !done;
        }
        sched_yield();
    } while (left && clock_now() < end);
    s->count = 0;
    s->mute = left > 0;
}
