/* direct.c - every rank owns a part: all send it their numbers, it adds them in rank order and hands the sum to all.
 *
 * Two rounds in which everybody talks to everybody, and each link carries 2(N-1)/N of the vector, as in a ring. Every
 * part is summed in the order 0, 1, ..., N-1, as the star and the gathering of frames do. */
#include <string.h>

#include "base/clock.h"
#include "coll/coll.h"
#include "comm/link.h"
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

tithe_status ti_direct_scatter(tithe_comm *comm, float *const *vectors, size_t n, float *scratch,
                               tithe_error *error)
{
    const direct d = {comm, vectors, n, scratch};
    tithe_status status = TITHE_OK;
    for (unsigned i = 0; i < comm->local; i++)
        for (unsigned part = 0; part < comm->size && !status; part++)
            if (part != comm->first + i) status = send_part(&d, comm->first + i, part, part, error);
    for (unsigned i = 0; i < comm->local && !status; i++) status = sum_part(&d, comm->first + i, error);
    comm->seen.together = true; /* everybody has heard of everybody */
    return status ? status : ti_comm_flush(comm, error);
}

static tithe_status hand_out(const direct *d, tithe_error *error)
{
    tithe_comm *comm = d->comm;
    tithe_status status = TITHE_OK;
    const double start = clock_now();
    for (unsigned i = 0; i < comm->local; i++)
        for (unsigned r = 0; r < comm->size && !status; r++)
            if (r != comm->first + i) status = send_part(d, comm->first + i, r, comm->first + i, error);
    for (unsigned i = 0; i < comm->local; i++)
        for (unsigned part = 0; part < comm->size && !status; part++) {
            const unsigned me = comm->first + i;
            const size_t bytes = length(d, part) * sizeof(float);
            if (part == me) continue;
            if (!comm_is_local(comm, part))
                status = ti_comm_receive(comm, me, part, local_part(d, me, part), bytes, error);
            else if (bytes)
                memcpy(local_part(d, me, part), local_part(d, part, part), bytes);
        }
    const size_t own = length(d, comm->first);
    if (!status)
        ti_link_round(comm, (comm->size - 1) * length(d, 0) * sizeof(float), (d->n - own) * sizeof(float),
                      start);
    return status ? status : ti_comm_flush(comm, error);
}

static tithe_status reduce_all(tithe_comm *comm, float *const *vectors, size_t n, float *scratch,
                               tithe_error *error)
{
    const direct d = {comm, vectors, n, scratch};
    const tithe_status status = ti_direct_scatter(comm, vectors, n, scratch, error);
    return status ? status : hand_out(&d, error);
}

static unsigned one_for_each(unsigned size)
{
    return size;
}

static double reduce_seconds(unsigned size, double bytes, double latency, double bandwidth)
{
    return 2 * latency + 2 * (size - 1.0) / size * bytes / bandwidth;
}

/* All parts but its own to their owners, and its own to all the others. */
static uint64_t reduce_bytes(unsigned size, unsigned rank, size_t n)
{
    const uint64_t own = coll_part(n, size, rank);
    return sizeof(float) * (n - own + (size - 1) * own);
}

const tithe_collective ti_coll_direct = {
    .name = "direct",
    .summary = "each rank owns a part, adds it in rank order and hands it out",
    .paper = "tyagi2023artopk",
    .ordered = true,
    .parts = one_for_each,
    .reduce_all = reduce_all,
    .reduce_seconds = reduce_seconds,
    .reduce_bytes = reduce_bytes,
};
