/* bench.h - how fast it is here, beside memcpy and a plain read of the same vector.
 *
 * Times say little about another machine, or about this one an hour later; ratios taken in one run say a lot.
 * So all rows of one vector run in turn, round after round, and what is reported is the median of the ratios
 * of the rounds. Short vectors are in the caches when the clock starts, long ones (2^24 and more) are not.
 * docs/performance.md has the method, and what came out of it. In libtithe_measure, as check.h is. */
#ifndef TITHE_BENCH_H
#define TITHE_BENCH_H

#include "tithe/codec.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tithe_bench_suite {
    TITHE_BENCH_KERNELS = 0, /* the passes of which the codecs are made, and error compensation as a whole */
    TITHE_BENCH_CODECS = 1,  /* whole calls of tithe_encode and tithe_decode_add */
    TITHE_BENCH_TUNER = 2,   /* choices of a level, beside a sort and scan */
    TITHE_BENCH_EXCHANGE = 3 /* whole steps with all ranks in this process, and all-reduces alone */
} tithe_bench_suite;

typedef enum tithe_bench_verdict {
    TITHE_NO_GATE = 0,
    TITHE_GATE_MET = 1,
    TITHE_GATE_MISSED = 2
} tithe_bench_verdict;

/* What does not apply to a row is NAN. */
typedef struct tithe_bench_row {
    const char *name;
    size_t n;
    const char *data; /* how the vector is distributed */
    const char *isa;  /* the kernels that ran */
    unsigned threads;
    double seconds, fastest; /* of one call: the median, and the shortest */
    double xM, xR;         /* how many of these calls fit into one memcpy, and into one read, of the vector */
    double bits_per_index; /* as written */
    double entropy_bits;   /* log2 of the number of such sets, for each index */
    double indices;        /* how many of them */
    double bytes;          /* of the frame */
    double break_even; /* bits per second: on a slower line, encoding and decoding cost less than they save */
    char gate[48];     /* "1.0 xM": what this row is meant to reach; empty where nothing is */
    tithe_bench_verdict verdict;
} tithe_bench_row;

/* Rows come a group at a time; return false to stop. */
typedef bool (*tithe_bench_report)(void *context, const tithe_bench_row *row);

/* All zero is the default run. */
typedef struct tithe_bench_options {
    tithe_bench_suite suite;
    const size_t *sizes; /* lengths of the vectors */
    size_t size_count;
    const char *const *data; /* names from tithe_bench_data() */
    size_t data_count;
    const char *rows;        /* only rows whose name holds this, in which * stands for anything */
    const char *isa;         /* ref, avx2, avx512 or neon; "all": each that runs here */
    const unsigned *threads; /* how many threads a call may use */
    size_t thread_count;
    unsigned rounds; /* 0: enough for a steady median */
    void (*progress)(void *context, const char *what,
                     double done); /* done: the share of this group; may be NULL */
} tithe_bench_options;

typedef struct tithe_bench_summary {
    char cpu[96];
    bool disturbed; /* the references were not what they are on a quiet machine: mistrust the ratios */
    char reason[240];
    bool wrong; /* a timed call gave a wrong result; the run ended there */
    char why[240];
} tithe_bench_summary;

/* Measure. The report and the progress get the same context. With options.isa set, the whole process uses
 * those kernels while this runs: same results, another speed. */
TITHE_API tithe_status tithe_bench_run(const tithe_bench_options *options, tithe_bench_report report,
                                       void *context, tithe_bench_summary *summary, tithe_error *error);

/* The names that options.data takes, ending with NULL. */
TITHE_API const char *const *tithe_bench_data(void);

#ifdef __cplusplus
}
#endif
#endif
