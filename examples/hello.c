/* hello.c - a server and its workers over ZeroMQ, each of which may as well be hello.f90 or hello.py. Half of each vector goes
 * in the first step; what was left out is kept, and goes in the second.
 *
 *     cc examples/hello.c $(pkg-config --cflags --libs tithe_zmq) -o hello
 *     ./hello 'listen=tcp://127.0.0.1:5555;workers=2' &
 *     ./hello 'connect=tcp://127.0.0.1:5555;workers=2' &
 *     ./hello 'connect=tcp://127.0.0.1:5555;workers=2' */
#include <stdio.h>
#include <stdlib.h>
#include <tithe/tithe.h>
#include <tithe/transport.h>

enum { N = 8 };
static tithe_comm *comm;
static tithe_error error;

static void expect(tithe_status status)
{
    if (!status) return;
    fprintf(stderr, "hello: %s\n", error.text);
    if (comm) tithe_comm_give_up(comm, error.text); /* so that nobody waits for this process */
    tithe_comm_free(comm);
    exit(1);
}

int main(int argc, char **argv)
{
    tithe_exchange *exchange = NULL;
    expect(tithe_comm_zmq_open(argc > 1 ? argv[1] : "", &comm, &error));
    if (tithe_comm_local_ranks(comm) == 0) {
        expect(tithe_serve(comm, &error));
        printf("server: done\n");
    } else {
        const unsigned rank = tithe_comm_rank(comm), workers = tithe_comm_size(comm);
        expect(tithe_exchange_open(comm, argc > 2 ? argv[2] : "codec=topk:keep=0.5;feedback=ec", N, &exchange,
                                   &error));
        for (unsigned step = 1; step <= 2; step++) {
            float g[N] = {0};
            for (unsigned i = 0; i < N && step == 1; i++) g[i] = (float)((rank + 1) * (i + 1));
            expect(tithe_exchange_step(exchange, g, workers, &error)); /* so often the mean is the sum */
            printf("step %u:", step);
            for (unsigned i = 0; i < N; i++) printf(" %.9g", (double)g[i]);
            printf("\n");
        }
    }
    tithe_exchange_free(exchange);
    tithe_comm_free(comm);
    return 0;
}
