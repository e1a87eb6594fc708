/* scheme_shards.c - every rank owns a part: all send it their frames of that part, it adds them in rank order, compresses the sum
 * once, and sends that frame to all.
 *
 * Bidirectional compression without a server (horvath2022natural: C_W on the way to the owner, C_M on the way back): a
 * rank sends about 2(N-1)/N of one frame, whatever N is. Owners keep what they did not send, as a server does.
 *
 * Over a ring, frames go to the owners in turns, to the t-th neighbour in turn t, and the owners' frames are passed on
 * from neighbour to neighbour. Over `direct` everybody sends to everybody at once, twice. */
#include <string.h>

#include "base/bytes.h"
#include "base/spec.h"
#include "codec/codec.h"
#include "coll/coll.h"
#include "exchange/shards.h"

enum { HEAD_BYTES = TITHE_LENGTH_BYTES };

static const char *refuse(const tithe_exchange_config *config)
{
    const tithe_codec *codec = config->codec, *back = config->downlink;
    if (ti_codec_by_layer(codec) || (back && ti_codec_by_layer(back))) /* which parts cut through */
        return "The scheme 'shards' cuts through layers: leave per=layer out, or take `bucket=layer`.";
    if (config->shared_level)
        return "The scheme 'shards' has a level for each part: take `level=local`, or `scheme=gather`.";
    if (config->feedback && config->feedback->aggregates && back && !ti_exchange_sums_whole(back))
        return "Under ef21 a compressed way back would let the owners' estimates drift away: take "
               "`feedback=ec`, or `downlink=raw`.";
    return NULL;
}

/* Where the frames of all ranks together would be longer than what an all-reduce moves, two dense vectors. Frames of all
 * coordinates would, or nearly so, with three ranks and more. A level that is open may be any. */
static bool suits(const tithe_exchange_config *config, size_t n)
{
    const tithe_codec *codec = config->codec;
    const unsigned size = config->comm->size;
    if (config->downlink || config->tuner->open || ti_exchange_waits(config) || refuse(config))
        return false; /* a state is for one way only */
    if (codec->selector->source == TITHE_INDICES_ALL) return size >= 3;
    if (!codec->has_level) return false;
    const size_t entries = ti_codec_stated_count(codec, n);
    return entries && size * (double)tithe_codec_length(codec, n, entries, TITHE_EXCHANGE) >
                          2.0 * sizeof(float) * (double)n;
}

/* Short parts go at once, which takes the fewest rounds; long ones would share every link. */
static const char *default_collective(const tithe_exchange_config *config, size_t n)
{
    return ti_direct_in_turns(config->comm->size, n) ? "ring" : "direct";
}

/* ---- messages -------------------------------------------------------------------------------------------- */

/* A frame, and its length ahead of it where the other side cannot know that. */
static tithe_status send_frame(tithe_exchange *ex, unsigned to, const uint8_t *frame, size_t length,
                               bool head, tithe_error *error)
{
    tithe_comm *comm = ex->config.comm;
    uint8_t *bytes = ex->length_bytes + (size_t)to * HEAD_BYTES; /* which stay until the next flush */
    coll_put_length(bytes, length);
    tithe_status status = head ? ti_comm_send(comm, comm->first, to, bytes, HEAD_BYTES, error) : TITHE_OK;
    if (!status && length) status = ti_comm_send(comm, comm->first, to, frame, length, error);
    return status;
}

static tithe_status receive_frame(tithe_comm *comm, unsigned from, uint8_t *frame, size_t room, size_t fixed,
                                  size_t *length, tithe_error *error)
{
    uint8_t bytes[HEAD_BYTES];
    tithe_status status = TITHE_OK;
    if (!fixed) status = ti_comm_receive(comm, comm->first, from, bytes, HEAD_BYTES, error);
    if (status) return status;
    *length = fixed ? fixed : coll_get_length(bytes);
    status = ti_exchange_expect_length(from, *length, room, error);
    if (status || *length == 0) return status; /* nothing: it does not take part */
    return ti_comm_receive(comm, comm->first, from, frame, *length, error);
}

/* ---- to the owners --------------------------------------------------------------------------------------- */

static unsigned after(const tithe_comm *comm, unsigned turn)
{
    return (comm->first + turn) % comm->size;
}

/* Encode the part of a rank, unless that was done when the gradient was put. */
static tithe_status make_share(tithe_exchange *ex, unsigned owner, tithe_error *error)
{
    const shards *s = ex->own;
    if (!s->later || ex->workers->state != WORKER_PUT || s->part[owner] == s->count) return TITHE_OK;
    return ti_shards_make(ex, s->part[owner], error);
}

static tithe_status send_share(tithe_exchange *ex, unsigned to, tithe_error *error)
{
    const shards *s = ex->own;
    const unsigned part = s->part[to];
    const exchange_worker *w = ex->workers;
    if (part == s->count) return TITHE_OK;
    const size_t length = w->state == WORKER_PUT ? s->up.info[part].bytes : 0;
    return send_frame(ex, to, shard_frame(w, &s->up, part), length, s->heads, error);
}

static tithe_status receive_share(tithe_exchange *ex, unsigned from, tithe_error *error)
{
    shards *s = ex->own;
    if (s->mine == s->count) return TITHE_OK;
    return receive_frame(ex->config.comm, from, s->inbox + from * s->inbox_room, s->inbox_room,
                         s->heads ? 0 : s->up.fixed[s->mine], &s->came[from], error);
}

/* While a frame travels the next one is encoded, at last that of our own part. */
static tithe_status scatter_in_turns(tithe_exchange *ex, tithe_error *error)
{
    const shards *s = ex->own;
    tithe_comm *comm = ex->config.comm;
    const bool told = ti_direct_in_turns(comm->size, ex->n);
    tithe_status status = make_share(ex, after(comm, 1), error);
    for (unsigned turn = 1; turn < comm->size && !status; turn++) {
        const unsigned to = after(comm, turn), from = after(comm, comm->size - turn);
        if (told && turn > 1)
            status = ti_direct_wait_for_turn(comm, s->part[to] < s->count ? (int)to : TITHE_NOBODY,
                                             s->mine < s->count ? (int)from : TITHE_NOBODY, error);
        if (!status) status = send_share(ex, to, error);
        if (!status) status = make_share(ex, after(comm, turn + 1), error);
        if (!status) status = receive_share(ex, from, error);
        if (!status) status = ti_comm_flush(comm, error);
    }
    return status;
}

static tithe_status scatter_at_once(tithe_exchange *ex, tithe_error *error)
{
    tithe_comm *comm = ex->config.comm;
    tithe_status status = TITHE_OK;
    for (unsigned turn = 1; turn <= comm->size && !status; turn++) { /* our own at last */
        status = make_share(ex, after(comm, turn), error);
        if (!status && turn < comm->size) status = send_share(ex, after(comm, turn), error);
    }
    for (unsigned turn = 1; turn < comm->size && !status; turn++)
        status = receive_share(ex, after(comm, comm->size - turn), error);
    return status ? status : ti_comm_flush(comm, error);
}

/* A rank's frame of a part, wherever it is. NULL: it takes no part in this step. */
static const uint8_t *share_of(const tithe_exchange *ex, unsigned rank, unsigned part, size_t *length)
{
    const shards *s = ex->own;
    const tithe_comm *comm = ex->config.comm;
    if (!comm_is_local(comm, rank)) {
        *length = s->came[rank];
        return *length ? s->inbox + rank * s->inbox_room : NULL;
    }
    const exchange_worker *w = &ex->workers[rank - comm->first];
    *length = s->up.info[(rank - comm->first) * s->count + part].bytes;
    return w->state == WORKER_PUT ? shard_frame(w, &s->up, part) : NULL;
}

/* The owner's work: the sum in rank order, and its frame. A refusal of anybody, its own too, it hands on. */
static tithe_status own(tithe_exchange *ex, unsigned part, tithe_error *error)
{
    shards *s = ex->own;
    tithe_status status = TITHE_OK;
    s->entries = 0;
    memset(ex->sum + s->begin[part], 0, shard_length(s, part) * sizeof *ex->sum);
    for (unsigned r = 0; r < ex->config.comm->size && !status; r++) {
        size_t length;
        const uint8_t *frame = share_of(ex, r, part, &length);
        if (frame) status = ti_shards_add(ex, r, part, frame, length, error);
    }
    if (status) return status;
    if (!ex->refusal.code) ti_shards_answer(ex, part);
    if (ex->refusal.code) ti_shards_refuse_answer(ex, part);
    return TITHE_OK;
}

/* ---- and back -------------------------------------------------------------------------------------------- */

/* Who owns nothing sends nothing, but passes on. */
static void list_blocks(const tithe_exchange *ex)
{
    const shards *s = ex->own;
    for (unsigned r = 0; r < ex->config.comm->size; r++) {
        const unsigned part = s->part[r];
        ex->lengths[r] = part == s->count ? 0 : s->back.info[part].bytes;
        ex->blocks[r] = part == s->count ? ex->server.frame : shard_frame(&ex->server, &s->back, part);
    }
}

/* Into the infos of all parts: known, or told by their owners. */
static tithe_status find_lengths(tithe_exchange *ex, tithe_error *error)
{
    const shards *s = ex->own;
    for (unsigned p = 0; s->back.fixed && p < s->count; p++) s->back.info[p].bytes = s->back.fixed[p];
    if (s->back.fixed) return TITHE_OK;
    ex->lengths[ex->config.comm->first] = s->mine < s->count ? s->back.info[s->mine].bytes : 0;
    tithe_status status = ti_exchange_gather_lengths(ex, error);
    for (unsigned p = 0; p < s->count && !status; p++) {
        s->back.info[p].bytes = ex->lengths[s->owner[p]];
        status =
            ti_exchange_expect_length(s->owner[p], s->back.info[p].bytes, shard_room(&s->back, p), error);
    }
    return status;
}

typedef struct taking {
    tithe_exchange *ex;
    float *update;
} taking;

static tithe_status take_from(void *context, unsigned owner, tithe_error *error)
{
    const taking *t = context;
    const shards *s = t->ex->own;
    const unsigned part = s->part[owner];
    if (part == s->count) return TITHE_OK;
    if (ti_refusal_note(t->ex, shard_frame(&t->ex->server, &s->back, part), s->back.info[part].bytes))
        return TITHE_OK;
    return ti_shards_take(t->ex, part, s->back.info[part].bytes, t->update, error);
}

/* A part is decoded while the next one comes. */
static tithe_status pass_around(tithe_exchange *ex, float *update, tithe_error *error)
{
    taking t = {ex, update};
    const tithe_status status = find_lengths(ex, error);
    if (status) return status;
    list_blocks(ex);
    return ti_coll_gather_each(ex->config.comm, ex->collective, ex->blocks, ex->lengths, take_from, &t,
                               error);
}

static tithe_status take_all(tithe_exchange *ex, float *update, tithe_error *error)
{
    const shards *s = ex->own;
    taking t = {ex, update};
    tithe_status status = TITHE_OK;
    for (unsigned p = 0; p < s->count && !status; p++) status = take_from(&t, s->owner[p], error);
    return status;
}

static tithe_status hand_out_at_once(tithe_exchange *ex, float *update, tithe_error *error)
{
    tithe_comm *comm = ex->config.comm;
    shards *s = ex->own;
    tithe_status status = TITHE_OK;
    for (unsigned turn = 1; s->mine < s->count && turn < comm->size && !status; turn++)
        status = send_frame(ex, after(comm, turn), shard_frame(&ex->server, &s->back, s->mine),
                            s->back.info[s->mine].bytes, !s->back.fixed, error);
    for (unsigned turn = 1; turn < comm->size && !status; turn++) {
        const unsigned from = after(comm, comm->size - turn), part = s->part[from];
        if (part == s->count) continue;
        status =
            receive_frame(comm, from, shard_frame(&ex->server, &s->back, part), shard_room(&s->back, part),
                          s->back.fixed ? s->back.fixed[part] : 0, &s->back.info[part].bytes, error);
    }
    if (!status) status = ti_comm_flush(comm, error);
    return status ? status : take_all(ex, update, error);
}

/* ---- all of it ------------------------------------------------------------------------------------------- */

static void count(tithe_exchange *ex)
{
    const shards *s = ex->own;
    for (unsigned i = 0; i < ex->config.comm->local; i++) {
        const exchange_worker *w = &ex->workers[i];
        for (unsigned p = 0; p < s->count; p++) {
            if (s->owner[p] == ex->config.comm->first + i) continue; /* it stays here */
            if (w->state == WORKER_PUT) ti_exchange_count_up(ex, w, &s->up.info[i * s->count + p]);
            ti_exchange_count_down(ex, w, &s->back.info[p]);
        }
    }
}

static tithe_status exchange_here(tithe_exchange *ex, float *update, tithe_error *error)
{
    const shards *s = ex->own;
    tithe_status status = TITHE_OK;
    ti_refusal_keep(&ex->server.before, ex->server.residual, 0, ex->n, ex->step);
    for (unsigned p = 0; p < s->count && !status; p++) status = own(ex, p, error);
    return status ? status : take_all(ex, update, error);
}

/* All ranks have the owners' frames, and so the same refusal: that of the first part that has one. */
static bool is_refused(tithe_exchange *ex)
{
    const shards *s = ex->own;
    ex->refusal = (exchange_refusal){0};
    for (unsigned p = 0; p < s->count && !ex->refusal.code; p++)
        ti_refusal_note(ex, shard_frame(&ex->server, &s->back, p), s->back.info[p].bytes);
    return ex->refusal.code != TITHE_OK;
}

/* In turns where the collective passes blocks on from rank to rank. */
static tithe_status exchange_remote(tithe_exchange *ex, float *update, tithe_error *error)
{
    const shards *s = ex->own;
    const bool turns = ex->collective->gather != NULL;
    if (ex->workers->state != WORKER_PUT && !s->heads) /* the others count on its frames */
        return ti_fail(error, TITHE_E_ARGUMENT, ex->config.comm->first,
                       "Rank %u skips a step in which all take part: say in taking_part how many do.",
                       ex->config.comm->first);
    tithe_status status = turns ? scatter_in_turns(ex, error) : scatter_at_once(ex, error);
    if (!status && s->later && ex->workers->state == WORKER_PUT) ti_shards_made(ex);
    if (s->mine < s->count)
        ti_refusal_keep(&ex->server.before, ex->server.residual, s->begin[s->mine], shard_length(s, s->mine),
                        ex->step);
    if (!status && s->mine < s->count) status = own(ex, s->mine, error);
    if (status) return status;
    return turns ? pass_around(ex, update, error) : hand_out_at_once(ex, update, error);
}

static tithe_status run(tithe_exchange *ex, float *update, tithe_error *error)
{
    const tithe_status status =
        exchange_is_remote(ex) ? exchange_remote(ex, update, error) : exchange_here(ex, update, error);
    if (status || is_refused(ex)) return status;
    list_blocks(ex);
    ti_shards_describe(ex);
    count(ex);
    if (exchange_is_remote(ex)) return TITHE_OK;
    tithe_rounds list;
    tithe_rounds_start(&list);
    ti_shards_rounds(&ex->shape, &list);
    ti_coll_count(ex->config.comm, &list);
    return TITHE_OK;
}

static const char *const collectives[] = {"ring", "direct", NULL};

const tithe_scheme ti_scheme_shards = {
    .name = "shards",
    .summary = "each rank owns a part: frames to the owners, and one frame of each sum back to all",
    .paper = "horvath2022natural",
    .back = true,
    .cuts = true,
    .collectives = collectives,
    .suits = suits,
    .collective = default_collective,
    .refuse = refuse,
    .open = ti_shards_open,
    .close = ti_shards_close,
    .run = run,
    .foretell = ti_shards_foretell,
    .rounds = ti_shards_rounds,
};
