/* calls.h - what the first worker may ask of a server without ranks: 16 bytes, of which the rest says how, and how much. */
#ifndef COMM_CALLS_H
#define COMM_CALLS_H

#include "comm/comm.h"

enum {
    CALL_FOLD = 1,
    CALL_AGREE = 2,
    CALL_STEP = 3, /* of the exchange with this number */
    CALL_END = 4,
    CALL_COUNT = 5,
    CALL_COLLECT = 6,
    CALL_DELIVER = 7,
    CALL_STATE = 8,
    CALL_PING = 9,
    MAX_ASKED = 1024,    /* numbers in a fold that is timed */
    FOLD_BLOCK = 1 << 16 /* numbers: a server holds so many of each rank, however long the vector is */
};

/* Add, or take the larger ones. */
void ti_comm_fold_in(comm_fold how, double *values, const double *more, size_t n);
tithe_status ti_comm_to_everybody(tithe_comm *comm, unsigned from, const void *bytes, size_t length,
                                  tithe_error *error);

#endif
