/* data.h - what the files that read or make data share.
 *
 * A source fills a data_rows: numbers and labels as they were found. data.c then does, once for all sources, what the
 * options ask for (labels, features, unit rows), chooses between sparse and dense, and computes the hash. */
#ifndef DATA_DATA_H
#define DATA_DATA_H

#include "tithe/data.h"
#include "tithe/variant.h"

/* ---- rows under construction ---------------------------------------------------------------------------- */

typedef struct data_rows {
    size_t rows, features;
    size_t count;    /* values stored */
    size_t *offsets; /* rows + 1 of them; NULL: dense */
    uint32_t *indices;
    float *values;
    double *labels;
    size_t row_room, value_room;
    uint64_t max_bytes; /* of memory; 0: any number */
    const char *name;   /* of the source, for errors; NULL: none */
} data_rows;

/* Refused where so many bytes are too many. */
tithe_status ti_data_expect_memory(const data_rows *d, uint64_t bytes, tithe_error *error);

/* Room for so many more rows and values; grows by half at least, so that calling it often is cheap. */
tithe_status ti_data_reserve(data_rows *d, size_t rows, size_t values, tithe_error *error);
/* All the room at once, for a source that knows its size; `dense` leaves out offsets and indices. */
tithe_status ti_data_make_room(data_rows *d, size_t rows, size_t values, bool dense, tithe_error *error);
void ti_data_rows_free(data_rows *d);

/* Set the number of features (refused when it is below what was seen) and become dense where that takes no more
 * memory: when more than half of all values are there. */
tithe_status ti_data_settle(data_rows *d, size_t features, tithe_error *error);
void ti_data_normalize(data_rows *d);
uint64_t ti_data_hash(const data_rows *d);

/* Turn labels into what the task wants. `what` names the data in errors. */
tithe_status ti_data_map_labels(data_rows *d, const tithe_data_options *options, const char *what,
                                unsigned *classes, tithe_error *error);

/* ---- files ------------------------------------------------------------------------------------------------ */

/* The content of a file, unpacked if it is compressed. */
typedef struct data_file data_file;
tithe_status ti_data_file_open(const char *path, data_file **file, tithe_error *error);
tithe_status ti_data_file_memory(const char *name, const void *bytes, size_t size, data_file **file,
                                 tithe_error *error); /* as it stands, never unpacked */
void ti_data_file_close(data_file *file);
/* Fewer than `size` bytes only at the end. */
tithe_status ti_data_file_read(data_file *file, void *dst, size_t size, size_t *got, tithe_error *error);
bool ti_data_file_starts_with(const data_file *file, const void *bytes,
                              size_t size); /* size <= 4; before any read */
const char *ti_data_file_name(
    const data_file *file); /* for errors: short enough to leave room for a sentence */

tithe_status ti_data_read_libsvm(data_file *file, data_rows *d, tithe_error *error);
bool ti_data_is_idx(const data_file *file);
tithe_status ti_data_read_idx(data_file *images, const char *path, data_rows *d, tithe_error *error);

/* The path, or the path with .gz, .bz2, .xz, .zst behind it: the first that is a file. False: none is. */
bool ti_data_find_file(const char *path, char *found, size_t size);
const char *ti_data_directory(const tithe_data_options *options); /* NULL: neither stated nor in TITHE_DATA */

/* ---- sources that have a name ------------------------------------------------------------------------------ */

typedef struct data_request {
    const tithe_data_options *options;
    const double *params; /* in the order of the table, defaults filled in */
} data_request;

typedef struct data_maker {
    tithe_data_source source; /* first: tithe_data_sources shows pointers to it */
    tithe_status (*make)(const data_request *request, data_rows *d, tithe_error *error);
} data_maker;

extern const data_maker ti_data_gen_sparse, ti_data_gen_dense;
extern const data_maker ti_data_a9a_like, ti_data_w8a_like, ti_data_gisette_like, ti_data_rcv1_like,
    ti_data_url_like;
extern const data_maker ti_data_mnist, ti_data_mnist_test, ti_data_fashion, ti_data_fashion_test;

#endif
