/* hello.c - a server and its workers over ZeroMQ, each of which may as well be hello.f90 or hello.py. Half of each vector goes
 * in the first step; what was left out is kept, and goes in the second.
 *
 *     cc examples/hello.c $(pkg-config --cflags --libs tithe_zmq) -o hello
 *     ./hello 'listen=tcp://127.0.0.1:5555;workers=2' &
 *     ./hello 'connect=tcp://127.0.0.1:5555;workers=2' &
 *     ./hello 'connect=tcp://127.0.0.1:5555;workers=2' */
#include <stdio.h>
#include <tithe/tithe.h>
#include <tithe/transport.h>

enum { N = 8 };

int main(int argc, char **argv)
{
    const char *options = argc > 2 ? argv[2] : "codec=topk:keep=0.5;feedback=ec";
    tithe_comm *comm = NULL;
    tithe_exchange *exchange = NULL;
    tithe_error error;
    tithe_status status = tithe_comm_zmq_open(argc > 1 ? argv[1] : "", &comm, &error);
    if (!status && tithe_comm_local_ranks(comm) == 0)
        status = tithe_serve(comm, &error);
    else if (!status)
        status = tithe_exchange_open(comm, options, N, &exchange, &error);
    for (unsigned step = 1; step <= 2 && exchange && !status; step++) {
        float g[N] = {0};
        for (unsigned i = 0; i < N && step == 1; i++) g[i] = (float)((tithe_comm_rank(comm) + 1) * (i + 1));
        status = tithe_exchange_step(exchange, g, tithe_comm_size(comm), &error); /* size * mean = sum */
        for (unsigned i = 0; i < N && !status; i++) printf("%s%.9g", i ? " " : "sum: ", (double)g[i]);
        if (!status) printf("\n");
    }
    if (status) fprintf(stderr, "hello: %s\n", error.text);
    tithe_exchange_free(exchange);
    tithe_comm_free(comm); /* whoever waits for this process hears why it ends */
    return status != TITHE_OK;
}
