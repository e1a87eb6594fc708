/* frame.h - read a self-contained frame that came from a file or a stranger. docs/format.md has the bytes.
 *
 *     tithe_frame_header h;
 *     tithe_frame_read(frame, length, &h, &error);         // checks version, header and checksum
 *     tithe_frame_codec(&h, &codec, &error);               // the codec that wrote it
 *     float *y = calloc(h.n, sizeof *y);
 *     tithe_decode_add(codec, &call, frame, length, 1.0f, y, h.n, &error); */
#ifndef TITHE_FRAME_H
#define TITHE_FRAME_H

#include "tithe/codec.h"
#include "tithe/variant.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TITHE_WIRE_VERSION 1
/* Of self-contained frames whose positions are drawn (randk): with a check of seed, rank and tensor. Version 1, which has none, is
 * read still. */
#define TITHE_WIRE_VERSION_DRAWN 2

typedef enum tithe_index_coding {
    TITHE_INDEX_NONE = 0,   /* every position, or positions that both ends know */
    TITHE_INDEX_FIXED = 1,  /* ceil(log2 n) bits each */
    TITHE_INDEX_BITMAP = 2, /* n bits */
    TITHE_INDEX_GOLOMB = 3  /* gaps, Golomb-Rice with parameter m */
} tithe_index_coding;

typedef struct tithe_frame_header {
    tithe_form form;
    uint8_t version; /* TITHE_WIRE_VERSION, or that of drawn positions */
    uint8_t selector_id, quantizer_id;
    tithe_type type;
    bool contractive;
    size_t n;
    uint32_t step;
    size_t entries;
    tithe_index_coding coding;
    uint32_t golomb_m;
    double quantizer_params[TITHE_MAX_PARAMS]; /* those that the decoder needs; NAN for the rest */
    size_t header_bytes;
    size_t payload_bytes; /* between header and checksum */
} tithe_frame_header;

/* Check and read the header of a self-contained frame. TITHE_E_CORRUPT for anything else, with the reason. */
TITHE_API tithe_status tithe_frame_read(const uint8_t *frame, size_t length, tithe_frame_header *header,
                                        tithe_error *error);

/* Bytes of scratch to decode this frame: O(entries), and n/8 more for randk, which has to draw;
 * tithe_codec_scratch has to think of the longest frame. */
TITHE_API size_t tithe_frame_scratch(const tithe_frame_header *header);

/* The codec that a self-contained frame names, good for decoding it. */
TITHE_API tithe_status tithe_frame_codec(const tithe_frame_header *header, tithe_codec **codec,
                                         tithe_error *error);

/* Is the frame sound to its last bit? Needs what tithe_decode_add needs, and touches nothing. */
TITHE_API tithe_status tithe_frame_check(const tithe_codec *codec, const tithe_call *call,
                                         const uint8_t *frame, size_t length, size_t n,
                                         tithe_frame_info *info, tithe_error *error);

/* CRC-32C (Castagnoli), as it closes every frame. */
TITHE_API uint32_t tithe_crc32c(const uint8_t *bytes, size_t length);

#ifdef __cplusplus
}
#endif
#endif
