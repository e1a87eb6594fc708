/* rounds.c - a list of rounds, and what is read off it. */
#include "tithe/rounds.h"

#include <math.h>

static bool alike(const tithe_round *a, const tithe_round *b)
{
    return a->bytes == b->bytes && a->who == b->who;
}

/* A list that is full, which no step of ours makes, keeps its sums right: the last entry takes the mean. */
static void join(tithe_round *last, const tithe_round *more)
{
    const double count = last->count + more->count;
    if (!alike(last, more)) last->bytes = (last->count * last->bytes + more->count * more->bytes) / count;
    last->count = count;
    last->sent += more->sent;
    last->messages += more->messages;
}

void tithe_rounds_add(tithe_rounds *rounds, tithe_round round)
{
    if (!(round.count > 0)) return;
    tithe_round *last = rounds->length ? &rounds->list[rounds->length - 1] : NULL;
    if (last && (alike(last, &round) || rounds->length == TITHE_ROUNDS_MAX))
        join(last, &round);
    else
        rounds->list[rounds->length++] = round;
}

double tithe_rounds_seconds(const tithe_rounds *rounds, const tithe_link *link)
{
    double sum = 0;
    for (unsigned i = 0; i < rounds->length; i++)
        sum += rounds->list[i].count * tithe_link_seconds(link, rounds->list[i].bytes);
    return sum;
}

double tithe_rounds_count(const tithe_rounds *rounds)
{
    double sum = 0;
    for (unsigned i = 0; i < rounds->length; i++) sum += rounds->list[i].count;
    return sum;
}

double tithe_rounds_bytes(const tithe_rounds *rounds)
{
    double sum = 0;
    for (unsigned i = 0; i < rounds->length; i++) sum += rounds->list[i].count * rounds->list[i].bytes;
    return sum;
}

double tithe_rounds_sent(const tithe_rounds *rounds)
{
    double sum = 0;
    for (unsigned i = 0; i < rounds->length; i++) sum += rounds->list[i].sent;
    return sum;
}

double tithe_rounds_messages(const tithe_rounds *rounds)
{
    double sum = 0;
    for (unsigned i = 0; i < rounds->length; i++) sum += rounds->list[i].messages;
    return sum;
}

double tithe_blocks_sum(const tithe_blocks *blocks, unsigned from, unsigned to)
{
    if (!blocks->lengths) return (to - from) * blocks->length;
    double sum = 0;
    for (unsigned i = from; i < to; i++) sum += (double)blocks->lengths[i];
    return sum;
}

double tithe_blocks_max(const tithe_blocks *blocks)
{
    if (!blocks->lengths) return blocks->length;
    double max = 0;
    for (unsigned i = 0; i < blocks->count; i++) max = fmax(max, (double)blocks->lengths[i]);
    return max;
}
