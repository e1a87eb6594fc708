/* scheme_gather.c - every rank gets the frames of all ranks, and adds them up in rank order.
 *
 * Sizes go first, since frames differ in length. Lengths and frames travel along a ring, or a tree: bytes and rounds
 * differ, and nothing else. Every rank gets N-1 frames, so dense ones are better off under `shards`. */
#include <string.h>

#include "codec/codec.h"
#include "coll/coll.h"
#include "exchange/exchange.h"

static const char *refuse(const tithe_exchange_config *config)
{
    if (config->downlink)
        return "The scheme 'gather' has no way back that could be compressed: take `scheme=star` for "
               "`downlink`.";
    return NULL;
}

static tithe_status gather_frames(tithe_exchange *ex, float *update, tithe_error *error)
{
    tithe_comm *comm = ex->config.comm;
    uint8_t *at = ex->inbox;
    tithe_status status = TITHE_OK;
    for (unsigned r = 0; r < comm->size; r++) {
        status = ti_exchange_expect_length(r, ex->lengths[r], ex->up.capacity, error);
        if (status) break;
        const bool here = comm_is_local(comm, r);
        ex->blocks[r] = here ? ex->workers[r - comm->first].frame : at;
        if (!here) at += ex->lengths[r];
    }
    if (!status) status = tithe_all_gather(comm, ex->collective, ex->blocks, ex->lengths, error);
    const double weight = ti_exchange_weight(ex, ti_exchange_scaled(ex));
    for (unsigned r = 0; r < comm->size && !status; r++)
        if (ex->lengths[r])
            status = ti_exchange_decode(ex, r, ex->blocks[r], ex->lengths[r], weight, update, error);
    return status;
}

/* What a rank's frame costs another one. It was checked before; here only the papers' bits are asked for. */
static double charged(const tithe_exchange *ex, const exchange_worker *w, unsigned rank)
{
    tithe_frame_info info = {.bytes = ex->lengths[rank]};
    if (info.bytes == 0) return 0;
    if (ex->config.count_paper) {
        const tithe_call call = ti_exchange_call(ex, rank, ex->lanes[0].scratch, ex->up.scratch_size);
        tithe_frame_check(ex->up.codec, &call, ex->blocks[rank], ex->lengths[rank], ex->n, &info, NULL);
    }
    return ti_exchange_charged(ex, w, &info);
}

/* Each rank's frame came to all others. */
static void count(tithe_exchange *ex)
{
    const tithe_comm *comm = ex->config.comm;
    const tithe_cost *known = NULL; /* whose costs of all frames were added up last */
    double bytes = 0, cost = 0;
    ti_exchange_count_own(ex);
    for (unsigned r = 0; r < comm->size; r++) bytes += (double)ex->lengths[r];
    for (unsigned i = 0; i < comm->local; i++) {
        const unsigned me = comm->first + i;
        const tithe_cost *own = ex->workers[i].cost;
        if (known != own) {
            cost = 0;
            for (unsigned r = 0; r < comm->size; r++) cost += charged(ex, &ex->workers[i], r);
            known = own;
        }
        ex->totals.downlink_bytes += bytes - (double)ex->lengths[me];
        ex->totals.downlink_cost += cost - charged(ex, &ex->workers[i], me);
    }
}

static tithe_status run(tithe_exchange *ex, float *update, tithe_error *error)
{
    const tithe_comm *comm = ex->config.comm;
    memset(update, 0, ex->n * sizeof *update);
    for (unsigned i = 0; i < comm->local; i++) {
        const exchange_worker *w = &ex->workers[i];
        ex->lengths[comm->first + i] = w->state == WORKER_PUT ? w->info.bytes : 0;
    }
    tithe_status status = ti_exchange_gather_lengths(ex, error);
    ex->shape.frames.lengths = ex->lengths;
    if (!status) status = gather_frames(ex, update, error);
    if (!status && !ex->refusal.code) count(ex);
    return status;
}

static void rounds(const tithe_step_shape *shape, tithe_rounds *list)
{
    const tithe_blocks lengths = {.count = shape->ranks, .length = TITHE_LENGTH_BYTES};
    shape->collective->gather_rounds(&lengths, list);
    shape->collective->gather_rounds(&shape->frames, list);
    list->encoded += 1;
    list->decoded += shape->ranks;
}

/* For everything that no other one is made for. */
static bool suits(const tithe_exchange_config *config, size_t n)
{
    (void)n;
    return !config->downlink;
}

static const char *const collectives[] = {"allgather", "ring", "tree", NULL};

const tithe_scheme ti_scheme_gather = {
    .name = "gather",
    .summary = "the frames of all ranks to all ranks",
    .paper = "tyagi2023artopk",
    .gathers = true,
    .collectives = collectives,
    .suits = suits,
    .refuse = refuse,
    .run = run,
    .rounds = rounds,
};
