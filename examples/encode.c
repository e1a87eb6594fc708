/* encode.c - a vector to a frame and back.
 *
 *     cc -Iinclude examples/encode.c build/libtithe.a -lm -lpthread -o build/encode && build/encode */
#include <stdio.h>
#include <stdlib.h>

#include <tithe/tithe.h>

enum { N = 100000 };

static int fail(const tithe_error *error)
{
    fprintf(stderr, "%s\n", error->text);
    return 1;
}

int main(void)
{
    static float x[N], y[N]; /* y must be zero: decoding adds */
    for (int i = 0; i < N; i++)
        x[i] = (i % 2 ? 1.0f : -1.0f) / (1.0f + (float)((i * 7919LL) % N)); /* few are large */

    /* The hundredth part of the coordinates, each as its sign and a power of two. */
    tithe_codec *codec;
    tithe_error error;
    if (tithe_codec_create("topk:keep=0.01|natural", NULL, &codec, &error)) return fail(&error);

    /* The caller owns all memory; nothing is allocated while encoding or decoding. */
    const size_t capacity = tithe_codec_bound(codec, N);
    const size_t work = tithe_codec_scratch(codec, N);
    uint8_t *frame = malloc(capacity);
    tithe_call call = {.seed = 1, .scratch = malloc(work), .scratch_size = work};
    if (!frame || !call.scratch) return 1;

    tithe_frame_info info;
    if (tithe_encode(codec, &call, x, N, frame, capacity, &info, &error)) return fail(&error);
    if (tithe_decode_add(codec, &call, frame, info.bytes, 1.0f, y, N, &error)) return fail(&error);

    double lost = 0, all = 0;
    for (int i = 0; i < N; i++) {
        all += (double)x[i] * x[i];
        lost += ((double)y[i] - x[i]) * ((double)y[i] - x[i]);
    }
    printf("%zu bytes in place of %zu: %zu of %d coordinates\n", info.bytes, sizeof x, info.entries, N);
    printf("|C(x) - x|^2 / |x|^2 = %.3f\n", lost / all);

    free(frame);
    free(call.scratch);
    tithe_codec_free(codec);
    return 0;
}
