/* test_change.c - another codec between two steps: from then on the exchange is the one that it would have been from the
 * start with the same kept vectors, and nothing that was to be sent is lost on the way. */
#include "exchange/exchange.h"
#include "exchange/group.h"

enum { N = 2200, EACH = 3, RANKS = 4 };
static const double GAMMA = 0.25;

static const char *const settings[] = {
    "codec=topk:keep=0.05|sign;scheme=gather;feedback=ec",
    "codec=all|raw;scheme=dense;collective=tree",
    "codec=all|natural;scheme=shards;feedback=ec",
    "codec=all|dither:s=7,bucket=512;scheme=shards;collective=ring;feedback=ec",
    "codec=topk:keep=0.01|natural;scheme=artopk;feedback=ec",
    "codec=topk:keep=0.02;downlink=topk:keep=0.02;downlink-feedback=ec;scheme=star",
    "codec=all|raw;scheme=dense;collective=direct",
    "codec=topk:keep=0.3|natural;scheme=gather;collective=tree;feedback=ec",
    "codec=topk:keep=0.002|sign;scheme=gather;feedback=ec",
};
enum { SETTINGS = sizeof settings / sizeof *settings };

static tithe_exchange *exchange_of(tithe_comm *comm, const char *options, const char *more)
{
    static const size_t layers[] = {1500, 700};
    char text[400];
    tithe_exchange *ex = NULL;
    tithe_error error = {0};
    snprintf(text, sizeof text, "%s%s", options, more);
    expect(!tithe_exchange_open_layers(comm, text, layers, 2, &ex, &error), "%s", error.text);
    return ex;
}

static void step(tithe_exchange *ex, unsigned k, float *update, double *due)
{
    tithe_error error = {0};
    const unsigned ranks = ex->config.comm->size;
    float *x = gradients_make(ranks, N, k);
    for (unsigned r = 0; r < ranks; r++) {
        expect(!tithe_exchange_put(ex, r, 0, x + (size_t)r * N, GAMMA, &error), "%s", error.text);
        for (size_t i = 0; due && i < N; i++) due[i] += GAMMA * (double)x[r * N + i];
    }
    expect(!tithe_exchange_finish(ex, update, &error), "%s", error.text);
    free(x);
}

/* A step that one rank refuses, after some or all of the others were put: nothing may change. */
static void refused_step(tithe_exchange *ex, unsigned k, float *update)
{
    tithe_error error = {0};
    const unsigned ranks = ex->config.comm->size;
    float *x = gradients_make(ranks, N, 1000 + k);
    x[(k % ranks) * N + (k % 2 ? 3 : N - 3)] = k % 3 ? NAN : INFINITY;
    for (unsigned r = 0; r < ranks; r++)
        expect(!tithe_exchange_put(ex, r, 0, x + (size_t)r * N, GAMMA, &error), "%s", error.text);
    assert_int_equal(tithe_exchange_finish(ex, update, &error), TITHE_E_SKIPPED);
    free(x);
}

/* N times what was applied and all that is kept is the sum of all gamma g. */
static void expect_nothing_lost(tithe_exchange *ex, const char *setting, unsigned k, const double *applied,
                                const double *due)
{
    const float *of_sums = tithe_exchange_server_residual(ex);
    const unsigned ranks = ex->config.comm->size;
    for (size_t i = 0; i < N; i++) {
        double kept = of_sums ? (double)of_sums[i] : 0;
        for (unsigned r = 0; r < ranks; r++) {
            const float *residual = tithe_exchange_residual(ex, r);
            kept += residual ? (double)residual[i] : 0;
        }
        expect(fabs(applied[i] + kept - due[i]) < 3e-4, "%s, step %u: %g and %g of %g at %zu", setting, k,
               applied[i], kept, due[i], i);
        if (strstr(setting, "dense")) expect(kept == 0, "step %u: dense keeps %g at %zu", k, kept, i);
    }
}

static void check_nothing_lost(unsigned ranks, const char *more, bool refuses)
{
    static float update[N];
    static double due[N], applied[N];
    tithe_comm comm = ranks_here(ranks);
    tithe_error error = {0};
    memset(due, 0, sizeof due);
    memset(applied, 0, sizeof applied);
    /* which has memory for the way back, as buckets need it from the start */
    tithe_exchange *ex = exchange_of(&comm, settings[2], more);
    for (unsigned s = 0, k = 0; s < SETTINGS; s++) {
        char text[200];
        snprintf(text, sizeof text, "%s", settings[s]);
        expect(!tithe_exchange_change(ex, text, &error), "%s: %s", settings[s], error.text);
        memset(text, '-', sizeof text); /* nobody keeps the caller's text */
        for (unsigned end = k + EACH; k < end; k++) {
            if (refuses) refused_step(ex, k, update);
            step(ex, k, update, due);
            for (size_t i = 0; i < N; i++) applied[i] += ranks * (double)update[i];
            expect_nothing_lost(ex, settings[s], k, applied, due);
        }
    }
    tithe_exchange_free(ex);
}

static void nothing_is_lost(void **state)
{
    (void)state;
    static const unsigned counts[] = {2, 3, 4, 7};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        check_nothing_lost(counts[i], "", false);
        check_nothing_lost(counts[i], ";bucket=3000", false);
        check_nothing_lost(counts[i], ";on-nonfinite=skip", true);
        check_nothing_lost(counts[i], ";on-nonfinite=skip;bucket=3000", true);
    }
}

/* The kept vectors of the ranks, at the moment of the change, in an exchange that was like that from the start. */
static void it_is_as_if_opened_so(void **state)
{
    (void)state;
    static float update[N], other[N];
    tithe_comm comm = ranks_here(RANKS);
    tithe_error error = {0};
    tithe_exchange *ex = exchange_of(&comm, settings[0], "");
    for (unsigned s = 0, k = 0; s < SETTINGS; s++) {
        expect(!tithe_exchange_change(ex, settings[s], &error), "%s", error.text);
        tithe_exchange *anew = exchange_of(&comm, settings[s], "");
        for (unsigned r = 0; r < RANKS && tithe_exchange_residual(anew, r); r++)
            memcpy(tithe_exchange_residual(anew, r), tithe_exchange_residual(ex, r), N * sizeof(float));
        tithe_exchange_continue(anew, k, NULL, NULL);
        const bool dense = strstr(settings[s], "dense") != NULL;
        for (unsigned end = k + EACH; k < end; k++) {
            step(ex, k, update, NULL);
            step(anew, k, other, NULL);
            if (dense && k + EACH == end) continue; /* what was kept went with it */
            expect(same_floats(update, other, N), "%s: another update in step %u", settings[s], k);
            const tithe_exchange_record a = last_of(ex), b = last_of(anew);
            assert_string_equal(a.scheme, b.scheme);
            assert_string_equal(a.collective, b.collective);
            assert_true(a.level == b.level && a.step == b.step);
        }
        tithe_exchange_free(anew);
    }
    tithe_exchange_free(ex);
}

static void what_cannot_change_is_said(void **state)
{
    (void)state;
    static float update[N], same[N];
    tithe_comm comm = ranks_here(RANKS);
    tithe_error error = {0};
    tithe_exchange *ex = exchange_of(&comm, settings[0], ""), *other = exchange_of(&comm, settings[0], "");
    static const struct {
        const char *options, *word;
    } wrong[] = {{"codec=topk:keep=0.1;bucket=100", "bucket"},
                 {"codec=topk", "level"},
                 {"codec=topk:keep=2", "keep"},
                 {"codec=all|natural;feedback=none;scheme=shards", "feedback=ec"},
                 {"codec=topk:keep=0.1;feedback=ef21", "ef21"},
                 {"codec=topk:keep=0.1;scheme=web", "web"},
                 {"tempo=3", "tempo"}};
    step(ex, 0, update, NULL);
    step(other, 0, same, NULL);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        error = (tithe_error){0};
        expect(tithe_exchange_change(ex, wrong[i].options, &error) != TITHE_OK, "%s is taken",
               wrong[i].options);
        expect(strstr(error.text, wrong[i].word) != NULL, "%s: %s", wrong[i].options, error.text);
    }
    step(ex, 1, update, NULL);
    step(other, 1, same, NULL);
    expect(same_floats(update, same, N), "a refusal changed something");
    tithe_exchange_free(ex);
    tithe_exchange_free(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_is_lost),
                                       cmocka_unit_test(it_is_as_if_opened_so),
                                       cmocka_unit_test(what_cannot_change_is_said)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
