/* coll.c - the table of collectives, and the executor that runs their schedules. */
#include "coll/coll.h"

#include <string.h>

#include "base/clock.h"
#include "base/family.h"
#include "comm/comm.h"
#include "comm/link_estimate.h"
#include "kernels/kernels.h"

static const tithe_collective *const collectives[] = {&ti_coll_ring,   &ti_coll_tree,   &ti_coll_star,
                                                      &ti_coll_direct, &ti_coll_native, NULL};

const tithe_collective *const *tithe_collectives(void)
{
    return collectives;
}

static family_row row(size_t i)
{
    return collectives[i] ? (family_row){collectives[i]->name, collectives[i]->params} : (family_row){0};
}

tithe_status tithe_collective_find(const char *spec, const tithe_collective **collective, double *params,
                                   tithe_error *error)
{
    static const family all = {.what = "collective", .row = row};
    size_t place;
    const tithe_status status = ti_family_find(&all, spec, &place, params, error);
    if (!status) *collective = collectives[place];
    return status;
}

static tithe_move idle(void)
{
    return (tithe_move){.to = TITHE_NOBODY, .from = TITHE_NOBODY};
}

/* ---- all-reduce --------------------------------------------------------------------------------------- */

typedef struct reduction {
    tithe_comm *comm;
    const tithe_collective *how;
    float *const *vectors;
    size_t n;
    unsigned parts;
    float *scratch;
    bool pieces; /* parts travel as the collective's way for long vectors has it */
} reduction;

static size_t begin(const reduction *r, unsigned part)
{
    return tithe_part_begin(r->n, r->parts, part);
}

static void take(float *mine, const float *theirs, size_t from, size_t to, bool add)
{
    if (add)
        ti_kernels()->add_scaled(mine + from, theirs, 1, to - from);
    else
        memcpy(mine + from, theirs, (to - from) * sizeof *mine);
}

static bool goes_in_pieces(const tithe_comm *comm, const tithe_collective *how, size_t n)
{
    return how->is_long && how->is_long(comm->size, n);
}

static size_t next_piece(const reduction *r, size_t left)
{
    return r->pieces && left > COLL_PIECE ? COLL_PIECE : left;
}

static tithe_status send_part(const reduction *r, unsigned rank, unsigned to, const float *part, size_t n,
                              tithe_error *error)
{
    if (!r->pieces) return ti_comm_send(r->comm, rank, to, part, n * sizeof *part, error);
    tithe_status status = TITHE_OK;
    for (size_t done = 0, piece; done < n && !status; done += piece) {
        piece = next_piece(r, n - done);
        status = ti_comm_send_piece(r->comm, rank, to, part + done, piece * sizeof *part, error);
    }
    return status;
}

static tithe_status receive_part(const reduction *r, unsigned rank, unsigned from, float *room, size_t n,
                                 tithe_error *error)
{
    if (!r->pieces) return ti_comm_receive(r->comm, rank, from, room, n * sizeof *room, error);
    tithe_status status = TITHE_OK;
    for (size_t done = 0, piece; done < n && !status; done += piece) {
        const void *at;
        piece = next_piece(r, n - done);
        const size_t bytes = piece * sizeof *room;
        status = ti_comm_expect(r->comm, rank, from, room + done, bytes, error);
        if (!status) status = ti_comm_take(r->comm, rank, from, room + done, bytes, &at, error);
        if (!status && at != room + done) memcpy(room + done, at, bytes);
    }
    return status;
}

/* Sends to ranks elsewhere leave first; nobody changes a part that it sends in the same round. */
static tithe_status send_round(const reduction *r, unsigned round, tithe_error *error)
{
    tithe_comm *comm = r->comm;
    for (unsigned i = 0; i < comm->local; i++) {
        tithe_move m = idle();
        r->how->reduce(comm->size, comm->first + i, round, &m);
        if (m.to == TITHE_NOBODY) continue;
        const size_t from = begin(r, m.send), to = begin(r, m.send_end);
        if (comm_is_local(comm, (unsigned)m.to)) { /* as many messages as if it had to travel */
            ti_comm_count(comm, r->pieces ? (uint64_t)coll_pieces((double)(to - from)) : 1,
                          (to - from) * sizeof(float));
            continue;
        }
        const tithe_status status =
            send_part(r, comm->first + i, (unsigned)m.to, r->vectors[i] + from, to - from, error);
        if (status) return status;
    }
    return TITHE_OK;
}

static tithe_status receive_round(const reduction *r, unsigned round, double start, tithe_error *error)
{
    tithe_comm *comm = r->comm;
    const bool timed = r->how->together && (comm->seen.together || round + 1 >= comm->size);
    for (unsigned i = 0; i < comm->local; i++) {
        tithe_move m = idle();
        r->how->reduce(comm->size, comm->first + i, round, &m);
        if (m.from == TITHE_NOBODY) continue;
        const size_t from = begin(r, m.receive), to = begin(r, m.receive_end);
        const float *theirs = r->scratch;
        if (comm_is_local(comm, (unsigned)m.from)) {
            theirs = r->vectors[(unsigned)m.from - comm->first] + from;
        } else {
            const tithe_status status =
                receive_part(r, comm->first + i, (unsigned)m.from, r->scratch, to - from, error);
            if (status) return status;
        }
        if (timed)
            ti_link_round(comm, coll_part(r->n, r->parts, 0) * sizeof(float), (to - from) * sizeof(float),
                          start);
        take(r->vectors[i], theirs, from, to, m.add);
    }
    return ti_comm_flush(comm, error);
}

void ti_coll_weigh(float *y, const float *x, double weight, size_t n)
{
    for (size_t i = 0; i < n; i++) y[i] = (float)(weight * (double)x[i]);
}

tithe_status tithe_all_reduce(tithe_comm *comm, const tithe_collective *how, float *const *vectors, size_t n,
                              float *scratch, tithe_error *error)
{
    if (comm->size == 1) return TITHE_OK;
    if (comm->local < comm->size && !scratch)
        return ti_fail(error, TITHE_E_ARGUMENT, 0, "A scratch vector is needed when ranks live elsewhere.");
    const bool pieces = goes_in_pieces(comm, how, n);
    if (pieces && comm->local == 1)
        return how->reduce_long(comm, vectors[0], n, 1, scratch, vectors[0], NULL, error);
    if (how->reduce_all) return how->reduce_all(comm, vectors, n, scratch, error);
    const reduction r = {comm, how, vectors, n, how->parts(comm->size), scratch, pieces};
    tithe_status status = TITHE_OK;
    for (unsigned round = 0; round < how->reduce_steps(comm->size) && !status; round++) {
        const double start = clock_now();
        status = send_round(&r, round, error);
        if (!status) status = receive_round(&r, round, start, error);
    }
    comm->seen.together = how->together;
    return status;
}

bool ti_coll_spares(const tithe_comm *comm, const tithe_collective *how, size_t n)
{
    return comm->local == 1 && goes_in_pieces(comm, how, n);
}

bool ti_coll_is_marked(const tithe_comm *comm, const tithe_collective *how, const float *out, size_t n)
{
    if (!n) return false;
    if (!goes_in_pieces(comm, how, n)) return isnan(out[0]);
    bool marked = false;
    for (unsigned part = 0; part < comm->size; part++) {
        const size_t begin = tithe_part_begin(n, comm->size, part), length = coll_part(n, comm->size, part);
        for (size_t first = 0; first < length; first += COLL_PIECE)
            marked = marked || isnan(out[begin + first]);
    }
    return marked;
}

tithe_status ti_coll_reduce_weighed(tithe_comm *comm, const tithe_collective *how, float *const *vectors,
                                    size_t n, double weight, float *scratch, float *out, size_t *bad,
                                    tithe_error *error)
{
    *bad = n;
    if (ti_coll_spares(comm, how, n))
        return how->reduce_long(comm, vectors[0], n, weight, scratch, out, bad, error);
    const tithe_status status = tithe_all_reduce(comm, how, vectors, n, scratch, error);
    if (!status) ti_coll_weigh(out, vectors[0], weight, n);
    return status;
}

/* ---- all-gather --------------------------------------------------------------------------------------- */

/* One message for each block: they lie in different places, and a receiver knows all lengths. */
static tithe_status gather_round(tithe_comm *comm, const tithe_collective *how, unsigned round,
                                 uint8_t *const *blocks, const size_t *lengths, bool sending,
                                 tithe_error *error)
{
    tithe_status status = TITHE_OK;
    for (unsigned i = 0; i < comm->local; i++) {
        tithe_move m = idle();
        const unsigned rank = comm->first + i;
        how->gather(comm->size, rank, round, &m);
        const int other = sending ? m.to : m.from;
        const unsigned part = sending ? m.send : m.receive, end = sending ? m.send_end : m.receive_end;
        if (other == TITHE_NOBODY) continue;
        for (unsigned p = part; p < end && !status; p++) {
            if (comm_is_local(comm, (unsigned)other)) {
                if (sending) ti_comm_count(comm, 1, lengths[p]);
            } else if (sending) {
                status = ti_comm_send(comm, rank, (unsigned)other, blocks[p], lengths[p], error);
            } else {
                status = ti_comm_receive(comm, rank, (unsigned)other, blocks[p], lengths[p], error);
            }
        }
    }
    return status;
}

void ti_coll_count(tithe_comm *comm, const tithe_rounds *rounds)
{
    ti_comm_count(comm, (uint64_t)tithe_rounds_messages(rounds), (uint64_t)tithe_rounds_sent(rounds));
}

/* With all ranks here every block is already where it should be, and only the count is left. */
static bool gather_needs_nothing(tithe_comm *comm, const tithe_collective *how, const size_t *lengths)
{
    if (comm->local < comm->size) return false;
    tithe_rounds rounds;
    tithe_rounds_start(&rounds);
    how->gather_rounds(&(tithe_blocks){.count = comm->size, .lengths = lengths}, &rounds);
    ti_coll_count(comm, &rounds);
    return true;
}

static uint64_t longest_of(const tithe_comm *comm, const size_t *lengths)
{
    uint64_t longest = 0;
    for (unsigned r = 0; r < comm->size; r++)
        if (lengths[r] > longest) longest = lengths[r];
    return longest;
}

/* The blocks that the first rank of this process gets in a round. */
static tithe_move received_in(const tithe_comm *comm, const tithe_collective *how, unsigned round)
{
    tithe_move m = idle();
    how->gather(comm->size, comm->first, round, &m);
    if (m.from == TITHE_NOBODY) m.receive_end = m.receive;
    return m;
}

static tithe_status refuse_gather(const tithe_collective *how, tithe_error *error)
{
    char list[80] = "";
    for (const tithe_collective *const *c = collectives; *c; c++)
        if ((*c)->gather) ti_list_add(list, sizeof list, "|", (*c)->name);
    return ti_fail(error, TITHE_E_SPEC, 0, "The collective '%s' has no all-gather: take %s.", how->name,
                   list);
}

static tithe_status hand_over(coll_taker *taker, void *context, unsigned from, unsigned to,
                              tithe_error *error)
{
    tithe_status status = TITHE_OK;
    for (unsigned b = from; taker && b < to && !status; b++) status = taker(context, b, error);
    return status;
}

/* What was received in the last round is handed over when it has been sent on, while the next one comes. */
tithe_status ti_coll_gather_each(tithe_comm *comm, const tithe_collective *how, uint8_t *const *blocks,
                                 const size_t *lengths, coll_taker *taker, void *context, tithe_error *error)
{
    if (!how->gather) return refuse_gather(how, error);
    if (comm->size == 1 || gather_needs_nothing(comm, how, lengths))
        return hand_over(taker, context, 0, comm->size, error);
    unsigned here = comm->first, end = comm->first + comm->local;
    tithe_status status = TITHE_OK;
    for (unsigned round = 0; round < how->gather_steps(comm->size) && !status; round++) {
        const double start = clock_now(), waited = comm->waited;
        status = gather_round(comm, how, round, blocks, lengths, true, error);
        if (!status) status = hand_over(taker, context, here, end, error);
        const double busy = clock_now() - start;
        if (!status) status = gather_round(comm, how, round, blocks, lengths, false, error);
        const tithe_move m = received_in(comm, how, round);
        here = m.receive;
        end = m.receive_end;
        /* the link was at work until the end, unless we were */
        if (!status && how->together && comm->seen.together && (!taker || comm->waited - waited > busy))
            ti_link_round(comm, longest_of(comm, lengths), lengths[m.receive], start);
        if (!status) status = ti_comm_flush(comm, error);
    }
    comm->seen.together = how->together;
    return status ? status : hand_over(taker, context, here, end, error);
}

tithe_status tithe_all_gather(tithe_comm *comm, const tithe_collective *how, uint8_t *const *blocks,
                              const size_t *lengths, tithe_error *error)
{
    return ti_coll_gather_each(comm, how, blocks, lengths, NULL, NULL, error);
}
