/* tree.c - a binomial tree: 2 log2 N rounds, each with the whole vector.
 *
 * Reduce: in round r the ranks with the lowest set bit r send their sum so far to the rank with that bit cleared.
 * Then the same rounds backwards hand the sum out. Sums are nested as the tree is: ((0+1)+(2+3))+... */
#include "coll/coll.h"

static unsigned one_part(unsigned size)
{
    (void)size;
    return 1;
}

static unsigned reduce_steps(unsigned size)
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

static void reduce(unsigned size, unsigned rank, unsigned step, tithe_move *move)
{
    const unsigned levels = coll_log2(size);
    const bool up = step < levels;
    move->add = up;
    move->send = move->receive = 0;
    move->send_end = move->receive_end = 1;
    meet(size, rank, up ? step : 2 * levels - 1 - step, up, move);
}

/* Gather: blocks travel up the tree in ever larger runs, then all of them travel down. */
static void gather(unsigned size, unsigned rank, unsigned step, tithe_move *move)
{
    const unsigned levels = coll_log2(size);
    const bool up = step < levels;
    const unsigned level = up ? step : 2 * levels - 1 - step, bit = 1u << level;
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

/* Everybody but the root sends once up and is sent to once on the way down. */
static void reduce_rounds(unsigned size, double n, tithe_rounds *rounds)
{
    const double bytes = sizeof(float) * n;
    tithe_rounds_add(rounds, (tithe_round){reduce_steps(size), bytes, 2 * (size - 1.0) * bytes,
                                           2 * (size - 1.0), TITHE_SOME_SEND});
}

/* One level up: each child brings its run. Runs of equal blocks are as long as they get at the first child. */
static void climb(const tithe_blocks *blocks, unsigned bit, tithe_rounds *rounds)
{
    tithe_round round = {.count = 1, .who = TITHE_SOME_SEND};
    if (!blocks->lengths) {
        const unsigned whole = blocks->count / (2 * bit), rest = blocks->count % (2 * bit);
        round.messages = (double)whole * bit + (rest > bit ? rest - bit : 0);
        round.sent = round.messages * blocks->length;
        round.bytes = (blocks->count - bit < bit ? blocks->count - bit : bit) * blocks->length;
    }
    for (unsigned child = bit; blocks->lengths && child < blocks->count; child += 2 * bit) {
        const unsigned run = blocks->count - child < bit ? blocks->count - child : bit;
        const double bytes = tithe_blocks_sum(blocks, child, child + run);
        round.bytes = fmax(round.bytes, bytes);
        round.sent += bytes;
        round.messages += run;
    }
    tithe_rounds_add(rounds, round);
}

static void gather_rounds(const tithe_blocks *blocks, tithe_rounds *rounds)
{
    const unsigned levels = coll_log2(blocks->count);
    const double all = tithe_blocks_sum(blocks, 0, blocks->count), others = blocks->count - 1.0;
    for (unsigned level = 0; level < levels; level++) climb(blocks, 1u << level, rounds);
    tithe_rounds_add(rounds,
                     (tithe_round){levels, all, others * all, others * blocks->count, TITHE_SOME_SEND});
}

const tithe_collective ti_coll_tree = {
    .name = "tree",
    .summary = "a binomial tree: few rounds, each with the whole vector",
    .paper = "tyagi2023artopk",
    .ordered = true,
    .parts = one_part,
    .reduce_steps = reduce_steps,
    .reduce = reduce,
    .gather_steps = reduce_steps,
    .gather = gather,
    .reduce_rounds = reduce_rounds,
    .gather_rounds = gather_rounds,
};
