/* refusal.h - a gradient that cannot be sent: how all ranks hear of it, and what becomes of the step.
 *
 * A rank that refuses sends a frame that says so, in place of its own: as long as it likes where a length goes ahead, and
 * otherwise as long as its frame would have been. Where numbers are summed and no frame travels, it sends NaN in all of
 * them, or in all of a piece, and so everybody gets NaN; then they ask each other who it was. So a step in which nobody refuses takes no byte
 * and no message more, and all ranks know of a refusal before anything is applied. */
#ifndef EXCHANGE_REFUSAL_H
#define EXCHANGE_REFUSAL_H

#include "tithe/exchange.h"

typedef struct exchange_refusal {
    tithe_status code; /* why; TITHE_OK: nobody refuses */
    bool sum;          /* not a gradient, but the sum of all, by the server or by the owner of a part */
    uint32_t rank;     /* who; REFUSAL_NOBODY: a server that has no rank, or nobody knows */
    uint32_t position; /* where; REFUSAL_NOWHERE: not known */
} exchange_refusal;

enum { REFUSAL_NOBODY = (1 << 17) - 1, REFUSAL_BYTES = 12 };
#define REFUSAL_NOWHERE UINT32_MAX

/* What was kept before a step, for one that is not taken. `numbers` NULL: nobody will ask. */
typedef struct exchange_copy {
    float *numbers;
    size_t begin, count;
    uint32_t step;
    bool made;
} exchange_copy;

struct exchange_worker;

/* The frame of a refusal, `length` bytes of at least 8: below REFUSAL_BYTES without the position. Returns the length. */
size_t ti_refusal_write(const exchange_refusal *refusal, uint8_t *frame, size_t length);
/* Is this frame one? */
bool ti_refusal_read(const uint8_t *frame, size_t length, exchange_refusal *refusal);
/* The same, into ex->refusal, where no other one stands yet. */
bool ti_refusal_note(tithe_exchange *ex, const uint8_t *frame, size_t length);

/* From what a function that failed said of this rank, or of the server's sum (`sum`). */
exchange_refusal ti_refusal_of(unsigned rank, bool sum, tithe_status status, const tithe_error *why);
/* Make the message of a local rank say so. */
void ti_refusal_put(tithe_exchange *ex, struct exchange_worker *w, exchange_refusal refusal);
/* Who refuses? Called by all ranks; the lowest goes into ex->refusal. `sure`: they know that the sum is none, so where nobody does
 * it was too large. */
tithe_status ti_refusal_ask(tithe_exchange *ex, bool sure, tithe_error *error);

/* Numbers begin .. begin + count of what is kept, as they are before this step; and back, where there is a copy of that step. */
void ti_refusal_keep(exchange_copy *copy, const float *kept, size_t begin, size_t count, uint32_t step);
/* Of an exchange that sends its vector whole: the step is not taken, and nobody is put any more. */
void ti_refusal_drop(tithe_exchange *ex, uint32_t step);
/* The end of a step in which ex->refusal stands, on all ranks: as if it had not been, or for good. */
tithe_status ti_refusal_end(tithe_exchange *ex, float *update, tithe_error *error);

#endif
