/* scheme_artopk.c - AR-Top-k: one rank's indices for all, so that values can be summed by an all-reduce. Key: tyagi2023artopk.
 *
 * Every rank forms G = e + gamma*g. A leader is chosen (leader.h), and its top-k indices are broadcast. Every rank takes
 * G at these indices, clears what it keeps there, and the values are summed, divided by N and applied.
 *
 * Under a tuner the level is the leader's: the one that it names for the leader's own vector and message. Its frame of
 * indices says how many there are, and so nobody else has to know.
 *
 * Counted as uplink, for each rank, is the frame given|raw of its values, and for the leader its index frame besides:
 * together one message. The paper counts 32 bits for a value, 32 for an index of the leader, and under variance 32 for
 * the energy of each rank. The way back is what the rounds bring. What moves is in
 * sent_bytes: values and partial sums without headers, the broadcast, and the gathered energies. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "codec/codec.h"
#include "coll/coll.h"
#include "exchange/artopk.h"
#include "kernels/kernels.h"

enum { ENERGY_BYTES = 8, MAX_STATS = 2 };

enum { LEADER };
static const tithe_param params[] = {
    [LEADER] = {.name = "leader",
                .doc = "whose indices are taken, see `tithe list leaders`",
                .fallback = 0,
                .min = 0,
                .max = 2,
                .choices = "round-robin|variance|auto"}, /* the table of leaders */
    {.name = NULL},
};

/* ---- what it can be used with --------------------------------------------------------------------------- */

static const char *default_collective(const tithe_exchange_config *config, size_t n)
{
    (void)n;
    return ti_exchange_sums(config->codec) ? "ring" : "direct";
}

static const char *refuse(const tithe_exchange_config *config)
{
    const tithe_selector *s = config->codec->selector;
    if (s->picks != TITHE_PICKS_LARGEST || s->absolute ||
        config->codec->quantizer->common != TITHE_COMMON_NOTHING)
        return "The scheme 'artopk' takes `codec=topk:keep=X` or topk:k=K, or mstopk, with raw, bf16, "
               "natural "
               "or f16 values.";
    if (!config->tuner->tunes && !config->codec->has_level)
        return "The scheme 'artopk' needs a level: write topk:keep=X or topk:k=K, or take `tuner=cat`.";
    if (config->shared_level)
        return "The level of the leader is everybody's under the scheme 'artopk': leave `level` out.";
    if (!config->feedback || !config->feedback->keeps || !config->feedback->scaled)
        return "The scheme 'artopk' sends only what the leader selected, so the rest must be kept: take "
               "`feedback=ec`.";
    if (config->downlink)
        return "The scheme 'artopk' has no way back of its own: take `scheme=star` for `downlink`.";
    if (config->taking_part && config->taking_part < config->comm->size)
        return "The scheme 'artopk' needs every rank in every step: leave `clients` out.";
    if (!ti_exchange_sums(config->codec) && config->collective && strcmp(config->collective, "auto") != 0 &&
        strcmp(config->collective, default_collective(config, 0)) != 0)
        return "Under 'artopk' values that are not raw are summed by their owners: take `collective=direct`.";
    return NULL;
}

/* ---- memory --------------------------------------------------------------------------------------------- */

static void close(tithe_exchange *ex)
{
    artopk *a = ex->own;
    if (!a) return;
    for (unsigned i = 0; a->values && i < ex->config.comm->local; i++) free(a->values[i]);
    tithe_codec_free(a->given);
    tithe_codec_free(a->part);
    free(a->values);
    free(a->indices);
    free(a->stats);
    free(a->energies);
    free(a->selected);
    free(a->frames);
    free(a);
    ex->own = NULL;
}

static tithe_status open(tithe_exchange *ex, tithe_error *error)
{
    const tithe_comm *comm = ex->config.comm;
    artopk *a = ex->own = calloc(1, sizeof *a);
    if (!a) return ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory for the scheme 'artopk'.");
    a->leader.asked = tithe_leaders()[(size_t)ex->scheme_params[LEADER]];
    a->room = ex->up.tuner->tunes ? ex->n : ti_codec_max_count(ex->config.codec, ex->n);
    a->indices = calloc(a->room + 16, sizeof *a->indices);
    a->stats = calloc(comm->size, MAX_STATS * ENERGY_BYTES);
    a->energies = calloc(comm->size, sizeof *a->energies);
    a->selected = calloc(comm->local + 1, sizeof *a->selected);
    if (!a->indices || !a->stats || !a->energies || !a->selected)
        return ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory for %zu indices.", a->room);
    const tithe_status status = tithe_codec_create("given|raw", NULL, &a->given, error);
    return status ? status : ti_artopk_open_values(ex, a, error);
}

/* ---- what a leader's message is counted as ------------------------------------------------------------------ */

/* The frame of its indices is one without values. */
static double without_values(size_t length, const tithe_codec *codec, size_t count)
{
    const tithe_quant_call quant = ti_codec_quant_call(codec, &(tithe_call){0}, count);
    return (double)(length - bytes_of_bits(codec->quantizer->max_bits(&quant)));
}

/* For the paper: a value, an index of the leader, and the energy that a leader is chosen by have 32 bits each. */
static double papers_count(const artopk *a, double values, bool leads)
{
    return 32 * (values * (leads ? 2 : 1) + (!a->rule->known));
}

/* What a tuner weighs: indices and values, of so many entries. */
static double leader_bits(const tithe_tuner_call *c, double entries)
{
    const artopk *a = c->context;
    if (c->count_paper) return papers_count(a, entries, true);
    const size_t count = (size_t)entries;
    const size_t own = tithe_codec_length(c->codec, c->n, count, TITHE_EXCHANGE);
    return 8 * (without_values(own, c->codec, count) +
                (double)tithe_codec_length(a->given, c->n, count, TITHE_EXCHANGE));
}

/* The same of this step's, whoever led it. */
static double leader_cost(const tithe_exchange *ex, const artopk *a)
{
    const tithe_exchange_config *config = &ex->config;
    const tithe_tuner_call c = {
        .codec = config->codec, .n = ex->n, .count_paper = config->count_paper, .context = a};
    return tithe_cost_of(config->rank_costs ? config->rank_costs[a->who] : config->cost,
                         leader_bits(&c, (double)a->count));
}

/* ---- who leads ------------------------------------------------------------------------------------------ */

static uint8_t *stats_of(const artopk *a, unsigned rank)
{
    return a->stats + (size_t)rank * MAX_STATS * ENERGY_BYTES;
}

static tithe_status choose_level(tithe_exchange *ex, const artopk *a, exchange_worker *w,
                                 const exchange_lane *lane, tithe_call *call, double *cost,
                                 tithe_error *error)
{
    *cost = 1;
    if (!ex->up.tuner->tunes) return TITHE_OK;
    tithe_tuner_call c = ti_exchange_tuner_call(&ex->up, w, lane, w->residual, ex->gamma);
    c.bits = leader_bits;
    c.context = a;
    return ti_exchange_choose_level(&ex->up, w, &c, call, cost, error);
}

/* The indices that this rank would have all ranks take, as a frame, and how much energy they carry; under a tuner for what
 * its message costs, since another rank's may be longer. */
static tithe_status select_top(tithe_exchange *ex, void *own, unsigned i, exchange_lane *lane,
                               tithe_error *error)
{
    artopk *a = own;
    const unsigned rank = ex->config.comm->first + i;
    if ((a->rule->known && rank != a->who) || ex->workers[i].refusal.code) return TITHE_OK;
    tithe_call call = ti_exchange_call(ex, rank, lane->scratch, ex->up.scratch_size);
    const float *x = ex->workers[i].residual;
    double cost;
    tithe_selection s;
    tithe_status status = choose_level(ex, a, &ex->workers[i], lane, &call, &cost, error);
    if (!status) status = ti_codec_select(ex->config.codec, &call, x, ex->n, &s, error);
    if (status) return status;
    a->selected[i] =
        ti_index_frame_write(ex->config.codec, &call, s.indices, s.count, ex->n, ex->workers[i].frame);
    double energy = 0;
    for (size_t j = 0; j < s.count; j++) energy += (double)x[s.indices[j]] * (double)x[s.indices[j]];
    put_f64(stats_of(a, rank), energy / cost);
    return TITHE_OK;
}

/* A collective that only adds leaves gathering to the ring. */
static const tithe_collective *gathers_by(const tithe_collective *asked)
{
    return asked->gather ? asked : &ti_coll_ring;
}

/* Energies of all ranks to all. Under auto the whole energy too, against which a gain is measured. */
static tithe_status gather_stats(tithe_exchange *ex, artopk *a, tithe_error *error)
{
    tithe_comm *comm = ex->config.comm;
    const bool measures = a->leader.asked->measures;
    if (a->rule->known && !measures) return TITHE_OK;
    for (unsigned i = 0; measures && i < comm->local; i++)
        put_f64(stats_of(a, comm->first + i) + ENERGY_BYTES,
                ti_kernels()->sum_squares(ex->workers[i].residual, ex->n));
    uint8_t *const fresh = a->stats + (measures ? ENERGY_BYTES : 0); /* of all ranks in every step */
    for (unsigned i = 0; i < comm->local; i++)
        if (ex->workers[i].refusal.code) put_f64(fresh + (stats_of(a, comm->first + i) - a->stats), NAN);
    for (unsigned r = 0; r < comm->size; r++) {
        ex->blocks[r] = stats_of(a, r);
        ex->lengths[r] = measures ? 2 * ENERGY_BYTES : ENERGY_BYTES;
    }
    ex->shape.statistics = (double)ex->lengths[0];
    const tithe_status status =
        tithe_all_gather(comm, gathers_by(ex->collective), ex->blocks, ex->lengths, error);
    if (status) return status;
    for (unsigned r = 0; r < comm->size; r++) {
        a->energies[r] = get_f64(stats_of(a, r));
        if (isnan(get_f64(fresh + (stats_of(a, r) - a->stats)))) return ti_refusal_ask(ex, true, error);
    }
    return TITHE_OK;
}

static tithe_status choose_leader(tithe_exchange *ex, artopk *a, tithe_error *error)
{
    const unsigned size = ex->config.comm->size;
    a->rule = ti_leader_next(&a->leader);
    if (a->rule->known) a->who = a->rule->choose(&a->leader, NULL, size);
    tithe_status status = ti_exchange_each(ex, select_top, a, error);
    if (!status) status = gather_stats(ex, a, error);
    if (!status && !ex->refusal.code) a->who = a->rule->choose(&a->leader, a->energies, size);
    return status;
}

/* A leader that refuses has a frame that says so. */
static tithe_status share_indices(tithe_exchange *ex, artopk *a, tithe_error *error)
{
    tithe_comm *comm = ex->config.comm;
    const bool here = comm_is_local(comm, a->who);
    a->index_bytes = here ? a->selected[a->who - comm->first] : 0;
    if (here && ex->workers[a->who - comm->first].refusal.code)
        a->index_bytes = ex->workers[a->who - comm->first].info.bytes;
    for (unsigned i = 0; i < comm->local; i++)
        ex->blocks[i] = ex->workers[here ? a->who - comm->first : i].frame;
    tithe_status status = tithe_broadcast(comm, a->who, ex->blocks, ex->up.capacity, &a->index_bytes, error);
    if (status || ti_refusal_note(ex, ex->blocks[0], a->index_bytes)) return status;
    const tithe_call call = ti_exchange_call(ex, a->who, NULL, 0);
    return ti_index_frame_read(ex->config.codec, &call, ex->blocks[0], a->index_bytes, ex->n, a->room,
                               a->indices, &a->count, error);
}

/* |sum of the values|^2 / (N sum |G_r|^2): at most 1, and 1 only if all ranks wanted the same and all of it was sent. Where the
 * level is tuned, for what the leader's message cost. */
static double gain_of(const tithe_exchange *ex, const artopk *a)
{
    if (!a->leader.asked->measures) return 0;
    double whole = 0, applied = 0;
    for (unsigned r = 0; r < ex->config.comm->size; r++) whole += get_f64(stats_of(a, r) + ENERGY_BYTES);
    for (size_t j = 0; j < a->count; j++) applied += (double)a->values[0][j] * (double)a->values[0][j];
    if (!(whole > 0)) return 0;
    return applied / (ex->config.comm->size * whole) / (ex->up.tuner->tunes ? leader_cost(ex, a) : 1);
}

/* ---- a step --------------------------------------------------------------------------------------------- */

static void describe(tithe_exchange *ex, const artopk *a)
{
    const size_t own = tithe_codec_length(a->given, ex->n, a->count, TITHE_EXCHANGE);
    for (unsigned i = 0; i < ex->config.comm->local; i++) {
        exchange_worker *w = &ex->workers[i];
        const bool leads = ex->config.comm->first + i == a->who;
        w->info = (tithe_frame_info){.bytes = own + (leads ? a->index_bytes : 0),
                                     .entries = a->count,
                                     .paper_bits = papers_count(a, (double)a->count, leads)};
        w->reason = a->rule->name;
        if (!ex->config.measure) continue;
        w->unsent = ti_kernels()->sum_squares(w->residual, ex->n);
        w->sent = fmax(0, w->energy - w->unsent); /* a projection, but for what owners lose of their sums */
    }
    ex->last.leader = (int)a->who;
    ex->shape.indices = (double)a->index_bytes;
    ex->shape.values = (double)a->count;
    ex->shape.quantized = a->part != NULL;
    ex->shape.parts.lengths = ex->lengths; /* of the last gather, which was theirs */
}

static tithe_status run(tithe_exchange *ex, float *update, tithe_error *error)
{
    artopk *a = ex->own;
    tithe_status status = ti_exchange_expect_all(ex, error);
    if (!status) status = choose_leader(ex, a, error);
    if (!status && !ex->refusal.code) status = share_indices(ex, a, error);
    if (!status && !ex->refusal.code) {
        ti_artopk_take(ex, a);
        status = ti_artopk_sum(ex, a, error);
    }
    if (status || ex->refusal.code) return status;
    const double weight = ti_exchange_weight(ex, true);
    if (ex->n) memset(update, 0, ex->n * sizeof *update);
    for (size_t j = 0; j < a->count; j++) update[a->indices[j]] = (float)(weight * (double)a->values[0][j]);
    describe(ex, a);
    ti_leader_learn(&a->leader, a->rule, gain_of(ex, a));
    ti_exchange_count_reduced(ex);
    return TITHE_OK;
}

/* Who led, and what it gained. */
static size_t learned(const tithe_exchange *ex, double *numbers)
{
    const artopk *a = ex->own;
    return ti_leader_save(&a->leader, numbers);
}

static void relearn(tithe_exchange *ex, const double *numbers)
{
    artopk *a = ex->own;
    ti_leader_load(&a->leader, numbers);
}

static void foretell(const tithe_exchange_config *config, size_t n, tithe_step_shape *shape)
{
    const tithe_codec *codec = config->codec;
    const size_t count = ti_codec_stated_count(codec, n);
    shape->indices = without_values(ti_codec_expected_length(codec, n), codec, count);
    shape->values = (double)count;
    shape->quantized = !ti_exchange_sums(codec);
    if (shape->quantized) shape->parts.length = ti_artopk_part_length(codec, count, shape->ranks);
}

/* What a leader is chosen from, the broadcast of its indices, and the sum of the values. */
static void rounds(const tithe_step_shape *shape, tithe_rounds *list)
{
    const tithe_blocks statistics = {.count = shape->ranks, .length = shape->statistics};
    if (shape->statistics > 0) gathers_by(shape->collective)->gather_rounds(&statistics, list);
    tithe_broadcast_rounds(shape->ranks, shape->indices, list);
    if (shape->quantized) {
        ti_direct_scatter_rounds(shape->ranks, shape->values, list);
        ti_coll_ring.gather_rounds(&shape->parts, list);
    } else {
        shape->collective->reduce_rounds(shape->ranks, shape->values, list);
    }
    list->formed += 1;
    list->encoded += 1; /* the leader selects, and everybody takes its values out and the sums in */
    list->decoded += 2;
}

static const char *const collectives[] = {"ring", "tree", "star", "direct", "native", NULL};

const tithe_scheme ti_scheme_artopk = {
    .name = "artopk",
    .summary = "AR-Top-k: one rank's indices for all, and an all-reduce of the values",
    .paper = "tyagi2023artopk",
    .params = params,
    .forms = true,
    .led = true,
    .collectives = collectives,
    .collective = default_collective,
    .refuse = refuse,
    .open = open,
    .close = close,
    .run = run,
    .foretell = foretell,
    .rounds = rounds,
    .learned = learned,
    .relearn = relearn,
};
