/* sizes.c - how long a frame and how large a scratch can get, before anything is encoded. */
#include "codec/codec.h"

#include <math.h>

#include "base/spec.h"

tithe_codec ti_codec_at(const tithe_codec *codec, double level)
{
    tithe_codec at = *codec;
    if (!(level > 0)) return at;
    if (codec->selector->set_level) {
        codec->selector->set_level(at.selector_params, level);
        at.has_level = true;
    }
    /* Under `all` there is nothing to select, so the level is the quantizer's: its parameter marked LEVEL. */
    const tithe_param *table = codec->quantizer->params;
    for (int i = 0; codec->selector->source == TITHE_INDICES_ALL && table[i].name; i++)
        if (table[i].wire == TITHE_WIRE_LEVEL) at.quantizer_params[i] = level;
    return at;
}

size_t ti_codec_max_count(const tithe_codec *codec, size_t n)
{
    if (!codec->has_level) return n;
    const size_t count = codec->selector->max_count(codec->selector_params, n);
    return count < n ? count : n;
}

/* A parameter of the selector; NAN: it was not stated, or there is none of that name. */
static double stated(const tithe_codec *codec, const char *name)
{
    const int place = ti_spec_find(codec->selector->params, name);
    return place < 0 ? NAN : codec->selector_params[place];
}

bool ti_codec_by_layer(const tithe_codec *codec)
{
    return stated(codec, "per") > 0;
}

size_t ti_codec_stated_count(const tithe_codec *codec, size_t n)
{
    const double k = stated(codec, "k"), count = isnan(k) ? round(stated(codec, "keep") * (double)n) : k;
    if (codec->selector->source == TITHE_INDICES_ALL || count >= (double)n) return n;
    return isnan(count) ? 0 : (size_t)fmax(1, count);
}

size_t ti_codec_room(const tithe_codec *codec, size_t n)
{
    const size_t max = ti_codec_max_count(codec, n);
    /* How many entries there are may depend on an open level, but not where that is a magnitude. */
    if (!codec->selector->room || (!codec->has_level && !codec->selector->absolute)) return max;
    const size_t room = codec->selector->room(codec->selector_params, n);
    return room > max ? room : max;
}

tithe_quant_call ti_codec_quant_call(const tithe_codec *codec, const tithe_call *call, size_t count)
{
    return (tithe_quant_call){
        .params = codec->quantizer_params,
        .type = codec->type,
        .contractive = codec->contractive,
        .count = count,
        .key = ti_rng_key(call->seed, call->step, call->rank, call->tensor, RNG_QUANTIZE),
        .pool = call->pool,
    };
}

/* The codec at the highest level that a call may bring: itself, unless its level is open. */
static tithe_codec at_most(const tithe_codec *codec, size_t n)
{
    double level = (double)n;
    const tithe_param *table = codec->quantizer->params;
    for (int i = 0; codec->selector->source == TITHE_INDICES_ALL && table[i].name; i++)
        if (table[i].wire == TITHE_WIRE_LEVEL) level = table[i].max;
    return ti_codec_at(codec, codec->open_level && !codec->selector->absolute ? level : 0);
}

/* ---- frames ------------------------------------------------------------------------------------------- */

/* The bits of the indices as one function or the other has them. */
static size_t length_with(const tithe_codec *codec, size_t n, size_t entries, tithe_form form,
                          uint64_t (*index_bits)(size_t count, size_t n))
{
    if (entries > n || codec->selector->source == TITHE_INDICES_ALL) entries = n;
    const tithe_call call = {.form = form};
    const tithe_quant_call quant = ti_codec_quant_call(codec, &call, entries);
    uint64_t bits = codec->quantizer->max_bits(&quant);
    size_t bytes = ti_header_bound(codec, n, entries, form) + CHECKSUM_BYTES;
    if (codec->selector->source == TITHE_INDICES_SENT) bytes += bytes_of_bits(index_bits(entries, n));
    if (codec->selector->shares) bits += ti_shared_max_bits(codec->type, entries);
    return bytes + bytes_of_bits(bits);
}

size_t tithe_codec_length(const tithe_codec *codec, size_t n, size_t entries, tithe_form form)
{
    return length_with(codec, n, entries, form, ti_indices_max_bits);
}

size_t ti_codec_expected_length(const tithe_codec *codec, size_t n)
{
    const size_t fixed = tithe_codec_fixed_length(codec, n), entries = ti_codec_stated_count(codec, n);
    return fixed ? fixed : length_with(codec, n, entries, TITHE_EXCHANGE, ti_indices_expected_bits);
}

size_t tithe_codec_bound(const tithe_codec *codec, size_t n)
{
    const tithe_codec highest = at_most(codec, n);
    const size_t max = ti_codec_max_count(&highest, n);
    const size_t longest = tithe_codec_length(&highest, n, max, TITHE_SELF_CONTAINED);
    if (codec->selector->source != TITHE_INDICES_SENT || max < n || n == 0) return longest;
    /* All n entries need no indices, one less does: the only place where fewer entries take more. */
    return longest + 1 + bytes_of_bits(ti_indices_max_bits(n - 1, n));
}

size_t tithe_codec_fixed_length(const tithe_codec *codec, size_t n)
{
    uint8_t header[MAX_HEADER_BYTES];
    const bool open =
        !codec->has_level || codec->open_level ||
        codec->selector->source == TITHE_INDICES_GIVEN; /* by the call, which brings as many as it likes */
    if (open || !(ti_codec_claims(codec, n).traits & TITHE_FIXED_SIZE)) return 0;
    const tithe_call call = {.form = TITHE_EXCHANGE};
    const size_t entries = ti_codec_max_count(codec, n);
    const tithe_quant_call quant = ti_codec_quant_call(codec, &call, entries);
    return ti_header_write(codec, &call, n, entries, NULL, header) +
           bytes_of_bits(codec->quantizer->max_bits(&quant)) + CHECKSUM_BYTES;
}

double ti_codec_level_of_part(const tithe_codec *codec, size_t part, size_t n)
{
    const double k = codec->selector->set_level && n ? stated(codec, "k") : NAN;
    return isnan(k) ? 0 : fmax(1, round(k * (double)part / (double)n));
}

/* ---- scratch ------------------------------------------------------------------------------------------ */

enum { ALIGNMENT = 64 };

static size_t aligned(size_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

typedef struct workspace_sizes {
    size_t indices, exact, regroup, values, selector;
} workspace_sizes;

static workspace_sizes sizes_of(const tithe_codec *codec, workspace_use use, size_t n, size_t count)
{
    workspace_sizes s = {0};
    const tithe_selector *selector = codec->selector;
    if (selector->source != TITHE_INDICES_ALL) {
        s.indices = aligned((count + 16) * sizeof(uint32_t));
        s.values = aligned((count + 16) * type_size(codec->type));
    }
    if (selector->shares) s.exact = s.regroup = s.indices;
    /* A decoder selects nothing, but it may have to draw. */
    if (selector->scratch && (use == TO_ENCODE || selector->source == TITHE_INDICES_DRAWN))
        s.selector = aligned(selector->scratch(codec->selector_params, n));
    return s;
}

size_t ti_workspace_size(const tithe_codec *codec, workspace_use use, size_t n, size_t count)
{
    const workspace_sizes s = sizes_of(codec, use, n, count);
    const size_t total = s.indices + s.exact + s.regroup + s.values + s.selector;
    return total ? total + ALIGNMENT : 0;
}

size_t tithe_codec_scratch(const tithe_codec *codec, size_t n)
{
    const tithe_codec highest = at_most(codec, n);
    return ti_workspace_size(&highest, TO_ENCODE, n, ti_codec_room(&highest, n));
}

tithe_status ti_workspace_carve(const tithe_codec *codec, workspace_use use, size_t n, size_t count,
                                const tithe_call *call, workspace *w, tithe_error *error)
{
    const size_t needed = ti_workspace_size(codec, use, n, count);
    *w = (workspace){0};
    if (needed == 0) return TITHE_OK;
    if (!call->scratch || call->scratch_size < needed)
        return ti_fail(error, TITHE_E_SPACE, call->scratch_size,
                       "The scratch has %zu bytes, but %zu are needed.",
                       call->scratch ? call->scratch_size : 0, needed);
    const workspace_sizes s = sizes_of(codec, use, n, count);
    char *at = (char *)call->scratch + (ALIGNMENT - (uintptr_t)call->scratch % ALIGNMENT) % ALIGNMENT;
    w->indices = (uint32_t *)(void *)at;
    w->exact = (uint32_t *)(void *)(at += s.indices);
    w->regroup = (uint32_t *)(void *)(at += s.exact);
    w->values = at += s.regroup;
    w->selector = at + s.values;
    return TITHE_OK;
}
