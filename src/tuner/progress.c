/* progress.c - which progress a codec makes with its level; docs/design.md, "What a level buys", derives it. */
#include "tuner/search.h"

static int level_parameter(const tithe_codec *codec)
{
    const tithe_param *table = codec->quantizer->params;
    for (int i = 0; table[i].name; i++)
        if (table[i].wire == TITHE_WIRE_LEVEL) return i;
    return -1;
}

static bool takes_all(const tithe_codec *codec)
{
    return codec->selector->source == TITHE_INDICES_ALL;
}

progress_kind ti_progress_kind(const tithe_codec *codec)
{
    const tithe_quantizer *q = codec->quantizer;
    if (takes_all(codec)) return level_parameter(codec) >= 0 ? PROGRESS_LEVELS : PROGRESS_NONE;
    switch (codec->selector->picks) {
    case TITHE_PICKS_LARGEST: return q->common == TITHE_COMMON_MEAN ? PROGRESS_SIGN : PROGRESS_SQUARES;
    case TITHE_PICKS_OPTIMAL: return q->exact ? PROGRESS_WATER : PROGRESS_NONE;
    default: return PROGRESS_NONE;
    }
}

const char *ti_progress_refuse(const tithe_codec *codec)
{
    const tithe_selector *s = codec->selector;
    if (codec->type != TITHE_F32) return "A tuner looks at floats: leave out type=f64.";
    const char *why = s->untunable ? s->untunable(codec->selector_params) : NULL;
    if (why) return why;
    if (ti_progress_kind(codec) == PROGRESS_NONE) {
        if (takes_all(codec))
            return "There is no level to choose: cat tunes topk, mstopk, threshold, stochastic|raw, and "
                   "dither or "
                   "natdither.";
        if (s->picks == TITHE_PICKS_OPTIMAL)
            return "cat tunes stochastic|raw: another quantizer would spoil its exact entries.";
        return "cat cannot tell what a level of this selector buys: use topk, mstopk, threshold or "
               "stochastic.";
    }
    if (ti_codec_by_layer(codec) && codec->quantizer->common != TITHE_COMMON_NOTHING)
        return "Under cat each layer has a level of its own, which values with a common scale would tie "
               "together: take "
               "raw, natural, f16 or bf16, or `bucket=layer` in place of per=layer.";
    if (!codec->open_level) return "cat chooses the level, so the codec has to be made with open_level.";
    return NULL;
}

double ti_progress_factor(const tithe_codec *codec, size_t count)
{
    const tithe_call call = {0};
    const tithe_quant_call quant = ti_codec_quant_call(codec, &call, count);
    tithe_claims claims = {0};
    codec->quantizer->claims(&quant, &claims);
    const double factor = claims.traits & TITHE_UNBIASED ? 1 / (1 + claims.omega) : claims.delta;
    return factor > 0 ? factor : 0;
}
