/* bits.h - bit streams: the first bit is the lowest of the first byte, and numbers go in lowest bit first.
 *
 * The writer wants its bytes zeroed by nobody: it stores four at a time as they fill, and the rest at the
 * end. The reader never reads outside its array; past the end it sees zeros and remembers that it overran. */
#ifndef BASE_BITS_H
#define BASE_BITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

typedef struct bit_writer {
    uint8_t *next;
    uint64_t pending; /* bits not stored yet, the oldest lowest */
    unsigned count;   /* how many: below 32 between calls */
    uint64_t total;
} bit_writer;

static inline bit_writer bit_writer_at(uint8_t *dst)
{
    return (bit_writer){.next = dst};
}

/* width at most 32, value below 2^width */
static inline void bits_put(bit_writer *w, uint32_t value, unsigned width)
{
    w->pending |= (uint64_t)value << w->count;
    w->count += width;
    w->total += width;
    if (w->count >= 32) {
        put_u32(w->next, (uint32_t)w->pending);
        w->next += 4;
        w->pending >>= 32;
        w->count -= 32;
    }
}

/* The same without a branch, where eight bytes from `next` on may be overwritten. */
static inline void bits_put_ahead(bit_writer *w, uint32_t value, unsigned width)
{
    w->pending |= (uint64_t)value << w->count;
    w->count += width;
    w->total += width;
    put_u64(w->next, w->pending);
    w->next += w->count / 8;
    w->pending >>= w->count / 8 * 8; /* of 63 at most: fewer than 32 were pending before */
    w->count %= 8;
}

/* Up to 64 bits, where eight bytes from `next` on may be overwritten and fewer than eight bits are pending. */
static inline void bits_put_long(bit_writer *w, uint64_t value, unsigned width)
{
    const unsigned count = w->count + width;
    put_u64(w->next, w->pending | value << w->count);
    if (count < 64) {
        w->pending = (w->pending | value << w->count) >> count / 8 * 8;
    } else {
        w->pending = w->count ? value >> (64 - w->count) : 0;
    }
    w->next += count / 8;
    w->count = count % 8;
    w->total += width;
}

/* Store what is pending; true if that leaves the writer at the start of a byte. */
static inline bool bits_at_byte(bit_writer *w)
{
    for (; w->count >= 8; w->count -= 8, w->pending >>= 8) *w->next++ = (uint8_t)w->pending;
    return w->count == 0;
}

/* Leave room for whole bytes that somebody else fills; only at the start of a byte. */
static inline uint8_t *bits_take_bytes(bit_writer *w, size_t bytes)
{
    uint8_t *at = w->next;
    w->next += bytes;
    w->total += (uint64_t)bytes * 8;
    return at;
}

static inline void bits_put_zeros(bit_writer *w, uint64_t count)
{
    for (; count > 32; count -= 32) bits_put(w, 0, 32);
    bits_put(w, 0, (unsigned)count);
}

/* Pad with zeros to a whole byte; returns the bits before padding. */
static inline uint64_t bits_finish(bit_writer *w)
{
    if (!bits_at_byte(w)) {
        *w->next++ = (uint8_t)w->pending;
        w->pending = 0;
        w->count = 0;
    }
    return w->total;
}

typedef struct bit_reader {
    const uint8_t *bytes;
    uint64_t position, end; /* in bits */
    bool overrun;
} bit_reader;

static inline bit_reader bit_reader_at(const uint8_t *bytes, size_t length, uint64_t position)
{
    return (bit_reader){.bytes = bytes, .position = position, .end = (uint64_t)length * 8};
}

/* Up to 32 bits from where the reader stands, without moving it. */
static inline uint64_t bits_peek(const bit_reader *r, unsigned width)
{
    uint64_t value = 0;
    const unsigned skip = (unsigned)(r->position % 8);
    const uint64_t last = r->end / 8;
    uint64_t at = r->position / 8;
    if (at + 8 <= last) return (get_u64(r->bytes + at) >> skip) & ((UINT64_C(1) << width) - 1);
    for (unsigned got = 0; got < skip + width && at < last; got += 8, at++)
        value |= (uint64_t)r->bytes[at] << got;
    return (value >> skip) & ((UINT64_C(1) << width) - 1);
}

static inline uint32_t bits_get(bit_reader *r, unsigned width)
{
    const uint64_t value = bits_peek(r, width);
    r->position += width;
    if (r->position > r->end) r->overrun = true;
    return (uint32_t)value;
}

/* The number of zeros before the next one, which is taken too. */
static inline uint64_t bits_get_unary(bit_reader *r)
{
    uint64_t zeros = 0;
    while (r->position < r->end) {
        const uint64_t window = bits_peek(r, 32);
        if (window) {
            const unsigned here = (unsigned)__builtin_ctzll(window);
            r->position += here + 1;
            return zeros + here;
        }
        const uint64_t left = r->end - r->position;
        const uint64_t step = left < 32 ? left : 32;
        r->position += step;
        zeros += step;
    }
    r->overrun = true;
    return zeros;
}

/* True when all bits from the reader to the end of the byte it stands in are zero. */
static inline bool bits_padding_is_zero(const bit_reader *r)
{
    const unsigned used = (unsigned)(r->position % 8);
    return used == 0 || r->bytes[r->position / 8] >> used == 0;
}

#endif
