/* coder.h - a codec with all that its calls need in one handle: for languages that cannot write structs.
 *
 *     tithe_coder *coder;
 *     tithe_coder_open("codec=topk:keep=0.01|natural;seed=1", &coder, &error);
 *     size_t room = tithe_codec_bound(tithe_coder_codec(coder), n), length;
 *     tithe_coder_encode(coder, step, x, n, frame, room, &length, &error);
 *     tithe_coder_decode_add(coder, frame, length, 1.0, y, n, &error);          // y += C(x)
 *
 * Frames are self-contained. One call at a time: a coder has one scratch, which grows with the longest vector. */
#ifndef TITHE_CODER_H
#define TITHE_CODER_H

#include "tithe/codec.h"
#include "tithe/options.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tithe_coder tithe_coder;

/* Options of the table below, as text (options.h). */
TITHE_API tithe_status tithe_coder_open(const char *options, tithe_coder **coder, tithe_error *error);
/* With the codec that a self-contained frame names, good for decoding it; *n is how many numbers it is of. `codec` and `type`
 * are not asked for. */
TITHE_API tithe_status tithe_coder_of_frame(const uint8_t *frame, size_t length, const char *options,
                                            tithe_coder **coder, size_t *n, tithe_error *error);
TITHE_API const tithe_option *tithe_coder_option_table(void); /* its places are of no use outside */
TITHE_API void tithe_coder_free(tithe_coder *coder);          /* NULL is fine */

TITHE_API const tithe_codec *tithe_coder_codec(const tithe_coder *coder);
/* What it promises of vectors of n numbers, as JSON: the numbers of tithe_claims, and its traits by name. NULL: there is no
 * memory for it; otherwise tithe_text_free ends it. */
TITHE_API char *tithe_coder_claims(const tithe_coder *coder, size_t n);

/* x and y are floats or doubles, as `type` says. */
TITHE_API tithe_status tithe_coder_encode(tithe_coder *coder, uint32_t step, const void *x, size_t n,
                                          uint8_t *frame, size_t capacity, size_t *length,
                                          tithe_error *error);
TITHE_API tithe_status tithe_coder_decode_add(tithe_coder *coder, const uint8_t *frame, size_t length,
                                              double scale, void *y, size_t n, tithe_error *error);

#ifdef __cplusplus
}
#endif
#endif
