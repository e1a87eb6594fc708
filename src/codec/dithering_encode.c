/* dithering_encode.c - dithering, the writing half: norm, levels and codes of one bucket after the other.
 *
 * A bucket that fits a block is read from memory once: it is put together from e and the gradient,
 * measured, rounded, written, and what is left of it is stored, all in the first-level cache. */
#include <stdatomic.h>

#include "codec/dithering.h"

/* Write a norm; the result is what the decoder will read. */
static float put_norm(const tithe_quant_call *c, uint8_t *dst, size_t bucket, float norm)
{
    if (levels_norm_bytes(c) == 4) {
        put_f32(dst + 4 * bucket, norm);
        return norm;
    }
    const uint32_t bits = f32_bits(norm),
                   random = (uint32_t)(rng_at(ti_rng_derive(c->key, RNG_NORM), bucket) >> 41);
    uint32_t field = (bits >> 23) + (random < (bits & 0x7fffffu));
    if (field > 254) field = 254;
    dst[bucket] = (uint8_t)field;
    return f32_from_bits(field << 23);
}

/* |x|^2 / E|C(x)|^2 over one bucket. */
static double bucket_contraction(const level_grid *grid, bucket_scale b, const float *x, size_t count)
{
    double squares, expected;
    const level_job job = {.x = x, .n = count, .lift = b.lift, .slope = b.slope};
    grid->moments(&job, &squares, &expected);
    return expected > 0 ? squares / expected : 1;
}

/* Random numbers belong to positions of the whole message, wherever its buckets begin and end. */
typedef struct random_cursor {
    uint64_t block;
    bool loaded;
    uint32_t numbers[TITHE_BLOCK];
} random_cursor;

/* How far one can go from `first` with one block of random numbers; they are made when the block changes. */
static size_t random_span(random_cursor *r, tithe_key key, size_t first, size_t end)
{
    const uint64_t block = first / TITHE_BLOCK;
    if (!r->loaded || r->block != block) {
        tithe_random_block(key, block, r->numbers);
        r->block = block;
        r->loaded = true;
    }
    const size_t left = TITHE_BLOCK - first % TITHE_BLOCK;
    return end - first < left ? end - first : left;
}

/* What one thread writes with, from its first bucket to its last. */
typedef struct level_writer {
    const level_grid *grid;
    const tithe_quant_call *c;
    const tithe_sink *sent;
    bit_writer bits;
    random_cursor random;
    elias_words elias;
} level_writer;

/* A stretch of one bucket, with one block of random numbers. */
typedef struct level_stretch {
    const float *x;
    size_t first, many;
    bucket_scale scale;
    float norm; /* as the decoder will read it */
} level_stretch;

/* Up to 127 levels: bytes from the kernel, which are packed many at a time, or are the codes already. */
static void encode_few(level_writer *w, const level_stretch *t)
{
    const bool elias = levels_are_elias(w->c);
    const unsigned s = levels_of(w->c), width = elias ? 0 : level_code_width(s);
    const bool at_byte = bits_at_byte(&w->bits);
    uint8_t room[TITHE_BLOCK];
    uint8_t *codes = width == 8 && at_byte ? bits_take_bytes(&w->bits, t->many) : room;
    const level_job job = {
        .x = t->x,
        .n = t->many,
        .lift = t->scale.lift,
        .slope = t->scale.slope,
        .s = s,
        .random = w->random.numbers + t->first % TITHE_BLOCK,
        .codes = codes,
        .key = w->c->key,
        .position = t->first,
    };
    w->grid->levels(&job);
    uint8_t *nibbles = NULL;
    if (width == 4 && t->many % 2 == 0 && at_byte) {
        nibbles = bits_take_bytes(&w->bits, t->many / 2);
        ti_kernels()->pack_nibbles(codes, t->many, nibbles);
    } else if (codes == room) {
        ti_level_codes_write(&w->bits, elias ? &w->elias : NULL, s, codes, t->many, w->c->count - t->first);
    }

    if (!w->sent->y) return;
    if (nibbles && !w->sent->at) {
        float table[16];
        level_nibble_table(w->grid, s, t->norm, (float)w->sent->scale, table);
        ti_kernels()->nibbles_add(nibbles, t->many, table, (float *)w->sent->y + t->first);
        return;
    }
    level_codes_add(w->grid, s, t->norm, codes, t->first, t->many, w->sent);
}

static void encode_many(level_writer *w, const level_stretch *t)
{
    const unsigned s = levels_of(w->c);
    const uint32_t *random = w->random.numbers + t->first % TITHE_BLOCK;
    const level_job job = {.x = t->x, .lift = t->scale.lift, .slope = t->scale.slope};
    float block[TITHE_BLOCK];
    for (size_t i = 0; i < t->many; i++) {
        unsigned level = w->grid->round(define_level_position(&job, i), random[i], w->c->key, t->first + i);
        if (level > s) level = s; /* t may exceed its end by a rounding error */
        put_level(&w->bits, levels_are_elias(w->c), s, level, t->x[i] < 0 && level);
        const float value = w->grid->value(level, s, t->norm);
        block[i] = t->x[i] < 0 ? -value : value;
    }
    tithe_sink_add(w->sent, t->first, block, t->many);
}

/* A bucket that fits a block can be put together from e and the gradient, written, and what is left of it
 * stored, all while it is in the cache. */
bool ti_levels_fuse(const double *params)
{
    return params[LEVEL_BUCKET] > 0 && params[LEVEL_BUCKET] <= TITHE_BLOCK;
}

typedef struct encode_work {
    const level_grid *grid;
    const tithe_quant_call *c;
    const float *values;
    uint8_t *dst;
    const tithe_sink *sent;
    unsigned parts;
    atomic_bool refused;
    uint64_t bits; /* of the codes; written by the part that ends them */
} encode_work;

/* One bucket. False, and all zeros, when something in it is not finite or its norm is too large. */
static bool encode_bucket(const encode_work *work, size_t b, level_writer *w)
{
    const tithe_quant_call *c = work->c;
    const size_t begin = b * levels_bucket(c), end = levels_bucket_end(c, b);
    const unsigned s = levels_of(c);
    float sum[TITHE_BLOCK];
    const float *x = work->values + begin;
    if (c->gradient) {
        memcpy(sum, x, (end - begin) * sizeof *sum);
        ti_kernels()->add_scaled(sum, c->gradient + begin, c->gamma, end - begin);
        x = sum;
    }
    const double norm = ti_levels_norm(c, x, end - begin);
    if (!(norm <= (double)LARGEST_NORM)) {
        const kernel_source source = {work->sent->y, c->gradient, c->gamma};
        for (size_t i = begin; c->gradient && i < end;
             i++) { /* the caller takes the gradient back from all of them */
            if (isfinite(x[i - begin]))
                source.x[i] = x[i - begin];
            else
                define_store_overflow(&source, i);
        }
        put_norm(c, work->dst, b, 0);
        for (size_t i = begin; i < end; i++) put_level(&w->bits, levels_are_elias(c), s, 0, false);
        return false;
    }
    level_stretch t = {.scale = levels_scale(work->grid->steps(s), (float)norm)};
    double factor = 1;
    if (c->contractive) {
        factor = bucket_contraction(work->grid, t.scale, x, end - begin);
        if (levels_norm_bytes(c) == 1) factor *= 8.0 / 9;
    }
    t.norm = put_norm(c, work->dst, b, (float)((double)(float)norm * factor));
    for (t.first = begin; t.first < end; t.first += t.many) {
        t.many = random_span(&w->random, c->key, t.first, end);
        t.x = x + (t.first - begin);
        if (c->gradient) memcpy((float *)work->sent->y + t.first, t.x, t.many * sizeof *t.x);
        if (s <= FEW_LEVELS)
            encode_few(w, &t);
        else
            encode_many(w, &t);
    }
    return true;
}

static void encode_part(void *context, unsigned part)
{
    encode_work *work = context;
    const tithe_quant_call *c = work->c;
    const size_t buckets = levels_bucket_count(c);
    const size_t first = pool_begin(buckets, LEVEL_UNIT, work->parts, part);
    const size_t end = pool_begin(buckets, LEVEL_UNIT, work->parts, part + 1);
    const uint64_t before = part ? (uint64_t)first * levels_bucket(c) * level_code_width(levels_of(c)) : 0;
    level_writer w = {.grid = work->grid, .c = c, .sent = work->sent};
    w.bits = bit_writer_at(work->dst + buckets * levels_norm_bytes(c) + before / 8);
    if (levels_are_elias(c)) ti_elias_words(&w.elias);
    for (size_t b = first; b < end; b++)
        if (!encode_bucket(work, b, &w)) atomic_store(&work->refused, true);
    const uint64_t written = bits_finish(&w.bits);
    if (part + 1 == work->parts) work->bits = before + written;
}

tithe_status ti_levels_encode(const level_grid *grid, const tithe_quant_call *c, const float *values,
                              uint8_t *dst, uint64_t *bits, const tithe_sink *sent)
{
    encode_work work = {
        .grid = grid, .c = c, .values = values, .dst = dst, .sent = sent, .parts = levels_parts(c)};
    ti_pool_run(c->pool, work.parts, encode_part, &work);
    *bits = (uint64_t)levels_bucket_count(c) * levels_norm_bytes(c) * 8 + work.bits;
    return atomic_load(&work.refused) ? TITHE_E_NONFINITE : TITHE_OK;
}
