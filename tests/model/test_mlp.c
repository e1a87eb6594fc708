/* test_mlp.c - the network: its loss and gradient against a plain computation and finite differences, its layers,
 * its start, and what it counts as right. */
#include "model/problems.h"

/* The loss of one row with functions of the C library, and what it is taken for. */
static double plain_row(const tithe_problem *p, size_t row, const double *x, bool tanh_units, size_t *answer)
{
    const size_t d = p->data->features, h = (size_t)p->params[0], c = p->data->classes;
    const double *w1 = x, *b1 = w1 + h * d, *w2 = b1 + h, *b2 = w2 + c * h;
    double hidden[64], out[8] = {0}, sum = 0;
    for (size_t i = 0; i < h; i++) {
        double z = b1[i];
        for (size_t j = 0; j < d; j++) z += w1[i * d + j] * value_at(p->data, row, j);
        hidden[i] = tanh_units ? tanh(z) : fmax(z, 0);
    }
    *answer = 0;
    for (size_t k = 0; k < c; k++) {
        out[k] = b2[k];
        for (size_t i = 0; i < h; i++) out[k] += w2[k * h + i] * hidden[i];
        if (out[k] > out[*answer]) *answer = k;
    }
    const double chosen = out[(size_t)p->data->labels[row]], max = out[*answer];
    for (size_t k = 0; k < c; k++) sum += exp(out[k] - max);
    return log(sum) + max - chosen;
}

static double plain_loss(const tithe_problem *p, const double *x, bool tanh_units, size_t *correct)
{
    double sum = 0;
    *correct = 0;
    for (size_t i = 0; i < p->data->rows; i++) {
        size_t answer;
        sum += plain_row(p, i, x, tanh_units, &answer);
        *correct += answer == (size_t)p->data->labels[i];
    }
    sum /= (double)p->data->rows;
    for (size_t i = 0; i < p->size; i++) sum += p->l2 / 2 * x[i] * x[i];
    return sum;
}

static void loss_and_gradient_are_the_true_ones(void **state)
{
    (void)state;
    for (int kind = 0; kind < 4; kind++) {
        const bool tanh_units = kind & 1, dense = kind & 2;
        tithe_data *data = data_make((data_wanted){70, 11, 3, TITHE_TASK_CLASSES, dense, .seed = 4});
        const tithe_problem p =
            problem_of(tanh_units ? "mlp:hidden=6,activation=tanh" : "mlp:hidden=6", data, 0.05);
        double *x = random_point(p.size, 0.6, 7), *g = numbers(p.size);
        size_t correct, wanted;
        const double loss = tithe_problem_loss(&p, NULL, x, g, &correct),
                     plain = plain_loss(&p, x, tanh_units, &wanted);
        expect(fabs(loss - plain) < 1e-13, "%s: %.17g, not %.17g", p.spec, loss, plain);
        assert_int_equal(correct, wanted);
        assert_true(tithe_problem_loss(&p, NULL, x, NULL, NULL) == loss);
        for (size_t i = 0; i < p.size; i++) { /* no unit is so near its bend that the step crosses it */
            const double h = 1e-6, at = x[i];
            x[i] = at + h;
            const double above = plain_loss(&p, x, tanh_units, &wanted);
            x[i] = at - h;
            const double below = plain_loss(&p, x, tanh_units, &wanted);
            x[i] = at;
            expect(fabs((above - below) / (2 * h) - g[i]) < 1e-8,
                   "%s: gradient %zu is %.12g, differences say %.12g", p.spec, i, g[i],
                   (above - below) / (2 * h));
        }
        free(x);
        free(g);
        data_drop(data);
    }
}

static void layers_add_up(void **state)
{
    (void)state;
    tithe_data *data = data_make((data_wanted){10, 7, 2, TITHE_TASK_CLASSES, .seed = 1});
    const tithe_problem p = problem_of("mlp", data, 0);
    size_t lengths[8];
    assert_int_equal(p.model->layers(p.params, data, lengths, 8), 4);
    assert_int_equal(lengths[0], 64 * 7);
    assert_int_equal(lengths[1], 64);
    assert_int_equal(lengths[2], 4 * 64);
    assert_int_equal(lengths[3], 4);
    assert_int_equal(p.size, 64 * 7 + 64 + 4 * 64 + 4);
    assert_string_equal(p.spec, "mlp");
    assert_string_equal(problem_of("mlp:activation=tanh,hidden=3", data, 0).spec,
                        "mlp:hidden=3,activation=tanh");
    data_drop(data);
}

static void the_start_is_the_seeds(void **state)
{
    (void)state;
    tithe_data *data = data_make((data_wanted){10, 30, 2, TITHE_TASK_CLASSES, .seed = 1});
    const tithe_problem p = problem_of("mlp:hidden=20", data, 0);
    double *a = numbers(p.size), *b = numbers(p.size), sum = 0, squares = 0;
    p.model->start(&p, 1, a);
    p.model->start(&p, 1, b);
    assert_memory_equal(a, b, p.size * sizeof *a);
    p.model->start(&p, 2, b);
    assert_memory_not_equal(a, b, p.size * sizeof *a);
    for (size_t i = 0; i < 600; i++) {
        assert_true(fabs(a[i]) <= sqrt(6.0 / 30));
        sum += a[i];
        squares += a[i] * a[i];
    }
    assert_true(fabs(sum / 600) < 0.08 && fabs(squares / 600 - 2.0 / 30) < 0.02); /* six deviations */
    for (size_t i = 600; i < 620; i++) assert_true(a[i] == 0);
    free(a);
    free(b);
    data_drop(data);
}

static void it_learns_and_never_overflows(void **state)
{
    (void)state;
    tithe_data *data = data_make((data_wanted){40, 30, 2, TITHE_TASK_CLASSES, true, .density = 1, .seed = 6});
    const tithe_problem p = problem_of("mlp:hidden=16", data, 0);
    double *x = numbers(p.size), *g = numbers(p.size);
    size_t correct;
    p.model->start(&p, 1, x);
    for (int step = 0; step < 500; step++) {
        tithe_problem_loss(&p, NULL, x, g, NULL);
        for (size_t i = 0; i < p.size; i++) x[i] -= 0.3 * g[i];
    }
    assert_true(tithe_problem_loss(&p, NULL, x, g, &correct) < 0.05);
    assert_int_equal(correct, 40);
    for (size_t i = 0; i < p.size; i++) x[i] *= 1e60;
    assert_true(isfinite(tithe_problem_loss(&p, NULL, x, g, NULL)));
    x[3] = NAN;
    assert_true(isnan(tithe_problem_loss(&p, NULL, x, g, NULL)));
    free(x);
    free(g);
    data_drop(data);
}

/* No theory: nothing that could be mistaken for it. */
static void it_has_no_constants_and_no_certificate(void **state)
{
    (void)state;
    tithe_data *data = data_make((data_wanted){10, 7, 2, TITHE_TASK_CLASSES, .seed = 1});
    const tithe_problem p = problem_of("mlp:hidden=2", data, -1);
    assert_true(p.l2 == 0);
    tithe_constants c = {0};
    assert_int_equal(tithe_problem_constants(&p, NULL, &c, NULL), TITHE_OK);
    double *x = numbers(p.size);
    assert_int_equal(tithe_problem_noise(&p, NULL, x, &c, NULL), TITHE_OK);
    assert_true(isnan(c.L) && isnan(c.L_mean) && isnan(c.L_US) && isnan(c.L_IS) && isnan(c.sigma_star) &&
                isnan(c.sigma_star_IS) && isnan(c.zeta_star));
    tithe_optimum o = {.x = x, .certified = true};
    assert_int_equal(tithe_problem_optimum(&p, NULL, "", &o, NULL), TITHE_OK);
    assert_true(!o.certified && isnan(o.loss));
    free(x);
    data_drop(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loss_and_gradient_are_the_true_ones),
        cmocka_unit_test(layers_add_up),
        cmocka_unit_test(the_start_is_the_seeds),
        cmocka_unit_test(it_learns_and_never_overflows),
        cmocka_unit_test(it_has_no_constants_and_no_certificate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
