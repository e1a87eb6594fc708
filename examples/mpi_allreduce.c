/* mpi_allreduce.c - a plain MPI program that trains, and what changes when MPI_Allreduce becomes Tithe.
 *
 * Least squares with two tensors, a matrix W and an offset b: every process has rows of its own, and the gradients
 * are summed over all of them. First with MPI_Allreduce, then with one coordinate in twenty of W and all of b, where
 * what was not sent is kept and goes later. Look for the lines that are marked.
 *
 *     mpicc examples/mpi_allreduce.c $(pkg-config --cflags --libs tithe_mpi) -o mpi_allreduce
 *     mpirun -n 3 ./mpi_allreduce */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include <tithe/tithe.h>
#include <tithe/transport.h> /* tithe */

enum { OUT = 8, IN = 100, ROWS = 200, W = 0, B = 1, TENSORS = 2, STEPS = 600 };

static const size_t length[TENSORS] = {OUT * IN, OUT};
static float data[ROWS][IN], labels[ROWS][OUT]; /* of this process */
static float model[TENSORS][OUT * IN], gradient[TENSORS][OUT * IN];

/* ---- the problem: nothing here knows how gradients travel ------------------------------------------------ */

static float noise(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (float)(*state >> 8) / 8388608.0f - 1.0f;
}

static void make_rows(int rank)
{
    unsigned shared = 1, own = 1000u + (unsigned)rank;
    static float truth[OUT][IN + 1];
    for (int o = 0; o < OUT; o++)
        for (int i = 0; i <= IN; i++) truth[o][i] = noise(&shared);
    for (int r = 0; r < ROWS; r++)
        for (int i = 0; i < IN; i++) data[r][i] = noise(&own);
    for (int r = 0; r < ROWS; r++)
        for (int o = 0; o < OUT; o++) {
            labels[r][o] = truth[o][IN];
            for (int i = 0; i < IN; i++) labels[r][o] += truth[o][i] * data[r][i];
        }
}

/* Mean over the rows of this process. */
static double loss_and_gradient(void)
{
    double loss = 0;
    memset(gradient, 0, sizeof gradient);
    for (int r = 0; r < ROWS; r++)
        for (int o = 0; o < OUT; o++) {
            float miss = model[B][o] - labels[r][o];
            for (int i = 0; i < IN; i++) miss += model[W][o * IN + i] * data[r][i];
            for (int i = 0; i < IN; i++) gradient[W][o * IN + i] += miss * data[r][i] / ROWS;
            gradient[B][o] += miss / ROWS;
            loss += 0.5 * miss * miss / ROWS;
        }
    return loss;
}

static double mean_loss(MPI_Comm comm, int size)
{
    double loss = loss_and_gradient();
    MPI_Allreduce(MPI_IN_PLACE, &loss, 1, MPI_DOUBLE, MPI_SUM, comm);
    return loss / size;
}

/* ---- as it was ------------------------------------------------------------------------------------------- */

static void train_with_allreduce(MPI_Comm comm, int size, float step)
{
    for (int k = 0; k < STEPS; k++) {
        loss_and_gradient();
        for (int t = 0; t < TENSORS; t++) {
            MPI_Allreduce(MPI_IN_PLACE, gradient[t], (int)length[t], MPI_FLOAT, MPI_SUM, comm);
            for (size_t i = 0; i < length[t]; i++) model[t][i] -= step / (float)size * gradient[t][i];
        }
    }
}

/* ---- as it is now ---------------------------------------------------------------------------------------- */

static int fail(const tithe_error *error, MPI_Comm comm)
{
    fprintf(stderr, "mpi_allreduce: %s\n", error->text);
    return MPI_Abort(comm, 2);
}

static double train_with_tithe(MPI_Comm comm, float step)
{
    static const char *const options[TENSORS] = {"codec=topk:keep=0.05|natural",
                                                 ""}; /* tithe: short tensors whole */
    tithe_comm *ranks;                                /* tithe */
    tithe_exchange *exchange[TENSORS];                /* tithe: one for each tensor */
    tithe_error error;
    double sent = 0;
    if (tithe_comm_mpi(&comm, &ranks, &error)) fail(&error, comm); /* tithe */
    for (int t = 0; t < TENSORS; t++)                              /* tithe */
        if (tithe_exchange_open(ranks, options[t], length[t], &exchange[t], &error)) fail(&error, comm);

    for (int k = 0; k < STEPS; k++) {
        loss_and_gradient();
        for (int t = 0; t < TENSORS; t++) {
            if (tithe_exchange_step(exchange[t], gradient[t], step, &error)) fail(&error, comm); /* tithe */
            for (size_t i = 0; i < length[t]; i++)
                model[t][i] -= gradient[t][i]; /* mean and step are in it */
        }
    }

    for (int t = 0; t < TENSORS; t++) {
        tithe_exchange_totals totals = {.size = sizeof totals};
        tithe_exchange_total(exchange[t], &totals);
        sent += totals.sent_bytes;
        tithe_exchange_free(exchange[t]); /* tithe */
    }
    tithe_comm_free(ranks); /* tithe */
    return sent;
}

int main(int argc, char **argv)
{
    MPI_Comm comm; /* the program's own, as a library would have one */
    int rank, size;
    const float step = 0.3f;
    MPI_Init(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    make_rows(rank);

    const double start = mean_loss(comm, size);
    train_with_allreduce(comm, size, step);
    const double dense = mean_loss(comm, size);
    memset(model, 0, sizeof model);
    const double sent = train_with_tithe(comm, step);
    const double compressed = mean_loss(comm, size);

    /* A ring all-reduce sends 2(N-1)/N of a vector from each process. */
    const double whole = 2.0 * (size - 1) / size * STEPS * sizeof(float) * (double)(length[W] + length[B]);
    if (rank == 0) {
        printf("loss before          %10.3g\n", start);
        printf("with MPI_Allreduce   %10.3g   %9.0f bytes from each process\n", dense, whole);
        printf("with Tithe           %10.3g   %9.0f bytes\n", compressed, sent);
    }
    const int right = compressed < 1e-3 * start && (size == 1 || sent < whole / 2);
    if (!right && rank == 0) fprintf(stderr, "mpi_allreduce: that is not what was promised\n");
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return right ? 0 : 1;
}
