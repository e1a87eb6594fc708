/* error_feedback.c - gradient descent that sends one coordinate in fifty and still arrives.
 *
 * f(x) = 1/2 sum a_i (x_i - t_i)^2. Each step a worker sends a compressed piece of its gradient; what it did not
 * send stays in e and goes later. Without e the small coordinates would never be sent at all.
 *
 *     cc -Iinclude examples/error_feedback.c build/libtithe.a -lm -lpthread -o build/ef && build/ef */
#include <stdio.h>
#include <stdlib.h>

#include <tithe/tithe.h>

enum { N = 10000, STEPS = 2000 };

static float curvature[N], target[N];

static double loss_and_gradient(const float *x, float *g)
{
    double loss = 0;
    for (int i = 0; i < N; i++) {
        const float away = x[i] - target[i];
        g[i] = curvature[i] * away;
        loss += 0.5 * curvature[i] * away * away;
    }
    return loss;
}

static int fail(const tithe_error *error)
{
    fprintf(stderr, "%s\n", error->text);
    return 1;
}

int main(void)
{
    static float x[N], g[N], e[N], update[N]; /* e is zero before the first step */
    for (int i = 0; i < N; i++) {
        curvature[i] = 0.1f + 0.9f * (float)(i % 100) / 99.0f; /* between 0.1 and 1 */
        target[i] = (float)((i * 7919) % 2001 - 1000) / 1000.0f;
    }

    /* Error feedback wants contractive codecs, so that is made the default of scale=. */
    const tithe_codec_options options = {.contractive = true};
    tithe_codec *codec;
    tithe_error error;
    if (tithe_codec_create("topk:keep=0.02|natural", &options, &codec, &error)) return fail(&error);

    const size_t capacity = tithe_codec_bound(codec, N);
    const size_t work = tithe_codec_scratch(codec, N);
    uint8_t *frame = malloc(capacity);
    tithe_call call = {.seed = 1, .scratch = malloc(work), .scratch_size = work};
    if (!frame || !call.scratch) return 1;

    const float gamma = 0.05f; /* e is in units of the update, so it is in the frame and not in front of it */
    size_t sent = 0;
    printf("%8s %14s %14s %14s\n", "step", "loss", "bytes sent", "dense bytes");
    for (uint32_t k = 0; k <= STEPS; k++) {
        const double loss = loss_and_gradient(x, g);
        if (k % 250 == 0) printf("%8u %14.6g %14zu %14zu\n", k, loss, sent, (size_t)k * sizeof g);

        tithe_frame_info info;
        call.step = k;
        if (tithe_ec_encode(codec, &call, e, g, gamma, N, frame, capacity, &info, &error))
            return fail(&error);
        sent += info.bytes;

        /* The server's half: here there is one worker, so the update is what it sent. */
        for (int i = 0; i < N; i++) update[i] = 0;
        if (tithe_decode_add(codec, &call, frame, info.bytes, 1.0f, update, N, &error)) return fail(&error);
        for (int i = 0; i < N; i++) x[i] -= update[i];
    }

    free(frame);
    free(call.scratch);
    tithe_codec_free(codec);
    return 0;
}
