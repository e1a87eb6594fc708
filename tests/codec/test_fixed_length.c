/* test_fixed_length.c - tithe_codec_fixed_length is the length of every real frame where a codec says that all are equally long,
 * and 0 where it does not. ti_codec_expected_length is the same length, or what frames of evenly spread entries take. */
#include "codec/codec.h"
#include "support.h"

static const char *const selectors[] = {
    "all",       "topk:k=7",       "topk:keep=0.2",  "topk:rule=l2",        "mstopk:k=7",
    "randk:k=7", "randk:keep=0.3", "stochastic:k=7", "threshold:lambda=0.5"};
static const char *const quantizers[] = {"raw",
                                         "f16",
                                         "bf16",
                                         "natural",
                                         "sign",
                                         "sign:scale=norm",
                                         "dither:s=1",
                                         "dither:s=7",
                                         "dither:s=7,bucket=64",
                                         "dither:s=100,code=elias",
                                         "dither:s=7,p=1,norm=natural",
                                         "natdither:s=4",
                                         "natdither:s=4,bucket=100"};
static const size_t lengths[] = {0, 1, 2, 7, 8, 63, 64, 65, 100, 127, 128, 129, 255, 300, 1000, 16383, 16385};

static size_t real_length(const tithe_codec *codec, const float *x, size_t n, uint32_t step)
{
    const size_t bound = tithe_codec_bound(codec, n), scratch = tithe_codec_scratch(codec, n);
    uint8_t *frame = malloc(bound + 1);
    const tithe_call call = {.seed = 5,
                             .step = step,
                             .rank = step % 7,
                             .tensor = step % 3,
                             .form = TITHE_EXCHANGE,
                             .scratch = malloc(scratch + 1),
                             .scratch_size = scratch};
    tithe_frame_info info = {0};
    tithe_error error = {0};
    assert_true(frame && call.scratch);
    expect(tithe_encode(codec, &call, x, n, frame, bound, &info, &error) == TITHE_OK, "%s, n = %zu: %s",
           tithe_codec_spec(codec), n, error.text);
    free(frame);
    free(call.scratch);
    return info.bytes;
}

static unsigned check_codec(const char *spec, const float *x)
{
    unsigned made = 0;
    static const uint32_t steps[] = {0, 1, 300, 70000};
    for (unsigned c = 0; c < 2; c++) {
        tithe_codec *codec = NULL; /* not every pair makes sense in both ways */
        if (tithe_codec_create(spec, &(tithe_codec_options){.contractive = c}, &codec, NULL)) continue;
        made++;
        for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
            const size_t n = lengths[l], fixed = tithe_codec_fixed_length(codec, n);
            const bool claimed = claims_of(codec, n).traits & TITHE_FIXED_SIZE;
            expect((fixed > 0) == claimed, "%s, n = %zu: %zu bytes, and %s fixed", spec, n, fixed,
                   claimed ? "it is" : "it is not");
            expect(!fixed || ti_codec_expected_length(codec, n) == fixed, "%s, n = %zu: another length", spec,
                   n);
            for (size_t k = 0; fixed && k < sizeof steps / sizeof *steps; k++) {
                const size_t real = real_length(codec, x + 11 * k, n, steps[k]);
                expect(real == fixed, "%s, n = %zu, step %u: %zu bytes, not %zu", spec, n, steps[k], real,
                       fixed);
            }
        }
        tithe_codec_free(codec);
    }
    return made;
}

static void fixed_lengths_are_real(void **state)
{
    (void)state;
    static float x[17000];
    unsigned made = 0;
    fill_kind(TITHE_F32, GAUSSIAN, x, sizeof x / sizeof *x, 3);
    for (size_t i = 0; i < 2000; i++) x[3 * i] = 0; /* numbers that take fewer bits where that matters */
    for (size_t s = 0; s < sizeof selectors / sizeof *selectors; s++)
        for (size_t q = 0; q < sizeof quantizers / sizeof *quantizers; q++) {
            char spec[100];
            snprintf(spec, sizeof spec, "%s|%s", selectors[s], quantizers[q]);
            made += check_codec(spec, x);
        }
    assert_true(made > sizeof selectors / sizeof *selectors * sizeof quantizers / sizeof *quantizers);
}

/* Of numbers without order the largest are spread evenly; the bound of these lengths is up to 14 % off. */
static void expected_lengths_are_near(void **state)
{
    (void)state;
    enum { N = 16385 };
    static const char *const levels[] = {"k=100",     "keep=0.01", "keep=0.02",
                                         "keep=0.05", "keep=0.1",  "keep=0.2"};
    static const char *const values[] = {"raw", "natural", "sign", "dither:s=7,bucket=64"};
    static float x[N];
    fill_kind(TITHE_F32, GAUSSIAN, x, N, 4);
    for (size_t l = 0; l < sizeof levels / sizeof *levels; l++)
        for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
            char spec[100];
            snprintf(spec, sizeof spec, "topk:%s|%s", levels[l], values[v]);
            tithe_codec *codec = codec_with(spec, (tithe_codec_options){0});
            const double expected = (double)ti_codec_expected_length(codec, N);
            const double real = (double)real_length(codec, x, N, 9);
            expect(fabs(expected / real - 1) <= 0.02, "%s: %g bytes expected, %g written", spec, expected,
                   real);
            tithe_codec_free(codec);
        }
}

/* Where a call brings the level, or the indices. */
static void calls_decide_of_others(void **state)
{
    (void)state;
    static const char *const specs[] = {"topk", "randk", "all|dither", "topk|natural", "given", "given|f16"};
    for (size_t s = 0; s < sizeof specs / sizeof *specs; s++) {
        const bool open = strncmp(specs[s], "given", 5) != 0;
        tithe_codec *codec = codec_with(specs[s], (tithe_codec_options){.open_level = open});
        for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++)
            assert_int_equal(tithe_codec_fixed_length(codec, lengths[l]), 0);
        tithe_codec_free(codec);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fixed_lengths_are_real),
        cmocka_unit_test(expected_lengths_are_near),
        cmocka_unit_test(calls_decide_of_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
