/* nonfinite_steps.c - steps of which one rank has a NaN in the second, over a live transport; test_nonfinite.py runs it.
 *
 * usage: nonfinite_steps GROUP OPTIONS N WHO     GROUP is mpi, here:RANKS, or what tithe_comm_zmq_open takes
 *
 * Each process prints a line for each step: what finish returned, a hash of the update (nan: all of it is), and what was said. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tithe/exchange.h"
#include "tithe/serve.h"
#include "tithe/transport.h"

enum { STEPS = 4, BAD_STEP = 1 };

static tithe_status open_group(const char *text, tithe_comm **comm, tithe_error *error)
{
    if (strncmp(text, "here:", 5) == 0)
        return tithe_comm_local((unsigned)strtoul(text + 5, NULL, 10), comm, error);
#ifdef TITHE_HAS_MPI
    if (strcmp(text, "mpi") == 0) return tithe_comm_mpi(NULL, comm, error);
#endif
#ifdef TITHE_HAS_ZMQ
    return tithe_comm_zmq_open(text, comm, error);
#else
    return TITHE_E_ARGUMENT;
#endif
}

static void fill(float *g, size_t n, unsigned rank, unsigned step, unsigned who)
{
    unsigned state = 977u * rank + 31u * step + 1u;
    for (size_t i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        g[i] = (float)(state >> 8) / 8388608.0f - 1.0f;
    }
    if (rank == who && step == BAD_STEP) g[n - 1] = NAN;
}

static void tell(unsigned step, tithe_status status, const float *update, size_t n, const char *said)
{
    unsigned hash = 2166136261u;
    size_t nans = 0;
    for (size_t i = 0; i < n; i++) {
        unsigned bits;
        memcpy(&bits, &update[i], sizeof bits);
        hash = (hash ^ bits) * 16777619u;
        nans += isnan(update[i]) != 0;
    }
    if (status && status != TITHE_E_SKIPPED) /* of no use */
        printf("%u: %d - %s\n", step, (int)status, said);
    else if (nans == n)
        printf("%u: %d nan %s\n", step, (int)status, said);
    else
        printf("%u: %d %08x%s %s\n", step, (int)status, hash, nans ? "!" : "", said);
}

static tithe_status run(tithe_comm *comm, const char *options, size_t n, unsigned who, tithe_error *error)
{
    const unsigned local = tithe_comm_local_ranks(comm), first = tithe_comm_rank(comm);
    tithe_exchange *ex = NULL;
    if (local == 0) return tithe_serve(comm, error);
    float *g = malloc(local * n * sizeof *g), *update = malloc(n * sizeof *update);
    tithe_status status = tithe_exchange_open(comm, options, n, &ex, error);
    for (unsigned k = 0; k < STEPS && (!status || status == TITHE_E_SKIPPED); k++) {
        for (unsigned r = 0; r < local; r++) fill(g + r * n, n, first + r, k, who);
        error->text[0] = 0;
        status = TITHE_OK;
        if (local == 1) {
            status = tithe_exchange_step(ex, g, 0.5, error);
        } else {
            for (unsigned r = 0; r < local && !status; r++)
                status = tithe_exchange_put(ex, r, 0, g + r * n, 0.5, error);
            if (!status) status = tithe_exchange_finish(ex, update, error);
        }
        tell(k, status, local == 1 ? g : update, n, error->text);
    }
    tithe_exchange_free(ex);
    free(g);
    free(update);
    return TITHE_OK;
}

int main(int argc, char **argv)
{
    tithe_error error = {.text = ""};
    tithe_comm *comm = NULL;
    if (argc != 5) return 2;
    tithe_status status = open_group(argv[1], &comm, &error);
    if (!status)
        status = run(comm, argv[2], (size_t)strtoull(argv[3], NULL, 10), (unsigned)strtoul(argv[4], NULL, 10),
                     &error);
    if (status) fprintf(stderr, "nonfinite_steps: %s\n", error.text);
    tithe_comm_free(comm);
    return status ? 2 : 0;
}
