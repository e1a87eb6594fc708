/* trace.h - what a run leaves behind: one record for each step that was looked at.
 *
 * Everything that is drawn, printed or judged afterwards is read from here. docs/trace.md explains each column
 * of the file form (CSV). Totals count from the start of the run; NAN means "not known at this step". */
#ifndef TITHE_TRACE_H
#define TITHE_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tithe/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tithe_trace_record {
    double step;                      /* steps done: record 0 is the start */
    double epochs;                    /* passes over the data so far */
    double loss, gap, accuracy;       /* of the last iterate */
    double average_loss, average_gap; /* of the averaged iterate, where one is kept */
    double bound;                     /* what the theorem promises for the gap */
    double step_size;
    /* totals over all workers (design.md: four numbers, never mixed) */
    double uplink_bytes, downlink_bytes, sent_bytes, paper_bits, cost, downlink_cost;
    /* of this step */
    double level, level_least, level_most; /* entries that a worker sent: mean, least, most */
    double kept;                           /* energy kept (tithe_exchange_record), mean over the workers */
    double residual;                       /* mean over the workers of |e|^2, after the step */
    double unsent; /* total so far: sum over steps of the mean over workers of |not sent|^2 */
    /* seconds of training so far, and where they went: gradients and updates; exchange; what no phase has */
    double seconds, compute, encode, wait, transfer, decode, other;
    /* seconds besides: losses and totals for records, checkpoints, looking around among processes */
    double record;
    double setup_bytes, setup_seconds; /* before the first step: data, handshake, constants, minimum */
    /* of the link, as the messages so far say: seconds one way, bytes per second */
    double latency, bandwidth;
    double overlap;  /* seconds that sending ran beside encoding: what buckets gained */
    double messages; /* total: of the exchange, by all processes with workers */
    /* of this step, under artopk: the rank whose indices all took; NAN: nobody's, or several */
    double leader;
    double skipped; /* total: steps that were not taken, because a gradient could not be sent (exchange.h) */
    /* static or owned by the trace; "" when nothing is to be said */
    const char *scheme, *collective, *reason;
    /* Where a tuner steers: options that all steps from here on are made with, in the line where that changes. */
    const char *setting;
} tithe_trace_record;

/* The columns of a record, for those who read or write all of them. Ends with a NULL name. */
typedef enum tithe_column_kind { TITHE_COLUMN_NUMBER, TITHE_COLUMN_TEXT } tithe_column_kind;
typedef struct tithe_column {
    const char *name, *unit, *doc;
    size_t offset; /* in tithe_trace_record */
    tithe_column_kind kind;
} tithe_column;
TITHE_API const tithe_column *tithe_columns(void);

/* Facts about the run as a whole: "command", "data", "model", "codec", ... and results such as "model_hash".
 * docs/trace.md lists those that the report looks at. A key has no colon, no control character and no blank at its
 * ends, and is not "name"; a fact that is stated again replaces the one before. */
typedef struct tithe_trace tithe_trace;

TITHE_API tithe_status tithe_trace_create(const char *name, tithe_trace **trace, tithe_error *error);
TITHE_API void tithe_trace_free(tithe_trace *trace); /* NULL is fine */

TITHE_API tithe_status tithe_trace_fact(tithe_trace *trace, const char *key, const char *value);
TITHE_API tithe_status tithe_trace_add(tithe_trace *trace, const tithe_trace_record *record);

TITHE_API const char *tithe_trace_name(const tithe_trace *trace);
TITHE_API size_t tithe_trace_count(const tithe_trace *trace);
TITHE_API const tithe_trace_record *tithe_trace_at(const tithe_trace *trace, size_t i);
TITHE_API size_t tithe_trace_fact_count(const tithe_trace *trace);
TITHE_API void tithe_trace_fact_at(const tithe_trace *trace, size_t i, const char **key, const char **value);
TITHE_API const char *tithe_trace_find(const tithe_trace *trace, const char *key); /* NULL: there is none */

/* The file form. Lines "# key: value" for the facts (name first), one line of column names, one line for each
 * record; an empty field is a number that is not known. A file that a stopped run left behind reads as far as its
 * last whole line. */
typedef struct tithe_trace_file tithe_trace_file;
/* Open for writing now, so that a bad path is found before the run; "-" is standard output. When append returns, the system has the whole
 * line, so it survives the end of the process; it is forced to the medium once a second and on close. An append
 * that fails leaves the lines before it whole. */
TITHE_API tithe_status tithe_trace_file_open(const char *path, const char *name, tithe_trace_file **file,
                                             tithe_error *error);
/* Facts after the first record go to the end. */
TITHE_API tithe_status tithe_trace_file_fact(tithe_trace_file *file, const char *key, const char *value,
                                             tithe_error *error);
TITHE_API tithe_status tithe_trace_file_append(tithe_trace_file *file, const tithe_trace_record *record,
                                               tithe_error *error);
/* Frees in any case. */
TITHE_API tithe_status tithe_trace_file_close(tithe_trace_file *file, tithe_error *error);

/* Strict: a broken line is refused with file and line. Columns that are not known are passed over. */
TITHE_API tithe_status tithe_trace_read(const char *path, tithe_trace **trace, tithe_error *error);
/* The same for text in memory; `source` stands in the sentences of errors for the file. */
TITHE_API tithe_status tithe_trace_parse(const char *source, const char *text, size_t length,
                                         tithe_trace **trace, tithe_error *error);

/* How many times cheaper is run i than the first run with the fact `baseline: yes`, of the same estimator if there is one, at
 * the lowest loss that both reached (set in *loss)? By the cost of the way up. Without a baseline: than dense frames in as
 * many steps (*loss NAN). NAN: not known. */
TITHE_API double tithe_trace_cheaper(const tithe_trace *const *traces, size_t count, size_t i, double *loss);
/* The same by all that was sent, and which run the baseline is (`count`: there is none). */
TITHE_API double tithe_trace_cheaper_sent(const tithe_trace *const *traces, size_t count, size_t i,
                                          size_t *baseline);

/* How many times the steps of that baseline did run i take, to the same loss? NAN: there is none, its estimator is
 * another one, or not known. */
TITHE_API double tithe_trace_slower(const tithe_trace *const *traces, size_t count, size_t i);

/* A whole file or none: written beside it and renamed over it, so that a reader never sees half, and a failure leaves what was
 * there; what a process that was killed has left beside it goes. Devices and pipes get it straight. "-" is standard output. */
TITHE_API tithe_status tithe_output_write(const char *path, const void *bytes, size_t size,
                                          tithe_error *error);

/* One self-contained HTML page about these runs, written like that; see docs/report.md. `title` may be NULL. */
TITHE_API tithe_status tithe_report_write(const char *path, const char *title,
                                          const tithe_trace *const *traces, size_t count, tithe_error *error);

#ifdef __cplusplus
}
#endif
#endif
