/* codec.h - turn a gradient into packed bytes and back.
 *
 * A codec is a selector (which coordinates go) and a quantizer (how a coordinate is written):
 *
 *     tithe_codec *codec;
 *     tithe_codec_create("topk:keep=0.01|natural", NULL, &codec, &error);
 *
 *     size_t   cap   = tithe_codec_bound(codec, n);          // bytes that the longest frame takes
 *     size_t   work  = tithe_codec_scratch(codec, n);        // bytes of scratch for one call
 *     tithe_call call = {.seed = 1, .step = k, .rank = r, .scratch = mem, .scratch_size = work};
 *
 *     tithe_encode(codec, &call, x, n, frame, cap, &info, &error);         // info.bytes were written
 *     tithe_decode_add(codec, &call, frame, info.bytes, 1.0f, y, n, &error);  // y += C(x)
 *
 * A codec never changes after it was made, so threads may share it; a scratch belongs to one call at a time.
 * No call allocates. Nothing is kept between calls: equal arguments give equal bytes, on every machine. */
#ifndef TITHE_CODEC_H
#define TITHE_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tithe/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TITHE_MAX_N 4294967295u /* positions travel as 32-bit numbers */

typedef enum tithe_type { TITHE_F32 = 0, TITHE_F64 = 1 } tithe_type;

typedef struct tithe_codec tithe_codec;
struct tithe_selector; /* variant.h: for those who bring their own */
struct tithe_quantizer;

/* What the spec leaves open. All zero, or NULL in place of the struct, is the plain case. */
typedef struct tithe_codec_options {
    tithe_type type;  /* of the vectors; f64 goes with the quantizers raw and natural */
    bool contractive; /* default of scale=: what error feedback and CAT want */
    bool open_level;  /* a selector without k, keep or lambda is fine: each call brings its level */
} tithe_codec_options;

TITHE_API tithe_status tithe_codec_create(const char *spec, const tithe_codec_options *options,
                                          tithe_codec **codec, tithe_error *error);
TITHE_API void tithe_codec_free(tithe_codec *codec); /* NULL is fine */

/* The spec with every parameter that differs from its default, in one canonical spelling. */
TITHE_API const char *tithe_codec_spec(const tithe_codec *codec);
TITHE_API tithe_type tithe_codec_type(const tithe_codec *codec);
TITHE_API const struct tithe_selector *tithe_codec_selector(const tithe_codec *codec);
TITHE_API const struct tithe_quantizer *tithe_codec_quantizer(const tithe_codec *codec);

/* ---- what a codec promises ---------------------------------------------------------------------------- */

enum {
    TITHE_UNBIASED = 1,    /* E C(x) = x */
    TITHE_CONTRACTIVE = 2, /* E|C(x)-x|^2 <= (1-delta)|x|^2 with delta > 0 */
    TITHE_ABSOLUTE = 4,    /* E|C(x)-x|^2 <= Delta^2, whatever x is */
    TITHE_SUMMABLE = 8,    /* the values of two frames with the same indices may be added as they are */
    TITHE_FIXED_SIZE = 16  /* all frames of a step are equally long: the length is known without the data */
};

/* Always true, with the constants as they are:   E|C(x)|^2   <= (1 + omega) |x|^2
 *                                                E|C(x)-x|^2 <= (1 - delta) |x|^2 + Delta^2
 * as long as every non-zero |x_i| lies in [smallest, largest]. delta may be negative (a promise, if a poor
 * one); omega is infinite where nothing is promised. Composed from the parts as docs/design.md derives. */
typedef struct tithe_claims {
    size_t size; /* sizeof(tithe_claims), set by whoever asks: so much is filled in */
    unsigned traits;
    double omega, delta, Delta;
    double smallest, largest;
} tithe_claims;

TITHE_API void tithe_codec_claims(const tithe_codec *codec, size_t n, tithe_claims *claims);

/* ---- one call ----------------------------------------------------------------------------------------- */

/* A self-contained frame says all that its decoder needs, but seed, rank and given indices. Inside an exchange
 * what both ends agreed on (n, codec) is left out. */
typedef enum tithe_form { TITHE_SELF_CONTAINED = 0, TITHE_EXCHANGE = 1 } tithe_form;

/* Whatever one call needs and the codec does not know. Zero is a good value for every field. */
typedef struct tithe_call {
    uint64_t seed; /* randomness is a function of seed, step, rank, tensor and position */
    uint32_t step; /* a self-contained frame brings its own when it is decoded */
    uint32_t rank;
    uint32_t tensor;
    tithe_form form;
    /* 0, or in place of the codec's own: entries (k), lambda, or s under `all`. Bound and scratch are sized for
     * every level if the codec was made with open_level. */
    double level;
    const uint32_t *given; /* the indices for the selector `given`: ascending, each below n */
    size_t given_count;
    /* Positions of the largest magnitudes, ascending, as a tuner may know them: all that are as large as the smallest
     * of them. topk then makes no pass of its own over a vector that is finite. NULL: it looks for itself. */
    const uint32_t *largest;
    size_t largest_count;
    const size_t *segments; /* lengths of the layers for per=layer; they add up to n */
    size_t segment_count;
    /* Entries of each of these layers, in place of `level`; NULL: of each as it says. */
    const size_t *segment_levels;
    void *scratch;
    size_t scratch_size;
    struct tithe_pool *pool; /* pool.h: threads that share the work; NULL: this one does it */
    /* Take a self-contained frame of randk whatever its seed, rank and tensor: for those who look at its bytes, and not at
     * where its values belong. */
    bool any_seed;
} tithe_call;

/* What is in a frame. bytes = header + (index_bits, padded) + (value_bits, padded) + 4 for the checksum. */
typedef struct tithe_frame_info {
    size_t bytes;
    size_t entries; /* coordinates that were sent */
    size_t header_bytes;
    uint64_t index_bits;
    uint64_t value_bits;
    double paper_bits; /* what the papers' formulas count for it, at its level (tithe_codec_paper_bits) */
} tithe_frame_info;

/* No frame of this codec is longer than bound(n), in either form. */
TITHE_API size_t tithe_codec_bound(const tithe_codec *codec, size_t n);
/* Enough for tithe_encode, tithe_decode_add and tithe_ec_encode. Only what the survivors need is touched. */
TITHE_API size_t tithe_codec_scratch(const tithe_codec *codec, size_t n);
/* len(T): a frame with `entries` entries is never longer, and the value is known before anything is
 * encoded. */
TITHE_API size_t tithe_codec_length(const tithe_codec *codec, size_t n, size_t entries, tithe_form form);

/* Of a codec whose frames are all equally long (TITHE_FIXED_SIZE): how long, in the exchange form. 0: it
 * depends on the data, or on the call. */
TITHE_API size_t tithe_codec_fixed_length(const tithe_codec *codec, size_t n);

/* The bits that the papers' own formulas count for such a frame (`--count paper`). */
TITHE_API double tithe_codec_paper_bits(const tithe_codec *codec, size_t n, size_t entries);

/* Encode n numbers. NaN and infinity are refused with their position. They are found in the pass that
 * encodes, so after a failure the buffer may have been written to; it never holds a frame then. */
TITHE_API tithe_status tithe_encode(const tithe_codec *codec, const tithe_call *call, const float *x,
                                    size_t n, uint8_t *frame, size_t capacity, tithe_frame_info *info,
                                    tithe_error *error);
TITHE_API tithe_status tithe_encode_f64(const tithe_codec *codec, const tithe_call *call, const double *x,
                                        size_t n, uint8_t *frame, size_t capacity, tithe_frame_info *info,
                                        tithe_error *error);

/* y += scale * C(x). All or nothing: unless TITHE_OK is returned, y is as it was. A frame of k entries costs
 * O(k). The codec must be the sender's; for a self-contained frame whose codec is not known beforehand see
 * frame.h. */
TITHE_API tithe_status tithe_decode_add(const tithe_codec *codec, const tithe_call *call,
                                        const uint8_t *frame, size_t length, float scale, float *y, size_t n,
                                        tithe_error *error);
TITHE_API tithe_status tithe_decode_add_f64(const tithe_codec *codec, const tithe_call *call,
                                            const uint8_t *frame, size_t length, double scale, double *y,
                                            size_t n, tithe_error *error);

#ifdef __cplusplus
}
#endif
#endif
