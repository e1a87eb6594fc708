/* test_paper.c - the bits that the papers count, from the formulas that they print: the table of horvath2022natural, and
 * khirirat2021cat. */
#include "support.h"

static void expect_bits(const char *spec, size_t n, size_t entries, double wanted)
{
    tithe_codec *codec = codec_of(spec);
    const double bits = tithe_codec_paper_bits(codec, n, entries);
    expect(fabs(bits - wanted) <= 1e-12 * wanted, "%s, %zu of %zu: %.17g bits, not %.17g", spec, entries, n,
           bits, wanted);
    tithe_codec_free(codec);
}

static const size_t lengths[] = {1, 2, 300, 4096, 1000000};

static void sparsification_at_random(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        const size_t d = lengths[i], q = (d + 9) / 10;
        const double each = log((double)d) / log(2);
        expect_bits("randk:keep=0.1", d, q, (33 + each) * (double)q);
        expect_bits("randk:keep=0.1|natural", d, q, (10 + each) * (double)q);
    }
}

/* s powers of two reach as far down as u = 2^(s-1) even levels do. */
static void ditherings(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        for (unsigned s = 1; s <= 14; s++) {
            const size_t d = lengths[i];
            char spec[40];
            snprintf(spec, sizeof spec, "dither:s=%u", 1u << (s - 1));
            expect_bits(spec, d, d, 31 + (double)d * (2 + s));
            snprintf(spec, sizeof spec, "natdither:s=%u", s);
            expect_bits(spec, d, d, 8 + (double)d * (2 + log(s) / log(2)));
        }
    expect_bits("dither:s=7", 1000, 1000, 31 + 1000 * (3 + log(7) / log(2)));
    expect_bits("dither:s=8,bucket=64", 1000, 1000, 16 * 31 + 1000 * 6.0); /* a norm for each */
}

static void the_others(void **state)
{
    (void)state;
    expect_bits("all|raw", 1000, 1000, 32000);
    expect_bits("natural", 1000, 1000, 9000);
    expect_bits("topk:k=50", 1000, 50, 50 * (32 + 10));
    expect_bits("stochastic:k=50", 1000, 50, 50 * (32 + 10));
    expect_bits("topk:k=50|sign", 1000, 50, 32 + 50 * (1 + 10));
}

/* The speed-up that the table prints: 32 d over the bits, d = 10^6, q = d / 10, where no iteration is lost. */
static void speedups_as_printed(void **state)
{
    (void)state;
    static const struct {
        const char *spec;
        size_t entries;
        double printed;
    } rows[] = {
        {"natural", 1000000, 3.6}, {"randk:keep=0.1", 100000, 6.0}, {"randk:keep=0.1|natural", 100000, 10.7}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tithe_codec *codec = codec_of(rows[i].spec);
        const double bits = tithe_codec_paper_bits(codec, 1000000, rows[i].entries);
        expect(round(320e6 / bits) == 10 * rows[i].printed, "%s: %g times fewer bits, not %g", rows[i].spec,
               32e6 / bits, rows[i].printed);
        tithe_codec_free(codec);
    }
}

/* A frame knows its bits, whoever chose the level: the encoder by its call, the decoder by the frame alone. */
static void frames_know_their_level(void **state)
{
    (void)state;
    enum { N = 300 };
    float x[N];
    for (int i = 0; i < N; i++) x[i] = (float)(i % 17 - 8) / 7;
    static const struct {
        const char *spec;
        double level, wanted;
    } rows[] = {{"all|dither", 2, 31 + N * (3 + 1)},
                {"all|dither", 64, 31 + N * (3 + 6)},
                {"topk", 10, 10 * (32 + 9)},
                {"topk|natural", 20, 20 * (9 + 9)}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tithe_codec *codec = NULL;
        const tithe_codec_options open = {.open_level = true};
        assert_int_equal(tithe_codec_create(rows[i].spec, &open, &codec, NULL), TITHE_OK);
        const size_t room = tithe_codec_bound(codec, N), size = tithe_codec_scratch(codec, N);
        uint8_t *frame = malloc(room), *scratch = malloc(size);
        tithe_call call = {
            .form = TITHE_EXCHANGE, .scratch = scratch, .scratch_size = size, .level = rows[i].level};
        tithe_frame_info made, seen;
        assert_int_equal(tithe_encode(codec, &call, x, N, frame, room, &made, NULL), TITHE_OK);
        call.level = 0;
        assert_int_equal(tithe_frame_check(codec, &call, frame, made.bytes, N, &seen, NULL), TITHE_OK);
        expect(fabs(made.paper_bits - rows[i].wanted) < 1e-9 && seen.paper_bits == made.paper_bits,
               "%s at %g: %.17g bits made, %.17g seen, not %.17g", rows[i].spec, rows[i].level,
               made.paper_bits, seen.paper_bits, rows[i].wanted);
        free(frame);
        free(scratch);
        tithe_codec_free(codec);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sparsification_at_random),
        cmocka_unit_test(ditherings),
        cmocka_unit_test(the_others),
        cmocka_unit_test(speedups_as_printed),
        cmocka_unit_test(frames_know_their_level),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
