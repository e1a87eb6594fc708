/* test_bits.c - the same bits for any number of threads and every table of kernels, for every model; and many
 * workers. */
#include "model/problems.h"

static const struct {
    const char *spec;
    tithe_task task;
} models[] = {
    {"logistic", TITHE_TASK_BINARY},
    {"least-squares", TITHE_TASK_NUMBER},
    {"nonconvex-logistic", TITHE_TASK_BINARY},
    {"mlp:hidden=5", TITHE_TASK_CLASSES},
    {"mlp:hidden=3,activation=tanh", TITHE_TASK_CLASSES},
};
enum { MODELS = sizeof models / sizeof *models };

typedef struct answer {
    double loss, *g;
    size_t correct;
} answer;

static answer ask(const tithe_problem *p, tithe_pool *pool, const double *x)
{
    answer a = {.g = numbers(p->size)};
    a.loss = tithe_problem_loss(p, pool, x, a.g, &a.correct);
    return a;
}

static void expect_same(const tithe_problem *p, const answer *a, const answer *b, const char *what)
{
    expect(memcmp(&a->loss, &b->loss, 8) == 0, "%s: %s changes the loss", p->spec, what);
    expect(a->correct == b->correct, "%s: %s changes the count", p->spec, what);
    for (size_t i = 0; i < p->size; i++)
        expect(memcmp(&a->g[i], &b->g[i], 8) == 0, "%s: %s changes gradient %zu: %a, %a", p->spec, what, i,
               a->g[i], b->g[i]);
}

static void threads_and_tables_change_no_bit(void **state)
{
    (void)state;
    for (int m = 0; m < MODELS; m++)
        for (int dense = 0; dense < 2; dense++) {
            tithe_data *data = data_make((data_wanted){203, 90, 11, models[m].task, dense, .seed = 5});
            const tithe_problem p = problem_of(models[m].spec, data, 0.01);
            double *x = random_point(p.size, 0.5, 1);
            const kernels *best = ti_kernels_force(&ti_kernels_ref);
            const answer wanted = ask(&p, NULL, x);
            for (const kernels *const *t = ti_kernel_tables(); *t; t++) {
                if (!(*t)->runs_here()) continue;
                ti_kernels_force(*t);
                for (unsigned threads = 1; threads <= 3; threads++) {
                    tithe_pool *pool = pool_of(threads);
                    answer got = ask(&p, pool, x);
                    expect_same(&p, &wanted, &got, (*t)->name);
                    free(got.g);
                    tithe_pool_free(pool);
                }
            }
            ti_kernels_force(best);
            free(wanted.g);
            free(x);
            data_drop(data);
        }
}

/* Constants, minimum and default l2 too; x is so long that g itself is added up in stretches. */
static void constants_and_minimum_change_no_bit(void **state)
{
    (void)state;
    tithe_data *data =
        data_make((data_wanted){120, 20000, 40, TITHE_TASK_BINARY, .density = 0.002, .seed = 6});
    tithe_constants wanted = {0};
    double *x = numbers(data->features), *y = numbers(data->features);
    double l2 = 0;
    for (unsigned threads = 1; threads <= 3; threads++) {
        tithe_pool *pool = pool_of(threads);
        tithe_problem p;
        tithe_constants c;
        assert_int_equal(tithe_problem_make("logistic", data, -1, NULL, pool, &p, NULL), TITHE_OK);
        assert_int_equal(tithe_problem_constants(&p, pool, &c, NULL), TITHE_OK);
        assert_true(p.l2 == c.L / 1e4);
        tithe_optimum o = {.x = y};
        assert_int_equal(tithe_problem_optimum(&p, pool, "", &o, NULL), TITHE_OK);
        assert_true(o.certified);
        assert_int_equal(tithe_problem_noise(&p, pool, y, &c, NULL), TITHE_OK);
        if (threads == 1) {
            wanted = c;
            l2 = p.l2;
            memcpy(x, y, data->features * sizeof *x);
        }
        assert_true(l2 == p.l2);
        assert_memory_equal(&c, &wanted, sizeof c);
        assert_memory_equal(x, y, data->features * sizeof *x);
        tithe_pool_free(pool);
    }
    free(x);
    free(y);
    data_drop(data);
}

/* Worker by worker in rank order: what processes that hold one worker each would send around. */
static void a_thousand_workers_add_up_in_rank_order(void **state)
{
    (void)state;
    enum { WORKERS = 1024, FEATURES = 47000 };
    tithe_data *data = data_make(
        (data_wanted){WORKERS + 30, FEATURES, WORKERS, TITHE_TASK_BINARY, .density = 0.0002, .seed = 3});
    const tithe_problem p = problem_of("logistic", data, 0.01);
    double *x = random_point(FEATURES, 1, 2), *g = numbers(FEATURES), *part = numbers(FEATURES), loss = 0;
    for (unsigned w = 0; w < WORKERS; w++) {
        const tithe_batch rows = {.first = data->begin[w],
                                  .count = data->begin[w + 1] - data->begin[w],
                                  .weight = 1 / (double)data->total_rows};
        memset(part, 0, FEATURES * sizeof *part);
        loss += p.model->add(&p, &rows, x, part, NULL, NULL);
        for (size_t i = 0; i < FEATURES; i++) g[i] += part[i];
    }
    loss += p.model->penalty(&p, x, g);
    tithe_pool *pool = pool_of(2);
    answer got = ask(&p, pool, x);
    assert_true(got.loss == loss);
    assert_memory_equal(got.g, g, FEATURES * sizeof *g);
    tithe_pool_free(pool);
    free(got.g);
    free(x);
    free(g);
    free(part);
    data_drop(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_and_tables_change_no_bit),
        cmocka_unit_test(constants_and_minimum_change_no_bit),
        cmocka_unit_test(a_thousand_workers_add_up_in_rank_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
