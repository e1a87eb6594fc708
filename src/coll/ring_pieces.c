/* ring_pieces.c - the ring's all-reduce for long vectors: a part travels in pieces, and a piece is passed on as soon as it was
 * added, so that links never wait for the end of a round. The same sums in the same order, and the same bytes.
 *
 * Nobody sends more pieces ahead than it has asked for itself: ranks are equally far, so a piece finds its receiver
 * waiting, and what is on its way stays in the caches.
 *
 * What was sent is changed only when the finished sum of that piece comes back, which holds what was sent: so nobody
 * has to wait until a piece is out. Numbers are read from the vector and sums written to `out`, so that neither is copied;
 * a number is looked at just before it is used. */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "coll/coll.h"
#include "comm/link_estimate.h"
#include "kernels/kernels.h"

/* Pieces at most that are asked for, or sent, before one of them can be there. Who asks, as MPI does, has an answer to wait for
 * before most of a piece leaves; the others do well with what fits into a cache. */
enum { AHEAD = 8, AHEAD_ASKED = 16 };

/* A piece of those that come, or of those that go, round by round. */
typedef struct cursor {
    unsigned round;
    size_t piece, number; /* of the part; of all */
} cursor;

typedef struct pieces {
    tithe_comm *comm;
    const float *vector;
    float *out, *scratch;
    size_t n;
    double weight;
    unsigned rounds;
    size_t ahead, first; /* pieces; those that can go before anything has come */
    cursor asked, taken, sent;
    size_t *bad; /* coll.h */
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
static size_t place_of(const pieces *p, unsigned part, size_t piece, size_t *length)
{
    const size_t whole = coll_part(p->n, p->comm->size, part), first = piece * COLL_PIECE;
    *length = whole - first < COLL_PIECE ? whole - first : COLL_PIECE;
    return tithe_part_begin(p->n, p->comm->size, part) + first;
}

static void advance(const pieces *p, cursor *c, unsigned part)
{
    c->number++;
    if (++c->piece < count_of(p, part)) return;
    c->piece = 0;
    c->round++;
}

/* What is to be added waits in the scratch, in one of a few places that take turns. */
static float *room_for(const pieces *p, const tithe_move *m, const cursor *c, size_t *length)
{
    const size_t at = place_of(p, m->receive, c->piece, length);
    return m->add ? p->scratch + c->number % p->ahead * COLL_PIECE : p->out + at;
}

static tithe_status ask(pieces *p, tithe_error *error)
{
    tithe_status status = TITHE_OK;
    while (p->asked.round < p->rounds && p->asked.number < p->taken.number + p->ahead && !status) {
        const tithe_move m = move_of(p, p->asked.round);
        size_t length;
        float *room = room_for(p, &m, &p->asked, &length);
        status =
            ti_comm_expect(p->comm, p->comm->first, (unsigned)m.from, room, length * sizeof *room, error);
        advance(p, &p->asked, m.receive);
    }
    return status;
}

/* Are these numbers of ours all finite? What goes on in their place otherwise is NaN. */
static bool expect_finite(const pieces *p, size_t at, size_t length)
{
    if (!p->bad) return true;
    const size_t found = ti_kernels()->find_nonfinite(p->vector + at, length);
    if (found == length) return true;
    if (at + found < *p->bad) *p->bad = at + found;
    for (size_t i = at; i < at + length; i++) p->out[i] = NAN;
    return false;
}

/* What goes in a round is what came in the round before. */
static tithe_status send(pieces *p, tithe_error *error)
{
    tithe_status status = TITHE_OK;
    while (p->sent.round < p->rounds && p->sent.number < p->taken.number + p->ahead &&
           p->sent.number < p->taken.number + p->first && !status) {
        const tithe_move m = move_of(p, p->sent.round);
        size_t length;
        const size_t at = place_of(p, m.send, p->sent.piece, &length);
        const bool own = p->sent.round == 0 && expect_finite(p, at, length);
        const float *from = own ? p->vector : p->out;
        status = ti_comm_send_piece(p->comm, p->comm->first, (unsigned)m.to, from + at, length * sizeof *from,
                                    error);
        advance(p, &p->sent, m.send);
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

/* A piece comes, is added or kept, and can go on. */
static tithe_status take(pieces *p, tithe_error *error)
{
    const tithe_move m = move_of(p, p->taken.round);
    const bool finished = p->taken.round + 2 == p->comm->size;
    size_t length;
    float *room = room_for(p, &m, &p->taken, &length);
    const size_t at = place_of(p, m.receive, p->taken.piece, &length);
    float *out = p->out + at;
    const void *theirs;
    const tithe_status status =
        ti_comm_take(p->comm, p->comm->first, (unsigned)m.from, room, length * sizeof *room, &theirs, error);
    if (status) return status;
    if (m.add && expect_finite(p, at, length))
        add(out, p->vector + at, theirs, length);
    else if (!m.add && theirs != out)
        memcpy(out, theirs, length * sizeof *out);
    if (finished && p->weight != 1) ti_coll_weigh(out, out, p->weight, length); /* all others get it so */
    advance(p, &p->taken, m.receive);
    return TITHE_OK;
}

tithe_status ti_ring_reduce(tithe_comm *comm, const float *vector, size_t n, double weight, float *scratch,
                            float *out, size_t *bad, tithe_error *error)
{
    pieces p = {.comm = comm, .vector = vector, .out = out, .scratch = scratch, .n = n, .weight = weight};
    const size_t ahead = comm->transport->expect_piece ? AHEAD_ASKED : AHEAD;
    p.bad = bad;
    p.rounds = ti_coll_ring.reduce_steps(comm->size);
    p.ahead = n / COLL_PIECE < ahead ? n / COLL_PIECE : ahead; /* as the scratch has room for */
    p.first = count_of(&p, move_of(&p, 0).send);
    tithe_status status = ask(&p, error);
    if (!status) status = send(&p, error);
    double start = clock_now();
    while (p.taken.round < p.rounds && !status) {
        const unsigned round = p.taken.round;
        status = take(&p, error);
        if (!status) status = ask(&p, error);
        if (!status) status = send(&p, error);
        if (status || p.taken.round == round) continue;
        if (comm->seen.together || round + 1 >= comm->size)
            ti_link_round(comm, coll_part(n, comm->size, 0) * sizeof *vector,
                          coll_part(n, comm->size, move_of(&p, round).receive) * sizeof *vector, start);
        start = clock_now();
    }
    comm->seen.together = true; /* everybody has heard of everybody */
    return status ? status : ti_comm_flush(comm, error);
}
