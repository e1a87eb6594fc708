/* codecs.c - levels of codecs that are named: how long their frames are, and how a step with them is configured. */
#include <math.h>
#include <string.h>

#include "base/status.h"
#include "codec/codec.h"
#include "plan/plan.h"

static tithe_status expect_sense(const tithe_plan_request *q, const plan_level *l, size_t entries,
                                 tithe_error *error)
{
    if (q->params > TITHE_MAX_N)
        return ti_fail(error, TITHE_E_ARGUMENT, 0,
                       "A frame holds up to %u numbers: list the layers, or leave the codecs out.",
                       TITHE_MAX_N);
    if (strlen(l->codec) >= PLAN_SPEC)
        return ti_fail(error, TITHE_E_SPEC, 0, "A codec that is planned has fewer than %d letters, not %zu.",
                       PLAN_SPEC, strlen(l->codec));
    if (l->methods.tuner->tunes)
        return ti_fail(error, TITHE_E_SPEC, 0, "A plan needs the level of '%s': write it into the codec.",
                       l->codec);
    if (entries == 0)
        return ti_fail(error, TITHE_E_SPEC, 0,
                       "How much '%s' sends depends on the data, which a plan does not know: take another "
                       "codec.",
                       l->codec);
    return TITHE_OK;
}

tithe_status ti_plan_codec_open(const tithe_plan_request *q, const tithe_plan_codec *codec, plan_level *level,
                                tithe_error *error)
{
    *level = (plan_level){.codec = codec->spec,
                          .encode = codec->encode_value * q->params,
                          .decode = codec->decode_value * q->params,
                          .form = q->speed.form_value * q->params};
    /* a server's way back is as the way there */
    tithe_status status =
        ti_exchange_find(codec->spec, NULL, NULL, NULL, codec->spec, NULL, &level->methods, error);
    if (status) return status;
    const tithe_codec *made = level->methods.codec;
    const size_t n = (size_t)fmin(q->params, TITHE_MAX_N), entries = ti_codec_stated_count(made, n);
    status = expect_sense(q, level, entries, error);
    if (status) {
        ti_plan_codec_close(level);
        return status;
    }
    level->keep = (double)entries / q->params;
    level->frame = (double)ti_codec_expected_length(made, n);
    return TITHE_OK;
}

void ti_plan_codec_close(plan_level *level)
{
    ti_exchange_methods_free(&level->methods);
}

/* A scheme that cuts knows its way back by itself. */
tithe_exchange_config ti_plan_codec_config(const plan_level *level, const tithe_scheme *scheme,
                                           const char *collective)
{
    const exchange_methods *m = &level->methods;
    return (tithe_exchange_config){.size = sizeof(tithe_exchange_config),
                                   .codec = m->codec,
                                   .feedback = m->feedback,
                                   .downlink = scheme->back && !scheme->cuts ? m->downlink : NULL,
                                   .scheme = scheme->name,
                                   .collective = collective,
                                   .tuner = m->tuner};
}
