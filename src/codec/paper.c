/* paper.c - the bits that the papers would have counted for a message, beside the bytes that are really sent.
 *
 * CAT (khirirat2021cat): a sent entry costs its value, 32 bits, and its index, ceil(log2 d) bits; S+Q has one norm of 32
 * bits and a sign bit for each entry. Natural compression (horvath2022natural): 9 bits for a value; dithering sends a norm,
 * and a sign and a level for each value. */
#include <math.h>
#include <string.h>

#include "codec/codec.h"

static double parameter(const tithe_codec *codec, const char *name)
{
    const tithe_param *table = codec->quantizer->params;
    for (size_t i = 0; table && table[i].name; i++)
        if (strcmp(table[i].name, name) == 0) return codec->quantizer_params[i];
    return NAN;
}

static double index_bits(const tithe_codec *codec, size_t n)
{
    if (codec->selector->source == TITHE_INDICES_ALL || codec->selector->source == TITHE_INDICES_GIVEN)
        return 0;
    return n > 1 ? ceil(log2((double)n)) : 0;
}

double tithe_codec_paper_bits(const tithe_codec *codec, size_t n, size_t entries)
{
    const char *name = codec->quantizer->name;
    const double float_bits = codec->type == TITHE_F32 ? 32 : 64;
    double value = float_bits, once = 0;
    if (strcmp(name, "f16") == 0 || strcmp(name, "bf16") == 0)
        value = 16;
    else if (strcmp(name, "natural") == 0)
        value = codec->type == TITHE_F32 ? 9 : 12;
    else if (strcmp(name, "sign") == 0) {
        value = 1;
        once = float_bits;
    } else if (strcmp(name, "dither") == 0) {
        value = 1 + ceil(log2(parameter(codec, "s") + 1));
        once = float_bits;
    } else if (strcmp(name, "natdither") == 0) {
        value = 1 + ceil(log2(parameter(codec, "s") + 1));
        once = 8;
    }
    return once + (double)entries * (value + index_bits(codec, n));
}
