/* rounds.h - what a step takes on a network: rounds of messages that follow each other.
 *
 *     const tithe_collective *ring;
 *     tithe_rounds rounds;
 *     tithe_rounds_start(&rounds);
 *     tithe_collective_find("ring", &ring, NULL, NULL);
 *     ring->reduce_rounds(8, n, &rounds);
 *     double seconds = tithe_rounds_seconds(&rounds, &link), bytes = tithe_rounds_sent(&rounds);
 *
 * Every collective (coll.h) and every scheme (exchange.h) states its rounds, once. How long a step takes, how much it
 * sends, what `tithe plan` and the virtual clock say: all of it is read off that list, and a test compares the list with
 * what really runs. Rounds that are alike are one entry, so a ring of 100,000 ranks is as cheap to ask as one of two. */
#ifndef TITHE_ROUNDS_H
#define TITHE_ROUNDS_H

#include <stdbool.h>

#include "tithe/link.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Who sends in a round. */
typedef enum tithe_senders {
    TITHE_ALL_SEND,  /* every rank sends and receives */
    TITHE_SOME_SEND, /* pairs, as in a tree */
    TITHE_TO_ONE,    /* all to one, whose link is the busiest */
    TITHE_FROM_ONE   /* one to all, likewise */
} tithe_senders;

/* Rounds that are alike. A round ends with its slowest message, so `bytes` is what the busiest link carries in it. */
typedef struct tithe_round {
    double count;    /* so many of them, one after the other */
    double bytes;    /* on the busiest link, in each */
    double sent;     /* by all ranks, in all of them */
    double messages; /* likewise */
    tithe_senders who;
} tithe_round;

enum { TITHE_ROUNDS_MAX = 128 }; /* entries: a tree of 2^30 ranks has 31, and no step more than three such */

typedef struct tithe_rounds {
    tithe_round list[TITHE_ROUNDS_MAX];
    unsigned length;
    /* What codecs do meanwhile, one after the other: vectors encoded, frames decoded, and vectors that are formed in a
     * pass of their own before. */
    double encoded, decoded, formed;
} tithe_rounds;

/* An empty list. The entries are left as they are: whoever asks thousands of times does not clear them each time. */
static inline void tithe_rounds_start(tithe_rounds *rounds)
{
    rounds->length = 0;
    rounds->encoded = rounds->decoded = rounds->formed = 0;
}

/* Nothing is added where there is no round. */
TITHE_API void tithe_rounds_add(tithe_rounds *rounds, tithe_round round);

TITHE_API double tithe_rounds_seconds(const tithe_rounds *rounds, const tithe_link *link);
TITHE_API double tithe_rounds_count(const tithe_rounds *rounds); /* latencies, one after the other */
/* On the busiest links, one after the other. */
TITHE_API double tithe_rounds_bytes(const tithe_rounds *rounds);
TITHE_API double tithe_rounds_sent(const tithe_rounds *rounds); /* by all ranks */
TITHE_API double tithe_rounds_messages(const tithe_rounds *rounds);

/* One block for each rank: all of one length, or each of its own. */
typedef struct tithe_blocks {
    unsigned count;
    double length;         /* of each, where `lengths` is NULL */
    const size_t *lengths; /* bytes of each; NULL: all are alike */
} tithe_blocks;

TITHE_API double tithe_blocks_sum(const tithe_blocks *blocks, unsigned from, unsigned to); /* of [from, to) */
TITHE_API double tithe_blocks_max(const tithe_blocks *blocks);

#ifdef __cplusplus
}
#endif
#endif
