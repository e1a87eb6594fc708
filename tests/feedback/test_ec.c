/* test_ec.c - error compensation: what is kept is what was not sent, to one rounding, for every codec; over many steps
 * nothing gets lost, and the bounds of the theory hold. test_ec_failures.c has the calls that fail. */
#include "feedback/feedback.h"

/* ---- one step ---------------------------------------------------------------------------------------------- */

static void ask_for_a_step(const tithe_codec *codec, void *context)
{
    (void)context;
    static const size_t sizes[] = {0, 1, 33, 1000, 4100, 9000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        feedback f = feedback_make(codec, sizes[i]);
        feedback_fill(&f, i);
        if (is_refused(codec, sizes[i])) {
            expect(ec(&f, f.g) == TITHE_E_SPEC && strstr(f.r.error.text, "omega"),
                   "%s is not refused at n=%zu", tithe_codec_spec(codec), sizes[i]);
            expect(memcmp(f.r.x, f.r.x_before, f.r.n * type_bytes(f.r.type)) == 0,
                   "%s: refused, but e has changed", tithe_codec_spec(codec));
        } else {
            expect_step(&f, f.g, f.v);
            feedback_fill(&f, i + 10);
            memcpy(f.v, f.r.x, f.r.n * type_bytes(f.r.type));
            expect_step(&f, NULL, f.v); /* nothing new: what is left is sent */
        }
        feedback_free(&f);
    }
}

static void what_is_kept_is_what_was_not_sent(void **state)
{
    (void)state;
    ask_every_codec(ask_for_a_step, NULL);
}

static void long_vectors_too(void **state)
{
    (void)state;
    static const char *const specs[] = {"natural",
                                        "topk:keep=0.01",
                                        "topk:keep=0.4|natural",
                                        "threshold:lambda=0.8",
                                        "dither:bucket=512,scale=contractive",
                                        "topk:rule=l2|sign",
                                        "raw",
                                        "topk:keep=0.05,per=layer|bf16"};
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        tithe_codec *codec = codec_of(specs[i]);
        feedback f = feedback_make(codec, 70001);
        feedback_fill(&f, 1);
        expect_step(&f, f.g, f.v);
        feedback_free(&f);
        tithe_codec_free(codec);
    }
}

/* ---- many steps -------------------------------------------------------------------------------------------- */

static double squared(const float *x, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += (double)x[i] * (double)x[i];
    return sum;
}

/* All that was sent and what is left make up all that came in. */
static void nothing_gets_lost_in_200_steps(void **state)
{
    (void)state;
    static const char *const specs[] = {"topk:keep=0.05|natural",
                                        "threshold:lambda=1.5",
                                        "threshold:lambda=1|sign",
                                        "topk:k=3|sign",
                                        "natural",
                                        "mstopk:k=5|bf16",
                                        "randk:k=10|raw",
                                        "stochastic:k=20|natural",
                                        "dither:bucket=64,s=1",
                                        "natdither:s=2",
                                        "topk:rule=l2|natural:bits=8"};
    enum { N = 300, STEPS = 200 };
    for (size_t s = 0; s < sizeof specs / sizeof *specs; s++) {
        tithe_codec *codec = codec_with(specs[s], (tithe_codec_options){TITHE_F32, true, false});
        feedback f = feedback_make(codec, N);
        double in[N] = {0}, out[N] = {0}, max = 0;
        memset(f.r.x, 0, N * sizeof(float));
        for (uint32_t step = 0; step < STEPS; step++) {
            float y[N] = {0};
            fill_kind(TITHE_F32, GAUSSIAN, f.g, N, step + 1000 * s);
            f.gamma = (double)(0.5f / (1 + (float)step / 50));
            f.r.call.step = step;
            for (size_t i = 0; i < N; i++) in[i] += f.gamma * (double)((float *)f.g)[i];
            expect(ec(&f, f.g) == TITHE_OK, "%s: %s", specs[s], f.r.error.text);
            expect(tithe_decode_add(codec, &f.r.call, f.r.frame.data, f.r.info.bytes, 1, y, N, NULL) ==
                       TITHE_OK,
                   "%s: refused", specs[s]);
            for (size_t i = 0; i < N; i++) {
                out[i] += (double)y[i];
                max = fmax(max, fabs((double)y[i]) + fabs((double)((float *)f.r.x)[i]));
            }
        }
        for (size_t i = 0; i < N; i++) {
            const double left = (double)((float *)f.r.x)[i];
            expect(fabs(in[i] - out[i] - left) < STEPS * 4 * 0x1p-24 * max,
                   "%s: %.9g came in, %.9g was sent, %.9g left", specs[s], in[i], out[i], left);
        }
        feedback_free(&f);
        tithe_codec_free(codec);
    }
}

/* An absolute compressor keeps less than gamma*lambda of each coordinate, by the gamma of the step that left it. */
static void the_threshold_bounds_what_is_kept(void **state)
{
    (void)state;
    enum { N = 500 };
    const double lambda = 0.9;
    tithe_codec *codec = codec_of("threshold:lambda=0.9");
    feedback f = feedback_make(codec, N);
    memset(f.r.x, 0, N * sizeof(float));
    dice d = {5};
    for (uint32_t step = 0; step < 200; step++) {
        for (size_t i = 0; i < N; i++) ((float *)f.g)[i] = (float)(roll_gauss(&d) * exp(roll_gauss(&d)));
        f.gamma = (double)(float)exp(1.5 * roll_gauss(&d)); /* up and down, by large factors */
        f.r.call.step = step;
        assert_int_equal(ec(&f, f.g), TITHE_OK);
        for (size_t i = 0; i < N; i++) assert_true(fabs((double)((float *)f.r.x)[i]) < f.gamma * lambda);
        assert_true(squared(f.r.x, N) <= f.gamma * f.gamma * lambda * lambda * N);
    }
    /* A call's own level is in units of the gradient as well. */
    f.r.call.level = 0.1;
    assert_int_equal(ec(&f, NULL), TITHE_OK);
    for (size_t i = 0; i < N; i++) assert_true(fabs((double)((float *)f.r.x)[i]) < f.gamma * 0.1);
    feedback_free(&f);
    tithe_codec_free(codec);
}

/* |e'|^2 <= (1 - delta) |e + gamma*g|^2 at every step, and so |e| stays below gamma G / (1/sqrt(1-delta) - 1). */
static void top_k_contracts_what_is_kept(void **state)
{
    (void)state;
    enum { N = 400, K = 40 };
    tithe_codec *codec = codec_of("topk:k=40");
    feedback f = feedback_make(codec, N);
    memset(f.r.x, 0, N * sizeof(float));
    const double contraction = sqrt(1 - (double)K / N);
    double largest = 0, max = 0;
    for (uint32_t step = 0; step < 200; step++) {
        fill_kind(TITHE_F32, step % 3 ? GAUSSIAN : ALL_EQUAL, f.g, N, step);
        f.r.call.step = step;
        f.gamma = (double)0.3f;
        memcpy(f.v, f.r.x, N * sizeof(float));
        for (size_t i = 0; i < N; i++) ((float *)f.v)[i] += 0.3f * ((float *)f.g)[i];
        largest = fmax(largest, f.gamma * sqrt(squared(f.g, N)));
        assert_int_equal(ec(&f, f.g), TITHE_OK);
        assert_int_equal(f.r.info.entries, K);
        assert_true(squared(f.r.x, N) <= (1 - (double)K / N) * squared(f.v, N) * (1 + 1e-6));
        max = fmax(max, sqrt(squared(f.r.x, N)));
        assert_true(max <= largest / (1 / contraction - 1) * (1 + 1e-6));
    }
    assert_true(max >
                largest); /* more than one step's worth was kept at times: the bound was put to the test */
    feedback_free(&f);
    tithe_codec_free(codec);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_kept_is_what_was_not_sent),
        cmocka_unit_test(long_vectors_too),
        cmocka_unit_test(nothing_gets_lost_in_200_steps),
        cmocka_unit_test(the_threshold_bounds_what_is_kept),
        cmocka_unit_test(top_k_contracts_what_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
