/* test_sampling.c - which rows are drawn, what they weigh, and that estimates built on them are unbiased. */
#include <unistd.h>

#include "learn/estimate.h"
#include "learn/runs.h"

#define SET "gen:sparse:rows=203,features=40,density=0.2"
enum { WORKERS = 4 };

/* Weights between 1 and 20 for rows in the order of the file. */
static double file_weight(size_t original)
{
    dice d = {original + 99};
    return exp(3 * roll_unit(&d));
}

static const char *weights_file(size_t rows, const char *extra)
{
    static char path[64];
    snprintf(path, sizeof path, "/tmp/tithe-weights-%ld", (long)getpid());
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (size_t i = 0; i < rows; i++) fprintf(file, "%.17g%c", file_weight(i), i % 3 ? ' ' : '\n');
    fputs(extra, file);
    assert_int_equal(fclose(file), 0);
    return path;
}

static const char *const kinds[] = {"uniform", "importance", "file"};

static tithe_status make(const char *how, const tithe_problem *p, sampling *s, tithe_error *error)
{
    const tithe_sampling *kind = NULL;
    const tithe_status status = tithe_sampling_find(how, &kind, NULL, error);
    return status ? status : ti_sampling_make(kind, how, p, s, error);
}

static sampling sampling_of(const char *kind, const tithe_problem *p)
{
    sampling s;
    tithe_error error = {0};
    const bool file = strcmp(kind, "file") == 0;
    const char *how = file ? weights_file(p->data->total_rows, "") : kind;
    expect(make(how, p, &s, &error) == TITHE_OK, "%s", error.text);
    if (file) remove(how);
    return s;
}

/* The probability of a row within its worker, as it should be. */
static double wanted_probability(const char *kind, const tithe_data *data, unsigned worker, size_t row)
{
    const size_t from = data->begin[worker], to = data->begin[worker + 1];
    if (strcmp(kind, "uniform") == 0) return 1 / (double)(to - from);
    double own = 0, all = 0;
    for (size_t r = from; r < to; r++) {
        double weight = file_weight(data->original[r]);
        if (strcmp(kind, "importance") == 0) {
            weight = 0;
            for (size_t j = 0; j < data->features; j++) weight += pow(value_at(data, r, j), 2);
        }
        all += weight;
        if (r == row) own = weight;
    }
    return own / all;
}

/* The columns of the tables add up to the probabilities, and weight times probability is the same for all rows. */
static void tables_are_exact(void **state)
{
    (void)state;
    tithe_data *data = shared_data(SET, TITHE_TASK_BINARY, WORKERS, TITHE_SPLIT_SHUFFLED);
    const tithe_problem p = problem_of("logistic", data, 0.01);
    for (unsigned k = 1; k < 3; k++) {
        sampling s = sampling_of(kinds[k], &p);
        for (unsigned w = 0; w < WORKERS; w++) {
            const size_t from = data->begin[w], count = data->begin[w + 1] - from;
            double *found = numbers(count);
            for (size_t c = 0; c < count; c++) {
                assert_true(s.accept[from + c] >= 0 && s.accept[from + c] <= 1 && s.alias[from + c] < count);
                found[c] += s.accept[from + c] / (double)count;
                found[s.alias[from + c]] += (1 - s.accept[from + c]) / (double)count;
            }
            for (size_t c = 0; c < count; c++) {
                const double wanted = wanted_probability(kinds[k], data, w, from + c);
                expect(fabs(found[c] - wanted) <= 1e-13, "%s: row %zu of worker %u has %.15g, not %.15g",
                       kinds[k], c, w, found[c], wanted);
                const double share = wanted * s.weights[from + c] * (double)data->total_rows / WORKERS;
                expect(fabs(share - 1) <= 1e-10, "%s: row %zu of worker %u weighs %.15g", kinds[k], c, w,
                       s.weights[from + c]);
            }
            free(found);
        }
        ti_sampling_free(&s);
    }
    tithe_data_free(data);
}

/* Draws hit the rows as often as they should, and depend on step, worker and number of the draw. */
static void draws_follow_the_tables(void **state)
{
    (void)state;
    enum { DRAWS = 100000 };
    tithe_data *data = shared_data(SET, TITHE_TASK_BINARY, WORKERS, TITHE_SPLIT_SHUFFLED);
    const tithe_problem p = problem_of("logistic", data, 0.01);
    for (unsigned k = 0; k < 3; k++) {
        estimate s = {.problem = &p, .seed = 5, .rows = sampling_of(kinds[k], &p)};
        for (unsigned w = 0; w < WORKERS; w++) {
            const size_t from = data->begin[w], count = data->begin[w + 1] - from;
            double *hits = numbers(count);
            for (unsigned t = 0; t < DRAWS; t++) {
                s.step = t / 4;
                double weight;
                const size_t row = ti_sampling_draw(&s, w, t % 4, &weight);
                assert_true(row >= from && row < from + count);
                hits[row - from]++;
            }
            for (size_t c = 0; c < count; c++) {
                const double wanted = wanted_probability(kinds[k], data, w, from + c);
                expect(fabs(hits[c] - DRAWS * wanted) <= count_slack(DRAWS, wanted),
                       "%s: row %zu of worker %u was drawn %g times, not %g", kinds[k], c, w, hits[c],
                       DRAWS * wanted);
            }
            free(hits);
        }
        ti_sampling_free(&s.rows);
    }
    tithe_data_free(data);
}

static void gradient_of_worker(const tithe_problem *p, unsigned w, const double *x, long double *g)
{
    const tithe_data *d = p->data;
    true_sum(p, d->begin[w], d->begin[w + 1], (long double)WORKERS / (long double)d->total_rows, x, g);
}

/* With its own state, anchored at x. */
static void open_estimator(const tithe_estimator *e, estimate *s, const double *x)
{
    static void *no_scratch[1];
    static const double params[] = {3}; /* of minibatch: batch */
    s->lanes = 1;
    s->scratch = no_scratch;
    if (e->open) assert_int_equal(e->open(s, params, NULL), TITHE_OK);
    if (e->start) assert_true(e->start(s, x) == 1);
}

static void close_estimator(const tithe_estimator *e, estimate *s)
{
    if (e->close) e->close(s);
    ti_sampling_free(&s->rows);
}

/* The mean of many estimates is the gradient, coordinate by coordinate, within six standard errors. */
static void check_unbiased(const tithe_estimator *estimator, const char *kind, const tithe_problem *p)
{
    enum { DRAWS = 20000 };
    const size_t d = p->size;
    double *x = random_point(d, 0.5, 3), *anchor = random_point(d, 0.3, 4), *g = numbers(d),
           *sum = numbers(d), *squares = numbers(d);
    long double *wanted = calloc(d, sizeof *wanted);
    estimate s = {.problem = p, .seed = 9, .batch = 1, .rows = sampling_of(kind, p)};
    open_estimator(estimator, &s, anchor);
    for (unsigned w = 0; w < WORKERS; w++) {
        memset(sum, 0, d * sizeof *sum);
        memset(squares, 0, d * sizeof *squares);
        gradient_of_worker(p, w, x, wanted);
        const unsigned draws = estimator->samples ? DRAWS : 1;
        for (unsigned t = 0; t < draws; t++) {
            s.step = t;
            estimator->gradient(&s, w, t % 2, x, g, NULL);
            for (size_t j = 0; j < d; j++) {
                sum[j] += g[j];
                squares[j] += g[j] * g[j];
            }
        }
        for (size_t j = 0; j < d; j++) {
            const double mean = sum[j] / draws, variance = fmax(0, squares[j] / draws - mean * mean);
            expect(fabs(mean - (double)wanted[j]) <= 6 * sqrt(variance / draws) + 1e-12,
                   "%s by %s: worker %u has %.6g at %zu, not %.6g (standard error %.2g)", estimator->name,
                   kind, w, mean, j, (double)wanted[j], sqrt(variance / draws));
        }
    }
    close_estimator(estimator, &s);
    free(x);
    free(anchor);
    free(g);
    free(sum);
    free(squares);
    free(wanted);
}

static void estimates_are_unbiased(void **state)
{
    (void)state;
    tithe_data *data = shared_data(SET, TITHE_TASK_BINARY, WORKERS, TITHE_SPLIT_SORTED);
    const tithe_problem p = problem_of("logistic", data, 0.05);
    for (const tithe_estimator *const *e = tithe_estimators(); *e; e++)
        for (unsigned k = 0; k < 3; k++) check_unbiased(*e, kinds[k], &p);
    tithe_data_free(data);
}

/* At the optimum, with the anchor there too, loopless SVRG has no noise, and plain sampling has what sigma* says. */
static void noise_at_the_optimum(void **state)
{
    (void)state;
    tithe_data *data = shared_data(SET, TITHE_TASK_BINARY, WORKERS, TITHE_SPLIT_SHUFFLED);
    const tithe_problem p = problem_of("logistic", data, 0.01);
    const size_t d = p.size;
    double *x = numbers(d), *g = numbers(d);
    long double *wanted = calloc(d, sizeof *wanted);
    tithe_optimum best = {.x = x};
    assert_int_equal(tithe_problem_optimum(&p, NULL, "", &best, NULL), TITHE_OK);
    tithe_constants constants = {0};
    assert_int_equal(tithe_problem_noise(&p, NULL, x, &constants, NULL), TITHE_OK);
    const double stated[] = {constants.sigma_star, constants.sigma_star_IS};
    for (unsigned k = 0; k < 3; k++) {
        enum { DRAWS = 20000 };
        estimate s = {.problem = &p, .seed = 2, .rows = sampling_of(kinds[k], &p)};
        double sgd = 0, lsvrg = 0;
        open_estimator(&ti_estimator_lsvrg, &s, x);
        for (unsigned w = 0; w < WORKERS; w++) {
            gradient_of_worker(&p, w, x, wanted);
            for (unsigned t = 0; t < DRAWS; t++) {
                s.step = t;
                ti_estimator_sgd.gradient(&s, w, 0, x, g, NULL);
                for (size_t j = 0; j < d; j++) sgd += pow(g[j] - (double)wanted[j], 2) / (DRAWS * WORKERS);
                ti_estimator_lsvrg.gradient(&s, w, 0, x, g, NULL);
                for (size_t j = 0; j < d; j++) lsvrg = fmax(lsvrg, fabs(g[j] - (double)wanted[j]));
            }
        }
        expect(lsvrg <= 1e-13, "%s: loopless SVRG is off by %g", kinds[k], lsvrg);
        if (k < 2)
            expect(fabs(sgd - stated[k]) <= 0.05 * stated[k], "%s: noise %g, stated %g", kinds[k], sgd,
                   stated[k]);
        assert_true(sgd > 1e-3);
        close_estimator(&ti_estimator_lsvrg, &s);
    }
    free(x);
    free(g);
    free(wanted);
    tithe_data_free(data);
}

/* The rows of a batch are drawn independently: B of them have one B-th of the noise. */
static void batches_have_less_noise(void **state)
{
    (void)state;
    enum { DRAWS = 20000, B = 8 };
    tithe_data *data = shared_data(SET, TITHE_TASK_BINARY, WORKERS, TITHE_SPLIT_SHUFFLED);
    const tithe_problem p = problem_of("logistic", data, 0.01);
    const size_t d = p.size;
    double *x = random_point(d, 0.5, 3), *g = numbers(d), noise[2] = {0};
    long double *wanted = calloc(d, sizeof *wanted);
    gradient_of_worker(&p, 1, x, wanted);
    for (unsigned many = 0; many < 2; many++) {
        estimate s = {.problem = &p, .seed = 2, .batch = many ? B : 1};
        for (s.step = 0; s.step < DRAWS; s.step++) {
            ti_estimator_minibatch.gradient(&s, 1, 0, x, g, NULL);
            for (size_t j = 0; j < d; j++) noise[many] += pow(g[j] - (double)wanted[j], 2) / DRAWS;
        }
    }
    expect(fabs(noise[0] / noise[1] - B) <= 0.05 * B, "noise %g of one row, %g of %d", noise[0], noise[1], B);
    free(x);
    free(g);
    free(wanted);
    tithe_data_free(data);
}

static void bad_weights_are_refused(void **state)
{
    (void)state;
    tithe_data *data = shared_data(SET, TITHE_TASK_BINARY, WORKERS, TITHE_SPLIT_SHUFFLED);
    const tithe_problem p = problem_of("logistic", data, 0.01);
    static const struct {
        size_t rows;
        const char *extra, *says;
    } rows[] = {{202, "", "203"},
                {203, "1", "203"},
                {202, "0", "weight 203"},
                {202, "-1", "weight 203"},
                {202, "nan", "weight 203"},
                {202, "inf", "weight 203"},
                {202, "x", "203"},
                {0, "", "203"},
                {203, "x", ""}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        sampling s;
        tithe_error error = {0};
        const char *path = weights_file(rows[i].rows, rows[i].extra);
        assert_int_equal(make(path, &p, &s, &error), TITHE_E_DATA);
        expect(strstr(error.text, path) && strstr(error.text, rows[i].says), "'%s'", error.text);
        remove(path);
    }
    sampling s;
    tithe_error error = {0};
    assert_int_equal(make("importence", &p, &s, &error), TITHE_E_SPEC);
    assert_non_null(strstr(error.text, "importence"));
    assert_non_null(strstr(error.text, "uniform"));
    assert_int_equal(make("file:", &p, &s, &error), TITHE_E_SPEC);
    assert_int_equal(make("no-such.weights", &p, &s, &error), TITHE_E_FILE);
    assert_int_equal(make("file:no-such-weights", &p, &s, &error), TITHE_E_FILE);
    assert_non_null(strstr(error.text, "'no-such-weights'"));
    tithe_data_free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_are_exact),        cmocka_unit_test(draws_follow_the_tables),
        cmocka_unit_test(estimates_are_unbiased),  cmocka_unit_test(noise_at_the_optimum),
        cmocka_unit_test(batches_have_less_noise), cmocka_unit_test(bad_weights_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
