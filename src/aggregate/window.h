/* window.h - a worker's side of the slots: which packet goes next, and which goes again. No sockets and no clock: whoever moves
 * packets says what came, and when.
 *
 * A reduction has `chunks` packets. Packet c may go once the sum of packet c - S is there, the lowest first. `limit` holds back
 * only what is beyond all that went before: otherwise two workers could fill theirs with different packets, and wait for each
 * other for ever. What is lost goes again after a time that follows the round trips of those that were not (srtt and rttvar
 * as TCP has them; Karn: a packet that went twice tells nothing). Two things are told apart: sums come, and one is missing,
 * so it was lost, and fewer packets may be under way; nothing comes at all, so somebody is late, and the oldest packet alone
 * asks, less and less often. */
#ifndef AGGREGATE_WINDOW_H
#define AGGREGATE_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct window_slot {
    uint32_t chunk; /* that is in it, or comes next */
    bool flying;    /* it was sent, and its sum has not come */
    bool again;     /* more than once */
    bool early;     /* before any sum of this reduction had come: others may still be at work */
    double sent;    /* when, the last time */
} window_slot;

typedef struct window {
    uint32_t slots;
    uint32_t number; /* of chunk 0 in the job */
    uint32_t chunks, done;
    uint32_t flying; /* packets under way, */
    double limit;    /* of which there may be so many */
    double srtt, rttvar, timeout;
    bool flowed;      /* they are of packets that went while sums came */
    double patience;  /* how many timeouts to wait while nothing comes */
    double look_at;   /* when the next packet may have to go again */
    double narrowed;  /* when the limit was made smaller */
    double heard;     /* when a sum last came */
    uint64_t resent;  /* packets, since it was opened */
    uint32_t beyond;  /* the first chunk behind all that went */
    uint32_t waiting; /* chunks that may go for the first time: a heap, the lowest on top */
    uint32_t *ready;
    window_slot *of;
} window;

size_t ti_window_size(uint32_t slots); /* bytes, aligned as by malloc */
/* `limit`: packets under way, at most, as others have room for them. */
void ti_window_open(window *w, void *memory, uint32_t slots, uint32_t limit);

/* The next reduction; the last one is over. */
void ti_window_begin(window *w, uint32_t chunks);
static inline bool window_is_done(const window *w)
{
    return w->done == w->chunks;
}
/* The chunk that is to be sent now. False: none, until a sum comes or ti_window_wake. */
bool ti_window_next(window *w, double now, uint32_t *chunk);
static inline uint32_t window_number(const window *w, uint32_t chunk)
{
    return w->number + chunk;
}
/* A sum came. False: it is none that is waited for. */
bool ti_window_take(window *w, uint32_t number, double now, uint32_t *chunk);
/* When to ask again, though nothing has come. */
double ti_window_wake(const window *w, double now);

#endif
