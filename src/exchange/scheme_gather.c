/* scheme_gather.c - every rank gets the frames of all ranks, and adds them up in rank order.
 *
 * Sizes go first, since frames differ in length. When the frames together are longer than the dense vector, the decoded
 * messages are summed instead, by `direct`, which adds in rank order too. The result is the same to the bit, and what is
 * held besides is one vector. Lengths and frames travel along a ring, or a tree: bytes and rounds differ, and nothing
 * else. */
#include <string.h>

#include "base/bytes.h"
#include "coll/coll.h"
#include "exchange/exchange.h"

enum { LENGTH_BYTES = 4 };

static const char *refuse(const tithe_exchange_config *config)
{
    if (config->downlink)
        return "The scheme 'gather' has no way back that could be compressed: take `scheme=star` for "
               "`downlink`.";
    return NULL;
}

static size_t length_of(const exchange_worker *w)
{
    return w->state == WORKER_PUT ? w->info.bytes : 0;
}

static tithe_status gather_lengths(tithe_exchange *ex, tithe_error *error)
{
    tithe_comm *comm = ex->config.comm;
    for (unsigned r = 0; r < comm->size; r++) {
        ex->blocks[r] = ex->length_bytes + (size_t)r * LENGTH_BYTES;
        ex->lengths[r] = LENGTH_BYTES;
    }
    for (unsigned i = 0; i < comm->local; i++)
        put_u32(ex->blocks[comm->first + i], (uint32_t)length_of(&ex->workers[i]));
    const tithe_status status = tithe_all_gather(comm, ex->collective, ex->blocks, ex->lengths, error);
    for (unsigned r = 0; r < comm->size; r++)
        ex->lengths[r] = get_u32(ex->length_bytes + (size_t)r * LENGTH_BYTES);
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
    tithe_status status = tithe_all_gather(comm, ex->collective, ex->blocks, ex->lengths, error);
    const double weight = ti_exchange_weight(ex, ti_exchange_scaled(ex));
    for (unsigned r = 0; r < comm->size && !status; r++)
        if (ex->lengths[r])
            status = ti_exchange_decode(ex, r, ex->blocks[r], ex->lengths[r], weight, update, error);
    return status;
}

/* The message of this process's one rank, decoded, becomes the sum of all: owners of parts add in rank order, as if all
 * frames were here. Where they are, what is left is to count. */
static tithe_status sum_by_parts(tithe_exchange *ex, float *update, tithe_error *error)
{
    const double weight = ti_exchange_weight(ex, ti_exchange_scaled(ex));
    if (!exchange_is_remote(ex)) {
        tithe_rounds list;
        tithe_rounds_start(&list);
        ti_coll_direct.reduce_rounds(ex->config.comm->size, (double)ex->n, &list);
        ti_coll_count(ex->config.comm, &list);
        return ti_exchange_decode_all(ex, weight, update, error);
    }
    const tithe_status status = ti_exchange_decode_all(ex, weight, update, error);
    if (status) return status;
    return tithe_all_reduce(ex->config.comm, &ti_coll_direct, &update, ex->n, (float *)(void *)ex->inbox,
                            error);
}

/* Are all frames together longer than the vector? */
static bool is_long(const tithe_step_shape *shape)
{
    return tithe_blocks_sum(&shape->frames, 0, shape->ranks) > sizeof(float) * shape->n;
}

static tithe_status run(tithe_exchange *ex, float *update, tithe_error *error)
{
    memset(update, 0, ex->n * sizeof *update);
    tithe_status status = gather_lengths(ex, error);
    ex->shape.frames.lengths = ex->lengths;
    if (!status)
        status = is_long(&ex->shape) ? sum_by_parts(ex, update, error) : gather_frames(ex, update, error);
    if (!status) ti_exchange_count(ex, (double)ex->raw_bytes, tithe_codec_paper_bits(ex->raw, ex->n, ex->n));
    return status;
}

static void rounds(const tithe_step_shape *shape, tithe_rounds *list)
{
    const tithe_blocks lengths = {.count = shape->ranks, .length = LENGTH_BYTES};
    const bool by_parts = is_long(shape);
    shape->collective->gather_rounds(&lengths, list);
    if (by_parts)
        ti_coll_direct.reduce_rounds(shape->ranks, shape->n, list);
    else
        shape->collective->gather_rounds(&shape->frames, list);
    list->encoded += 1;
    list->decoded += by_parts ? 1 : shape->ranks;
}

/* For everything that no other one is made for. */
static bool suits(const tithe_exchange_config *config)
{
    return !config->downlink;
}

static const char *const collectives[] = {"allgather", "ring", "tree", NULL};

const tithe_scheme ti_scheme_gather = {
    .name = "gather",
    .summary = "the frames of all ranks to all ranks",
    .paper = "tyagi2023artopk",
    .collectives = collectives,
    .suits = suits,
    .refuse = refuse,
    .run = run,
    .rounds = rounds,
};
