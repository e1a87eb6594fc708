/* test_layers.c - cat under per=layer: each layer has the level that a full scan finds for it alone; what is best for all of them
 * in one message is the level of the whole vector. And messages that are counted by somebody else. */
#include "tuner/scan.h"

enum { LAYERS = 5, MAX = 2000 };
static const char *const codecs[] = {"topk:per=layer|raw", "topk:per=layer|natural", "topk:per=layer|f16",
                                     "topk:per=layer|bf16"};
static const char *const costs[] = {"bits",
                                    "affine:c0=432",
                                    "affine:c0=0,c1=2",
                                    "802.15.4",
                                    "802.15.4-127",
                                    "ethernet-udp",
                                    "alphabeta:latency=1ms,bandwidth=10Mbit"};

/* Lengths that add up to n; one of them is 0. */
static void cut(size_t n, size_t *lengths, dice *d)
{
    for (size_t i = 0; i < LAYERS - 1; i++) {
        lengths[i] = i == 2 ? 0 : roll_below(d, n + 1) / 2;
        n -= lengths[i];
    }
    lengths[LAYERS - 1] = n;
}

static void every_layer_has_its_own_argmax(void **state)
{
    (void)state;
    dice d = {11};
    static float x[MAX];
    size_t lengths[LAYERS], levels[LAYERS];
    for (size_t trial = 0; trial < 600; trial++) {
        const tuned_input kind = (tuned_input)(trial % IN_KINDS);
        const char *spec = codecs[trial % 4], *cost = costs[roll_below(&d, sizeof costs / sizeof *costs)];
        if (kind == IN_HUGE && strstr(spec, "f16")) continue;
        const size_t n = 1 + roll_below(&d, trial % 3 ? 60 : MAX);
        asked whole = ask_open(spec, cost, trial % 5 == 0, n),
              alone = ask_open(spec, cost, trial % 5 == 0, n);
        alone.spec = strchr(spec, '|') - 4; /* the scan only looks at what stands behind the bar */
        fill_tuned(kind, x, n, &d);
        cut(n, lengths, &d);
        whole.call.segments = lengths;
        whole.call.segment_count = LAYERS;
        whole.call.segment_levels = levels;
        const tithe_choice choice = ask(&whole, x, n);
        assert_ptr_equal(choice.segment_levels, levels);
        alone.call.segment_count = 1;
        double sum = 0;
        size_t first = 0;
        for (size_t i = 0; i < LAYERS; first += lengths[i], i++) {
            size_t own;
            sum += (double)levels[i];
            if (lengths[i] == 0) {
                assert_int_equal(levels[i], 0);
                continue;
            }
            alone.call.segments = &lengths[i];
            alone.call.segment_levels = &own;
            expect_argmax(&alone, x + first, lengths[i], "a layer alone");
            expect(levels[i] == own, "%s over %s: layer %zu of %zu has level %zu, alone %zu", spec, cost, i,
                   lengths[i], levels[i], own);
        }
        expect(choice.level == sum && choice.entries == sum, "%s: %g entries, not %g", spec, choice.entries,
               sum);
        assert_true(choice.cost == asked_cost(&whole, n, (size_t)sum)); /* of the one message */
        ask_close(&whole);
        ask_close(&alone);
    }
}

/* Of all triples of levels, tried one by one. */
static void the_best_for_one_message_is_that_of_the_whole(void **state)
{
    (void)state;
    dice d = {12};
    float x[12];
    for (int trial = 0; trial < 200; trial++) {
        const size_t lengths[3] = {1 + roll_below(&d, 4), 1 + roll_below(&d, 4), 1 + roll_below(&d, 4)};
        const size_t n = lengths[0] + lengths[1] + lengths[2];
        asked a = ask_open(trial % 2 ? "topk|raw" : "topk|natural", costs[trial % 7], trial % 3 == 0, n);
        fill_tuned((tuned_input)(trial % 2 ? IN_GAUSS : IN_HEAVY), x, n, &d);
        scan parts[3] = {scan_open(x, lengths[0]), scan_open(x + lengths[0], lengths[1]),
                         scan_open(x + lengths[0] + lengths[1], lengths[2])};
        const tithe_choice plain = ask(&a, x, n);
        long double best = 0, energy = 0;
        for (int l = 0; l < 3; l++) energy += parts[l].s2[lengths[l]];
        for (size_t i = 0; i <= lengths[0]; i++)
            for (size_t j = 0; j <= lengths[1]; j++)
                for (size_t k = 0; k <= lengths[2]; k++) {
                    const long double kept = parts[0].s2[i] + parts[1].s2[j] + parts[2].s2[k];
                    if (i + j + k) best = fmaxl(best, kept / (long double)asked_cost(&a, n, i + j + k));
                }
        const long double factor = trial % 2 ? 1 : 8 / 9.0L, mine = plain.progress / plain.cost;
        expect(fabsl(mine - factor * best / energy) <= 1e-12L * mine,
               "trial %d: %.17Lg, and the best is %.17Lg", trial, mine, factor * best / energy);
        for (int l = 0; l < 3; l++) scan_close(&parts[l]);
        ask_close(&a);
    }
}

/* The entries of the frame are the largest of each layer. */
static void levels_of_layers_are_sent(void **state)
{
    (void)state;
    const float x[] = {1, -5, 3, 2, 0, 0, 7, -8, 9};
    const size_t lengths[] = {4, 2, 3}, levels[] = {2, 0, 9};
    const float wanted[] = {0, -5, 3, 0, 0, 0, 7, -8, 9};
    tithe_codec *codec = codec_with("topk:per=layer", (tithe_codec_options){.open_level = true});
    uint8_t frame[200];
    char scratch[4096];
    float y[9] = {0};
    tithe_frame_info info;
    tithe_call call = {.level = 5,
                       .segments = lengths,
                       .segment_count = 3,
                       .segment_levels = levels,
                       .scratch = scratch,
                       .scratch_size = sizeof scratch};
    assert_true(tithe_codec_scratch(codec, 9) <= sizeof scratch &&
                tithe_codec_bound(codec, 9) <= sizeof frame);
    assert_int_equal(tithe_encode(codec, &call, x, 9, frame, sizeof frame, &info, NULL), TITHE_OK);
    assert_int_equal(info.entries, 5);
    call.segment_levels = NULL;
    assert_int_equal(tithe_decode_add(codec, &call, frame, info.bytes, 1, y, 9, NULL), TITHE_OK);
    for (int i = 0; i < 9; i++) assert_true(y[i] == wanted[i]);
    tithe_codec_free(codec);
}

static void what_has_no_levels_is_refused(void **state)
{
    (void)state;
    const tithe_tuner *cat = tuner_of("cat");
    const tithe_codec_options open = {.contractive = true, .open_level = true};
    static const char *const tied[] = {"topk:per=layer|sign", "topk:per=layer|dither",
                                       "topk:per=layer,rule=l2|raw"};
    for (size_t i = 0; i < 3; i++) {
        tithe_codec *codec = codec_with(tied[i], open);
        assert_non_null(cat->refuse(codec));
        tithe_codec_free(codec);
    }
    asked a = ask_open("topk:per=layer|raw", "bits", false, 10);
    float x[10] = {1, 2, 3};
    size_t levels[3];
    static const size_t lengths[][3] = {{4, 6, 1}, {4, 5, 0}, {11, 0, 0}, {SIZE_MAX, 11, 0}};
    tithe_choice choice;
    tithe_error error = {0};
    a.call.x = x;
    a.call.n = 10;
    assert_int_equal(cat->choose(&a.call, &choice, &error), TITHE_E_ARGUMENT);
    a.call.segment_count = 3;
    a.call.segment_levels = levels;
    for (size_t i = 0; i < 4; i++) {
        a.call.segments = lengths[i];
        assert_int_equal(cat->choose(&a.call, &choice, &error), TITHE_E_ARGUMENT);
        assert_non_null(strstr(error.text, "add up to 10"));
    }
    const size_t good[] = {4, 4, 2};
    a.call.segments = good;
    x[7] = NAN;
    assert_int_equal(cat->choose(&a.call, &choice, &error), TITHE_E_NONFINITE);
    assert_int_equal(error.position, 7);
    double grid[TITHE_GRID_MAX], curve[1];
    assert_int_equal(tithe_tuner_grid(&a.call, grid, TITHE_GRID_MAX),
                     0); /* no level that others could share */
    x[7] = 0;
    assert_int_equal(tithe_tuner_curve(&a.call, (const double[]){1}, 1, curve, NULL, &error), TITHE_E_SPEC);
    ask_close(&a);
}

/* ---- messages that are counted by somebody else ----------------------------------------------------------------- */

static double longer(const tithe_tuner_call *c, double entries)
{
    return 8.0 * (double)tithe_codec_length(c->codec, c->n, (size_t)entries, c->form) +
           *(const double *)c->context;
}

/* So many bits more are an overhead like any other. */
static void another_count_is_another_overhead(void **state)
{
    (void)state;
    dice d = {13};
    static float x[MAX];
    const double more = 88;
    asked a = ask_open("topk|raw", "affine:c0=432,c1=1", false, MAX),
          b = ask_open("topk|raw", "affine:c0=520,c1=1", false, MAX);
    a.call.bits = longer;
    a.call.context = &more;
    for (int trial = 0; trial < 200; trial++) {
        const size_t n = 1 + roll_below(&d, MAX);
        fill_tuned((tuned_input)(trial % IN_KINDS), x, n, &d);
        const tithe_choice mine = ask(&a, x, n), same = ask(&b, x, n);
        expect(mine.level == same.level && mine.cost == same.cost, "n = %zu: level %g for %g, not %g for %g",
               n, mine.level, mine.cost, same.level, same.cost);
    }
    ask_close(&a);
    ask_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_layer_has_its_own_argmax),
        cmocka_unit_test(the_best_for_one_message_is_that_of_the_whole),
        cmocka_unit_test(levels_of_layers_are_sent),
        cmocka_unit_test(what_has_no_levels_is_refused),
        cmocka_unit_test(another_count_is_another_overhead),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
