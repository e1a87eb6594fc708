/* scheme_gather.c - every rank gets the frames of all ranks, and adds them up in rank order.
 *
 * Sizes go first, since frames differ in length. When it takes more bytes to gather the frames than to sum the decoded
 * messages by a dense all-reduce, the latter is what is counted. */
#include "exchange/exchange.h"

enum { LENGTH_BYTES = 4 };

static const char *refuse(const tithe_exchange_config *config)
{
    if (config->downlink)
        return "The scheme 'gather' has no way back that could be compressed: take --scheme star for --downlink.";
    if (config->comm->local < config->comm->size)
        return "The scheme 'gather' is for ranks of one process so far.";
    return NULL;
}

/* With all ranks in this process every frame is already where it should be: what is left is to count. A frame
 * visits each of the other ranks once; a dense all-reduce sends 2 (N-1) vectors in all. */
static void count_messages(tithe_exchange *ex)
{
    tithe_comm *comm = ex->config.comm;
    uint64_t frames = 0;
    for (unsigned i = 0; i < comm->local; i++)
        if (ex->workers[i].state == WORKER_PUT) frames += ex->workers[i].info.bytes;
    const uint64_t others = comm->size - 1, dense = sizeof(float) * (uint64_t)ex->n;
    ti_comm_count(comm, comm->size * others, LENGTH_BYTES * comm->size * others);
    if (frames <= 2 * dense)
        ti_comm_count(comm, comm->size * others, others * frames);
    else
        ti_comm_count(comm, 2 * comm->size * others, 2 * others * dense);
}

static tithe_status run(tithe_exchange *ex, float *update, tithe_error *error)
{
    count_messages(ex);
    for (size_t i = 0; i < ex->n; i++) update[i] = 0;
    const tithe_status status = ti_exchange_decode_all(ex, ti_exchange_weight(ex, ti_exchange_scaled(ex)), update, error);
    if (!status) ti_exchange_count(ex, (double)ex->raw_bytes, tithe_codec_paper_bits(ex->raw, ex->n, ex->n));
    return status;
}

const tithe_scheme ti_scheme_gather = {
    .name = "gather",
    .summary = "the frames of all ranks to all ranks",
    .paper = "tyagi2023",
    .collectives = "allgather",
    .refuse = refuse,
    .run = run,
};
