/* reference.c - what everything is compared with: memcpy, and reading the vector once.
 *
 * A read is a sum with the widest registers that the processor has, whatever kernels are measured, and with enough of
 * them that the additions never wait. One stream is the plain loop that anybody would write; eight streams, each over
 * an eighth of the vector, show what a single core can really get from memory. */
#include <math.h>
#include <string.h>

#include "base/pool.h"
#include "bench/job.h"

/* Sixteen floats, wherever they begin. The compiler makes of them what the target has. */
typedef float lanes __attribute__((vector_size(64), aligned(4), may_alias));

enum { LANES = 16, STREAMS = 8 };

#define SUM_TWO_WAYS(attributes, name)                                                                  \
    attributes static double name(const float *x, size_t n, size_t streams)                             \
    {                                                                                                   \
        lanes sum[STREAMS] = {0};                                                                       \
        size_t i = 0;                                                                                   \
        if (streams == 1) {                                                                             \
            for (; i + STREAMS * LANES <= n; i += STREAMS * LANES)                                      \
                for (int s = 0; s < STREAMS; s++) sum[s] += *(const lanes *)(x + i + s * LANES);        \
        } else {                                                                                        \
            const size_t part = n / STREAMS / LANES * LANES;                                            \
            for (; i < part; i += LANES)                                                                \
                for (int s = 0; s < STREAMS; s++) sum[s] += *(const lanes *)(x + (size_t)s * part + i); \
            i = STREAMS * part;                                                                         \
        }                                                                                               \
        double total = 0;                                                                               \
        for (; i < n; i++) total += (double)x[i];                                                       \
        for (int s = 0; s < STREAMS; s++)                                                               \
            for (int j = 0; j < LANES; j++) total += (double)sum[s][j];                                 \
        return total;                                                                                   \
    }

SUM_TWO_WAYS(, sum_plain)
#if defined(__x86_64__)
SUM_TWO_WAYS(__attribute__((target("avx2"))), sum_avx2)
SUM_TWO_WAYS(__attribute__((target("avx512f"))), sum_avx512)
#endif

static double sum(const float *x, size_t n, size_t streams)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f")) return sum_avx512(x, n, streams);
    if (__builtin_cpu_supports("avx2")) return sum_avx2(x, n, streams);
#endif
    return sum_plain(x, n, streams);
}

/* ---- on the threads of a pool, a stretch of the vector for each ---------------------------------------- */

enum { MAX_PARTS = 256, MIN = 1 << 17 /* as for the kernels */ };

typedef struct shared_work {
    const bench_vectors *v;
    size_t streams;
    unsigned parts;
    double sums[MAX_PARTS];
} shared_work;

static void read_part(void *context, unsigned part)
{
    shared_work *work = context;
    const size_t begin = pool_begin(work->v->n, LANES, work->parts, part);
    const size_t end = pool_begin(work->v->n, LANES, work->parts, part + 1);
    work->sums[part] = sum(work->v->x + begin, end - begin, work->streams);
}

static void read_all(bench_job *job, size_t streams)
{
    shared_work work = {.v = job->v, .streams = streams, .parts = pool_parts(job->call.pool, job->v->n, MIN)};
    ti_pool_run(job->call.pool, work.parts, read_part, &work);
    job->number = 0;
    for (unsigned part = 0; part < work.parts; part++) job->number += work.sums[part];
}

static tithe_status read_run(bench_job *job, tithe_error *error)
{
    (void)error;
    read_all(job, 1);
    return TITHE_OK;
}

static tithe_status read8_run(bench_job *job, tithe_error *error)
{
    (void)error;
    read_all(job, STREAMS);
    return TITHE_OK;
}

static const char *read_wrong(bench_job *job)
{
    double exact = 0, sizes = 0;
    for (size_t i = 0; i < job->v->n; i++) {
        exact += (double)job->v->x[i];
        sizes += fabs((double)job->v->x[i]);
    }
    return fabs(job->number - exact) <= 1e-3 * sizes ? NULL : "the sum is not that of the vector";
}

static void memcpy_part(void *context, unsigned part)
{
    const shared_work *work = context;
    const size_t begin = pool_begin(work->v->n, LANES, work->parts, part);
    const size_t end = pool_begin(work->v->n, LANES, work->parts, part + 1);
    memcpy(work->v->y + begin, work->v->x + begin, (end - begin) * sizeof *work->v->x);
}

static tithe_status memcpy_run(bench_job *job, tithe_error *error)
{
    (void)error;
    shared_work work = {.v = job->v, .parts = pool_parts(job->call.pool, job->v->n, MIN)};
    ti_pool_run(job->call.pool, work.parts, memcpy_part, &work);
    return TITHE_OK;
}

static const char *memcpy_wrong(bench_job *job)
{
    return memcmp(job->v->y, job->v->x, job->v->n * sizeof *job->v->x) == 0 ? NULL : "the copy differs";
}

const bench_kind ti_bench_memcpy = {.run = memcpy_run, .wrong = memcpy_wrong};
const bench_kind ti_bench_read = {.run = read_run, .wrong = read_wrong};
const bench_kind ti_bench_read8 = {.run = read8_run, .wrong = read_wrong};
