/* star.c - everybody sends to rank 0, which adds in rank order and sends the sum to everybody. */
#include "coll/coll.h"

static unsigned one_part(unsigned size)
{
    (void)size;
    return 1;
}

static unsigned reduce_rounds(unsigned size)
{
    return 2 * (size - 1);
}

static void reduce(unsigned size, unsigned rank, unsigned round, tithe_move *move)
{
    const bool up = round < size - 1;
    const unsigned other = 1 + (up ? round : round - (size - 1));
    move->add = up;
    move->send = move->receive = 0;
    move->send_end = move->receive_end = 1;
    if (rank == 0)
        *(up ? &move->from : &move->to) = (int)other;
    else if (rank == other)
        *(up ? &move->to : &move->from) = 0;
}

static double reduce_seconds(unsigned size, double bytes, double latency, double bandwidth)
{
    return 2 * latency + 2 * (size - 1.0) * bytes / bandwidth;
}

static uint64_t reduce_bytes(unsigned size, unsigned rank, size_t n)
{
    if (size == 1) return 0;
    return sizeof(float) * (uint64_t)n * (rank == 0 ? size - 1 : 1);
}

const tithe_collective ti_coll_star = {
    .name = "star",
    .summary = "rank 0 collects, adds in rank order and hands out",
    .paper = "tyagi2023artopk",
    .ordered = true,
    .parts = one_part,
    .reduce_rounds = reduce_rounds,
    .reduce = reduce,
    .reduce_seconds = reduce_seconds,
    .reduce_bytes = reduce_bytes,
};
