/* tree.c - a binomial tree: 2 log2 N rounds, each with the whole vector.
 *
 * Reduce: in round r the ranks with the lowest set bit r send their sum so far to the rank with that bit cleared.
 * Then the same rounds backwards hand the sum out. Sums are nested as the tree is: ((0+1)+(2+3))+... */
#include <math.h>

#include "coll/coll.h"

static unsigned one_part(unsigned size)
{
    (void)size;
    return 1;
}

static unsigned reduce_rounds(unsigned size)
{
    return 2 * coll_log2(size);
}

/* In which of the rounds 0 .. log2-1 does this pair meet, and who is the parent? */
static void meet(unsigned size, unsigned rank, unsigned level, bool up, tithe_move *move)
{
    const unsigned bit = 1u << level;
    if (rank % (2 * bit) == bit) { /* a child */
        *(up ? &move->to : &move->from) = (int)(rank - bit);
    } else if (rank % (2 * bit) == 0 && rank + bit < size) { /* a parent */
        *(up ? &move->from : &move->to) = (int)(rank + bit);
    }
}

static void reduce(unsigned size, unsigned rank, unsigned round, tithe_move *move)
{
    const unsigned levels = coll_log2(size);
    const bool up = round < levels;
    move->add = up;
    move->send = move->receive = 0;
    move->send_end = move->receive_end = 1;
    meet(size, rank, up ? round : 2 * levels - 1 - round, up, move);
}

static double reduce_seconds(unsigned size, double bytes, double latency, double bandwidth)
{
    const double levels = log2(size);
    return 2 * levels * latency + 2 * levels * bytes / bandwidth;
}

/* Gather: blocks travel up the tree in ever larger runs, then all of them travel down. */
static void gather(unsigned size, unsigned rank, unsigned round, tithe_move *move)
{
    const unsigned levels = coll_log2(size);
    const bool up = round < levels;
    const unsigned level = up ? round : 2 * levels - 1 - round, bit = 1u << level;
    move->add = false;
    meet(size, rank, level, up, move);
    const unsigned child =
        rank % (2 * bit) == bit ? rank : rank + bit; /* it brings the run that begins with it */
    if (up) {
        const unsigned end = child + bit < size ? child + bit : size;
        move->send = move->receive = child;
        move->send_end = move->receive_end = end;
        return;
    }
    move->send = move->receive = 0; /* all of them: a child may as well get its own run back */
    move->send_end = move->receive_end = size;
}

static double gather_seconds(unsigned size, double bytes, double latency, double bandwidth)
{
    const double levels = log2(size);
    return 2 * levels * latency + (size - 1.0 + levels * size) * bytes / bandwidth;
}

/* Once up, unless it is the root, and once down to each child. */
static uint64_t reduce_bytes(unsigned size, unsigned rank, size_t n)
{
    return sizeof(float) * (uint64_t)n * (coll_children(size, rank) + (rank > 0));
}

/* Its run up, and all blocks to each child. */
static uint64_t gather_bytes(unsigned size, unsigned rank, const size_t *lengths)
{
    const unsigned run =
        rank & (~rank + 1); /* the lowest bit: so many ranks hang on this one, itself included */
    uint64_t up = 0, total = 0;
    for (unsigned r = 0; r < size; r++) {
        total += lengths[r];
        if (rank > 0 && r >= rank && r - rank < run) up += lengths[r];
    }
    return up + coll_children(size, rank) * total;
}

const tithe_collective ti_coll_tree = {
    .name = "tree",
    .summary = "a binomial tree: few rounds, each with the whole vector",
    .paper = "tyagi2023artopk",
    .ordered = true,
    .parts = one_part,
    .reduce_rounds = reduce_rounds,
    .reduce = reduce,
    .gather_rounds = reduce_rounds,
    .gather = gather,
    .reduce_seconds = reduce_seconds,
    .gather_seconds = gather_seconds,
    .reduce_bytes = reduce_bytes,
    .gather_bytes = gather_bytes,
};
