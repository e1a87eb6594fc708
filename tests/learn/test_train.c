/* test_train.c - whole runs, against the same steps computed here: gradient descent with momentum and local steps, the
 * descent lemma, the theorems' bounds, and that results depend on the seed and on nothing else. */
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

/* ---- the descent lemma ------------------------------------------------------------------------------------- */

static int falling(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? 1 : x > y ? -1 : 0;
}

/* alpha(T), beta(T) and omega(T) of CAT, from the sorted magnitudes. */
static double progress(const char *kind, const long double *g, size_t n, size_t T, double *energy)
{
    double *a = numbers(n), all = 0, s1 = 0, s2 = 0;
    for (size_t i = 0; i < n; i++) {
        a[i] = fabs((double)g[i]);
        all += a[i] * a[i];
    }
    qsort(a, n, sizeof *a, falling);
    double found = 0;
    for (size_t i = 0; i < T; i++) {
        s1 += a[i];
        s2 += a[i] * a[i];
    }
    if (strcmp(kind, "alpha") == 0) found = s2 / all;
    if (strcmp(kind, "beta") == 0) found = s1 * s1 / ((double)T * all);
    if (strcmp(kind, "omega") == 0) { /* water-filling: p_i = min(1, c |g_i|) */
        size_t full = 0;
        double rest = 0, square = 0;
        for (size_t i = 0; i < n; i++) rest += a[i];
        while (full < T && (double)(T - full) * a[full] > rest) {
            rest -= a[full];
            square += a[full] * a[full];
            full++;
        }
        found = all / (square + (full < T ? rest * rest / (double)(T - full) : 0));
    }
    *energy = all;
    free(a);
    return found;
}

/* How much f(x_{k+1}) is above what the lemma promises, for k below `steps`; x_k by a run of k steps. */
static double worst_excess(const char *codec, const char *kind, size_t T, uint64_t seed, unsigned steps,
                           double *mean)
{
    trial *t = trial_of(SMALL);
    t->o.codec = codec;
    t->o.feedback = "none";
    t->o.seed = seed;
    t->o.l2 = 0.01;
    t->o.no_optimum = true;
    tithe_data *data = shared_data(SMALL, TITHE_TASK_BINARY, 1, TITHE_SPLIT_SHUFFLED);
    const tithe_problem p = problem_of("logistic", data, 0.01);
    tithe_constants constants;
    assert_int_equal(tithe_problem_constants(&p, NULL, &constants, NULL), TITHE_OK);
    const double L = constants.L + p.l2;
    char step[40];
    snprintf(step, sizeof step, "%.17g", 1 / L);
    t->o.step_size = step;
    long double *g = calloc(p.size, sizeof *g);
    double worst = -INFINITY, promised = 0;
    *mean = 0;
    for (unsigned k = 0; k <= steps; k++) {
        t->o.steps = k ? k : 1; /* 0 means no limit */
        if (k)
            trial_run(t);
        else
            memset(t->x, 0, sizeof t->x);
        const double loss = objective(&p, t->x, g);
        if (k) {
            worst = fmax(worst, loss - promised);
            *mean += (loss - promised) / steps;
        }
        double energy;
        const double share = progress(kind, g, p.size, T, &energy);
        promised = loss - share * energy / (2 * L);
    }
    free(g);
    tithe_data_free(data);
    free(t);
    return worst;
}

static void the_descent_lemma_holds_at_every_step(void **state)
{
    (void)state;
    static const struct {
        const char *codec, *kind;
        size_t T;
    } rows[] = {{"topk:k=1|raw", "alpha", 1}, {"topk:k=4|raw", "alpha", 4}, {"topk:k=40|raw", "alpha", 40},
                {"topk:k=1|sign", "beta", 1}, {"topk:k=4|sign", "beta", 4}, {"topk:k=40|sign", "beta", 40}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double mean;
        const double worst = worst_excess(rows[i].codec, rows[i].kind, rows[i].T, 1, 25, &mean);
        expect(worst <= 1e-9, "%s: %g above the promise", rows[i].codec, worst); /* messages are floats */
    }
}

static void the_descent_lemma_holds_in_expectation(void **state)
{
    (void)state;
    enum { SEEDS = 150, STEPS = 3 };
    double sum = 0, squares = 0;
    for (unsigned seed = 1; seed <= SEEDS; seed++) {
        double mean;
        worst_excess("stochastic:k=4,scale=contractive|raw", "omega", 4, seed, STEPS, &mean);
        sum += mean;
        squares += mean * mean;
    }
    const double mean = sum / SEEDS, error = sqrt(fmax(0, squares / SEEDS - mean * mean) / SEEDS);
    expect(mean <= 5 * error, "%g above the promise, on average, with a standard error of %g", mean, error);
    assert_true(error > 0);
}

/* ---- the theorems ------------------------------------------------------------------------------------------ */

/* Mean over seeds of the averaged gap, at each record, against the bound that the run states. */
static void check_bound(const char *estimator, const char *sampling, const char *codec)
{
    enum { SEEDS = 5 };
    trial *t = trial_of(SMALL);
    t->o.workers = 5;
    t->o.estimator = estimator;
    t->o.sampling = sampling;
    t->o.codec = codec;
    t->o.average = "weighted";
    t->o.l2 = 0.01;
    t->o.steps = 4000;
    static double gaps[MOST_RECORDS];
    memset(gaps, 0, sizeof gaps);
    size_t count = 0;
    for (unsigned seed = 1; seed <= SEEDS; seed++) {
        t->o.seed = seed;
        trial_run(t);
        count = t->count;
        for (size_t i = 0; i < count; i++) gaps[i] += t->records[i].average_gap / SEEDS;
        if (strncmp(codec, "threshold", 9) == 0)
            expect(t->result.residual_most <= 1 + 1e-5 && t->result.residual_most > 0,
                   "%s: |e|^2 is %g of its bound", codec, t->result.residual_most);
        else
            assert_true(isnan(t->result.residual_most));
    }
    assert_true(count >= 20);
    double nearest = 0;
    for (size_t i = 1; i < count; i++) {
        const double bound = t->records[i].bound;
        expect(gaps[i] <= bound, "%s with %s: gap %g after %g steps, bound %g", estimator, codec, gaps[i],
               t->records[i].step, bound);
        nearest = fmax(nearest, gaps[i] / bound);
    }
    print_message("%s, %s, %s: gap at most %.2g of its bound, %.3g at the end (bound %.3g)\n", estimator,
                  sampling, codec, nearest, gaps[count - 1], t->records[count - 1].bound);
    assert_true(gaps[count - 1] < gaps[1] / 3); /* it learns something */
    free(t);
}

static void the_bounds_hold(void **state)
{
    (void)state;
    check_bound("sgd", "uniform", "threshold:lambda=0.1");
    check_bound("sgd", "importance", "threshold:lambda=0.1");
    check_bound("lsvrg", "uniform", "threshold:lambda=0.1");
    check_bound("lsvrg", "uniform", "threshold:lambda=1");
    check_bound("lsvrg", "importance", "all|raw");
}

/* |e|^2 <= gamma^2 lambda^2 d with step sizes that change, and for a step that sends nothing. */
static void residuals_stay_within_the_threshold(void **state)
{
    (void)state;
    static const char *const steps[] = {"0.5", "1/k", "decay:start=1,factor=0.5,every=100"};
    static const char *const codecs[] = {"threshold:lambda=0.01", "threshold:lambda=0.3",
                                         "threshold:lambda=1000"};
    for (unsigned s = 0; s < 3; s++)
        for (unsigned c = 0; c < 3; c++) {
            trial *t = trial_of(SMALL);
            t->o.workers = 3;
            t->o.estimator = "sgd";
            t->o.codec = codecs[c];
            t->o.step_size = steps[s];
            t->o.steps = 300;
            trial_run(t);
            expect(t->result.residual_most <= 1 + 1e-5, "%s, step %s: %g", codecs[c], steps[s],
                   t->result.residual_most);
            assert_true(isfinite(t->result.speedup_mean) && isfinite(t->result.kept_mean));
            free(t);
        }
}

/* A run without compression gets to the optimum, as far as the certificate can tell. */
static void uncompressed_lsvrg_reaches_the_optimum(void **state)
{
    (void)state;
    trial *t = trial_of(SMALL);
    t->o.workers = 5;
    t->o.estimator = "lsvrg";
    t->o.l2 = 0.05;
    t->o.target_gap = 1e-11;
    t->o.steps = 40000;
    trial_run(t);
    assert_int_equal(t->result.target, TITHE_TARGET_REACHED);
    print_message("all|raw, lsvrg: gap %.2g after %llu steps\n", t->result.last.gap,
                  (unsigned long long)t->result.steps);
    free(t);
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
        assert_non_null(strstr(t->error.text, "--step-size"));
        t->o.step_size = NULL;
        t->o.target_gap = 1e-3;
        t->o.l2 = 0; /* nobody knows the minimum then */
        assert_int_equal(trial_try(t), TITHE_E_SPEC);
        assert_non_null(strstr(t->error.text, "--target-loss"));
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
        cmocka_unit_test(the_descent_lemma_holds_at_every_step),
        cmocka_unit_test(the_descent_lemma_holds_in_expectation),
        cmocka_unit_test(the_bounds_hold),
        cmocka_unit_test(residuals_stay_within_the_threshold),
        cmocka_unit_test(uncompressed_lsvrg_reaches_the_optimum),
        cmocka_unit_test(results_depend_on_the_seed_alone),
        cmocka_unit_test(runs_end_when_they_should),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
