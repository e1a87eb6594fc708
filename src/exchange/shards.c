/* shards.c - see shards.h. Parts begin at multiples of the quantizer's bucket, and hold at least SHARD_MIN numbers, so that a
 * short vector does not travel as headers. */
#include "exchange/shards.h"

#include <stdlib.h>

#include "codec/codec.h"

enum { SHARD_MIN = 64 };

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
    const tithe_codec at = ti_codec_at(codec, ti_codec_level_of_part(codec, part, n));
    return (double)ti_codec_expected_length(&at, part);
}

/* How many of the whole vector are the largest that go; 0: each part has a level of its own. */
static size_t top_of(const tithe_codec *codec, const tithe_tuner *tuner, size_t n)
{
    if (!codec->selector->told || !codec->has_level || tuner->tunes) return 0;
    const size_t k = ti_codec_stated_count(codec, n);
    return k < n ? k : 0;
}

/* With as many of the largest as fit. A part that goes whole needs no indices, so that one entry less may take more. */
static double crowded_length(const tithe_codec *codec, size_t part, size_t top)
{
    const size_t most = top < part ? top : part;
    const tithe_codec at = ti_codec_at(codec, (double)most);
    const size_t length = tithe_codec_length(&at, part, most, TITHE_EXCHANGE);
    const size_t other = tithe_codec_length(&at, part, most == part ? most - 1 : most, TITHE_EXCHANGE);
    return (double)(length > other ? length : other);
}

void ti_shards_foretell(const tithe_exchange_config *config, size_t n, tithe_step_shape *shape)
{
    const tithe_codec *back = config->downlink ? config->downlink : config->codec;
    const size_t grain = grain_of(config->codec, n), longest = longest_part(n, grain, shape->ranks);
    const size_t top = shape->crowded ? top_of(config->codec, config->tuner, n) : 0;
    const tithe_tuner *tuner_back = config->downlink_tuner ? config->downlink_tuner : config->tuner;
    const size_t top_back = top ? top_of(back, tuner_back, n) : 0;
    shape->owners = owners_of(n, grain, shape->ranks);
    shape->share =
        top ? crowded_length(config->codec, longest, top) : foretell_length(config->codec, longest, n);
    shape->share_frames = (shape->ranks - 1.0) * shape->owners;
    shape->shares = shape->share * shape->share_frames;
    shape->parts.length =
        top_back ? crowded_length(back, longest, top_back) : foretell_length(back, longest, n);
    shape->heads = !fixed_length(config->codec, longest, n);
    shape->back_heads = !fixed_length(back, longest, n);
}

/* ---- memory ---------------------------------------------------------------------------------------------- */

/* Where frames lie, one behind the other with room for the longest, and how long they are if that is known. */
static bool lay_out_frames(const shards *s, const tithe_codec *codec, size_t n, size_t sets, size_t top,
                           shard_frames *way)
{
    bool enough = true, fixed = true;
    way->top = top;
    way->at = exchange_room(s->count + 1u, sizeof *way->at, &enough);
    way->fixed = exchange_room(s->count, sizeof *way->fixed, &enough);
    way->info = exchange_room(sets * s->count, sizeof *way->info, &enough);
    for (unsigned p = 0; enough && p < s->count; p++) {
        const size_t length = shard_length(s, p);
        const tithe_codec most = ti_codec_at(codec, (double)shard_most(s, way, p));
        const size_t bound = tithe_codec_bound(&most, length);
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

/* What encoding any part needs: a short one, in which more lie than its share, may need more than the whole vector. Of its largest
 * a part may have any number, and the most of them do not always need the most. */
static size_t scratch_of_parts(const shards *s, const shard_frames *way, const exchange_way *whole)
{
    size_t max = whole->scratch_size;
    for (unsigned p = 0; p < s->count; p++) {
        const size_t length = shard_length(s, p);
        const double level =
            way->top ? (double)length : ti_codec_level_of_part(whole->codec, length, whole->n);
        const tithe_codec at = ti_codec_at(whole->codec, level);
        const size_t scratch = tithe_codec_scratch(&at, length);
        if (scratch > max) max = scratch;
    }
    return max;
}

static bool make_scratch(exchange_lane *lane, size_t size)
{
    bool enough = true;
    free(lane->scratch); /* which was for the whole vector */
    lane->scratch = exchange_room(size, 1, &enough);
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
    const size_t top = top_of(ex->up.codec, ex->up.tuner, ex->n);
    const size_t top_back =
        top ? top_of(ex->down.codec, ex->down.tuner, ex->n) : 0; /* by what they were sent */
    enough = lay_out_frames(s, ex->up.codec, ex->n, comm->local, top, &s->up) &&
             lay_out_frames(s, ex->down.codec, ex->n, 1, top_back, &s->back);
    s->chosen = exchange_room(ex->lane_count * s->up.top + 1, sizeof *s->chosen, &enough);
    for (unsigned i = 0; enough && i < comm->local; i++) enough = make_frame(s, &s->up, &ex->workers[i]);
    enough = enough && make_frame(s, &s->back, &ex->server);
    if (!enough) return false;
    ex->up.scratch_size = scratch_of_parts(s, &s->up, &ex->up);
    ex->down.scratch_size = scratch_of_parts(s, &s->back, &ex->down);
    for (unsigned l = 0; enough && l < ex->lane_count; l++)
        enough = make_scratch(&ex->lanes[l], ex->up.scratch_size);
    enough = enough && make_scratch(&ex->server_lane, ex->down.scratch_size);
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
    free(s->chosen);
    free(s);
}

size_t ti_shards_owned(const tithe_exchange *ex, unsigned rank, size_t *begin)
{
    const shards *s = ex->own;
    const unsigned part = s->part[rank];
    *begin = part < s->count ? s->begin[part] : ex->n;
    return part < s->count ? shard_length(s, part) : 0;
}
