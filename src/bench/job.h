/* job.h - one row while it is measured: what runs, on which memory, and how its result is known to be right. */
#ifndef BENCH_JOB_H
#define BENCH_JOB_H

#include "bench/data.h"
#include "codec/codec.h"
#include "tithe/cost.h"
#include "tuner/late.h"

typedef struct bench_job bench_job;

typedef struct bench_kind {
    tithe_status (*open)(bench_job *job,
                         tithe_error *error); /* what it needs beyond the group's vectors; or NULL */
    void (*before)(bench_job *job);           /* untimed, ahead of each call; or NULL */
    tithe_status (*run)(bench_job *job, tithe_error *error); /* this is timed */
    const char *(*wrong)(bench_job *job); /* after a call: NULL, or what is wrong with what it did */
    bool
        closes; /* with the row before it, both ways of a message: what it saves can be weighed against them */
} bench_kind;

typedef struct bench_row {
    const char *name;
    const bench_kind *kind;
    const char *spec;   /* NULL: no codec; a level in magnitudes comes from the data and the share */
    double share;       /* of coordinates that are selected; 0 where that has no meaning */
    size_t longest;     /* not measured on longer vectors, since it is slow; 0: on all */
    const char *cost;   /* of a tuner */
    const char *scheme; /* of an exchange; of an all-reduce, the collective */
    unsigned ranks;
    bool single; /* runs on one thread, however many the call has */
    bool paper;  /* the tuner counts the papers' bits */
} bench_row;

struct bench_job {
    const bench_row *row;
    const bench_vectors *v;
    const bench_job *references; /* memcpy, read and read8 on as many threads */
    const bench_job *alone;      /* the same row on one thread; NULL: not measured */
    tithe_call call;             /* with the pool */
    tithe_codec *codec;
    double params[TITHE_MAX_PARAMS];
    tithe_quant_call quant;
    workspace w;
    tithe_selection selection;
    index_plan plan;
    uint8_t *frame; /* or what stands in one: values, indices */
    size_t capacity;
    tithe_frame_info info;
    double number;   /* what is left of a sum or a checksum */
    double *seconds; /* of each round */
    tithe_cost *cost;
    void *tuner_scratch;
    size_t tuner_scratch_size;
    late_memory late;                   /* where a tuner knows what waits */
    tithe_codec *codec_back;            /* of a star */
    struct bench_group_of_ranks *ranks; /* exchange.c */
};

/* `call` says all that does not depend on the row: seed and pool. */
tithe_status ti_bench_job_open(const bench_row *row, const bench_vectors *v, const tithe_call *call,
                               unsigned rounds, bench_job *job, tithe_error *error);
void ti_bench_job_close(bench_job *job);

/* ---- for the kinds ------------------------------------------------------------------------------------ */

/* The codec of the row, and scratch for it. A threshold is set so that the row's share is left of `magnitudes`. */
tithe_status ti_bench_job_codec(bench_job *job, bool contractive, const float *magnitudes,
                                tithe_error *error);
tithe_status ti_bench_job_frame(bench_job *job, size_t bytes, tithe_error *error);

/* Do the reference kernels, which define every result, give the same info.bytes bytes of frame, the same sum in y, the
 * same number? Each runs the job again. */
const char *ti_bench_wrong_bytes(bench_job *job);
const char *ti_bench_wrong_sum(bench_job *job);
const char *ti_bench_wrong_number(bench_job *job);

extern const bench_kind ti_bench_memcpy, ti_bench_read, ti_bench_read8;                /* reference.c */
extern const bench_kind ti_bench_quant_encode, ti_bench_quant_decode, ti_bench_select; /* passes.c */
extern const bench_kind ti_bench_indices_encode, ti_bench_indices_decode, ti_bench_random,
    ti_bench_crc;                                                          /* passes.c */
extern const bench_kind ti_bench_ec, ti_bench_encode, ti_bench_decode_add; /* calls.c */
extern const bench_kind ti_bench_choose, ti_bench_sort_and_scan, ti_bench_encode_chosen,
    ti_bench_choose_and_encode; /* tuner.c */
extern const bench_kind ti_bench_put, ti_bench_put_cat, ti_bench_put_late,
    ti_bench_put_late_full; /* waiting.c */

extern const bench_kind ti_bench_step, ti_bench_all_reduce; /* exchange.c */
void ti_bench_ranks_free(struct bench_group_of_ranks *ranks);

/* ---- the tables (rows.c) ------------------------------------------------------------------------------ */

extern const bench_row ti_bench_kernel_rows[], ti_bench_codec_rows[], ti_bench_tuner_rows[],
    ti_bench_exchange_rows[]; /* all end with a NULL name; references first */
enum { BENCH_MEMCPY, BENCH_READ, BENCH_READ8, BENCH_REFERENCES };

#endif
