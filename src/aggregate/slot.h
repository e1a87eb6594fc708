/* slot.h - a slot of the pool: which packet of the job it holds, who has sent a part of it, and what is to be done with one that
 * comes. Needs no library, as packet.h.
 *
 * Packet number s belongs into slot s mod S, version (s / S) mod 2, of S slots; S is a power of two. A worker sends s only
 * after it has got the sum of s - S. So when the first part of s comes, all have sent their part of s - S, hence have got
 * the sum of s - 2S, which is what this version holds: nobody will ask for it again. The other version keeps the sum of
 * s - S for those who have lost it. */
#ifndef AGGREGATE_SLOT_H
#define AGGREGATE_SLOT_H

#include "aggregate/packet.h"

#ifndef SLOT_WORKERS
#define SLOT_WORKERS PACKET_WORKERS
#endif

typedef struct slot {
    uint64_t draw;
    uint32_t number;
    uint32_t most;
    uint16_t values;
    uint16_t count; /* parts that are in; 0: nothing was ever here */
    uint8_t operation, up, down;
    uint64_t seen[SLOT_WORKERS / 64]; /* whose */
} slot;

typedef enum slot_verdict {
    SLOT_FIRST,    /* the first part: what was here is over */
    SLOT_MORE,     /* another part */
    SLOT_AGAIN,    /* this worker's part is in already; others are missing */
    SLOT_DONE,     /* likewise, and the sum is there */
    SLOT_OLD,      /* of a sum that all have got: repeated by the network, or by somebody */
    SLOT_EARLY,    /* the worker cannot have got that far */
    SLOT_DIFFERENT /* from what the others have said about this sum */
} slot_verdict;

static inline uint32_t slot_index(uint32_t number, uint32_t slots)
{
    return number & (slots - 1);
}

static inline uint32_t slot_version(uint32_t number, uint32_t slots)
{
    return (number & slots) != 0;
}

static inline bool slot_has(const slot *s, uint32_t worker)
{
    return s->seen[worker / 64 % (SLOT_WORKERS / 64)] >> worker % 64 & 1;
}

static inline slot_verdict slot_judge(const slot *s, const packet_head *h, uint32_t slots, uint32_t workers)
{
    if (s->count == 0) return h->number < 2 * slots ? SLOT_FIRST : SLOT_EARLY;
    if (h->number == s->number + 2 * slots) return s->count == workers ? SLOT_FIRST : SLOT_EARLY;
    if (h->number != s->number) return (int32_t)(h->number - s->number) < 0 ? SLOT_OLD : SLOT_EARLY;
    if (h->operation != s->operation || h->up != s->up || h->down != s->down || h->values != s->values ||
        h->most != s->most || h->draw != s->draw)
        return SLOT_DIFFERENT;
    if (!slot_has(s, h->worker)) return SLOT_MORE;
    return s->count == workers ? SLOT_DONE : SLOT_AGAIN;
}

/* After FIRST and MORE, with the numbers taken in. True: that was the last part. */
static inline bool slot_note(slot *s, const packet_head *h, bool first, uint32_t workers)
{
    if (first) {
        s->number = h->number;
        s->operation = h->operation;
        s->up = h->up;
        s->down = h->down;
        s->values = h->values;
        s->most = h->most;
        s->draw = h->draw;
        s->count = 0;
        for (uint32_t i = 0; i < SLOT_WORKERS / 64; i++) s->seen[i] = 0;
    }
    s->seen[h->worker / 64 % (SLOT_WORKERS / 64)] |= UINT64_C(1) << h->worker % 64;
    return ++s->count == workers;
}

#endif
