/* scheme_star.c - frames go to a server, which adds them up in rank order and sends one frame back to all.
 *
 * The compressor of the way back, C_M, acts on the sum; the division by the number of ranks comes after (horvath2022natural,
 * bidirectional compression). The server can keep what it did not send, as a worker does. */
#include <string.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "codec/codec.h"
#include "coll/coll.h"
#include "exchange/exchange.h"

static const char *refuse(const tithe_exchange_config *config)
{
    if (config->feedback && config->feedback->aggregates && config->downlink)
        return "Under ef21 a compressed way back would let the server's estimate drift away: take "
               "`feedback=ec`.";
    return NULL;
}

/* ---- to the server ----------------------------------------------------------------------------------------- */

/* Before a frame: its length, and the step size, which a server without ranks would not know. */
enum { UP_BYTES = TITHE_LENGTH_BYTES + 8, DOWN_BYTES = TITHE_LENGTH_BYTES };

static bool is_server(const tithe_exchange *ex)
{
    const tithe_comm *comm = ex->config.comm;
    return comm->server == comm->size ? comm->local == 0 : comm_is_local(comm, comm->server);
}

static tithe_status send_frame(tithe_exchange *ex, const exchange_worker *w, unsigned rank,
                               tithe_error *error)
{
    tithe_comm *comm = ex->config.comm;
    uint8_t head[UP_BYTES];
    const size_t length = w->state == WORKER_PUT ? w->info.bytes : 0;
    coll_put_length(head, length);
    put_f64(head + TITHE_LENGTH_BYTES, ex->gamma);
    tithe_status status = ti_comm_send(comm, rank, comm->server, head, UP_BYTES, error);
    if (!status && length) status = ti_comm_send(comm, rank, comm->server, w->frame, length, error);
    return status ? status : ti_comm_flush(comm, error);
}

static tithe_status receive_frame(tithe_exchange *ex, unsigned rank, tithe_error *error)
{
    tithe_comm *comm = ex->config.comm;
    uint8_t head[UP_BYTES];
    tithe_status status = ti_comm_receive(comm, comm->server, rank, head, UP_BYTES, error);
    if (status) return status;
    const size_t length = ex->lengths[rank] = coll_get_length(head);
    if (length == 0) return TITHE_OK; /* it does not take part */
    status = ti_exchange_expect_length(rank, length, ex->inbox_size, error);
    if (status) return status;
    if (comm->local == 0) ex->gamma = get_f64(head + TITHE_LENGTH_BYTES);
    status = ti_comm_receive(comm, comm->server, rank, ex->inbox, length, error);
    return status ? status : ti_exchange_decode(ex, rank, ex->inbox, length, 1, ex->sum, error);
}

/* All messages into ex->sum, in rank order. */
static tithe_status collect(tithe_exchange *ex, tithe_error *error)
{
    tithe_comm *comm = ex->config.comm;
    memset(ex->sum, 0, ex->n * sizeof *ex->sum);
    tithe_status status = TITHE_OK;
    for (unsigned r = 0; r < comm->size && !status; r++) {
        if (!comm_is_local(comm, r)) {
            status = receive_frame(ex, r, error);
            continue;
        }
        const exchange_worker *w = &ex->workers[r - comm->first];
        ex->lengths[r] = w->state == WORKER_PUT ? w->info.bytes : 0;
        if (r != comm->server) ti_comm_count(comm, ex->lengths[r] ? 2 : 1, UP_BYTES + ex->lengths[r]);
        if (w->state != WORKER_PUT) continue;
        status = ti_exchange_decode(ex, r, w->frame, w->info.bytes, 1, ex->sum, error);
    }
    return status;
}

/* ---- and back ----------------------------------------------------------------------------------------------- */

static tithe_status hand_out(tithe_exchange *ex, size_t length, tithe_error *error)
{
    tithe_comm *comm = ex->config.comm;
    uint8_t head[DOWN_BYTES];
    coll_put_length(head, length);
    tithe_status status = TITHE_OK;
    for (unsigned r = 0; r < comm->size && !status; r++) {
        if (r == comm->server) continue;
        if (comm_is_local(comm, r)) {
            ti_comm_count(comm, 2, DOWN_BYTES + length);
            continue;
        }
        status = ti_comm_send(comm, comm->server, r, head, DOWN_BYTES, error);
        if (!status) status = ti_comm_send(comm, comm->server, r, ex->server.frame, length, error);
    }
    return status ? status : ti_comm_flush(comm, error);
}

static tithe_status take_back(tithe_exchange *ex, size_t *length, tithe_error *error)
{
    tithe_comm *comm = ex->config.comm;
    uint8_t head[DOWN_BYTES];
    tithe_status status = ti_comm_receive(comm, comm->first, comm->server, head, DOWN_BYTES, error);
    if (status) return status;
    *length = coll_get_length(head);
    if (*length > ex->down.capacity)
        return ti_fail(error, TITHE_E_CORRUPT, 0,
                       "The server announces a frame of %zu bytes; the longest has %zu.", *length,
                       ex->down.capacity);
    return ti_comm_receive(comm, comm->first, comm->server, ex->server.frame, *length, error);
}

/* ---- all of it ---------------------------------------------------------------------------------------------- */

/* The server draws its own randomness, as the rank behind the last. */
static tithe_call server_call(const tithe_exchange *ex)
{
    return ti_exchange_call(ex, ex->config.comm->size, ex->server_lane.scratch, ex->down.scratch_size);
}

static void compress_sum(tithe_exchange *ex)
{
    tithe_error why = {0};
    tithe_call call = server_call(ex);
    const double start = clock_now();
    ti_refusal_keep(&ex->server.before, ex->server.residual, 0, ex->n, ex->step);
    const tithe_status status = ti_exchange_compress_back(ex, &ex->down, &ex->server, &call, ex->sum, &why);
    ex->totals.encode += clock_now() - start;
    const unsigned rank = ex->config.comm->local ? ex->config.comm->server : REFUSAL_NOBODY;
    if (status) ex->refusal = ti_refusal_of(rank, true, status, &why);
}

/* Its frame, or that of a refusal, its own too. */
static tithe_status serve(tithe_exchange *ex, size_t *length, tithe_error *error)
{
    tithe_status status = collect(ex, error);
    if (status) return status;
    if (!ex->refusal.code) compress_sum(ex);
    *length = ex->refusal.code ? ti_refusal_write(&ex->refusal, ex->server.frame, REFUSAL_BYTES)
                               : ex->server.info.bytes;
    return hand_out(ex, *length, error);
}

static tithe_status run(tithe_exchange *ex, float *update, tithe_error *error)
{
    tithe_comm *comm = ex->config.comm;
    const tithe_codec *codec = ex->down.codec;
    size_t length = 0;
    tithe_status status = ti_comm_call_server(comm, ex->number, error);
    if (!status && !is_server(ex)) {
        for (unsigned i = 0; i < comm->local && !status; i++)
            status = send_frame(ex, &ex->workers[i], comm->first + i, error);
        if (!status) status = take_back(ex, &length, error);
    } else if (!status) {
        status = serve(ex, &length, error);
    }
    ex->shape.frames.lengths = ex->lengths;
    ex->shape.back = (double)length;
    if (status || ti_refusal_read(ex->server.frame, length, &ex->refusal) || !update) return status;

    const double start = clock_now();
    const tithe_call call = server_call(ex);
    memset(update, 0, ex->n * sizeof *update);
    const double weight = ti_exchange_weight_back(ex);
    tithe_frame_info info;
    status = tithe_frame_check(codec, &call, ex->server.frame, length, ex->n, &info, error);
    if (!status)
        status =
            tithe_decode_add(codec, &call, ex->server.frame, length, (float)weight, update, ex->n, error);
    ex->totals.decode += clock_now() - start;
    if (status) return status;
    ti_exchange_count_own(ex);
    for (unsigned i = 0; i < comm->local; i++) ti_exchange_count_down(ex, &ex->workers[i], &info);
    return TITHE_OK;
}

/* Up and down one after the other, through the server's link. Where it has no rank, the first worker also calls it. */
static void rounds(const tithe_step_shape *shape, tithe_rounds *list)
{
    const unsigned first = shape->server_apart ? 0 : 1;
    const double others = shape->ranks - (double)first, call = shape->server_apart ? COMM_CALL_BYTES : 0;
    const double up = tithe_blocks_sum(&shape->frames, first, shape->ranks) + others * UP_BYTES + call;
    double frames = others; /* who skips sends a head alone */
    for (unsigned r = first; shape->frames.lengths && r < shape->ranks; r++)
        frames -= shape->frames.lengths[r] == 0;
    const double down = others * (shape->back + DOWN_BYTES);
    if (others > 0) {
        tithe_rounds_add(list, (tithe_round){1, up, up, others + frames + (call > 0), TITHE_TO_ONE});
        tithe_rounds_add(list, (tithe_round){1, down, down, 2 * others, TITHE_FROM_ONE});
    }
    list->encoded += 2; /* the server makes a frame of the sum, and everybody takes that up */
    list->decoded += shape->ranks + 1.0;
}

static bool suits(const tithe_exchange_config *config, size_t n)
{
    (void)n;
    return config->downlink != NULL;
}

static const char *const collectives[] = {"star", NULL};

const tithe_scheme ti_scheme_star = {
    .name = "star",
    .summary = "frames to a server, which sends one frame back to all",
    .paper = "horvath2022natural",
    .back = true,
    .served = true,
    .collectives = collectives,
    .suits = suits,
    .refuse = refuse,
    .run = run,
    .rounds = rounds,
};
