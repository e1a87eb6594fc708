/* claims.c - what a pair promises, from what its parts promise. docs/design.md derives the rules. */
#include "codec/codec.h"

#include <math.h>

#include "base/sized.h"

/* E C = x for both: second moments multiply. */
static void compose_unbiased(const tithe_claims *s, const tithe_claims *q, tithe_claims *pair)
{
    pair->omega = (1 + s->omega) * (1 + q->omega) - 1;
    pair->delta = 1 - pair->omega;
    pair->traits |= TITHE_UNBIASED;
}

/* The selector keeps some coordinates as they are, so what it drops and what the quantizer spoils are
 * orthogonal: with a the energy kept, the error is (1-a) + a(1-q) = 1 - aq, and a >= delta of the
 * selector. */
static void compose_projection(const tithe_claims *s, const tithe_claims *q, tithe_claims *pair)
{
    pair->omega = q->omega;
    pair->delta = q->delta > 0 ? s->delta * q->delta : q->delta;
    if (s->traits & TITHE_ABSOLUTE) pair->delta = q->delta; /* what was dropped is in Delta */
    pair->Delta = s->Delta;
}

/* Deterministic rounding with relative error e after a selector that scales: triangle inequality. */
static void compose_rounding(const tithe_claims *s, const tithe_claims *q, tithe_claims *pair)
{
    const double e = sqrt(1 - q->delta), error = sqrt(1 - s->delta) + e * sqrt(1 + s->omega);
    pair->omega = (1 + s->omega) * (1 + q->omega) - 1;
    pair->delta = 1 - error * error;
}

/* Contractive `stochastic` with a contractive quantizer: only the entries that always go pass the
 * quantizer. With f the selector's factor and q the quantizer's, the error is 1 - f + (1-q) f (2-f) a for
 * a share a <= 1 of the energy in those entries; the worst f in [delta, 1] counts. */
static void compose_shared(const tithe_claims *s, const tithe_claims *q, tithe_claims *pair)
{
    const double lost = 1 - q->delta;
    double f = s->delta;
    if (lost > 0.5) f = fmin(1, fmax(f, (2 * lost - 1) / (2 * lost)));
    pair->omega = 0;
    pair->delta = f * (1 - lost * (2 - f));
}

tithe_claims ti_codec_claims(const tithe_codec *codec, size_t n)
{
    const tithe_call call = {0};
    const tithe_quant_call quant = ti_codec_quant_call(codec, &call, ti_codec_max_count(codec, n));
    tithe_claims s = {0}, q = {0}, pair = {0};
    codec->selector->claims(codec->selector_params, n, codec->contractive, &s);
    codec->quantizer->claims(&quant, &q);

    const bool scales = !codec->selector->projection || (codec->selector->scales && !codec->contractive);
    if (s.traits & q.traits & TITHE_UNBIASED)
        compose_unbiased(&s, &q, &pair);
    else if (!scales)
        compose_projection(&s, &q, &pair);
    else if (codec->quantizer->rounds)
        compose_rounding(&s, &q, &pair);
    else
        compose_shared(&s, &q, &pair);

    const bool fixed = !codec->quantizer->fixed_size || codec->quantizer->fixed_size(quant.params);
    const tithe_index_source source = codec->selector->source;
    if (fixed) pair.traits |= s.traits & TITHE_FIXED_SIZE;
    if (source == TITHE_INDICES_ALL || source == TITHE_INDICES_GIVEN)
        pair.traits |= q.traits & TITHE_SUMMABLE;
    if (pair.Delta == 0 && pair.delta > 0) pair.traits |= TITHE_CONTRACTIVE;
    if (pair.delta == 1) pair.traits |= TITHE_ABSOLUTE;
    pair.smallest = q.smallest;
    pair.largest = scales ? q.largest / (1 + s.omega) : q.largest;
    return pair;
}

void tithe_codec_claims(const tithe_codec *codec, size_t n, tithe_claims *claims)
{
    tithe_claims own = ti_codec_claims(codec, n);
    own.size = sizeof own;
    sized_copy(claims, &own);
}
