/* broadcast.c - one rank's block to all, along a binomial tree that hangs on that rank: log2 N rounds.
 *
 * Ranks are counted from the root: v = rank - root (mod N). In round r those with v a multiple of 2^(b-r), where
 * 2^b >= N, send to v + 2^(b-r-1). The length goes ahead of the block, so that nobody has to know it. */
#include <string.h>

#include "coll/coll.h"

/* `left`: how many rounds will follow. */
static void schedule(unsigned size, unsigned root, unsigned rank, unsigned left, tithe_move *move)
{
    const unsigned bit = 1u << left, v = (rank + size - root) % size;
    *move = (tithe_move){.to = TITHE_NOBODY, .from = TITHE_NOBODY, .send_end = 1, .receive_end = 1};
    if (v % (2 * bit) == bit)
        move->from = (int)((v - bit + root) % size);
    else if (v % (2 * bit) == 0 && v + bit < size)
        move->to = (int)((v + bit + root) % size);
}

static tithe_status send(tithe_comm *comm, unsigned from, unsigned to, const uint8_t *head,
                         const uint8_t *block, size_t length, tithe_error *error)
{
    if (comm_is_local(comm, to)) {
        ti_comm_count(comm, 2, TITHE_LENGTH_BYTES + length);
        return TITHE_OK;
    }
    const tithe_status status = ti_comm_send(comm, from, to, head, TITHE_LENGTH_BYTES, error);
    return status ? status : ti_comm_send(comm, from, to, block, length, error);
}

static tithe_status receive(tithe_comm *comm, unsigned at, unsigned from, uint8_t *block, size_t capacity,
                            size_t *length, tithe_error *error)
{
    uint8_t head[TITHE_LENGTH_BYTES];
    const tithe_status status = ti_comm_receive(comm, at, from, head, sizeof head, error);
    if (status) return status;
    *length = coll_get_length(head);
    if (*length > capacity)
        return ti_fail(error, TITHE_E_CORRUPT, from,
                       "Rank %u announces a block of %zu bytes; the longest has %zu.", from, *length,
                       capacity);
    return ti_comm_receive(comm, at, from, block, *length, error);
}

tithe_status tithe_broadcast(tithe_comm *comm, unsigned root, uint8_t *const *blocks, size_t capacity,
                             size_t *length, tithe_error *error)
{
    if (root >= comm->size || (comm_is_local(comm, root) && *length > capacity))
        return ti_fail(error, TITHE_E_ARGUMENT, root,
                       "Rank %u of %u cannot send %zu bytes where %zu are allowed.", root, comm->size,
                       *length, capacity);
    tithe_status status = TITHE_OK;
    for (unsigned left = coll_log2(comm->size); left-- > 0 && !status;) {
        uint8_t head[TITHE_LENGTH_BYTES]; /* unchanged until the flush: only those who have the length send */
        tithe_move m;
        coll_put_length(head, *length);
        for (unsigned i = 0; i < comm->local && !status; i++) {
            schedule(comm->size, root, comm->first + i, left, &m);
            if (m.to != TITHE_NOBODY)
                status = send(comm, comm->first + i, (unsigned)m.to, head, blocks[i], *length, error);
        }
        for (unsigned i = 0; i < comm->local && !status; i++) {
            schedule(comm->size, root, comm->first + i, left, &m);
            if (m.from == TITHE_NOBODY) continue;
            if (!comm_is_local(comm, (unsigned)m.from))
                status = receive(comm, comm->first + i, (unsigned)m.from, blocks[i], capacity, length, error);
            else if (blocks[i] != blocks[(unsigned)m.from - comm->first])
                memcpy(blocks[i], blocks[(unsigned)m.from - comm->first], *length);
        }
        if (!status) status = ti_comm_flush(comm, error);
    }
    comm->seen.together = false; /* all have heard of the root only */
    return status;
}

/* Everybody but the root gets the length and the block, once. */
void tithe_broadcast_rounds(unsigned size, double bytes, tithe_rounds *rounds)
{
    const double message = TITHE_LENGTH_BYTES + bytes, others = size - 1.0;
    tithe_rounds_add(rounds,
                     (tithe_round){coll_log2(size), message, others * message, 2 * others, TITHE_SOME_SEND});
}
