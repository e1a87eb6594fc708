/* test_train.c - whole runs, against the same steps computed here: gradient descent with momentum and local steps; that
 * results depend on the seed and on nothing else; and when runs end. */
#include "learn/runs.h"

#define SMALL "gen:sparse:rows=150,features=40,density=0.2,noise=0.5"

/* f and its gradient over all rows, in long double. */
static double objective(const tithe_problem *p, const double *x, long double *g)
{
    const tithe_data *d = p->data;
    return (double)true_sum(p, 0, d->rows, 1 / (long double)d->rows, x, g);
}

/* ---- plain steps ------------------------------------------------------------------------------------------- */

/* x_K of gradient descent with momentum before the mean, or with H local steps. */
static void descend(const tithe_problem *p, unsigned workers, double gamma, double momentum,
                    unsigned local_steps, unsigned steps, double *x)
{
    const size_t d = p->size;
    double *v = numbers(d * workers), *mean = numbers(d), *y = numbers(d);
    long double *g = calloc(d, sizeof *g);
    const long double weight = (long double)workers / (long double)p->data->total_rows;
    memset(x, 0, d * sizeof *x);
    for (unsigned k = 0; k < steps; k++) {
        memset(mean, 0, d * sizeof *mean);
        for (unsigned w = 0; w < workers; w++) {
            memcpy(y, x, d * sizeof *y);
            for (unsigned h = 0; h < local_steps; h++) {
                true_sum(p, p->data->begin[w], p->data->begin[w + 1], weight, y, g);
                for (size_t j = 0; j < d; j++) y[j] -= gamma * (double)g[j];
            }
            for (size_t j = 0; j < d; j++) {
                v[w * d + j] = momentum * v[w * d + j] + (x[j] - y[j]) / gamma;
                mean[j] += v[w * d + j] / workers;
            }
        }
        for (size_t j = 0; j < d; j++) x[j] -= gamma * mean[j];
    }
    free(v);
    free(mean);
    free(y);
    free(g);
}

static void steps_are_the_textbook_s(void **state)
{
    (void)state;
    static const struct {
        const char *model, *scheme;
        unsigned workers, local_steps;
        double momentum;
    } rows[] = {{"logistic", NULL, 1, 1, 0},        {"logistic", "gather", 7, 1, 0},
                {"logistic", "star", 7, 1, 0.5},    {"logistic", "dense", 4, 5, 0},
                {"least-squares", NULL, 4, 1, 0.9}, {"nonconvex-logistic", NULL, 3, 2, 0.3}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        trial *t = trial_of(SMALL);
        t->o.model = rows[i].model;
        t->o.scheme = rows[i].scheme;
        t->o.workers = rows[i].workers;
        t->o.local_steps = rows[i].local_steps;
        t->o.momentum = rows[i].momentum;
        t->o.l2 = 0.01;
        t->o.step_size = "0.5";
        t->o.steps = 12;
        trial_run(t);
        const tithe_task task =
            strcmp(rows[i].model, "least-squares") == 0 ? TITHE_TASK_NUMBER : TITHE_TASK_BINARY;
        tithe_data *data = shared_data(SMALL, task, rows[i].workers, TITHE_SPLIT_SHUFFLED);
        const tithe_problem p = problem_of(rows[i].model, data, 0.01);
        double *x = numbers(p.size);
        long double *g = calloc(p.size, sizeof *g);
        descend(&p, rows[i].workers, 0.5, rows[i].momentum, rows[i].local_steps, 12, x);
        for (size_t j = 0; j < p.size; j++)
            expect(fabs(t->x[j] - x[j]) <= 2e-6, "%s, %u workers: %.9g at %zu, not %.9g", rows[i].model,
                   rows[i].workers, t->x[j], j, x[j]);
        const double loss = objective(&p, t->x, g);
        assert_true(fabs(t->result.last.loss - loss) <= 1e-12 * loss && t->result.last.step == 12);
        assert_int_equal(t->count, 13); /* a record for each step, and the start */
        assert_true(fabs(t->result.last.epochs - 12.0 * rows[i].local_steps) < 1e-9);
        free(x);
        free(g);
        tithe_data_free(data);
        free(t);
    }
}

/* Passes over the data: 1 for a whole gradient, 1/m, B/m, and 2/m with 1 for each refresh. */
static void epochs_are_counted_by_the_contract(void **state)
{
    (void)state;
    static const char *const names[] = {"sgd", "minibatch", "lsvrg"};
    for (unsigned e = 0; e < 3; e++) {
        trial *t = trial_of(SMALL);
        t->o.workers = 5;
        t->o.estimator = names[e];
        t->o.batch = 7;
        t->o.epochs = 9;
        trial_run(t);
        const double m = 30, each = e == 0 ? 1 / m : e == 1 ? 7 / m : 2 / m, last = t->result.last.epochs;
        const double refreshes = last - (double)t->result.steps * each;
        assert_true(last >= 9 - 1e-9 && last < 9 + each + (e == 2));
        assert_true(fabs(refreshes - round(refreshes)) < 1e-9);
        assert_true(e == 2 ? refreshes >= 1 && refreshes < 9 : round(refreshes) == 0);
        free(t);
    }
}

/* ---- the seed and nothing else ----------------------------------------------------------------------------- */

static void results_depend_on_the_seed_alone(void **state)
{
    (void)state;
    static const struct {
        const char *estimator, *codec, *feedback, *downlink;
    } rows[] = {{"sgd", "topk:k=5|natural", "ec", NULL},
                {"lsvrg", "threshold:lambda=0.1", "ec", NULL},
                {"minibatch", "natural", NULL, "natural"},
                {"full", "randk:k=20", "ef21", NULL}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char hashes[4][17];
        for (unsigned j = 0; j < 4; j++) {
            trial *t =
                trial_of("gen:sparse:rows=2000,features=500,density=0.1"); /* enough for threads to wake */
            t->o.workers = 70;
            t->o.estimator = rows[i].estimator;
            t->o.codec = rows[i].codec;
            t->o.feedback = rows[i].feedback;
            t->o.downlink = rows[i].downlink;
            t->o.steps = 20;
            t->o.no_optimum = true;
            t->o.threads = j == 3 ? 1 : j + 1;
            t->o.seed = j == 3 ? 2 : 1;
            trial_run(t);
            memcpy(hashes[j], t->result.model_hash, sizeof hashes[j]);
            free(t);
        }
        assert_string_equal(hashes[0], hashes[1]);
        assert_string_equal(hashes[0], hashes[2]);
        expect(strcmp(hashes[0], hashes[3]) != 0, "%s: another seed, the same model", rows[i].codec);
    }
}

/* ---- ends --------------------------------------------------------------------------------------------------- */

static bool stop_at_ten(void *context, const tithe_trace_record *record)
{
    trial_record(context, record);
    return record->step < 10;
}

static bool stop_at_once(void *context, const char *what, double done)
{
    (void)context, (void)what, (void)done;
    return false;
}

static void runs_end_when_they_should(void **state)
{
    (void)state;
    static const char *const estimators[] = {"full", "sgd"};
    for (unsigned e = 0; e < 2; e++) {
        trial *t = trial_of(SMALL);
        t->o.estimator = estimators[e];
        t->o.workers = 3;
        t->o.l2 = 0.01;
        t->o.steps = 500;
        t->o.target_gap = 1e-2;
        trial_run(t);
        assert_int_equal(t->result.target, TITHE_TARGET_REACHED);
        assert_true(t->result.last.gap <= 1e-2 && t->result.steps < 500);
        assert_true(e || t->records[t->count - 2].gap > 1e-2); /* at the first step that has it */
        t->o.target_gap = 0;
        t->o.steps = 5;
        trial_run(t);
        assert_int_equal(t->result.target, TITHE_TARGET_MISSED);
        assert_int_equal(t->result.steps, 5);
        t->o.target_gap = (double)NAN;
        t->o.target_loss = 0.6;
        t->o.steps = 500;
        trial_run(t);
        assert_true(t->result.target == TITHE_TARGET_REACHED && t->result.last.loss <= 0.6);
        t->o.target_loss = (double)NAN;
        t->o.step_size = "1000000000";
        assert_int_equal(trial_try(t), TITHE_E_DIVERGED);
        assert_non_null(strstr(t->error.text, "step"));
        assert_non_null(strstr(t->error.text, "`step-size="));
        t->o.step_size = NULL;
        t->o.target_gap = 1e-3;
        t->o.l2 = 0; /* nobody knows the minimum then */
        assert_int_equal(trial_try(t), TITHE_E_SPEC);
        assert_non_null(strstr(t->error.text, "`target-loss`"));
        free(t);
    }
    trial *t = trial_of(SMALL);
    tithe_train_result result = {0};
    t->o.record = stop_at_ten;
    t->o.context = t;
    t->o.steps = 100;
    assert_int_equal(tithe_train_run(&t->o, &result, NULL), TITHE_OK);
    assert_true(result.stopped && result.steps == 10 && result.last.step == 10);
    t->o.progress = stop_at_once;
    t->count = 0;
    assert_int_equal(tithe_train_run(&t->o, &result, NULL), TITHE_OK);
    assert_true(result.stopped && result.steps == 0 && t->count == 1);
    assert_true(fabs(result.last.loss - log(2)) < 1e-12); /* of the start */
    free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_are_the_textbook_s),
        cmocka_unit_test(epochs_are_counted_by_the_contract),
        cmocka_unit_test(results_depend_on_the_seed_alone),
        cmocka_unit_test(runs_end_when_they_should),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
