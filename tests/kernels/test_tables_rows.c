/* test_tables_rows.c - the kernels of learning: every table against the plain loop over sixteen lanes, bit for bit; and
 * exponential and logarithm against those of the C library. */
#include "kernels/smooth.h"
#include "kernels/tables.h"

enum { WIDEST = 1100 };

static fenced row_field[ROWS_AT_ONCE], x_field, g_field;

static int setup(void **state)
{
    tables_setup(state);
    for (int r = 0; r < ROWS_AT_ONCE; r++) row_field[r] = fenced_make(WIDEST * 4);
    x_field = fenced_make(WIDEST * 8);
    g_field = fenced_make(WIDEST * 8);
    return 0;
}

static double plain_dot(const float *row, const double *x, size_t n)
{
    double lane[16] = {0};
    for (size_t i = 0; i < n; i++) lane[i % 16] += (double)row[i] * x[i];
    for (int width = 8; width; width /= 2)
        for (int j = 0; j < width; j++) lane[j] += lane[j + width];
    return lane[0];
}

/* Numbers so different in size that every addition rounds, against both ends of what may be read. */
static void rows_are_multiplied_and_added_in_order(void **state)
{
    (void)state;
    here.function = "rows_dot and rows_add";
    dice d = {7};
    for (size_t n = 0; n <= WIDEST; n += n < 70 ? 1 : 171)
        for (unsigned count = 1; count <= ROWS_AT_ONCE; count++) {
            const unsigned place = n % 2 ? AT_END : AT_FRONT;
            const float *rows[ROWS_AT_ONCE], *ahead[ROWS_AT_ONCE];
            double scales[ROWS_AT_ONCE], wanted[ROWS_AT_ONCE], dots[ROWS_AT_ONCE];
            double *x = (void *)fenced_place(&x_field, n * 8, 8, place);
            for (size_t i = 0; i < n; i++) x[i] = ldexp(roll_gauss(&d), (int)roll_below(&d, 60) - 30);
            for (unsigned r = 0; r < count; r++) {
                float *row = (void *)fenced_place(&row_field[r], n * 4, 4, place);
                for (size_t i = 0; i < n; i++)
                    row[i] = (float)ldexp(roll_gauss(&d), (int)roll_below(&d, 60) - 30);
                rows[r] = row;
                scales[r] = roll_gauss(&d);
                wanted[r] = plain_dot(row, x, n);
            }
            for (unsigned r = 0; r < ROWS_AT_ONCE; r++) ahead[r] = rows[r % count];
            here.n = n;
            for (const kernels *const *t = ti_kernel_tables(); *t; t++) {
                if (!(*t)->runs_here()) continue;
                here.table = (*t)->name;
                (*t)->rows_dot(rows, count, ahead, x, n, dots);
                for (unsigned r = 0; r < count; r++) expect_double("a product", dots[r], wanted[r]);
                double *g = (void *)fenced_place(&g_field, n * 8, 8, place);
                memcpy(g, x, n * 8);
                (*t)->rows_add(rows, count, ahead, scales, n, g);
                for (size_t i = 0; i < n; i++) {
                    double sum = x[i];
                    for (unsigned r = 0; r < count; r++) sum += scales[r] * (double)rows[r][i];
                    expect_double("a sum", g[i], sum);
                }
                expect_here(fenced_is_intact(&g_field, (void *)g, n * 8), "it wrote beside g");
            }
        }
}

/* Every lane has its own order here too; short rows against the end of what may be read. */
static void sparse_rows_are_multiplied_in_order(void **state)
{
    (void)state;
    here.function = "sparse_dot";
    enum { D = 700, MAX = 90 };
    dice d = {17};
    double *x = (void *)fenced_place(&x_field, D * 8, 8, AT_END);
    for (size_t i = 0; i < D; i++) x[i] = ldexp(roll_gauss(&d), (int)roll_below(&d, 60) - 30);
    x[3] = INFINITY; /* in no row: nobody may multiply it by zero */
    for (size_t n = 0; n <= MAX; n++)
        for (int trial = 0; trial < 20; trial++) {
            uint32_t *indices = (void *)fenced_place(&row_field[0], n * 4, 4, trial % 2 ? AT_END : AT_FRONT);
            float *values = (void *)fenced_place(&row_field[1], n * 4, 4, trial % 2 ? AT_END : AT_FRONT);
            double lane[8] = {0};
            for (size_t i = 0; i < n; i++) {
                indices[i] = 4 + (uint32_t)roll_below(&d, D - 4);
                values[i] = (float)ldexp(roll_gauss(&d), (int)roll_below(&d, 60) - 30);
                lane[i % 8] += (double)values[i] * x[indices[i]];
            }
            for (int width = 4; width; width /= 2)
                for (int j = 0; j < width; j++) lane[j] += lane[j + width];
            here.n = n;
            for (const kernels *const *t = ti_kernel_tables(); *t; t++) {
                if (!(*t)->runs_here()) continue;
                here.table = (*t)->name;
                expect_double("a product", (*t)->sparse_dot(indices, values, n, x), lane[0]);
            }
        }
}

static const double margins[] = {0,   -0.0,  1e-300, 1e-17,  -1e-17, 1e-9,     -1e-9,     0.5,  -0.5, 36,
                                 -36, 700.5, -700.5, 1e4,    -1e4,   DBL_MAX,  -DBL_MAX,  NAN,  20,   -20,
                                 1,   -1,    745.2,  -745.2, 709,    INFINITY, -INFINITY, 37.5, 5,    -5};
enum { MARGINS = sizeof margins / sizeof *margins };

/* The true values, from the C library in a wider type. */
static void logistic_is_right_everywhere(void **state)
{
    (void)state;
    here.function = "logistic";
    dice d = {11};
    enum { MAX = MARGINS + 1000 };
    static double products[MAX], labels[MAX], losses[MAX], slopes[MAX];
    for (int i = 0; i < MAX; i++) {
        labels[i] = roll(&d) & 1 ? 1 : -1;
        products[i] = i < MARGINS ? labels[i] * margins[i] : roll_gauss(&d) * exp(3 * roll_gauss(&d));
    }
    for (const kernels *const *t = ti_kernel_tables(); *t; t++) {
        if (!(*t)->runs_here()) continue;
        here.table = (*t)->name;
        (*t)->logistic(products, labels, MAX, losses, slopes);
        for (int i = 0; i < MAX; i++) {
            const long double m = (long double)labels[i] * (long double)products[i];
            const long double loss = m > 0 ? log1pl(expl(-m)) : -m + log1pl(expl(m));
            const long double slope = -(long double)labels[i] / (1 + expl(m));
            if (isnan(products[i])) {
                expect(isnan(losses[i]) && isnan(slopes[i]), "NaN becomes %g, %g", losses[i], slopes[i]);
                continue;
            }
            expect(losses[i] == (double)loss ||
                       fabsl((long double)losses[i] - loss) <= 1e-15L * loss + 1e-307L,
                   "loss at %g is %.17g, not %.17Lg", (double)m, losses[i], loss);
            expect(fabsl((long double)slopes[i] - slope) <= 1e-15L * fabsl(slope) + 1e-307L,
                   "slope at %g is %.17g, not %.17Lg", (double)m, slopes[i], slope);
        }
        for (size_t n = 0; n <= 70; n++) { /* and the same bits in any company */
            double l[70], s[70];
            (*t)->logistic(products + n, labels + n, n, l, s);
            for (size_t i = 0; i < n; i++) {
                expect_double("a loss", l[i], losses[n + i]);
                expect_double("a slope", s[i], slopes[n + i]);
            }
        }
    }
}

static void logistic_has_the_same_bits_in_every_table(void **state)
{
    (void)state;
    here.function = "logistic";
    enum { MAX = 4000 };
    static double products[MAX], labels[MAX], losses[2][MAX], slopes[2][MAX];
    dice d = {12};
    for (int i = 0; i < MAX; i++) {
        labels[i] = roll(&d) & 1 ? 1 : -1;
        products[i] = i < MARGINS ? margins[i] : 10 * roll_gauss(&d);
    }
    ti_kernels_ref.logistic(products, labels, MAX, losses[0], slopes[0]);
    for (size_t t = 0; t < running_count; t++) {
        here.table = running[t]->name;
        running[t]->logistic(products, labels, MAX, losses[1], slopes[1]);
        for (int i = 0; i < MAX; i++) {
            expect_double("a loss", losses[1][i], losses[0][i]);
            expect_double("a slope", slopes[1][i], slopes[0][i]);
        }
    }
}

static void expect_close(const char *what, double at, double got, long double wanted)
{
    expect(fabsl((long double)got - wanted) <= 5e-16L * fabsl(wanted), "%s at %.17g is %.17g, not %.17Lg",
           what, at, got, wanted);
}

static void exponential_and_logarithm_are_right(void **state)
{
    (void)state;
    dice d = {13};
    for (int i = 0; i < 200000; i++) {
        const double a = 700 * roll_unit(&d) * (i % 2 ? 1 : roll_unit(&d) / 100), t = roll_unit(&d),
                     small = t * exp(-40 * roll_unit(&d)), s = 1 + 1000 * t * t;
        expect_close("exp(-a)", a, smooth_exp_minus(a), expl(-(long double)a));
        expect_close("log1p", t, smooth_log1p(t), log1pl((long double)t));
        expect_close("log1p", small, smooth_log1p(small), log1pl((long double)small));
        expect_close("log", s, smooth_log(s), logl((long double)s));
    }
    assert_true(smooth_exp_minus(0) == 1 && smooth_log1p(0) == 0 && smooth_log(1) == 0);
    assert_true(smooth_exp_minus(INFINITY) < 1e-307);
    assert_true(isnan(smooth_exp_minus(-NAN)) && isnan(smooth_exp_minus(NAN)) && isnan(smooth_log1p(NAN)) &&
                isnan(smooth_log(NAN)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_multiplied_and_added_in_order),
        cmocka_unit_test(sparse_rows_are_multiplied_in_order),
        cmocka_unit_test(logistic_is_right_everywhere),
        cmocka_unit_test(logistic_has_the_same_bits_in_every_table),
        cmocka_unit_test(exponential_and_logarithm_are_right),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
