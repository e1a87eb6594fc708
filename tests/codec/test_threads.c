/* test_threads.c - the number of threads changes nothing: not a byte of a frame, not a bit of a sum, not of what
 * error compensation keeps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "tithe/tithe.h"

enum { N = 700001, STEPS = 3 }; /* enough for several parts, and an odd rest */

static float *gradient(uint32_t step)
{
    float *x = malloc(N * sizeof *x);
    assert_non_null(x);
    uint32_t random[TITHE_BLOCK];
    for (size_t i = 0; i < N; i++) {
        if (i % TITHE_BLOCK == 0) tithe_random_block((tithe_key){7, step}, i / TITHE_BLOCK, random);
        const double u = ((double)random[i % TITHE_BLOCK] + 0.5) / 4294967296.0;
        x[i] = (float)(copysign(pow(fabs(2 * u - 1), 4), u - 0.5)); /* heavy tails */
    }
    return x;
}

/* What a run leaves behind: the frames of all steps, the sum of what they decode to, and what is kept. */
typedef struct outcome {
    uint8_t *frames;
    size_t bytes;
    float *sum, *kept;
} outcome;

static outcome run(const tithe_codec *codec, unsigned threads, bool feedback, float *const *g)
{
    tithe_pool *pool = NULL;
    if (threads) assert_int_equal(tithe_pool_create(threads, &pool, NULL), TITHE_OK);
    const size_t bound = tithe_codec_bound(codec, N);
    outcome o = {malloc(STEPS * bound), 0, calloc(N, sizeof(float)), calloc(N, sizeof(float))};
    tithe_call call = {.seed = 3, .rank = 1, .pool = pool, .scratch_size = tithe_codec_scratch(codec, N)};
    call.scratch = malloc(call.scratch_size + 1);
    assert_true(o.frames && o.sum && o.kept && call.scratch);
    for (uint32_t step = 0; step < STEPS; step++) {
        tithe_frame_info info;
        call.step = step;
        uint8_t *frame = o.frames + o.bytes;
        if (feedback)
            assert_int_equal(
                tithe_ec_encode(codec, &call, o.kept, g[step], 0.5f, N, frame, bound, &info, NULL), TITHE_OK);
        else
            assert_int_equal(tithe_encode(codec, &call, g[step], N, frame, bound, &info, NULL), TITHE_OK);
        assert_int_equal(tithe_decode_add(codec, &call, frame, info.bytes, 0.25f, o.sum, N, NULL), TITHE_OK);
        o.bytes += info.bytes;
    }
    free(call.scratch);
    tithe_pool_free(pool);
    return o;
}

static void outcome_free(outcome *o)
{
    free(o->frames);
    free(o->sum);
    free(o->kept);
}

static void threads_change_nothing(void **state)
{
    (void)state;
    static const char *const specs[] = {
        "natural",
        "natural:bits=8",
        "raw",
        "bf16",
        "sign",
        "dither:s=7,bucket=512",
        "dither:s=7,bucket=77",
        "dither:s=5,bucket=512,code=elias",
        "dither:s=7",
        "natdither:s=7,bucket=512",
        "natdither:s=3,bucket=1000",
        "dither:s=300,bucket=512",
        "topk:keep=0.01",
        "topk:keep=0.3|natural",
        "threshold:lambda=0.5",
        "threshold:lambda=0|natural",
        "threshold:lambda=0.5|dither:bucket=64",
        "randk:keep=0.1|natural",
    };
    float *g[STEPS];
    for (uint32_t step = 0; step < STEPS; step++) g[step] = gradient(step);
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++)
        for (int feedback = 0; feedback < 2; feedback++) {
            tithe_codec *codec;
            const tithe_codec_options options = {.contractive = feedback};
            assert_int_equal(tithe_codec_create(specs[i], &options, &codec, NULL), TITHE_OK);
            outcome one = run(codec, 0, feedback, g);
            for (unsigned threads = 2; threads <= 5; threads++) {
                outcome many = run(codec, threads, feedback, g);
                if (one.bytes != many.bytes || memcmp(one.frames, many.frames, one.bytes) ||
                    memcmp(one.sum, many.sum, N * sizeof *one.sum) ||
                    memcmp(one.kept, many.kept, N * sizeof *one.kept))
                    fail_msg("%s with%s feedback differs on %u threads", specs[i], feedback ? "" : "out",
                             threads);
                outcome_free(&many);
            }
            outcome_free(&one);
            tithe_codec_free(codec);
        }
    for (int step = 0; step < STEPS; step++) free(g[step]);
}

/* What is not finite is found, and e comes back, on any number of threads. */
static void nan_is_found_by_every_thread(void **state)
{
    (void)state;
    static const char *const specs[] = {"natural", "topk:keep=0.01", "threshold:lambda=0.5",
                                        "dither:bucket=512"};
    float *g = gradient(1), *before = gradient(2), *e = malloc(N * sizeof *e);
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++)
        for (size_t at = 5; at < N; at += 100003) {
            tithe_codec *codec;
            const tithe_codec_options options = {.contractive = true};
            assert_int_equal(tithe_codec_create(specs[i], &options, &codec, NULL), TITHE_OK);
            tithe_call call = {.scratch_size = tithe_codec_scratch(codec, N)};
            const size_t bound = tithe_codec_bound(codec, N);
            uint8_t *frame = malloc(bound);
            tithe_frame_info info;
            tithe_error error;
            call.scratch = malloc(call.scratch_size + 1);
            assert_int_equal(tithe_pool_create(3, &call.pool, NULL), TITHE_OK);
            const float saved = g[at];
            g[at] = NAN;
            memcpy(e, before, N * sizeof *e);
            assert_int_equal(tithe_ec_encode(codec, &call, e, g, 0.5f, N, frame, bound, &info, &error),
                             TITHE_E_NONFINITE);
            assert_int_equal(error.position, at);
            for (size_t j = 0; j < N; j++)
                if (!(fabsf(e[j] - before[j]) <= 1e-6f))
                    fail_msg("%s: e[%zu] did not come back", specs[i], j);
            g[at] = saved;
            free(call.scratch);
            free(frame);
            tithe_pool_free(call.pool);
            tithe_codec_free(codec);
        }
    free(g);
    free(before);
    free(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_change_nothing),
        cmocka_unit_test(nan_is_found_by_every_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
