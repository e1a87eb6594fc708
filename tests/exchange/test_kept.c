/* test_kept.c - what workers and server keep from step to step: error compensation, EF21, and the server's own. What owners
 * of parts keep is in test_shards.c. */
#include "exchange/group.h"

enum { RANKS = 4, N = 517, STEPS = 12 };

static double gamma_at(unsigned step)
{
    return step < 8 ? 0.3 : 0.05; /* not a power of two, and not constant */
}

/* e' = e + gamma g,  v = C(e') with a threshold of gamma lambda,  e = e' - v;  u = sum v / ranks. To the bit. */
static void check_ec(const char *spec, bool measure)
{
    group *g = group_make(&(wanted){
        .codec = spec, .feedback = "ec", .scheme = "gather", .ranks = RANKS, .n = N, .measure = measure});
    static float e[RANKS][N], v[N], u[N];
    memset(e, 0, sizeof e);
    const bool absolute = strncmp(spec, "threshold", 9) == 0;
    double unsent_total = 0;
    for (unsigned k = 0; k < STEPS; k++) {
        const double gamma = gamma_at(k);
        float *x = gradients_make(RANKS, N, k);
        double energy = 0, unsent = 0, max = 0;
        memset(u, 0, sizeof u);
        for (unsigned r = 0; r < RANKS; r++) {
            for (size_t i = 0; i < N; i++) e[r][i] += (float)gamma * x[r * N + i];
            for (size_t i = 0; i < N; i++) energy += (double)e[r][i] * (double)e[r][i] / RANKS;
            message(g->codec, k, r, absolute ? (double)(float)gamma * 2.5 : 0, e[r], N, v);
            double own = 0;
            for (size_t i = 0; i < N; i++) {
                e[r][i] -= v[i];
                own += (double)e[r][i] * (double)e[r][i];
                u[i] += (float)(1.0 / RANKS) * v[i];
            }
            unsent += own / RANKS;
            max = fmax(max, own);
        }
        group_put_all(g, x, gamma);
        group_finish(g);
        expect(same_floats(g->update, u, N), "%s: another update in step %u", spec, k);
        for (unsigned r = 0; r < RANKS; r++)
            expect(same_floats(tithe_exchange_residual(g->ex, r), e[r], N),
                   "%s: rank %u keeps something else, step %u", spec, r, k);
        unsent_total += unsent;
        const tithe_exchange_record last = last_of(g->ex);
        if (measure)
            expect(fabs(last.energy - energy) <= 1e-6 * energy &&
                       fabs(last.unsent - unsent) <= 1e-6 * unsent + 1e-30 && last.residual == last.unsent &&
                       fabs(last.unsent_max - max) <= 1e-6 * max + 1e-30,
                   "%s: energy %g (%g), unsent %g (%g), most %g (%g)", spec, last.energy, energy, last.unsent,
                   unsent, last.unsent_max, max);
        free(x);
    }
    if (measure) {
        const double said = totals_of(g->ex).unsent;
        assert_true(fabs(said - unsent_total) <= 1e-6 * unsent_total + 1e-30);
    }
    group_free(g);
}

static void error_compensation_keeps_what_was_not_sent(void **state)
{
    (void)state;
    static const char *const specs[] = {"all|raw",        "natural",
                                        "topk:k=20",      "topk:k=20|natural",
                                        "topk:k=20|sign", "threshold:lambda=2.5",
                                        "randk:k=100",    "stochastic:k=60",
                                        "all|dither:s=7", "threshold:lambda=2.5|natural"};
    for (size_t s = 0; s < sizeof specs / sizeof *specs; s++) {
        check_ec(specs[s], false);
        check_ec(specs[s], true);
    }
}

/* h += C(g - h) at each rank;  u = gamma * mean of all h. */
static void check_ef21(const char *spec, bool measure)
{
    group *g = group_make(&(wanted){
        .codec = spec, .feedback = "ef21", .scheme = "gather", .ranks = RANKS, .n = N, .measure = measure});
    static float h[RANKS][N], v[N], change[N];
    memset(h, 0, sizeof h);
    for (unsigned k = 0; k < STEPS; k++) {
        float *x = gradients_make(RANKS, N, k / 4); /* the same for a while: then h gets near */
        double u[N] = {0}, unsent = 0;
        for (unsigned r = 0; r < RANKS; r++) {
            for (size_t i = 0; i < N; i++) change[i] = x[r * N + i] - h[r][i];
            message(g->codec, k, r, 0, change, N, v);
            for (size_t i = 0; i < N; i++) {
                h[r][i] += v[i];
                u[i] += gamma_at(k) * (double)h[r][i] / RANKS;
                unsent += pow((double)change[i] - (double)v[i], 2) / RANKS;
            }
        }
        group_put_all(g, x, gamma_at(k));
        group_finish(g);
        for (unsigned r = 0; r < RANKS; r++)
            expect(same_floats(tithe_exchange_residual(g->ex, r), h[r], N), "%s: rank %u, step %u", spec, r,
                   k);
        expect(near_floats(g->update, u, N, 4.0 * (k + 2), 30), "%s: another update in step %u", spec, k);
        const double said = last_of(g->ex).unsent;
        if (measure)
            expect(fabs(said - unsent) <= 1e-5 * unsent, "%s: unsent %g, not %g", spec, said, unsent);
        free(x);
    }
    group_free(g);
}

static void ef21_follows_the_gradients(void **state)
{
    (void)state;
    static const char *const specs[] = {"topk:k=20", "topk:k=20|natural", "topk:k=50|sign", "randk:k=100",
                                        "natural"};
    for (size_t s = 0; s < sizeof specs / sizeof *specs; s++) {
        check_ef21(specs[s], false);
        check_ef21(specs[s], true);
    }
}

/* Without feedback, measuring changes no bit either. */
static void measuring_changes_nothing(void **state)
{
    (void)state;
    static const char *const specs[] = {"natural", "topk:k=20", "randk:k=9", "threshold:lambda=2"};
    for (size_t s = 0; s < sizeof specs / sizeof *specs; s++) {
        wanted w = {.codec = specs[s], .scheme = "gather", .ranks = RANKS, .n = N};
        group *plain = group_make(&w);
        w.measure = true;
        group *measured = group_make(&w);
        for (unsigned k = 0; k < 3; k++) {
            float *x = gradients_make(RANKS, N, k), v[N];
            double unsent = 0, energy = 0;
            for (unsigned r = 0; r < RANKS; r++) {
                message(plain->codec, k, r, 0, x + r * N, N, v);
                for (size_t i = 0; i < N; i++) {
                    unsent += pow((double)x[r * N + i] - (double)v[i], 2) / RANKS;
                    energy += pow((double)x[r * N + i], 2) / RANKS;
                }
            }
            group_put_all(plain, x, 0.3);
            group_finish(plain);
            group_put_all(measured, x, 0.3);
            group_finish(measured);
            assert_true(same_floats(plain->update, measured->update, N));
            const tithe_exchange_record last = last_of(measured->ex);
            assert_true(fabs(last.unsent - unsent) <= 1e-5 * unsent &&
                        fabs(last.energy - energy) <= 1e-5 * energy);
            assert_true(isnan(last.residual));
            assert_null(tithe_exchange_residual(plain->ex, 0));
            free(x);
        }
        group_free(plain);
        group_free(measured);
    }
}

/* Nothing gets lost: what was applied so far, and what everybody still keeps, is the sum of all gradients. */
static void check_nothing_is_lost(const char *codec, const char *feedback, const char *downlink)
{
    group *g = group_make(&(wanted){.codec = codec,
                                    .feedback = feedback,
                                    .downlink = downlink,
                                    .downlink_feedback = "ec",
                                    .ranks = RANKS,
                                    .n = N});
    static double applied[N], messages[N], given[N];
    static float server[N], e[RANKS][N], v[N], sum[N];
    memset(applied, 0, sizeof applied);
    memset(messages, 0, sizeof messages);
    memset(given, 0, sizeof given);
    memset(server, 0, sizeof server);
    memset(e, 0, sizeof e);
    const bool absolute = strncmp(downlink, "threshold", 9) == 0;
    for (unsigned k = 0; k < STEPS; k++) {
        const double gamma = gamma_at(k);
        float *x = gradients_make(RANKS, N, k);
        memset(sum, 0, sizeof sum);
        for (unsigned r = 0; r < RANKS; r++) {
            for (size_t i = 0; i < N; i++) {
                e[r][i] = feedback ? e[r][i] + (float)gamma * x[r * N + i] : x[r * N + i];
                given[i] += gamma * (double)x[r * N + i] / RANKS;
            }
            message(g->codec, k, r, 0, e[r], N, v);
            for (size_t i = 0; i < N; i++) {
                e[r][i] -= v[i];
                sum[i] += v[i];
            }
        }
        /* the server, in units of the update: its own e, and a threshold of gamma lambda */
        for (size_t i = 0; i < N; i++) {
            server[i] += feedback ? sum[i] : (float)gamma * sum[i];
            messages[i] += (feedback ? 1 : gamma) * (double)sum[i];
        }
        message(g->downlink, k, RANKS, absolute ? gamma * 3 : 0, server, N, v);
        group_put_all(g, x, gamma);
        group_finish(g);
        for (size_t i = 0; i < N; i++) {
            server[i] -= v[i];
            const float u = (float)(1.0 / RANKS) * v[i];
            expect(g->update[i] == u, "%s, then %s: step %u, %.9g at %zu, not %.9g", codec, downlink, k,
                   (double)g->update[i], i, (double)u);
            applied[i] += (double)u;
        }
        free(x);
    }
    for (size_t i = 0; i < N; i++) {
        expect(fabs(applied[i] + (double)server[i] / RANKS - messages[i] / RANKS) <= 1e-4,
               "%s, then %s: messages of %g at %zu, applied %g, kept %g", codec, downlink, messages[i], i,
               applied[i], (double)server[i]);
        double kept = 0;
        for (unsigned r = 0; feedback && r < RANKS; r++) kept += (double)e[r][i] / RANKS;
        if (feedback) assert_true(fabs(applied[i] + (double)server[i] / RANKS + kept - given[i]) <= 1e-4);
    }
    group_free(g);
}

static void the_server_loses_nothing(void **state)
{
    (void)state;
    check_nothing_is_lost("topk:k=40", "ec", "topk:k=30");
    check_nothing_is_lost("natural", NULL, "topk:k=30|natural");
    check_nothing_is_lost("all|raw", NULL, "natural");
    check_nothing_is_lost("topk:k=40", "ec", "threshold:lambda=3");
    check_nothing_is_lost("natural", NULL, "threshold:lambda=3");
}

/* A threshold on the way back is in units of the gradient, whatever the units of the messages are. */
static void thresholds_of_the_server_know_gamma(void **state)
{
    (void)state;
    for (unsigned feedback = 0; feedback < 2; feedback++) {
        group *g = group_make(&(wanted){.codec = "all|raw",
                                        .feedback = feedback ? "ec" : NULL,
                                        .downlink = "threshold:lambda=3",
                                        .ranks = 1,
                                        .n = 4});
        const float x[] = {2.5f, -3.5f, 1000, 0.125f};
        group_put_all(g, x, 0.0625);
        group_finish(g);
        const float wanted_update[] = {0, -3.5f / 16, 1000.0f / 16, 0};
        assert_true(same_floats(g->update, wanted_update, 4));
        group_free(g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(error_compensation_keeps_what_was_not_sent),
        cmocka_unit_test(ef21_follows_the_gradients),
        cmocka_unit_test(measuring_changes_nothing),
        cmocka_unit_test(the_server_loses_nothing),
        cmocka_unit_test(thresholds_of_the_server_know_gamma),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
