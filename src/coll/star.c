/* star.c - everybody sends to rank 0, which adds in rank order and sends the sum to everybody. */
#include "coll/coll.h"

static unsigned one_part(unsigned size)
{
    (void)size;
    return 1;
}

static unsigned reduce_steps(unsigned size)
{
    return 2 * (size - 1);
}

static void reduce(unsigned size, unsigned rank, unsigned step, tithe_move *move)
{
    const bool up = step < size - 1;
    const unsigned other = 1 + (up ? step : step - (size - 1));
    move->add = up;
    move->send = move->receive = 0;
    move->send_end = move->receive_end = 1;
    if (rank == 0)
        *(up ? &move->from : &move->to) = (int)other;
    else if (rank == other)
        *(up ? &move->to : &move->from) = 0;
}

/* Nobody waits for the one before: all bytes of a half go through the link of rank 0, after one latency. */
static void reduce_rounds(unsigned size, double n, tithe_rounds *rounds)
{
    if (size == 1) return;
    const double others = size - 1.0, bytes = others * sizeof(float) * n;
    tithe_rounds_add(rounds, (tithe_round){1, bytes, bytes, others, TITHE_TO_ONE});
    tithe_rounds_add(rounds, (tithe_round){1, bytes, bytes, others, TITHE_FROM_ONE});
}

const tithe_collective ti_coll_star = {
    .name = "star",
    .summary = "rank 0 collects, adds in rank order and hands out",
    .paper = "tyagi2023artopk",
    .ordered = true,
    .parts = one_part,
    .reduce_steps = reduce_steps,
    .reduce = reduce,
    .reduce_rounds = reduce_rounds,
};
