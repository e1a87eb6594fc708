/* test_like.c - generated data: statistics of the sets that are imitated, drift, and the same bits everywhere. */
#include "data/draw.h"
#include "data/kit.h"

typedef struct statistics {
    double nonzero;       /* share of values that are not zero */
    double positive;      /* share of labels */
    double largest, mean; /* of |row|^2 / 4, the smoothness of one row's logistic loss */
    double whole;         /* 1/4 of the largest eigenvalue of A'A / rows: the smoothness of all rows' */
} statistics;

static size_t begin_of(const tithe_data *d, size_t row)
{
    return d->offsets ? d->offsets[row] : row * d->features;
}

static size_t column(const tithe_data *d, size_t row, size_t k)
{
    return d->indices ? d->indices[k] : k - row * d->features;
}

/* The power method, from the vector of ones: the matrices have hardly a negative entry, or one common direction. */
static double largest_eigenvalue(const tithe_data *d, int rounds)
{
    double *x = malloc(d->features * sizeof *x), *y = malloc(d->features * sizeof *y), norm = 0;
    assert_true(x && y);
    for (size_t j = 0; j < d->features; j++) x[j] = 1 / sqrt((double)d->features);
    for (int r = 0; r < rounds; r++) {
        memset(y, 0, d->features * sizeof *y);
        for (size_t i = 0; i < d->rows; i++) {
            double dot = 0;
            for (size_t k = begin_of(d, i); k < begin_of(d, i + 1); k++)
                dot += (double)d->values[k] * x[column(d, i, k)];
            for (size_t k = begin_of(d, i); k < begin_of(d, i + 1); k++)
                y[column(d, i, k)] += dot * (double)d->values[k];
        }
        norm = 0;
        for (size_t j = 0; j < d->features; j++) norm += y[j] * y[j];
        norm = sqrt(norm);
        for (size_t j = 0; j < d->features; j++) x[j] = y[j] / norm;
    }
    free(x);
    free(y);
    return norm / (double)d->rows;
}

static statistics measure(const tithe_data *d, int rounds)
{
    statistics s = {0};
    for (size_t i = 0; i < d->rows; i++) {
        double squares = 0;
        for (size_t k = begin_of(d, i); k < begin_of(d, i + 1); k++) {
            squares += (double)d->values[k] * (double)d->values[k];
            s.nonzero += d->values[k] != 0;
        }
        s.largest = fmax(s.largest, squares / 4);
        s.mean += squares / 4 / (double)d->rows;
        s.positive += (d->labels[i] > 0) / (double)d->rows;
    }
    s.nonzero /= (double)d->rows * (double)d->features;
    s.whole = largest_eigenvalue(d, rounds) / 4;
    return s;
}

static void expect_near(const char *source, const char *what, double value, double wanted, double tolerance)
{
    if (wanted > 0)
        expect(fabs(value / wanted - 1) <= tolerance, "%s: %s is %g instead of %g", source, what, value,
               wanted);
}

/* Published, or measured on the real set; 0: not known. */
static const struct {
    const char *source;
    size_t rows, features;
    statistics real;
} sets[] = {
    {"a9a-like", 32561, 123, {0.112757, 0.240810, 3.5, 3.467277, 1.571920}},
    {"a9a-like:seed=1", 32561, 123, {0.112757, 0.240810, 3.5, 3.467277, 1.571920}},
    {"w8a-like", 49749, 300, {0.038834, 0.029729, 28.5, 2.912551, 0.661199}},
    {"w8a-like:seed=1", 49749, 300, {0.038834, 0.029729, 28.5, 2.912551, 0.661199}},
    {"gisette-like:scale=0.1", 600, 5000, {0.991, 0.5, 0, 0, 842.868}},
    {"rcv1-like", 20242, 47236, {0.00157, 0.5183, 0.25, 0.25, 0.006155}},
    {"rcv1-like:seed=1", 20242, 47236, {0.00157, 0.5183, 0.25, 0.25, 0.006155}},
};

static void look_alikes_have_the_constants_of_the_real_sets(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        tithe_data *d = kit_open(sets[i].source);
        assert_int_equal(d->rows, sets[i].rows);
        assert_int_equal(d->features, sets[i].features);
        const statistics s = measure(d, 12), real = sets[i].real;
        expect_near(sets[i].source, "the density", s.nonzero, real.nonzero, 0.01);
        expect_near(sets[i].source, "the share of positive labels", s.positive, real.positive, 0.005);
        expect_near(sets[i].source, "the largest row", s.largest, real.largest, 1e-4);
        expect_near(sets[i].source, "the mean row", s.mean, real.mean, 0.01);
        expect_near(sets[i].source, "L", s.whole, real.whole, 0.05);
        tithe_data_free(d);
    }
}

static void url_has_all_its_features_and_few_of_its_rows(void **state)
{
    (void)state;
    tithe_data *d = kit_open("url-like:scale=0.001");
    assert_int_equal(d->rows, 2396);
    assert_int_equal(d->features, 3231961);
    expect_near("url-like", "values to a row", (double)d->nonzeros / (double)d->rows, 115.6, 0.03);
    tithe_data_free(d);
}

/* ---- rows are sound, and the same everywhere ------------------------------------------------------------------------- */

/* Pinned: a change here is a change of every result that was computed from these sets. */
static const struct {
    const char *source;
    uint64_t hash;
} pinned[] = {
    {"gen:sparse", UINT64_C(0x6d278b7d98fdf6f7)},
    {"gen:dense:rows=500", UINT64_C(0x2d45c058e5ce9b29)},
    {"gen:sparse:rows=500,features=2000,noise=0.5,heterogeneity=1,seed=3,density=0.005",
     UINT64_C(0xf19876c3eb5a6dc5)},
    {"a9a-like:scale=0.05", UINT64_C(0x744aae1217f9d2ca)},
    {"w8a-like:scale=0.05", UINT64_C(0x3751c3523a0f5eae)},
    {"gisette-like:scale=0.01", UINT64_C(0x4bdd13893042f28b)},
    {"rcv1-like:scale=0.05", UINT64_C(0x6da6cd84abd1ce68)},
    {"url-like:scale=0.001", UINT64_C(0xd3e7e1f24fadff0e)},
};

static void generated_data_is_the_same_everywhere(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof pinned / sizeof *pinned; i++) {
        tithe_data *d = kit_open(pinned[i].source);
        assert_string_equal(d->name, pinned[i].source);
        expect(d->hash == pinned[i].hash, "%s: the hash is 0x%016llx", pinned[i].source,
               (unsigned long long)d->hash);
        for (size_t r = 0; d->offsets && r < d->rows; r++)
            for (size_t k = d->offsets[r]; k < d->offsets[r + 1]; k++)
                expect(d->indices[k] < d->features &&
                           (k == d->offsets[r] || d->indices[k - 1] < d->indices[k]) &&
                           isfinite(d->values[k]),
                       "%s: row %zu is not sound", pinned[i].source, r);
        tithe_data_free(d);
    }
}

static void a_seed_is_another_set(void **state)
{
    (void)state;
    tithe_data *a = kit_open("w8a-like:scale=0.01"), *b = kit_open("w8a-like:scale=0.01,seed=1"),
               *c = kit_open("w8a-like:seed=0,scale=0.01");
    assert_true(a->hash == c->hash);
    assert_true(a->hash != b->hash);
    tithe_data_free(a);
    tithe_data_free(b);
    tithe_data_free(c);
}

static void the_logarithm_is_one(void **state)
{
    (void)state;
    dice d = {2};
    for (int i = 0; i < 10000; i++) {
        const double x = ldexp(roll_unit(&d), (int)roll_below(&d, 60) - 20);
        expect(fabs(plain_log(x) - log(x)) < 1e-11 * fmax(1, fabs(log(x))), "ln %.17g is %.17g", x,
               plain_log(x));
    }
}

/* ---- gen: what the parameters mean ----------------------------------------------------------------------------------- */

/* E[label * row] over rows [begin, end): where the gradient points at zero, up to a factor. */
static void mean_direction(const tithe_data *d, size_t begin, size_t end, double *g)
{
    memset(g, 0, d->features * sizeof *g);
    for (size_t i = begin; i < end; i++)
        for (size_t k = begin_of(d, i); k < begin_of(d, i + 1); k++)
            g[column(d, i, k)] += d->labels[i] * (double)d->values[k];
}

static double cosine_of_halves(const char *source)
{
    enum { MAX = 200 };
    tithe_data *d = kit_open(source);
    double a[MAX], b[MAX], ab = 0, aa = 0, bb = 0;
    assert_true(d->features <= MAX);
    mean_direction(d, 0, d->rows / 2, a);
    mean_direction(d, d->rows / 2, d->rows, b);
    for (size_t j = 0; j < d->features; j++) {
        ab += a[j] * b[j];
        aa += a[j] * a[j];
        bb += b[j] * b[j];
    }
    tithe_data_free(d);
    return ab / sqrt(aa * bb);
}

static void heterogeneity_is_drift_along_the_file(void **state)
{
    (void)state;
    static const char *const kinds[] = {"gen:sparse:features=100,rows=20000,density=0.1",
                                        "gen:dense:rows=20000"};
    for (size_t i = 0; i < 2; i++) {
        char source[128];
        double last = 2;
        static const double levels[] = {0, 1, 3, 10};
        for (size_t l = 0; l < 4; l++) {
            snprintf(source, sizeof source, "%s,heterogeneity=%g", kinds[i], levels[l]);
            const double cosine = cosine_of_halves(source);
            expect(cosine < last, "%s: the halves agree by %g, and with less drift by %g", source, cosine,
                   last);
            if (l == 0) expect(cosine > 0.95, "%s: the halves agree only by %g", source, cosine);
            if (l == 3) expect(cosine < -0.5, "%s: the halves still agree by %g", source, cosine);
            last = cosine;
        }
    }
}

static void noise_and_density_are_what_they_say(void **state)
{
    (void)state;
    tithe_data *clean =
        kit_open_with("gen:sparse:rows=20000,noise=0", (tithe_data_options){.task = TITHE_TASK_NUMBER});
    tithe_data *noisy =
        kit_open_with("gen:sparse:rows=20000,noise=2", (tithe_data_options){.task = TITHE_TASK_NUMBER});
    double signal = 0, noise = 0;
    for (size_t i = 0; i < clean->rows; i++) {
        signal += clean->labels[i] * clean->labels[i] / (double)clean->rows;
        const double difference = noisy->labels[i] - clean->labels[i];
        noise += difference * difference / (double)clean->rows;
    }
    expect(fabs(signal - 1) < 0.15, "the variance of the margin is %g", signal);
    expect(fabs(noise - 4) < 0.2, "the variance of the noise is %g", noise);
    assert_int_equal(clean->nonzeros, 200000);
    tithe_data_free(clean);
    tithe_data_free(noisy);

    tithe_data *d = kit_open("gen:sparse:rows=20000,features=50,density=0.05");
    expect(fabs((double)d->nonzeros / 20000 - 2.5) < 0.05, "%llu values", (unsigned long long)d->nonzeros);
    size_t count[50] = {0};
    for (size_t k = 0; k < d->nonzeros; k++) count[d->indices[k]]++;
    for (int j = 0; j < 50; j++) /* strata of 16 and 17 features: some are a little likelier than others */
        expect(fabs((double)count[j] - 1000) < 60 + count_slack(20000, 0.05), "feature %d occurs %zu times",
               j, count[j]);
    tithe_data_free(d);

    d = kit_open("gen:sparse:rows=50,features=4,density=1"); /* full rows: dense */
    assert_null(d->offsets);
    tithe_data_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(look_alikes_have_the_constants_of_the_real_sets),
        cmocka_unit_test(url_has_all_its_features_and_few_of_its_rows),
        cmocka_unit_test(generated_data_is_the_same_everywhere),
        cmocka_unit_test(a_seed_is_another_set),
        cmocka_unit_test(the_logarithm_is_one),
        cmocka_unit_test(heterogeneity_is_drift_along_the_file),
        cmocka_unit_test(noise_and_density_are_what_they_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
