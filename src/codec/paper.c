/* paper.c - the bits that the papers would have counted for a message, beside the bytes that are really sent.
 *
 * CAT (khirirat2021cat): a sent entry costs its value, 32 bits unless its quantizer says otherwise, and its index,
 * ceil(log2 d) bits. */
#include <math.h>

#include "codec/codec.h"

static double index_bits(const tithe_codec *codec, size_t n)
{
    if (codec->selector->source == TITHE_INDICES_ALL || codec->selector->source == TITHE_INDICES_GIVEN)
        return 0;
    return n > 1 ? ceil(log2((double)n)) : 0;
}

double tithe_codec_paper_bits(const tithe_codec *codec, size_t n, size_t entries)
{
    const tithe_call call = {0};
    const tithe_quant_call quant = ti_codec_quant_call(codec, &call, entries);
    const double numbers = (codec->type == TITHE_F32 ? 32 : 64) * (double)entries;
    const double values = codec->quantizer->paper_bits ? codec->quantizer->paper_bits(&quant) : numbers;
    return values + (double)entries * index_bits(codec, n);
}
