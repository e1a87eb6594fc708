/* aggregate.h - the switch itself, as a function from packets to packets: no sockets, no clock, no memory of its own.
 *
 *     void *memory = calloc(1, ti_aggregate_size(&shape));
 *     aggregate *a = ti_aggregate_start(memory, &shape);
 *     const agg_answer answer = ti_aggregate(a, &from, seconds, packet, length, out);
 *     ... send `answer.length` bytes of `out` to whom it says ...
 *
 * A job has a place: a pool of slots, two versions each, and the addresses of its workers. It gets one when its first worker
 * joins, and loses it when all have left, or when another job wants it and nobody has heard of this one for long. Nothing is
 * kept of connections. The server over UDP, the simulated switch of an exchange and the tests run this code; the program in
 * the kernel has the same slots and codes. */
#ifndef AGGREGATE_AGGREGATE_H
#define AGGREGATE_AGGREGATE_H

#include <stddef.h>

#include "aggregate/packet.h"
#include "aggregate/reasons.h"

const char *ti_agg_reason_name(agg_reason reason);

/* Where a packet comes from, as whoever moves packets writes it down; compared, and never looked into. */
typedef struct agg_address {
    uint64_t words[3];
} agg_address;

typedef struct agg_shape {
    uint32_t workers;  /* of a job */
    uint32_t slots;    /* of a job, a power of two; each has two versions */
    uint32_t values;   /* of a packet, at most */
    uint32_t jobs;     /* at the same time, up to 256 */
    uint32_t datagram; /* bytes that may be sent, tag included */
    uint32_t lease;    /* seconds of silence after which another job may have the place */
    bool
        elsewhere; /* parts are added by a program in the kernel: only those come here whose sum misses a worker that left */
} agg_shape;

enum { AGG_LEASE = 60, AGG_SLOTS_MAX = 1 << 15 };

typedef struct agg_counts {
    uint64_t packets;       /* that came */
    uint64_t aggregated;    /* sums that were finished */
    uint64_t retransmitted; /* parts that were in already */
    uint64_t dropped[AGG_REASONS];
} agg_counts;

typedef struct agg_answer {
    uint32_t length; /* bytes to send; 0: none */
    bool to_all;     /* workers of the job; otherwise to whom the packet came from */
    uint32_t place;  /* of the job */
    agg_reason reason;
} agg_answer;

typedef struct aggregate aggregate;

/* NULL, or a sentence: why there is no such switch. */
const char *ti_aggregate_refuse(const agg_shape *shape);
size_t ti_aggregate_size(const agg_shape *shape); /* bytes, all zero, aligned as by malloc */
aggregate *ti_aggregate_start(void *memory, const agg_shape *shape);

/* Bytes that any answer fits into. */
size_t ti_aggregate_room(const agg_shape *shape);
/* One packet, without its tag, at `now` seconds on any clock. */
agg_answer ti_aggregate(aggregate *a, const agg_address *from, uint32_t now, const uint8_t *packet,
                        size_t length, uint8_t *out);
/* A packet that was dropped before it could be handed in. */
void ti_aggregate_count_dropped(aggregate *a, agg_reason reason);

/* What whoever adds elsewhere has to know of a place; and tells of it, that a worker was heard. */
typedef struct agg_job {
    uint64_t job;
    bool taken, ready; /* all workers have joined */
    uint32_t left, datagram;
} agg_job;
agg_job ti_aggregate_job(const aggregate *a, uint32_t place);
bool ti_aggregate_has_joined(const aggregate *a, uint32_t place, uint32_t worker);
void ti_aggregate_hear(aggregate *a, uint32_t place, uint32_t when);

const agg_counts *ti_aggregate_counts(const aggregate *a);
const agg_shape *ti_aggregate_shape(const aggregate *a);
const agg_address *ti_aggregate_address(const aggregate *a, uint32_t place, uint32_t worker);

#endif
