/* shards.c - see shards.h. Parts begin at multiples of the quantizer's bucket, and hold at least SHARD_MIN numbers, so that a
 * short vector does not travel as headers. */
#include "exchange/shards.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "codec/codec.h"
#include "kernels/kernels.h"

enum { SHARD_MIN = 256 };

/* ---- layout ---------------------------------------------------------------------------------------------- */

static size_t bucket_of(const tithe_codec *codec)
{
    const size_t bucket = codec->quantizer->bucket ? codec->quantizer->bucket(codec->quantizer_params) : 1;
    return bucket ? bucket : 1;
}

/* Parts begin at multiples of this. */
static size_t grain_of(const tithe_codec *codec, size_t n)
{
    const size_t bucket = bucket_of(codec);
    if (bucket >= n) return n ? n : 1;
    return bucket * ((SHARD_MIN + bucket - 1) / bucket);
}

/* The last one may be short. */
static size_t grains_of(size_t n, size_t grain)
{
    return n / grain + (n % grain != 0);
}

/* Ranks that own anything. */
static unsigned owners_of(size_t n, size_t grain, unsigned ranks)
{
    const size_t grains = grains_of(n, grain);
    return grains < ranks ? (unsigned)grains : ranks;
}

static size_t begin_of(size_t n, size_t grain, unsigned ranks, unsigned rank)
{
    const size_t begin = (size_t)((double)grains_of(n, grain) * rank / ranks) * grain;
    return begin < n ? begin : n;
}

static void lay_out(shards *s, size_t n, size_t grain, unsigned ranks)
{
    unsigned part = 0;
    s->count = owners_of(n, grain, ranks);
    for (unsigned r = 0; r < ranks; r++) {
        const size_t begin = begin_of(n, grain, ranks, r), end = begin_of(n, grain, ranks, r + 1);
        s->part[r] = begin < end ? part : s->count;
        if (begin == end) continue;
        s->begin[part] = begin;
        s->owner[part++] = r;
    }
    s->begin[s->count] = n;
}

/* Of parts of whole grains, of which the last rank has no fewer than others; the last grain may be short. */
static size_t longest_part(size_t n, size_t grain, unsigned ranks)
{
    const size_t grains = grains_of(n, grain), rest = grains % ranks;
    const size_t max = grains / ranks + (rest != 0), alike = rest ? rest : ranks;
    return max * grain - (alike == 1 ? grains * grain - n : 0);
}

/* Of a part of the vector's n numbers; 0: only its frame will tell. */
static size_t fixed_length(const tithe_codec *codec, size_t part, size_t n)
{
    const tithe_codec at = ti_codec_at(codec, ti_codec_level_of_part(codec, part, n));
    return tithe_codec_fixed_length(&at, part);
}

static double foretell_length(const tithe_codec *codec, size_t part, size_t n)
{
    const size_t fixed = fixed_length(codec, part, n);
    if (fixed) return (double)fixed;
    const tithe_codec at = ti_codec_at(codec, ti_codec_level_of_part(codec, part, n));
    return (double)tithe_codec_length(&at, part, ti_codec_stated_count(&at, part), TITHE_EXCHANGE);
}

void ti_shards_foretell(const tithe_exchange_config *config, size_t n, tithe_step_shape *shape)
{
    const tithe_codec *back = config->downlink ? config->downlink : config->codec;
    const size_t grain = grain_of(config->codec, n), longest = longest_part(n, grain, shape->ranks);
    shape->owners = owners_of(n, grain, shape->ranks);
    shape->share = foretell_length(config->codec, longest, n);
    shape->share_frames = (shape->ranks - 1.0) * shape->owners;
    shape->shares = shape->share * shape->share_frames;
    shape->parts.length = foretell_length(back, longest, n);
    shape->heads = !fixed_length(config->codec, longest, n);
    shape->back_heads = !fixed_length(back, longest, n);
}

/* ---- memory ---------------------------------------------------------------------------------------------- */

/* Where frames lie, one behind the other with room for the longest, and how long they are if that is known. */
static bool lay_out_frames(const shards *s, const tithe_codec *codec, size_t n, size_t sets,
                           shard_frames *way)
{
    bool enough = true, fixed = true;
    way->at = exchange_room(s->count + 1u, sizeof *way->at, &enough);
    way->fixed = exchange_room(s->count, sizeof *way->fixed, &enough);
    way->info = exchange_room(sets * s->count, sizeof *way->info, &enough);
    way->level = exchange_room(sets * s->count, sizeof *way->level, &enough);
    for (unsigned p = 0; enough && p < s->count; p++) {
        const size_t length = shard_length(s, p);
        const size_t bound = tithe_codec_bound(codec, length);
        way->at[p + 1] = way->at[p] + (bound > REFUSAL_BYTES ? bound : REFUSAL_BYTES);
        way->fixed[p] = fixed_length(codec, length, n);
        fixed = fixed && way->fixed[p];
    }
    if (!fixed) {
        free(way->fixed);
        way->fixed = NULL;
    }
    return enough;
}

static bool make_frame(const shards *s, const shard_frames *way, exchange_worker *w)
{
    bool enough = true;
    free(w->frame); /* which had room for that of the whole vector */
    w->frame = exchange_room(way->at[s->count] + 1, 1, &enough);
    return enough;
}

static bool make_room(tithe_exchange *ex, shards *s)
{
    const tithe_comm *comm = ex->config.comm;
    bool enough = true;
    s->owner = exchange_room(comm->size, sizeof *s->owner, &enough);
    s->part = exchange_room(comm->size, sizeof *s->part, &enough);
    s->begin = exchange_room(comm->size + 1u, sizeof *s->begin, &enough);
    s->came = exchange_room(comm->size, sizeof *s->came, &enough);
    s->energy = exchange_room((size_t)comm->local * comm->size, sizeof *s->energy, &enough);
    if (!enough) return false;
    lay_out(s, ex->n, grain_of(ex->config.codec, ex->n), comm->size);
    s->mine = comm->first < comm->size ? s->part[comm->first] : s->count;
    enough = lay_out_frames(s, ex->up.codec, ex->n, comm->local, &s->up) &&
             lay_out_frames(s, ex->down.codec, ex->n, 1, &s->back);
    for (unsigned i = 0; enough && i < comm->local; i++) enough = make_frame(s, &s->up, &ex->workers[i]);
    enough = enough && make_frame(s, &s->back, &ex->server);
    const unsigned all = ex->config.taking_part;
    s->heads = !s->up.fixed || (all && all < comm->size);
    if (enough && exchange_is_remote(ex) && s->mine < s->count) {
        s->inbox_room = shard_room(&s->up, s->mine);
        s->inbox = exchange_room(comm->size, s->inbox_room, &enough);
    }
    return enough;
}

tithe_status ti_shards_open(tithe_exchange *ex, tithe_error *error)
{
    shards *s = calloc(1, sizeof *s);
    ex->own = s;
    if (!s || !make_room(ex, s))
        return ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory for the frames of %u parts.",
                       ex->config.comm->size);
    return TITHE_OK;
}

static void close_frames(shard_frames *way)
{
    free(way->at);
    free(way->fixed);
    free(way->info);
    free(way->level);
}

void ti_shards_close(tithe_exchange *ex)
{
    shards *s = ex->own;
    if (!s) return;
    close_frames(&s->up);
    close_frames(&s->back);
    free(s->owner);
    free(s->part);
    free(s->begin);
    free(s->came);
    free(s->energy);
    free(s->inbox);
    free(s);
}

/* ---- a part, compressed and back ------------------------------------------------------------------------- */

/* Every part has randomness of its own. */
tithe_call ti_shards_call(const tithe_exchange *ex, const tithe_codec *codec, unsigned rank, unsigned part,
                          const exchange_lane *lane, size_t scratch_size)
{
    const shards *s = ex->own;
    tithe_call call = ti_exchange_call(ex, rank, lane->scratch, scratch_size);
    call.tensor = ex->tensor * ex->config.comm->size + part;
    call.segments = NULL;
    call.segment_count = 0;
    call.level = ti_codec_level_of_part(codec, shard_length(s, part), ex->n);
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

static tithe_status put_part(tithe_exchange *ex, exchange_worker *w, exchange_lane *lane, unsigned part,
                             const float *g, double gamma, tithe_pool *pool, tithe_error *error)
{
    const shards *s = ex->own;
    const unsigned local = (unsigned)(w - ex->workers), place = local * s->count + part;
    const exchange_way way = way_of(s, &ex->up, &s->up, part);
    exchange_worker one = worker_of(s, w, &s->up, part);
    tithe_call call =
        ti_shards_call(ex, way.codec, ex->config.comm->first + local, part, lane, way.scratch_size);
    call.pool = pool;
    const tithe_status status =
        ti_exchange_compress(&way, &one, lane, &call, g + s->begin[part], gamma, ex->config.measure, error);
    if (status == TITHE_E_NONFINITE)
        ti_exchange_expect_finite(g, ex->n, error); /* where in the whole vector? */
    s->up.info[place] = one.info;
    s->up.level[place] = one.level;
    s->energy[place] = (shard_energy){one.energy, one.sent, one.unsent};
    w->reason = one.reason;
    return status;
}

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
        w->energy += s->energy[i].all;
        w->sent += s->energy[i].sent;
        w->unsent += s->energy[i].unsent;
    }
}

/* Can numbers that make sense be too large for it? */
static bool is_narrow(const tithe_codec *codec, size_t n)
{
    static const double sense = 0x1p100;
    const tithe_call call = {0};
    const tithe_quant_call quant = ti_codec_quant_call(codec, &call, n);
    tithe_claims claims = {0};
    codec->quantizer->claims(&quant, &claims);
    return !codec->quantizer->saturates && claims.largest < sense;
}

/* Other ranks hear of the first part before the last one is encoded, so nothing may be refused then. */
static bool goes_later(const tithe_exchange *ex, const float *g)
{
    const bool stays = ex->config.stays || (g && g == ex->in_place);
    return stays && exchange_is_remote(ex) && ex->config.comm->local == 1 && !is_narrow(ex->up.codec, ex->n);
}

tithe_status ti_shards_put(tithe_exchange *ex, exchange_worker *w, exchange_lane *lane, const float *g,
                           double gamma, tithe_pool *pool, tithe_error *error)
{
    shards *s = ex->own;
    const bool later = goes_later(ex, g);
    tithe_status status = later ? ti_exchange_expect_finite(g, ex->n, error) : TITHE_OK;
    s->later = later && !status;
    w->g = g;
    for (unsigned p = 0; !later && p < s->count && !status; p++)
        status = put_part(ex, w, lane, p, g, gamma, pool, error);
    if (!status && !later) add_up(ex, w);
    return status;
}

tithe_status ti_shards_make(tithe_exchange *ex, unsigned part, tithe_error *error)
{
    const double start = clock_now();
    exchange_worker *w = ex->workers;
    const tithe_status status = put_part(ex, w, ex->lanes, part, w->g, w->gamma, ex->config.pool, error);
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
    const shards *s = ex->own;
    const double start = clock_now();
    tithe_call call = ti_shards_call(ex, ex->up.codec, rank, part, &ex->lanes[0], ex->up.scratch_size);
    call.pool = ex->config.pool;
    const tithe_status status = tithe_decode_add(ex->up.codec, &call, frame, length, 1,
                                                 ex->sum + s->begin[part], shard_length(s, part), error);
    ex->totals.decode += clock_now() - start;
    return status;
}

/* Owners draw as the rank behind the last, as a server does. */
static tithe_call back_call(const tithe_exchange *ex, unsigned part)
{
    tithe_call call = ti_shards_call(ex, ex->down.codec, ex->config.comm->size, part, &ex->server_lane,
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
    const double weight = ti_exchange_weight(ex, ti_exchange_scaled(ex) || ex->down.feedback->keeps);
    memset(at, 0, n * sizeof *at);
    s->back.info[part] = (tithe_frame_info){.bytes = length, .entries = n};
    tithe_status status = TITHE_OK;
    if (codec->selector->source != TITHE_INDICES_ALL) /* how many came is counted, too */
        status = tithe_frame_check(codec, &call, frame, length, n, &s->back.info[part], error);
    if (!status) status = tithe_decode_add(codec, &call, frame, length, (float)weight, at, n, error);
    ex->totals.decode += clock_now() - start;
    return status;
}

size_t ti_shards_owned(const tithe_exchange *ex, unsigned rank, size_t *begin)
{
    const shards *s = ex->own;
    const unsigned part = s->part[rank];
    *begin = part < s->count ? s->begin[part] : ex->n;
    return part < s->count ? shard_length(s, part) : 0;
}
