/* shards_parts.c - the parts of a vector, compressed and back (shards.h).
 *
 * Of top-k the largest of the whole vector go, each to the owner of its part: k of every part would be spent on parts in
 * which all is small. */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "codec/codec.h"
#include "exchange/shards.h"
#include "kernels/kernels.h"

/* Every part has randomness of its own. Of the largest of the whole vector a part holds so many at most. */
static tithe_call call_of(const tithe_exchange *ex, const tithe_codec *codec, const shard_frames *way,
                          unsigned rank, unsigned part, const exchange_lane *lane, size_t scratch_size)
{
    const shards *s = ex->own;
    tithe_call call = ti_exchange_call(ex, rank, lane->scratch, scratch_size);
    call.tensor = ex->tensor * ex->config.comm->size + part;
    call.segments = NULL;
    call.segment_count = 0;
    call.level = way->top ? (double)shard_most(s, way, part)
                          : ti_codec_level_of_part(codec, shard_length(s, part), ex->n);
    return call;
}

/* The same way, for a part of its vectors. */
static exchange_way way_of(const shards *s, const exchange_way *whole, const shard_frames *frames,
                           unsigned part)
{
    exchange_way way = *whole;
    way.n = shard_length(s, part);
    way.capacity = shard_room(frames, part);
    return way;
}

static exchange_worker worker_of(const shards *s, const exchange_worker *whole, const shard_frames *frames,
                                 unsigned part)
{
    exchange_worker w = {.cost = whole->cost, .frame = shard_frame(whole, frames, part), .reason = ""};
    if (whole->residual) w.residual = whole->residual + s->begin[part];
    return w;
}

/* What goes of a part: NULL, or what is formed already, and the positions of the largest there. */
typedef struct chosen {
    const float *x;
    const uint32_t *positions;
    size_t count;
} chosen;

static tithe_status encode_chosen(const exchange_way *way, exchange_worker *one, const exchange_lane *lane,
                                  tithe_call *call, const float *g, double gamma, const chosen *what,
                                  bool measure, tithe_error *error)
{
    call->level = what->count ? (double)what->count : 1;
    call->largest = what->count ? what->positions : NULL;
    call->largest_count = what->count;
    if (measure) one->energy = ti_kernels()->sum_squares(what->x, way->n);
    const tithe_feedback_call c = ti_exchange_feedback_call(way, one, call, lane, g, gamma);
    return ti_exchange_encode(way, one, &c, true, what->x, measure, error);
}

static tithe_status put_part(tithe_exchange *ex, exchange_worker *w, exchange_lane *lane, unsigned part,
                             const float *g, double gamma, const chosen *what, tithe_pool *pool,
                             tithe_error *error)
{
    const shards *s = ex->own;
    const unsigned local = (unsigned)(w - ex->workers), place = local * s->count + part;
    const exchange_way way = way_of(s, &ex->up, &s->up, part);
    const size_t begin = s->begin[part];
    exchange_worker one = worker_of(s, w, &s->up, part);
    exchange_lane own = *lane;
    if (what && own.work) own.work += begin;
    tithe_call call =
        call_of(ex, way.codec, &s->up, ex->config.comm->first + local, part, lane, way.scratch_size);
    call.pool = pool;
    const tithe_status status =
        what ? encode_chosen(&way, &one, &own, &call, g + begin, gamma, what, ex->config.measure, error)
             : ti_exchange_compress(&way, &one, lane, &call, g + begin, gamma, ex->config.measure, error);
    if (status == TITHE_E_NONFINITE)
        ti_exchange_expect_finite(g, ex->n, error); /* where in the whole vector? */
    s->up.info[place] = one.info;
    s->energy[place] = (shard_energy){one.energy, one.sent, one.unsent};
    w->reason = one.reason;
    return status;
}

/* ---- the largest of the whole vector ------------------------------------------------------------------------ */

/* Their positions, in ascending order, into `positions`; *x is what they are the largest of. */
static tithe_status choose(const tithe_exchange *ex, exchange_worker *w, exchange_lane *lane, const float *g,
                           double gamma, tithe_pool *pool, const float **x, uint32_t *positions,
                           tithe_error *error)
{
    const shards *s = ex->own;
    const unsigned rank = ex->config.comm->first + (unsigned)(w - ex->workers);
    tithe_call call = ti_exchange_call(ex, rank, lane->scratch, ex->up.scratch_size);
    const tithe_feedback_call c = ti_exchange_feedback_call(&ex->up, w, &call, lane, g, gamma);
    tithe_selection selection = {.indices = NULL};
    call.pool = pool;
    tithe_status status = ti_exchange_form(&ex->up, w, &c, false, x, error);
    if (!status) status = ti_codec_select(ex->up.codec, &call, *x, ex->n, &selection, error);
    if (!status) memcpy(positions, selection.indices, s->up.top * sizeof *positions);
    if (status == TITHE_E_NONFINITE && ti_exchange_expect_finite(g, ex->n, error) == TITHE_OK)
        return TITHE_E_RANGE; /* with what was kept it is too large */
    return status;
}

/* A part gets those that lie in it: none of them is as good as one, which says that there are none. */
static tithe_status put_largest(tithe_exchange *ex, exchange_worker *w, exchange_lane *lane, const float *g,
                                double gamma, tithe_pool *pool, tithe_error *error)
{
    const shards *s = ex->own;
    uint32_t *positions = s->chosen + (size_t)(lane - ex->lanes) * s->up.top;
    const float *x;
    tithe_status status = choose(ex, w, lane, g, gamma, pool, &x, positions, error);
    for (size_t p = 0, first = 0, end = 0; p < s->count && !status; p++, first = end) {
        for (; end < s->up.top && positions[end] < s->begin[p + 1]; end++)
            positions[end] -= (uint32_t)s->begin[p];
        const chosen what = {x + s->begin[p], positions + first, end - first};
        status = put_part(ex, w, lane, (unsigned)p, g, gamma, &what, pool, error);
    }
    return status;
}

/* An owner answers with as many of its part as it was sent, on average: together they are as many as codecs state. */
static double level_of_answer(const tithe_exchange *ex, unsigned part)
{
    const shards *s = ex->own;
    const double sent = (double)s->entries / ti_exchange_taking_part(ex) / (double)s->up.top;
    const double level = round(sent * (double)s->back.top);
    return fmin(fmax(1, level), (double)shard_most(s, &s->back, part));
}

/* ---- to the owners, and back --------------------------------------------------------------------------------- */

/* What the parts of a rank are together, in one order: sums of doubles have one. */
static void add_up(const tithe_exchange *ex, exchange_worker *w)
{
    const shards *s = ex->own;
    const size_t first = (size_t)(w - ex->workers) * s->count;
    w->info = (tithe_frame_info){0};
    w->energy = w->sent = w->unsent = 0;
    for (size_t i = first; i < first + s->count; i++) {
        w->info.bytes += s->up.info[i].bytes;
        w->info.entries += s->up.info[i].entries;
        w->info.paper_bits += s->up.info[i].paper_bits;
        w->energy += s->energy[i].all;
        w->sent += s->energy[i].sent;
        w->unsent += s->energy[i].unsent;
    }
}

/* Can numbers that make sense be too large for it? */
static bool is_narrow(const tithe_codec *codec)
{
    return !codec->quantizer->saturates && ti_exchange_largest(codec) < EXCHANGE_SENSE;
}

/* Other ranks hear of the first part before the last one is encoded, so nothing may be refused then. */
static bool goes_later(const tithe_exchange *ex, const float *g)
{
    const bool stays = ex->config.stays || (g && g == ex->in_place);
    const shards *s = ex->own;
    return stays && exchange_is_remote(ex) && ex->config.comm->local == 1 && !s->up.top &&
           !is_narrow(ex->up.codec);
}

tithe_status ti_shards_put(tithe_exchange *ex, exchange_worker *w, exchange_lane *lane, const float *g,
                           double gamma, tithe_pool *pool, tithe_error *error)
{
    shards *s = ex->own;
    const bool later = goes_later(ex, g);
    tithe_status status = later ? ti_exchange_expect_finite(g, ex->n, error) : TITHE_OK;
    if (ex->config.comm->local == 1)
        s->later = later && !status; /* of several, each is put on its own thread */
    w->g = g;
    if (s->up.top) status = put_largest(ex, w, lane, g, gamma, pool, error);
    for (unsigned p = 0; !later && !s->up.top && p < s->count && !status; p++)
        status = put_part(ex, w, lane, p, g, gamma, NULL, pool, error);
    if (!status && !later) add_up(ex, w);
    return status;
}

tithe_status ti_shards_make(tithe_exchange *ex, unsigned part, tithe_error *error)
{
    const double start = clock_now();
    exchange_worker *w = ex->workers;
    const tithe_status status =
        put_part(ex, w, ex->lanes, part, w->g, w->gamma, NULL, ex->config.pool, error);
    ex->totals.encode += clock_now() - start;
    return status;
}

void ti_shards_made(tithe_exchange *ex)
{
    add_up(ex, ex->workers);
}

void ti_shards_refuse(tithe_exchange *ex, exchange_worker *w)
{
    const shards *s = ex->own;
    tithe_frame_info *info = s->up.info + (size_t)(w - ex->workers) * s->count;
    for (unsigned p = 0; p < s->count; p++) {
        const size_t length = s->heads ? REFUSAL_BYTES : s->up.fixed[p];
        info[p] =
            (tithe_frame_info){.bytes = ti_refusal_write(&w->refusal, shard_frame(w, &s->up, p), length)};
    }
}

void ti_shards_refuse_answer(tithe_exchange *ex, unsigned part)
{
    shards *s = ex->own;
    const size_t length = s->back.fixed ? s->back.fixed[part] : REFUSAL_BYTES;
    s->back.info[part] = (tithe_frame_info){
        .bytes = ti_refusal_write(&ex->refusal, shard_frame(&ex->server, &s->back, part), length)};
}

tithe_status ti_shards_add(tithe_exchange *ex, unsigned rank, unsigned part, const uint8_t *frame,
                           size_t length, tithe_error *error)
{
    if (ti_refusal_note(ex, frame, length)) return TITHE_OK;
    shards *s = ex->own;
    const double start = clock_now();
    const size_t n = shard_length(s, part);
    tithe_frame_info info = {0};
    tithe_call call = call_of(ex, ex->up.codec, &s->up, rank, part, &ex->lanes[0], ex->up.scratch_size);
    call.pool = ex->config.pool;
    tithe_status status = TITHE_OK;
    if (s->up.top) status = tithe_frame_check(ex->up.codec, &call, frame, length, n, &info, error);
    if (!status)
        status = tithe_decode_add(ex->up.codec, &call, frame, length, 1, ex->sum + s->begin[part], n, error);
    s->entries += info.entries;
    ex->totals.decode += clock_now() - start;
    return status;
}

/* Owners draw as the rank behind the last, as a server does. */
static tithe_call back_call(const tithe_exchange *ex, unsigned part)
{
    const shards *s = ex->own;
    tithe_call call = call_of(ex, ex->down.codec, &s->back, ex->config.comm->size, part, &ex->server_lane,
                              ex->down.scratch_size);
    call.pool = ex->config.pool;
    return call;
}

void ti_shards_answer(tithe_exchange *ex, unsigned part)
{
    shards *s = ex->own;
    tithe_error why = {0};
    const exchange_way way = way_of(s, &ex->down, &s->back, part);
    exchange_worker one = worker_of(s, &ex->server, &s->back, part);
    tithe_call call = back_call(ex, part);
    if (s->back.top) call.level = level_of_answer(ex, part);
    const double start = clock_now();
    const tithe_status status =
        ti_exchange_compress_back(ex, &way, &one, &call, ex->sum + s->begin[part], &why);
    ex->totals.encode += clock_now() - start;
    s->back.info[part] = one.info;
    if (status) ex->refusal = ti_refusal_of(s->owner[part], true, status, &why);
}

tithe_status ti_shards_take(tithe_exchange *ex, unsigned part, size_t length, float *update,
                            tithe_error *error)
{
    shards *s = ex->own;
    const double start = clock_now();
    const tithe_call call = back_call(ex, part);
    const tithe_codec *codec = ex->down.codec;
    const uint8_t *frame = shard_frame(&ex->server, &s->back, part);
    float *at = update + s->begin[part];
    const size_t n = shard_length(s, part);
    const double weight = ti_exchange_weight_back(ex);
    memset(at, 0, n * sizeof *at);
    s->back.info[part] = (tithe_frame_info){.bytes = length, .entries = n};
    tithe_status status = TITHE_OK;
    /* How many came is counted, too, and for the papers at which level. */
    if (codec->selector->source != TITHE_INDICES_ALL || ex->config.count_paper)
        status = tithe_frame_check(codec, &call, frame, length, n, &s->back.info[part], error);
    if (!status) status = tithe_decode_add(codec, &call, frame, length, (float)weight, at, n, error);
    ex->totals.decode += clock_now() - start;
    return status;
}
