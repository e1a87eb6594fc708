/* quant.h - what the quantizers share. */
#ifndef CODEC_QUANT_H
#define CODEC_QUANT_H

#include <math.h>

#include "base/bits.h"
#include "base/bytes.h"
#include "base/rng.h"
#include "base/status.h"
#include "tithe/variant.h"

extern const tithe_quantizer ti_quant_raw, ti_quant_f16, ti_quant_bf16, ti_quant_natural, ti_quant_sign,
    ti_quant_dither, ti_quant_natdither, ti_quant_int32;

/* The parameter that every stochastic quantizer has; codec.c settles it for the pair. */
#define QUANT_SCALE                                                                                   \
    {                                                                                                 \
        .name = "scale", .doc = "unbiased, or contractive: multiplied by 1/(1+omega)", .fallback = 0, \
        .max = 1, .choices = "unbiased|contractive"                                                   \
    }

#define QUANT_TYPE                                                                              \
    {                                                                                           \
        .name = "type", .doc = "type of the numbers that are written", .fallback = 0, .max = 1, \
        .choices = "f32|f64"                                                                    \
    }

static inline size_t block_length(size_t first, size_t count)
{
    return count - first < TITHE_BLOCK ? count - first : TITHE_BLOCK;
}

/* Are the bits of the last byte beyond `bits` zero? One message has one spelling. */
static inline bool padding_is_zero(const uint8_t *src, uint64_t bits)
{
    return bits % 8 == 0 || src[bits / 8] >> bits % 8 == 0;
}

#endif
