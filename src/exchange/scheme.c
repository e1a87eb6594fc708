/* scheme.c - what all schemes do alike: call codecs, weigh and add messages, and count them. */
#include <string.h>

#include "base/clock.h"
#include "base/family.h"
#include "codec/codec.h"
#include "exchange/exchange.h"

static const tithe_scheme *const schemes[] = {&ti_scheme_dense, &ti_scheme_shards, &ti_scheme_gather,
                                              &ti_scheme_star,  &ti_scheme_artopk, NULL};

const tithe_scheme *const *tithe_schemes(void)
{
    return schemes;
}

static family_row row(size_t i)
{
    return schemes[i] ? (family_row){schemes[i]->name, schemes[i]->params} : (family_row){0};
}

tithe_status tithe_scheme_find(const char *spec, const tithe_scheme **scheme, double *params,
                               tithe_error *error)
{
    static const family all = {.what = "scheme", .also = "auto", .row = row};
    size_t place;
    const tithe_status status = ti_family_find(&all, spec, &place, params, error);
    if (!status) *scheme = schemes[place];
    return status;
}

tithe_call ti_exchange_call(const tithe_exchange *ex, unsigned rank, void *scratch, size_t scratch_size)
{
    return (tithe_call){
        .seed = ex->config.seed,
        .step = ex->step,
        .rank = rank,
        .tensor = ex->tensor,
        .form = TITHE_EXCHANGE,
        .segments = ex->config.layers,
        .segment_count = ex->config.layer_count,
        .scratch = scratch,
        .scratch_size = scratch_size,
    };
}

unsigned ti_exchange_put_here(const tithe_exchange *ex)
{
    unsigned count = 0;
    for (unsigned i = 0; i < ex->config.comm->local; i++) count += ex->workers[i].state == WORKER_PUT;
    return count;
}

/* What cannot be counted here has to be known. */
unsigned ti_exchange_taking_part(const tithe_exchange *ex)
{
    if (!exchange_is_remote(ex)) return ti_exchange_put_here(ex);
    return ex->config.taking_part ? ex->config.taking_part : ex->config.comm->size;
}

bool ti_exchange_scaled(const tithe_exchange *ex)
{
    return ex->config.feedback->scaled || ex->config.feedback->aggregates;
}

/* An aggregate is the mean over all ranks, whoever brings news in this step. */
double ti_exchange_weight(const tithe_exchange *ex, bool scaled)
{
    const unsigned ranks =
        ex->config.feedback->aggregates ? ex->config.comm->size : ti_exchange_taking_part(ex);
    return (scaled ? 1 : ex->gamma) / ranks;
}

bool ti_exchange_sums(const tithe_codec *codec)
{
    const tithe_call call = {0};
    const tithe_quant_call quant = ti_codec_quant_call(codec, &call, 1);
    tithe_claims claims = {0};
    codec->quantizer->claims(&quant, &claims);
    return codec->quantizer->exact && claims.traits & TITHE_SUMMABLE;
}

bool ti_exchange_sums_whole(const tithe_codec *codec)
{
    return codec->selector->source == TITHE_INDICES_ALL && ti_exchange_sums(codec);
}

tithe_status ti_exchange_decode(tithe_exchange *ex, unsigned rank, const uint8_t *frame, size_t length,
                                double weight, float *y, tithe_error *error)
{
    const double start = clock_now();
    tithe_call call = ti_exchange_call(ex, rank, ex->lanes[0].scratch, ex->up.scratch_size);
    call.pool = ex->config.pool;
    const tithe_status status =
        tithe_decode_add(ex->config.codec, &call, frame, length, (float)weight, y, ex->n, error);
    ex->totals.decode += clock_now() - start;
    return status;
}

tithe_status ti_exchange_decode_all(tithe_exchange *ex, double weight, float *y, tithe_error *error)
{
    tithe_status status = TITHE_OK;
    for (unsigned i = 0; i < ex->config.comm->local && !status; i++) {
        const exchange_worker *w = &ex->workers[i];
        if (w->state != WORKER_PUT) continue;
        status =
            ti_exchange_decode(ex, ex->config.comm->first + i, w->frame, w->info.bytes, weight, y, error);
    }
    return status;
}

void ti_exchange_count(tithe_exchange *ex, double down_bytes, double down_paper_bits)
{
    const tithe_exchange_config *c = &ex->config;
    tithe_exchange_totals *t = &ex->totals;
    for (unsigned i = 0; i < c->comm->local; i++) {
        const exchange_worker *w = &ex->workers[i];
        if (w->state != WORKER_PUT) continue;
        const double paper = ex->scheme->paper_bits
                                 ? ex->scheme->paper_bits(ex, i)
                                 : tithe_codec_paper_bits(c->codec, ex->n, w->info.entries);
        t->uplink_bytes += (double)w->info.bytes;
        t->paper_bits += paper;
        t->cost += tithe_cost_of(w->cost, c->count_paper ? paper : 8.0 * (double)w->info.bytes);
    }
    const double down_bits = c->count_paper ? down_paper_bits : 8 * down_bytes;
    t->downlink_bytes += c->comm->local * down_bytes;
    for (unsigned i = 0; i < c->comm->local; i++)
        t->downlink_cost += tithe_cost_of(ex->workers[i].cost, down_bits);
}
