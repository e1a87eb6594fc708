/* mpi_state.h - what the two halves of the transport over MPI share: mpi_messages.c sends and receives, mpi.c waits, opens and
 * closes. */
#ifndef COMM_MPI_STATE_H
#define COMM_MPI_STATE_H

#include <mpi.h>
#include <stdbool.h>

#include "tithe/transport.h"

enum {
    TAG_MESSAGE = 1,
    TAG_GIVE_UP = 2,
    TAG_WAITING = 3,
    TAG_PIECE = 4,
    MAX_WHY = 200,
    MAX_PIECES = 16, /* that are asked for ahead */
    NEWS = 8
};

/* A message on its way out. */
typedef struct posted {
    MPI_Request request;
    unsigned to;
} posted;

/* A piece that was asked for. */
typedef struct expected {
    MPI_Request request;
    unsigned from;
    size_t length;
} expected;

typedef struct mpi_state {
    MPI_Comm comm;
    int rank, size;
    bool started; /* by us */
    bool failed;  /* somebody may be gone, so what needs everybody is not to be called */
    bool mute;    /* MPI has bytes of ours that may be gone by now, and is not to be called any more */
    posted *requests;
    size_t count, room;
    expected pieces[MAX_PIECES]; /* a queue */
    size_t first_piece, piece_count;
    unsigned *waits;           /* comm.h: what each has said of itself */
    MPI_Status arrived;        /* of the last request that was waited for */
    int news[NEWS], news_next; /* what was said of ourselves: the last few may still be on their way */
    char why[MAX_WHY];         /* our last words, which may be, too */
} mpi_state;

tithe_status ti_mpi_fail(int code, const char *what, tithe_error *error);
/* Until a request is done: at most so many seconds, and not when somebody gives up. */
tithe_status ti_mpi_wait(mpi_state *s, MPI_Request *request, double timeout, const char *what, unsigned who,
                         tithe_error *error);

/* What a transport has to do with messages (transport.h); `self` is an mpi_state. */
tithe_status ti_mpi_send(void *self, unsigned from, unsigned to, const void *bytes, size_t length,
                         tithe_error *error);
tithe_status ti_mpi_receive(void *self, unsigned at, unsigned from, void *bytes, size_t length,
                            double timeout, tithe_error *error);
tithe_status ti_mpi_send_piece(void *self, unsigned from, unsigned to, const void *bytes, size_t length,
                               tithe_error *error);
tithe_status ti_mpi_expect_piece(void *self, unsigned at, unsigned from, void *room, size_t length,
                                 tithe_error *error);
tithe_status ti_mpi_take_piece(void *self, unsigned at, unsigned from, void *room, size_t length,
                               const void **bytes, double timeout, tithe_error *error);
tithe_status ti_mpi_flush(void *self, double timeout, tithe_error *error);

/* Nothing arrives any more where it was asked for, and nothing is read any more that was to be sent; or s->mute. */
void ti_mpi_cancel_pieces(mpi_state *s);
void ti_mpi_end_sends(mpi_state *s);

#endif
