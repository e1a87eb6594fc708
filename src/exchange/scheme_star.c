/* scheme_star.c - frames go to a server, rank 0, which adds them up in rank order and sends one frame back to all.
 *
 * The compressor of the way back, C_M, acts on the sum; the division by the number of ranks comes after (horvath2019,
 * bidirectional compression). The server can keep what it did not send, as a worker does. */
#include <string.h>

#include "base/clock.h"
#include "codec/codec.h"
#include "exchange/exchange.h"

static const char *refuse(const tithe_exchange_config *config)
{
    if (config->feedback && config->feedback->aggregates && config->downlink)
        return "Under ef21 a compressed way back would let the server's estimate drift away: take --feedback ec.";
    if (config->comm->local < config->comm->size)
        return "The scheme 'star' is for ranks of one process so far.";
    return NULL;
}

/* Does the server keep what it did not send? Then in units of the update, so that a step size that changes does no
 * harm. */
static bool server_keeps(const tithe_exchange *ex)
{
    return ex->config.downlink_feedback && ex->config.downlink_feedback->keeps;
}

/* The server tunes its own message as a worker does. */
static tithe_status choose_level(const tithe_exchange *ex, const float *x, float gamma, tithe_call *call,
                                 tithe_error *error)
{
    const tithe_tuner_call c = {.codec = ex->config.downlink,
                                .cost = ti_exchange_cost(ex, 0),
                                .count_paper = ex->config.count_paper,
                                .form = TITHE_EXCHANGE,
                                .x = x,
                                .n = ex->n,
                                .gamma = gamma,
                                .scratch = ex->down_tuner_scratch,
                                .scratch_size = ex->down_tuner_scratch_size};
    tithe_choice choice;
    const tithe_status status = ex->config.downlink_tuner->choose(&c, &choice, error);
    if (!status) call->level = choice.level;
    return status;
}

static tithe_status encode_sum(tithe_exchange *ex, const tithe_codec *codec, tithe_call *call,
                               tithe_frame_info *info, tithe_error *error)
{
    const double start = clock_now();
    const tithe_feedback_call c = {.codec = codec, .call = call, .kept = ex->server_kept, .g = ex->sum,
                                   .gamma = ti_exchange_scaled(ex) ? 1 : (float)ex->gamma, .n = ex->n,
                                   .frame = ex->down_frame, .capacity = ex->down_capacity};
    tithe_status status = TITHE_OK;
    const bool keeps = server_keeps(ex), tuned = ex->config.downlink_tuner && ex->config.downlink;
    if (tuned) {
        const float *x = keeps ? ex->config.downlink_feedback->form(&c) : ex->sum;
        status = choose_level(ex, x, keeps ? c.gamma : 1, call, error);
    }
    if (!status)
        status = keeps ? ex->config.downlink_feedback->encode(&c, tuned, info, error)
                       : tithe_encode(codec, call, ex->sum, ex->n, ex->down_frame, ex->down_capacity, info, error);
    ex->totals.encode += clock_now() - start;
    return status;
}

static tithe_status run(tithe_exchange *ex, float *update, tithe_error *error)
{
    tithe_comm *comm = ex->config.comm;
    const tithe_codec *codec = ex->config.downlink ? ex->config.downlink : ex->raw;
    for (unsigned i = 1; i < comm->local; i++)
        if (ex->workers[i].state == WORKER_PUT) ti_comm_count(comm, 1, ex->workers[i].info.bytes);

    memset(ex->sum, 0, ex->n * sizeof *ex->sum);
    tithe_status status = ti_exchange_decode_all(ex, 1, ex->sum, error);
    if (status) return status;
    /* The server draws its own randomness, as the rank behind the last. */
    tithe_call call = ti_exchange_call(ex, comm->size, ex->down_scratch, ex->down_scratch_size);
    /* A threshold is stated in units of the gradient, but the sum may be in those of the update. */
    if (codec->selector->absolute && ex->config.feedback->scaled) call.level = ex->gamma * codec->selector_params[0];
    tithe_frame_info info;
    status = encode_sum(ex, codec, &call, &info, error);
    if (status) return status;
    ti_comm_count(comm, comm->size - 1, (comm->size - 1) * (uint64_t)info.bytes);

    const double start = clock_now();
    memset(update, 0, ex->n * sizeof *update);
    const double weight = ti_exchange_weight(ex, ti_exchange_scaled(ex) || server_keeps(ex));
    status = tithe_decode_add(codec, &call, ex->down_frame, info.bytes, (float)weight, update, ex->n, error);
    ex->totals.decode += clock_now() - start;
    if (!status) ti_exchange_count(ex, (double)info.bytes, tithe_codec_paper_bits(codec, ex->n, info.entries));
    return status;
}

const tithe_scheme ti_scheme_star = {
    .name = "star",
    .summary = "frames to a server, which sends one frame back to all",
    .paper = "horvath2019",
    .collectives = "star",
    .refuse = refuse,
    .run = run,
};
