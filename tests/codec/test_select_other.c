/* test_select_other.c - threshold, mstopk and given against what they say of themselves. */
#include "codec/selected.h"

/* ---- threshold ----------------------------------------------------------------------------------------------- */

static void expect_threshold(tithe_type type, double lambda, const void *x, size_t n)
{
    tithe_codec *codec = codec_with("threshold", (tithe_codec_options){type, false, true});
    selected s = select_with(codec, (tithe_call){.level = lambda}, x, n);
    expect(s.status == TITHE_OK, "%s", s.error.text);
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        if (fabs(get_number(type, x, i)) < lambda) continue;
        expect(count < s.info.entries && s.at[count] == i, "lambda = %.17g: %.17g at %zu is missing", lambda,
               get_number(type, x, i), i);
        count++;
    }
    expect(count == s.info.entries, "lambda = %.17g: %zu entries instead of %zu", lambda, s.info.entries,
           count);
    expect_values(&s, type, x);
    selected_free(&s);
    tithe_codec_free(codec);
}

static void threshold_keeps_what_is_not_below(void **state)
{
    (void)state;
    dice d = {34};
    enum { N = 70100 };
    static double x[N];
    for (int shape = 0; shape < SHAPES; shape++)
        for (tithe_type type = TITHE_F32; type <= TITHE_F64; type++)
            for (int trial = 0; trial < 12; trial++) {
                const size_t n = trial == 0 && type == TITHE_F32 ? N : roll_below(&d, 200);
                fill_shape(type, shape, x, n, &d);
                double lambda = exp(3 * roll_gauss(&d));
                if (n && trial % 3 == 1)
                    lambda = fabs(get_number(type, x, roll_below(&d, n))); /* one of them */
                if (n && trial % 3 == 2)
                    lambda = nextafter(fabs(get_number(type, x, 0)), 1e300); /* just above one */
                if (!(lambda > 0)) lambda = 5e-324;
                expect_threshold(type, lambda, x, n);
            }
    const float edges[] = {0x1p-149f, -0x1p-149f, 0, -0.0f, FLT_MAX, -FLT_MAX, 1, 0x1.000002p0f};
    static const double lambdas[] = {5e-324,       0x1p-150, 0x1p-149,       0x1.8p-149,     1,    1.00000001,
                                     0x1.000002p0, 3.4e38,   0x1.fffffep127, 0x1.ffffffp127, 1e39, 1e300};
    for (size_t i = 0; i < sizeof lambdas / sizeof *lambdas; i++)
        expect_threshold(TITHE_F32, lambdas[i], edges, 8);
    tithe_codec *codec = codec_of("threshold:lambda=0"); /* zeros too */
    selected s = select_with(codec, (tithe_call){0}, edges, 8);
    assert_int_equal(s.info.entries, 8);
    selected_free(&s);
    tithe_codec_free(codec);
}

/* ---- mstopk -------------------------------------------------------------------------------------------------- */

/* Exactly k. What `rounds` halvings between mean and maximum leave above is chosen, what they leave below is not. */
static void expect_mstopk(const float *x, size_t n, size_t k, unsigned rounds, uint64_t seed)
{
    char spec[60];
    snprintf(spec, sizeof spec, "mstopk:k=%zu,rounds=%u", k, rounds);
    tithe_codec *codec = codec_of(spec);
    selected s = select_with(codec, (tithe_call){.seed = seed}, x, n);
    expect(s.status == TITHE_OK, "%s", s.error.text);
    if (k > n) k = n;
    expect(s.info.entries == k, "%s of %zu: %zu entries", spec, n, s.info.entries);
    double mean = 0, max = 0, low = 0, high = (double)INFINITY, left = 0, right = 1;
    for (size_t i = 0; i < n; i++) {
        mean += fabs((double)x[i]) / (double)n;
        max = fmax(max, fabs((double)x[i]));
    }
    for (unsigned r = 0; r < rounds; r++) {
        const double middle = (left + right) / 2, threshold = mean + middle * (max - mean);
        size_t above = 0;
        for (size_t i = 0; i < n; i++) above += fabs((double)x[i]) >= threshold;
        if (above <= k) {
            right = middle;
            high = threshold;
        } else {
            left = middle;
            low = threshold;
        }
    }
    size_t next = 0;
    for (size_t i = 0; i < n; i++) {
        const bool chosen = next < k && s.at[next] == i;
        next += chosen;
        const double magnitude = fabs((double)x[i]);
        expect(!chosen || magnitude >= low * (1 - 1e-12), "%s chose %g, below %g", spec, magnitude, low);
        expect(chosen || magnitude < high * (1 + 1e-12), "%s left out %g, above %g", spec, magnitude, high);
    }
    assert_int_equal(next, k);
    selected_free(&s);
    tithe_codec_free(codec);
}

static void mstopk_sends_exactly_k_of_the_largest(void **state)
{
    (void)state;
    dice d = {35};
    float x[700];
    for (int trial = 0; trial < 600; trial++) {
        const size_t n = 1 + roll_below(&d, 700);
        fill_shape(TITHE_F32, trial % SHAPES, x, n, &d);
        expect_mstopk(x, n, 1 + roll_below(&d, n + 2), (unsigned)roll_below(&d, 30), (uint64_t)trial);
    }
}

/* Without any halving, a run of k that starts anywhere: every position has the same chance. */
static void the_band_of_mstopk_is_drawn_evenly(void **state)
{
    (void)state;
    enum { N = 17, K = 5, TRIALS = 20000 };
    const float x[N] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    tithe_codec *codec = codec_of("mstopk:k=5,rounds=0");
    size_t count[N] = {0};
    for (uint64_t seed = 0; seed < TRIALS; seed++) {
        selected s = select_with(codec, (tithe_call){.seed = seed}, x, N);
        assert_int_equal(s.info.entries, K);
        for (size_t i = 0; i < K; i++) count[s.at[i]]++;
        selected_free(&s);
    }
    for (size_t i = 0; i < N; i++)
        expect(fabs((double)count[i] - TRIALS * (double)K / N) < count_slack(TRIALS, (double)K / N),
               "position %zu: %zu", i, count[i]);
    tithe_codec_free(codec);
}

/* ---- given --------------------------------------------------------------------------------------------------- */

static void given_sends_what_it_is_given(void **state)
{
    (void)state;
    tithe_codec *codec = codec_of("given");
    float x[50], y[50];
    fill_kind(TITHE_F32, GAUSSIAN, x, 50, 4);
    const uint32_t good[] = {0, 3, 4, 17, 49};
    for (size_t count = 0; count <= 5; count++) {
        uint8_t scratch[4096];
        selected s = select_with(codec, (tithe_call){.given = good, .given_count = count}, x, 50);
        assert_int_equal(s.status, TITHE_OK);
        assert_int_equal(s.info.entries, count);
        assert_int_equal(s.info.index_bits, 0);
        tithe_call call = {
            .given = good, .given_count = count, .scratch = scratch, .scratch_size = sizeof scratch};
        for (size_t i = 0; i < 50; i++) y[i] = 100;
        assert_int_equal(tithe_decode_add(codec, &call, s.frame, s.info.bytes, 1, y, 50, NULL), TITHE_OK);
        for (size_t i = 0, next = 0; i < 50; i++) {
            const bool sent = next < count && good[next] == i;
            next += sent;
            assert_true(y[i] == (sent ? 100 + x[i] : 100));
        }
        /* Another number of indices, or none, is another frame's. */
        call.given_count = count + 1;
        assert_int_equal(tithe_decode_add(codec, &call, s.frame, s.info.bytes, 1, y, 50, NULL),
                         TITHE_E_MISMATCH);
        selected_free(&s);
    }
    const uint32_t bad[][3] = {{3, 2, 5}, {3, 3, 5}, {1, 2, 50}, {4294967295u, 1, 2}};
    const size_t place[] = {1, 1, 2, 0};
    for (size_t i = 0; i < 4; i++) {
        selected s = select_with(codec, (tithe_call){.given = bad[i], .given_count = 3}, x, 50);
        assert_int_equal(s.status, TITHE_E_ARGUMENT);
        assert_int_equal(s.error.position, place[i]);
        selected_free(&s);
    }
    selected s = select_with(codec, (tithe_call){.given = NULL, .given_count = 3}, x, 50);
    assert_int_equal(s.status, TITHE_E_ARGUMENT);
    selected_free(&s);
    tithe_codec_free(codec);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threshold_keeps_what_is_not_below),
        cmocka_unit_test(mstopk_sends_exactly_k_of_the_largest),
        cmocka_unit_test(the_band_of_mstopk_is_drawn_evenly),
        cmocka_unit_test(given_sends_what_it_is_given),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
