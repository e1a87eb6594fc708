/* frame.c - the header of a frame, written and read; docs/format.md has it byte by byte.
 *
 * self-contained:  mark | codec | flags | n | step | [check] | [entries] | [coding] | [numbers of the quantizer]
 * exchange:        mark | step mod 65536, two bytes | [entries] | [coding] | [level of the quantizer] */
#include "codec/codec.h"

#include <math.h>

#include "base/spec.h"

enum { MARK = 0xd0, EXCHANGE_BIT = 0x08, VERSION_MASK = 0x07, CHECK_BYTES = 4 };
enum { FLAG_F64 = 1, FLAG_CONTRACTIVE = 2, FIRST_PARAM_BIT = 2 };

static bool is_flag(const tithe_param *param)
{
    return param->wire >= 1 && param->wire <= 6;
}

/* Does this parameter travel as a number in this form? */
static bool is_number(const tithe_param *param, tithe_form form)
{
    return param->wire == TITHE_WIRE_LEVEL ||
           (param->wire == TITHE_WIRE_NUMBER && form == TITHE_SELF_CONTAINED);
}

static uint8_t flags_of(const tithe_codec *codec)
{
    unsigned flags = (codec->type == TITHE_F64 ? FLAG_F64 : 0) | (codec->contractive ? FLAG_CONTRACTIVE : 0);
    unsigned shift = FIRST_PARAM_BIT;
    for (const tithe_param *p = codec->quantizer->params; p->name; p++) {
        if (!is_flag(p)) continue;
        flags |= (unsigned)codec->quantizer_params[p - codec->quantizer->params] << shift;
        shift += p->wire;
    }
    return (uint8_t)flags;
}

static bool sends_indices(const tithe_selector *selector)
{
    return selector->source == TITHE_INDICES_SENT;
}

static bool draws_indices(const tithe_selector *selector)
{
    return selector->source == TITHE_INDICES_DRAWN;
}

/* Both ends of a self-contained frame draw its positions: do they know the same seed, rank and tensor? */
static uint32_t check_of(const tithe_call *call, uint32_t step)
{
    return (uint32_t)ti_rng_key(call->seed, step, call->rank, call->tensor, RNG_CHECK).a;
}

size_t ti_header_write(const tithe_codec *codec, const tithe_call *call, size_t n, size_t count,
                       const index_plan *plan, uint8_t *dst)
{
    const double *params = codec->quantizer_params;
    uint8_t *p = dst;
    if (call->form == TITHE_EXCHANGE) {
        *p++ = MARK | EXCHANGE_BIT | TITHE_WIRE_VERSION;
        put_u16(p, (uint16_t)call->step);
        p += 2;
    } else {
        const bool drawn = draws_indices(codec->selector);
        *p++ = MARK | (drawn ? TITHE_WIRE_VERSION_DRAWN : TITHE_WIRE_VERSION);
        *p++ = (uint8_t)(codec->selector->id << 4 | codec->quantizer->id);
        *p++ = flags_of(codec);
        p = put_varint(p, (uint32_t)n);
        p = put_varint(p, call->step);
        if (drawn) {
            put_u32(p, check_of(call, call->step));
            p += CHECK_BYTES;
        }
    }
    if (codec->selector->source != TITHE_INDICES_ALL) p = put_varint(p, (uint32_t)count);
    if (sends_indices(codec->selector) && indices_have_coding(count, n)) *p++ = ti_indices_byte(plan);
    for (const tithe_param *q = codec->quantizer->params; q->name; q++)
        if (is_number(q, call->form)) p = put_varint(p, (uint32_t)params[q - codec->quantizer->params]);
    return (size_t)(p - dst);
}

size_t ti_header_bound(const tithe_codec *codec, size_t n, size_t count, tithe_form form)
{
    size_t bytes = form == TITHE_EXCHANGE ? 3 : 3 + varint_size((uint32_t)n) + varint_size(UINT32_MAX);
    if (form == TITHE_SELF_CONTAINED && draws_indices(codec->selector)) bytes += CHECK_BYTES;
    if (codec->selector->source != TITHE_INDICES_ALL) bytes += varint_size((uint32_t)count);
    if (sends_indices(codec->selector) && indices_have_coding(count, n)) bytes++;
    for (const tithe_param *q = codec->quantizer->params; q->name; q++)
        if (is_number(q, form)) bytes += varint_size((uint32_t)q->max);
    return bytes;
}

/* ---- reading ------------------------------------------------------------------------------------------ */

static const tithe_selector *selector_with(unsigned id)
{
    for (const tithe_selector *const *s = tithe_selectors(); *s; s++)
        if ((*s)->id == id) return *s;
    return NULL;
}

static const tithe_quantizer *quantizer_with(unsigned id)
{
    for (const tithe_quantizer *const *q = tithe_quantizers(); *q; q++)
        if ((*q)->id == id) return *q;
    return NULL;
}

static bool read_flags(unsigned flags, const tithe_quantizer *quantizer, tithe_frame_header *h)
{
    h->type = flags & FLAG_F64 ? TITHE_F64 : TITHE_F32;
    h->contractive = flags & FLAG_CONTRACTIVE;
    flags >>= FIRST_PARAM_BIT;
    for (const tithe_param *p = quantizer->params; p->name; p++) {
        if (!is_flag(p)) continue;
        const unsigned value = flags & ((1u << p->wire) - 1);
        if (value > p->max) return false;
        h->quantizer_params[p - quantizer->params] = value;
        flags >>= p->wire;
    }
    return flags == 0;
}

typedef struct header_reader {
    const uint8_t *next, *end;
    bool sound;
} header_reader;

static uint32_t read_number(header_reader *r)
{
    uint32_t value = 0;
    const uint8_t *after = r->sound ? get_varint(r->next, r->end, &value) : NULL;
    if (after)
        r->next = after;
    else
        r->sound = false;
    return value;
}

static uint8_t read_byte(header_reader *r)
{
    if (r->next == r->end) r->sound = false;
    return r->sound ? *r->next++ : 0;
}

/* What follows the first part, in both forms. */
static void read_rest(header_reader *r, const tithe_selector *selector, const tithe_quantizer *quantizer,
                      tithe_frame_header *h, index_plan *plan)
{
    h->entries = h->n;
    if (selector->source != TITHE_INDICES_ALL) h->entries = read_number(r);
    if (h->entries > h->n) r->sound = false;
    *plan = (index_plan){.coding = TITHE_INDEX_NONE};
    if (r->sound && sends_indices(selector) && indices_have_coding(h->entries, h->n) &&
        !ti_indices_from_byte(read_byte(r), plan))
        r->sound = false;
    h->coding = plan->coding;
    h->golomb_m = indices_golomb_m(plan);
    for (const tithe_param *p = quantizer->params; p->name; p++) {
        if (!is_number(p, h->form)) continue;
        const double value = read_number(r);
        if (value < p->min || value > p->max) r->sound = false;
        h->quantizer_params[p - quantizer->params] = value;
    }
}

static tithe_status corrupt(tithe_error *error, size_t position, const char *why)
{
    return ti_fail(error, TITHE_E_CORRUPT, position, "%s", why);
}

tithe_status ti_header_read(const uint8_t *frame, size_t length, const tithe_codec *codec,
                            const tithe_call *call, size_t n, tithe_frame_header *h, index_plan *plan,
                            tithe_error *error)
{
    *h = (tithe_frame_header){0};
    for (int i = 0; i < TITHE_MAX_PARAMS; i++) h->quantizer_params[i] = NAN;
    if (length < 1 + CHECKSUM_BYTES || (frame[0] & 0xf0) != MARK)
        return corrupt(error, 0, "This is not a Tithe frame.");
    h->version = frame[0] & VERSION_MASK;
    h->form = frame[0] & EXCHANGE_BIT ? TITHE_EXCHANGE : TITHE_SELF_CONTAINED;
    const bool drawn = h->version == TITHE_WIRE_VERSION_DRAWN && h->form == TITHE_SELF_CONTAINED;
    const bool known = h->version == TITHE_WIRE_VERSION || drawn;
    const size_t body = length - CHECKSUM_BYTES;
    const bool whole = tithe_crc32c(frame, body) == get_u32(frame + body);
    if (!whole && !known) /* a file of another kind that begins like one */
        return corrupt(error, 0, "This is not a Tithe frame.");
    if (!whole)
        return corrupt(error, body, "The checksum does not match: the frame is damaged or cut short.");
    if (!known)
        return ti_fail(error, TITHE_E_CORRUPT, 0,
                       "The frame has wire version %u, but this library reads up to version %d.", h->version,
                       h->form == TITHE_EXCHANGE ? TITHE_WIRE_VERSION : TITHE_WIRE_VERSION_DRAWN);

    header_reader r = {frame + 1, frame + body, true};
    const tithe_selector *selector = codec ? codec->selector : NULL;
    const tithe_quantizer *quantizer = codec ? codec->quantizer : NULL;
    if (h->form == TITHE_EXCHANGE) {
        if (!codec)
            return corrupt(error, 0, "This frame is of the exchange form, which only its own run can read.");
        const unsigned low = read_byte(&r), high = read_byte(&r);
        h->step = call->step;
        h->n = n;
        h->type = codec->type;
        h->contractive = codec->contractive;
        memcpy(h->quantizer_params, codec->quantizer_params, sizeof h->quantizer_params);
        if (r.sound && (low | high << 8) != (call->step & 0xffff))
            return ti_fail(error, TITHE_E_MISMATCH, 1,
                           "The frame is of step %u (mod 65536), but this is step %u.", low | high << 8,
                           (unsigned)call->step);
    } else {
        const unsigned ids = read_byte(&r), flags = read_byte(&r);
        h->n = read_number(&r);
        h->step = read_number(&r);
        uint32_t check = 0;
        for (unsigned b = 0; drawn && b < CHECK_BYTES; b++) check |= (uint32_t)read_byte(&r) << 8 * b;
        h->selector_id = (uint8_t)(ids >> 4);
        h->quantizer_id = ids & 15;
        if (!selector || selector->id != h->selector_id) selector = selector_with(h->selector_id);
        if (!quantizer || quantizer->id != h->quantizer_id) quantizer = quantizer_with(h->quantizer_id);
        if (!r.sound || !selector || !quantizer)
            return corrupt(error, 1, "The header names a codec that this library does not know.");
        if (!read_flags(flags, quantizer, h))
            return corrupt(error, 2, "The flags in the header make no sense.");
        if (drawn && !draws_indices(selector))
            return corrupt(error, 0, "Only a frame whose positions are drawn has a check of the seed.");
        if (drawn && call && !call->any_seed && check != check_of(call, h->step))
            return ti_fail(
                error, TITHE_E_MISMATCH, 0,
                "The frame was made with another seed, rank or tensor: state those of its encoder.");
    }
    h->selector_id = selector->id;
    h->quantizer_id = quantizer->id;
    read_rest(&r, selector, quantizer, h, plan);
    if (!r.sound) return corrupt(error, 3, "The header makes no sense.");
    h->header_bytes = (size_t)(r.next - frame);
    h->payload_bytes = body - h->header_bytes;
    return TITHE_OK;
}

tithe_status tithe_frame_read(const uint8_t *frame, size_t length, tithe_frame_header *header,
                              tithe_error *error)
{
    index_plan plan;
    tithe_frame_header read;
    if (!frame || !header)
        return ti_fail(error, TITHE_E_ARGUMENT, 0, "A frame and a place for its header are needed.");
    const tithe_status status = ti_header_read(frame, length, NULL, NULL, 0, &read, &plan, error);
    if (status) return status;
    /* Every entry takes at least a bit of the values. Said here, nobody allocates for what cannot be
     * there. */
    if (read.entries / 8 > read.payload_bytes)
        return corrupt(error, read.header_bytes,
                       "The frame is too short for the entries that its header announces.");
    *header = read;
    return TITHE_OK;
}

tithe_status tithe_frame_codec(const tithe_frame_header *header, tithe_codec **codec, tithe_error *error)
{
    const tithe_selector *selector = selector_with(header->selector_id);
    const tithe_quantizer *quantizer = quantizer_with(header->quantizer_id);
    if (!selector || !quantizer)
        return ti_fail(error, TITHE_E_CORRUPT, 1,
                       "The header names a codec that this library does not know.");
    const tithe_codec_options options = {header->type, header->contractive, true};
    tithe_error inner;
    tithe_codec *made = NULL;
    if (tithe_codec_make(selector, NULL, quantizer, header->quantizer_params, &options, &made, &inner))
        return ti_fail(error, inner.code == TITHE_E_MEMORY ? inner.code : TITHE_E_CORRUPT, 1, "%.200s",
                       inner.text);
    if (made->contractive != header->contractive) { /* the pair has no scale to choose */
        tithe_codec_free(made);
        return corrupt(error, 2, "The flags in the header make no sense.");
    }
    *codec = made;
    return TITHE_OK;
}

size_t tithe_frame_scratch(const tithe_frame_header *header)
{
    const tithe_selector *selector = selector_with(header->selector_id);
    if (!selector) return 0;
    const tithe_codec like = {.selector = selector, .type = header->type};
    return ti_workspace_size(&like, TO_DECODE, header->n, header->entries);
}
