/* integers.h - vectors as whole numbers of a few bits, such that a switch can add those of all ranks. One struct for each quantizer
 * that can do that; its row in the table points to it.
 *
 * First ranks agree on scales: each proposes numbers, and the largest of each are taken, in one round or two. Then each writes
 * its vector in units of these scales, keeps what it could not write, and the sum of all is read in the same units. Numbers
 * are so large that those of all ranks together just fit into what the switch adds with: no sum can overflow. */
#ifndef CODEC_INTEGERS_H
#define CODEC_INTEGERS_H

#include "aggregate/reduction.h"
#include "codec/codec.h"

typedef struct integers_call {
    tithe_quant_call quant; /* of the whole vector; the key is this rank's */
    unsigned ranks;
    const uint32_t *scales; /* that were agreed on: those of the first round, then those of the second */
    bool measure;
} integers_call;

struct quant_integers {
    bool rounds_sums; /* the switch rounds what comes back (C_M), as natural compression does */
    /* NULL, or a sentence: why these parameters cannot be summed. */
    const char *(*refuse)(const double *params);
    unsigned (*rounds)(const integers_call *c);
    size_t (*scales)(const integers_call *c); /* numbers of a round */
    uint8_t scale_bits;
    tithe_status (*propose)(const integers_call *c, unsigned round, const float *x, uint32_t *numbers,
                            tithe_error *error);
    agg_reduction (*shape)(const integers_call *c); /* draw is left to the caller */
    /* Write x, and leave in it what was not written. Returns |written|^2, if that is measured. */
    double (*encode)(const integers_call *c, float *x, uint8_t *codes);
    /* y = weight * the sum. */
    void (*decode)(const integers_call *c, const uint8_t *sums, float weight, float *y);
};
extern const struct quant_integers ti_integers_natural, ti_integers_dither, ti_integers_int32;

/* Bits that exponents, or magnitudes, may have, such that so many ranks stay within 31: 31 - ceil(log2 ranks). */
static inline unsigned integers_window(unsigned ranks)
{
    unsigned bits = 0;
    while ((UINT64_C(1) << bits) < ranks) bits++;
    return 31 - bits;
}

/* Bits of a number up to `most`. */
static inline uint8_t integers_bits(uint64_t most)
{
    unsigned bits = 1;
    while (most >> bits) bits++;
    return (uint8_t)bits;
}

#endif
