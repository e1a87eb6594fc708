/* progress.c - which progress a codec makes with its level; docs/design.md, "What a level buys", derives it. */
#include "codec/quant.h"
#include "codec/select.h"
#include "tuner/search.h"

static int level_parameter(const tithe_codec *codec)
{
    const tithe_param *table = codec->quantizer->params;
    for (int i = 0; table[i].name; i++)
        if (table[i].wire == TITHE_WIRE_LEVEL) return i;
    return -1;
}

progress_kind ti_progress_kind(const tithe_codec *codec)
{
    const tithe_selector *s = codec->selector;
    if (s == &ti_select_stochastic) return codec->quantizer == &ti_quant_raw ? PROGRESS_WATER : PROGRESS_NONE;
    if (s == &ti_select_all) return level_parameter(codec) >= 0 ? PROGRESS_LEVELS : PROGRESS_NONE;
    if (s != &ti_select_topk && s != &ti_select_threshold && s != &ti_select_mstopk) return PROGRESS_NONE;
    return codec->quantizer == &ti_quant_sign ? PROGRESS_SIGN : PROGRESS_SQUARES;
}

const char *ti_progress_refuse(const tithe_codec *codec)
{
    enum { RULE = 2, PER = 3 };
    const tithe_selector *s = codec->selector;
    if (codec->type != TITHE_F32) return "A tuner looks at floats: leave out type=f64.";
    if (s == &ti_select_topk && codec->selector_params[PER] == 1)
        return "cat takes one level for the whole vector: leave out per=layer.";
    if (s == &ti_select_topk && codec->selector_params[RULE] == 1)
        return "rule=l2 finds its own level: leave it out, or use `tuner=fixed`.";
    if (ti_progress_kind(codec) == PROGRESS_NONE) {
        if (s == &ti_select_all)
            return "There is no level to choose: cat tunes topk, mstopk, threshold, stochastic|raw, and "
                   "dither or "
                   "natdither.";
        if (s == &ti_select_stochastic)
            return "cat tunes stochastic|raw: another quantizer would spoil its exact entries.";
        return "cat cannot tell what a level of this selector buys: use topk, mstopk, threshold or "
               "stochastic.";
    }
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
