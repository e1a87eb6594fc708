/* checkpoint_file.h - the file form of a checkpoint (docs/checkpoint.md): its head, and bytes in and out with a checksum. */
#ifndef LEARN_CHECKPOINT_FILE_H
#define LEARN_CHECKPOINT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "tithe/status.h"

enum {
    CHECKPOINT_VERSION = 4,
    CHECKPOINT_SHORT = 3,   /* the same, with a number less in each account, */
    CHECKPOINT_OLDEST = 2,  /* and other words in the text */
    CHECKPOINT_HEAD = 112,  /* bytes, then the text */
    CHECKPOINT_TEXT = 4096, /* the longest text */
    CHECKPOINT_TAIL = 4,    /* CRC-32C of all before it */
    CHECKPOINT_MAX_WORKERS = 100000,
    CHECKPOINT_MAX_LEARNED = 1 << 20
};

/* Vectors that not every run has. */
enum {
    PART_RESIDUAL = 1,   /* f32, of each worker */
    PART_AGGREGATE = 2,  /* f32 */
    PART_SERVER = 4,     /* f32 */
    PART_ANCHOR = 8,     /* f64 */
    PART_MEAN = 16,      /* f64 */
    PART_BEFORE = 32,    /* f64 */
    PART_CLIENTS = 64,   /* u32 for each worker */
    PART_MOMENTUM = 128, /* f64, of each worker */
    PART_LOWEST = 256,   /* f64, and two numbers ahead of it; runs before there was such do not have it */
    PART_MOVED = 512,    /* f32, of each worker */
    PART_STEERED = 1024, /* f32, and a number of each worker, ahead of its account (exchange/control.h) */
    PART_ALL = 2047
};

/* The account of one worker: numbers of its process, where that has several workers all in the first one. These are the run's; the
 * other places are those of the counters (exchange/counter_rows.h). */
typedef enum account_number {
    ACCOUNT_SENT = 0,
    ACCOUNT_COMPUTE = 11,
    ACCOUNT_RECORD, /* where older files have the seconds of updates, too */
    ACCOUNT_MEASURED = 14,
    ACCOUNT_LEVEL_SUM,
    ACCOUNT_KEPT_SUM,
    ACCOUNT_SPEEDUP_SUM,
    ACCOUNT_KEPT_LEAST,
    ACCOUNT_SPEEDUP_LEAST,
    ACCOUNT_RESIDUAL_MAX,
    /* the last step */
    ACCOUNT_STEP_RANKS,
    ACCOUNT_STEP_MEASURED,
    ACCOUNT_STEP_LEVEL,
    ACCOUNT_STEP_LEVEL_LEAST,
    ACCOUNT_STEP_LEVEL_MOST,
    ACCOUNT_STEP_KEPT,
    ACCOUNT_STEP_RESIDUAL,
    ACCOUNT_NUMBERS = 31,
    ACCOUNT_SHORT = 30, /* of older files; the others are 0 there */
    ACCOUNT_RUN = 17    /* of these are the run's */
} account_number;

typedef struct checkpoint_head {
    uint64_t step, n, seed, data; /* data: the hash of the data set */
    uint32_t version, workers, parts;
    double epochs, seconds;
    double average_ratio; /* average.h */
    uint64_t average_count, average_earlier, average_steps;
    uint64_t learned;               /* numbers of the scheme (exchange.h) */
    char text[CHECKPOINT_TEXT + 1]; /* rows "key: value" (base/description.h) */
} checkpoint_head;

/* Returns the bytes that were written, at most CHECKPOINT_HEAD + CHECKPOINT_TEXT. */
size_t ti_checkpoint_write_head(const checkpoint_head *head, uint8_t *bytes);
/* `length` bytes of a file of `total`. On success *used is where the vectors begin, and the file has exactly the bytes that
 * the head asks for. */
tithe_status ti_checkpoint_read_head(const char *name, const uint8_t *bytes, size_t length, uint64_t total,
                                     checkpoint_head *head, size_t *used, tithe_error *error);
/* From the end of the head to the account of worker 0, and from there to the next. */
uint64_t ti_checkpoint_shared_bytes(const checkpoint_head *head);
uint64_t ti_checkpoint_worker_bytes(const checkpoint_head *head);
static inline unsigned checkpoint_account(const checkpoint_head *head) /* numbers in one */
{
    return head->version <= CHECKPOINT_SHORT ? ACCOUNT_SHORT : ACCOUNT_NUMBERS;
}

/* ---- files ---------------------------------------------------------------------------------------------- */

typedef struct checkpoint_file {
    char *path, *beside; /* beside: NULL when reading */
    FILE *stream;
    uint32_t crc;
} checkpoint_file;

/* Can a checkpoint be written there? Tries. */
tithe_status ti_checkpoint_try(const char *path, tithe_error *error);
/* Beside the path, until it is finished: then there is a whole new file, and before that the old one. */
tithe_status ti_checkpoint_create(const char *path, checkpoint_file *file, tithe_error *error);
tithe_status ti_checkpoint_put(checkpoint_file *file, const void *bytes, size_t length, tithe_error *error);
tithe_status ti_checkpoint_finish(checkpoint_file *file, tithe_error *error);
/* Opens and checks all of it: head, length and checksum; then stands where the vectors begin. */
tithe_status ti_checkpoint_open(const char *path, checkpoint_file *file, checkpoint_head *head,
                                tithe_error *error);
tithe_status ti_checkpoint_get(checkpoint_file *file, void *bytes, size_t length, tithe_error *error);
/* In any state, also all zero; a file that was not finished is removed. */
void ti_checkpoint_close(checkpoint_file *file);

#endif
