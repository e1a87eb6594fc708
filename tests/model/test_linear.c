/* test_linear.c - the models that see a row through its product with x: against sums in long double, against
 * finite differences, for chosen rows with weights, and far out where exponentials overflow. */
#include "model/problems.h"

static const char *const specs[] = {"logistic", "least-squares", "nonconvex-logistic"};
enum { SPECS = 3 };

static tithe_task task_of(int spec)
{
    return spec == 1 ? TITHE_TASK_NUMBER : TITHE_TASK_BINARY;
}

/* ---- loss and gradient ----------------------------------------------------------------------------------- */

static void compare(int spec, bool dense, size_t rows, size_t features, unsigned workers)
{
    tithe_data *data =
        data_make((data_wanted){rows, features, workers, task_of(spec), dense, .seed = rows + features});
    const tithe_problem p = problem_of(specs[spec], data, 0.03);
    double *x = random_point(features, 0.7, 3), *g = numbers(features);
    long double *wanted = calloc(features, sizeof *wanted);
    assert_non_null(wanted);
    const long double loss = true_sum(&p, 0, rows, 1 / (long double)rows, x, wanted);
    size_t correct = 0, right = 0;
    const double got = tithe_problem_loss(&p, NULL, x, g, &correct);
    expect(fabsl((long double)got - loss) <= 1e-14L * (1 + loss), "%s: loss %.17g, not %.17Lg", p.spec, got,
           loss);
    for (size_t j = 0; j < features; j++)
        expect(fabsl((long double)g[j] - wanted[j]) <= 1e-14L, "%s: gradient %zu is %.17g, not %.17Lg",
               p.spec, j, g[j], wanted[j]);
    for (size_t i = 0; i < rows; i++)
        right += spec != 1 && (true_product(data, i, x) > 0 ? data->labels[i] > 0 : data->labels[i] < 0);
    assert_int_equal(correct, right);
    assert_true(tithe_problem_loss(&p, NULL, x, NULL, NULL) ==
                got); /* the gradient changes no bit of the loss */
    free(x);
    free(g);
    free(wanted);
    data_drop(data);
}

static void loss_and_gradient_are_the_true_ones(void **state)
{
    (void)state;
    static const size_t shapes[][3] = {{1, 1, 1},    {2, 3, 2},    {5, 17, 2},   {64, 16, 3},  {65, 15, 7},
                                       {130, 33, 4}, {37, 200, 5}, {9, 1500, 3}, {200, 5, 200}};
    for (int spec = 0; spec < SPECS; spec++)
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
            for (int dense = 0; dense < 2; dense++)
                compare(spec, dense, shapes[i][0], shapes[i][1], (unsigned)shapes[i][2]);
}

static void gradient_is_what_differences_say(void **state)
{
    (void)state;
    for (int spec = 0; spec < SPECS; spec++) {
        tithe_data *data = data_make((data_wanted){50, 12, 4, task_of(spec), .seed = 2});
        const tithe_problem p = problem_of(specs[spec], data, 0.2);
        double *x = random_point(12, 1, 4), *g = numbers(12);
        tithe_problem_loss(&p, NULL, x, g, NULL);
        for (size_t j = 0; j < 12; j++) {
            const double h = 1e-5, at = x[j];
            x[j] = at + h;
            const double above = tithe_problem_loss(&p, NULL, x, NULL, NULL);
            x[j] = at - h;
            const double below = tithe_problem_loss(&p, NULL, x, NULL, NULL);
            x[j] = at;
            expect(fabs((above - below) / (2 * h) - g[j]) < 1e-9, "%s: %zu is %.12g, differences say %.12g",
                   p.spec, j, g[j], (above - below) / (2 * h));
        }
        free(x);
        free(g);
        data_drop(data);
    }
}

/* ---- chosen rows ----------------------------------------------------------------------------------------- */

/* A batch is the sum over its rows, wherever they stand and however often, and it adds to what is there. */
static void a_batch_adds_its_rows_with_their_weights(void **state)
{
    (void)state;
    for (int dense = 0; dense < 2; dense++) {
        tithe_data *data = data_make((data_wanted){90, 40, 3, TITHE_TASK_BINARY, dense, .seed = 8});
        const tithe_problem p = problem_of("logistic", data, 0);
        uint32_t rows[77];
        double weights[77], *x = random_point(40, 1, 5), *g = random_point(40, 1, 6),
                            *alone = random_point(40, 1, 6);
        dice d = {9};
        for (int i = 0; i < 77; i++) {
            rows[i] = (uint32_t)roll_below(&d, 90);
            weights[i] = roll_gauss(&d);
        }
        const tithe_batch batch = {.rows = rows, .count = 77, .weights = weights};
        const double loss = p.model->add(&p, &batch, x, g, NULL, NULL);
        double sum = 0;
        for (int i = 0; i < 77; i++) {
            const tithe_batch one = {.first = rows[i], .count = 1, .weight = weights[i]};
            sum += p.model->add(&p, &one, x, alone, NULL, NULL);
        }
        assert_true(sum == loss);
        assert_memory_equal(g, alone, 40 * sizeof *g); /* blocks change no bit */
        const tithe_batch none = {.count = 0, .weight = 1};
        assert_true(p.model->add(&p, &none, x, g, NULL, NULL) == 0);
        assert_memory_equal(g, alone, 40 * sizeof *g);
        free(x);
        free(g);
        free(alone);
        data_drop(data);
    }
}

/* ---- far out --------------------------------------------------------------------------------------------- */

static void large_margins_do_not_overflow(void **state)
{
    (void)state;
    static const double scales[] = {1e2, 1e5, 1e100, 1e300};
    tithe_data *data = data_make((data_wanted){40, 6, 2, TITHE_TASK_BINARY, true, .density = 1, .seed = 1});
    const tithe_problem p = problem_of("logistic", data, 0), q = problem_of("nonconvex-logistic", data, 0.1);
    for (int i = 0; i < 4; i++) {
        double *x = random_point(6, scales[i], 2), g[6], h[6];
        assert_true(isfinite(tithe_problem_loss(&p, NULL, x, g, NULL)));
        assert_true(isfinite(tithe_problem_loss(&q, NULL, x, h, NULL)));
        for (int j = 0; j < 6; j++) assert_true(isfinite(g[j]) && isfinite(h[j]) && fabs(g[j]) < 10);
        free(x);
    }
    /* A training that left the numbers must not look healthy. */
    double x[6] = {NAN}, g[6];
    assert_true(isnan(tithe_problem_loss(&p, NULL, x, g, NULL)));
    assert_true(isnan(tithe_problem_loss(&q, NULL, x, g, NULL)));
    data_drop(data);
}

/* ---- refusals -------------------------------------------------------------------------------------------- */

static void expect_refusal(const char *spec, const tithe_data *data, double l2, tithe_status status,
                           const char *word)
{
    tithe_problem p;
    tithe_error error = {0};
    const tithe_status got = tithe_problem_make(spec, data, l2, NULL, NULL, &p, &error);
    expect(got == status, "%s: %s", spec, tithe_status_text(got));
    expect(strstr(error.text, word) != NULL, "\"%s\" does not say \"%s\"", error.text, word);
}

static void what_makes_no_sense_is_refused_in_a_sentence(void **state)
{
    (void)state;
    tithe_data *data = data_make((data_wanted){10, 4, 2, TITHE_TASK_NUMBER, .seed = 1});
    tithe_data *binary = data_make((data_wanted){10, 4, 2, TITHE_TASK_BINARY, .seed = 1});
    expect_refusal("logistics", data, 0, TITHE_E_SPEC, "nonconvex-logistic");
    expect_refusal("logistic:hidden=3", binary, 0, TITHE_E_SPEC, "hidden");
    expect_refusal("logistic", data, 0, TITHE_E_DATA, "-1 and +1");
    expect_refusal("mlp", binary, 0, TITHE_E_DATA, "classes");
    expect_refusal("logistic", binary, NAN, TITHE_E_ARGUMENT, "l2");
    tithe_data share = *binary;
    share.workers = 4;
    expect_refusal("logistic", &share, -1, TITHE_E_ARGUMENT, "2 of 4");
    share.workers = 0;
    expect_refusal("logistic", &share, 1, TITHE_E_ARGUMENT, "split");
    data_drop(data);
    data_drop(binary);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loss_and_gradient_are_the_true_ones),
        cmocka_unit_test(gradient_is_what_differences_say),
        cmocka_unit_test(a_batch_adds_its_rows_with_their_weights),
        cmocka_unit_test(large_margins_do_not_overflow),
        cmocka_unit_test(what_makes_no_sense_is_refused_in_a_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
