/* training.c - how fast a gradient of logistic regression is, beside reading the same data once; and how fast LIBSVM text
 * is read.
 *
 *     build/bench_training [threads]
 *
 * Loss and gradient over all rows, and a plain sum over the bytes that they have to read (4 to a dense value, 8 to a
 * sparse one), one after the other in each round. Ratios are taken within a round, and their median is printed: xR = 1
 * would be as fast as reading. Machines disturb measurements; that is why ratios and not seconds are compared. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tithe/model.h"
#include "tithe/pool.h"
#include "tithe/tithe.h"

enum { ROUNDS = 25 };

/* ---- data ----------------------------------------------------------------------------------------------- */

static uint64_t state = 1;

static double uniform(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (double)(state >> 11) * 0x1p-53;
}

static int ascending(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Ascending and without repetition; low ones are frequent (cubed), as words are. */
static size_t draw_indices(uint32_t *indices, size_t count, size_t features)
{
    for (size_t i = 0; i < count; i++) {
        const double u = uniform();
        indices[i] = (uint32_t)((double)features * u * u * u);
    }
    qsort(indices, count, sizeof *indices, ascending);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (!i || indices[i] != indices[kept - 1]) indices[kept++] = indices[i];
    return kept;
}

static void *room(size_t bytes)
{
    void *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (!memory) exit(1);
    return memory;
}

static tithe_data make(size_t rows, size_t features, size_t per_row, unsigned workers)
{
    const bool dense = per_row == features;
    float *values = room(rows * per_row * sizeof *values);
    uint32_t *indices = dense ? NULL : room(rows * per_row * sizeof *indices);
    size_t *offsets = dense ? NULL : room((rows + 1) * sizeof *offsets),
           *begin = room((workers + 1) * sizeof *begin);
    double *labels = room(rows * sizeof *labels);
    size_t at = 0;
    for (size_t i = 0; i < rows; i++) {
        const size_t count = dense ? per_row : draw_indices(indices + at, per_row, features);
        if (!dense) offsets[i] = at;
        for (size_t j = 0; j < count; j++) values[at++] = (float)(uniform() - 0.5);
        labels[i] = uniform() < 0.5 ? -1 : 1;
    }
    if (!dense) offsets[rows] = at;
    for (unsigned w = 0; w <= workers; w++) begin[w] = rows * w / workers;
    return (tithe_data){.rows = rows,
                        .features = features,
                        .nonzeros = at,
                        .offsets = offsets,
                        .indices = indices,
                        .values = values,
                        .labels = labels,
                        .total_rows = rows,
                        .workers = workers,
                        .local = workers,
                        .begin = begin};
}

static void drop(tithe_data *data)
{
    free((void *)data->values);
    free((void *)data->indices);
    free((void *)data->offsets);
    free((void *)data->labels);
    free((void *)data->begin);
}

/* ---- a plain read, with the widest registers that are there ----------------------------------------------- */

typedef float lanes __attribute__((vector_size(64), aligned(4), may_alias));

#define SUM(attributes, name)                                                          \
    attributes static float name(const float *x, size_t n)                             \
    {                                                                                  \
        lanes sum[8] = {{0}};                                                          \
        for (size_t i = 0; i + 128 <= n; i += 128)                                     \
            for (size_t s = 0; s < 8; s++) sum[s] += *(const lanes *)(x + i + 16 * s); \
        float total = 0;                                                               \
        for (int s = 0; s < 8; s++)                                                    \
            for (int j = 0; j < 16; j++) total += sum[s][j];                           \
        return total;                                                                  \
    }

SUM(, sum_plain)
#if defined(__x86_64__)
SUM(__attribute__((target("avx2"))), sum_avx2)
SUM(__attribute__((target("avx512f"))), sum_avx512)
#endif

static float sum(const void *x, size_t n)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f")) return sum_avx512(x, n);
    if (__builtin_cpu_supports("avx2")) return sum_avx2(x, n);
#endif
    return sum_plain(x, n);
}

/* ---- measuring ------------------------------------------------------------------------------------------- */

/* With one thread, time on the processor: waiting for others who use it does not count. */
static clockid_t measured_clock;

static double now(void)
{
    struct timespec t;
    clock_gettime(measured_clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static volatile double sink; /* so that no result is unused */

static void measure(const char *name, const char *spec, tithe_data data, tithe_pool *pool)
{
    tithe_problem p;
    tithe_error error;
    if (tithe_problem_make(spec, &data, 1e-3, NULL, pool, &p, &error)) {
        fprintf(stderr, "%s\n", error.text);
        exit(1);
    }
    double *x = room(p.size * sizeof *x), *g = room(p.size * sizeof *g);
    double ratios[ROUNDS], min = INFINITY;
    for (size_t i = 0; i < p.size; i++) x[i] = 1e-2 * (uniform() - 0.5);
    for (int round = -2; round < ROUNDS; round++) { /* two to get warm */
        double t = now();
        sink = (double)sum(data.values, data.nonzeros);
        if (data.indices) sink = (double)sum(data.indices, data.nonzeros);
        const double read = now() - t;
        t = now();
        sink = tithe_problem_loss(&p, pool, x, g, NULL);
        t = now() - t;
        if (round < 0) continue;
        ratios[round] = read / t;
        if (t < min) min = t;
    }
    qsort(ratios, ROUNDS, sizeof *ratios, by_size);
    const double bytes = (double)data.nonzeros * (data.indices ? 8 : 4);
    printf("%-42s %8.3f ms %6.2f GB/s   xR %.2f (%.2f to %.2f)\n", name, 1e3 * min, 1e-9 * bytes / min,
           ratios[ROUNDS / 2], ratios[ROUNDS / 10], ratios[ROUNDS - 1 - ROUNDS / 10]);
    free(x);
    free(g);
    drop(&data);
}

/* As in the files that people have: a sign, indices, values with six digits. */
static size_t write_text(const char *path, const tithe_data *data)
{
    FILE *file = fopen(path, "w");
    if (!file) exit(1);
    for (size_t i = 0; i < data->rows; i++) {
        fprintf(file, "%+d", (int)data->labels[i]);
        for (size_t j = data->offsets[i]; j < data->offsets[i + 1]; j++)
            fprintf(file, " %u:%.6g", data->indices[j] + 1, (double)data->values[j]);
        fputc('\n', file);
    }
    const long size = ftell(file);
    if (fclose(file) || size < 0) exit(1);
    return (size_t)size;
}

static void measure_reading(const char *name, tithe_data data)
{
    char path[] = "/tmp/tithe-bench-XXXXXX";
    const int made = mkstemp(path);
    if (made < 0) exit(1);
    close(made);
    const size_t size = write_text(path, &data);
    double min = INFINITY;
    for (int round = 0; round < 5; round++) {
        tithe_data *read;
        const double start = now();
        const tithe_status status = tithe_data_open(path, NULL, &read, NULL);
        min = fmin(min, now() - start);
        if (status) exit(1);
        tithe_data_free(read);
    }
    remove(path);
    printf("%-42s %8.3f ms   %.0f MB/s of text\n", name, 1e3 * min, 1e-6 * (double)size / min);
    drop(&data);
}

int main(int argc, char **argv)
{
    tithe_pool *pool;
    if (tithe_pool_create(argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 1, &pool, NULL)) return 1;
    measured_clock = tithe_pool_threads(pool) > 1 ? CLOCK_MONOTONIC : CLOCK_PROCESS_CPUTIME_ID;
    printf("%u thread(s), kernels %s\n", tithe_pool_threads(pool), tithe_kernels_name());
    measure("logistic, dense 6000 x 5000", "logistic", make(6000, 5000, 5000, 4), pool);
    measure("logistic, dense 60000 x 784", "logistic", make(60000, 784, 784, 4), pool);
    measure("logistic, dense 400000 x 64", "logistic", make(400000, 64, 64, 4), pool);
    measure("logistic, sparse 20242 x 47236, 75 a row", "logistic", make(20242, 47236, 75, 4), pool);
    measure("logistic, sparse 160000 x 47236, 75 a row", "logistic", make(160000, 47236, 75, 4), pool);
    measure("logistic, sparse 20242 x 47236, 20 workers", "logistic", make(20242, 47236, 75, 20), pool);
    measure("logistic, sparse 49749 x 300, 12 a row", "logistic", make(49749, 300, 12, 20), pool);
    measure("logistic, sparse 32561 x 123, 14 a row", "logistic", make(32561, 123, 14, 20), pool);
    measure_reading("LIBSVM text, 20242 rows, 75 a row", make(20242, 47236, 75, 4));
    tithe_pool_free(pool);
    return 0;
}
