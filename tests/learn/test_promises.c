/* test_promises.c - what theory promises of a run holds in it: the descent lemma, step by step and in expectation, the
 * theorems' bounds on the averaged gap, and the bound on what error compensation keeps. */
#include "learn/runs.h"

#define SMALL "gen:sparse:rows=150,features=40,density=0.2,noise=0.5"

/* f and its gradient over all rows, in long double. */
static double objective(const tithe_problem *p, const double *x, long double *g)
{
    const tithe_data *d = p->data;
    return (double)true_sum(p, 0, d->rows, 1 / (long double)d->rows, x, g);
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

/* The largest step size that the theorem speaks of, as text: for contractive messages it is shorter than the automatic one. */
static const char *promised_step(trial *t, char *text, size_t room)
{
    const uint64_t steps = t->o.steps;
    t->o.steps = 1;
    trial_run(t);
    t->o.steps = steps;
    if (t->facts.bound_step_size >= t->facts.step_size * (1 - 1e-9)) return t->o.step_size;
    assert_true(isnan(t->records[1].bound)); /* of the longer one it says nothing */
    snprintf(text, room, "%.17g", t->facts.bound_step_size);
    return text;
}

/* Mean over seeds of the averaged gap, at each record, against the bound that the run states. */
static void check_bound(const char *estimator, const char *sampling, const char *codec, tithe_split split)
{
    enum { SEEDS = 5 };
    char step[40];
    trial *t = trial_of(SMALL);
    t->o.split = split;
    t->o.workers = 5;
    t->o.estimator = estimator;
    t->o.sampling = sampling;
    t->o.codec = codec;
    t->o.average = "weighted";
    t->o.l2 = 0.01;
    t->o.steps = 4000;
    t->o.step_size = promised_step(t, step, sizeof step);
    static double gaps[MAX_RECORDS];
    memset(gaps, 0, sizeof gaps);
    size_t count = 0;
    for (unsigned seed = 1; seed <= SEEDS; seed++) {
        t->o.seed = seed;
        trial_run(t);
        count = t->count;
        for (size_t i = 0; i < count; i++) gaps[i] += t->records[i].average_gap / SEEDS;
        if (strncmp(codec, "threshold", 9) == 0)
            expect(t->result.residual_max <= 1 + 1e-5 && t->result.residual_max > 0,
                   "%s: |e|^2 is %g of its bound", codec, t->result.residual_max);
        else
            assert_true(isnan(t->result.residual_max));
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
    const tithe_split any = TITHE_SPLIT_SHUFFLED;
    check_bound("sgd", "uniform", "threshold:lambda=0.1", any);
    check_bound("sgd", "importance", "threshold:lambda=0.1", any);
    check_bound("lsvrg", "uniform", "threshold:lambda=0.1", any);
    check_bound("lsvrg", "uniform", "threshold:lambda=1", any);
    check_bound("lsvrg", "importance", "all|raw", any);
}

/* Of messages that contract: the heterogeneity of the workers stays, over delta^2. */
static void the_contractive_bounds_hold(void **state)
{
    (void)state;
    static const char *const estimators[] = {"full", "sgd", "lsvrg"};
    static const char *const codecs[] = {"topk:k=4", "topk:keep=0.3|natural", "randk:k=8,scale=contractive"};
    for (size_t i = 0; i < 3 * 3 * 2; i++)
        check_bound(estimators[i % 3], "uniform", codecs[i / 3 % 3],
                    i / 9 ? TITHE_SPLIT_SORTED : TITHE_SPLIT_SHUFFLED);
}

/* Nothing is promised of messages that are not a rank's own choice, or that have a way back. */
static void no_promise_where_there_is_no_theorem(void **state)
{
    (void)state;
    static const char *const schemes[] = {"artopk", "shards"};
    for (size_t i = 0; i < 2; i++) {
        trial *t = trial_of(SMALL);
        t->o.workers = 3;
        t->o.codec = "topk:k=4";
        t->o.scheme = schemes[i];
        t->o.step_size = "0.0001";
        t->o.l2 = 0.01;
        t->o.steps = 3;
        trial_run(t);
        assert_true(isnan(t->facts.bound_step_size) && isnan(t->records[t->count - 1].bound));
        free(t);
    }
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
            expect(t->result.residual_max <= 1 + 1e-5, "%s, step %s: %g", codecs[c], steps[s],
                   t->result.residual_max);
            assert_true(isfinite(t->result.speedup_mean) && isfinite(t->result.kept_mean));
            free(t);
        }
}

/* With one worker the trace holds every |e|^2. */
static void residuals_are_told_as_they_are(void **state)
{
    (void)state;
    trial *t = trial_of(SMALL);
    t->o.codec = "threshold:lambda=0.01";
    t->o.step_size = "0.5";
    t->o.steps = 50;
    trial_run(t);
    double max = 0;
    for (size_t i = 1; i < t->count; i++)
        max = fmax(max, t->records[i].residual / (0.5 * 0.5 * 0.01 * 0.01 * (double)t->problem.size));
    assert_true(max > 0 && fabs(t->result.residual_max - max) <= 1e-9 * max);
    free(t);
}

/* One coin for all, which falls once in m steps. */
static void anchors_move_once_in_m_steps(void **state)
{
    (void)state;
    enum { STEPS = 6000 };
    trial *t = trial_of(SMALL);
    t->o.workers = 5;
    t->o.estimator = "lsvrg";
    t->o.steps = STEPS;
    t->o.no_optimum = true;
    t->o.records = 1;
    trial_run(t);
    const double m = 30, refreshes = t->result.last.epochs - STEPS * 2 / m - 1; /* one at the start */
    expect(fabs(refreshes - STEPS / m) <= count_slack(STEPS, 1 / m), "%g refreshes in %d steps", refreshes,
           STEPS);
    free(t);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_descent_lemma_holds_at_every_step),
        cmocka_unit_test(the_descent_lemma_holds_in_expectation),
        cmocka_unit_test(the_bounds_hold),
        cmocka_unit_test(the_contractive_bounds_hold),
        cmocka_unit_test(no_promise_where_there_is_no_theorem),
        cmocka_unit_test(residuals_stay_within_the_threshold),
        cmocka_unit_test(residuals_are_told_as_they_are),
        cmocka_unit_test(anchors_move_once_in_m_steps),
        cmocka_unit_test(uncompressed_lsvrg_reaches_the_optimum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
