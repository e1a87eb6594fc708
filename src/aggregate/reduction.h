/* reduction.h - a message of each rank, of which a switch makes one: number by number the largest, the sum, or a power of two
 * beside the sum. */
#ifndef AGGREGATE_REDUCTION_H
#define AGGREGATE_REDUCTION_H

#include <stddef.h>

#include "aggregate/packet.h"
#include "tithe/status.h"

typedef struct agg_reduction {
    packet_operation operation;
    uint8_t up, down; /* bits of a number, to the switch and back */
    uint32_t most;    /* no rank has a larger one; of NATURAL: exponent */
    size_t n;         /* numbers */
    uint64_t draw;    /* of NATURAL: where the random numbers of the first value begin */
} agg_reduction;

/* What packets may be like. */
typedef struct packet_limits {
    uint32_t datagram; /* bytes, the tag included */
    uint32_t tag;      /* of which it has so many */
    uint32_t values;   /* numbers in a packet at most */
} packet_limits;

enum { PACKET_ETHERNET = 1472 }; /* bytes of a datagram where nothing else is known */

/* How a reduction is cut. */
typedef struct packet_cut {
    uint32_t values;  /* of each packet, but of the last one */
    uint32_t packets; /* of a rank */
    size_t up, down;  /* bytes of a rank's, and of those that come back to it, heads and tags included */
    size_t last;      /* of the last one that comes back */
} packet_cut;

/* Packets of the wider way fit. */
static inline packet_cut reduction_cut(const agg_reduction *r, const packet_limits *limits)
{
    const uint32_t bits = r->up > r->down ? r->up : r->down;
    packet_cut cut = {.values = packet_room(limits->datagram, limits->tag, bits)};
    if (cut.values > limits->values) cut.values = limits->values;
    if (cut.values < 8) cut.values = 8; /* the shortest datagram holds so many */
    cut.packets = (uint32_t)((r->n + cut.values - 1) / cut.values);
    const size_t heads = (size_t)cut.packets * (PACKET_HEAD + limits->tag);
    cut.up = heads + (r->n * r->up + 7) / 8;
    cut.down = heads + (r->n * r->down + 7) / 8;
    const size_t before = cut.packets ? (size_t)(cut.packets - 1) * cut.values : 0;
    if (cut.packets) cut.last = PACKET_HEAD + limits->tag + packet_bytes((uint32_t)(r->n - before), r->down);
    return cut;
}

/* Values of packet c. */
static inline uint16_t reduction_values(const agg_reduction *r, const packet_cut *cut, uint32_t c)
{
    const size_t left = r->n - (size_t)c * cut->values;
    return (uint16_t)(left < cut->values ? left : cut->values);
}

/* The head of packet c, but for what the job says; and where its numbers lie in a stream of `bits` bits each. */
packet_head ti_reduction_head(const agg_reduction *r, const packet_cut *cut, uint32_t c);
static inline size_t reduction_place(const packet_cut *cut, uint32_t c, uint32_t bits)
{
    return (size_t)c * cut->values / 8 * bits;
}

/* Who reduces: a switch somewhere else, or one that is simulated. Every function gets `self`. */
typedef struct aggregator {
    const char *name;
    /* All ranks of a job, of which `local` from `first` on are here, begin. */
    tithe_status (*join)(void *self, uint64_t job, unsigned ranks, unsigned first, unsigned local,
                         double timeout, tithe_error *error);
    /* up[i]: the message of local rank i; down: the outcome. Called by all ranks of the job in the same order. */
    tithe_status (*reduce)(void *self, const agg_reduction *r, const uint8_t *const *up, uint8_t *down,
                           double timeout, tithe_error *error);
    packet_limits (*limits)(const void *self); /* after join */
    void (*close)(void *self);
} aggregator;

/* A switch in this process, for all ranks of a job: its packets are those that a real one would get. */
tithe_status ti_simulated_switch(unsigned ranks, void **self, tithe_error *error);
extern const aggregator ti_aggregator_simulated;

#endif
