/* bpf_state.h - what the program in the kernel and the process that loaded it share. The process writes places and the addresses of
 * workers, the program everything else; both see the same memory. Needs no library. */
#ifndef SWITCH_BPF_STATE_H
#define SWITCH_BPF_STATE_H

#include "aggregate/reasons.h"
#include "aggregate/slot.h"

enum {
    BPF_ROOM = 1 << 14, /* bytes of a packet with some behind it: a power of two */
    BPF_DATAGRAM = 8972 /* the longest one: longer ones gain nothing here */
};

/* What does not change. Addresses and ports are as they are in packets. */
typedef struct bpf_setup {
    uint32_t workers, slots, jobs, values, datagram;
    uint32_t block_mask; /* blocks of 8 numbers in a slot, less one */
    uint32_t ip;
    uint16_t port;
    uint16_t tag; /* bytes of it: 0 without a key */
    uint64_t key[2];
} bpf_setup;

typedef struct bpf_place {
    uint64_t job;
    uint32_t taken, ready; /* by a job; all of its workers have joined */
    uint32_t left;         /* so many of them are gone */
    uint32_t datagram;
    uint32_t heard; /* seconds of the clock that does not jump */
} bpf_place;

typedef struct bpf_peer {
    uint32_t ip; /* 0: it has not joined */
    uint16_t port;
    uint8_t mac[6], own[6]; /* the worker's or its router's, and ours, as its packets have them, */
    uint32_t interface;     /* and where they come in */
} bpf_peer;

/* Of one job: what began to look at it for another, before its place was given away, finds that it is not its own. */
typedef struct bpf_slot {
    uint32_t lock, unused;
    uint64_t job;
    slot s;
    uint32_t sums[];
} bpf_slot;

typedef struct bpf_counts {
    uint64_t packets, aggregated, retransmitted;
    uint64_t dropped[32];
} bpf_counts;

#endif
