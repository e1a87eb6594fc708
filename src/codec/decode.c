/* decode.c - a frame to a sum. Everything is checked before the first number is added, so a frame that is refused
 * has touched nothing. */
#include "codec/codec.h"
#include "codec/select.h"

/* A frame that has been checked, ready to be added. */
typedef struct checked_frame {
    tithe_frame_header header;
    tithe_quant_call quant;
    double params[TITHE_MAX_PARAMS];
    workspace w;
    shared_group group;
    const uint8_t *shared, *values;
    size_t shared_bytes, value_bytes;
    tithe_frame_info info;
} checked_frame;

static tithe_status expect_codec(const tithe_codec *codec, const tithe_frame_header *h, size_t n,
                                 tithe_error *error)
{
    if (h->selector_id != codec->selector->id || h->quantizer_id != codec->quantizer->id ||
        h->type != codec->type || h->contractive != codec->contractive)
        return ti_fail(error, TITHE_E_MISMATCH, 1,
                       "The frame was written by another codec (selector %u, quantizer %u, %s, %s) than %s.",
                       h->selector_id, h->quantizer_id, h->type == TITHE_F64 ? "f64" : "f32",
                       h->contractive ? "contractive" : "unbiased", codec->spec);
    if (h->n != n)
        return ti_fail(error, TITHE_E_MISMATCH, 3, "The frame is of %zu numbers, but %zu were expected.",
                       h->n, n);
    return TITHE_OK;
}

static tithe_status find_indices(const tithe_codec *codec, const tithe_call *call, const uint8_t *src,
                                 size_t length, index_plan *plan, checked_frame *f, tithe_error *error)
{
    const size_t n = f->header.n, entries = f->header.entries;
    switch (codec->selector->source) {
    case TITHE_INDICES_ALL: return TITHE_OK;
    case TITHE_INDICES_DRAWN:
        codec->selector->draw(ti_rng_key(call->seed, f->header.step, call->rank, call->tensor, RNG_SELECT), n,
                              entries, f->w.indices, f->w.selector);
        return TITHE_OK;
    case TITHE_INDICES_SENT:
        if (!ti_indices_read(plan, src, length, entries, n, f->w.indices))
            return ti_fail(error, TITHE_E_CORRUPT, f->header.header_bytes,
                           "The indices of the frame make no sense.");
        return TITHE_OK;
    case TITHE_INDICES_GIVEN: break;
    }
    if (call->given_count != entries)
        return ti_fail(error, TITHE_E_MISMATCH, 0, "The frame has %zu entries, but %zu indices were given.",
                       entries, call->given_count);
    return ti_select_take_given(call, n, f->w.indices, error);
}

static tithe_status check(const tithe_codec *codec, const tithe_call *call, const uint8_t *frame,
                          size_t length, size_t n, checked_frame *f, tithe_error *error)
{
    if (!codec || !call || !frame)
        return ti_fail(error, TITHE_E_ARGUMENT, 0, "Codec, call and frame are all needed.");
    index_plan plan;
    tithe_status status = ti_header_read(frame, length, codec, call, n, &f->header, &plan, error);
    if (!status) status = expect_codec(codec, &f->header, n, error);
    if (status) return status;
    const tithe_codec at = ti_codec_at(codec, call->level);
    const size_t entries = f->header.entries, max = codec->open_level ? n : ti_codec_max_count(&at, n);
    if (entries > max)
        return ti_fail(error, TITHE_E_MISMATCH, 3, "The frame has %zu entries, but %s sends %zu at most.",
                       entries, codec->spec, max);
    status = ti_workspace_carve(codec, TO_DECODE, n, entries, call, &f->w, error);
    if (status) return status;

    const uint8_t *p = frame + f->header.header_bytes, *end = p + f->header.payload_bytes;
    status = find_indices(codec, call, p, (size_t)(end - p), &plan, f, error);
    if (status) return status;
    p += bytes_of_bits(plan.bits);
    f->group = (shared_group){.exact_count = f->header.entries};
    f->shared = p;
    uint64_t value_bits = 0;
    if (codec->selector->shares &&
        !ti_shared_read(codec, p, (size_t)(end - p), f->header.entries, &f->w, &f->group, &f->shared_bytes))
        return ti_fail(error, TITHE_E_CORRUPT, (size_t)(p - frame),
                       "The shared magnitude of the frame makes no sense.");
    p += f->shared_bytes;

    memcpy(f->params, f->header.quantizer_params, sizeof f->params);
    f->quant = (tithe_quant_call){.params = f->params,
                                  .type = codec->type,
                                  .contractive = codec->contractive,
                                  .count = f->group.exact_count,
                                  .pool = call->pool};
    f->values = p;
    f->value_bytes = (size_t)(end - p);
    if (codec->quantizer->check(&f->quant, p, f->value_bytes, &value_bits))
        return ti_fail(error, TITHE_E_CORRUPT, (size_t)(p - frame), "The values of the frame make no sense.");
    f->info = (tithe_frame_info){
        .bytes = length,
        .entries = f->header.entries,
        .header_bytes = f->header.header_bytes,
        .index_bits = plan.bits,
        .value_bits = (uint64_t)f->shared_bytes * 8 + value_bits,
    };
    return TITHE_OK;
}

static tithe_status decode_add(const tithe_codec *codec, const tithe_call *call, const uint8_t *frame,
                               size_t length, double scale, void *y, size_t n, tithe_error *error)
{
    checked_frame f = {.shared_bytes = 0};
    if (!y && n) return ti_fail(error, TITHE_E_ARGUMENT, 0, "A vector to add to is needed.");
    const tithe_status status = check(codec, call, frame, length, n, &f, error);
    if (status) return status;
    tithe_sink out = {.y = y, .scale = scale, .type = codec->type};
    if (codec->selector->source != TITHE_INDICES_ALL) out.at = f.w.indices;
    if (codec->selector->shares) {
        out.at = f.w.regroup;
        ti_shared_decode(codec, f.shared, f.shared_bytes, &f.group, &f.w, &out);
    }
    codec->quantizer->decode(&f.quant, f.values, f.value_bytes, &out);
    return TITHE_OK;
}

tithe_status tithe_frame_check(const tithe_codec *codec, const tithe_call *call, const uint8_t *frame,
                               size_t length, size_t n, tithe_frame_info *info, tithe_error *error)
{
    checked_frame f = {.shared_bytes = 0};
    const tithe_status status = check(codec, call, frame, length, n, &f, error);
    if (status || !info) return status;
    tithe_codec made_by = *codec; /* whose level the caller need not know */
    memcpy(made_by.quantizer_params, f.params, sizeof made_by.quantizer_params);
    *info = f.info;
    info->paper_bits = tithe_codec_paper_bits(&made_by, n, info->entries);
    return TITHE_OK;
}

tithe_status tithe_decode_add(const tithe_codec *codec, const tithe_call *call, const uint8_t *frame,
                              size_t length, float scale, float *y, size_t n, tithe_error *error)
{
    const tithe_status status = codec ? ti_codec_expect_type(codec, TITHE_F32, error) : TITHE_OK;
    return status ? status : decode_add(codec, call, frame, length, (double)scale, y, n, error);
}

tithe_status tithe_decode_add_f64(const tithe_codec *codec, const tithe_call *call, const uint8_t *frame,
                                  size_t length, double scale, double *y, size_t n, tithe_error *error)
{
    const tithe_status status = codec ? ti_codec_expect_type(codec, TITHE_F64, error) : TITHE_OK;
    return status ? status : decode_add(codec, call, frame, length, scale, y, n, error);
}
