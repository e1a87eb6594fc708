/* reasons.h - why a switch drops a packet. Needs no library, as packet.h. */
#ifndef AGGREGATE_REASONS_H
#define AGGREGATE_REASONS_H

/* Names for a report: ti_agg_reason_name. */
typedef enum agg_reason {
    AGG_FINE = 0,
    AGG_SHORT,
    AGG_LONG,
    AGG_FOREIGN,   /* no packet of this protocol */
    AGG_VERSION,   /* of another one */
    AGG_TAG,       /* the tag does not fit the key: counted by whoever checks it */
    AGG_KIND,      /* none that is for a switch */
    AGG_JOB,       /* of a job that has no place here */
    AGG_WORKER,    /* a number that the job has not */
    AGG_STRANGER,  /* from another address than the worker's */
    AGG_FORMAT,    /* numbers that cannot be added like this */
    AGG_RANGE,     /* one of them is larger than it said */
    AGG_REPLAYED,  /* of a sum that all have got */
    AGG_EARLY,     /* of a sum that cannot be due yet */
    AGG_DIFFERENT, /* other numbers than those of the rest */
    AGG_FULL,      /* no place is left for another job */
    AGG_SIZE,      /* of another number of workers than this switch is for */
    AGG_GONE,      /* a worker whose part is missing has left: the others are told */
    AGG_BUSY,      /* another processor had the slot for too long */
    AGG_REASONS
} agg_reason;

#endif
