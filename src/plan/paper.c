/* paper.c - the formulas of tyagi2023artopk, as they are printed: for --count paper, and nothing else.
 *
 * With N workers, M bytes of gradient, latency a, 1/b the bandwidth, and log = log2, which need not be whole:
 *   dense    star 2a + 2(N-1)Mb    ring 2(N-1)a + 2(N-1)/N Mb    tree 2 log N a + 2 log N Mb
 *   gather   log N a + (N-1) frame b
 *   artopk   broadcast of the indices, log N (a + I b), and an all-reduce of the values V over a ring or a tree
 * with 4 bytes for each value and each index: frame = 2 V, I = V. What really runs has whole levels, frames that pass
 * around a ring in N-1 rounds, and lengths ahead of them; src/coll and src/exchange state that. */
#include <math.h>

#include "plan/plan.h"

static void add(tithe_rounds *rounds, double count, double bytes)
{
    tithe_rounds_add(rounds, (tithe_round){.count = count, .bytes = bytes});
}

static void star(double N, double bytes, tithe_rounds *rounds)
{
    if (N > 1) add(rounds, 2, (N - 1) * bytes);
}

static void ring(double N, double bytes, tithe_rounds *rounds)
{
    add(rounds, 2 * (N - 1), bytes / N);
}

static void tree(double N, double bytes, tithe_rounds *rounds)
{
    add(rounds, 2 * log2(N), bytes);
}

static void allgather(double N, double bytes, tithe_rounds *rounds)
{
    if (N > 1) add(rounds, log2(N), (N - 1) * bytes / log2(N));
}

static void broadcast(double N, double bytes, tithe_rounds *rounds)
{
    add(rounds, log2(N), bytes);
}

typedef struct paper_row {
    const char *scheme, *collective;
    void (*over)(double N, double bytes, tithe_rounds *rounds);
} paper_row;

static const paper_row table[] = {
    {"dense", "star", star},  {"dense", "ring", ring},
    {"dense", "tree", tree},  {"gather", "allgather", allgather},
    {"artopk", "ring", ring}, {"artopk", "tree", tree},
};
enum { ROWS = sizeof table / sizeof *table };

static const tithe_scheme *scheme_of(const paper_row *row)
{
    const tithe_scheme *found = NULL;
    return tithe_scheme_find(row->scheme, &found, NULL, NULL) ? NULL : found;
}

size_t ti_paper_rows(bool dense)
{
    size_t count = 0;
    for (size_t i = 0; i < ROWS; i++) count += scheme_of(&table[i])->whole == dense;
    return count;
}

/* Frames go as they are; under a leader indices are broadcast and values summed. What codecs do is as with our rounds. */
static void state(const tithe_plan_request *q, const tithe_scheme *scheme, const paper_row *row,
                  const plan_level *l, tithe_rounds *rounds)
{
    const double N = q->workers;
    tithe_rounds_start(rounds);
    if (scheme->whole) {
        row->over(N, 4 * q->params, rounds);
    } else if (scheme->forms) {
        broadcast(N, l->indices, rounds);
        row->over(N, l->values, rounds);
        rounds->formed = 1;
        rounds->encoded = 1;
        rounds->decoded = 2;
    } else {
        row->over(N, l->frame, rounds);
        rounds->encoded = 1;
        rounds->decoded = N;
    }
}

void ti_paper_fill(const tithe_plan_request *q, bool dense, const plan_level *l, tithe_plan_row *rows)
{
    for (size_t i = 0; i < ROWS; i++) {
        const tithe_scheme *scheme = scheme_of(&table[i]);
        if (scheme->whole != dense) continue;
        tithe_rounds rounds;
        state(q, scheme, &table[i], l, &rounds);
        *rows++ = ti_plan_row(q, scheme, table[i].collective, l, &rounds);
    }
}
