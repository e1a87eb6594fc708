/* codec.c - the two tables, and how a spec becomes a codec: parse, settle what holds for the pair, refuse
 * what makes no sense. */
#include "codec/codec.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/spec.h"
#include "codec/quant.h"
#include "codec/select.h"

static const tithe_selector *const selectors[] = {
    &ti_select_all,   &ti_select_topk,       &ti_select_threshold, &ti_select_mstopk,
    &ti_select_randk, &ti_select_stochastic, &ti_select_given,     NULL,
};

static const tithe_quantizer *const quantizers[] = {
    &ti_quant_raw,       &ti_quant_f16,   &ti_quant_bf16, &ti_quant_natural, &ti_quant_sign, &ti_quant_dither,
    &ti_quant_natdither, &ti_quant_int32, NULL,
};

const tithe_selector *const *tithe_selectors(void)
{
    return selectors;
}

const tithe_quantizer *const *tithe_quantizers(void)
{
    return quantizers;
}

/* ---- from text ---------------------------------------------------------------------------------------- */

static const tithe_selector *find_selector(spec_piece name)
{
    for (int i = 0; selectors[i]; i++)
        if (ti_spec_is(name, selectors[i]->name)) return selectors[i];
    return NULL;
}

static const tithe_quantizer *find_quantizer(spec_piece name)
{
    for (int i = 0; quantizers[i]; i++)
        if (ti_spec_is(name, quantizers[i]->name)) return quantizers[i];
    return NULL;
}

static tithe_status unknown_name(spec_piece name, bool selector, bool quantizer, tithe_error *error)
{
    char list[160] = "";
    size_t used = 0;
    for (int i = 0; selector && selectors[i] && used < sizeof list; i++)
        used +=
            (size_t)snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "", selectors[i]->name);
    for (int i = 0; quantizer && quantizers[i] && used < sizeof list; i++)
        used +=
            (size_t)snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "", quantizers[i]->name);
    const size_t length = name.end - name.start;
    return ti_fail(error, TITHE_E_SPEC, name.start, "There is no %s \"%.*s\"; there are %s.",
                   !quantizer  ? "selector"
                   : !selector ? "quantizer"
                               : "selector or quantizer",
                   (int)(length < 30 ? length : 30), name.text + name.start, list);
}

tithe_status tithe_codec_create(const char *spec, const tithe_codec_options *options, tithe_codec **codec,
                                tithe_error *error)
{
    if (!spec || !codec)
        return ti_fail(error, TITHE_E_ARGUMENT, 0, "A spec and a place for the codec are needed.");
    const size_t length = strlen(spec);
    const char *bar = strchr(spec, '|');
    if (bar && strchr(bar + 1, '|'))
        return ti_fail(error, TITHE_E_SPEC, (size_t)(strchr(bar + 1, '|') - spec),
                       "A codec is one selector and one quantizer: write selector|quantizer.");

    const size_t middle = bar ? (size_t)(bar - spec) : length;
    spec_piece name, arguments, second_name, second_arguments;
    ti_spec_split((spec_piece){spec, 0, middle}, &name, &arguments);
    const tithe_selector *selector = find_selector(name);
    const tithe_quantizer *quantizer = NULL;
    if (bar) {
        if (!selector) return unknown_name(name, true, false, error);
        ti_spec_split((spec_piece){spec, middle + 1, length}, &second_name, &second_arguments);
        quantizer = find_quantizer(second_name);
        if (!quantizer) return unknown_name(second_name, false, true, error);
    } else if (!selector) { /* a bare quantizer means all| */
        quantizer = find_quantizer(name);
        if (!quantizer) return unknown_name(name, true, true, error);
        selector = &ti_select_all;
        second_arguments = arguments;
        arguments = (spec_piece){spec, 0, 0};
    } else { /* a bare selector means |raw */
        quantizer = &ti_quant_raw;
        second_arguments = (spec_piece){spec, 0, 0};
    }

    double first[TITHE_MAX_PARAMS], second[TITHE_MAX_PARAMS];
    tithe_status status = ti_spec_read(selector->name, arguments, selector->params, first, error);
    if (!status) status = ti_spec_read(quantizer->name, second_arguments, quantizer->params, second, error);
    if (!status) status = tithe_codec_make(selector, first, quantizer, second, options, codec, error);
    return status;
}

/* ---- from two variants -------------------------------------------------------------------------------- */

static tithe_status take_params(const char *owner, const tithe_param *table, const double *given,
                                double *params, tithe_error *error)
{
    const size_t count = ti_spec_count(table);
    if (count > TITHE_MAX_PARAMS)
        return ti_fail(error, TITHE_E_ARGUMENT, 0, "%s has more than %d parameters.", owner,
                       TITHE_MAX_PARAMS);
    for (size_t i = 0; i < TITHE_MAX_PARAMS; i++) params[i] = given && i < count ? given[i] : NAN;
    for (size_t i = 0; i < count; i++) {
        if (isnan(params[i])) continue;
        const tithe_status status = ti_spec_check(owner, &table[i], params[i], 0, error);
        if (status) return status;
    }
    return TITHE_OK;
}

/* Somebody's own variant has an id that no other will ever have, and a table of parameters, if an empty
 * one. */
static tithe_status expect_variant(const char *name, bool own, unsigned id, const tithe_param *params,
                                   tithe_error *error)
{
    if (!params)
        return ti_fail(error, TITHE_E_ARGUMENT, 0, "%s has no table of parameters: end one with {0}.", name);
    if (own || (id >= TITHE_FIRST_PRIVATE_ID && id <= 15)) return TITHE_OK;
    return ti_fail(error, TITHE_E_ARGUMENT, 0, "%s has the id %u: one of your own is from %d to 15.", name,
                   id, TITHE_FIRST_PRIVATE_ID);
}

static bool is_own_selector(const tithe_selector *selector)
{
    for (int i = 0; selectors[i]; i++)
        if (selectors[i] == selector) return true;
    return false;
}

static bool is_own_quantizer(const tithe_quantizer *quantizer)
{
    for (int i = 0; quantizers[i]; i++)
        if (quantizers[i] == quantizer) return true;
    return false;
}

/* The place of a parameter that holds for the pair: it has this name and these choices. */
static int find_shared(const tithe_param *table, const char *name, const char *choices)
{
    const int i = ti_spec_find(table, name);
    return i >= 0 && table[i].choices && strcmp(table[i].choices, choices) == 0 ? i : -1;
}

/* Stated on either side, it holds for both; stated differently it is refused. Returns the value or `open`. */
static tithe_status settle(tithe_codec *codec, const char *name, const char *choices, double open,
                           double *value, tithe_error *error)
{
    const int s = find_shared(codec->selector->params, name, choices);
    const int q = find_shared(codec->quantizer->params, name, choices);
    const double first = s >= 0 ? codec->selector_params[s] : NAN;
    const double second = q >= 0 ? codec->quantizer_params[q] : NAN;
    if (!isnan(first) && !isnan(second) && first != second)
        return ti_fail(error, TITHE_E_SPEC, 0, "%s holds for the pair: %s and %s cannot differ in it.", name,
                       codec->selector->name, codec->quantizer->name);
    *value = !isnan(first) ? first : !isnan(second) ? second : open;
    if (s >= 0) codec->selector_params[s] = *value;
    if (q >= 0) codec->quantizer_params[q] = *value;
    if (s < 0 && q < 0) *value = 0;
    return TITHE_OK;
}

static tithe_status settle_type(tithe_codec *codec, tithe_type wanted, tithe_error *error)
{
    const int at = find_shared(codec->quantizer->params, "type", "f32|f64");
    const bool stated = at >= 0 && !isnan(codec->quantizer_params[at]);
    if (stated && codec->quantizer_params[at] == TITHE_F32 && wanted == TITHE_F64)
        return ti_fail(error, TITHE_E_SPEC, 0,
                       "The vector holds doubles, but the spec says type=f32: leave that out.");
    codec->type = wanted;
    if (stated) codec->type = codec->quantizer_params[at] == 0 ? TITHE_F32 : TITHE_F64;
    if (at >= 0) codec->quantizer_params[at] = codec->type;
    if (codec->type == TITHE_F64 && !codec->quantizer->takes_f64)
        return ti_fail(error, TITHE_E_SPEC, 0, "%s takes floats only: doubles go with raw or natural.",
                       codec->quantizer->name);
    return TITHE_OK;
}

/* Neither unbiased nor a plain rounding: what such a quantizer is given must not depend on a scale. */
static bool is_biased(const tithe_codec *codec)
{
    const tithe_quant_call c = {.params = codec->quantizer_params, .type = codec->type, .count = 1};
    tithe_claims claims = {0};
    codec->quantizer->claims(&c, &claims);
    return !(claims.traits & TITHE_UNBIASED) && !codec->quantizer->rounds;
}

static tithe_status refuse(const tithe_codec *codec, bool open_level, tithe_error *error)
{
    const tithe_selector *s = codec->selector;
    const tithe_quantizer *q = codec->quantizer;
    const char *reason = s->refuse ? s->refuse(codec->selector_params) : NULL;
    if (reason) return ti_fail(error, TITHE_E_SPEC, 0, "%s: %s.", s->name, reason);
    reason = q->refuse ? q->refuse(codec->quantizer_params, codec->type) : NULL;
    if (reason) return ti_fail(error, TITHE_E_SPEC, 0, "%s: %s.", q->name, reason);
    if (!codec->has_level && !open_level)
        return ti_fail(error, TITHE_E_SPEC, 0,
                       "%s does not say how much to send: write %s, or use a tuner that decides.", s->name,
                       s->absolute ? "threshold:lambda=0.01" : "keep=0.01 or k=100");
    if (is_biased(codec) && !s->projection)
        return ti_fail(
            error, TITHE_E_SPEC, 0,
            "%s|%s makes no sense: %s sends its small entries with one magnitude already, and %s would "
            "spoil the exact ones; use %s|raw or topk|%s.",
            s->name, q->name, s->name, q->name, s->name, q->name);
    if (is_biased(codec) && s->scales && !codec->contractive)
        return ti_fail(
            error, TITHE_E_SPEC, 0,
            "%s is biased, so the unbiased scale of %s is lost on it: write %s:scale=contractive, or take "
            "natural or dither.",
            q->name, s->name, s->name);
    return TITHE_OK;
}

tithe_status tithe_codec_make(const tithe_selector *selector, const double *selector_params,
                              const tithe_quantizer *quantizer, const double *quantizer_params,
                              const tithe_codec_options *options, tithe_codec **codec, tithe_error *error)
{
    static const tithe_codec_options plain = {TITHE_F32, false, false};
    if (!selector || !quantizer || !codec)
        return ti_fail(error, TITHE_E_ARGUMENT, 0,
                       "A selector, a quantizer and a place for the codec are needed.");
    if (!options) options = &plain;

    tithe_codec *made = calloc(1, sizeof *made);
    if (!made) return ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory for a codec.");
    made->selector = selector;
    made->quantizer = quantizer;
    double contractive = 0;
    tithe_status status =
        expect_variant(selector->name, is_own_selector(selector), selector->id, selector->params, error);
    if (!status)
        status = expect_variant(quantizer->name, is_own_quantizer(quantizer), quantizer->id,
                                quantizer->params, error);
    if (!status)
        status = take_params(selector->name, selector->params, selector_params, made->selector_params, error);
    if (!status)
        status =
            take_params(quantizer->name, quantizer->params, quantizer_params, made->quantizer_params, error);
    if (!status)
        status = settle(made, "scale", "unbiased|contractive", options->contractive, &contractive, error);
    made->contractive = contractive == 1;
    if (!status) status = settle_type(made, options->type, error);
    if (!status) {
        ti_spec_defaults(selector->params, made->selector_params);
        ti_spec_defaults(quantizer->params, made->quantizer_params);
        made->open_level = options->open_level;
        made->has_level = !selector->has_level || selector->has_level(made->selector_params);
        status = refuse(made, options->open_level, error);
    }
    if (status) {
        free(made);
        return status;
    }
    char first[112], second[112];
    ti_spec_write(first, sizeof first, selector->name, selector->params, made->selector_params);
    ti_spec_write(second, sizeof second, quantizer->name, quantizer->params, made->quantizer_params);
    snprintf(made->spec, sizeof made->spec, "%s|%s", first, second);
    *codec = made;
    return TITHE_OK;
}

void tithe_codec_free(tithe_codec *codec)
{
    free(codec);
}

const char *tithe_codec_spec(const tithe_codec *codec)
{
    return codec->spec;
}

tithe_type tithe_codec_type(const tithe_codec *codec)
{
    return codec->type;
}

const tithe_selector *tithe_codec_selector(const tithe_codec *codec)
{
    return codec->selector;
}

const tithe_quantizer *tithe_codec_quantizer(const tithe_codec *codec)
{
    return codec->quantizer;
}

tithe_status ti_codec_expect_type(const tithe_codec *codec, tithe_type type, tithe_error *error)
{
    if (codec->type == type) return TITHE_OK;
    return ti_fail(error, TITHE_E_ARGUMENT, 0,
                   codec->type == TITHE_F64
                       ? "This codec takes doubles: call the _f64 function."
                       : "This codec takes floats: make it with type = TITHE_F64 for doubles.");
}
