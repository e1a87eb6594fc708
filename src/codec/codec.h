/* codec.h - what codec.c, frame.c, encode.c and decode.c know of each other. */
#ifndef CODEC_CODEC_H
#define CODEC_CODEC_H

#include "base/bytes.h"
#include "base/rng.h"
#include "base/status.h"
#include "codec/indices.h"
#include "tithe/frame.h"

struct tithe_codec {
    const tithe_selector *selector;
    const tithe_quantizer *quantizer;
    double selector_params[TITHE_MAX_PARAMS];
    double quantizer_params[TITHE_MAX_PARAMS];
    tithe_type type;
    bool contractive;
    bool has_level;  /* says itself how much to send */
    bool open_level; /* calls may bring any level */
    char spec[256];
};

enum { CHECKSUM_BYTES = 4, MAX_HEADER_BYTES = 40 };

static inline size_t type_size(tithe_type type)
{
    return type == TITHE_F32 ? sizeof(float) : sizeof(double);
}

static inline double number_at(tithe_type type, const void *x, size_t i)
{
    return type == TITHE_F32 ? (double)((const float *)x)[i] : ((const double *)x)[i];
}

/* A sentence for the place where a vector is of the other type than the codec. */
tithe_status ti_codec_expect_type(const tithe_codec *codec, tithe_type type, tithe_error *error);

/* The codec with the level of a call (0: its own) in place of what its parameters say; everything else
 * here takes the level from the codec. */
tithe_codec ti_codec_at(const tithe_codec *codec, double level);

/* What tithe_codec_claims tells. */
tithe_claims ti_codec_claims(const tithe_codec *codec, size_t n);

/* The most entries that a call may select. */
size_t ti_codec_max_count(const tithe_codec *codec, size_t n);
/* As many as it states, whatever a draw may select; 0: the data decide, or the call. */
size_t ti_codec_stated_count(const tithe_codec *codec, size_t n);
/* What a frame with as many entries is likely to take in an exchange, for plans: to the byte where all frames are equally
 * long, else with indices as evenly drawn ones have them. Buffers need tithe_codec_bound, which is what no frame exceeds. */
size_t ti_codec_expected_length(const tithe_codec *codec, size_t n);
/* The level with which a part of a vector of n numbers is sent; 0: what the codec says holds for every length. */
double ti_codec_level_of_part(const tithe_codec *codec, size_t part, size_t n);
/* Does the selector take a share of each layer, as the call lists them? */
bool ti_codec_by_layer(const tithe_codec *codec);
/* Room for entries that encoding needs: at least as much. */
size_t ti_codec_room(const tithe_codec *codec, size_t n);

/* What the quantizer is told. */
tithe_quant_call ti_codec_quant_call(const tithe_codec *codec, const tithe_call *call, size_t count);

/* ---- scratch ------------------------------------------------------------------------------------------ */

typedef struct workspace {
    uint32_t *indices; /* of all entries, with room for 16 more: vectors are stored whole */
    uint32_t *exact;   /* selectors that share a magnitude: places of the exact entries among all entries, */
    uint32_t *regroup; /* then the indices of the exact entries, followed by those of the others */
    void *values;      /* survivors, times the selector's factor */
    void *selector;
} workspace;

typedef enum workspace_use { TO_ENCODE, TO_DECODE } workspace_use;

/* `count` is the room for entries. */
size_t ti_workspace_size(const tithe_codec *codec, workspace_use use, size_t n, size_t count);
tithe_status ti_workspace_carve(const tithe_codec *codec, workspace_use use, size_t n, size_t count,
                                const tithe_call *call, workspace *w, tithe_error *error);

/* ---- header (frame.c) --------------------------------------------------------------------------------- */

/* Write the header for `count` entries; returns its length, at most MAX_HEADER_BYTES. */
size_t ti_header_write(const tithe_codec *codec, const tithe_call *call, size_t n, size_t count,
                       const index_plan *plan, uint8_t *dst);
/* The longest header that `count` entries can have. */
size_t ti_header_bound(const tithe_codec *codec, size_t n, size_t count, tithe_form form);
/* Check the checksum and read the header of either form; codec, call and n matter for the exchange form
 * only. */
tithe_status ti_header_read(const uint8_t *frame, size_t length, const tithe_codec *codec,
                            const tithe_call *call, size_t n, tithe_frame_header *header, index_plan *plan,
                            tithe_error *error);

/* ---- the group that shares a magnitude (shared.c) ----------------------------------------------------- */

/* Entries of one message, split by a selector that `shares`: the exact ones go through the quantizer. */
typedef struct shared_group {
    size_t exact_count, shared_count;
    index_plan plan; /* of the exact places, when there are both kinds */
    double magnitude;
} shared_group;

uint64_t ti_shared_max_bits(tithe_type type, size_t count);
/* Fill w->exact and w->regroup; values[] is squeezed to the exact ones. */
shared_group ti_shared_split(const tithe_codec *codec, const void *x, const tithe_selection *s, workspace *w);
size_t ti_shared_write(const tithe_codec *codec, const void *x, const shared_group *group, const workspace *w,
                       size_t count, uint8_t *dst, const tithe_sink *sent);
/* Length of the group in *used; false when the bytes make no sense. */
bool ti_shared_read(const tithe_codec *codec, const uint8_t *src, size_t length, size_t count, workspace *w,
                    shared_group *group, size_t *used);
void ti_shared_decode(const tithe_codec *codec, const uint8_t *src, size_t used, const shared_group *group,
                      const workspace *w, const tithe_sink *out);

/* What is encoded: x, or, for error compensation, keep + gamma * gradient, of which the part that is not
 * sent is left in keep (the same memory as x). gradient may be NULL even then. */
typedef struct encode_input {
    const void *x;
    size_t n;
    void *keep;
    const void *gradient;
    double gamma;
} encode_input;

tithe_status ti_encode(const tithe_codec *codec, const tithe_call *call, const encode_input *in,
                       uint8_t *frame, size_t capacity, tithe_frame_info *info, tithe_error *error);

/* Which entries would be sent, without sending them: the selection lies in the scratch of the call. */
tithe_status ti_codec_select(const tithe_codec *codec, const tithe_call *call, const void *x, size_t n,
                             tithe_selection *s, tithe_error *error);

/* ---- positions without values (index_frame.c) --------------------------------------------------------- */

/* There must be room for tithe_codec_bound(n). Returns the length. */
size_t ti_index_frame_write(const tithe_codec *codec, const tithe_call *call, const uint32_t *indices,
                            size_t count, size_t n, uint8_t *frame);
/* At most `most` positions; `indices` has room for 16 more. */
tithe_status ti_index_frame_read(const tithe_codec *codec, const tithe_call *call, const uint8_t *frame,
                                 size_t length, size_t n, size_t max, uint32_t *indices, size_t *count,
                                 tithe_error *error);

#endif
