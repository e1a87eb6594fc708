/* test_stats.c - quantiles against tables, moments against their definition, and the rate of false alarms. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h> /* after those above, which it needs */

#include "check/rows.h"
#include "check/stats.h"
#include "check/vectors.h"

static void assert_near(double value, double wanted, double tolerance)
{
    if (!(fabs(value - wanted) <= tolerance)) fail_msg("%.12g instead of %.12g", value, wanted);
}

static void quantiles_are_those_of_the_tables(void **state)
{
    (void)state;
    assert_near(ti_check_normal_quantile(0.025), 1.959963984540, 1e-9);
    assert_near(ti_check_normal_quantile(1e-3), 3.090232306168, 1e-9);
    assert_near(ti_check_normal_quantile(1e-7), 5.199337582193, 1e-9);
    assert_near(ti_check_chi2_quantile(10, 0.01), 23.209, 0.05);
    assert_near(ti_check_chi2_quantile(100, 0.001), 149.449, 0.1);
    assert_true(ti_check_chi2_quantile(1, 1e-7) >= 28.37); /* on the wide side of the true quantile */
    assert_near(ti_check_log2_subsets(10, 3), log2(120), 1e-9);
}

static void moments_are_central_sums(void **state)
{
    (void)state;
    const double values[] = {1, 2, 4, 8, 16};
    check_moments m = {0};
    for (int i = 0; i < 5; i++) ti_check_moments_add(&m, values[i]);
    assert_near(m.mean, 6.2, 1e-12);
    assert_near(m.m2, 148.8, 1e-10);
    assert_near(m.m3, 721.68, 1e-9);
    assert_near(m.m4, 10299.936, 1e-8);
    assert_near(ti_check_variance(&m), 37.2, 1e-10);
}

static void small_cells_are_pooled(void **state)
{
    (void)state;
    const double a[] = {400, 2, 600, 1, 0}, b[] = {380, 0, 620, 0, 3};
    double freedom = 0;
    /* The pools are {400, 2} and {600, 1, 0}: two cells, one degree of freedom. */
    const double statistic = ti_check_two_samples(a, b, 5, 20, &freedom);
    assert_true(freedom == 1);
    assert_true(statistic > 0 && statistic < 4);
    const double c[] = {500, 500}, d[] = {300, 700};
    assert_true(ti_check_two_samples(c, d, 2, 20, &freedom) > 80);
}

/* At a confidence that can be tested: skewed samples miss their interval about as rarely as they should. */
static void skewed_samples_stay_inside(void **state)
{
    (void)state;
    check_random *r = malloc(sizeof *r);
    assert_non_null(r);
    ti_check_random_start(r, 1, 9);
    const double alpha = 1e-3;
    int above = 0, below = 0;
    for (int sample = 0; sample < 20000; sample++) {
        check_moments m = {0};
        for (int i = 0; i < 200; i++) ti_check_moments_add(&m, -log(ti_check_random_uniform(r)));
        const double half = ti_check_half_width(&m, alpha);
        above += m.mean - half > 1;
        below += m.mean + half < 1;
    }
    assert_true(above <= 40 &&
                below <= 40); /* 20 expected of a perfect interval; 40 is 4.5 deviations more */
    free(r);
}

static void rare_events_are_recognised(void **state)
{
    (void)state;
    check_moments rare = {0}, common = {0}, constant = {0};
    for (int i = 0; i < 2000; i++) {
        ti_check_moments_add(&rare, i % 100 == 0);
        ti_check_moments_add(&common, i % 4 == 0);
        ti_check_moments_add(&constant, 0.1);
    }
    assert_false(ti_check_has_events(&rare));
    assert_true(ti_check_has_events(&common));
    assert_false(ti_check_has_events(&constant));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantiles_are_those_of_the_tables), cmocka_unit_test(moments_are_central_sums),
        cmocka_unit_test(small_cells_are_pooled), cmocka_unit_test(skewed_samples_stay_inside),
        cmocka_unit_test(rare_events_are_recognised)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
