/* fuzz.h - what the targets share: a crash with a sentence, codecs to choose from, and memory of exact size. */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tithe/tithe.h"

static inline tithe_claims claims_of(const tithe_codec *codec, size_t n)
{
    tithe_claims claims = {.size = sizeof claims};
    tithe_codec_claims(codec, n, &claims);
    return claims;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A promise that was broken: the fuzzer keeps the input that did it. */
#define insist(condition, ...)            \
    do {                                  \
        if (!(condition)) {               \
            fprintf(stderr, __VA_ARGS__); \
            fputc('\n', stderr);          \
            abort();                      \
        }                                 \
    } while (0)

/* Every selector and every quantizer, with the parameters that change how bytes are read or written. */
static const char *const fuzz_specs[] = {
    "all|raw",
    "all|raw:type=f64",
    "all|f16",
    "all|bf16",
    "all|natural",
    "all|natural:bits=8",
    "all|natural:type=f64",
    "all|natural:scale=contractive",
    "all|sign",
    "all|sign:scale=norm",
    "all|dither",
    "all|dither:s=1,p=inf",
    "all|dither:s=100,bucket=7,norm=natural,code=elias",
    "all|dither:p=1,s=16383,bucket=512",
    "all|dither:scale=contractive,norm=natural",
    "all|natdither",
    "all|natdither:s=64,p=inf,norm=natural",
    "all|natdither:s=3,bucket=5,code=elias,scale=contractive",
    "topk:k=5|raw",
    "topk:keep=0.3|natural",
    "topk:rule=l2|sign",
    "topk:keep=0.5,per=layer|f16",
    "threshold:lambda=0.5|raw",
    "threshold:lambda=0.01|dither:code=elias",
    "threshold:lambda=0|sign",
    "mstopk:k=4|bf16",
    "mstopk:keep=0.4,rounds=2|natural",
    "randk:k=6|raw",
    "randk:keep=0.7|natdither",
    "randk:keep=0.5,scale=contractive|sign",
    "randk:k=3|raw:type=f64",
    "stochastic:k=4.5|raw",
    "stochastic:keep=0.5|natural",
    "stochastic:keep=0.5,scale=contractive|raw:type=f64",
    "stochastic:keep=0.3,scale=contractive|dither:bucket=3",
    "stochastic:keep=0.8|f16",
    "given|raw",
    "given|natural:bits=8",
    "given|sign",
    "all|int32",
    "all|int32:block=5",
    "topk:keep=0.3|int32:block=0",
};

enum { FUZZ_SPECS = sizeof fuzz_specs / sizeof *fuzz_specs };

/* Made once: a codec never changes. With an open level, buffers are sized for any number of entries. */
static inline const tithe_codec *fuzz_codec_with(unsigned choice, bool open_level)
{
    static tithe_codec *made[2][FUZZ_SPECS];
    const char *spec = fuzz_specs[choice % FUZZ_SPECS];
    tithe_codec **codec = &made[open_level][choice % FUZZ_SPECS];
    const tithe_codec_options options = {TITHE_F32, false, open_level};
    tithe_error error = {0};
    if (!*codec) insist(tithe_codec_create(spec, &options, codec, &error) == 0, "%s: %s", spec, error.text);
    return *codec;
}

static inline const tithe_codec *fuzz_codec(unsigned choice)
{
    return fuzz_codec_with(choice, false);
}

static inline const tithe_codec *fuzz_open_codec(unsigned choice)
{
    return fuzz_codec_with(choice, true);
}

static inline void *fuzz_alloc(size_t bytes)
{
    void *p = malloc(bytes); /* exactly so many, also none: a sanitizer sees the first byte beyond */
    insist(p || !bytes, "no memory for %zu bytes", bytes);
    return p;
}

static inline size_t fuzz_width(tithe_type type)
{
    return type == TITHE_F64 ? sizeof(double) : sizeof(float);
}

static inline bool fuzz_is_finite(tithe_type type, const void *y, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(type == TITHE_F64 ? ((const double *)y)[i] : (double)((const float *)y)[i]))
            return false;
    return true;
}

static inline bool fuzz_all_bytes(const void *p, size_t size, uint8_t byte)
{
    const uint8_t *bytes = p;
    return size == 0 || (bytes[0] == byte && memcmp(bytes, bytes + 1, size - 1) == 0);
}

static inline void fuzz_repair(uint8_t *frame, size_t length)
{
    const uint32_t crc = tithe_crc32c(frame, length - 4);
    for (int b = 0; b < 4; b++) frame[length - 4 + (size_t)b] = (uint8_t)(crc >> 8 * b);
}

/* Decode into a patterned y and ask whether the answer keeps its promises; returns it. */
static inline tithe_status fuzz_decode(const tithe_codec *codec, const tithe_call *call, const uint8_t *frame,
                                       size_t length, size_t n)
{
    const tithe_type type = tithe_codec_type(codec);
    const size_t bytes = n * fuzz_width(type);
    void *y = fuzz_alloc(bytes);
    memset(y, 0, bytes);
    tithe_error error = {0};
    tithe_frame_info info = {0};
    const tithe_status checked = tithe_frame_check(codec, call, frame, length, n, &info, NULL);
    const tithe_status status = type == TITHE_F64
                                    ? tithe_decode_add_f64(codec, call, frame, length, 1, y, n, &error)
                                    : tithe_decode_add(codec, call, frame, length, 1, y, n, &error);
    insist(status == checked, "decoding says %d, checking says %d", status, checked);
    if (status) {
        insist(error.code == status && error.text[0], "no sentence for status %d", status);
        insist(fuzz_all_bytes(y, bytes, 0), "refused (%s), but y was touched", error.text);
    } else {
        insist(fuzz_is_finite(type, y, n), "y is not finite");
        insist(info.bytes == length && info.entries <= n, "wrong info");
    }
    free(y);
    return status;
}

#endif
