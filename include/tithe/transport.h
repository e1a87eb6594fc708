/* transport.h - ranks in several processes: over MPI, or over ZeroMQ. Each lives in a library of its own
 * (libtithe_mpi, libtithe_zmq), so that nobody has to link what is not used.
 *
 *     tithe_comm *comm;
 *     tithe_comm_mpi(NULL, &comm, &error);            // one rank for each process of mpirun
 *     ... tithe_exchange_open(comm, "codec=topk:keep=0.01;feedback=ec", n, &exchange, &error) ...
 *     tithe_comm_free(comm); */
#ifndef TITHE_TRANSPORT_H
#define TITHE_TRANSPORT_H

#include "tithe/comm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* `mpi_comm` points to an MPI_Comm of the host program, which is duplicated; NULL takes MPI_COMM_WORLD. MPI is started
 * if it was not, and then also ended by tithe_comm_free. All calls come from the thread that made this one. */
TITHE_API tithe_status tithe_comm_mpi(const void *mpi_comm, tithe_comm **comm, tithe_error *error);
/* The same from Fortran, where a communicator is an integer: comm of `use mpi`, comm%MPI_VAL of `use mpi_f08`
 * (examples/mpi_allreduce.f90). */
TITHE_API tithe_status tithe_comm_mpi_fortran(const int *mpi_fint, tithe_comm **comm, tithe_error *error);

typedef struct tithe_zmq_options {
    size_t size;          /* sizeof(tithe_zmq_options) */
    const char *endpoint; /* tcp://host:port or ipc://path; the server listens there, workers connect to it */
    bool server;          /* this process is the server: it collects, and holds no rank */
    unsigned workers;     /* how many there will be */
    /* Workers talk to each other too, as ring, tree and gather need it: where all of them and the server say so. */
    bool peers;
    double timeout; /* seconds that a wait may take; 0: 30 */
    /* Asked at least twice a second while something is waited for, now and later; NULL: never. True: the wait ends with
     * TITHE_E_STOPPED. A function that looks at what a signal handler has noted is made for this. */
    bool (*stop)(void *context);
    void *stop_context;
    /* 1 + the rank that this worker wants, as where a host program has ranks already; 0: any that is free. */
    unsigned wants;
    /* A socket that listens at `endpoint` already, for the server, which closes it; 0: it makes its own. */
    int listening;
} tithe_zmq_options;

/* Returns when all are there; whoever wants no rank is given one in the order of arrival. A worker that does not fit is told why, and whoever
 * else comes to the port is not heeded. The server listens where it is told to, a worker (with `peers`) on the interface
 * that leads to the server only. Nothing is encrypted: over networks of others, take a tunnel. */
TITHE_API tithe_status tithe_comm_zmq(const tithe_zmq_options *options, tithe_comm **comm,
                                      tithe_error *error);
/* The same from text, so that every language says it alike: "listen=tcp://127.0.0.1:5555;workers=3" makes the server,
 * "connect=tcp://127.0.0.1:5555;workers=3" a worker. Also peers=yes|no (yes if nothing is said), timeout=SECONDS (30), rank=R for
 * a worker that wants to be that one, and file=NUMBER for a server whose socket listens already.
 * Where tithe_comm_local_ranks is 0, this is the server (serve.h); examples/hello.c is a whole program. */
TITHE_API tithe_status tithe_comm_zmq_open(const char *text, tithe_comm **comm, tithe_error *error);

#ifdef __cplusplus
}
#endif
#endif
