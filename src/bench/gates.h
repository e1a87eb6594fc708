/* gates.h - what a row is meant to reach. */
#ifndef BENCH_GATES_H
#define BENCH_GATES_H

#include "tithe/bench.h"

/* What a gate may look at besides the row itself; NAN where it was not measured. */
typedef struct bench_context {
    bool hard_input;
    double over_bf16;  /* how many of these calls fit into one bf16.encode */
    double over_alone; /* ... into the same call on one thread */
    double read_alone; /* how many reads on these threads fit into a read on one */
} bench_context;

/* Fills in row->gate and row->verdict. */
void ti_bench_gate(tithe_bench_row *row, const bench_context *c);

#endif
