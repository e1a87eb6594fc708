/* test_lost.c - a switch that is lost in the middle of a step: all ranks keep what they would have sent, nothing else happens, and the
 * next scheme sends it. */
#include "aggregate/reduction.h"
#include "exchange/control.h"
#include "exchange/group.h"

enum { RANKS = 3, N = 1000 };
static const double gamma_of_all = 0.25;

/* A simulated switch that fails at its reduction number `at`, from 0. */
typedef struct failing {
    void *inner;
    unsigned at, done;
} failing;

static tithe_status join_inner(void *self, uint64_t job, unsigned ranks, unsigned first, unsigned local,
                               double timeout, tithe_error *error)
{
    failing *f = self;
    return ti_aggregator_simulated.join(f->inner, job, ranks, first, local, timeout, error);
}

static tithe_status reduce_or_fail(void *self, const agg_reduction *r, const uint8_t *const *up,
                                   uint8_t *down, double timeout, tithe_error *error)
{
    failing *f = self;
    if (f->done++ >= f->at)
        return ti_fail(error, TITHE_E_PEER, 0, "The switch at 1.2.3.4:5 is gone: start it.");
    return ti_aggregator_simulated.reduce(f->inner, r, up, down, timeout, error);
}

static packet_limits limits_of_inner(const void *self)
{
    return ti_aggregator_simulated.limits(((const failing *)self)->inner);
}

static void close_inner(void *self)
{
    ti_aggregator_simulated.close(((failing *)self)->inner);
}

static const aggregator fails = {.name = "failing",
                                 .join = join_inner,
                                 .reduce = reduce_or_fail,
                                 .limits = limits_of_inner,
                                 .close = close_inner};

static group *group_at(failing *f, const char *codec, size_t bucket_bytes)
{
    tithe_exchange_config config;
    const wanted w = {.codec = codec, .feedback = "ec", .scheme = "switch", .ranks = RANKS, .n = N};
    group *g = group_start(&w, &config);
    assert_int_equal(ti_simulated_switch(RANKS, &f->inner, NULL), TITHE_OK);
    ti_comm_attach(&g->comm, &fails, f);
    config.bucket_bytes = bucket_bytes;
    expect(!tithe_exchange_create(&config, N, &g->ex, &g->error), "%s", g->error.text);
    ti_control_let_go(g->ex, true);
    return g;
}

/* What ranks have not sent yet, number by number, all ranks together. */
static void add_kept(const group *g, double sign, double *sum)
{
    for (unsigned r = 0; r < RANKS; r++) {
        const float *kept = tithe_exchange_residual(g->ex, r);
        for (size_t i = 0; i < N; i++) sum[i] += sign * (double)kept[i];
    }
}

/* A step in which what was put, kept and sent adds up: nothing is lost, and nothing made. */
static void step(group *g, unsigned k)
{
    static double sum[N];
    float *x = gradients_make(RANKS, N, k);
    memset(sum, 0, sizeof sum);
    add_kept(g, 1, sum);
    for (size_t i = 0; i < RANKS * (size_t)N; i++) sum[i % N] += gamma_of_all * (double)x[i];
    group_put_all(g, x, gamma_of_all);
    group_finish(g);
    add_kept(g, -1, sum);
    for (size_t i = 0; i < N; i++)
        expect(fabs(sum[i] - RANKS * (double)g->update[i]) < 1e-4, "step %u, number %zu: %g is missing", k, i,
               sum[i] - RANKS * (double)g->update[i]);
    free(x);
}

/* Numbers of the update that are zero: all of a bucket that did not go. */
static size_t zeros(const group *g)
{
    size_t count = 0;
    for (size_t i = 0; i < N; i++) count += g->update[i] == 0;
    return count;
}

/* At every reduction of some steps: before scales are known, before there is a sum, and between two buckets. */
static void nothing_is_lost_with_the_switch(void **state)
{
    (void)state;
    static const char *const codecs[] = {"all|int32", "all|dither:s=7,scale=contractive"};
    for (unsigned c = 0; c < 2; c++)
        for (unsigned buckets = 1; buckets <= 2; buckets++)
            for (unsigned at = 0; at < 9; at++) {
                failing f = {.at = at};
                unsigned k = 0;
                group *g = group_at(&f, codecs[c], buckets == 1 ? 0 : 4 * N / 2);
                while (!g->comm.lost) step(g, k++);
                assert_int_equal(f.done, at + 1); /* it was not asked again */
                expect(zeros(g) >= N / buckets, "%zu numbers did not go", zeros(g));
                expect(strstr(g->comm.lost_as, "1.2.3.4:5 is gone") != NULL, "%s", g->comm.lost_as);
                expect(!tithe_exchange_switch_scheme(g->ex, "gather", NULL, &g->error), "%s", g->error.text);
                for (unsigned more = 0; more < 2; more++) step(g, k++);
                assert_true(zeros(g) < N); /* dithering has some */
                ti_comm_detach(&g->comm);
                group_free(g);
            }
}

/* Nobody who could take another scheme: the step fails, and says why. */
static void without_a_spare_it_fails(void **state)
{
    (void)state;
    failing f = {.at = 1};
    group *g = group_at(&f, "all|natural", 0);
    ti_control_let_go(g->ex, false);
    float *x = gradients_make(RANKS, N, 0);
    group_put_all(g, x, gamma_of_all);
    assert_int_equal(tithe_exchange_finish(g->ex, g->update, &g->error), TITHE_E_PEER);
    assert_true(strstr(g->error.text, "is gone: start it") != NULL);
    free(x);
    ti_comm_detach(&g->comm);
    group_free(g);
}

/* Under auto another setting is taken at once, and it is said why; where no switch was asked for, one that is there is among those to
 * choose from. */
static void auto_goes_on_without_it(void **state)
{
    (void)state;
    for (unsigned named = 0; named < 2; named++) {
        tithe_exchange_config config;
        failing f = {.at = 5};
        tithe_steering now = {.size = sizeof now};
        const unsigned ranks = named ? RANKS : 4 * RANKS; /* more than there are parts in so short a vector */
        const size_t n = N / 8;
        const wanted w = {.codec = "all|natural", .scheme = named ? "switch" : NULL, .ranks = ranks, .n = n};
        group *g = group_start(&w, &config);
        assert_int_equal(ti_simulated_switch(ranks, &f.inner, NULL), TITHE_OK);
        ti_comm_attach(&g->comm, &fails, &f);
        config.tuner = tuner_of("auto");
        expect(!tithe_exchange_create(&config, n, &g->ex, &g->error), "%s", g->error.text);
        const tithe_link slow = {.latency = 1e-6, .bandwidth = 1e5}; /* bytes are all that counts */
        expect(!tithe_exchange_tell_link(g->ex, &slow, 0, &g->error), "%s", g->error.text);
        assert_true(tithe_exchange_steering(g->ex, &now) && strstr(now.options, "scheme=switch"));
        for (unsigned k = 0; k < 8; k++) {
            float *x = gradients_make(ranks, n, k);
            group_put_all(g, x, gamma_of_all);
            group_finish(g);
            tithe_exchange_steering(g->ex, &now);
            const bool lost = f.done > f.at;
            assert_int_equal(lost, strstr(now.options, "scheme=switch") == NULL);
            assert_int_equal(lost, strstr(now.reason, "1.2.3.4:5 is gone") != NULL);
            free(x);
        }
        assert_int_equal(now.changes, 1);
        ti_comm_detach(&g->comm);
        group_free(g);
    }
}

/* All ranks steered by auto over a slow link, where a switch is worth most: it fails at reduction `at`. */
static group *steered(failing *f)
{
    tithe_exchange_config config;
    const wanted w = {.codec = "all|natural", .scheme = "switch", .ranks = RANKS, .n = N};
    const tithe_link slow = {.latency = 1e-6, .bandwidth = 1e5};
    group *g = group_start(&w, &config);
    assert_int_equal(ti_simulated_switch(RANKS, &f->inner, NULL), TITHE_OK);
    ti_comm_attach(&g->comm, &fails, f);
    config.tuner = tuner_of("auto");
    expect(!tithe_exchange_create(&config, N, &g->ex, &g->error), "%s", g->error.text);
    expect(!tithe_exchange_tell_link(g->ex, &slow, 0, &g->error), "%s", g->error.text);
    return g;
}

static void some_steps(group *g, unsigned first, unsigned count)
{
    for (unsigned k = first; k < first + count; k++) {
        float *x = gradients_make(RANKS, N, k);
        group_put_all(g, x, gamma_of_all);
        group_finish(g);
        free(x);
    }
}

static double *saved(const group *g)
{
    double *numbers = malloc(ti_control_save(g->ex, NULL) * sizeof *numbers);
    assert_non_null(numbers);
    ti_control_save(g->ex, numbers);
    return numbers;
}

/* Whoever resumes goes on without it, too, whether there is another switch by now or not; and can be resumed again. What could be had in
 * hindsight is among what there was to be had. */
static void a_checkpoint_knows_of_it(void **state)
{
    (void)state;
    failing f = {.at = 5}, good[2] = {{.at = 1000}, {.at = 1000}};
    group *g = steered(&f);
    some_steps(g, 0, 8);
    assert_true(g->ex->control->lost);
    for (unsigned again = 0; again < 2; again++) {
        double *numbers = saved(g);
        group *next = steered(&good[again]);
        char best[TITHE_SETTING_TEXT];
        expect(!ti_control_load(next->ex, numbers, g->ex->step, &next->error), "%s", next->error.text);
        assert_true(next->ex->control->lost);
        assert_int_equal(next->ex->control->now, g->ex->control->now);
        some_steps(next, 8 + 8 * again, 8);
        assert_true(isfinite(next->ex->control->took));
        assert_int_equal(good[again].done, 0);
        assert_true(tithe_exchange_hindsight(next->ex, best, sizeof best) && !strstr(best, "scheme=switch"));
        const size_t now = next->ex->control->now;
        assert_true(isfinite(next->ex->control->seconds[now]) && isfinite(next->ex->control->so_far[now]));
        free(numbers);
        ti_comm_detach(&g->comm);
        group_free(g);
        g = next;
    }
    ti_comm_detach(&g->comm);
    group_free(g);
}

/* A setting that needs the switch, and a switch that is lost: no run was ever there. */
static void a_checkpoint_that_makes_no_sense_is_refused(void **state)
{
    (void)state;
    failing f = {.at = 1000};
    group *g = steered(&f);
    some_steps(g, 0, 2);
    g->ex->control->lost = true;
    double *numbers = saved(g);
    assert_int_equal(ti_control_load(g->ex, numbers, 2, &g->error), TITHE_E_CORRUPT);
    free(numbers);
    ti_comm_detach(&g->comm);
    group_free(g);
}

/* Where a switch was asked for and none can be had, auto says what a fixed tuner says. */
static void auto_without_any_switch_is_refused(void **state)
{
    (void)state;
    static const struct refused {
        const char *codec, *collective;
        unsigned ranks, local;
        const char *says;
    } all[] = {{"all|raw", NULL, 3, 1, "needs to know where the switch is"},
               {"all|natural", NULL, 3, 1, "needs to know where the switch is"},
               {"topk|raw", NULL, 3, 3, "adds whole numbers"},
               {"all|raw", NULL, 1025, 1025, "up to 1024 ranks"},
               {"all|natural", "ring", 3, 3, "leave `scheme` and `collective` to the tuner"},
               {"all|raw", NULL, 3, 3, NULL}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        tithe_exchange_config config;
        const wanted w = {.codec = "all|raw",
                          .scheme = "switch",
                          .collective = all[i].collective,
                          .ranks = all[i].ranks,
                          .n = 10};
        group *g = group_start(&w, &config);
        g->comm.local = all[i].local;
        tithe_codec_free(g->codec);
        config.codec = g->codec = codec_with(all[i].codec, (tithe_codec_options){.open_level = true});
        config.tuner = tuner_of("auto");
        const tithe_status status = tithe_exchange_create(&config, 10, &g->ex, &g->error);
        assert_int_equal(status, all[i].says ? TITHE_E_SPEC : TITHE_OK);
        expect(!all[i].says || strstr(g->error.text, all[i].says), "%s", g->error.text);
        group_free(g);
    }
}

/* What is there for a lost switch cannot be followed where there is one. */
static void a_spare_setting_is_not_replayed(void **state)
{
    (void)state;
    failing f = {.at = 1000};
    group *g = steered(&f);
    const setting_list *list = &g->ex->control->settings;
    unsigned spare = 0;
    for (size_t i = 0; i < list->count; i++) {
        assert_int_equal(ti_control_follow(g->ex, list->all[i].options, &g->error),
                         list->all[i].spare ? TITHE_E_DATA : TITHE_OK);
        spare += list->all[i].spare;
    }
    assert_true(spare > 0 && spare < list->count);
    some_steps(g, 0, 2);
    ti_comm_detach(&g->comm);
    group_free(g);
}

static tithe_status step_of(group *g, tithe_exchange *ex, unsigned k)
{
    float *x = gradients_make(RANKS, N, k);
    tithe_status status = TITHE_OK;
    for (unsigned r = 0; r < RANKS && !status; r++)
        status = tithe_exchange_put(ex, r, 0, x + r * (size_t)N, gamma_of_all, &g->error);
    if (!status) status = tithe_exchange_finish(ex, g->update, &g->error);
    free(x);
    return status;
}

/* One that cannot do without the switch fails, whoever else over the same ranks can, and whoever of them hears of it first. */
static void an_exchange_speaks_for_itself(void **state)
{
    (void)state;
    for (unsigned steered_last = 0; steered_last < 2; steered_last++)
        for (unsigned steered_first = 0; steered_first < 2; steered_first++) {
            tithe_exchange_config config;
            failing f = {.at = 6};
            tithe_exchange *fixed = NULL, *refused = NULL;
            const wanted w = {.codec = "all|natural", .scheme = "switch", .ranks = RANKS, .n = N};
            const tithe_link slow = {.latency = 1e-6, .bandwidth = 1e5};
            group *g = group_start(&w, &config);
            assert_int_equal(ti_simulated_switch(RANKS, &f.inner, NULL), TITHE_OK);
            ti_comm_attach(&g->comm, &fails, &f);
            for (unsigned i = 0; i < 2; i++) {
                const bool is_steered = i == steered_last;
                config.tuner = is_steered ? tuner_of("auto") : NULL;
                expect(!tithe_exchange_create(&config, N, is_steered ? &g->ex : &fixed, &g->error), "%s",
                       g->error.text);
            }
            config.tuner = tuner_of("auto");
            config.collective = "ring"; /* which no switch has */
            assert_int_equal(tithe_exchange_create(&config, N, &refused, &g->error), TITHE_E_SPEC);
            expect(!tithe_exchange_tell_link(g->ex, &slow, 0, &g->error), "%s", g->error.text);
            expect(!step_of(g, g->ex, 0) && !step_of(g, fixed, 0), "%s", g->error.text);
            f.at = f.done;
            if (steered_first) expect(!step_of(g, g->ex, 1), "%s", g->error.text);
            assert_int_equal(g->comm.lost, steered_first);
            assert_int_equal(step_of(g, fixed, 1), TITHE_E_PEER);
            assert_non_null(strstr(g->error.text, "1.2.3.4:5 is gone: "));
            assert_int_equal(strstr(g->error.text, "another scheme") != NULL, steered_first);
            for (unsigned k = 2; k < 4; k++) expect(!step_of(g, g->ex, k), "%s", g->error.text);
            assert_true(g->ex->control->lost && zeros(g) < N);
            tithe_exchange_free(fixed);
            ti_comm_detach(&g->comm);
            group_free(g);
        }
}

/* A gradient that is not finite in the step in which the switch is lost: nothing of it is kept. */
static void a_refusal_counts_in_the_last_step_too(void **state)
{
    (void)state;
    for (unsigned buckets = 1; buckets <= 2; buckets++)
        for (unsigned skips = 0; skips < 2; skips++)
            for (unsigned at = 0; at < buckets; at++) {
                tithe_exchange_config config;
                failing f = {.at = 1000};
                static float kept[RANKS][N];
                const wanted w = {.codec = "all|int32",
                                  .feedback = "ec",
                                  .scheme = "switch",
                                  .ranks = RANKS,
                                  .n = N,
                                  .skip_nonfinite = skips};
                group *g = group_start(&w, &config);
                assert_int_equal(ti_simulated_switch(RANKS, &f.inner, NULL), TITHE_OK);
                ti_comm_attach(&g->comm, &fails, &f);
                config.bucket_bytes = buckets == 1 ? 0 : 4 * N / 2;
                expect(!tithe_exchange_create(&config, N, &g->ex, &g->error), "%s", g->error.text);
                ti_control_let_go(g->ex, true);
                step(g, 0);
                f.at = f.done + at * f.done / buckets; /* where a bucket begins */
                for (unsigned r = 0; r < RANKS; r++)
                    memcpy(kept[r], tithe_exchange_residual(g->ex, r), sizeof *kept);
                float *x = gradients_make(RANKS, N, 1);
                x[N + 700] = NAN;
                group_put_all(g, x, gamma_of_all);
                assert_int_equal(tithe_exchange_finish(g->ex, g->update, &g->error),
                                 skips ? TITHE_E_SKIPPED : TITHE_E_NONFINITE);
                assert_true(g->comm.lost);
                assert_non_null(strstr(g->error.text, "Rank 1 has a gradient that is not finite"));
                for (unsigned r = 0; skips && r < RANKS; r++)
                    assert_true(same_floats(kept[r], tithe_exchange_residual(g->ex, r), N));
                if (skips) step(g, 2);
                free(x);
                ti_comm_detach(&g->comm);
                group_free(g);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_is_lost_with_the_switch),
                                       cmocka_unit_test(without_a_spare_it_fails),
                                       cmocka_unit_test(auto_goes_on_without_it),
                                       cmocka_unit_test(a_checkpoint_knows_of_it),
                                       cmocka_unit_test(a_checkpoint_that_makes_no_sense_is_refused),
                                       cmocka_unit_test(auto_without_any_switch_is_refused),
                                       cmocka_unit_test(a_spare_setting_is_not_replayed),
                                       cmocka_unit_test(an_exchange_speaks_for_itself),
                                       cmocka_unit_test(a_refusal_counts_in_the_last_step_too)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
