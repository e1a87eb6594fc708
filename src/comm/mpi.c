/* mpi.c - a transport over MPI: one rank for each process. Only mpi_*.[ch] know mpi.h.
 *
 * Nothing here blocks inside MPI: every wait tests, looks whether somebody gave up, and has a timeout. A process that
 * has to wait yields, since there may be more processes than cores. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "comm/comm.h"
#include "comm/mpi_state.h"
#include "comm/transport_fail.h"

tithe_status ti_mpi_fail(int code, const char *what, tithe_error *error)
{
    char text[MPI_MAX_ERROR_STRING + 1] = "";
    int length = 0;
    MPI_Error_string(code, text, &length);
    return transport_fail(error, TITHE_E_PEER, 0, "MPI could not %s: %.150s.", what, text);
}

/* ---- waiting ------------------------------------------------------------------------------------------- */

/* Tell the others for whom we wait (-1: for nobody any more), so that they know whose fault it is. */
static void say_waiting(mpi_state *s, int whom)
{
    int *news = &s->news[s->news_next++ % NEWS];
    *news = whom;
    for (int rank = 0; rank < s->size; rank++) {
        MPI_Request request;
        if (rank != s->rank && rank != whom &&
            MPI_Isend(news, 1, MPI_INT, rank, TAG_WAITING, s->comm, &request) == MPI_SUCCESS)
            MPI_Request_free(&request);
    }
}

static void hear_of_waiting(mpi_state *s)
{
    int there = 1, whom;
    MPI_Status status;
    while (MPI_Iprobe(MPI_ANY_SOURCE, TAG_WAITING, s->comm, &there, &status) == MPI_SUCCESS && there) {
        MPI_Recv(&whom, 1, MPI_INT, status.MPI_SOURCE, TAG_WAITING, s->comm, MPI_STATUS_IGNORE);
        s->waits[status.MPI_SOURCE] = whom >= 0 && whom < s->size ? (unsigned)whom + 1 : 0;
    }
}

/* Somebody may have said that it gives up. */
static tithe_status look_for_bad_news(mpi_state *s, tithe_error *error)
{
    int there = 0;
    MPI_Status status;
    hear_of_waiting(s);
    MPI_Iprobe(MPI_ANY_SOURCE, TAG_GIVE_UP, s->comm, &there, &status);
    if (!there) return TITHE_OK;
    char why[MAX_WHY] = "";
    MPI_Recv(why, MAX_WHY, MPI_CHAR, status.MPI_SOURCE, TAG_GIVE_UP, s->comm, MPI_STATUS_IGNORE);
    why[MAX_WHY - 1] = 0;
    return transport_fail(error, TITHE_E_PEER, (size_t)status.MPI_SOURCE, "Rank %d gave up: %.170s",
                          status.MPI_SOURCE, why);
}

/* Short waits stay on the core; long ones leave it to others. */
static void pause_a_moment(unsigned round)
{
    if (round < 64) return;
    if (round < 4096) {
        sched_yield();
        return;
    }
    const struct timespec moment = {.tv_nsec = 100000};
    nanosleep(&moment, NULL);
}

static tithe_status fail_late(mpi_state *s, const char *what, unsigned who, double timeout,
                              tithe_error *error)
{
    unsigned waiter;
    const unsigned culprit = comm_culprit(s->waits, (unsigned)s->size, (unsigned)s->rank, who, &waiter);
    if (culprit == who)
        return transport_fail(error, TITHE_E_TIMEOUT, who,
                              "Rank %d could not %s rank %u within %.3g seconds.", s->rank, what, who,
                              timeout);
    return transport_fail(error, TITHE_E_TIMEOUT, culprit,
                          "Nothing came from rank %u to rank %u within %.3g seconds.", culprit, waiter,
                          timeout);
}

static tithe_status wait_until_done(mpi_state *s, MPI_Request *request, double timeout, const char *what,
                                    unsigned who, tithe_error *error)
{
    const double start = clock_now();
    bool told = false;
    for (unsigned round = 0;; round++) {
        int done = 0;
        const int code = MPI_Test(request, &done, &s->arrived);
        if (code != MPI_SUCCESS) return ti_mpi_fail(code, what, error);
        if (done) {
            if (told) say_waiting(s, -1);
            return TITHE_OK;
        }
        if (round % 64 == 63) {
            const tithe_status status = look_for_bad_news(s, error);
            if (status) return status;
            const double waited = clock_now() - start;
            if (waited > timeout) return fail_late(s, what, who, timeout, error);
            if (!told && waited > timeout / 4) {
                say_waiting(s, (int)who);
                told = true;
            }
        }
        pause_a_moment(round);
    }
}

tithe_status ti_mpi_wait(mpi_state *s, MPI_Request *request, double timeout, const char *what, unsigned who,
                         tithe_error *error)
{
    const tithe_status status = wait_until_done(s, request, timeout, what, who, error);
    if (status) s->failed = true;
    return status;
}

/* ---- the library's own all-reduce ---------------------------------------------------------------------- */

enum { MAX_NUMBERS = 1 << 30 }; /* in one call, which counts them in an int */

/* It adds in whatever order it likes. One that was given up on cannot be cancelled: the process ends soon. MPI_Allreduce, which
 * blocks, would not come back where somebody has died or stands still, and no timeout would hold. */
static tithe_status all_reduce(void *self, float *vector, size_t n, double timeout, tithe_error *error)
{
    mpi_state *s = self;
    tithe_status status = TITHE_OK;
    for (size_t done = 0; done < n && !status;) {
        const size_t piece = n - done < MAX_NUMBERS ? n - done : MAX_NUMBERS;
        MPI_Request request;
        const int code =
            MPI_Iallreduce(MPI_IN_PLACE, vector + done, (int)piece, MPI_FLOAT, MPI_SUM, s->comm, &request);
        if (code != MPI_SUCCESS) return ti_mpi_fail(code, "add up", error);
        status = ti_mpi_wait(s, &request, timeout, "add up with all ranks, such as", (unsigned)(s->rank == 0),
                             error);
        done += piece;
    }
    return status;
}

/* Best effort: nobody may be listening any more. */
static void give_up(void *self, const char *why)
{
    mpi_state *s = self;
    s->failed = true;
    if (s->mute) return;
    snprintf(s->why, sizeof s->why, "%s", why);
    for (int rank = 0; rank < s->size; rank++) {
        if (rank == s->rank) continue;
        MPI_Request request;
        if (MPI_Isend(s->why, MAX_WHY, MPI_CHAR, rank, TAG_GIVE_UP, s->comm, &request) != MPI_SUCCESS)
            continue;
        const double end = clock_now() + 0.5;
        for (int done = 0; !done && clock_now() < end;) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
    }
    ti_mpi_cancel_pieces(s);
    ti_mpi_end_sends(s);
}

/* Is everybody still there, after a failure, and at its end too? Those who are get a second for their last words. */
static bool all_are_here(mpi_state *s)
{
    MPI_Request request;
    int done = 0;
    if (MPI_Ibarrier(s->comm, &request) != MPI_SUCCESS) return false;
    const struct timespec moment = {.tv_nsec = 1000000};
    for (const double end = clock_now() + 1; !done && clock_now() < end; nanosleep(&moment, NULL))
        if (MPI_Test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) return false;
    return done;
}

/* Without everybody MPI_Finalize would wait forever. mpirun ends a job in which a process goes without it. */
static void close_mpi(void *self)
{
    mpi_state *s = self;
    if (s->mute) return; /* the process ends soon, and mpirun the job */
    ti_mpi_cancel_pieces(s);
    const bool whole = !s->failed || all_are_here(s), started = s->started;
    if (whole) MPI_Comm_free(&s->comm);
    free(s->requests);
    if (whole) { /* otherwise MPI may still read from it */
        free(s->waits);
        free(s);
    }
    if (started && whole) MPI_Finalize();
}

static const tithe_transport transport = {
    .size = sizeof(tithe_transport),
    .name = "mpi",
    .summary = "MPI: one rank for each process that mpirun starts",
    .send = ti_mpi_send,
    .receive = ti_mpi_receive,
    .flush = ti_mpi_flush,
    .give_up = give_up,
    .close = close_mpi,
    .all_reduce = all_reduce,
    .send_piece = ti_mpi_send_piece,
    .expect_piece = ti_mpi_expect_piece,
    .take_piece = ti_mpi_take_piece,
};

tithe_status tithe_comm_mpi(const void *mpi_comm, tithe_comm **comm, tithe_error *error)
{
    int running = 0;
    MPI_Initialized(&running);
    mpi_state *s = calloc(1, sizeof *s);
    if (!s) return transport_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory for MPI.");
    if (!running) {
        int provided;
        const int code = MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &provided);
        if (code != MPI_SUCCESS) {
            free(s);
            return ti_mpi_fail(code, "start", error);
        }
        /* Some raise the error of a request there, and not on the communicator that it belongs to; of a program that started MPI
         * itself, what it has set stays. */
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
        s->started = true;
    }
    const MPI_Comm parent = mpi_comm ? *(const MPI_Comm *)mpi_comm : MPI_COMM_WORLD;
    int code = MPI_Comm_dup(parent, &s->comm);
    if (code != MPI_SUCCESS) {
        free(s);
        return ti_mpi_fail(code, "duplicate the communicator", error);
    }
    MPI_Comm_set_errhandler(s->comm, MPI_ERRORS_RETURN);
    MPI_Comm_rank(s->comm, &s->rank);
    MPI_Comm_size(s->comm, &s->size);
    s->waits = calloc((size_t)s->size, sizeof *s->waits);
    if (!s->waits) {
        close_mpi(s);
        return transport_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory for MPI.");
    }
    int threads = MPI_THREAD_SINGLE; /* the program may have started it for fewer than we can use */
    MPI_Query_thread(&threads);
    const tithe_place place = {.size = sizeof place,
                               .ranks = (unsigned)s->size,
                               .first = (unsigned)s->rank,
                               .local = 1,
                               .one_thread = threads < MPI_THREAD_SERIALIZED};
    const tithe_status status = tithe_comm_custom(&transport, s, &place, comm, error);
    if (status) close_mpi(s);
    return status;
}

tithe_status tithe_comm_mpi_fortran(const int *mpi_fint, tithe_comm **comm, tithe_error *error)
{
    const MPI_Comm parent = MPI_Comm_f2c((MPI_Fint)*mpi_fint);
    return tithe_comm_mpi(&parent, comm, error);
}
