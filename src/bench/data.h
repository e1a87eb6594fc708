/* data.h - the vectors that are measured: two distributions as gradients have them, and inputs that are hard on an
 * exact top-k. */
#ifndef BENCH_DATA_H
#define BENCH_DATA_H

#include "base/status.h"
#include "tithe/variant.h"

/* All rows of a group share these. */
typedef struct bench_vectors {
    const char *data; /* a name of the table */
    size_t n;
    float *x;     /* the data, never written once it is made */
    float *y;     /* where copies and sums go */
    float *start; /* error compensation: what an earlier step left, ... */
    float *e;     /* ... and a copy that calls may spoil */
} bench_vectors;

bool ti_bench_data_exists(const char *name);
bool ti_bench_data_is_hard(const char *name); /* made against top-k: only that is measured on it */

/* The sample of top-k depends on the key of the call, and one of the inputs is made against it. */
tithe_key ti_bench_select_key(const tithe_call *call);

tithe_status ti_bench_vectors_make(const char *data, size_t n, const tithe_call *call, bench_vectors *v,
                                   tithe_error *error);
void ti_bench_vectors_free(bench_vectors *v);

#endif
