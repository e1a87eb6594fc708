/* test_decay.c - residuals that decay: e <- decay e + gamma g, send C(e), e <- e - C(e), under every scheme that keeps
 * residuals, beside the same computed by codec calls alone. */
#include "exchange/group.h"

enum { N = 700, RANKS = 3, STEPS = 5 };

static tithe_exchange *open_over(tithe_comm *comm, const char *options)
{
    tithe_exchange *ex = NULL;
    tithe_error error = {0};
    expect(!tithe_exchange_open(comm, options, N, &ex, &error), "%s: %s", options, error.text);
    return ex;
}

static void step_all(tithe_exchange *ex, unsigned step, double gamma, float *update)
{
    tithe_error error = {0};
    float *x = gradients_make(RANKS, N, step);
    for (unsigned r = 0; r < RANKS; r++)
        expect(!tithe_exchange_put(ex, r, 0, x + r * N, gamma, &error), "%s", error.text);
    expect(!tithe_exchange_finish(ex, update, &error), "%s", error.text);
    free(x);
}

/* Each rank on its own, with floats in the same order. */
static void the_residual_fades(void **state)
{
    (void)state;
    tithe_comm comm = ranks_here(RANKS);
    tithe_exchange *ex = open_over(&comm, "codec=topk:k=30;feedback=ec:decay=0.75;seed=77");
    tithe_codec *codec = codec_with("topk:k=30", (tithe_codec_options){.contractive = true});
    float e[RANKS][N] = {{0}}, update[N], v[N];
    for (unsigned s = 0; s < STEPS; s++) {
        double sum[N] = {0};
        float *x = gradients_make(RANKS, N, s);
        step_all(ex, s, 0.5, update);
        for (unsigned r = 0; r < RANKS; r++) {
            for (size_t i = 0; i < N; i++) e[r][i] = 0.75f * e[r][i] + 0.5f * x[r * N + i];
            message(codec, s, r, 0, e[r], N, v);
            for (size_t i = 0; i < N; i++) {
                e[r][i] -= v[i];
                sum[i] += (double)v[i] / RANKS;
            }
            for (size_t i = 0; i < N; i++)
                assert_float_equal(tithe_exchange_residual(ex, r)[i], e[r][i], 1e-5);
        }
        assert_true(near_floats(update, sum, N, 8, 20));
        free(x);
    }
    tithe_codec_free(codec);
    tithe_exchange_free(ex);
}

/* What was handed in and not applied is what is kept and what has faded: N applied + e' = decay e + gamma sum g, in every step. */
static void nothing_else_is_lost(void **state)
{
    (void)state;
    static const char *const ways[] = {"codec=topk:k=30",
                                       "codec=topk:k=30|natural;scheme=gather;collective=tree",
                                       "codec=topk:k=30;scheme=artopk",
                                       "codec=topk:k=30;bucket=1KiB",
                                       "codec=topk:k=30;scheme=star",
                                       "codec=topk:k=60;scheme=shards;downlink=raw",
                                       "codec=topk|sign;tuner=cat;level=shared"};
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
        char options[160];
        snprintf(options, sizeof options, "%s;feedback=ec:decay=0.5", ways[w]);
        tithe_comm comm = ranks_here(RANKS);
        tithe_exchange *ex = open_over(&comm, options);
        float update[N];
        double kept[N] = {0};
        for (unsigned s = 0; s < STEPS; s++) {
            float *x = gradients_make(RANKS, N, s);
            step_all(ex, s, 0.25, update);
            for (size_t i = 0; i < N; i++) {
                double expected = 0.5 * kept[i];
                kept[i] = 0;
                for (unsigned r = 0; r < RANKS; r++) {
                    expected += 0.25 * (double)x[r * N + i];
                    kept[i] += (double)tithe_exchange_residual(ex, r)[i];
                }
                expect(fabs(RANKS * (double)update[i] + kept[i] - expected) < 1e-4, "%s: step %u, entry %zu",
                       options, s, i);
            }
            free(x);
        }
        tithe_exchange_free(ex);
    }
}

/* Of a rank that skips the step nothing fades: it has sent nothing. */
static void ranks_that_skip_do_not_fade(void **state)
{
    (void)state;
    tithe_comm comm = ranks_here(RANKS);
    tithe_exchange *ex = open_over(&comm, "codec=topk:k=30;feedback=ec:decay=0.75");
    float update[N], before[N], *x = gradients_make(1, N, 9);
    step_all(ex, 0, 1, update);
    memcpy(before, tithe_exchange_residual(ex, 0), sizeof before);
    assert_int_equal(tithe_exchange_skip(ex, 0, 1, NULL), TITHE_OK);
    for (unsigned r = 1; r < RANKS; r++) assert_int_equal(tithe_exchange_put(ex, r, 0, x, 1, NULL), TITHE_OK);
    assert_int_equal(tithe_exchange_finish(ex, update, NULL), TITHE_OK);
    assert_memory_equal(before, tithe_exchange_residual(ex, 0), sizeof before);
    free(x);
    tithe_exchange_free(ex);
}

/* Another scheme goes on with the same decay. */
static void decay_survives_a_switch(void **state)
{
    (void)state;
    tithe_comm comm = ranks_here(RANKS);
    tithe_exchange *ex = open_over(&comm, "codec=topk:k=30;feedback=ec:decay=0.5;scheme=gather");
    float update[N], before[N], *x = gradients_make(RANKS, N, 1);
    step_all(ex, 0, 1, update);
    assert_int_equal(tithe_exchange_switch_scheme(ex, "artopk", NULL, NULL), TITHE_OK);
    memcpy(before, tithe_exchange_residual(ex, 1), sizeof before);
    step_all(ex, 1, 1, update);
    size_t unsent = 0;
    for (size_t i = 0; i < N; i++) unsent += tithe_exchange_residual(ex, 1)[i] == 0.5f * before[i] + x[N + i];
    assert_int_equal(unsent, N - 30);
    free(x);
    tithe_exchange_free(ex);
}

static void decay_is_a_parameter(void **state)
{
    (void)state;
    tithe_comm comm = ranks_here(RANKS);
    tithe_error error = {0};
    tithe_exchange *ex = NULL;
    static const char *const wrong[] = {
        "codec=topk:k=3;feedback=ec:decay=0", "codec=topk:k=3;feedback=ec:decay=1.5",
        "codec=topk:k=3;feedback=ef21:decay=0.5", "codec=topk:k=3;feedback=ec:fade=0.5",
        "codec=topk:k=3;downlink=topk:k=9;downlink-feedback=ec:decay=0.5"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        expect(tithe_exchange_open(&comm, wrong[i], N, &ex, &error) != TITHE_OK, "%s is taken", wrong[i]);
    ex = open_over(&comm, "codec=topk:k=3;feedback=ec:decay=0.95");
    char *text = tithe_exchange_describe(ex);
    expect(strstr(text, "\"feedback\": \"ec:decay=0.95\"") != NULL, "%s", text);
    tithe_text_free(text);
    tithe_exchange_free(ex);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_residual_fades),          cmocka_unit_test(nothing_else_is_lost),
        cmocka_unit_test(ranks_that_skip_do_not_fade), cmocka_unit_test(decay_survives_a_switch),
        cmocka_unit_test(decay_is_a_parameter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
