/* identities.h - facts that join codecs, each for codecs of any origin so that a wrong one can be tried. */
#ifndef CHECK_IDENTITIES_H
#define CHECK_IDENTITIES_H

#include "check/run.h"

/* E|C(x)|^2 / |x|^2 = wanted exactly, where all |x_i| = 4/3 * 2^j. */
tithe_status ti_check_second_moment_at(const tithe_codec *codec, uint64_t seed, double wanted,
                                       check_output *out);

/* Which norm a dithering quantizer divides by. */
typedef enum check_norm { CHECK_NORM_1, CHECK_NORM_2, CHECK_NORM_MAX } check_norm;

enum { CHECK_BUCKET = 16 }; /* the bucket that both dithering codecs below must have */

/* natdither with s levels against natural after dither with 2^(s-1) levels, in distribution. */
tithe_status ti_check_natural_dithering(const tithe_codec *natdither, const tithe_codec *dither,
                                        const tithe_codec *natural, unsigned s, check_norm norm,
                                        uint64_t seed, check_output *out);

/* Two codecs that round to powers of two have the same distribution. */
tithe_status ti_check_same_rounding(const tithe_codec *one, const tithe_codec *other, uint64_t seed,
                                    check_output *out);

/* Sixteen draws that differ in one part of the call are independent: the variance of their mean is a 16th. */
typedef enum check_part { CHECK_RANK, CHECK_STEP, CHECK_TENSOR, CHECK_SEED } check_part;
tithe_status ti_check_averaging(const tithe_codec *codec, check_part part, uint64_t seed, check_output *out);

/* randk with k of n: each position, and each pair, is as likely as any other. */
tithe_status ti_check_inclusion(const tithe_codec *codec, size_t n, size_t k, uint32_t trials, uint64_t seed,
                                check_output *out);

/* stochastic: as many entries as asked for, on average. */
tithe_status ti_check_expected_count(const tithe_codec *codec, double expected, uint64_t seed,
                                     check_output *out);

#endif
