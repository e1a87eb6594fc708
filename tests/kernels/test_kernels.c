/* test_kernels.c - sums, norms and searches of every table that runs here against their definition: to the bit where
 * the lane order is documented, and to rounding against sums in long double. test_tables.c compares the tables. */
#include "kernels/kernels.h"

#include "support.h"

enum { LANES = 16, LONGEST = 70 };

/* "element i goes to lane i mod 16; the lanes are folded in halves at the end" */
static double lanes_sum(const double *terms, size_t n)
{
    double lane[LANES] = {0};
    for (size_t i = 0; i < n; i++) lane[i % LANES] += terms[i];
    for (size_t half = LANES / 2; half; half /= 2)
        for (size_t j = 0; j < half; j++) lane[j] = lane[j] + lane[j + half];
    return lane[0];
}

static long double exact_sum(const double *terms, size_t n)
{
    long double sum = 0;
    for (size_t i = 0; i < n; i++) sum += (long double)terms[i];
    return sum;
}

static void expect_close(double value, long double wanted, double relative, const char *what, size_t n)
{
    expect(fabsl((long double)value - wanted) <= (long double)relative * fabsl(wanted),
           "%s of n=%zu: %.17g instead of %.17Lg", what, n, value, wanted);
}

/* A float vector of any length and alignment, with numbers of very different size in it. */
static void fill(float *x, size_t n, dice *d, int spread)
{
    for (size_t i = 0; i < n; i++)
        x[i] = (float)(roll_gauss(d) * pow(2, (double)roll_below(d, (size_t)spread) - spread / 2));
}

/* Every table that was compiled in and runs here, one after the other. */
static const kernels *const *next_table(const kernels *const *table)
{
    table = table ? table + 1 : ti_kernel_tables();
    while (*table && !(*table)->runs_here()) table++;
    return *table ? table : NULL;
}

static void sums_of_floats_in(const kernels *k)
{
    dice d = {10};
    for (size_t n = 0; n <= LONGEST; n++)
        for (size_t shift = 0; shift < 4; shift++) {
            float buffer[LONGEST + 4], *x = buffer + shift;
            double magnitudes[LONGEST + 1], squares[LONGEST + 1];
            fill(x, n, &d, 1 + 60 * (int)(n % 2));
            for (size_t i = 0; i < n; i++) {
                magnitudes[i] = fabs((double)x[i]);
                squares[i] = (double)x[i] * (double)x[i];
            }
            assert_true(k->sum_abs(x, n) == lanes_sum(magnitudes, n));
            assert_true(k->sum_squares(x, n) == lanes_sum(squares, n));
            assert_true(ti_norm1(TITHE_F32, x, n) == k->sum_abs(x, n));
            assert_true(ti_norm2(TITHE_F32, x, n) == sqrt(k->sum_squares(x, n)));
            expect_close(k->sum_abs(x, n), exact_sum(magnitudes, n), 1e-14, "l1 norm", n);
            expect_close(k->sum_squares(x, n), exact_sum(squares, n), 1e-14, "squares", n);
        }
}

static void sums_of_floats(void **state)
{
    (void)state;
    for (const kernels *const *t = NULL; (t = next_table(t));) sums_of_floats_in(*t);
}

static void sums_of_doubles(void **state)
{
    (void)state;
    dice d = {11};
    for (size_t n = 0; n <= LONGEST; n++) {
        double x[LONGEST + 1] = {0}, magnitudes[LONGEST + 1] = {0};
        long double squares = 0;
        for (size_t i = 0; i < n; i++) {
            x[i] = roll_gauss(&d);
            magnitudes[i] = fabs(x[i]);
            squares += (long double)x[i] * (long double)x[i];
        }
        assert_true(ti_norm1(TITHE_F64, x, n) == lanes_sum(magnitudes, n));
        expect_close(ti_norm1(TITHE_F64, x, n), exact_sum(magnitudes, n), 1e-14, "l1 norm", n);
        expect_close(ti_norm2(TITHE_F64, x, n), sqrtl(squares), 1e-14, "l2 norm", n);
    }
}

static void norms_neither_overflow_nor_vanish(void **state)
{
    (void)state;
    float big[40], small[40];
    double huge[40], tiny[40];
    for (int i = 0; i < 40; i++) {
        big[i] = i % 2 ? FLT_MAX : -FLT_MAX;
        small[i] = 0x1p-149f;
        huge[i] = 1e300;
        tiny[i] = 1e-300;
    }
    expect_close(ti_norm2(TITHE_F32, big, 40), sqrtl(40) * (long double)FLT_MAX, 1e-14, "l2 norm", 40);
    expect_close(ti_norm2(TITHE_F32, small, 40), sqrtl(40) * 0x1p-149L, 1e-14, "l2 norm", 40);
    expect_close(ti_norm2(TITHE_F64, huge, 40), sqrtl(40) * 1e300L, 1e-14, "l2 norm", 40);
    expect_close(ti_norm2(TITHE_F64, tiny, 40), sqrtl(40) * 1e-300L, 1e-14, "l2 norm", 40);
    const double zeros[3] = {0, -0.0, 0};
    assert_true(ti_norm2(TITHE_F64, zeros, 3) == 0);
}

static void the_largest_magnitude_in(const kernels *k)
{
    dice d = {12};
    for (size_t n = 0; n <= LONGEST; n++) {
        float x[LONGEST + 1] = {0};
        double y[LONGEST + 1] = {0};
        fill(x, n, &d, 200); /* denormals among them */
        for (size_t at = 0; at < n; at++) {
            float max = 0;
            for (size_t i = 0; i < n; i++) {
                y[i] = (double)x[i];
                if (fabsf(x[i]) > max) max = fabsf(x[i]);
            }
            assert_true(k->max_abs(x, n) == max);
            assert_true(ti_norm_max(TITHE_F32, x, n) == (double)max);
            assert_true(ti_norm_max(TITHE_F64, y, n) == (double)max);
            x[at] = nextafterf(at % 2 ? -max : max,
                               at % 2 ? -INFINITY
                                      : INFINITY); /* the next maximum, at every place and of either sign */
        }
        if (n == 0) assert_true(k->max_abs(x, 0) == 0 && ti_norm_max(TITHE_F64, y, 0) == 0);
    }
}

static void the_largest_magnitude(void **state)
{
    (void)state;
    for (const kernels *const *t = NULL; (t = next_table(t));) the_largest_magnitude_in(*t);
}

static void the_first_number_that_is_none_in(const kernels *k)
{
    static const size_t lengths[] = {0, 1, 2, 15, 16, 17, 63, 64, 65, 70, 1023, 1024, 1025, 2100};
    const double bad[] = {(double)NAN, (double)-NAN, (double)INFINITY, (double)-INFINITY};
    static float x[2200];
    static double y[2200];
    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
        const size_t n = lengths[l];
        for (size_t i = 0; i < n; i++) {
            x[i] = i % 2 ? FLT_MAX : -FLT_MAX; /* as large as finite numbers get */
            y[i] = i % 2 ? DBL_MAX : -DBL_MAX;
        }
        assert_int_equal(k->find_nonfinite(x, n), n);
        assert_int_equal(ti_find_nonfinite(TITHE_F64, y, n), n);
        for (size_t at = 0; at < n; at++) {
            const float before = x[at], end = x[n - 1];
            const double before_y = y[at];
            x[n - 1] = INFINITY; /* a later one does not count */
            x[at] = (float)bad[at % 4];
            y[at] = bad[at % 4];
            assert_int_equal(k->find_nonfinite(x, n), at);
            assert_int_equal(ti_find_nonfinite(TITHE_F64, y, n), at);
            x[n - 1] = end;
            x[at] = before;
            y[at] = before_y;
        }
    }
}

static void the_first_number_that_is_none(void **state)
{
    (void)state;
    for (const kernels *const *t = NULL; (t = next_table(t));) the_first_number_that_is_none_in(*t);
}

static void scaled_addition_rounds_twice_in(const kernels *k)
{
    dice d = {13};
    for (size_t n = 0; n <= LONGEST; n++) {
        float e[LONGEST + 1], g[LONGEST + 1], wanted[LONGEST + 1];
        fill(e, n, &d, 20);
        fill(g, n, &d, 20);
        const float gamma = (float)roll_unit(&d);
        for (size_t i = 0; i < n; i++) {
            volatile float product = gamma * g[i]; /* a product that is rounded before it is added */
            wanted[i] = e[i] + product;
        }
        e[n] = 7;
        k->add_scaled(e, g, gamma, n);
        assert_true(n == 0 || memcmp(e, wanted, n * sizeof *e) == 0);
        assert_true(e[n] == 7);
    }
}

static void scaled_addition_rounds_twice(void **state)
{
    (void)state;
    for (const kernels *const *t = NULL; (t = next_table(t));) scaled_addition_rounds_twice_in(*t);
}

static void a_table_is_chosen_and_has_a_name(void **state)
{
    (void)state;
    assert_string_equal(ti_kernel_tables()[0]->name, "ref");
    bool found = false;
    for (const kernels *const *t = NULL; (t = next_table(t));)
        found |= strcmp((*t)->name, tithe_kernels_name()) == 0;
    assert_true(found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_of_floats),
        cmocka_unit_test(sums_of_doubles),
        cmocka_unit_test(norms_neither_overflow_nor_vanish),
        cmocka_unit_test(the_largest_magnitude),
        cmocka_unit_test(the_first_number_that_is_none),
        cmocka_unit_test(scaled_addition_rounds_twice),
        cmocka_unit_test(a_table_is_chosen_and_has_a_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
