/* data.h - data sets: read from a file, found by name, or generated; and the share of each worker.
 *
 *     tithe_data *all, *share;
 *     tithe_data_open("w8a", &(tithe_data_options){.task = TITHE_TASK_BINARY}, &all, &error);
 *     tithe_data_share(all, 20, TITHE_SPLIT_SHUFFLED, seed, 0, 20, &share, &error);   // all workers live here
 *     tithe_data_free(all);
 *
 * Part of the trainer (libtithe_learn). Values are 32-bit floats; all sums over them are made in double. */
#ifndef TITHE_DATA_H
#define TITHE_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tithe/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What the labels are for. */
typedef enum tithe_task {
    TITHE_TASK_BINARY,  /* two labels: the smaller number becomes -1, the larger +1 */
    TITHE_TASK_NUMBER,  /* a number to be predicted, as it stands */
    TITHE_TASK_CLASSES, /* any number of labels: they become 0, 1, ... in ascending order */
} tithe_task;

typedef enum tithe_split {
    TITHE_SPLIT_SHUFFLED,   /* rows in random order: every worker sees the same distribution */
    TITHE_SPLIT_CONTIGUOUS, /* rows as they stand in the file */
    TITHE_SPLIT_SORTED      /* sorted by label, stable: workers see different labels */
} tithe_split;

typedef struct tithe_data_options {
    tithe_task task;
    /* "label<=10", "label==3": these become +1, all others -1; NULL: labels as they are */
    const char *positive;
    bool normalize_rows;   /* scale each row to length 1; a zero row stays */
    size_t features;       /* 0: the highest index seen; more is fine, fewer is refused */
    const char *directory; /* where data sets are looked up by name; NULL: TITHE_DATA of the environment */
    uint64_t max_memory; /* bytes that the data may take while it is read; 0: as tithe_data_max_memory says */
} tithe_data_options;

/* The bytes that options allow: what they state, or half of the memory that the machine has left. A file may be short and what is in
 * it long. Options may be NULL. */
TITHE_API uint64_t tithe_data_max_memory(const tithe_data_options *options);

/* Rows of numbers, sparse (offsets, indices and values) or dense (values alone, `features` to a row): dense when more
 * than half of the values are there, which then takes less memory. */
typedef struct tithe_data {
    size_t rows, features;
    uint64_t nonzeros;     /* values that are stored: rows * features when dense */
    const size_t *offsets; /* rows + 1 of them: where a row begins in indices and values; NULL: dense */
    const uint32_t *indices;
    const float *values;
    const double *labels;
    unsigned classes;         /* TITHE_TASK_CLASSES: how many; otherwise 0 */
    size_t total_rows;        /* of the whole data set, of which this may be a share */
    unsigned workers;         /* 0: not split yet */
    unsigned first, local;    /* the workers whose rows are here: first, first + 1, ... (local of them) */
    const size_t *begin;      /* local + 1 of them: where the rows of a worker begin */
    const uint32_t *original; /* of each row here, its place in the whole data set; NULL: not split yet */
    uint64_t hash;            /* of the whole data set, labels included, before it was split */
    char name[128];           /* as a person would call it */
} tithe_data;

/* `source` is a built-in name (tithe_data_sources lists them), with parameters or without, such as gen:sparse:rows=100;
 * a path; or a name in `directory`, with or without .gz, .bz2, .xz, .zst. They are tried in this order. Options may be
 * NULL: a binary task. What is wrong with a text file is told with its line, which error->position has too, from 0.
 * See docs/data.md. */
TITHE_API tithe_status tithe_data_open(const char *source, const tithe_data_options *options,
                                       tithe_data **data, tithe_error *error);
TITHE_API void tithe_data_free(tithe_data *data); /* NULL is fine */

/* The rows of workers first .. first+local-1 out of `workers`, in an order that depends on split and seed alone:
 * a copy, so that a process holds its own share and no more. Shares differ by at most one row; the first ones are
 * the longer ones. Fewer rows than workers is refused. */
TITHE_API tithe_status tithe_data_share(const tithe_data *all, unsigned workers, tithe_split split,
                                        uint64_t seed, unsigned first, unsigned local, tithe_data **share,
                                        tithe_error *error);

/* The data sets that have a name of their own, for `tithe list data`. The table ends with NULL. */
typedef struct tithe_data_source {
    const char *name, *summary, *paper;
    const struct tithe_param *params; /* variant.h; NULL: none */
} tithe_data_source;
TITHE_API const tithe_data_source *const *tithe_data_sources(void);

#ifdef __cplusplus
}
#endif
#endif
