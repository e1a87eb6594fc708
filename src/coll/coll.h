/* coll.h - the collectives. */
#ifndef COLL_COLL_H
#define COLL_COLL_H

#include <math.h>

#include "base/bytes.h"
#include "comm/comm.h"
#include "tithe/coll.h"

extern const tithe_collective ti_coll_ring, ti_coll_tree, ti_coll_star, ti_coll_direct, ti_coll_native;

/* The ring's way for long vectors: in pieces (ring_pieces.c). Scratch for n numbers. */
tithe_status ti_ring_reduce(tithe_comm *comm, const float *vector, size_t n, double weight, float *scratch,
                            float *out, size_t *bad, tithe_error *error);
/* `weight` times the sum into `out`, which may be the first vector. Arguments as for tithe_all_reduce. Where it spares them, `bad` is
 * as for reduce_long; otherwise the numbers were looked at before, and it becomes n. */
tithe_status ti_coll_reduce_weighed(tithe_comm *comm, const tithe_collective *how, float *const *vectors,
                                    size_t n, double weight, float *scratch, float *out, size_t *bad,
                                    tithe_error *error);
/* Does that leave the vectors as they are, where `out` is none of them? */
bool ti_coll_spares(const tithe_comm *comm, const tithe_collective *how, size_t n);
/* Has some rank put NaN into its vector, or into a piece of it? Says the same on all ranks. */
bool ti_coll_is_marked(const tithe_comm *comm, const tithe_collective *how, const float *out, size_t n);
/* tithe_all_gather in a process with one rank, which hands over each block, its own too, as soon as it has passed it on. For
 * collectives that bring each block once, as a ring does. */
typedef tithe_status coll_taker(void *context, unsigned block, tithe_error *error);
tithe_status ti_coll_gather_each(tithe_comm *comm, const tithe_collective *how, uint8_t *const *blocks,
                                 const size_t *lengths, coll_taker *taker, void *context, tithe_error *error);
/* y = weight * x; they may be the same. */
void ti_coll_weigh(float *y, const float *x, double weight, size_t n);

/* The first half of `direct`: afterwards rank p has the sum of part p (of `size` parts), added up in rank order; its
 * other parts are of no use. Arguments as for tithe_all_reduce. */
tithe_status ti_direct_scatter(tithe_comm *comm, float *const *vectors, size_t n, float *scratch,
                               tithe_error *error);

/* Are parts of a vector so long that turns are worth their latency? */
bool ti_direct_in_turns(unsigned size, size_t n);
/* Tell `from`, who sends to us next, that nothing else is on its way here, and hear the same from `to`, to whom we
 * send. Either may be TITHE_NOBODY. */
tithe_status ti_direct_wait_for_turn(tithe_comm *comm, int to, int from, tithe_error *error);
/* What the first half takes. */
void ti_direct_scatter_rounds(unsigned size, double n, tithe_rounds *rounds);

/* Count what these rounds send, where nothing has to move: all ranks are here. */
void ti_coll_count(tithe_comm *comm, const tithe_rounds *rounds);

/* A length that goes ahead of its block. One that does not fit in memory reads as the longest of all, which nobody takes. */
static inline void coll_put_length(uint8_t *bytes, size_t length)
{
    put_u64(bytes, length);
}

static inline size_t coll_get_length(const uint8_t *bytes)
{
    const uint64_t length = get_u64(bytes);
    return length < SIZE_MAX ? (size_t)length : SIZE_MAX;
}

/* Numbers in a part. */
static inline size_t coll_part(size_t n, unsigned parts, unsigned p)
{
    return tithe_part_begin(n, parts, p + 1) - tithe_part_begin(n, parts, p);
}

/* Bytes of the longest of as many parts as there are ranks. */
static inline double coll_part_bytes(unsigned size, double n)
{
    return sizeof(float) * ceil(n / size);
}

/* Long parts of a ring travel in pieces of so many numbers: short enough for the caches, long enough to be few. */
enum { COLL_PIECE = 1 << 16 };

static inline double coll_pieces(double numbers)
{
    return fmax(1, ceil(numbers / COLL_PIECE));
}

/* The smallest b with 2^b >= size. */
static inline unsigned coll_log2(unsigned size)
{
    unsigned b = 0;
    while (b < 32 && (UINT64_C(1) << b) < size) b++;
    return b;
}

#endif
