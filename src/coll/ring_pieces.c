/* ring_pieces.c - the ring's all-reduce for long vectors: a part travels in pieces, and a piece is passed on as soon as it was
 * added, so that links never wait for the end of a round. The same sums in the same order, and the same bytes.
 *
 * What was sent is changed only when the finished sum of that piece comes back, which holds what was sent: so nobody
 * has to wait until a piece is out. Numbers are read from the vector and sums written to `out`, so that neither is copied. */
#include <string.h>

#include "base/clock.h"
#include "coll/coll.h"
#include "comm/link_estimate.h"
#include "kernels/kernels.h"

enum { AHEAD = 4 }; /* pieces that are asked for before they can be there */

typedef struct pieces {
    tithe_comm *comm;
    const float *vector;
    float *out, *scratch;
    size_t n;
    double weight;
    unsigned rounds;
    /* the next one to ask for */
    unsigned asked_round;
    size_t asked_piece, asked;
} pieces;

static tithe_move move_of(const pieces *p, unsigned round)
{
    tithe_move m = {.to = TITHE_NOBODY, .from = TITHE_NOBODY};
    ti_coll_ring.reduce(p->comm->size, p->comm->first, round, &m);
    return m;
}

static size_t count_of(const pieces *p, unsigned part)
{
    return (size_t)coll_pieces((double)coll_part(p->n, p->comm->size, part));
}

/* Where a piece of a part begins, and how many numbers it has. */
static size_t piece_of(const pieces *p, unsigned part, size_t piece, size_t *length)
{
    const size_t whole = coll_part(p->n, p->comm->size, part), first = piece * COLL_PIECE;
    *length = whole - first < COLL_PIECE ? whole - first : COLL_PIECE;
    return tithe_part_begin(p->n, p->comm->size, part) + first;
}

/* What is to be added waits in the scratch, in one of a few places that take turns. */
static float *place_of(const pieces *p, bool add, size_t number, float *at)
{
    return add ? p->scratch + number % AHEAD * COLL_PIECE : at;
}

static tithe_status ask_next(pieces *p, tithe_error *error)
{
    if (p->asked_round == p->rounds) return TITHE_OK;
    const tithe_move m = move_of(p, p->asked_round);
    size_t length;
    float *at = p->out + piece_of(p, m.receive, p->asked_piece, &length);
    const tithe_status status = ti_comm_expect(p->comm, p->comm->first, (unsigned)m.from,
                                               place_of(p, m.add, p->asked, at), length * sizeof *at, error);
    p->asked++;
    if (++p->asked_piece == count_of(p, m.receive)) {
        p->asked_piece = 0;
        p->asked_round++;
    }
    return status;
}

static void add(float *out, const float *mine, const float *theirs, size_t n)
{
    if (out == mine)
        ti_kernels()->add_scaled(out, theirs, 1, n);
    else
        for (size_t i = 0; i < n; i++) out[i] = mine[i] + theirs[i];
}

/* A piece comes, is added or kept, and goes on. */
static tithe_status take_piece(pieces *p, unsigned round, size_t piece, size_t number, tithe_error *error)
{
    const tithe_move m = move_of(p, round);
    const bool finished = round + 2 == p->comm->size, last = round + 1 == p->rounds;
    size_t length;
    const size_t at = piece_of(p, m.receive, piece, &length);
    float *out = p->out + at;
    const size_t bytes = length * sizeof *out;
    const void *theirs;
    tithe_status status = ti_comm_take(p->comm, p->comm->first, (unsigned)m.from,
                                       place_of(p, m.add, number, out), bytes, &theirs, error);
    if (status) return status;
    if (m.add)
        add(out, p->vector + at, theirs, length);
    else if (theirs != out)
        memcpy(out, theirs, bytes);
    if (finished && p->weight != 1) ti_coll_weigh(out, out, p->weight, length); /* all others get it so */
    status = ask_next(p, error);
    return status || last ? status
                          : ti_comm_send_piece(p->comm, p->comm->first, (unsigned)m.to, out, bytes, error);
}

tithe_status ti_ring_reduce(tithe_comm *comm, const float *vector, size_t n, double weight, float *scratch,
                            float *out, tithe_error *error)
{
    pieces p = {comm, vector, out, scratch, n, weight, ti_coll_ring.reduce_steps(comm->size), 0, 0, 0};
    tithe_status status = TITHE_OK;
    for (unsigned i = 0; i < AHEAD && !status; i++) status = ask_next(&p, error);
    const tithe_move first = move_of(&p, 0);
    for (size_t i = 0; i < count_of(&p, first.send) && !status; i++) {
        size_t length;
        const float *at = vector + piece_of(&p, first.send, i, &length);
        status = ti_comm_send_piece(comm, comm->first, (unsigned)first.to, at, length * sizeof *at, error);
    }
    size_t number = 0;
    for (unsigned round = 0; round < p.rounds && !status; round++) {
        const tithe_move m = move_of(&p, round);
        const double start = clock_now();
        for (size_t i = 0; i < count_of(&p, m.receive) && !status; i++)
            status = take_piece(&p, round, i, number++, error);
        if (!status && (comm->seen.together || round + 1 >= comm->size))
            ti_link_round(comm, coll_part(n, comm->size, 0) * sizeof *vector,
                          coll_part(n, comm->size, m.receive) * sizeof *vector, start);
    }
    comm->seen.together = true; /* everybody has heard of everybody */
    return status ? status : ti_comm_flush(comm, error);
}
