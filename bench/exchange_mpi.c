/* exchange_mpi.c - one exchange of gradients over MPI, timed: the library's own all-reduce, or Tithe in its place.
 *
 *     mpirun -n 2 build/tests/bench_exchange_mpi allreduce 16777216 9
 *     mpirun -n 2 build/tests/bench_exchange_mpi 'codec=topk:keep=0.01;feedback=ec' 16777216 9
 *
 * The first process prints one line of JSON: the times of the rounds, ascending, each the longest over the processes, their median
 * and the shortest, and by how many bytes the exchange raised the peak memory of a process, the most of any. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "tithe/tithe.h"
#include "tithe/transport.h"

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Like a gradient: few are large. */
static void fill(float *g, size_t n, unsigned state)
{
    for (size_t i = 0; i < n; i++) {
        float sum = 0, wide;
        for (int j = 0; j < 4; j++) {
            state = state * 1664525u + 1013904223u;
            sum += (float)(state >> 8) / 8388608.0f - 1.0f;
        }
        wide = (float)(state >> 16 & 255u) / 255.0f;
        g[i] = sum * wide * wide * wide;
    }
}

static double peak_bytes(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return 1024.0 * (double)usage.ru_maxrss;
}

static int fail(const tithe_error *error)
{
    fprintf(stderr, "exchange_mpi: %s\n", error->text);
    return MPI_Abort(MPI_COMM_WORLD, 2);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const char *how = argc > 1 ? argv[1] : "allreduce";
    const size_t n = argc > 2 ? strtoull(argv[2], NULL, 10) : 1 << 20;
    const int rounds = argc > 3 ? atoi(argv[3]) : 9;
    const int own = strcmp(how, "allreduce") == 0;
    float *from = malloc(n * sizeof *from), *g = malloc(n * sizeof *g);
    double *seconds = calloc((size_t)(rounds > 0 ? rounds : 1), sizeof *seconds);
    tithe_comm *comm = NULL;
    tithe_exchange *ex = NULL;
    tithe_error error = {.code = TITHE_OK};
    if (!from || !g || !seconds) return MPI_Abort(MPI_COMM_WORLD, 2);
    fill(from, n, (unsigned)rank + 1);
    memcpy(g, from, n * sizeof *g);
    const double before = peak_bytes();
    if (!own && (tithe_comm_mpi(NULL, &comm, &error) || tithe_exchange_open(comm, how, n, &ex, &error)))
        return fail(&error);
    for (int round = -1; round < rounds; round++) { /* the first one is not counted */
        memcpy(g, from, n * sizeof *g);
        MPI_Barrier(MPI_COMM_WORLD);
        const double start = MPI_Wtime();
        if (own)
            MPI_Allreduce(MPI_IN_PLACE, g, (int)n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        else if (tithe_exchange_step(ex, g, 0.1, &error))
            return fail(&error);
        double took = MPI_Wtime() - start;
        MPI_Allreduce(MPI_IN_PLACE, &took, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        if (round >= 0) seconds[round] = took;
    }
    qsort(seconds, (size_t)rounds, sizeof *seconds, ascending);
    double more = peak_bytes() - before;
    MPI_Allreduce(MPI_IN_PLACE, &more, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("{\"n\":%zu,\"seconds\":[", n);
        for (int round = 0; round < rounds; round++) printf("%s%.6f", round ? "," : "", seconds[round]);
        printf("],\"median\":%.6f,\"fastest\":%.6f,\"peak_bytes\":%.0f}\n", seconds[rounds / 2], seconds[0],
               more);
    }
    if (!own) {
        tithe_exchange_free(ex);
        tithe_comm_free(comm);
    }
    free(from);
    free(g);
    free(seconds);
    MPI_Finalize();
    return 0;
}
