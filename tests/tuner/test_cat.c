/* test_cat.c - answers that are known without a program: the corner cases, and what is said about them. */
#include "tuner/scan.h"

static tithe_choice choose(const char *codec, const char *cost, bool paper, const float *x, size_t n)
{
    asked a = ask_open(codec, cost, paper, n);
    const tithe_choice choice = ask(&a, x, n);
    ask_close(&a);
    return choice;
}

/* 4, 3, 2, 1: by hand. The paper counts 32 + 2 bits for an entry of SG, 32 once and 1 + 2 bits each for S+Q. */
static void four_numbers(void **state)
{
    (void)state;
    const float x[] = {-2, 4, 1, -3};
    /* 16/34, 25/68, 29/102, 30/136: the first */
    tithe_choice c = choose("topk|raw", "bits", true, x, 4);
    assert_true(c.level == 1 && c.entries == 1 && c.cost == 34);
    assert_float_equal(c.progress, 16.0 / 30, 1e-15);
    assert_string_equal(c.reason, "one entry");
    /* c0 = 100: 16/134 = .1194, 25/168 = .1488, 29/202 = .1436 */
    c = choose("topk|raw", "affine:c0=100", true, x, 4);
    assert_true(c.level == 2 && c.cost == 168);
    assert_string_equal(c.reason, "best efficiency");
    /* c0 = 1000: 16/1034, 25/1068, 29/1102 = .02632, 30/1136 = .02641 */
    c = choose("topk|raw", "affine:c0=1000", true, x, 4);
    assert_true(c.level == 4);
    assert_string_equal(c.reason, "everything fits");
    /* S+Q: 16/35 = .457, (49/2)/38 = .645, 27/41 = .6585, 25/44 = .568 */
    c = choose("topk|sign", "bits", true, x, 4);
    assert_true(c.level == 3 && c.cost == 41);
    assert_float_equal(c.progress, 27.0 / 30, 1e-15);
    /* SS: no entry is sure of itself until T > 10/4; omega(1) = 30/100, omega(2) = 30/(100/2) = .6, then m = 1:
     * omega(3) = 30/(16 + 36/2) = .882, m = 2 at T = 4 gives 1. Over 34 T + 500: .000562, .001056, .001465, .00157 */
    c = choose("stochastic|raw", "affine:c0=500", true, x, 4);
    assert_true(c.level == 4);
    c = choose("stochastic|raw", "affine:c0=100", true, x, 4); /* .00224, .00357, .00437, .00424 */
    assert_true(c.level == 3);
    assert_float_equal(c.progress, 30.0 / 34, 1e-15);
    /* Packets of 9 bytes hold two entries of SG: 25/(c1), and four take two: 30/(2 c1) */
    c = choose("topk|raw", "packet:c1=9,payload=9", true, x, 4);
    assert_true(c.level == 2 && c.cost == 9);
    assert_string_equal(c.reason, "full packet");
    c = choose("topk|raw", "packet:c0=200,c1=9,payload=9", true, x, 4); /* 25/209, 30/218 */
    assert_true(c.level == 4);
    c = choose("threshold|raw", "packet:c1=9,payload=9", true, x, 4);
    assert_true(c.entries == 2 && c.level < 3 && c.level > 2.999);
}

/* Without overhead the largest entry is the best bargain of SG, ties or not. */
static void without_overhead_one_entry_goes(void **state)
{
    (void)state;
    dice d = {1};
    float x[3000];
    for (int kind = 0; kind < IN_KINDS; kind++)
        for (int trial = 0; trial < 20; trial++) {
            const size_t n = 1 + roll_below(&d, 3000);
            fill_tuned((tuned_input)kind, x, n, &d);
            const tithe_choice c = choose("topk|raw", "bits", true, x, n);
            assert_true(c.level == 1);
        }
}

/* What SG and SS send over packets fills them, or is all there is. */
static void packets_are_full(void **state)
{
    (void)state;
    static const char *const codecs[] = {"topk|raw", "stochastic|raw", "topk|natural"};
    dice d = {2};
    float x[3000];
    for (int kind = 0; kind < IN_KINDS; kind++)
        for (int trial = 0; trial < 60; trial++) {
            const size_t n = 100 + roll_below(&d, 2900);
            if (kind == IN_HEAVY)
                continue; /* where the next entry adds less than a sum can tell, it is left out */
            fill_tuned((tuned_input)kind, x, n, &d);
            size_t nonzero = 0;
            for (size_t i = 0; i < n; i++) nonzero += x[i] != 0;
            if (nonzero == 0) continue;
            asked a = ask_open(codecs[trial % 3], "802.15.4", trial % 2, n);
            const tithe_choice c = ask(&a, x, n);
            const bool full = c.entries + 1 > (double)n || asked_cost(&a, n, (size_t)c.entries + 1) > c.cost;
            expect(full || c.entries >= (double)nonzero, "%s, input %d, n = %zu: %g entries leave room",
                   a.spec, kind, n, c.entries);
            if (full && c.entries < (double)nonzero && c.entries > 1)
                assert_string_equal(c.reason, "full packet");
            ask_close(&a);
        }
}

static void nothing_to_send(void **state)
{
    (void)state;
    static const char *const codecs[] = {"topk|raw", "topk|sign", "stochastic|raw", "threshold|raw",
                                         "all|dither"};
    static float zeros[200000];
    static const size_t sizes[] = {1, 5, 5000, 200000};
    for (size_t c = 0; c < 5; c++)
        for (size_t i = 0; i < 4; i++) {
            const tithe_choice choice = choose(codecs[c], "802.15.4", false, zeros, sizes[i]);
            assert_string_equal(choice.reason, "nothing to send");
            assert_true(choice.progress == 0 && choice.cost > 0 && isfinite(choice.cost) && choice.level > 0);
            if (c < 3) assert_true(choice.level == 1);
        }
}

static void one_number(void **state)
{
    (void)state;
    const float x = -3;
    assert_string_equal(choose("topk|raw", "bits", false, &x, 0).reason, "nothing to send");
    assert_true(choose("topk|raw", "bits", false, &x, 1).level == 1);
    assert_true(choose("topk|sign", "802.15.4", false, &x, 1).progress == 1);
    assert_true(choose("stochastic|raw", "bits", false, &x, 1).progress == 1);
    assert_true(choose("threshold|raw", "bits", false, &x, 1).entries == 1);
}

static void not_a_number(void **state)
{
    (void)state;
    static const char *const codecs[] = {"topk|raw", "topk|sign", "stochastic|raw", "threshold|raw",
                                         "all|natdither"};
    static const size_t sizes[] = {1, 50, 5000, 300000};
    static float x[300000];
    for (size_t i = 0; i < 300000; i++) x[i] = 1 / (1 + (float)i);
    for (size_t c = 0; c < 5; c++)
        for (size_t i = 0; i < 4; i++)
            for (int bad = 0; bad < 3; bad++) {
                const size_t n = sizes[i], at = n / 3;
                const float kept = x[at];
                x[at] = bad == 0 ? NAN : bad == 1 ? INFINITY : -INFINITY;
                asked a = ask_open(codecs[c], "bits", false, n);
                a.call.x = x;
                a.call.n = n;
                tithe_choice choice;
                tithe_error error = {0};
                assert_int_equal(tuner_of("cat")->choose(&a.call, &choice, &error), TITHE_E_NONFINITE);
                assert_int_equal(error.position, at);
                ask_close(&a);
                x[at] = kept;
            }
}

/* dither and natdither: every number of levels, by the constants of docs/design.md. */
static void levels_of_dithering(void **state)
{
    (void)state;
    static const char *const codecs[] = {"all|dither", "all|natdither", "all|dither:bucket=64",
                                         "all|dither:code=elias"};
    static const char *const costs[] = {"bits", "affine:c0=1e5", "802.15.4", "packet:c1=1e6,payload=1000000"};
    static const size_t sizes[] = {1, 10, 300, 20000};
    static float x[20000];
    for (size_t i = 0; i < 20000; i++) x[i] = 1 / (1 + (float)i);
    for (size_t c = 0; c < 4; c++)
        for (size_t k = 0; k < 4; k++)
            for (size_t i = 0; i < 4; i++) {
                const size_t n = sizes[i];
                const bool natural = c == 1;
                asked a = ask_open(codecs[c], costs[k], false, n);
                const tithe_choice choice = ask(&a, x, n);
                long double best = 0, mine = 0;
                for (int s = 1; s <= (natural ? 64 : 16383); s++) {
                    char spec[64];
                    snprintf(spec, sizeof spec, "%s%cs=%d", codecs[c], strchr(codecs[c], ':') ? ',' : ':', s);
                    tithe_codec *codec = codec_of(spec);
                    const double bits = 8.0 * (double)tithe_codec_length(codec, n, n, TITHE_EXCHANGE);
                    const double d = c == 2 && n > 64 ? 64 : (double)n;
                    const long double progress = 1 / (1 + scan_dither(natural, d, s));
                    const long double value = progress / (long double)tithe_cost_of(a.cost, bits);
                    best = fmaxl(best, value);
                    if (s == (int)choice.level) {
                        mine = value;
                        assert_float_equal(choice.progress, (double)progress, 1e-12);
                    }
                    tithe_codec_free(codec);
                }
                expect(mine >= best * (1 - 1e-12L), "%s over %s, n = %zu: s = %g", codecs[c], costs[k], n,
                       choice.level);
                ask_close(&a);
            }
}

static void what_cannot_be_tuned_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *spec, *says;
        tithe_codec_options options;
    } bad[] = {
        {"all|raw", "no level to choose", {.open_level = true}},
        {"all|natural", "no level to choose", {.open_level = true}},
        {"randk|raw", "use topk", {.open_level = true}},
        {"given|raw", "use topk", {.open_level = true}},
        {"stochastic|natural", "stochastic|raw", {.open_level = true}},
        {"topk:per=layer|sign", "per=layer", {.open_level = true}},
        {"topk:rule=l2|sign", "finds its own level", {.open_level = true}},
        {"topk:k=5|raw", "open_level", {.open_level = false}},
        {"topk|raw", "floats", {.open_level = true, .type = TITHE_F64}},
    };
    const tithe_tuner *cat = tuner_of("cat");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        tithe_codec *codec = codec_with(bad[i].spec, bad[i].options);
        const char *why = cat->refuse(codec);
        expect(why && strstr(why, bad[i].says), "%s: %s", bad[i].spec, why ? why : "taken");
        float x = 1;
        tithe_choice choice;
        const tithe_tuner_call call = {.codec = codec, .x = &x, .n = 1, .gamma = 1};
        assert_int_equal(cat->choose(&call, &choice, NULL), TITHE_E_SPEC);
        tithe_codec_free(codec);
    }
    asked a = ask_open("topk|raw", "bits", false, 10);
    float x[10] = {1};
    tithe_choice choice;
    tithe_error error = {0};
    a.call.x = x;
    a.call.n = 10;
    a.call.scratch_size = 5;
    assert_int_equal(cat->choose(&a.call, &choice, &error), TITHE_E_SPACE);
    ask_close(&a);
    error = (tithe_error){0};
    assert_int_equal(tithe_tuner_find("dog", &cat, NULL, &error), TITHE_E_SPEC);
    assert_non_null(strstr(error.text, "fixed, cat"));
    assert_int_equal(tithe_tuner_find("cat:speed=2", &cat, NULL, &error), TITHE_E_SPEC);
    assert_int_equal(tithe_tuner_find(NULL, &cat, NULL, NULL), TITHE_E_ARGUMENT);
}

static void fixed_leaves_the_level_alone(void **state)
{
    (void)state;
    const tithe_tuner *fixed = tuner_of("fixed");
    tithe_codec *codec = codec_of("topk:k=3|raw"),
                *open = codec_with("topk", (tithe_codec_options){.open_level = true});
    const float x[10] = {1};
    tithe_choice choice;
    const tithe_tuner_call call = {.codec = codec, .x = x, .n = 10};
    assert_null(fixed->refuse(codec));
    assert_non_null(fixed->refuse(open));
    assert_int_equal(fixed->scratch(codec, 10), 0);
    assert_int_equal(fixed->choose(&call, &choice, NULL), TITHE_OK);
    assert_true(choice.level == 0 && choice.entries == 3);
    assert_true(choice.cost == 8.0 * (double)tithe_codec_length(codec, 10, 3, TITHE_SELF_CONTAINED));
    tithe_codec_free(codec);
    tithe_codec_free(open);
}

/* The chosen level is one that the codec can be called with, and the frame costs no more than was said. */
static void the_frame_keeps_the_promise(void **state)
{
    (void)state;
    static const char *const codecs[] = {"topk|raw", "topk|sign", "topk|natural", "threshold|raw",
                                         "all|dither"};
    enum { N = 5000 };
    static float x[N];
    dice d = {3};
    for (size_t c = 0; c < 5; c++)
        for (int kind = 0; kind < IN_KINDS; kind++) {
            asked a = ask_open(codecs[c], "802.15.4", false, N);
            fill_tuned((tuned_input)kind, x, N, &d);
            const tithe_choice choice = ask(&a, x, N);
            const size_t room = tithe_codec_bound(a.codec, N), work = tithe_codec_scratch(a.codec, N);
            uint8_t *frame = malloc(room);
            tithe_call call = {.form = TITHE_EXCHANGE, .level = choice.level, .scratch = malloc(work + 1)};
            call.scratch_size = work;
            tithe_frame_info info = {0};
            tithe_error error = {0};
            if (kind == IN_HUGE && c == 4) x[0] = 1; /* its norm may be too large: not this test's question */
            const tithe_status status = tithe_encode(a.codec, &call, x, N, frame, room, &info, &error);
            if (!status) {
                assert_true((double)info.entries == choice.entries);
                assert_true(tithe_cost_of(a.cost, 8.0 * (double)info.bytes) <= choice.cost);
            } else if (status != TITHE_E_RANGE) {
                fail_msg("%s, input %d: %s", codecs[c], kind, error.text);
            }
            free(frame);
            free(call.scratch);
            ask_close(&a);
        }
}

/* A frame of this level, from what the choice found, or from scratch. */
static size_t frame_of(const asked *a, const float *x, size_t n, double level, const uint32_t *largest,
                       size_t count, uint8_t *frame)
{
    const size_t work = tithe_codec_scratch(a->codec, n);
    tithe_call call = {.form = TITHE_EXCHANGE,
                       .level = level,
                       .largest = largest,
                       .largest_count = count,
                       .scratch = malloc(work + 1),
                       .scratch_size = work};
    tithe_frame_info info = {0};
    tithe_error error = {0};
    const tithe_status status =
        tithe_encode(a->codec, &call, x, n, frame, tithe_codec_bound(a->codec, n), &info, &error);
    expect(!status || status == TITHE_E_RANGE, "%s", error.text);
    free(call.scratch);
    return info.bytes;
}

/* Positions that the tuner hands out spare topk its pass, and change no bit; those that cannot be are left alone. */
static void what_was_found_is_taken_over(void **state)
{
    (void)state;
    static const char *const codecs[] = {"topk|raw", "topk|sign"}, *const costs[] = {"bits", "802.15.4",
                                                                                     "affine:c0=1e5"};
    static const size_t sizes[] = {300, 20000, 50000, 200000};
    static float x[200000];
    static const uint32_t beyond[] = {1, 2, UINT32_MAX}, falling[] = {5, 4, 3};
    dice d = {4};
    unsigned handed = 0;
    for (int c = 0; c < 24; c++)
        for (int kind = 0; kind < IN_KINDS; kind++) {
            const size_t n = sizes[c % 4];
            asked a = ask_open(codecs[c / 4 % 2], costs[c / 8], false, n);
            fill_tuned((tuned_input)kind, x, n, &d);
            const tithe_choice choice = ask(&a, x, n);
            uint8_t *plain = malloc(tithe_codec_bound(a.codec, n)),
                    *known = malloc(tithe_codec_bound(a.codec, n));
            const size_t length = frame_of(&a, x, n, choice.level, NULL, 0, plain);
            handed += choice.largest != NULL;
            if (choice.largest) assert_true((double)choice.largest_count >= choice.level);
            assert_int_equal(frame_of(&a, x, n, choice.level, choice.largest, choice.largest_count, known),
                             length);
            assert_memory_equal(known, plain, length);
            const size_t three = frame_of(&a, x, n, 3, NULL, 0, plain);
            assert_int_equal(frame_of(&a, x, n, 3, beyond, 3, known), three);
            assert_memory_equal(known, plain, three);
            assert_int_equal(frame_of(&a, x, n, 3, falling, 3, known), three);
            assert_memory_equal(known, plain, three);
            free(plain);
            free(known);
            ask_close(&a);
        }
    assert_true(handed > 24);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(four_numbers),
        cmocka_unit_test(without_overhead_one_entry_goes),
        cmocka_unit_test(packets_are_full),
        cmocka_unit_test(nothing_to_send),
        cmocka_unit_test(one_number),
        cmocka_unit_test(not_a_number),
        cmocka_unit_test(levels_of_dithering),
        cmocka_unit_test(what_cannot_be_tuned_is_refused),
        cmocka_unit_test(fixed_leaves_the_level_alone),
        cmocka_unit_test(the_frame_keeps_the_promise),
        cmocka_unit_test(what_was_found_is_taken_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
