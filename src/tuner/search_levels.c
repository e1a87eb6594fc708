/* search_levels.c - how many levels dithering should have, where every coordinate goes.
 *
 * Progress is 1/(1 + omega(s)) with the quantizer's own constant, which falls with s; the length of the frame has one
 * value for many s, that of the papers another one for each. Of each length only the largest s counts. Keys: alistarh2017qsgd, horvath2022natural. */
#include <math.h>

#include "tuner/search.h"

static double bits_with(const tithe_tuner_call *call, double s)
{
    const tithe_codec at = ti_codec_at(call->codec, s);
    if (call->count_paper) return tithe_codec_paper_bits(&at, call->n, call->n);
    return 8.0 * (double)tithe_codec_length(&at, call->n, call->n, call->form);
}

static double progress_with(const tithe_tuner_call *call, double s)
{
    const tithe_codec at = ti_codec_at(call->codec, s);
    return ti_progress_factor(&at, call->n);
}

static double max_levels(const tithe_codec *codec)
{
    const tithe_param *table = codec->quantizer->params;
    while (table->wire != TITHE_WIRE_LEVEL) table++;
    return table->max;
}

/* The first s in [low, high] for which progress is not below `wanted`, which it is not at high. */
static double min_with(const tithe_tuner_call *call, double low, double high, double wanted)
{
    while (low < high) {
        const double middle = floor((low + high) / 2);
        if (progress_with(call, middle) >= wanted)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

void ti_search_levels(const tithe_tuner_call *call, cat_search *s)
{
    const double max = max_levels(call->codec);
    for (double first = 1; first <= max;) {
        const double bits = bits_with(call, first), cost = tithe_cost_of(call->cost, bits);
        double low = first, high = max; /* the last of this length */
        if (first < max && bits_with(call, first + 1) > bits) high = first;
        while (low < high) {
            const double middle = ceil((low + high) / 2);
            if (bits_with(call, middle) == bits)
                low = middle;
            else
                high = middle - 1;
        }
        const double progress = progress_with(call, low), value = progress / cost;
        if (value > s->best * (1 + CAT_EQUAL)) {
            s->best = value;
            s->level = min_with(call, first, low, progress * (1 - CAT_EQUAL));
            s->level_progress = progress_with(call, s->level) * s->total.s2;
            s->level_cost = cost;
        }
        first = low + 1;
    }
}
