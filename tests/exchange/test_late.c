/* test_late.c - cat:late=on in an exchange: when ranks remember, when they forget, and where it is refused. */
#include "exchange/exchange.h"
#include "exchange/group.h"

enum { N = 3000, RANKS = 3, STEPS = 8 };

static double on[TITHE_MAX_PARAMS] = {1};

static tithe_status try_make(const wanted *w, bool late, bool shared, size_t bucket, group **made)
{
    tithe_exchange_config config;
    wanted stated = *w;
    stated.codec = "topk:k=1"; /* until there is a tuner */
    group *g = *made = group_start(&stated, &config);
    tithe_codec_free(g->codec);
    config.codec = g->codec =
        codec_with(w->codec, (tithe_codec_options){.contractive = true, .open_level = true});
    config.tuner = tuner_of("cat");
    config.tuner_params = late ? on : NULL;
    config.shared_level = shared;
    config.bucket_bytes = bucket;
    return tithe_exchange_create(&config, w->n, &g->ex, &g->error);
}

static group *make(const wanted *w, bool late)
{
    group *g;
    expect(!try_make(w, late, false, 0, &g), "%s", g->error.text);
    return g;
}

static const wanted usual = {.codec = "topk|raw",
                             .feedback = "ec",
                             .ranks = RANKS,
                             .n = N,
                             .cost = "affine:c0=432",
                             .skip_nonfinite = true};

/* A quadratic: curvature of coordinate i is 1 or much less, so that waiting does little harm; the optimum is each rank's own. */
static void slope(const double *x, unsigned rank, double steep, float *g)
{
    dice d = {rank + 1};
    for (size_t i = 0; i < N; i++) {
        const double curvature = i == 0 ? 1 : 0.02, away = 0.1 * roll_gauss(&d) + exp(-0.01 * (double)i);
        g[i] = (float)(steep * curvature * (x[i] - away));
    }
}

static double take_step(group *g, double *x, double steep, double *levels)
{
    float slopes[N];
    for (unsigned r = 0; r < RANKS; r++) {
        slope(x, r, steep, slopes);
        expect(!tithe_exchange_put(g->ex, r, 0, slopes, 1 / steep, &g->error), "%s", g->error.text);
        if (levels) levels[r] = (double)g->ex->workers[r].info.entries;
    }
    group_finish(g);
    for (size_t i = 0; i < N; i++) x[i] -= (double)g->update[i];
    return last_of(g->ex).level;
}

static void the_first_step_is_cats(void **state)
{
    (void)state;
    group *late = make(&usual, true), *plain = make(&usual, false);
    double x[N] = {0}, y[N] = {0};
    unsigned fewer = 0;
    assert_true(take_step(late, x, 1, NULL) == take_step(plain, y, 1, NULL));
    assert_memory_equal(x, y, sizeof x);
    for (int t = 0; t < STEPS; t++) fewer += take_step(late, x, 1, NULL) < take_step(plain, y, 1, NULL);
    assert_true(fewer >= STEPS / 2); /* this loss can wait */
    group_free(late);
    group_free(plain);
}

/* A loss that is 4 times as steep, with a fourth of the step, is the same problem: the same levels, and the same model. */
static void a_scale_changes_nothing(void **state)
{
    (void)state;
    static const char *const codecs[] = {"topk|raw", "topk|sign", "topk|natural", "threshold|raw",
                                         "threshold|sign"};
    for (size_t c = 0; c < sizeof codecs / sizeof *codecs; c++) {
        wanted w = usual;
        w.codec = codecs[c];
        group *one = make(&w, true), *other = make(&w, true);
        double x[N] = {0}, y[N] = {0};
        for (int t = 0; t < STEPS; t++) {
            double levels[RANKS], others[RANKS];
            take_step(one, x, 1, levels);
            take_step(other, y, 4, others);
            assert_memory_equal(levels, others, sizeof levels);
            assert_memory_equal(x, y, sizeof x);
        }
        group_free(one);
        group_free(other);
    }
}

/* A rank that did not take part, and one after a step that was not taken, begins anew. */
static void a_step_that_is_missed_is_forgotten(void **state)
{
    (void)state;
    group *g = make(&usual, true);
    double x[N] = {0};
    float slopes[N];
    for (int t = 0; t < 3; t++) take_step(g, x, 1, NULL);
    for (unsigned r = 0; r < RANKS; r++) assert_true(g->ex->workers[r].late.before > 0);
    for (unsigned r = 0; r < RANKS; r++) {
        slope(x, r, 1, slopes);
        if (r == 1) slopes[5] = NAN;
        assert_int_equal(tithe_exchange_put(g->ex, r, 0, slopes, 1, &g->error), TITHE_OK);
    }
    assert_int_equal(tithe_exchange_finish(g->ex, g->update, &g->error), TITHE_E_SKIPPED);
    take_step(g, x, 1, NULL);
    for (unsigned r = 0; r < RANKS; r++) assert_true(g->ex->workers[r].late.before == 0);
    take_step(g, x, 1, NULL);
    for (unsigned r = 0; r < RANKS; r++) assert_true(g->ex->workers[r].late.before > 0);
    group_free(g);

    wanted some = usual;
    some.taking_part = RANKS - 1;
    g = make(&some, true);
    memset(x, 0, sizeof x);
    for (unsigned t = 0; t < 5; t++) {
        for (unsigned r = 0; r < RANKS; r++) {
            slope(x, r, 1, slopes);
            const bool out = r == t % RANKS;
            assert_int_equal(out ? tithe_exchange_skip(g->ex, r, 1, &g->error)
                                 : tithe_exchange_put(g->ex, r, 0, slopes, 1, &g->error),
                             TITHE_OK);
            if (out || !t) continue;
            assert_true((r == (t - 1) % RANKS) == (g->ex->workers[r].late.before == 0));
        }
        group_finish(g);
        for (size_t i = 0; i < N; i++) x[i] -= (double)g->update[i];
    }
    group_free(g);
}

/* Numbers and vectors, as a checkpoint has them. */
static void what_is_remembered_can_be_written_down(void **state)
{
    (void)state;
    static const size_t buckets[] = {0, 4000};
    for (size_t b = 0; b < 2; b++) {
        group *one, *other;
        expect(!try_make(&usual, true, false, buckets[b], &one), "%s", one->error.text);
        expect(!try_make(&usual, true, false, buckets[b], &other), "%s", other->error.text);
        double x[N] = {0}, y[N];
        for (int t = 0; t < 4; t++) take_step(one, x, 1, NULL);
        const unsigned parts = ti_exchange_parts(one->ex);
        const size_t count = tithe_exchange_learned(one->ex, NULL);
        assert_int_equal(count, (size_t)parts * RANKS * LATE_NUMBERS);
        double *numbers = calloc(count, sizeof *numbers);
        assert_int_equal(tithe_exchange_learned(one->ex, numbers), count);
        tithe_exchange_relearn(other->ex, numbers);
        tithe_exchange_continue(other->ex, 4, NULL, NULL);
        for (unsigned r = 0; r < RANKS; r++) {
            memcpy(tithe_exchange_residual(other->ex, r), tithe_exchange_residual(one->ex, r),
                   N * sizeof(float));
            for (unsigned p = 0; p < parts; p++) {
                size_t length;
                const float *from = tithe_exchange_moved(one->ex, r, p, &length);
                float *to = tithe_exchange_moved(other->ex, r, p, &length);
                assert_int_equal(length, ti_exchange_part(one->ex, p)->n);
                memcpy(to, from, length * sizeof *to);
            }
        }
        memcpy(y, x, sizeof x);
        for (int t = 0; t < 3; t++) {
            take_step(one, x, 1, NULL);
            take_step(other, y, 1, NULL);
            assert_memory_equal(x, y, sizeof x);
        }
        size_t length;
        assert_null(tithe_exchange_moved(one->ex, RANKS, 0, &length));
        assert_null(tithe_exchange_moved(one->ex, 0, parts, &length));
        assert_int_equal(length, 0);
        free(numbers);
        group_free(one);
        group_free(other);
    }
}

static void expect_refusal(wanted w, const char *what, const char *word)
{
    group *g;
    const tithe_status status = try_make(&w, true, false, 0, &g);
    expect(status == TITHE_E_SPEC && strstr(g->error.text, word), "%s: '%s' does not say '%s'", what,
           g->error.text, word);
    group_free(g);
}

static void where_nothing_waits_it_is_refused(void **state)
{
    (void)state;
    wanted w = usual;
    w.feedback = "none";
    expect_refusal(w, "no feedback", "feedback=ec");
    w = usual;
    w.feedback = "ef21";
    expect_refusal(w, "ef21", "feedback=ec");
    w = usual;
    w.scheme = "artopk";
    expect_refusal(w, "a leader", "scheme=gather");
    w.scheme = "shards";
    expect_refusal(w, "shards", "scheme=gather");
    w = usual;
    w.codec = "all|dither";
    expect_refusal(w, "levels", "late=on");
    w.codec = "stochastic|raw";
    expect_refusal(w, "probabilities", "late=on");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_step_is_cats),
        cmocka_unit_test(a_scale_changes_nothing),
        cmocka_unit_test(a_step_that_is_missed_is_forgotten),
        cmocka_unit_test(what_is_remembered_can_be_written_down),
        cmocka_unit_test(where_nothing_waits_it_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
