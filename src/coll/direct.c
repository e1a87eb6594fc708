/* direct.c - every rank owns a part: all send it their numbers, it adds them in rank order and hands the sum to all.
 *
 * Everybody talks to everybody, twice, and each link carries 2(N-1)/N of the vector, as in a ring. Every part is summed in
 * the order 0, 1, ..., N-1, as the star and the gathering of frames do.
 *
 * Short parts go to all at once: the latency counts twice. Long ones would share every link with N-2 others, some of
 * which come off badly and finish late, when the links of those that did well are idle: with four hosts that took up to
 * twice as long as the bytes do. So they go in turns: in turn t to the t-th neighbour, while the t-th on the other side
 * sends to us. A byte says "go" when the receiver has nothing else coming in; without it those who are early disturb those
 * who are late, and make them later still. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "coll/coll.h"
#include "comm/link_estimate.h"
#include "kernels/kernels.h"

typedef struct direct {
    tithe_comm *comm;
    float *const *vectors;
    size_t n;
    float *scratch;
} direct;

static size_t begin(const direct *d, unsigned part)
{
    return tithe_part_begin(d->n, d->comm->size, part);
}

static size_t length(const direct *d, unsigned part)
{
    return coll_part(d->n, d->comm->size, part);
}

static float *local_part(const direct *d, unsigned rank, unsigned part)
{
    return d->vectors[rank - d->comm->first] + begin(d, part);
}

/* A local rank's copy of a part to another rank. */
static tithe_status send_part(const direct *d, unsigned from, unsigned to, unsigned part, tithe_error *error)
{
    const size_t bytes = length(d, part) * sizeof(float);
    if (!comm_is_local(d->comm, to))
        return ti_comm_send(d->comm, from, to, local_part(d, from, part), bytes, error);
    ti_comm_count(d->comm, 1, bytes);
    return TITHE_OK;
}

/* Everybody begins with its neighbour: if all began with rank 0, its link would be full while the others' are idle. */
static unsigned after(const direct *d, unsigned rank, unsigned turn)
{
    return (rank + turn) % d->comm->size;
}

/* Rank r's numbers of a part: where they are, or in `room`. */
static tithe_status find_part(const direct *d, unsigned r, unsigned part, float *room, const float **found,
                              tithe_error *error)
{
    *found = room;
    if (!comm_is_local(d->comm, r))
        return ti_comm_receive(d->comm, part, r, room, length(d, part) * sizeof(float), error);
    *found = local_part(d, r, part);
    return TITHE_OK;
}

/* The owner's own numbers come in the middle, so the sum stands elsewhere until it is done: where rank 0 is here, in its
 * copy, which it sends to nobody else; otherwise at the beginning of the scratch, and what comes in behind it. That is
 * room enough, since the parts before this one are no shorter. */
static tithe_status sum_part(const direct *d, unsigned part, tithe_error *error)
{
    const size_t many = length(d, part);
    float *mine = local_part(d, part, part);
    const bool with_first = comm_is_local(d->comm, 0);
    float *sum = with_first ? local_part(d, 0, part) : d->scratch;
    float *room = with_first ? d->scratch : d->scratch + many;
    tithe_status status = TITHE_OK;
    for (unsigned r = 0; r < d->comm->size && !status; r++) {
        const float *theirs;
        status = find_part(d, r, part, r == 0 ? sum : room, &theirs, error);
        if (!status && r > 0) ti_kernels()->add_scaled(sum, theirs, 1, many);
    }
    if (sum != mine && many) memcpy(mine, sum, many * sizeof *mine);
    return status;
}

/* Are parts so long that turns are worth their latency? There is but one neighbour in a pair. */
bool ti_direct_in_turns(unsigned size, size_t n)
{
    if (size <= 2) return false;
    const size_t part = n / size;
    return part * sizeof(float) > TITHE_DIRECT_AT_ONCE && part >= size;
}

/* Where all ranks are here there is nobody to wait for, but they count as if there were. */
static bool takes_turns(const direct *d)
{
    return d->comm->local < d->comm->size && ti_direct_in_turns(d->comm->size, d->n);
}

static void count_turns(const direct *d, unsigned turns)
{
    if (ti_direct_in_turns(d->comm->size, d->n))
        ti_comm_count(d->comm, (uint64_t)turns * d->comm->local, (uint64_t)turns * d->comm->local);
}

static tithe_status scatter_at_once(const direct *d, tithe_error *error)
{
    tithe_comm *comm = d->comm;
    tithe_status status = TITHE_OK;
    for (unsigned i = 0; i < comm->local; i++)
        for (unsigned turn = 1; turn < comm->size && !status; turn++) {
            const unsigned me = comm->first + i, owner = after(d, me, turn);
            status = send_part(d, me, owner, owner, error);
        }
    for (unsigned i = 0; i < comm->local && !status; i++) status = sum_part(d, comm->first + i, error);
    count_turns(d, comm->size - 2);
    return status ? status : ti_comm_flush(comm, error);
}

tithe_status ti_direct_wait_for_turn(tithe_comm *comm, int to, int from, tithe_error *error)
{
    static const uint8_t go = 1;
    uint8_t heard;
    tithe_status status = TITHE_OK;
    if (from != TITHE_NOBODY) status = ti_comm_send(comm, comm->first, (unsigned)from, &go, sizeof go, error);
    if (!status && to != TITHE_NOBODY)
        status = ti_comm_receive(comm, comm->first, (unsigned)to, &heard, sizeof heard, error);
    return status;
}

/* Tell those who send to our ranks in this turn, and hear from those to whom they send; nobody does so inside a process. */
static tithe_status line_up(const direct *d, unsigned turn, tithe_error *error)
{
    static const uint8_t go = 1;
    tithe_comm *comm = d->comm;
    tithe_status status = TITHE_OK;
    for (unsigned i = 0; i < comm->local && !status; i++) {
        const unsigned me = comm->first + i, from = after(d, me, comm->size - turn);
        if (comm_is_local(comm, from))
            ti_comm_count(comm, 1, sizeof go);
        else
            status = ti_comm_send(comm, me, from, &go, sizeof go, error);
    }
    for (unsigned i = 0; i < comm->local && !status; i++) {
        uint8_t heard;
        const unsigned me = comm->first + i, to = after(d, me, turn);
        if (!comm_is_local(comm, to)) status = ti_comm_receive(comm, me, to, &heard, sizeof heard, error);
    }
    return status;
}

/* Where rank r's numbers of a local rank's part wait: in memory for N-1 of them, or where they are. */
static float *waiting(const direct *d, float *room, unsigned me, unsigned r)
{
    if (comm_is_local(d->comm, r)) return local_part(d, r, me);
    const size_t turn = (me + d->comm->size - r) % d->comm->size; /* in which they came */
    return room + (turn - 1) * length(d, me);
}

static tithe_status scatter_turn(const direct *d, unsigned turn, float *const *rooms, tithe_error *error)
{
    tithe_comm *comm = d->comm;
    tithe_status status = turn > 1 ? line_up(d, turn, error) : TITHE_OK;
    for (unsigned i = 0; i < comm->local && !status; i++) {
        const unsigned owner = after(d, comm->first + i, turn);
        status = send_part(d, comm->first + i, owner, owner, error);
    }
    for (unsigned i = 0; i < comm->local && !status; i++) {
        const unsigned me = comm->first + i, from = after(d, me, comm->size - turn);
        if (!comm_is_local(comm, from))
            status = ti_comm_receive(comm, me, from, waiting(d, rooms[i], me, from),
                                     length(d, me) * sizeof(float), error);
    }
    return status ? status : ti_comm_flush(comm, error);
}

/* The sum begins with rank 0's, so it stands where that waits. */
static void sum_waiting(const direct *d, unsigned me, float *room)
{
    const size_t many = length(d, me);
    float *mine = local_part(d, me, me), *sum = waiting(d, room, me, 0);
    for (unsigned r = 1; r < d->comm->size; r++)
        ti_kernels()->add_scaled(sum, waiting(d, room, me, r), 1, many);
    if (sum != mine) memcpy(mine, sum, many * sizeof *mine);
}

/* What comes in waits until it can be added in rank order: in the scratch, which is long enough for one rank and parts of
 * at least N numbers. */
static tithe_status scatter_in_turns(const direct *d, tithe_error *error)
{
    tithe_comm *comm = d->comm;
    float **rooms = calloc(comm->local, sizeof *rooms);
    bool enough = rooms != NULL;
    for (unsigned i = 0; enough && i < comm->local; i++) {
        rooms[i] = i ? malloc(d->n * sizeof **rooms) : d->scratch;
        enough = rooms[i] != NULL;
    }
    tithe_status status = enough ? TITHE_OK
                                 : ti_fail(error, TITHE_E_MEMORY, 0,
                                           "There is not enough memory for the parts of other ranks.");
    for (unsigned turn = 1; turn < comm->size && !status; turn++)
        status = scatter_turn(d, turn, rooms, error);
    for (unsigned i = 0; i < comm->local && !status; i++) sum_waiting(d, comm->first + i, rooms[i]);
    for (unsigned i = 1; rooms && i < comm->local; i++) free(rooms[i]);
    free(rooms);
    return status;
}

tithe_status ti_direct_scatter(tithe_comm *comm, float *const *vectors, size_t n, float *scratch,
                               tithe_error *error)
{
    const direct d = {comm, vectors, n, scratch};
    const tithe_status status = takes_turns(&d) ? scatter_in_turns(&d, error) : scatter_at_once(&d, error);
    comm->seen.together = true; /* everybody has heard of everybody */
    return status;
}

/* The sum of a part comes from its owner. */
static tithe_status take_part(const direct *d, unsigned me, unsigned part, tithe_error *error)
{
    const size_t bytes = length(d, part) * sizeof(float);
    if (!comm_is_local(d->comm, part))
        return ti_comm_receive(d->comm, me, part, local_part(d, me, part), bytes, error);
    if (bytes) memcpy(local_part(d, me, part), local_part(d, part, part), bytes);
    return TITHE_OK;
}

static tithe_status hand_out_at_once(const direct *d, tithe_error *error)
{
    tithe_comm *comm = d->comm;
    tithe_status status = TITHE_OK;
    const double start = clock_now();
    for (unsigned i = 0; i < comm->local; i++)
        for (unsigned turn = 1; turn < comm->size && !status; turn++) {
            const unsigned me = comm->first + i;
            status = send_part(d, me, after(d, me, turn), me, error);
        }
    for (unsigned i = 0; i < comm->local; i++)
        for (unsigned part = 0; part < comm->size && !status; part++)
            if (part != comm->first + i) status = take_part(d, comm->first + i, part, error);
    count_turns(d, comm->size - 1);
    const size_t own = length(d, comm->first);
    if (!status)
        ti_link_round(comm, (comm->size - 1) * length(d, 0) * sizeof(float), (d->n - own) * sizeof(float),
                      start);
    return status ? status : ti_comm_flush(comm, error);
}

static tithe_status hand_out_in_turns(const direct *d, tithe_error *error)
{
    tithe_comm *comm = d->comm;
    tithe_status status = TITHE_OK;
    for (unsigned turn = 1; turn < comm->size && !status; turn++) {
        const unsigned from = after(d, comm->first, comm->size - turn);
        status = line_up(d, turn, error);
        const double start = clock_now();
        for (unsigned i = 0; i < comm->local && !status; i++)
            status = send_part(d, comm->first + i, after(d, comm->first + i, turn), comm->first + i, error);
        for (unsigned i = 0; i < comm->local && !status; i++)
            status = take_part(d, comm->first + i, after(d, comm->first + i, comm->size - turn), error);
        if (!status && comm->local == 1)
            ti_link_round(comm, length(d, 0) * sizeof(float), length(d, from) * sizeof(float), start);
        if (!status) status = ti_comm_flush(comm, error);
    }
    return status;
}

static tithe_status reduce_all(tithe_comm *comm, float *const *vectors, size_t n, float *scratch,
                               tithe_error *error)
{
    const direct d = {comm, vectors, n, scratch};
    const tithe_status status = ti_direct_scatter(comm, vectors, n, scratch, error);
    if (status) return status;
    return takes_turns(&d) ? hand_out_in_turns(&d, error) : hand_out_at_once(&d, error);
}

static unsigned one_for_each(unsigned size)
{
    return size;
}

/* One half: everybody sends a part to everybody else, or gets one. In turns, a byte goes ahead of all but the first. */
static void half_rounds(unsigned size, double n, double told, tithe_rounds *rounds)
{
    const double others = size - 1.0, part = coll_part_bytes(size, n), all = sizeof(float) * n;
    if (size == 1) return;
    if (!ti_direct_in_turns(size, (size_t)n)) {
        tithe_rounds_add(rounds,
                         (tithe_round){1, others * part, others * all, others * size, TITHE_ALL_SEND});
        return;
    }
    tithe_rounds_add(rounds, (tithe_round){others, part, others * all, others * size, TITHE_ALL_SEND});
    tithe_rounds_add(rounds, (tithe_round){told, 1, told * size, told * size, TITHE_ALL_SEND});
}

void ti_direct_scatter_rounds(unsigned size, double n, tithe_rounds *rounds)
{
    half_rounds(size, n, size - 2.0, rounds);
}

static void reduce_rounds(unsigned size, double n, tithe_rounds *rounds)
{
    ti_direct_scatter_rounds(size, n, rounds);
    half_rounds(size, n, size - 1.0, rounds);
}

const tithe_collective ti_coll_direct = {
    .name = "direct",
    .summary = "each rank owns a part, adds it in rank order and hands it out",
    .paper = "tyagi2023artopk",
    .ordered = true,
    .parts = one_for_each,
    .reduce_all = reduce_all,
    .reduce_rounds = reduce_rounds,
};
