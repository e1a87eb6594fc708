/* test_shared.c - one level for all workers: the grid, the curves on it, and how close the grid comes to the best level
 * of all. */
#include "tuner/scan.h"

static const char *const codecs[] = {"topk|raw", "topk|sign", "stochastic|raw", "topk|natural",
                                     "topk|dither:s=3"};
static const char *const costs[] = {"bits", "affine:c0=4320", "802.15.4", "ethernet-udp"};

static void the_grid_ascends_in_small_steps(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 2, 15, 16, 17, 18, 100, 4097, 47236, 3231961, 4294967295u};
    for (size_t k = 0; k < 4; k++) {
        asked a = ask_open("topk|raw", costs[k], false, 1);
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            double levels[TITHE_GRID_MAX];
            a.call.n = sizes[i];
            const size_t count = tithe_tuner_grid(&a.call, levels, TITHE_GRID_MAX);
            assert_true(count >= 1 && count < TITHE_GRID_MAX && levels[0] >= 1);
            assert_true(levels[count - 1] == (double)sizes[i]);
            for (size_t j = 1; j < count; j++)
                assert_true(levels[j] > levels[j - 1] &&
                            levels[j] <= fmax(levels[j - 1] * 1.13, levels[j - 1] + 2));
        }
        ask_close(&a);
    }
}

static void curves_are_those_of_a_sort(void **state)
{
    (void)state;
    dice d = {1};
    for (size_t c = 0; c < 5; c++)
        for (int kind = 0; kind < IN_KINDS; kind++)
            for (int trial = 0; trial < 4; trial++) {
                const size_t n = trial < 2 ? 1 + roll_below(&d, 300) : 4000 + roll_below(&d, 20000);
                asked a = ask_open(codecs[c], costs[trial % 4], false, n);
                float *x = malloc(n * sizeof *x);
                assert_non_null(x);
                fill_tuned((tuned_input)kind, x, n, &d);
                double levels[TITHE_GRID_MAX], curve[TITHE_GRID_MAX], cost[TITHE_GRID_MAX];
                tithe_error error = {0};
                a.call.x = x;
                a.call.n = n;
                const size_t count = tithe_tuner_grid(&a.call, levels, TITHE_GRID_MAX);
                assert_int_equal(tithe_tuner_curve(&a.call, levels, count, curve, cost, &error), TITHE_OK);
                scan s = scan_open(x, n);
                size_t m = 0;
                for (size_t i = 0; i < count; i++) {
                    const size_t t = (size_t)levels[i];
                    const long double right = s.nonzero ? scan_progress(&s, codecs[c], t, &m) * s.s2[n] : 0;
                    expect(fabsl(curve[i] - right) <= 1e-11L * right,
                           "%s, input %d, n = %zu, level %zu: %.17g is %.17Lg", codecs[c], kind, n, t,
                           curve[i], right);
                    assert_true(cost[i] == asked_cost(&a, n, t));
                }
                scan_close(&s);
                free(x);
                ask_close(&a);
            }
}

/* Four workers: the level of the grid is nearly as good as the best of all levels. */
static void the_grid_loses_little(void **state)
{
    (void)state;
    enum { N = 2000, WORKERS = 4 };
    dice d = {2};
    static float x[WORKERS][N];
    for (size_t c = 0; c < 4; c++)
        for (size_t k = 0; k < 4; k++)
            for (int kind = 0; kind < IN_KINDS; kind++) {
                if (kind == IN_DENORMAL || kind == IN_ONE) continue;
                asked a = ask_open(codecs[c], costs[k], false, N);
                double levels[TITHE_GRID_MAX], sum[TITHE_GRID_MAX] = {0}, curve[TITHE_GRID_MAX],
                                               price[TITHE_GRID_MAX], all[TITHE_GRID_MAX] = {0};
                long double best = 0, energy[N + 1] = {0};
                a.call.n = N;
                const size_t count = tithe_tuner_grid(&a.call, levels, TITHE_GRID_MAX);
                for (int w = 0; w < WORKERS; w++) {
                    fill_tuned((tuned_input)kind, x[w], N, &d);
                    a.call.x = x[w];
                    assert_int_equal(tithe_tuner_curve(&a.call, levels, count, curve, price, NULL), TITHE_OK);
                    for (size_t i = 0; i < count; i++) sum[i] += curve[i], all[i] += price[i];
                    scan s = scan_open(x[w], N);
                    size_t m = 0;
                    for (size_t t = 1; t <= N; t++)
                        energy[t] += scan_progress(&s, codecs[c], t, &m) * s.s2[N];
                    scan_close(&s);
                }
                for (size_t t = 1; t <= N; t++)
                    best = fmaxl(best, energy[t] / (WORKERS * (long double)asked_cost(&a, N, t)));
                const size_t at = tithe_tuner_best(sum, all, count);
                expect(sum[at] / all[at] >= 0.97 * (double)best, "%s over %s, input %d: %g of %Lg", codecs[c],
                       costs[k], kind, sum[at] / all[at], best);
                ask_close(&a);
            }
}

static void what_cannot_be_shared_is_refused(void **state)
{
    (void)state;
    float x[4] = {1, 2, 3, 4};
    double level = 1, curve, cost;
    tithe_error error = {0};
    asked a = ask_open("threshold|raw", "bits", false, 4);
    a.call.x = x;
    a.call.n = 4;
    assert_int_equal(tithe_tuner_grid(&a.call, &level, 1), 0);
    assert_int_equal(tithe_tuner_curve(&a.call, &level, 1, &curve, &cost, &error), TITHE_E_SPEC);
    assert_non_null(strstr(error.text, "shared"));
    ask_close(&a);
    a = ask_open("topk|raw", "bits", false, 4);
    a.call.x = x;
    a.call.n = 4;
    static const double bad[][2] = {{0, 1}, {1.5, 2}, {2, 2}, {3, 5}};
    for (int i = 0; i < 4; i++) {
        double two[2], prices[2];
        assert_int_equal(tithe_tuner_curve(&a.call, bad[i], 2, two, prices, &error), TITHE_E_ARGUMENT);
    }
    x[2] = NAN;
    assert_int_equal(tithe_tuner_curve(&a.call, &level, 1, &curve, &cost, &error), TITHE_E_NONFINITE);
    a.call.scratch_size = 3;
    assert_int_equal(tithe_tuner_curve(&a.call, &level, 1, &curve, &cost, &error), TITHE_E_SPACE);
    ask_close(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_grid_ascends_in_small_steps),
        cmocka_unit_test(curves_are_those_of_a_sort),
        cmocka_unit_test(the_grid_loses_little),
        cmocka_unit_test(what_cannot_be_shared_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
