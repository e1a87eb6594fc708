/* ring.c - every rank talks to its two neighbours only; each link carries 2(N-1)/N of the vector.
 *
 * Reduce-scatter: in step r, rank i passes part i-r on, and adds what comes from i-1. After N-1 steps rank i holds
 * the whole sum of part i+1, and N-1 more pass the finished parts around. Part p is summed in the order
 * p, p+1, ..., p-1 of the ranks (mod N). */
#include "coll/coll.h"

static unsigned ring_parts(unsigned size)
{
    return size;
}

static unsigned reduce_steps(unsigned size)
{
    return 2 * (size - 1);
}

static unsigned gather_steps(unsigned size)
{
    return size - 1;
}

static void pass_part(unsigned size, unsigned rank, unsigned part, tithe_move *move)
{
    move->to = (int)((rank + 1) % size);
    move->from = (int)((rank + size - 1) % size);
    move->send = part % size;
    move->receive = (part + size - 1) % size; /* the neighbour is one behind */
    move->send_end = move->send + 1;
    move->receive_end = move->receive + 1;
}

static void reduce(unsigned size, unsigned rank, unsigned step, tithe_move *move)
{
    pass_part(size, rank, rank + 2 * size - step,
              move); /* after N-1 steps this is the finished part, rank + 1 */
    move->add = step < size - 1;
}

static void gather(unsigned size, unsigned rank, unsigned step, tithe_move *move)
{
    pass_part(size, rank, rank + size - step, move);
    move->add = false;
}

/* In every round each part, or each block, is on its way between two neighbours, the longest one too. */
static void pass_rounds(double count, unsigned size, double longest, double all, tithe_rounds *rounds)
{
    tithe_rounds_add(rounds, (tithe_round){count, longest, count * all, count * size, TITHE_ALL_SEND});
}

/* Long parts go in pieces (ring_pieces.c), which are passed on at once: more messages, no more rounds. */
static void reduce_rounds(unsigned size, double n, tithe_rounds *rounds)
{
    const double steps = reduce_steps(size), longer = fmod(n, size), part = floor(n / size);
    const double pieces = longer * coll_pieces(part + 1) + (size - longer) * coll_pieces(part);
    tithe_rounds_add(rounds, (tithe_round){steps, coll_part_bytes(size, n), steps * sizeof(float) * n,
                                           steps * pieces, TITHE_ALL_SEND});
}

/* Is there more than one piece in the longest part? */
static bool is_long(unsigned size, size_t n)
{
    return size > 1 && coll_part(n, size, 0) > COLL_PIECE;
}

static void gather_rounds(const tithe_blocks *blocks, tithe_rounds *rounds)
{
    pass_rounds(gather_steps(blocks->count), blocks->count, tithe_blocks_max(blocks),
                tithe_blocks_sum(blocks, 0, blocks->count), rounds);
}

const tithe_collective ti_coll_ring = {
    .name = "ring",
    .summary = "neighbours only: the fewest bytes on each link, the most rounds",
    .paper = "tyagi2023artopk",
    .also = "allgather",
    .ordered = true,
    .together = true,
    .parts = ring_parts,
    .reduce_steps = reduce_steps,
    .reduce = reduce,
    .is_long = is_long,
    .reduce_long = ti_ring_reduce,
    .gather_steps = gather_steps,
    .gather = gather,
    .reduce_rounds = reduce_rounds,
    .gather_rounds = gather_rounds,
};
