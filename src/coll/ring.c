/* ring.c - every rank talks to its two neighbours only; each link carries 2(N-1)/N of the vector.
 *
 * Scatter-reduce: in round r, rank i passes part i-r on, and adds what comes from i-1. After N-1 rounds rank i holds
 * the whole sum of part i+1, and N-1 more rounds pass the finished parts around. Part p is summed in the order
 * p, p+1, ..., p-1 of the ranks (mod N). */
#include <math.h>

#include "coll/coll.h"

static unsigned ring_parts(unsigned size)
{
    return size;
}

static unsigned reduce_rounds(unsigned size)
{
    return 2 * (size - 1);
}

static unsigned gather_rounds(unsigned size)
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

static void reduce(unsigned size, unsigned rank, unsigned round, tithe_move *move)
{
    pass_part(size, rank, rank + 2 * size - round,
              move); /* after N-1 rounds this is the finished part, rank + 1 */
    move->add = round < size - 1;
}

static void gather(unsigned size, unsigned rank, unsigned round, tithe_move *move)
{
    pass_part(size, rank, rank + size - round, move);
    move->add = false;
}

static double reduce_seconds(unsigned size, double bytes, double latency, double bandwidth)
{
    const double n = size;
    return 2 * (n - 1) * latency + 2 * (n - 1) / n * bytes / bandwidth;
}

static double gather_seconds(unsigned size, double bytes, double latency, double bandwidth)
{
    return (size - 1.0) * (latency + bytes / bandwidth);
}

/* The N-1 rounds of adding pass all parts but rank + 1, which is finished then; those of handing out all but rank + 2. */
static uint64_t reduce_bytes(unsigned size, unsigned rank, size_t n)
{
    if (size == 1) return 0;
    const size_t kept = coll_part(n, size, (rank + 1) % size) + coll_part(n, size, (rank + 2) % size);
    return sizeof(float) * (2 * (uint64_t)n - kept);
}

/* All blocks but the neighbour's own. */
static uint64_t gather_bytes(unsigned size, unsigned rank, const size_t *lengths)
{
    uint64_t total = 0;
    if (size <= 1) return 0;
    for (unsigned r = 0; r < size; r++) total += lengths[r];
    return total - lengths[(rank + 1) % size];
}

const tithe_collective ti_coll_ring = {
    .name = "ring",
    .summary = "neighbours only: the fewest bytes on each link, the most rounds",
    .paper = "tyagi2023artopk",
    .ordered = true,
    .parts = ring_parts,
    .reduce_rounds = reduce_rounds,
    .reduce = reduce,
    .gather_rounds = gather_rounds,
    .gather = gather,
    .reduce_seconds = reduce_seconds,
    .gather_seconds = gather_seconds,
    .reduce_bytes = reduce_bytes,
    .gather_bytes = gather_bytes,
};
