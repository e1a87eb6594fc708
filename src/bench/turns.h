/* turns.h - all rows of one vector, measured in turn. */
#ifndef BENCH_TURNS_H
#define BENCH_TURNS_H

#include "bench/job.h"
#include "tithe/bench.h"

enum { BENCH_MAX_ROWS = 64, BENCH_MAX_THREADS = 8 /* different numbers of them in one run */ };

/* Memory to fill the caches with, so that the next call finds its vectors in memory. */
typedef struct bench_filler {
    uint8_t *bytes;
    size_t size;
} bench_filler;

typedef struct bench_group {
    const bench_row *const *rows; /* the references first */
    size_t row_count;
    const bench_vectors *v;
    const char *isa;
    const tithe_call *calls; /* one for each number of threads */
    size_t call_count;
    unsigned rounds;
    const bench_filler *filler; /* NULL: the vectors may stay in the caches */
} bench_group;

/* Measure and report; sets summary->disturbed, and ->wrong if a result is. *stopped: the caller has seen enough. */
tithe_status ti_bench_group_run(const bench_group *group, const tithe_bench_options *options,
                                tithe_bench_report report, void *context, tithe_bench_summary *summary,
                                bool *stopped, tithe_error *error);

#endif
