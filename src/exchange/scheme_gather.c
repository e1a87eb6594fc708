/* scheme_gather.c - every rank gets the frames of all ranks, and adds them up in rank order.
 *
 * Sizes go first, since frames differ in length. When the frames together are longer than the dense vector, the decoded
 * messages are summed instead: each rank owns a part of the vector, gets the others' part of their messages, adds them in
 * rank order, and hands its part to all. The result is the same to the bit, and what is held besides is one vector. */
#include <math.h>
#include <string.h>

#include "base/bytes.h"
#include "coll/coll.h"
#include "exchange/exchange.h"

enum { LENGTH_BYTES = 4 };

static const char *refuse(const tithe_exchange_config *config)
{
    if (config->downlink)
        return "The scheme 'gather' has no way back that could be compressed: take --scheme star for "
               "--downlink.";
    return NULL;
}

static size_t length_of(const exchange_worker *w)
{
    return w->state == WORKER_PUT ? w->info.bytes : 0;
}

/* ---- ranks of one process: every frame is where it should be, and what is left is to count --------------- */

/* A frame visits each of the other ranks once; summing by parts sends 2 (N-1) vectors in all. */
static void count_messages(tithe_exchange *ex)
{
    tithe_comm *comm = ex->config.comm;
    uint64_t frames = 0;
    for (unsigned i = 0; i < comm->local; i++) frames += length_of(&ex->workers[i]);
    const uint64_t others = comm->size - 1, dense = sizeof(float) * (uint64_t)ex->n;
    ti_comm_count(comm, comm->size * others, LENGTH_BYTES * comm->size * others);
    if (frames <= dense)
        ti_comm_count(comm, comm->size * others, others * frames);
    else
        ti_comm_count(comm, 2 * comm->size * others, 2 * others * dense);
}

/* ---- ranks elsewhere -------------------------------------------------------------------------------------- */

static tithe_status gather_lengths(tithe_exchange *ex, uint64_t *total, tithe_error *error)
{
    tithe_comm *comm = ex->config.comm;
    for (unsigned r = 0; r < comm->size; r++) {
        ex->blocks[r] = ex->length_bytes + (size_t)r * LENGTH_BYTES;
        ex->lengths[r] = LENGTH_BYTES;
    }
    for (unsigned i = 0; i < comm->local; i++)
        put_u32(ex->blocks[comm->first + i], (uint32_t)length_of(&ex->workers[i]));
    const tithe_status status =
        tithe_all_gather(comm, tithe_collective_find("ring"), ex->blocks, ex->lengths, error);
    *total = 0;
    for (unsigned r = 0; r < comm->size; r++) {
        ex->lengths[r] = get_u32(ex->length_bytes + (size_t)r * LENGTH_BYTES);
        *total += ex->lengths[r];
    }
    return status;
}

static tithe_status gather_frames(tithe_exchange *ex, float *update, tithe_error *error)
{
    tithe_comm *comm = ex->config.comm;
    uint8_t *at = ex->inbox;
    for (unsigned r = 0; r < comm->size; r++) {
        const bool here = comm_is_local(comm, r);
        ex->blocks[r] = here ? ex->workers[r - comm->first].frame : at;
        if (!here) at += ex->lengths[r];
    }
    tithe_status status =
        tithe_all_gather(comm, tithe_collective_find("ring"), ex->blocks, ex->lengths, error);
    const double weight = ti_exchange_weight(ex, ti_exchange_scaled(ex));
    for (unsigned r = 0; r < comm->size && !status; r++)
        if (ex->lengths[r])
            status = ti_exchange_decode(ex, r, ex->blocks[r], ex->lengths[r], weight, update, error);
    return status;
}

static tithe_status send_part(tithe_exchange *ex, unsigned to, unsigned part, const float *from,
                              tithe_error *error)
{
    const tithe_comm *comm = ex->config.comm;
    const size_t begin = tithe_part_begin(ex->n, comm->size, part),
                 end = tithe_part_begin(ex->n, comm->size, part + 1);
    return ti_comm_send(ex->config.comm, comm->first, to, from + begin, (end - begin) * sizeof *from, error);
}

static tithe_status receive_part(tithe_exchange *ex, unsigned from, unsigned part, float *to,
                                 tithe_error *error)
{
    const tithe_comm *comm = ex->config.comm;
    const size_t begin = tithe_part_begin(ex->n, comm->size, part),
                 end = tithe_part_begin(ex->n, comm->size, part + 1);
    return ti_comm_receive(ex->config.comm, comm->first, from, to + begin, (end - begin) * sizeof *to, error);
}

/* The message of this process's one rank, decoded, is in ex->sum; the inbox takes one part at a time. */
static tithe_status sum_by_parts(tithe_exchange *ex, float *update, tithe_error *error)
{
    tithe_comm *comm = ex->config.comm;
    const unsigned me = comm->first;
    float *theirs = (float *)(void *)ex->inbox;
    memset(ex->sum, 0, ex->n * sizeof *ex->sum);
    const double weight = ti_exchange_weight(ex, ti_exchange_scaled(ex));
    tithe_status status = ti_exchange_decode_all(ex, weight, ex->sum, error);
    for (unsigned r = 0; r < comm->size && !status; r++)
        if (r != me) status = send_part(ex, r, r, ex->sum, error);
    const size_t begin = tithe_part_begin(ex->n, comm->size, me),
                 end = tithe_part_begin(ex->n, comm->size, me + 1);
    for (unsigned r = 0; r < comm->size && !status; r++) { /* in rank order, as if all frames were here */
        if (r != me) status = receive_part(ex, r, me, theirs, error);
        const float *from = r == me ? ex->sum : theirs;
        for (size_t i = begin; i < end && !status; i++) update[i] += from[i];
    }
    if (!status) status = ti_comm_flush(comm, error);
    for (unsigned r = 0; r < comm->size && !status; r++)
        if (r != me) status = send_part(ex, r, me, update, error);
    for (unsigned r = 0; r < comm->size && !status; r++)
        if (r != me) status = receive_part(ex, r, r, update, error);
    return status ? status : ti_comm_flush(comm, error);
}

static tithe_status run(tithe_exchange *ex, float *update, tithe_error *error)
{
    memset(update, 0, ex->n * sizeof *update);
    tithe_status status;
    if (!exchange_is_remote(ex)) {
        count_messages(ex);
        status = ti_exchange_decode_all(ex, ti_exchange_weight(ex, ti_exchange_scaled(ex)), update, error);
    } else {
        uint64_t total;
        status = gather_lengths(ex, &total, error);
        if (!status)
            status = total <= sizeof(float) * (uint64_t)ex->n ? gather_frames(ex, update, error)
                                                              : sum_by_parts(ex, update, error);
    }
    if (!status) ti_exchange_count(ex, (double)ex->raw_bytes, tithe_codec_paper_bits(ex->raw, ex->n, ex->n));
    return status;
}

/* tyagi2023artopk: a log N + (N-1) frame b, and where the vectors are summed by parts, a ring's rounds and bytes. */
static double seconds(const tithe_exchange *ex, double latency, double bandwidth)
{
    const double size = ex->config.comm->size, dense = sizeof(float) * (double)ex->n;
    double frames = 0;
    for (unsigned i = 0; i < ex->config.comm->local; i++) frames += (double)ex->workers[i].info.bytes;
    if (frames > dense) return ti_coll_ring.reduce_seconds(ex->config.comm->size, dense, latency, bandwidth);
    return latency * log2(size) + (size - 1) * frames / size / bandwidth;
}

const tithe_scheme ti_scheme_gather = {
    .name = "gather",
    .summary = "the frames of all ranks to all ranks",
    .paper = "tyagi2023artopk",
    .collectives = "allgather",
    .refuse = refuse,
    .run = run,
    .seconds = seconds,
};
