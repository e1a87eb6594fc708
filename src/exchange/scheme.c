/* scheme.c - what all schemes do alike: call codecs, weigh and add messages, and count them. */
#include <math.h>
#include <string.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/family.h"
#include "codec/codec.h"
#include "coll/coll.h"
#include "exchange/exchange.h"

static const tithe_scheme *const schemes[] = {&ti_scheme_dense,
                                              &ti_scheme_shards,
                                              &ti_scheme_gather,
                                              &ti_scheme_star,
                                              &ti_scheme_artopk,
                                              &ti_scheme_switch,
                                              NULL};

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
        .segments = exchange_segments(&ex->up),
        .segment_count = ex->up.segment_count,
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

tithe_status ti_exchange_expect_all(const tithe_exchange *ex, tithe_error *error)
{
    for (unsigned i = 0; i < ex->config.comm->local; i++)
        if (ex->workers[i].state != WORKER_PUT)
            return ti_fail(error, TITHE_E_ARGUMENT, i,
                           "The scheme '%s' needs every rank in every step, and rank %u skips.",
                           ex->scheme->name, ex->config.comm->first + i);
    return TITHE_OK;
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
    if (ti_refusal_note(ex, frame, length)) return TITHE_OK;
    const double start = clock_now();
    tithe_call call = ti_exchange_call(ex, rank, ex->lanes[0].scratch, ex->up.scratch_size);
    call.pool = ex->config.pool;
    const tithe_status status =
        tithe_decode_add(ex->config.codec, &call, frame, length, (float)weight, y, ex->n, error);
    ex->totals.decode += clock_now() - start;
    return status;
}

tithe_status ti_exchange_expect_length(unsigned rank, size_t length, size_t longest, tithe_error *error)
{
    if (length <= longest) return TITHE_OK;
    return ti_fail(error, TITHE_E_CORRUPT, rank,
                   "Rank %u announces a frame of %zu bytes; the longest has %zu.", rank, length, longest);
}

tithe_status ti_exchange_gather_lengths(tithe_exchange *ex, tithe_error *error)
{
    tithe_comm *comm = ex->config.comm;
    for (unsigned r = 0; r < comm->size; r++) {
        ex->blocks[r] = ex->length_bytes + (size_t)r * TITHE_LENGTH_BYTES;
        if (comm_is_local(comm, r)) coll_put_length(ex->blocks[r], ex->lengths[r]);
        ex->lengths[r] = TITHE_LENGTH_BYTES;
    }
    const tithe_status status = tithe_all_gather(comm, ex->collective, ex->blocks, ex->lengths, error);
    for (unsigned r = 0; r < comm->size; r++) ex->lengths[r] = coll_get_length(ex->blocks[r]);
    return status;
}

double ti_exchange_charged(const tithe_exchange *ex, const exchange_worker *w, const tithe_frame_info *info)
{
    return tithe_cost_of(w->cost, ex->config.count_paper ? info->paper_bits : 8 * (double)info->bytes);
}

void ti_exchange_count_up(tithe_exchange *ex, const exchange_worker *w, const tithe_frame_info *info)
{
    ex->totals.uplink_bytes += (double)info->bytes;
    ex->totals.paper_bits += info->paper_bits;
    ex->totals.cost += ti_exchange_charged(ex, w, info);
}

void ti_exchange_count_down(tithe_exchange *ex, const exchange_worker *w, const tithe_frame_info *info)
{
    ex->totals.downlink_bytes += (double)info->bytes;
    ex->totals.downlink_cost += ti_exchange_charged(ex, w, info);
}

void ti_exchange_count_own(tithe_exchange *ex)
{
    for (unsigned i = 0; i < ex->config.comm->local; i++) {
        const exchange_worker *w = &ex->workers[i];
        if (w->state == WORKER_PUT) ti_exchange_count_up(ex, w, &w->info);
    }
}

/* Of what all ranks have, in whole numbers: the first ones take the rest of the division. */
static double part_of(double all, unsigned ranks, unsigned rank)
{
    return floor(all / ranks) + (rank < fmod(all, ranks));
}

void ti_exchange_count_reduced(tithe_exchange *ex)
{
    tithe_rounds list;
    tithe_rounds_start(&list);
    ex->scheme->rounds(&ex->shape, &list);
    const tithe_comm *comm = ex->config.comm;
    ti_exchange_count_own(ex);
    for (unsigned i = 0; i < comm->local; i++)
        for (unsigned e = 0; e < list.length; e++) {
            const tithe_round *round = &list.list[e];
            const double messages = part_of(round->messages, comm->size, comm->first + i);
            ex->totals.downlink_bytes += part_of(round->sent, comm->size, comm->first + i);
            if (messages > 0)
                ex->totals.downlink_cost +=
                    messages * tithe_cost_of(ex->workers[i].cost, 8 * ceil(round->sent / round->messages));
        }
}
