/* test_select.c - topk in all its forms against sorting: any k, either type, by layers, and by the rule of l2.
 * test_select_top.c looks inside the search; threshold, mstopk and given have test_select_other.c. */
#include "codec/selected.h"

/* ---- topk -------------------------------------------------------------------------------------------------- */

static tithe_codec *topk_of(size_t k, tithe_type type)
{
    char spec[40];
    snprintf(spec, sizeof spec, "topk:k=%zu", k);
    return codec_with(spec, (tithe_codec_options){type, false, false});
}

/* Are these positions the k first of the sorted list? */
static void expect_top(const selected *s, const sort_entry *sorted, size_t k, const char *what, size_t n)
{
    sort_entry *top = malloc((k + 1) * sizeof *top);
    assert_non_null(top);
    memcpy(top, sorted, k * sizeof *top);
    qsort(top, k, sizeof *top, by_position);
    expect(s->info.entries == k, "%s: %zu entries of %zu instead of %zu", what, s->info.entries, n, k);
    for (size_t i = 0; i < k; i++)
        expect(s->at[i] == top[i].position, "%s: entry %zu of k=%zu, n=%zu is %u instead of %u", what, i, k,
               n, s->at[i], top[i].position);
    free(top);
}

static void expect_topk(tithe_type type, int shape, size_t n, size_t k, dice *d)
{
    void *x = malloc((n + 1) * sizeof(double));
    assert_non_null(x);
    fill_shape(type, shape, x, n, d);
    tithe_codec *codec = topk_of(k, type);
    sort_entry *sorted = sorted_magnitudes(type, x, 0, n);
    char what[40];
    snprintf(what, sizeof what, "topk of shape %d, %s", shape, type == TITHE_F32 ? "f32" : "f64");
    selected s = select_with(codec, (tithe_call){.seed = n + k}, x, n);
    expect(s.status == TITHE_OK, "%s: %s", what, s.error.text);
    expect_top(&s, sorted, k < n ? k : n, what, n);
    expect_values(&s, type, x);
    selected_free(&s);
    free(sorted);
    free(x);
    tithe_codec_free(codec);
}

static void topk_is_what_sorting_gives(void **state)
{
    (void)state;
    dice d = {30};
    for (int shape = 0; shape < SHAPES; shape++)
        for (tithe_type type = TITHE_F32; type <= TITHE_F64; type++) {
            for (size_t n = 1; n <= 24; n++)
                for (size_t k = 1; k <= n + 1; k++) expect_topk(type, shape, n, k, &d);
            for (size_t k = 1; k <= 300; k += 13) expect_topk(type, shape, 300, k, &d);
        }
}

/* From 16384 numbers on a sample brackets the answer; whatever the sample says, the answer is the same. */
static void topk_of_long_vectors_too(void **state)
{
    (void)state;
    dice d = {31};
    static const size_t sizes[] = {16383, 16384, 20011, 70001};
    for (int shape = 0; shape < SHAPES; shape++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            const size_t n = sizes[i],
                         ks[] = {1, 2, 20, n / 1000, n / 100, n / 40, n / 16, n / 5, n / 2, n - 3, n};
            for (size_t j = 0; j < sizeof ks / sizeof *ks; j++)
                if (i == 1 || (j + (size_t)shape) % 2 == i % 2) expect_topk(TITHE_F32, shape, n, ks[j], &d);
        }
    expect_topk(TITHE_F64, RANDOM, 20000, 200, &d);
    expect_topk(TITHE_F64, TIES, 20000, 5000, &d);
}

static void keep_is_rounded_and_at_least_one(void **state)
{
    (void)state;
    static const struct {
        double keep;
        size_t n, k;
    } cases[] = {{0.01, 10, 1}, {0.25, 10, 3},      {0.24, 10, 2}, {0.5, 5, 3},
                 {1, 7, 7},     {0.999, 1000, 999}, {1e-9, 50, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char spec[60];
        static const char *const names[] = {"topk", "mstopk", "randk"};
        for (int j = 0; j < 3; j++) {
            snprintf(spec, sizeof spec, "%s:keep=%.12g", names[j], cases[i].keep);
            tithe_codec *codec = codec_of(spec);
            float x[1000];
            fill_kind(TITHE_F32, GAUSSIAN, x, cases[i].n, 1);
            selected s = select_with(codec, (tithe_call){0}, x, cases[i].n);
            expect(s.info.entries == cases[i].k, "%s of %zu: %zu entries", spec, cases[i].n, s.info.entries);
            selected_free(&s);
            tithe_codec_free(codec);
        }
    }
}

static void a_level_in_the_call_replaces_k(void **state)
{
    (void)state;
    tithe_codec *codec = codec_with("topk|raw", (tithe_codec_options){TITHE_F32, false, true});
    float x[100];
    fill_kind(TITHE_F32, GAUSSIAN, x, 100, 2);
    sort_entry *sorted = sorted_magnitudes(TITHE_F32, x, 0, 100);
    for (size_t k = 1; k <= 120; k += 7) {
        selected s = select_with(codec, (tithe_call){.level = (double)k}, x, 100);
        expect_top(&s, sorted, k < 100 ? k : 100, "topk by level", 100);
        selected_free(&s);
    }
    free(sorted);
    tithe_codec_free(codec);
}

/* ---- per=layer and rule=l2 ----------------------------------------------------------------------------------- */

static void every_layer_has_its_own_top(void **state)
{
    (void)state;
    dice d = {32};
    enum { N = 90000 };
    static float x[N];
    for (int trial = 0; trial < 18; trial++) {
        const size_t n = trial < 8 ? 500 : N, whole = trial < 12 ? 0 : n / 8;
        fill_shape(TITHE_F32, trial % SHAPES, x, n, &d);
        size_t segments[6] = {0}, left = n;
        for (int i = 0; i < 5; i++) left -= segments[i] = i == 2 ? 0 : roll_below(&d, left + 1);
        segments[5] = left;
        const bool by_share = trial % 2;
        char spec[60];
        snprintf(spec, sizeof spec, "topk:%s,per=layer,whole=%zu", by_share ? "keep=0.1" : "k=20", whole);
        tithe_codec *codec = codec_of(spec);
        selected s = select_with(codec, (tithe_call){.segments = segments, .segment_count = 6}, x, n);
        expect(s.status == TITHE_OK, "%s", s.error.text);
        size_t first = 0, found = 0;
        for (int i = 0; i < 6; i++) {
            const size_t m = segments[i];
            size_t k = by_share ? (size_t)round(0.1 * (double)m) : 20;
            if (k == 0) k = 1;
            if (k > m || m <= whole) k = m;
            sort_entry *sorted = sorted_magnitudes(TITHE_F32, x, first, m);
            selected part = s;
            part.at += found;
            part.info.entries = k;
            expect_top(&part, sorted, k, "a layer", m);
            free(sorted);
            first += m;
            found += k;
        }
        assert_int_equal(s.info.entries, found);
        expect_values(&s, TITHE_F32, x);
        selected_free(&s);
        tithe_codec_free(codec);
    }
}

static void layers_have_to_add_up(void **state)
{
    (void)state;
    tithe_codec *codec = codec_of("topk:k=2,per=layer");
    float *x = calloc(10, sizeof *x); /* of exact size: a sanitizer sees what lies beyond */
    assert_non_null(x);
    const size_t short_of[] = {4, 5}, too_many[] = {4, 7}, one_too_many[] = {10, 1},
                 wrapping[] = {10, SIZE_MAX, 1}, right[] = {10, 0};
    const tithe_call bad[] = {{0},
                              {.segments = short_of, .segment_count = 2},
                              {.segments = too_many, .segment_count = 2},
                              {.segments = one_too_many, .segment_count = 2},
                              {.segments = wrapping, .segment_count = 3},
                              {.segments = right, .segment_count = 0},
                              {.segments = NULL, .segment_count = 2}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        selected s = select_with(codec, bad[i], x, 10);
        expect(s.status == TITHE_E_ARGUMENT && strstr(s.error.text, "add up"), "layers of case %zu are taken",
               i);
        selected_free(&s);
    }
    selected s = select_with(codec, (tithe_call){.segments = right, .segment_count = 2}, x, 10);
    assert_int_equal(s.status, TITHE_OK);
    selected_free(&s);
    free(x);
    tithe_codec_free(codec);
}

/* The smallest top set whose l1 norm reaches the l2 norm of the whole. */
static void the_rule_l2_finds_the_smallest_set(void **state)
{
    (void)state;
    dice d = {33};
    static float x[40000];
    tithe_codec *codec = codec_of("topk:rule=l2");
    for (int trial = 0; trial < 400; trial++) {
        const size_t n = trial < 380 ? 1 + roll_below(&d, 400) : 17000 + roll_below(&d, 20000);
        fill_shape(TITHE_F32, trial % SHAPES, x, n, &d);
        if (trial % 3 == 0) /* as many as ceil(sqrt(n)) are needed for a flat one */
            for (size_t i = 0; i < n; i++) x[i] = 0.7f;
        sort_entry *sorted = sorted_magnitudes(TITHE_F32, x, 0, n);
        long double norm = 0, sum = 0;
        for (size_t i = 0; i < n; i++) norm += (long double)x[i] * (long double)x[i];
        norm = sqrtl(norm);
        selected s = select_with(codec, (tithe_call){0}, x, n);
        expect(s.status == TITHE_OK, "%s", s.error.text);
        const size_t k = s.info.entries;
        expect_top(&s, sorted, k, "rule=l2", n);
        assert_true(k >= 1 && k <= (size_t)ceil(sqrt((double)n)) + 1);
        for (size_t i = 0; i + 1 < k; i++) sum += (long double)sorted[i].magnitude;
        expect(k == 1 || sum < norm * (1 + 1e-12L), "n=%zu: %zu entries are one too many", n, k);
        sum += (long double)sorted[k - 1].magnitude;
        expect(sum >= norm * (1 - 1e-12L), "n=%zu: %zu entries are too few", n, k);
        free(sorted);
        selected_free(&s);
    }
    tithe_codec_free(codec);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(topk_is_what_sorting_gives),
        cmocka_unit_test(topk_of_long_vectors_too),
        cmocka_unit_test(keep_is_rounded_and_at_least_one),
        cmocka_unit_test(a_level_in_the_call_replaces_k),
        cmocka_unit_test(every_layer_has_its_own_top),
        cmocka_unit_test(layers_have_to_add_up),
        cmocka_unit_test(the_rule_l2_finds_the_smallest_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
