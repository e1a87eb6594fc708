/* coded.h - what becomes of numbers: encode under `all`, decode, and look. */
#ifndef TESTS_CODEC_CODED_H
#define TESTS_CODEC_CODED_H

#include "support.h"

typedef struct coded {
    uint8_t *frame;
    void *y;
    tithe_frame_info info;
    const uint8_t *values; /* where they begin in the frame */
} coded;

/* Encode and decode; any refusal but the expected one fails. Without entries in between, for `all` and the like. */
static inline coded code_numbers(const tithe_codec *codec, tithe_call call, const void *x, size_t n,
                                 tithe_status wanted)
{
    const tithe_type type = tithe_codec_type(codec);
    const size_t bound = tithe_codec_bound(codec, n), scratch = tithe_codec_scratch(codec, n);
    coded c = {.frame = malloc(bound), .y = calloc(n + 1, type_bytes(type))};
    tithe_error error = {0};
    call.scratch = malloc(scratch + 1);
    call.scratch_size = scratch;
    assert_true(c.frame && c.y && call.scratch);
    tithe_status status = type == TITHE_F32
                              ? tithe_encode(codec, &call, x, n, c.frame, bound, &c.info, &error)
                              : tithe_encode_f64(codec, &call, x, n, c.frame, bound, &c.info, &error);
    expect(status == wanted, "%s n=%zu: status %d instead of %d: %s", tithe_codec_spec(codec), n, status,
           wanted, error.text);
    if (status == TITHE_OK) {
        status = type == TITHE_F32
                     ? tithe_decode_add(codec, &call, c.frame, c.info.bytes, 1, c.y, n, &error)
                     : tithe_decode_add_f64(codec, &call, c.frame, c.info.bytes, 1, c.y, n, &error);
        expect(status == TITHE_OK, "%s n=%zu: %s", tithe_codec_spec(codec), n, error.text);
        c.values = c.frame + c.info.header_bytes + (c.info.index_bits + 7) / 8;
    }
    free(call.scratch);
    return c;
}

static inline void coded_free(coded *c)
{
    free(c->frame);
    free(c->y);
    *c = (coded){0};
}

#endif
