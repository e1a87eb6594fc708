/* paper.c - the bits that the papers would have counted for a message, beside the bytes that are really sent.
 *
 * An entry costs its value, 32 bits unless its quantizer says otherwise, and its index. For CAT (khirirat2021cat) that is
 * ceil(log2 d) bits. Random sparsification is counted as in the table of horvath2022natural, (33 + log2 d) q bits and
 * (10 + log2 d) q after natural compression: 1 + log2 d bits for an index, although ours are drawn and not sent. */
#include <math.h>

#include "codec/codec.h"

static double index_bits(const tithe_codec *codec, size_t n)
{
    const double log2_n = n > 1 ? log2((double)n) : 0;
    switch (codec->selector->source) {
    case TITHE_INDICES_SENT: return ceil(log2_n);
    case TITHE_INDICES_DRAWN: return 1 + log2_n;
    default: return 0;
    }
}

double tithe_codec_paper_bits(const tithe_codec *codec, size_t n, size_t entries)
{
    const tithe_call call = {0};
    const tithe_quant_call quant = ti_codec_quant_call(codec, &call, entries);
    const double numbers = (codec->type == TITHE_F32 ? 32 : 64) * (double)entries;
    const double values = codec->quantizer->paper_bits ? codec->quantizer->paper_bits(&quant) : numbers;
    return values + (double)entries * index_bits(codec, n);
}
