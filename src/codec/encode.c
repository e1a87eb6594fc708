/* encode.c - a vector to a frame: look, select, write the header, the indices and the values, close with the
 * checksum. */
#include "codec/codec.h"

#include <math.h>

#include "kernels/kernels.h"

static tithe_status expect_finite(const tithe_codec *codec, const void *x, size_t n, tithe_error *error)
{
    const size_t at = codec->type == TITHE_F32 ? ti_find_nonfinite(x, n) : ti_find_nonfinite_f64(x, n);
    if (at == n) return TITHE_OK;
    const double value = codec->type == TITHE_F32 ? (double)((const float *)x)[at] : ((const double *)x)[at];
    return ti_fail(error, TITHE_E_NONFINITE, at,
                   "The number at position %zu is %s: nothing was sent; look for the step that made it.", at,
                   isnan(value) ? "not a number" : "infinite");
}

/* Survivors, times the selector's factor, in one row. */
static void gather(const tithe_codec *codec, const void *x, const tithe_selection *s, void *values)
{
    if (codec->type == TITHE_F32) {
        const float *from = x;
        float *to = values;
        const float factor = (float)s->factor;
        for (size_t i = 0; i < s->count; i++) to[i] = from[s->indices[i]] * factor;
    } else {
        const double *from = x;
        double *to = values;
        for (size_t i = 0; i < s->count; i++) to[i] = from[s->indices[i]] * s->factor;
    }
}

static double largest_number(tithe_type type)
{
    return type == TITHE_F32 ? 0x1.fffffep127 : 0x1.fffffffffffffp1023;
}

/* Numbers beyond what the quantizer can write are refused before anything is written or any feedback is changed. */
static tithe_status expect_range(const tithe_codec *codec, const tithe_quant_call *quant, const void *values,
                                 tithe_error *error)
{
    tithe_claims claims = {0};
    codec->quantizer->claims(quant, &claims);
    const double most = ti_norm_max(codec->type, values, quant->count);
    if (quant->whole_norm > largest_number(codec->type))
        return ti_fail(error, TITHE_E_RANGE, 0, "The norm of the vector is too large for a number: scale it down.");
    if (codec->quantizer->saturates ? isfinite(most) != 0 : most <= claims.largest) return TITHE_OK;
    return ti_fail(error, TITHE_E_RANGE, 0,
                   "A magnitude of %g is more than %s can write (%g): scale the vector down, or use natural or raw.",
                   most, codec->spec, claims.largest);
}

/* Under `all` the call's level stands in for a parameter of the quantizer, which has its own range. */
static tithe_status expect_level(const tithe_codec *codec, const tithe_call *call, tithe_error *error)
{
    if (!(call->level > 0) || codec->selector->source != TITHE_INDICES_ALL) return TITHE_OK;
    for (const tithe_param *p = codec->quantizer->params; p->name; p++)
        if (p->wire == TITHE_WIRE_LEVEL &&
            !(call->level >= p->min && call->level <= p->max && call->level == floor(call->level)))
            return ti_fail(error, TITHE_E_ARGUMENT, 0,
                           "The level of the call is %g, but %s of %s is a whole number from %g to %g.", call->level,
                           p->name, codec->quantizer->name, p->min, p->max);
    return TITHE_OK;
}

static tithe_status select(const tithe_codec *codec, const tithe_call *call, const void *x, size_t n, workspace *w,
                           tithe_selection *s, tithe_error *error)
{
    *s = (tithe_selection){.indices = w->indices, .count = n, .factor = 1};
    if (codec->selector->source == TITHE_INDICES_ALL) return TITHE_OK;
    if (!codec->has_level && !(call->level > 0))
        return ti_fail(error, TITHE_E_ARGUMENT, 0, "%s leaves its level open, so every call has to bring one.",
                       codec->spec);
    const tithe_select_call c = {
        .params = codec->selector_params,
        .x = x,
        .n = n,
        .type = codec->type,
        .contractive = codec->contractive,
        .level = call->level,
        .call = call,
        .key = ti_rng_key(call->seed, call->step, call->rank, call->tensor, RNG_SELECT),
        .scratch = w->selector,
    };
    return codec->selector->select(&c, s, error);
}

tithe_status ti_encode(const tithe_codec *codec, const tithe_call *call, const void *x, size_t n, uint8_t *frame,
                       size_t capacity, const tithe_sink *rest, tithe_frame_info *info, tithe_error *error)
{
    if (!codec || !call || (!x && n) || !frame || !info)
        return ti_fail(error, TITHE_E_ARGUMENT, 0, "Codec, call, vector, frame and info are all needed.");
    if (n > TITHE_MAX_N)
        return ti_fail(error, TITHE_E_ARGUMENT, 0, "A vector has at most 4294967295 numbers: split it.");
    workspace w;
    tithe_selection selection;
    double params[TITHE_MAX_PARAMS];
    tithe_status status = expect_finite(codec, x, n, error);
    if (!status) status = expect_level(codec, call, error);
    if (!status) status = ti_workspace_carve(codec, n, ti_codec_max_count(codec, n, call->level), call, &w, error);
    if (!status) status = select(codec, call, x, n, &w, &selection, error);
    if (status) return status;

    const size_t count = selection.count;
    const bool all = codec->selector->source == TITHE_INDICES_ALL;
    const void *values = all ? x : w.values;
    if (!all) gather(codec, x, &selection, w.values);
    shared_group group = {.exact_count = count};
    if (codec->selector->shares) group = ti_shared_split(codec, x, &selection, &w);

    tithe_quant_call quant = ti_codec_quant_call(codec, call, group.exact_count, params);
    const tithe_quantizer *quantizer = codec->quantizer;
    if (quantizer->needs_norm && quantizer->needs_norm(params)) quant.whole_norm = ti_norm2(codec->type, x, n);
    status = expect_range(codec, &quant, values, error);
    if (status) return status;
    if (!(group.magnitude <= largest_number(codec->type)))
        return ti_fail(error, TITHE_E_RANGE, 0, "The shared magnitude does not fit a number: send more entries.");

    const bool sends = codec->selector->source == TITHE_INDICES_SENT;
    index_plan plan = {.coding = TITHE_INDEX_NONE};
    if (sends) plan = ti_indices_plan(selection.indices, count, n);
    uint8_t header[MOST_HEADER_BYTES];
    const size_t header_bytes = ti_header_write(codec, call, n, count, &plan, header);
    uint64_t most_bits = quantizer->max_bits(&quant);
    if (codec->selector->shares) most_bits += ti_shared_max_bits(codec->type, count);
    const size_t needed = header_bytes + bytes_of_bits(plan.bits) + bytes_of_bits(most_bits) + CHECKSUM_BYTES;
    if (capacity < needed)
        return ti_fail(error, TITHE_E_SPACE, capacity, "The frame needs up to %zu bytes, but there is room for %zu.",
                       needed, capacity);

    memcpy(frame, header, header_bytes);
    uint8_t *p = frame + header_bytes;
    if (sends) ti_indices_write(&plan, selection.indices, count, n, p);
    p += bytes_of_bits(plan.bits);
    tithe_sink sent = *rest;
    sent.at = all ? NULL : codec->selector->shares ? w.regroup : selection.indices;
    uint64_t value_bits = 0, shared_bits = 0;
    if (codec->selector->shares) p += ti_shared_write(codec, x, &group, &w, count, p, &shared_bits, &sent);
    status = quantizer->encode(&quant, values, p, &value_bits, &sent, error);
    if (status) return status;
    p += bytes_of_bits(value_bits);
    put_u32(p, tithe_crc32c(frame, (size_t)(p - frame)));

    *info = (tithe_frame_info){
        .bytes = (size_t)(p - frame) + CHECKSUM_BYTES,
        .entries = count,
        .header_bytes = header_bytes,
        .index_bits = plan.bits,
        .value_bits = shared_bits + value_bits,
    };
    return TITHE_OK;
}

tithe_status tithe_encode(const tithe_codec *codec, const tithe_call *call, const float *x, size_t n, uint8_t *frame,
                          size_t capacity, tithe_frame_info *info, tithe_error *error)
{
    const tithe_status status = codec ? ti_codec_expect_type(codec, TITHE_F32, error) : TITHE_OK;
    const tithe_sink nowhere = {.type = TITHE_F32};
    return status ? status : ti_encode(codec, call, x, n, frame, capacity, &nowhere, info, error);
}

tithe_status tithe_encode_f64(const tithe_codec *codec, const tithe_call *call, const double *x, size_t n,
                              uint8_t *frame, size_t capacity, tithe_frame_info *info, tithe_error *error)
{
    const tithe_status status = codec ? ti_codec_expect_type(codec, TITHE_F64, error) : TITHE_OK;
    const tithe_sink nowhere = {.type = TITHE_F64};
    return status ? status : ti_encode(codec, call, x, n, frame, capacity, &nowhere, info, error);
}
