/* buckets.c - see buckets.h.
 *
 * Why: a message has a latency, so short layers go together; and a long vector need not be encoded to its end before its
 * beginning leaves. With `overlap` a courier finishes bucket b while the caller puts bucket b + 1. It is the only one
 * that touches the ranks then, and it takes the buckets in one order, the same everywhere, so the update has the same
 * bits with and without it.
 *
 * The first bucket that somebody refuses ends the step on all ranks: no other one goes, and what those before it have
 * changed is put back. */
#include "exchange/buckets.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "exchange/counters.h"
#include "exchange/courier.h"

typedef struct bucket {
    size_t begin;
    tithe_exchange *ex;
    size_t *layers;      /* lengths of what it has of each layer */
    size_t layer_count;  /* more than 1: fused */
    atomic_uint missing; /* local ranks that were not put yet, in this step */
} bucket;

struct exchange_buckets {
    unsigned count;
    bucket *all;
    courier *courier; /* NULL: everything goes in finish */
    float *update;    /* the courier's, until somebody asks for it */
    float **staged;   /* of each local rank: layers of fused buckets, which have to lie side by side */
    bool *put;        /* of each local rank and layer: was it put one by one, in this step? */
    unsigned served;
};

/* ---- where they begin ---------------------------------------------------------------------------------------- */

size_t ti_buckets_layout(size_t n, const size_t *layers, size_t layer_count, size_t bucket_bytes,
                         size_t *begins)
{
    const size_t max = bucket_bytes / sizeof(float) ? bucket_bytes / sizeof(float) : 1;
    const bool whole = bucket_bytes == 0, each = bucket_bytes == TITHE_EACH_LAYER;
    size_t count = 0, at = 0, room = 0; /* numbers that still fit into the last bucket */
    for (size_t l = 0; l < layer_count || (l == 0 && layer_count == 0); l++) {
        const size_t length = layer_count ? layers[l] : n;
        if (layer_count && length == 0) continue; /* nothing to send */
        const size_t pieces = whole || each || length <= max ? 1 : length / max + (length % max != 0);
        const bool joins = count && (whole || (!each && length <= room));
        for (size_t p = 0; p < pieces && !joins; p++, count++)
            if (begins) begins[count] = at + tithe_part_begin(length, (unsigned)pieces, (unsigned)p);
        room = joins ? room - length : pieces == 1 ? max - (length < max ? length : max) : 0;
        at += length;
    }
    if (begins) begins[count] = n;
    return count;
}

/* ---- making them ---------------------------------------------------------------------------------------------- */

/* What bucket b has of each layer. */
static bool find_layers(const tithe_exchange *ex, bucket *b, size_t end)
{
    const tithe_exchange_config *c = &ex->config;
    size_t at = 0;
    b->layers = calloc(c->layer_count + 1, sizeof *b->layers);
    if (!b->layers) return false;
    for (size_t l = 0; l < c->layer_count; at += c->layers[l], l++) {
        const size_t from = at > b->begin ? at : b->begin,
                     to = at + c->layers[l] < end ? at + c->layers[l] : end;
        if (from < to) b->layers[b->layer_count++] = to - from;
    }
    return true;
}

/* Does a thread send on the side? Of one bucket there is no other to be put meanwhile. */
static bool sends_aside(const tithe_exchange *ex)
{
    return ex->config.overlap && ex->buckets->count > 1 && ex->config.comm->local &&
           !ex->config.comm->one_thread;
}

static tithe_status make_bucket(tithe_exchange *ex, unsigned i, size_t end, float *const *residual,
                                tithe_error *error)
{
    bucket *b = &ex->buckets->all[i];
    if (!find_layers(ex, b, end))
        return ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory for buckets.");
    tithe_exchange_config c = ex->config;
    c.layers = b->layer_count > 1 ? b->layers : NULL;
    c.layer_count = b->layer_count > 1 ? b->layer_count : 0;
    c.bucket_bytes = 0;
    c.lanes = ex->lane_count;
    if (sends_aside(ex)) c.pool = NULL; /* its threads belong to those who put, */
    c.stays = false;                    /* and who puts also encodes: beside the bucket before */
    const exchange_slice slice = {b->begin, residual, ex->aggregate, ex->server.residual};
    const tithe_status status = ti_exchange_create_whole(&c, end - b->begin, &slice, &b->ex, error);
    if (status) return status;
    b->ex->tensor = i;
    b->ex->back_given = ex->back_given;
    b->ex->put_pool = ex->config.pool;
    atomic_init(&b->missing, c.comm->local);
    ex->raw_bytes += b->ex->raw_bytes;
    return TITHE_OK;
}

/* Refused by somebody: TITHE_E_SKIPPED, whatever will come of it. */
static tithe_status send_bucket(const bucket *b, float *update, tithe_error *error)
{
    const tithe_status status = ti_exchange_run(b->ex, update + b->begin, error);
    return !status && b->ex->refusal.code ? TITHE_E_SKIPPED : status;
}

static tithe_status carry(void *context, unsigned i, tithe_error *error)
{
    const tithe_exchange *ex = context;
    return send_bucket(&ex->buckets->all[i], ex->buckets->update, error);
}

static tithe_status make_all(tithe_exchange *ex, const size_t *begins, float **residual, tithe_error *error)
{
    struct exchange_buckets *s = ex->buckets;
    const unsigned local = ex->config.comm->local;
    tithe_status status = TITHE_OK;
    for (unsigned i = 0; i < local; i++) residual[i] = ex->workers[i].residual;
    for (unsigned i = 0; i < s->count && !status; i++) {
        s->all[i].begin = begins[i];
        status = make_bucket(ex, i, begins[i + 1], residual, error);
    }
    if (!status && sends_aside(ex)) status = ti_courier_start(s->count, carry, ex, &s->courier, error);
    return status;
}

/* Zeroed pages that nobody touches cost nothing, so there is room for layers that come one by one, whether they do or
 * not. */
static bool make_stage(const tithe_exchange *ex, struct exchange_buckets *s)
{
    const unsigned local = ex->config.comm->local;
    s->update = calloc(ex->n, sizeof *s->update);
    s->staged = calloc(local + 1, sizeof *s->staged);
    s->put = calloc((size_t)local * ex->config.layer_count + 1, sizeof *s->put);
    bool enough = s->update && s->staged && s->put;
    for (unsigned i = 0; i < local && enough; i++)
        enough = (s->staged[i] = calloc(ex->n, sizeof **s->staged)) != NULL;
    return enough;
}

tithe_status ti_buckets_open(tithe_exchange *ex, size_t count, tithe_error *error)
{
    const tithe_exchange_config *c = &ex->config;
    struct exchange_buckets *s = ex->buckets = calloc(1, sizeof *s);
    size_t *begins = calloc(count + 1, sizeof *begins);
    float **residual = calloc(c->comm->local + 1, sizeof *residual);
    tithe_status status = TITHE_OK;
    if (s && begins && residual && (s->all = calloc(count, sizeof *s->all)) != NULL && make_stage(ex, s)) {
        s->count = (unsigned)count;
        ti_buckets_layout(ex->n, c->layers, c->layer_count, c->bucket_bytes, begins);
        status = make_all(ex, begins, residual, error);
    } else {
        status = ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory for %zu buckets.", count);
    }
    free(begins);
    free(residual);
    return status;
}

static void close(tithe_exchange *ex)
{
    struct exchange_buckets *s = ex->buckets;
    if (!s) return;
    ti_courier_stop(s->courier);
    for (unsigned i = 0; i < s->count; i++) {
        tithe_exchange_free(s->all[i].ex);
        free(s->all[i].layers);
    }
    for (unsigned i = 0; s->staged && i < ex->config.comm->local; i++) free(s->staged[i]);
    free(s->staged);
    free(s->update);
    free(s->put);
    free(s->all);
    free(s);
    ex->buckets = NULL;
}

static unsigned parts(const tithe_exchange *ex)
{
    return ex->buckets->count;
}

static tithe_exchange *part(const tithe_exchange *ex, unsigned i)
{
    return ex->buckets->all[i].ex;
}

/* ---- gradients in --------------------------------------------------------------------------------------------- */

/* One rank less to wait for; the last one sends it on its way. */
static void count_rank(struct exchange_buckets *s, bucket *b)
{
    if (atomic_fetch_sub(&b->missing, 1) == 1 && s->courier)
        ti_courier_ready(s->courier, (unsigned)(b - s->all));
}

static tithe_status put_bucket(tithe_exchange *ex, bucket *b, unsigned rank, unsigned lane, const float *g,
                               double gamma, tithe_error *error)
{
    const tithe_status status = tithe_exchange_put(b->ex, rank, lane, g, gamma, error);
    if (!status) count_rank(ex->buckets, b);
    return status;
}

static exchange_worker *worker_of(tithe_exchange *ex, unsigned rank)
{
    return &ex->workers[rank - ex->config.comm->first];
}

/* A vector comes as a whole, or in layers. */
static tithe_status expect_no_layers(const tithe_exchange *ex, unsigned rank, tithe_error *error)
{
    const size_t layers = ex->config.layer_count;
    const bool *put = ex->buckets->put + (rank - ex->config.comm->first) * layers;
    for (size_t l = 0; l < layers; l++)
        if (put[l])
            return ti_fail(error, TITHE_E_ARGUMENT, l,
                           "Rank %u has begun to put its layers one by one: put the others, too.", rank);
    return TITHE_OK;
}

static tithe_status put(tithe_exchange *ex, unsigned rank, unsigned lane, const float *g, double gamma,
                        tithe_error *error)
{
    tithe_status status = expect_no_layers(ex, rank, error);
    for (unsigned i = 0; i < ex->buckets->count && !status; i++) {
        bucket *b = &ex->buckets->all[i];
        status = put_bucket(ex, b, rank, lane, g + b->begin, gamma, error);
    }
    if (!status) worker_of(ex, rank)->state = WORKER_PUT;
    return status;
}

/* Are all layers of this bucket there? */
static bool is_full(const tithe_exchange *ex, const bucket *b, const bool *put)
{
    size_t at = 0;
    for (size_t l = 0; l < ex->config.layer_count; at += ex->config.layers[l++])
        if (!put[l] && ex->config.layers[l] && at < b->begin + b->ex->n &&
            at + ex->config.layers[l] > b->begin)
            return false;
    return true;
}

static tithe_status note_layer(tithe_exchange *ex, unsigned rank, size_t layer, double gamma, bool *put,
                               tithe_error *error)
{
    exchange_worker *w = worker_of(ex, rank);
    bool first = true;
    for (size_t l = 0; l < ex->config.layer_count; l++) first = first && !put[l];
    if (put[layer])
        return ti_fail(error, TITHE_E_ARGUMENT, layer, "Layer %zu of rank %u was put twice in one step.",
                       layer, rank);
    if (!first && w->gamma != gamma)
        return ti_fail(error, TITHE_E_ARGUMENT, layer,
                       "Layer %zu of rank %u has step size %g, another one %g.", layer, rank, gamma,
                       w->gamma);
    w->gamma = gamma;
    put[layer] = true;
    return TITHE_OK;
}

/* A layer fills a part of one bucket, or several buckets of its own. */
static tithe_status put_layer(tithe_exchange *ex, unsigned rank, unsigned lane, size_t layer, const float *g,
                              double gamma, tithe_error *error)
{
    if (ex->config.layer_count == 0) return put(ex, rank, lane, g, gamma, error);
    struct exchange_buckets *s = ex->buckets;
    const size_t *layers = ex->config.layers, count = ex->config.layer_count;
    const unsigned local = rank - ex->config.comm->first;
    bool *put = s->put + local * count;
    size_t begin = 0, left = count;
    for (size_t l = 0; l < layer; l++) begin += layers[l];
    const size_t end = begin + layers[layer];
    tithe_status status = note_layer(ex, rank, layer, gamma, put, error);
    for (unsigned i = 0; i < s->count && !status && begin < end; i++) {
        bucket *b = &s->all[i];
        if (b->begin + b->ex->n <= begin || b->begin >= end) continue;
        if (b->layer_count <= 1) {
            status = put_bucket(ex, b, rank, lane, g + (b->begin - begin), gamma, error);
        } else {
            memcpy(s->staged[local] + begin, g, (end - begin) * sizeof *g);
            if (is_full(ex, b, put))
                status = put_bucket(ex, b, rank, lane, s->staged[local] + b->begin, gamma, error);
        }
    }
    for (size_t l = 0; l < count; l++) left -= put[l];
    if (!status && left == 0) worker_of(ex, rank)->state = WORKER_PUT;
    return status;
}

static tithe_status skip(tithe_exchange *ex, unsigned rank, double gamma, tithe_error *error)
{
    tithe_status status = expect_no_layers(ex, rank, error);
    for (unsigned i = 0; i < ex->buckets->count && !status; i++) {
        bucket *b = &ex->buckets->all[i];
        status = tithe_exchange_skip(b->ex, rank, gamma, error);
        if (!status) count_rank(ex->buckets, b);
    }
    if (!status) worker_of(ex, rank)->state = WORKER_SKIPS;
    return status;
}

/* ---- update out ----------------------------------------------------------------------------------------------- */

/* Before anything is touched, so that a step that was finished too early can be finished later. */
static tithe_status expect_everybody(const tithe_exchange *ex, tithe_error *error)
{
    const size_t layers = ex->config.layer_count;
    for (unsigned i = 0; i < ex->config.comm->local; i++) {
        if (ex->workers[i].state != WORKER_IDLE) continue;
        const bool *put = ex->buckets->put + i * layers;
        const unsigned rank = ex->config.comm->first + i;
        size_t there = 0, missing = layers;
        for (size_t l = layers; l-- > 0;) {
            there += put[l];
            if (!put[l]) missing = l;
        }
        if (there && missing < layers)
            return ti_fail(error, TITHE_E_ARGUMENT, missing, "Layer %zu of rank %u was not put.", missing,
                           rank);
        return ti_fail(error, TITHE_E_ARGUMENT, i, "Rank %u was neither put nor skipped.", rank);
    }
    return TITHE_OK;
}

static tithe_status finish_all(tithe_exchange *ex, float *update, double *hidden, tithe_error *error)
{
    const struct exchange_buckets *s = ex->buckets;
    tithe_status status = TITHE_OK;
    if (s->courier) {
        status = ti_courier_await(s->courier, hidden, error);
        if (!status) memcpy(update, s->update, ex->n * sizeof *update);
        return status;
    }
    for (unsigned i = 0; i < s->count && !status; i++) status = send_bucket(&s->all[i], update, error);
    return status;
}

/* The next step begins. */
static void begin_anew(tithe_exchange *ex)
{
    struct exchange_buckets *s = ex->buckets;
    const unsigned local = ex->config.comm->local;
    for (unsigned i = 0; i < local; i++) ex->workers[i].state = WORKER_IDLE;
    memset(s->put, 0, local * ex->config.layer_count * sizeof *s->put);
    for (unsigned i = 0; i < s->count; i++) {
        atomic_store(&s->all[i].missing, local);
        tithe_exchange_totals *of_bucket = &s->all[i].ex->totals;
        ti_counters_add(&ex->totals, of_bucket);
        *of_bucket = (tithe_exchange_totals){.size = sizeof *of_bucket};
    }
    s->served = 0;
    ex->step++;
}

/* Of a step that is not taken only bytes and seconds count. */
static void forget_messages(tithe_exchange_totals *t)
{
    *t = (tithe_exchange_totals){.size = t->size,
                                 .sent_bytes = t->sent_bytes,
                                 .sent_messages = t->sent_messages,
                                 .encode = t->encode,
                                 .wait = t->wait,
                                 .transfer = t->transfer,
                                 .decode = t->decode};
}

/* The step is not taken, by no bucket. */
static void drop(tithe_exchange *ex)
{
    const struct exchange_buckets *s = ex->buckets;
    for (unsigned i = 0; i < s->count; i++) {
        exchange_refusal *r = &s->all[i].ex->refusal;
        if (r->code) {
            ex->refusal = *r;
            if (r->position != REFUSAL_NOWHERE) ex->refusal.position += (uint32_t)s->all[i].begin;
        }
        *r = (exchange_refusal){0};
        ti_refusal_drop(s->all[i].ex, ex->step);
        forget_messages(&s->all[i].ex->totals);
    }
    begin_anew(ex);
}

static tithe_status finish(tithe_exchange *ex, float *update, tithe_error *error)
{
    tithe_error own = {0};
    if (!error) error = &own;
    tithe_status status = expect_everybody(ex, error);
    if (status) return status;
    double hidden = 0;
    status = finish_all(ex, update, &hidden, error);
    ex->totals.overlap += hidden;
    if (status == TITHE_E_SKIPPED) {
        drop(ex);
        return ti_refusal_end(ex, update, error);
    }
    if (status) {
        ex->failed = *error;
        ex->failed.code = status;
        return status;
    }
    ti_exchange_record(ex);
    begin_anew(ex);
    return TITHE_OK;
}

static tithe_status serve(tithe_exchange *ex, tithe_error *error)
{
    struct exchange_buckets *s = ex->buckets;
    const tithe_status status = tithe_exchange_serve(s->all[s->served].ex, error);
    if (status) return status;
    if (s->all[s->served].ex->refusal.code)
        drop(ex); /* the workers send no other bucket of this step */
    else if (++s->served == s->count)
        begin_anew(ex);
    return TITHE_OK;
}

const exchange_kind ti_exchange_buckets = {
    .put = put,
    .put_layer = put_layer,
    .skip = skip,
    .finish = finish,
    .serve = serve,
    .close = close,
    .parts = parts,
    .part = part,
};
