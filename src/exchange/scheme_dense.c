/* scheme_dense.c - the gradients themselves, summed by an all-reduce: what compression has to beat. */
#include "coll/coll.h"
#include "exchange/exchange.h"

static const char *refuse(const tithe_exchange_config *config)
{
    if (!ti_exchange_sums_whole(config->codec))
        return "The scheme 'dense' sends whole gradients: take `codec=all|raw`, or the scheme gather or "
               "star.";
    if (config->feedback && config->feedback->keeps)
        return "The scheme 'dense' leaves nothing unsent: take `feedback=none`.";
    if (config->downlink)
        return "The scheme 'dense' has no way back of its own: take `scheme=star` for `downlink`.";
    return NULL;
}

/* A number that is not finite may be found only now. */
static tithe_status run(tithe_exchange *ex, float *update, tithe_error *error)
{
    tithe_comm *comm = ex->config.comm;
    float *own = comm->local == 1 ? (float *)ex->workers->g : NULL; /* read only, unless it is the update */
    float *const *vectors = own ? &own : ex->vectors;
    size_t bad;
    const tithe_status status = ti_coll_reduce_weighed(
        comm, ex->collective, vectors, ex->n, ti_exchange_weight(ex, false), ex->sum, update, &bad, error);
    if (status) return status;
    if (bad < ex->n && !ex->workers->refusal.code)
        ex->workers->refusal =
            ti_refusal_of(comm->first, false, TITHE_E_NONFINITE, &(tithe_error){.position = bad});
    if (ti_coll_is_marked(comm, ex->collective, update, ex->n))
        return ti_refusal_ask(ex, true, error); /* who refuses sends nothing else */
    ti_exchange_count_reduced(ex);
    return TITHE_OK;
}

static void rounds(const tithe_step_shape *shape, tithe_rounds *list)
{
    shape->collective->reduce_rounds(shape->ranks, shape->n, list);
}

/* Where nothing is compressed and nothing kept. */
static bool suits(const tithe_exchange_config *config, size_t n)
{
    (void)n;
    return !config->downlink && !config->feedback->keeps && ti_exchange_sums_whole(config->codec);
}

static const char *const collectives[] = {"ring", "tree", "star", "direct", "native", NULL};

const tithe_scheme ti_scheme_dense = {
    .name = "dense",
    .summary = "whole gradients, summed by an all-reduce",
    .paper = "tyagi2023artopk",
    .whole = true,
    .collectives = collectives,
    .suits = suits,
    .refuse = refuse,
    .run = run,
    .rounds = rounds,
};
