/* artopk_values.c - the values at the leader's indices, summed over all ranks.
 *
 * Raw values go through an all-reduce, whichever. Others would be rounded at every hop of a ring, so the ranks own parts
 * instead: raw values go to the owner, which adds them in rank order, quantizes the sum once, keeps in its own residual
 * what the quantizer lost, and sends the frame to all. So nothing is lost either way: N times what is applied, plus all
 * residuals, stays the sum of all gamma * g up to the rounding of floats. */
#include <math.h>
#include <stdlib.h>

#include "codec/codec.h"
#include "coll/coll.h"
#include "exchange/artopk.h"

static const tithe_selector *selector_of_all(void)
{
    for (const tithe_selector *const *s = tithe_selectors(); *s; s++)
        if ((*s)->source == TITHE_INDICES_ALL) return *s;
    return NULL;
}

/* A part may begin elsewhere in each step, but is never longer than this. */
static size_t longest_part(const tithe_exchange *ex, const artopk *a)
{
    return coll_part(a->room, ex->config.comm->size, 0);
}

double ti_artopk_part_length(const tithe_codec *codec, size_t count, unsigned ranks)
{
    const size_t max = coll_part(count, ranks, 0);
    tithe_codec part = *codec;
    part.selector = selector_of_all();
    return (double)tithe_codec_length(&part, max, max, TITHE_EXCHANGE);
}

tithe_status ti_artopk_open_values(tithe_exchange *ex, artopk *a, tithe_error *error)
{
    const tithe_comm *comm = ex->config.comm;
    const tithe_codec *codec = ex->config.codec;
    bool enough = true;
    a->values = calloc(comm->local + 1, sizeof *a->values);
    for (unsigned i = 0; a->values && i < comm->local; i++)
        enough &= (a->values[i] = calloc(a->room + 1, sizeof(float))) != NULL;
    if (!ti_exchange_sums(codec)) {
        const tithe_codec_options options = {.contractive = codec->contractive};
        const tithe_status status = tithe_codec_make(selector_of_all(), NULL, codec->quantizer,
                                                     codec->quantizer_params, &options, &a->part, error);
        if (status) return status;
        a->frame_room = tithe_codec_bound(a->part, longest_part(ex, a));
        enough &= (a->frames = calloc(comm->size, a->frame_room + 1)) != NULL;
    }
    if (a->values && enough) return TITHE_OK;
    return ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory for the values of %u ranks.",
                   comm->local);
}

void ti_artopk_take(tithe_exchange *ex, artopk *a)
{
    for (unsigned i = 0; i < ex->config.comm->local; i++)
        for (size_t j = 0; j < a->count; j++) {
            float *kept = ex->workers[i].residual + a->indices[j];
            a->values[i][j] = ex->workers[i].refusal.code ? NAN : *kept;
            *kept = 0;
        }
}

/* ---- values that are quantized ------------------------------------------------------------------------- */

static tithe_call part_call(const tithe_exchange *ex, unsigned owner)
{
    return ti_exchange_call(ex, owner, ex->lanes[0].scratch, ex->up.scratch_size);
}

/* The owner's frame of its sum, or that of a refusal; what the frame does not say goes back into what the owner keeps. */
static tithe_status encode_part(tithe_exchange *ex, artopk *a, unsigned owner, tithe_error *error)
{
    const unsigned i = owner - ex->config.comm->first;
    const size_t from = tithe_part_begin(a->count, ex->config.comm->size, owner);
    const size_t many = coll_part(a->count, ex->config.comm->size, owner);
    if (many == 0) return TITHE_OK;
    float *sum = a->values[i] + from;
    tithe_frame_info info;
    tithe_error why = {0};
    const tithe_call call = part_call(ex, owner);
    const float unit = (float)ti_exchange_unit(a->part, ex->config.comm->size);
    for (size_t j = 0; j < many; j++) sum[j] /= unit;
    tithe_status status =
        tithe_encode(a->part, &call, sum, many, ex->blocks[owner], a->frame_room, &info, &why);
    if (status) {
        const exchange_refusal refusal = ti_refusal_of(owner, true, status, &why);
        ti_refusal_write(&refusal, ex->blocks[owner], ex->lengths[owner]);
        return TITHE_OK;
    }
    if (info.bytes != ex->lengths[owner])
        status = ti_fail(error, TITHE_E_SPEC, 0,
                         "The length of %s depends on the data: take raw, bf16, natural or f16.",
                         tithe_codec_spec(a->part));
    if (!status)
        status = tithe_decode_add(a->part, &call, ex->blocks[owner], info.bytes, -1, sum, many, error);
    for (size_t j = 0; j < many && !status; j++)
        ex->workers[i].residual[a->indices[from + j]] += unit * sum[j];
    return status;
}

static tithe_status decode_part(tithe_exchange *ex, artopk *a, unsigned owner, tithe_error *error)
{
    const size_t from = tithe_part_begin(a->count, ex->config.comm->size, owner);
    const size_t many = coll_part(a->count, ex->config.comm->size, owner);
    if (many == 0 || ti_refusal_note(ex, ex->blocks[owner], ex->lengths[owner])) return TITHE_OK;
    for (size_t j = 0; j < many; j++) a->values[0][from + j] = 0;
    const tithe_call call = part_call(ex, owner);
    const float unit = (float)ti_exchange_unit(a->part, ex->config.comm->size);
    return tithe_decode_add(a->part, &call, ex->blocks[owner], ex->lengths[owner], unit, a->values[0] + from,
                            many, error);
}

static tithe_status sum_by_owners(tithe_exchange *ex, artopk *a, tithe_error *error)
{
    tithe_comm *comm = ex->config.comm;
    for (unsigned p = 0; p < comm->size; p++) {
        const size_t many = coll_part(a->count, comm->size, p);
        ex->blocks[p] = a->frames + p * a->frame_room;
        ex->lengths[p] = many ? tithe_codec_length(a->part, many, many, TITHE_EXCHANGE) : 0;
    }
    tithe_status status = ti_direct_scatter(comm, a->values, a->count, ex->sum, error);
    for (unsigned i = 0; i < comm->local && !status; i++) status = encode_part(ex, a, comm->first + i, error);
    if (!status) status = tithe_all_gather(comm, &ti_coll_ring, ex->blocks, ex->lengths, error);
    for (unsigned p = 0; p < comm->size && !status; p++) status = decode_part(ex, a, p, error);
    return status;
}

tithe_status ti_artopk_sum(tithe_exchange *ex, artopk *a, tithe_error *error)
{
    const tithe_status status =
        a->part ? sum_by_owners(ex, a, error)
                : tithe_all_reduce(ex->config.comm, ex->collective, a->values, a->count, ex->sum, error);
    if (status) return status;
    /* by NaN in the sum, or because an owner could not write it; of no values at all nobody can tell */
    const bool refused = ex->refusal.code || (a->count && isnan(a->values[0][0]));
    return refused || a->count == 0 ? ti_refusal_ask(ex, refused, error) : TITHE_OK;
}
