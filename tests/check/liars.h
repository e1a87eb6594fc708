/* liars.h - variants that break one promise each, wrapped around an honest one: what a check has to find. */
#ifndef TESTS_CHECK_LIARS_H
#define TESTS_CHECK_LIARS_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tithe/variant.h"

static inline const tithe_quantizer *quantizer_named(const char *name)
{
    for (const tithe_quantizer *const *q = tithe_quantizers(); *q; q++)
        if (strcmp((*q)->name, name) == 0) return *q;
    return NULL;
}

static inline const tithe_selector *selector_named(const char *name)
{
    for (const tithe_selector *const *s = tithe_selectors(); *s; s++)
        if (strcmp((*s)->name, name) == 0) return *s;
    return NULL;
}

/* ---- quantizers: the honest encoder on values that were tampered with ---------------------------------- */

typedef float (*tamper)(float value, size_t i);

static inline tithe_status encode_tampered(const tithe_quantizer *honest, tamper change,
                                           const tithe_quant_call *c, const void *values, uint8_t *dst,
                                           uint64_t *bits, const tithe_sink *sent, tithe_error *error)
{
    float *changed = malloc((c->count + 1) * sizeof *changed);
    if (!changed) return TITHE_E_MEMORY;
    for (size_t i = 0; i < c->count; i++) changed[i] = change(((const float *)values)[i], i);
    const tithe_status status = honest->encode(c, changed, dst, bits, sent, error);
    free(changed);
    return status;
}

static inline float round_down(float value, size_t i) /* to a power of two, always */
{
    (void)i;
    int exponent;
    if (value == 0) return 0;
    frexpf(value, &exponent);
    return copysignf(ldexpf(1, exponent - 1), value);
}

static inline float lengthen(float value, size_t i)
{
    (void)i;
    return 1.02f * value;
}

static inline float shorten_every_other(float value, size_t i)
{
    return i % 2 ? value : 0.97f * value;
}

static inline tithe_status encode_down(const tithe_quant_call *c, const void *values, uint8_t *dst,
                                       uint64_t *bits, const tithe_sink *sent, tithe_error *error)
{
    return encode_tampered(quantizer_named("natural"), round_down, c, values, dst, bits, sent, error);
}

static inline tithe_status encode_long(const tithe_quant_call *c, const void *values, uint8_t *dst,
                                       uint64_t *bits, const tithe_sink *sent, tithe_error *error)
{
    return encode_tampered(quantizer_named("natural"), lengthen, c, values, dst, bits, sent, error);
}

static inline tithe_status encode_uneven(const tithe_quant_call *c, const void *values, uint8_t *dst,
                                         uint64_t *bits, const tithe_sink *sent, tithe_error *error)
{
    return encode_tampered(quantizer_named("natdither"), shorten_every_other, c, values, dst, bits, sent,
                           error);
}

/* What lies in dst by chance decides the draw. */
static inline tithe_status encode_by_chance(const tithe_quant_call *c, const void *values, uint8_t *dst,
                                            uint64_t *bits, const tithe_sink *sent, tithe_error *error)
{
    tithe_quant_call other = *c;
    if (c->count) other.key.a ^= dst[0];
    return quantizer_named("natural")->encode(&other, values, dst, bits, sent, error);
}

/* The feedback is told of a tenth more than was sent. */
static inline tithe_status encode_embezzling(const tithe_quant_call *c, const void *values, uint8_t *dst,
                                             uint64_t *bits, const tithe_sink *sent, tithe_error *error)
{
    tithe_sink more = sent ? *sent : (tithe_sink){0};
    more.scale *= 1.1;
    return quantizer_named("natural")->encode(c, values, dst, bits, &more, error);
}

/* Everybody draws the same. */
static inline tithe_status encode_in_step(const tithe_quant_call *c, const void *values, uint8_t *dst,
                                          uint64_t *bits, const tithe_sink *sent, tithe_error *error)
{
    tithe_quant_call other = *c;
    other.key = (tithe_key){1, 2};
    return quantizer_named("natural")->encode(&other, values, dst, bits, sent, error);
}

static inline void decode_nan(const tithe_quant_call *c, const uint8_t *src, size_t length,
                              const tithe_sink *out)
{
    const float nothing = NAN;
    quantizer_named("natural")->decode(c, src, length, out);
    if (c->count) tithe_sink_add(out, 0, &nothing, 1);
}

static inline tithe_status encode_nothing(const tithe_quant_call *c, const void *values, uint8_t *dst,
                                          uint64_t *bits, const tithe_sink *sent, tithe_error *error)
{
    (void)c, (void)values, (void)dst, (void)bits, (void)sent;
    if (error) *error = (tithe_error){.code = TITHE_E_RANGE, .text = "No."};
    return TITHE_E_RANGE;
}

static inline void claims_small_omega(const tithe_quant_call *c, tithe_claims *claims)
{
    quantizer_named("natural")->claims(c, claims);
    claims->omega = 0.05;
}

/* ---- selectors ----------------------------------------------------------------------------------------- */

static inline void claims_large_delta(const double *params, size_t n, bool contractive, tithe_claims *claims)
{
    selector_named("topk")->claims(params, n, contractive, claims);
    claims->delta = 0.99;
}

/* randk that never draws the last position. */
static inline tithe_status select_but_last(const tithe_select_call *c, tithe_selection *s, tithe_error *error)
{
    tithe_select_call shorter = *c;
    shorter.n--;
    return selector_named("randk")->select(&shorter, s, error);
}

static inline void draw_but_last(tithe_key key, size_t n, size_t count, uint32_t *indices, void *scratch)
{
    selector_named("randk")->draw(key, n - 1, count, indices, scratch);
}

/* randk that draws neighbours: fair to each position, unfair to pairs. */
static inline void draw_neighbours(tithe_key key, size_t n, size_t count, uint32_t *indices, void *scratch)
{
    selector_named("randk")->draw(key, n / 2, count / 2, indices, scratch);
    for (size_t i = count / 2; i-- > 0;) {
        const uint32_t at = indices[i];
        indices[2 * i] = 2 * at;
        indices[2 * i + 1] = 2 * at + 1;
    }
}

static inline tithe_status select_neighbours(const tithe_select_call *c, tithe_selection *s,
                                             tithe_error *error)
{
    const tithe_status status = selector_named("randk")->select(c, s, error);
    draw_neighbours(c->key, c->n, s->count, s->indices, c->scratch);
    return status;
}

/* stochastic that spends a tenth more than it was given. */
static inline tithe_status select_more(const tithe_select_call *c, tithe_selection *s, tithe_error *error)
{
    tithe_select_call more = *c;
    double params[TITHE_MAX_PARAMS];
    memcpy(params, c->params, 3 * sizeof *params);
    params[0] *= 1.1;
    more.params = params;
    return selector_named("stochastic")->select(&more, s, error);
}

#endif
