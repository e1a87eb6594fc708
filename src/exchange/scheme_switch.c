/* scheme_switch.c - vectors go to a switch as whole numbers, and it sends their sum to all: aggregation inside the network. Keys:
 * horvath2022natural, sapio2021.
 *
 * Every rank forms x, ranks agree on scales by their maxima, each writes its x in units of these scales (codec/integers.h), and the
 * switch adds. What a rank could not write stays with its feedback. Under `natural` the switch rounds the sum to powers of
 * two: it is the compressor C_M of the way back, and keeps no residual. A rank that refuses its gradient proposes a scale that none
 * can have; that is the largest, so all ranks get it, and no sum begins (refusal.h). Without a switch that was attached to the group
 * (tithe_switch_attach) one is simulated, where all ranks are in this process.
 *
 * Counted as uplink is what a rank sends in packets, as downlink what comes back to it; packets that were lost and sent again are
 * not counted, since that happens by the clock. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "codec/integers.h"
#include "exchange/exchange.h"

enum { MAX_ROUNDS = 2 };

typedef struct switching {
    const struct quant_integers *how;
    void *simulated; /* NULL: the group has a switch */
    size_t scales;   /* of a round */
    unsigned rounds;
    uint32_t *agreed;   /* of all rounds */
    uint32_t *proposed; /* by each local rank */
    uint8_t **codes;    /* of each local rank */
    uint8_t *sums;
    unsigned round; /* that ranks propose for */
    float **whole;  /* vectors before they were written, where a switch may be lost; NULL: it is simulated */
    bool written;
} switching;

/* ---- what it can be used with ------------------------------------------------------------------------------ */

static const struct quant_integers *integers_of(const tithe_codec *codec)
{
    return codec->selector->source == TITHE_INDICES_ALL ? codec->quantizer->integers : NULL;
}

static const char *refuse(const tithe_exchange_config *config)
{
    const struct quant_integers *how = integers_of(config->codec);
    if (!how)
        return "The scheme 'switch' adds whole numbers: take `codec=all|natural`, all|dither or all|int32.";
    const char *why = how->refuse(config->codec->quantizer_params);
    if (why) return why;
    if (config->tuner->tunes || !config->codec->has_level)
        return "Under the scheme 'switch' all ranks have one level: write it into `codec`, as "
               "all|dither:s=7.";
    if (config->feedback && config->feedback->aggregates)
        return "Under ef21 a sum that the switch rounds would let the ranks drift apart: take `feedback=ec`.";
    if (config->downlink && config->downlink != config->codec)
        return "The scheme 'switch' sends back what the switch makes of the sum: leave `downlink` out.";
    if (config->taking_part && config->comm && config->taking_part < config->comm->size)
        return "The scheme 'switch' needs every rank in every step: leave `clients` out.";
    if (config->comm && !config->comm->aggregator && config->comm->local &&
        config->comm->local < config->comm->size) /* a server without ranks needs none */
        return "The scheme 'switch' needs to know where the switch is: start one with `tithe switch`, and "
               "take "
               "`switch` HOST:PORT.";
    if (config->comm && config->comm->size > PACKET_WORKERS)
        return "A switch adds for up to 1024 ranks: take another scheme.";
    return NULL;
}

/* Without a contraction what is kept could grow: the norm is the largest of all ranks, and one whose own is small gets little
 * of its vector through. */
static tithe_status expect_contraction(const tithe_exchange *ex, tithe_error *error)
{
    const tithe_codec *codec = ex->config.codec;
    if (!ex->config.feedback->contracts || codec->contractive ||
        codec->quantizer->common == TITHE_COMMON_NOTHING ||
        ti_codec_claims(codec, ex->n).omega * ex->config.comm->size < 1)
        return TITHE_OK;
    return ti_fail(error, TITHE_E_SPEC, 0,
                   "%s has a scale that all ranks share, and under %s what is kept would blow up: write "
                   "scale=contractive.",
                   tithe_codec_spec(codec), ex->config.feedback->name);
}

/* ---- memory ------------------------------------------------------------------------------------------------ */

static integers_call call_of(const tithe_exchange *ex, unsigned rank)
{
    const switching *s = ex->own;
    const tithe_call call = ti_exchange_call(ex, rank, NULL, 0);
    return (integers_call){.quant = ti_codec_quant_call(ex->config.codec, &call, ex->n),
                           .ranks = ex->config.comm->size,
                           .scales = s->agreed,
                           .measure = ex->config.measure};
}

static void close(tithe_exchange *ex)
{
    switching *s = ex->own;
    if (!s) return;
    for (unsigned i = 0; s->codes && i < ex->config.comm->local; i++) free(s->codes[i]);
    for (unsigned i = 0; s->whole && i < ex->config.comm->local; i++) free(s->whole[i]);
    if (s->simulated) ti_aggregator_simulated.close(s->simulated);
    free(s->agreed);
    free(s->proposed);
    free(s->codes);
    free(s->whole);
    free(s->sums);
    free(s);
    ex->own = NULL;
}

/* Numbers that ranks agree on, as packets have them. */
static agg_reduction scales_of(const switching *s)
{
    const uint8_t bits = s->how->scale_bits;
    return (agg_reduction){.operation = OPERATION_MAX,
                           .up = bits,
                           .down = bits,
                           .most = (uint32_t)((UINT64_C(1) << bits) - 1),
                           .n = s->scales};
}

static tithe_status open_simulated(tithe_exchange *ex, switching *s, tithe_error *error)
{
    const unsigned size = ex->config.comm->size;
    const tithe_status status = ti_simulated_switch(size, &s->simulated, error);
    return status ? status : ti_aggregator_simulated.join(s->simulated, 1, size, 0, size, 0, error);
}

static tithe_status open(tithe_exchange *ex, tithe_error *error)
{
    const unsigned local = ex->config.comm->local;
    bool enough = true;
    tithe_status status = expect_contraction(ex, error);
    if (status) return status;
    switching *s = ex->own = calloc(1, sizeof *s);
    if (!s) return ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory for the scheme 'switch'.");
    s->how = integers_of(ex->config.codec);
    integers_call c = call_of(ex, 0);
    s->rounds = s->how->rounds(&c);
    s->scales = s->how->scales(&c);
    const agg_reduction sum = s->how->shape(&c);
    s->agreed = exchange_room(MAX_ROUNDS * s->scales, sizeof *s->agreed, &enough);
    s->proposed = exchange_room(local * s->scales, sizeof *s->proposed, &enough);
    s->codes = exchange_room(local, sizeof *s->codes, &enough);
    const size_t longest = (ex->n > s->scales ? ex->n : s->scales) * sizeof(uint32_t);
    for (unsigned i = 0; enough && i < local; i++)
        s->codes[i] = exchange_room((sum.n * sum.up + 7) / 8 + s->scales * sizeof(uint32_t), 1, &enough);
    s->sums = exchange_room(longest, 1, &enough);
    if (ex->config.comm->aggregator) s->whole = exchange_room(local, sizeof *s->whole, &enough);
    for (unsigned i = 0; s->whole && i < local; i++)
        s->whole[i] = exchange_room(ex->n, sizeof(float), &enough);
    if (!enough) return ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory for %zu sums.", ex->n);
    return ex->config.comm->aggregator || !local ? TITHE_OK : open_simulated(ex, s, error);
}

/* ---- a step ------------------------------------------------------------------------------------------------ */

static packet_limits limits_of(const tithe_exchange *ex)
{
    const switching *s = ex->own;
    const tithe_comm *comm = ex->config.comm;
    return s->simulated ? ti_aggregator_simulated.limits(s->simulated)
                        : comm->aggregator->limits(comm->aggregator_self);
}

static float *vector_of(const tithe_exchange *ex, unsigned i)
{
    return ex->vectors ? ex->vectors[i] : ex->workers[i].residual;
}

/* Do ranks ask each other after a step whether all have their sums? Where another scheme is at hand, and they are apart. */
static bool asks(const tithe_comm *comm, bool lets_go)
{
    return lets_go && comm && comm->aggregator && comm->local < comm->size;
}

static bool is_lost(const tithe_exchange *ex)
{
    const switching *s = ex->own;
    return !s->simulated && ex->config.comm->lost;
}

/* All ranks' codes become sums, and what that took is noted. */
static tithe_status reduce(tithe_exchange *ex, const agg_reduction *r, tithe_error *error)
{
    switching *s = ex->own;
    tithe_comm *comm = ex->config.comm;
    const packet_limits limits = limits_of(ex);
    const packet_cut cut = reduction_cut(r, &limits);
    const uint8_t *const *up = (const uint8_t *const *)s->codes;
    const tithe_status status = s->simulated
                                    ? ti_aggregator_simulated.reduce(s->simulated, r, up, s->sums, 0, error)
                                    : ti_comm_reduce(comm, r, up, s->sums, ex->lets_go, error);
    if (status) return status;
    ti_comm_count(comm, (uint64_t)2 * cut.packets * comm->local, (cut.up + cut.down) * comm->local);
    tithe_step_shape *shape = &ex->shape;
    shape->reduced[shape->reductions++] = (tithe_reduced){
        .up = (double)cut.up, .down = (double)cut.down, .last = (double)cut.last, .packets = cut.packets};
    return TITHE_OK;
}

/* Larger than any scale, so that all ranks get it: somebody refuses. */
static uint32_t refusal_of(const switching *s)
{
    return scales_of(s).most;
}

static tithe_status propose(tithe_exchange *ex, void *own, unsigned i, exchange_lane *lane,
                            tithe_error *error)
{
    (void)lane;
    (void)error; /* a vector that has no scale is a refusal */
    const switching *s = own;
    exchange_worker *w = &ex->workers[i];
    const unsigned rank = ex->config.comm->first + i;
    const integers_call c = call_of(ex, rank);
    uint32_t *numbers = s->proposed + i * s->scales;
    tithe_error why = {0};
    const tithe_status status =
        w->refusal.code ? TITHE_OK : s->how->propose(&c, s->round, vector_of(ex, i), numbers, &why);
    if (status) w->refusal = ti_refusal_of(rank, false, status, &why);
    for (size_t j = 0; j < s->scales; j++) {
        const uint32_t number = w->refusal.code ? refusal_of(s) : numbers[j];
        if (s->how->scale_bits == 8)
            s->codes[i][j] = (uint8_t)number;
        else
            put_u32(s->codes[i] + 4 * j, number);
    }
    return TITHE_OK;
}

/* The scales of all. Where a rank refuses everybody gets its mark, and no slot waits for a sum that it would be part of. */
static tithe_status agree(tithe_exchange *ex, switching *s, bool *refused, tithe_error *error)
{
    const agg_reduction r = scales_of(s);
    tithe_status status = TITHE_OK;
    *refused = false;
    for (s->round = 0; s->round < s->rounds && !status && !*refused; s->round++) {
        uint32_t *agreed = s->agreed + s->round * s->scales;
        status = ti_exchange_each(ex, propose, s, error);
        if (!status) status = reduce(ex, &r, error);
        for (size_t j = 0; j < s->scales && !status; j++) {
            agreed[j] = s->how->scale_bits == 8 ? s->sums[j] : get_u32(s->sums + 4 * j);
            *refused |= agreed[j] == refusal_of(s);
        }
    }
    return status;
}

static tithe_status encode(tithe_exchange *ex, void *own, unsigned i, exchange_lane *lane, tithe_error *error)
{
    (void)lane;
    (void)error;
    const switching *s = own;
    exchange_worker *w = &ex->workers[i];
    const integers_call c = call_of(ex, ex->config.comm->first + i);
    if (s->whole && ex->lets_go && ex->n) memcpy(s->whole[i], vector_of(ex, i), ex->n * sizeof(float));
    w->sent = s->how->encode(&c, vector_of(ex, i), s->codes[i]);
    return TITHE_OK;
}

/* Where the random numbers of the switch begin: as a server's, they are those of the rank behind the last. */
static uint64_t draw_of(const tithe_exchange *ex)
{
    const tithe_key key = call_of(ex, ex->config.comm->size).quant.key;
    return rng_mix(key.a + key.b);
}

static void describe(tithe_exchange *ex)
{
    double up = 0, down = 0;
    for (unsigned r = 0; r < ex->shape.reductions; r++) {
        up += ex->shape.reduced[r].up;
        down += ex->shape.reduced[r].down;
    }
    tithe_frame_info info = {.bytes = (size_t)up, .entries = ex->n};
    info.paper_bits = tithe_codec_paper_bits(ex->config.codec, ex->n, ex->n);
    if (is_lost(ex)) info = (tithe_frame_info){0};
    for (unsigned i = 0; i < ex->config.comm->local; i++) {
        exchange_worker *w = &ex->workers[i];
        w->info = info;
        if (ex->config.measure) w->unsent = ti_exchange_squares(vector_of(ex, i), ex->n);
    }
    ti_exchange_count_own(ex);
    const tithe_frame_info back = {
        .bytes = (size_t)down, .entries = info.entries, .paper_bits = info.paper_bits};
    for (unsigned i = 0; i < ex->config.comm->local; i++) ti_exchange_count_down(ex, &ex->workers[i], &back);
}

/* Scales and sums, of which none is used yet. */
static tithe_status reduce_all(tithe_exchange *ex, bool *refused, tithe_error *error)
{
    switching *s = ex->own;
    s->written = *refused = false;
    tithe_status status = s->simulated ? TITHE_OK : ti_comm_join_switch(ex->config.comm, ex->lets_go, error);
    if (!status) status = agree(ex, s, refused, error);
    if (status || *refused) return status;
    status = ti_exchange_each(ex, encode, s, error);
    s->written = true;
    const integers_call c = call_of(ex, 0);
    agg_reduction r = s->how->shape(&c);
    r.draw = s->how->rounds_sums ? draw_of(ex) : 0;
    return status ? status : reduce(ex, &r, error);
}

/* The switch is lost: nothing was sent, so that all of it is kept. Whoever steers takes another scheme for the next step. */
static void keep_all(tithe_exchange *ex, float *update)
{
    const switching *s = ex->own;
    for (unsigned i = 0; i < ex->config.comm->local && ex->n; i++) {
        if (s->written) memcpy(vector_of(ex, i), s->whole[i], ex->n * sizeof(float));
        ex->workers[i].sent = 0;
    }
    if (ex->n) memset(update, 0, ex->n * sizeof *update);
    ex->shape.reductions = 0;
    describe(ex);
}

static tithe_status go_nowhere(tithe_exchange *ex, float *update, tithe_error *error)
{
    if (!ex->lets_go)
        return ti_fail(error, TITHE_E_PEER, 0, "%s: open another exchange, with another scheme.",
                       ex->config.comm->lost_as);
    const tithe_status status = ti_refusal_ask(ex, false, error); /* what is not finite is not kept */
    if (!status && !ex->refusal.code) keep_all(ex, update);
    return status;
}

static tithe_status run(tithe_exchange *ex, float *update, tithe_error *error)
{
    switching *s = ex->own;
    bool refused = false;
    tithe_error own = {0};
    ex->shape.reductions = 0;
    ex->shape.lets_go = false;
    s->written = false;
    tithe_status status = ti_exchange_expect_all(ex, error);
    if (!status && !is_lost(ex)) { /* by another bucket of this step, or by another exchange */
        ex->shape.lets_go = asks(ex->config.comm, ex->lets_go);
        status = reduce_all(ex, &refused, &own);
        if (!s->simulated && ex->lets_go) status = ti_comm_agree_on_switch(ex->config.comm, status, &own);
        if (status && error) *error = own;
    }
    if (!status && is_lost(ex)) return go_nowhere(ex, update, error);
    if (!status && refused) status = ti_refusal_ask(ex, true, error);
    if (status || refused) return status;
    const double start = clock_now();
    const integers_call c = call_of(ex, 0);
    s->how->decode(&c, s->sums, (float)ti_exchange_weight(ex, ti_exchange_scaled(ex)), update);
    ex->totals.decode += clock_now() - start;
    describe(ex);
    return TITHE_OK;
}

/* ---- what it takes ----------------------------------------------------------------------------------------- */

static void foretell_one(const agg_reduction *r, const packet_limits *limits, tithe_step_shape *shape)
{
    const packet_cut cut = reduction_cut(r, limits);
    shape->reduced[shape->reductions++] = (tithe_reduced){
        .up = (double)cut.up, .down = (double)cut.down, .last = (double)cut.last, .packets = cut.packets};
}

/* Packets as Ethernet carries them, without a tag: of the path nothing is known yet. */
static void foretell(const tithe_exchange_config *config, size_t n, tithe_step_shape *shape)
{
    const packet_limits limits = {.datagram = PACKET_ETHERNET, .values = 65528};
    const switching s = {.how = integers_of(config->codec)};
    const integers_call c = {.quant = ti_codec_quant_call(config->codec, &(tithe_call){0}, n),
                             .ranks = shape->ranks};
    switching known = s;
    known.scales = s.how->scales(&c);
    const agg_reduction scales = scales_of(&known), sums = s.how->shape(&c);
    shape->reductions = 0;
    shape->lets_go = asks(config->comm, shape->lets_go);
    for (unsigned r = 0; r < s.how->rounds(&c); r++) foretell_one(&scales, &limits, shape);
    foretell_one(&sums, &limits, shape);
}

/* Every rank has a link of its own to the switch. Sums come back while later packets go there, so that only the last of them
 * takes time besides; the slots are many enough for that. */
static void rounds(const tithe_step_shape *shape, tithe_rounds *list)
{
    for (unsigned i = 0; i < shape->reductions; i++) {
        const tithe_reduced *r = &shape->reduced[i];
        const double messages = shape->ranks * r->packets;
        tithe_rounds_add(list, (tithe_round){1, r->up, shape->ranks * r->up, messages, TITHE_ALL_SEND});
        tithe_rounds_add(list, (tithe_round){1, r->last, shape->ranks * r->down, messages, TITHE_FROM_ONE});
    }
    if (shape->lets_go) ti_comm_fold_rounds(shape->ranks, shape->server_apart, 1, list);
    list->formed += 1;
    list->encoded += 1;
    list->decoded += 1;
}

static const char *const collectives[] = {"star", NULL};

const tithe_scheme ti_scheme_switch = {
    .name = "switch",
    .summary = "whole numbers, which a switch adds on their way",
    .paper = "horvath2022natural",
    .forms = true,
    .integers = true,
    .collectives = collectives,
    .refuse = refuse,
    .open = open,
    .close = close,
    .run = run,
    .foretell = foretell,
    .rounds = rounds,
};
