/* packet.h - what crosses the network between workers and a switch: a head, and numbers of a few bits each. docs/format.md
 * has the bytes. Needs no library: the program in the kernel reads the same packets. */
#ifndef AGGREGATE_PACKET_H
#define AGGREGATE_PACKET_H

#include <stdbool.h>

#include "base/little.h"

enum {
    PACKET_MARK = 0x5354, /* "TS" */
    PACKET_VERSION = 1,
    PACKET_HEAD = 36,
    PACKET_JOIN = 8,                                 /* bytes of a join behind its head, */
    PACKET_JOINED = 16,                              /* of its answer, */
    PACKET_REFUSED = 4,                              /* and of a refusal */
    PACKET_TAG = 16,                                 /* of the tag that closes a packet under a key */
    PACKET_LONGEST = 65507,                          /* what a datagram of IPv4 holds */
    PACKET_SHORTEST = PACKET_HEAD + PACKET_TAG + 32, /* holds eight numbers of 32 bits */
    PACKET_WORKERS = 1024                            /* of a job, at most */
};

/* To the switch, and back from it. */
typedef enum packet_kind {
    KIND_JOIN = 1,      /* a worker wants to take part in a job */
    KIND_PART = 2,      /* its part of a sum */
    KIND_ASK = 3,       /* is the switch still there, and does it know the job? */
    KIND_LEAVE = 4,     /* nothing more will come of this worker */
    KIND_JOINED = 0x81, /* so many of the job's workers are here */
    KIND_SUM = 0x82,    /* what all parts came to */
    KIND_REFUSED = 0x83
} packet_kind;

/* What becomes of the numbers of all workers. */
typedef enum packet_operation {
    OPERATION_MAX = 0,    /* the largest */
    OPERATION_SUM = 1,    /* the sum */
    OPERATION_NATURAL = 2 /* the sum of powers of two with signs, rounded at random to such a power */
} packet_operation;

typedef struct packet_head {
    uint8_t kind;
    uint8_t place; /* of the job in the switch, as `joined` says */
    uint8_t operation;
    uint8_t up, down; /* bits of a number, on the way to the switch and back */
    uint16_t worker;
    uint16_t values;
    uint32_t number; /* of this packet in the job: slot and version follow */
    uint32_t most;   /* no number of a worker is larger; of NATURAL: no exponent */
    uint64_t job;
    uint64_t draw; /* of NATURAL: where the random numbers of these values begin */
} packet_head;

static inline void packet_write(uint8_t *p, const packet_head *h)
{
    put_u16(p, PACKET_MARK);
    p[2] = PACKET_VERSION;
    p[3] = h->kind;
    put_u64(p + 4, h->job);
    put_u16(p + 12, h->worker);
    p[14] = h->place;
    p[15] = h->operation;
    put_u32(p + 16, h->number);
    put_u64(p + 20, h->draw);
    put_u16(p + 28, h->values);
    p[30] = h->up;
    p[31] = h->down;
    put_u32(p + 32, h->most);
}

/* Of PACKET_HEAD bytes whose mark and version were looked at. */
static inline packet_head packet_read(const uint8_t *p)
{
    return (packet_head){.kind = p[3],
                         .job = get_u64(p + 4),
                         .worker = get_u16(p + 12),
                         .place = p[14],
                         .operation = p[15],
                         .number = get_u32(p + 16),
                         .draw = get_u64(p + 20),
                         .values = get_u16(p + 28),
                         .up = p[30],
                         .down = p[31],
                         .most = get_u32(p + 32)};
}

static inline bool packet_is_marked(const uint8_t *p)
{
    return get_u16(p) == PACKET_MARK;
}

static inline bool packet_is_version(const uint8_t *p)
{
    return p[2] == PACKET_VERSION;
}

/* Bytes of so many numbers of `bits` bits, padded to a byte. */
static inline uint32_t packet_bytes(uint32_t values, uint32_t bits)
{
    return (values * bits + 7) / 8;
}

/* Numbers of `bits` bits that fit into a datagram of so many bytes: a multiple of 8, so that the next packet begins at a byte. */
static inline uint32_t packet_room(uint32_t datagram, uint32_t tag, uint32_t bits)
{
    const uint32_t head = PACKET_HEAD + tag;
    return datagram > head ? (datagram - head) / bits * 8 : 0;
}

#endif
