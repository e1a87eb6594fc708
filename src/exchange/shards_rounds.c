/* shards_rounds.c - what a step takes in which ranks own parts: as it was, and from its shape (shards.h). */
#include "coll/coll.h"
#include "exchange/shards.h"

/* ---- a step that was ---------------------------------------------------------------------------------------- */

/* Of a local rank's frame to the owner of a part; 0: it stays here, or there is none. */
static double share_bytes(const tithe_exchange *ex, unsigned local, unsigned part)
{
    const shards *s = ex->own;
    const bool goes =
        ex->workers[local].state == WORKER_PUT && s->owner[part] != ex->config.comm->first + local;
    return goes ? (double)s->up.info[local * s->count + part].bytes : 0;
}

/* The longest frame of each turn, one after the other. All at once wait for each other in the same order, which takes no longer. */
static double longest_turns(const tithe_exchange *ex)
{
    const shards *s = ex->own;
    const tithe_comm *comm = ex->config.comm;
    const bool by_rank = comm->local < s->count; /* of ranks here and of parts, go through the fewer */
    double sum = 0;
    for (unsigned turn = 1; turn < comm->size; turn++) {
        double longest = 0;
        for (unsigned i = 0; i < (by_rank ? comm->local : s->count); i++) {
            const unsigned from = by_rank ? comm->first + i : (s->owner[i] + comm->size - turn) % comm->size;
            const unsigned p = by_rank ? s->part[(from + turn) % comm->size] : i;
            if (p < s->count && comm_is_local(comm, from))
                longest = fmax(longest, share_bytes(ex, from - comm->first, p));
        }
        sum += longest;
    }
    return sum;
}

void ti_shards_describe(tithe_exchange *ex)
{
    const shards *s = ex->own;
    const tithe_comm *comm = ex->config.comm;
    tithe_step_shape *shape = &ex->shape;
    shape->shares = shape->share_frames = 0;
    for (unsigned i = 0; i < comm->local; i++)
        for (unsigned p = 0; p < s->count; p++) {
            const double bytes = share_bytes(ex, i, p);
            shape->shares += bytes;
            shape->share_frames += bytes > 0;
        }
    shape->share = comm->size > 1 ? longest_turns(ex) / (comm->size - 1.0) : 0;
    shape->owners = s->count;
    shape->heads = s->heads;
    shape->back_heads = !s->back.fixed;
    shape->parts.lengths = ex->lengths;
}

/* ---- from its shape ----------------------------------------------------------------------------------------- */

/* To the owners: in turns, ahead of all but the first a byte where parts are long; or in one round. */
static void scatter_rounds(const tithe_step_shape *shape, bool turns, tithe_rounds *list)
{
    const double others = shape->ranks - 1.0, offered = others * shape->owners;
    const double head = shape->heads ? TITHE_LENGTH_BYTES : 0;
    const double sent = shape->shares + head * offered;
    const double messages = shape->share_frames + (shape->heads ? offered : 0);
    if (turns) {
        tithe_rounds_add(list, (tithe_round){others, shape->share + head, sent, messages, TITHE_ALL_SEND});
        if (!ti_direct_in_turns(shape->ranks, (size_t)shape->n)) return;
        const double told = others - 1;
        tithe_rounds_add(list,
                         (tithe_round){told, 1, told * shape->owners, told * shape->owners, TITHE_ALL_SEND});
        return;
    }
    tithe_rounds_add(list, (tithe_round){1, others * (shape->share + head), sent, messages, TITHE_ALL_SEND});
}

static void back_rounds(const tithe_step_shape *shape, bool turns, tithe_rounds *list)
{
    const double others = shape->ranks - 1.0, head = shape->back_heads ? TITHE_LENGTH_BYTES : 0;
    if (turns) {
        const tithe_blocks lengths = {.count = shape->ranks, .length = TITHE_LENGTH_BYTES};
        if (shape->back_heads) shape->collective->gather_rounds(&lengths, list);
        shape->collective->gather_rounds(&shape->parts, list);
        return;
    }
    const double all = tithe_blocks_sum(&shape->parts, 0, shape->ranks) + head * shape->owners;
    const double busiest = others * (tithe_blocks_max(&shape->parts) + head);
    tithe_rounds_add(list,
                     (tithe_round){1, busiest, others * all,
                                   others * shape->owners * (shape->back_heads ? 2 : 1), TITHE_ALL_SEND});
}

void ti_shards_rounds(const tithe_step_shape *shape, tithe_rounds *list)
{
    const bool turns = shape->collective->gather != NULL;
    if (shape->ranks > 1) {
        scatter_rounds(shape, turns, list);
        back_rounds(shape, turns, list);
    }
    list->encoded += 1 + 1.0 / shape->ranks; /* all parts, and the sum of its own */
    list->decoded += 2;                      /* its part of all ranks, and all parts of the update */
}
