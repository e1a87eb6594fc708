/* encode.c - a vector to a frame: look, select, write the header, the indices and the values, close with
 * the checksum.
 *
 * Where a selector or quantizer makes a pass over the whole vector anyway, it also looks for what is not
 * finite and adds the gradient of error compensation on the way (`fuses`); otherwise both are passes of
 * their own, before. */
#include "codec/codec.h"

#include <math.h>

#include "base/crc32c.h"
#include "kernels/kernels.h"

static tithe_status refuse_nonfinite(double value, size_t at, tithe_error *error)
{
    return ti_fail(error, TITHE_E_NONFINITE, at,
                   "The number at position %zu is %s: nothing was sent; look for the step that made it.", at,
                   isnan(value) ? "not a number" : "infinite");
}

static tithe_status expect_finite(const tithe_codec *codec, const void *x, size_t n, tithe_error *error)
{
    const size_t at = ti_find_nonfinite(codec->type, x, n);
    return at == n ? TITHE_OK : refuse_nonfinite(number_at(codec->type, x, at), at, error);
}

/* A pass came upon something that is not finite: in the gradient, in the vector, or only in their sum. */
static tithe_status explain_nonfinite(const tithe_codec *codec, const encode_input *in, tithe_error *error)
{
    tithe_status status = in->gradient ? expect_finite(codec, in->gradient, in->n, error) : TITHE_OK;
    if (!status) status = expect_finite(codec, in->x, in->n, error);
    if (!status)
        status =
            ti_fail(error, TITHE_E_RANGE, 0,
                    "A magnitude is more than %s can write: scale the vector down, or use natural or raw.",
                    codec->spec);
    return status;
}

/* Take the gradient out of the first n numbers again. Where gamma times it is not finite it was never
 * added, and where only the sum overflowed, the largest number was stored: see kernel_source. */
static void take_back(const tithe_codec *codec, const encode_input *in, size_t n)
{
    if (!in->gradient) return;
    for (size_t i = 0; i < n; i++) {
        if (codec->type == TITHE_F64) {
            const double added = in->gamma * ((const double *)in->gradient)[i];
            if (isfinite(added)) ((double *)in->keep)[i] -= added;
        } else {
            const float added = (float)in->gamma * ((const float *)in->gradient)[i];
            if (isfinite(added)) ((float *)in->keep)[i] -= added;
        }
    }
}

/* Put the survivors back that a selector has taken out. */
static void put_back(const encode_input *in, const tithe_selection *s)
{
    for (size_t i = 0; s->taken && i < s->count; i++)
        ((float *)in->keep)[s->indices[i]] = ((const float *)s->values)[i];
}

/* The pass that nobody fused: look, and add the gradient a block at a time, which is stored only if it is
 * finite. */
static tithe_status look_and_add(const tithe_codec *codec, const encode_input *in, tithe_error *error)
{
    if (!in->gradient) return expect_finite(codec, in->x, in->n, error);
    const size_t size = type_size(codec->type);
    for (size_t first = 0; first < in->n; first += TITHE_BLOCK) {
        union {
            float f[TITHE_BLOCK];
            double d[TITHE_BLOCK];
        } sum;
        const size_t many = in->n - first < TITHE_BLOCK ? in->n - first : TITHE_BLOCK;
        char *keep = (char *)in->keep + first * size;
        const void *gradient = (const char *)in->gradient + first * size;
        memcpy(&sum, keep, many * size);
        if (codec->type == TITHE_F32)
            ti_kernels()->add_scaled(sum.f, gradient, (float)in->gamma, many);
        else
            for (size_t i = 0; i < many; i++) sum.d[i] += in->gamma * ((const double *)gradient)[i];
        if (ti_find_nonfinite(codec->type, &sum, many) < many) {
            take_back(codec, in, first);
            return explain_nonfinite(codec, in, error);
        }
        memcpy(keep, &sum, many * size);
    }
    return TITHE_OK;
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

/* Under `all` the call's level stands in for a parameter of the quantizer, which has its own range. */
static tithe_status expect_level(const tithe_codec *codec, const tithe_call *call, tithe_error *error)
{
    if (!(call->level > 0) || codec->selector->source != TITHE_INDICES_ALL) return TITHE_OK;
    for (const tithe_param *p = codec->quantizer->params; p->name; p++)
        if (p->wire == TITHE_WIRE_LEVEL &&
            !(call->level >= p->min && call->level <= p->max && call->level == floor(call->level)))
            return ti_fail(error, TITHE_E_ARGUMENT, 0,
                           "The level of the call is %g, but %s of %s is a whole number from %g to %g.",
                           call->level, p->name, codec->quantizer->name, p->min, p->max);
    return TITHE_OK;
}

static bool selector_fuses(const tithe_codec *codec)
{
    return codec->type == TITHE_F32 && codec->selector->fuses;
}

static tithe_status select(const tithe_codec *codec, const tithe_call *call, const encode_input *in,
                           workspace *w, tithe_selection *s, tithe_error *error)
{
    *s = (tithe_selection){.indices = w->indices, .values = w->values, .count = in->n, .factor = 1};
    if (codec->selector->source == TITHE_INDICES_ALL) return TITHE_OK;
    if (!codec->has_level)
        return ti_fail(error, TITHE_E_ARGUMENT, 0,
                       "%s leaves its level open, so every call has to bring one.", codec->spec);
    const tithe_select_call c = {
        .params = codec->selector_params,
        .x = in->x,
        .n = in->n,
        .type = codec->type,
        .contractive = codec->contractive,
        .call = call,
        .key = ti_rng_key(call->seed, call->step, call->rank, call->tensor, RNG_SELECT),
        .scratch = w->selector,
        .gradient = selector_fuses(codec) ? in->gradient : NULL,
        .gamma = (float)in->gamma,
        .take = selector_fuses(codec) && in->gradient && codec->quantizer->exact,
    };
    const tithe_status status = codec->selector->select(&c, s, error);
    if (status != TITHE_E_NONFINITE) return status;
    if (c.gradient) take_back(codec, in, in->n); /* its one pass went through; before, nothing is added */
    return explain_nonfinite(codec, in, error);
}

tithe_status ti_codec_select(const tithe_codec *codec, const tithe_call *call, const void *x, size_t n,
                             tithe_selection *s, tithe_error *error)
{
    const tithe_codec at = ti_codec_at(codec, call->level);
    const encode_input in = {.x = x, .n = n};
    workspace w;
    tithe_status status = ti_workspace_carve(&at, TO_ENCODE, n, ti_codec_room(&at, n), call, &w, error);
    if (!status && !selector_fuses(&at)) status = expect_finite(&at, x, n, error);
    return status ? status : select(&at, call, &in, &w, s, error);
}

/* What a frame will hold, once everything that can be refused has been. */
typedef struct message {
    workspace w;
    tithe_selection selection;
    shared_group group;
    tithe_quant_call quant;
    const void *values;
    index_plan plan;
    uint8_t header[MAX_HEADER_BYTES];
    size_t header_bytes;
} message;

static bool quantizer_fuses(const tithe_codec *codec)
{
    return codec->type == TITHE_F32 && codec->selector->source == TITHE_INDICES_ALL &&
           codec->quantizer->fuses && codec->quantizer->fuses(codec->quantizer_params);
}

/* Does expect_range look at the whole vector? Then it comes upon what is not finite, and nobody has to look before. */
static bool range_looks(const tithe_codec *codec, const tithe_call *call, const encode_input *in)
{
    if (codec->type != TITHE_F32 || codec->selector->source != TITHE_INDICES_ALL || in->gradient ||
        codec->quantizer->saturates)
        return false;
    tithe_claims claims = {0};
    const tithe_quant_call quant = ti_codec_quant_call(codec, call, in->n);
    codec->quantizer->claims(&quant, &claims);
    return claims.largest < largest_number(codec->type);
}

/* Numbers beyond what the quantizer can write are refused before anything is written or any feedback is
 * changed. A quantizer that fuses sees to that itself, and so it is where nothing can be too large. */
static tithe_status expect_range(const tithe_codec *codec, const encode_input *in, const message *m,
                                 tithe_error *error)
{
    const double limit = largest_number(codec->type);
    if (m->quant.whole_norm > limit)
        return ti_fail(error, TITHE_E_RANGE, 0,
                       "The norm of the vector is too large for a number: scale it down.");
    if (!(m->group.magnitude <= limit))
        return ti_fail(error, TITHE_E_RANGE, 0,
                       "The shared magnitude does not fit a number: send more entries.");
    if (quantizer_fuses(codec)) return TITHE_OK;
    tithe_claims claims = {0};
    codec->quantizer->claims(&m->quant, &claims);
    const double largest = codec->quantizer->saturates ? limit : claims.largest;
    if (largest >= limit && m->selection.factor == 1) return TITHE_OK; /* it is finite, and that is enough */
    const double max = ti_norm_max(codec->type, m->values, m->quant.count);
    if (max <= largest) return TITHE_OK;
    const tithe_status status = expect_finite(codec, in->x, in->n, error);
    if (status) return status;
    return ti_fail(
        error, TITHE_E_RANGE, 0,
        "A magnitude of %g is more than %s can write (%g): scale the vector down, or use natural or raw.",
        max, codec->spec, largest);
}

static tithe_status compose(const tithe_codec *codec, const tithe_call *call, const encode_input *in,
                            size_t capacity, message *m, tithe_error *error)
{
    const tithe_selector *selector = codec->selector;
    const tithe_quantizer *quantizer = codec->quantizer;
    const size_t count = m->selection.count;
    const bool all = selector->source == TITHE_INDICES_ALL;
    m->values = all ? in->x : m->w.values;
    if (!all && !m->selection.gathered) gather(codec, in->x, &m->selection, m->w.values);
    m->group = (shared_group){.exact_count = count};
    if (selector->shares) m->group = ti_shared_split(codec, in->x, &m->selection, &m->w);

    m->quant = ti_codec_quant_call(codec, call, m->group.exact_count);
    if (quantizer->needs_norm && quantizer->needs_norm(m->quant.params))
        m->quant.whole_norm = ti_norm2(codec->type, in->x, in->n);
    const tithe_status status = expect_range(codec, in, m, error);
    if (status) return status;

    m->plan = (index_plan){.coding = TITHE_INDEX_NONE};
    if (selector->source == TITHE_INDICES_SENT) m->plan = ti_indices_plan(m->selection.indices, count, in->n);
    m->header_bytes = ti_header_write(codec, call, in->n, count, &m->plan, m->header);
    uint64_t max_bits = quantizer->max_bits(&m->quant);
    if (selector->shares) max_bits += ti_shared_max_bits(codec->type, count);
    const size_t needed =
        m->header_bytes + bytes_of_bits(m->plan.bits) + bytes_of_bits(max_bits) + CHECKSUM_BYTES;
    if (capacity < needed)
        return ti_fail(error, TITHE_E_SPACE, capacity,
                       "The frame needs up to %zu bytes, but there is room for %zu.", needed, capacity);
    return TITHE_OK;
}

static tithe_status write_frame(const tithe_codec *codec, const encode_input *in, message *m, uint8_t *frame,
                                tithe_frame_info *info, tithe_error *error)
{
    const tithe_selector *selector = codec->selector;
    const size_t count = m->selection.count;
    memcpy(frame, m->header, m->header_bytes);
    uint8_t *p = frame + m->header_bytes;
    if (selector->source == TITHE_INDICES_SENT)
        ti_indices_write(&m->plan, m->selection.indices, count, in->n, p);
    p += bytes_of_bits(m->plan.bits);

    tithe_sink sent = {.y = m->selection.taken ? NULL : in->keep, .scale = -1, .type = codec->type};
    if (selector->source != TITHE_INDICES_ALL)
        sent.at = selector->shares ? m->w.regroup : m->selection.indices;
    uint64_t value_bits = 0;
    const size_t shared =
        selector->shares ? ti_shared_write(codec, in->x, &m->group, &m->w, count, p, &sent) : 0;
    p += shared;
    tithe_checksum payload = {0};
    m->quant.checksum = &payload;
    const tithe_status status = codec->quantizer->encode(&m->quant, m->values, p, &value_bits, &sent, error);
    if (status == TITHE_E_NONFINITE) {
        /* Zeros were written for what is not finite; the rest of what was sent comes back from the frame. */
        sent.scale = 1;
        codec->quantizer->decode(&m->quant, p, bytes_of_bits(value_bits), &sent);
        if (in->keep) take_back(codec, in, in->n);
        return explain_nonfinite(codec, in, error);
    }
    if (status) return status;
    const size_t before = (size_t)(p - frame);
    p += bytes_of_bits(value_bits);
    put_u32(p, payload.known
                   ? ti_crc32c_join(tithe_crc32c(frame, before), payload.crc, bytes_of_bits(value_bits))
                   : tithe_crc32c(frame, (size_t)(p - frame)));
    *info = (tithe_frame_info){
        .bytes = (size_t)(p - frame) + CHECKSUM_BYTES,
        .entries = count,
        .header_bytes = m->header_bytes,
        .index_bits = m->plan.bits,
        .value_bits = (uint64_t)shared * 8 + value_bits,
        .paper_bits = tithe_codec_paper_bits(codec, in->n, count),
    };
    return TITHE_OK;
}

tithe_status ti_encode(const tithe_codec *codec, const tithe_call *call, const encode_input *in,
                       uint8_t *frame, size_t capacity, tithe_frame_info *info, tithe_error *error)
{
    if (!codec || !call || (!in->x && in->n) || !frame || !info)
        return ti_fail(error, TITHE_E_ARGUMENT, 0, "Codec, call, vector, frame and info are all needed.");
    if (in->n > TITHE_MAX_N)
        return ti_fail(error, TITHE_E_ARGUMENT, 0, "A vector has at most 4294967295 numbers: split it.");
    static const double nowhere = 0; /* for an empty vector without an address: even NULL + 0 is undefined */
    encode_input input = *in;
    if (!input.x) input.x = &nowhere;
    in = &input;
    message m;
    tithe_status status = expect_level(codec, call, error);
    const tithe_codec at = ti_codec_at(codec, call->level);
    codec = &at;
    if (!status)
        status = ti_workspace_carve(codec, TO_ENCODE, in->n, ti_codec_room(codec, in->n), call, &m.w, error);
    if (status) return status;

    const bool quantizer_adds = quantizer_fuses(codec), selector_adds = selector_fuses(codec);
    if (!quantizer_adds && !selector_adds && !range_looks(codec, call, in))
        status = look_and_add(codec, in, error);
    if (status) return status;
    status = select(codec, call, in, &m.w, &m.selection, error);
    const bool selected = status == TITHE_OK;
    if (!status) status = compose(codec, call, in, capacity, &m, error);
    if (status) {
        if (selected) put_back(in, &m.selection);
        if (!quantizer_adds && (selected || !selector_adds)) take_back(codec, in, in->n);
        return status;
    }
    if (quantizer_adds) {
        m.quant.gradient = in->gradient;
        m.quant.gamma = (float)in->gamma;
    }
    status = write_frame(codec, in, &m, frame, info, error);
    if (status) frame[0] = 0; /* no half-made frame is ever taken for one */
    return status;
}

tithe_status tithe_encode(const tithe_codec *codec, const tithe_call *call, const float *x, size_t n,
                          uint8_t *frame, size_t capacity, tithe_frame_info *info, tithe_error *error)
{
    const tithe_status status = codec ? ti_codec_expect_type(codec, TITHE_F32, error) : TITHE_OK;
    const encode_input in = {.x = x, .n = n};
    return status ? status : ti_encode(codec, call, &in, frame, capacity, info, error);
}

tithe_status tithe_encode_f64(const tithe_codec *codec, const tithe_call *call, const double *x, size_t n,
                              uint8_t *frame, size_t capacity, tithe_frame_info *info, tithe_error *error)
{
    const tithe_status status = codec ? ti_codec_expect_type(codec, TITHE_F64, error) : TITHE_OK;
    const encode_input in = {.x = x, .n = n};
    return status ? status : ti_encode(codec, call, &in, frame, capacity, info, error);
}
