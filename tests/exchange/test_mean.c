/* test_mean.c - the mean of what others have added, and what is not finite in it. */
#include <math.h>

#include "exchange/group.h"

enum { N = 10000 };

static void divides(void **state)
{
    (void)state;
    static float sum[N];
    static const size_t lengths[] = {0, 1, 4095, 4096, 4097, N};
    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
        const size_t n = lengths[l];
        for (size_t i = 0; i < N; i++) sum[i] = (float)(3 * i) - 500;
        assert_int_equal(tithe_mean(sum, n, 3, NULL), TITHE_OK);
        for (size_t i = 0; i < N; i++) {
            const double before = (double)(3 * i) - 500, mean = i < n ? before / 3 : before;
            if (fabs((double)sum[i] - mean) > 1e-6 * fabs(mean))
                fail_msg("%zu of %zu: %g", i, n, (double)sum[i]);
        }
    }
}

/* The first is named, wherever it is, and the rest is divided all the same. */
static void finds_what_is_not_finite(void **state)
{
    (void)state;
    static const size_t places[] = {0, 4095, 4096, 8191, N - 1};
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    static float sum[N];
    for (size_t p = 0; p < sizeof places / sizeof *places; p++)
        for (size_t b = 0; b < 3; b++) {
            for (size_t i = 0; i < N; i++) sum[i] = 4;
            sum[places[p]] = bad[b];
            sum[N - 1] = INFINITY;
            tithe_error error = {0};
            assert_int_equal(tithe_mean(sum, N, 4, &error), TITHE_E_NONFINITE);
            assert_int_equal(error.position, places[p]);
            for (size_t i = 0; i < N - 1; i++) assert_true(i == places[p] || sum[i] == 1);
        }
}

static void refuses_no_ranks(void **state)
{
    (void)state;
    float sum[] = {1};
    assert_int_equal(tithe_mean(sum, 1, 0, NULL), TITHE_E_ARGUMENT);
    assert_true(sum[0] == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(divides),
        cmocka_unit_test(finds_what_is_not_finite),
        cmocka_unit_test(refuses_no_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
