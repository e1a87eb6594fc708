/* test_edges.c - places where a codec once went wrong: chances too small for one random number, levels that a call
 * brings, gradients near the end of the range, and countries that write a comma for a point. */

#include "comma.h"
#include "support.h"

enum { MANY = 1 << 18 };

/* One 1 among tiny numbers: each tiny one goes up with a probability of about 2^-24, just below what a float of 1 + t
 * can tell. The number of those that do, over all draws, has to be what the mathematics says. */
static void tiny_chances_are_exact(void **state)
{
    (void)state;
    static const char *const specs[] = {"natdither:s=7,p=inf", "dither:s=300,p=inf"};
    const double steps[] = {64, 300}, tiny = 7.8e-10;
    float *x = malloc(MANY * sizeof *x), *y = malloc(MANY * sizeof *y);
    for (size_t i = 0; i < MANY; i++) x[i] = i ? (float)tiny : 1;
    for (int k = 0; k < 2; k++) {
        tithe_codec *codec;
        assert_int_equal(tithe_codec_create(specs[k], NULL, &codec, NULL), TITHE_OK);
        const size_t bound = tithe_codec_bound(codec, MANY);
        uint8_t *frame = malloc(bound);
        const double chance = tiny * steps[k];
        const uint32_t draws = (uint32_t)(30 / (chance * MANY));
        double ups = 0;
        for (uint32_t step = 0; step < draws; step++) {
            const tithe_call call = {.seed = 11, .step = step};
            tithe_frame_info info;
            memset(y, 0, MANY * sizeof *y);
            assert_int_equal(tithe_encode(codec, &call, x, MANY, frame, bound, &info, NULL), TITHE_OK);
            assert_int_equal(tithe_decode_add(codec, &call, frame, info.bytes, 1, y, MANY, NULL), TITHE_OK);
            for (size_t i = 1; i < MANY; i++) ups += y[i] != 0;
        }
        const double expected = chance * (MANY - 1) * draws;
        expect(fabs(ups - expected) < 4.9 * sqrt(expected), "%s: %g went up in %u draws, but %g should",
               specs[k], ups, draws, expected);
        free(frame);
        tithe_codec_free(codec);
    }
    free(x);
    free(y);
}

/* What feedback refuses depends on the level that the call brings, not only on the codec's own. */
static void feedback_looks_at_the_level_of_the_call(void **state)
{
    (void)state;
    enum { N = 1000 };
    float e[N] = {0}, g[N];
    for (int i = 0; i < N; i++) g[i] = (float)i;
    tithe_codec *codec;
    tithe_frame_info info;
    tithe_error error;
    const tithe_codec_options open = {.open_level = true};

    assert_int_equal(tithe_codec_create("dither:s=1000,scale=unbiased", &open, &codec, NULL), TITHE_OK);
    size_t bound = tithe_codec_bound(codec, N);
    uint8_t *frame = malloc(bound);
    tithe_call call = {.level = 0};
    assert_int_equal(tithe_ec_encode(codec, &call, e, g, 1, N, frame, bound, &info, &error), TITHE_OK);
    call.level = 1;
    assert_int_equal(tithe_ec_encode(codec, &call, e, g, 1, N, frame, bound, &info, &error), TITHE_E_SPEC);
    call.level = 16383; /* the highest there is fits what bound() said */
    assert_int_equal(tithe_encode(codec, &call, g, N, frame, bound, &info, &error), TITHE_OK);
    free(frame);
    tithe_codec_free(codec);

    assert_int_equal(tithe_codec_create("randk:scale=unbiased", &open, &codec, NULL), TITHE_OK);
    bound = tithe_codec_bound(codec, N);
    frame = malloc(bound);
    call = (tithe_call){.level = 900, .scratch_size = tithe_codec_scratch(codec, N)};
    call.scratch = malloc(call.scratch_size);
    assert_int_equal(tithe_ec_encode(codec, &call, e, g, 1, N, frame, bound, &info, &error), TITHE_OK);
    call.level = 400;
    assert_int_equal(tithe_ec_encode(codec, &call, e, g, 1, N, frame, bound, &info, &error), TITHE_E_SPEC);
    free(call.scratch);
    free(frame);
    tithe_codec_free(codec);
}

/* After a refusal e is as it was, also where a sum with the gradient is near, or past, the largest number. */
static void e_survives_every_refusal(void **state)
{
    (void)state;
    static const char *const specs[] = {
        "natural", "topk:k=3", "threshold:lambda=0.5", "dither:bucket=4", "dither", "raw", "f16"};
    enum { N = 40 };
    for (size_t k = 0; k < sizeof specs / sizeof *specs; k++)
        for (int how = 0; how < 4; how++) {
            float e[N], before[N], g[N];
            for (int i = 0; i < N; i++) {
                e[i] = (float)(i % 7) - 3;
                g[i] = (float)(i % 5) - 2;
            }
            if (how == 0) g[17] = NAN;
            if (how == 1) g[17] = -INFINITY;
            if (how == 2) g[3] = 2e38f, g[17] = NAN;                /* large, but its sum is not too large */
            if (how == 3) e[3] = -3e38f, g[3] = 2e38f, g[17] = NAN; /* gamma times it is */
            memcpy(before, e, sizeof e);
            tithe_codec *codec;
            tithe_frame_info info;
            tithe_error error;
            const tithe_codec_options options = {.contractive = true};
            assert_int_equal(tithe_codec_create(specs[k], &options, &codec, NULL), TITHE_OK);
            const size_t bound = tithe_codec_bound(codec, N);
            uint8_t *frame = malloc(bound);
            tithe_call call = {.scratch_size = tithe_codec_scratch(codec, N)};
            call.scratch = malloc(call.scratch_size + 1);
            assert_int_equal(
                tithe_ec_encode(codec, &call, e, g, how == 3 ? 2 : 1, N, frame, bound, &info, &error),
                TITHE_E_NONFINITE);
            assert_int_equal(tithe_ec_encode(codec, &call, e, g, 1, N, frame, bound - 1, &info, &error),
                             TITHE_E_SPACE);
            for (int i = 0; i < N; i++) {
                const float room = how >= 2 && i == 3 ? 4e31f : 1e-5f; /* a rounding of what was added */
                expect(fabsf(e[i] - before[i]) <= room, "%s, case %d: e[%d] was %g and is %g", specs[k], how,
                       i, (double)before[i], (double)e[i]);
            }
            free(call.scratch);
            free(frame);
            tithe_codec_free(codec);
        }
}

static void a_point_is_a_point_in_every_country(void **state)
{
    (void)state;
    if (!set_locale_with_comma()) {
        print_message("SKIP: no locale with a decimal comma is installed\n");
        skip();
    }
    tithe_codec *codec;
    assert_int_equal(tithe_codec_create("topk:keep=0.01", NULL, &codec, NULL), TITHE_OK);
    assert_string_equal(tithe_codec_spec(codec), "topk:keep=0.01|raw");
    tithe_codec_free(codec);
    setlocale(LC_ALL, "C");
}

/* Somebody's own variant is looked at before it is used. */
static void foreign_variants_are_checked(void **state)
{
    (void)state;
    tithe_quantizer own = *tithe_quantizers()[0];
    tithe_codec *codec;
    tithe_error error;
    assert_int_equal(tithe_codec_make(tithe_selectors()[0], NULL, &own, NULL, NULL, &codec, &error),
                     TITHE_E_ARGUMENT);
    own.id = 200;
    assert_int_equal(tithe_codec_make(tithe_selectors()[0], NULL, &own, NULL, NULL, &codec, &error),
                     TITHE_E_ARGUMENT);
    own.id = TITHE_FIRST_PRIVATE_ID;
    own.params = NULL;
    assert_int_equal(tithe_codec_make(tithe_selectors()[0], NULL, &own, NULL, NULL, &codec, &error),
                     TITHE_E_ARGUMENT);
    const double half[] = {0.5};
    assert_int_equal(
        tithe_codec_make(tithe_selectors()[0], NULL, tithe_quantizers()[4], half, NULL, &codec, &error),
        TITHE_E_SPEC);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tiny_chances_are_exact),
        cmocka_unit_test(feedback_looks_at_the_level_of_the_call),
        cmocka_unit_test(e_survives_every_refusal),
        cmocka_unit_test(a_point_is_a_point_in_every_country),
        cmocka_unit_test(foreign_variants_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
