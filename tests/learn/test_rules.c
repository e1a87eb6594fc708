/* test_rules.c - small rules of the trainer, each against its formula: step sizes, averages, bounds, prediction. */
#include "learn/average.h"
#include "learn/runs.h"
#include "learn/steps.h"
#include "learn/theory.h"

/* ---- step sizes ------------------------------------------------------------------------------------------- */

static step_plan plan_of(const char *text)
{
    step_plan plan;
    tithe_error error = {0};
    expect(ti_steps_read(text, &plan, &error) == TITHE_OK, "%s: %s", text, error.text);
    return plan;
}

static void step_sizes_are_read(void **state)
{
    (void)state;
    step_plan p = plan_of("0.25");
    assert_true(ti_steps_constant(&p) && ti_steps_at(&p, 0) == 0.25 && ti_steps_at(&p, 1000000) == 0.25);
    p = plan_of("auto");
    assert_true(ti_steps_constant(&p) && isnan(p.start));
    p = plan_of("3/k");
    assert_true(!ti_steps_constant(&p) && ti_steps_at(&p, 0) == 3 && ti_steps_at(&p, 1) == 1.5 &&
                ti_steps_at(&p, 99) == 0.03);
    p = plan_of("auto/k");
    assert_true(isnan(p.start) && ti_steps_at(&(step_plan){.rule = p.rule, .start = 1}, 1) == 0.5);
    p = plan_of("decay:start=2,factor=0.5,every=10");
    assert_true(!ti_steps_constant(&p) && ti_steps_at(&p, 0) == 2 && ti_steps_at(&p, 9) == 2 &&
                ti_steps_at(&p, 10) == 1 && ti_steps_at(&p, 35) == 0.25);
    p = plan_of("decay:every=10");
    assert_true(isnan(p.start) && p.params[1] == 0.1 && p.params[2] == 10);
    p = plan_of("constant:start=0.5");
    assert_true(ti_steps_constant(&p) && ti_steps_at(&p, 7) == 0.5);
    p = plan_of("harmonic:start=3");
    assert_true(!ti_steps_constant(&p) && ti_steps_at(&p, 1) == 1.5);
    p = plan_of("1e-3");
    assert_true(p.start == 1e-3);
    static const char *const bad[] = {"",
                                      "0",
                                      "-1",
                                      "nan",
                                      "inf",
                                      "1x",
                                      "k",
                                      "/k",
                                      "0/k",
                                      "autos",
                                      "1/kk",
                                      "decay",
                                      "decay:",
                                      "decay:start=1",
                                      "decay:every=0",
                                      "decay:every=5,factor=2",
                                      "decay:every=5,start=-1",
                                      "decay:evry=5",
                                      "1,5",
                                      "constant:factor=1"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        tithe_error error = {0};
        expect(ti_steps_read(bad[i], &p, &error) == TITHE_E_SPEC && *error.text, "'%s' was taken", bad[i]);
    }
}

/* The formulas of `auto`, on a set whose constants are computed once more here. */
static void auto_steps_follow_their_formulas(void **state)
{
    (void)state;
    enum { N = 5 };
    static const struct {
        const char *estimator, *sampling, *codec, *feedback;
    } rows[] = {{"full", NULL, "all|raw", NULL},
                {"full", NULL, "topk:k=3", "ec"},
                {"full", NULL, "topk:k=3", "none"},
                {"full", NULL, "topk:k=3", "ef21"},
                {"full", NULL, "natural", NULL},
                {"full", NULL, "randk:k=10", NULL},
                {"sgd", "uniform", "topk:k=3", "ec"},
                {"sgd", "importance", "natural", NULL},
                {"lsvrg", "uniform", "threshold:lambda=1", "ec"},
                {"lsvrg", "importance", "all|raw", NULL},
                {"minibatch", "uniform", "all|raw", NULL}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        trial *t = trial_of("gen:sparse:rows=200,features=50,density=0.2");
        t->o.workers = N;
        t->o.estimator = rows[i].estimator;
        t->o.sampling = rows[i].sampling;
        t->o.codec = rows[i].codec;
        t->o.feedback = rows[i].feedback;
        t->o.batch = 4;
        t->o.steps = 1;
        t->o.no_optimum = true;
        trial_run(t);
        tithe_data *data = shared_data(t->o.data, TITHE_TASK_BINARY, N, TITHE_SPLIT_SHUFFLED);
        double L_US = 0, L_IS = 0;
        for (unsigned w = 0; w < N; w++) {
            double mean = 0;
            for (size_t r = data->begin[w]; r < data->begin[w + 1]; r++) {
                double square = 0;
                for (size_t j = 0; j < data->features; j++) square += pow(value_at(data, r, j), 2);
                L_US = fmax(L_US, square / 4);
                mean += square / 4 / (double)(data->begin[w + 1] - data->begin[w]);
            }
            L_IS = fmax(L_IS, mean);
        }
        const double l2 = t->problem.l2, L = t->facts.constants.L + l2;
        assert_true(fabs(l2 - t->facts.constants.L / 1e4) <= 1e-12 * l2);
        const double script =
            (rows[i].sampling && strcmp(rows[i].sampling, "importance") == 0 ? L_IS : L_US) + l2;
        double wanted = 1 / L;
        if (strcmp(rows[i].codec, "natural") == 0) wanted = 1 / (L * (1 + 0.125 / N));
        if (strcmp(rows[i].codec, "randk:k=10") == 0) wanted = 1 / (L * (1 + (50 / 10.0 - 1) / N));
        if (strcmp(rows[i].estimator, "sgd") == 0) wanted = 1 / (4 * (L + 2 * script / N));
        if (strcmp(rows[i].estimator, "lsvrg") == 0) wanted = 1 / (4 * (L + 14 * script / (3 * N)));
        if (strcmp(rows[i].estimator, "minibatch") == 0)
            wanted = 1 / (4 * (L + 2 * ((L_US + 3 * L_IS) / 4 + l2) / N)); /* the noise of one row in four */
        expect(fabs(t->facts.step_size - wanted) <= 1e-9 * wanted, "%s, %s, %s: %.12g, not %.12g",
               rows[i].estimator, rows[i].codec, rows[i].feedback ? rows[i].feedback : "-",
               t->facts.step_size, wanted);
        tithe_data_free(data);
        free(t);
    }
}

/* ---- parameters in the spec ------------------------------------------------------------------------------- */

static tithe_status check_estimator(const char *estimator, size_t batch, tithe_error *error)
{
    tithe_train_options o = train_defaults();
    o.estimator = estimator;
    o.batch = batch;
    return tithe_train_check(&o, error);
}

static void a_batch_is_stated_once(void **state)
{
    (void)state;
    tithe_error error = {0};
    assert_int_equal(check_estimator("minibatch", 0, NULL), TITHE_OK);
    assert_int_equal(check_estimator("minibatch:batch=8", 0, NULL), TITHE_OK);
    assert_int_equal(check_estimator("minibatch:batch=8", 8, NULL), TITHE_OK);
    assert_int_equal(check_estimator("sgd", 8, NULL), TITHE_OK); /* which has none, and never minded */
    assert_int_equal(check_estimator("minibatch:batch=8", 9, &error), TITHE_E_SPEC);
    expect(strstr(error.text, "stated twice"), "%s", error.text);
    assert_int_equal(check_estimator("sgd:batch=8", 0, &error), TITHE_E_SPEC);
    assert_int_equal(check_estimator("minibatch:batch=0", 0, &error), TITHE_E_SPEC);
    assert_int_equal(check_estimator("minibatches", 0, &error), TITHE_E_SPEC);
    expect(strstr(error.text, "full, sgd, minibatch, lsvrg"), "%s", error.text);
}

static void both_spellings_are_one_run(void **state)
{
    (void)state;
    char hash[2][17];
    for (int spelt = 0; spelt < 2; spelt++) {
        trial *t = trial_of("gen:sparse:rows=200,features=50,density=0.2");
        t->o.workers = 3;
        t->o.estimator = spelt ? "minibatch:batch=5" : "minibatch";
        t->o.batch = spelt ? 0 : 5;
        t->o.steps = 7;
        t->o.no_optimum = true;
        trial_run(t);
        memcpy(hash[spelt], t->result.model_hash, sizeof hash[spelt]);
        assert_string_equal(t->result.facts.estimator, "minibatch");
        free(t);
    }
    assert_string_equal(hash[0], hash[1]);
}

/* ---- averages --------------------------------------------------------------------------------------------- */

static const tithe_average *average_of(const char *name)
{
    const tithe_average *found = NULL;
    assert_int_equal(tithe_average_find(name, &found, NULL, NULL), TITHE_OK);
    return found;
}

static void averages_are_what_they_say(void **state)
{
    (void)state;
    enum { STEPS = 300, SIZE = 3 };
    static double x[STEPS][SIZE];
    dice d = {8};
    for (unsigned k = 0; k < STEPS; k++)
        for (unsigned j = 0; j < SIZE; j++) x[k][j] = roll_gauss(&d);
    static const double etas[] = {0, 0.01, 0.2};
    for (unsigned e = 0; e < 3; e++) {
        average weighted, tail, none;
        assert_int_equal(ti_average_make(average_of("weighted"), SIZE, etas[e], &weighted, NULL), TITHE_OK);
        assert_int_equal(ti_average_make(average_of("tail"), SIZE, etas[e], &tail, NULL), TITHE_OK);
        assert_int_equal(ti_average_make(average_of("none"), SIZE, etas[e], &none, NULL), TITHE_OK);
        double got[SIZE];
        assert_true(!ti_average_get(&weighted, got) && !ti_average_get(&tail, got));
        for (unsigned k = 0; k < STEPS; k++) {
            ti_average_add(&weighted, x[k]);
            ti_average_add(&tail, x[k]);
            ti_average_add(&none, x[k]);
            long double sum[SIZE] = {0}, weights = 0;
            for (unsigned i = 0; i <= k; i++) {
                const long double w = powl(1 - (long double)etas[e], -(long double)(i + 1));
                weights += w;
                for (unsigned j = 0; j < SIZE; j++) sum[j] += w * (long double)x[i][j];
            }
            assert_true(ti_average_get(&weighted, got) && !ti_average_get(&none, NULL));
            for (unsigned j = 0; j < SIZE; j++)
                expect(fabs(got[j] - (double)(sum[j] / weights)) <= 1e-12, "weighted, %u iterates, eta %g",
                       k + 1, etas[e]);
            /* the tail: a plain mean of the last ones, at least half of all and at most three quarters */
            assert_true(ti_average_get(&tail, got));
            bool found = false;
            for (unsigned many = (k + 2) / 2; many <= k + 1 && !found; many++) {
                long double mean = 0;
                for (unsigned i = k + 1 - many; i <= k; i++) mean += (long double)x[i][0] / many;
                found = fabs(got[0] - (double)mean) <= 1e-12 && (k < 4 || many <= 3 * (k + 2) / 4 + 1);
            }
            expect(found, "tail, %u iterates: it is no mean of the last half or a bit more", k + 1);
        }
        ti_average_free(&weighted);
        ti_average_free(&tail);
        ti_average_free(&none);
    }
    const tithe_average *a = NULL;
    tithe_error error = {0};
    assert_int_equal(tithe_average_find("mean", &a, NULL, &error), TITHE_E_SPEC);
    assert_non_null(strstr(error.text, "none, tail, weighted"));
}

/* ---- theory ------------------------------------------------------------------------------------------------ */

static void bounds_follow_the_theorem(void **state)
{
    (void)state;
    const double L = 2, mu = 0.01, script = 30, n = 20, m = 100, Delta = 3, distance = 7, gap = 0.4,
                 sigma = 0.5;
    for (unsigned lsvrg = 0; lsvrg < 2; lsvrg++) {
        const tithe_estimator *e = NULL;
        for (const tithe_estimator *const *t = tithe_estimators(); *t; t++)
            if (strcmp((*t)->name, lsvrg ? "lsvrg" : "sgd") == 0) e = *t;
        const tithe_unified u = e->unified(L, script, sigma, n, m);
        const double A = L + 2 * script / n, B = lsvrg ? 2 / n : 0, C = lsvrg ? script / m : 0,
                     rho = lsvrg ? 1 / m : 1;
        assert_true(u.A == A && u.B == B && fabs(u.C - C) < 1e-15 && u.rho == rho && u.D2 == 0);
        assert_true(u.D1 == (lsvrg ? 0 : 2 * sigma / n));
        const double F = lsvrg ? 4 * B / (3 * rho) : 0, gamma = 1 / (4 * (A + C * F));
        assert_true(fabs(e->step_size(L, script, n, m) - gamma) <= 1e-12 * gamma);
        const theory_problem p = {u, L, mu, script, .workers = n, .distance = distance, .gap = gap};
        const theory_kept kept = {.delta = 1, .Delta = Delta};
        const theory t = ti_theory_make(&p, &kept, gamma);
        assert_true(t.holds && fabs(t.longest - gamma) <= 1e-12 * gamma);
        const double eta = fmin(gamma * mu / 2, rho / 4),
                     T0 = distance + F * gamma * gamma * 2 * script * gap;
        long double W = 0;
        for (unsigned K = 1; K <= 3000; K++) {
            W += powl(1 - (long double)eta, -(long double)K);
            const double wanted =
                2 * T0 / (gamma * (double)W) + 2 * gamma * u.D1 + 6 * L * gamma * gamma * Delta * Delta;
            expect(fabs(ti_theory_bound(&t, K) - wanted) <= 1e-9 * wanted, "after %u steps: %.12g, not %.12g",
                   K, ti_theory_bound(&t, K), wanted);
        }
        const theory long_step = ti_theory_make(&p, &kept, 1.01 * gamma);
        assert_true(!long_step.holds && isnan(ti_theory_bound(&long_step, 5)) &&
                    isnan(ti_theory_bound(&t, 0)));
    }
}

/* Contractive messages: T = |y - x*|^2 + F gamma^2 s + h E, whose three recursions have to close at the longest step, and at no
 * longer one. They are written down here from the assumptions, not from the closed form. */
static void contractive_bounds_close_their_recursions(void **state)
{
    (void)state;
    const double L = 2, mu = 0.01, script = 30, L_worker = 9, zeta = 0.7, n = 20, m = 100, distance = 7,
                 gap = 0.4, sigma = 0.5;
    static const double deltas[] = {0.001, 0.02, 0.3, 0.9, 0.999999};
    for (size_t i = 0; i < 3 * 5; i++) {
        const tithe_estimator *e = tithe_estimators()[i % 3 == 2 ? 3 : i % 3]; /* full, sgd, lsvrg */
        const double delta = deltas[i / 3], own = 1 - delta;
        const tithe_unified u = e->unified(L, script, sigma, n, m);
        const theory_problem p = {u, L, mu, script, L_worker, zeta, n, distance, gap};
        const theory_kept kept = {.delta = delta};
        const double gamma = ti_theory_make(&p, &kept, 1).longest;
        const theory t = ti_theory_make(&p, &kept, gamma),
                     too_long = ti_theory_make(&p, &kept, 1.001 * gamma);
        expect(t.holds && !too_long.holds, "%s, delta %g", e->name, delta);
        /* mean |grad f_i|^2 <= 4 L_worker (f - f*) + 2 zeta, and the noise of one worker is n times that of the mean */
        const double a = own * (1 + 2 / delta) * 4 * L_worker + own * 2 * n * (u.A - L), b = own * n * u.B,
                     d = own * (1 + 2 / delta) * 2 * zeta + own * n * u.D1;
        assert_true(own * (1 + delta / 2) <= 1 - delta / 2);
        const double h = 12 * L * gamma / delta, F = 4 * (u.B + h * b) / (3 * u.rho);
        const double of_E = (3 * L * gamma + h * (1 - delta / 2)) / h,
                     of_s = F > 0 ? (u.B + h * b + F * (1 - u.rho)) / F : 0;
        const double of_gap = -gamma + gamma * gamma * (2 * u.A + 2 * u.C * F + h * a);
        expect(of_E <= 1 - t.eta + 1e-12 && of_s <= 1 - t.eta + 1e-12 &&
                   1 - gamma * mu / 2 <= 1 - t.eta + 1e-12,
               "%s, delta %g: what is kept falls by %g, s by %g, eta %g", e->name, delta, of_E, of_s, t.eta);
        expect(fabs(of_gap + gamma / 2) <= 1e-9 * gamma, "%s, delta %g: the gap counts %g of gamma", e->name,
               delta, of_gap / gamma);
        const double floor = 2 * gamma * (u.D1 + F * u.D2 + h * d);
        expect(fabs(ti_theory_bound(&t, 1e9) - floor) <= 1e-9 * floor + 2 * distance / gamma / 1e9,
               "%s, delta %g: floor %g, not %g", e->name, delta, ti_theory_bound(&t, 1e9), floor);
    }
}

static void slowdown_follows_the_poster(void **state)
{
    (void)state;
    assert_true(fabs(ti_theory_slowdown(0.125, 0.125, 0, 8, 0) - 1.125 * (1 + 0.125 / 8)) < 1e-12);
    assert_true(fabs(ti_theory_slowdown(0.125, 0, 4, 8, 0) - 1.125) < 1e-12);
    assert_true(fabs(ti_theory_slowdown(0.125, 0.125, 4, 8, 0.1) -
                     1.125 * (1.125 * 0.5 + (1 + 0.125 / 8) * 0.1) / (0.5 + 0.1)) < 1e-12);
    assert_true(ti_theory_slowdown(0, 0, 4, 8, 0.1) == 1);
    /* Noise of unknown size counts in the long run; a certain accuracy cannot be predicted with it. */
    assert_true(ti_theory_slowdown(0.125, 0.125, NAN, 8, 0) == 1.125 * 1.125);
    assert_true(isnan(ti_theory_slowdown(0.125, 0.125, NAN, 8, 0.1)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(step_sizes_are_read),
        cmocka_unit_test(auto_steps_follow_their_formulas),
        cmocka_unit_test(a_batch_is_stated_once),
        cmocka_unit_test(both_spellings_are_one_run),
        cmocka_unit_test(averages_are_what_they_say),
        cmocka_unit_test(bounds_follow_the_theorem),
        cmocka_unit_test(contractive_bounds_close_their_recursions),
        cmocka_unit_test(slowdown_follows_the_poster),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
