/* summary.h - the few numbers that a run comes down to. */
#ifndef REPORT_SUMMARY_H
#define REPORT_SUMMARY_H

#include "tithe/trace.h"

/* Each number of the last record that knew it; NAN where none did. The accuracy is that of the fact, where there is one. Texts are
 * those of the last record. */
tithe_trace_record ti_summary_final(const tithe_trace *trace);

typedef enum cheaper_kind {
    CHEAPER_UNKNOWN,
    CHEAPER_BASELINE, /* than the baseline, at the lowest loss that both reached */
    CHEAPER_DENSE     /* fewer uplink bytes than dense frames in as many steps: the fact `dense_bytes` */
} cheaper_kind;

typedef struct cheaper {
    cheaper_kind kind;
    double times;    /* the way up: cost, or bytes */
    double sent;     /* CHEAPER_BASELINE: all that any process sent */
    double loss;     /* CHEAPER_BASELINE: where the two were compared */
    double slower;   /* CHEAPER_BASELINE: steps until then, over those of the baseline */
    size_t baseline; /* its place among the traces */
} cheaper;

/* How many times cheaper is run i than sending dense?
 *
 * The baseline is the first run with the fact `baseline: yes` whose facts data, model and l2 say the same (or
 * nothing), of those with the same estimator if there are any: steps of one row send little in a step and take many.
 * Both costs are taken at the first record whose loss is at most the lowest that both reached; cost is
 * the column `cost`, or `uplink_bytes` where a run has no cost, and `sent_bytes` besides. Without a baseline: dense_bytes
 * (uplink bytes of one step of all workers if they sent dense frames) times steps, over uplink_bytes. */
cheaper ti_summary_cheaper(const tithe_trace *const *traces, size_t count, size_t i);

#endif
