/* test_momentum.c - the momentum of a host, known to the exchange: the host's optimizer, a plain one in double precision, beside ranks that
 * compress what that makes of their gradients. */
#include "exchange/group.h"
#include "tithe/outer.h"

enum { N = 700, RANKS = 3, STEPS = 6 };
#define M 0.9

static tithe_exchange *open_over(tithe_comm *comm, const char *options)
{
    tithe_exchange *ex = NULL;
    tithe_error error = {0};
    static const size_t layers[] = {300, 0, 399, 1};
    expect(!tithe_exchange_open_layers(comm, options, layers, 4, &ex, &error), "%s: %s", options, error.text);
    return ex;
}

static void put_all(tithe_exchange *ex, const float *x)
{
    tithe_error error = {0};
    for (unsigned r = 0; r < RANKS; r++)
        expect(!tithe_exchange_put(ex, r, 0, x + r * N, 1, &error), "%s", error.text);
}

/* Where everything is sent, nothing changes: the update is the mean of the gradients. */
static void dense_is_as_without(void **state)
{
    (void)state;
    static const char *const ways[] = {"codec=all|raw;momentum=0.9", "codec=all|raw;momentum=0.9;bucket=1KiB",
                                       "codec=topk:keep=1;feedback=ec;momentum=0.9",
                                       "codec=all|raw;scheme=shards;momentum=0.9"};
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
        tithe_comm comm = ranks_here(RANKS);
        tithe_exchange *ex = open_over(&comm, ways[w]);
        float update[N];
        for (unsigned s = 0; s < STEPS; s++) {
            float *x = gradients_make(RANKS, N, s);
            put_all(ex, x);
            assert_int_equal(tithe_exchange_finish(ex, update, NULL), TITHE_OK);
            for (size_t i = 0; i < N; i++) {
                double mean = 0;
                for (unsigned r = 0; r < RANKS; r++) mean += (double)x[r * N + i] / RANKS;
                expect(fabs((double)update[i] - mean) < 1e-5, "%s: step %u, entry %zu", ways[w], s, i);
            }
            free(x);
        }
        tithe_exchange_free(ex);
    }
}

/* The m of the host is the mean of what was sent, and nothing is lost: what all sent so far and what is kept is the sum of all u, each of
 * which is what the momentum makes of a rank's gradients. */
static void the_host_moves_along_what_was_sent(void **state)
{
    (void)state;
    static const char *const ways[] = {
        "codec=topk:k=30;feedback=ec", "codec=topk:k=30|sign;feedback=ec;bucket=1KiB",
        "codec=topk:k=30|natural;scheme=artopk;feedback=ec",
        "codec=topk:k=60;scheme=shards;downlink=raw;feedback=ec", "codec=topk:k=30;scheme=star;feedback=ec"};
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
        char options[160];
        snprintf(options, sizeof options, "%s;momentum=0.9", ways[w]);
        tithe_comm comm = ranks_here(RANKS);
        tithe_exchange *ex = open_over(&comm, options);
        float update[N];
        double u[RANKS][N] = {{0}}, all[N] = {0}, sent[N] = {0}, m[N] = {0};
        for (unsigned s = 0; s < STEPS; s++) {
            float *x = gradients_make(RANKS, N, s);
            put_all(ex, x);
            assert_int_equal(tithe_exchange_finish(ex, update, NULL), TITHE_OK);
            for (size_t i = 0; i < N; i++) {
                double kept = 0;
                m[i] = M * m[i] + (double)update[i];
                sent[i] += m[i];
                for (unsigned r = 0; r < RANKS; r++) {
                    u[r][i] = M * u[r][i] + (double)x[r * N + i];
                    all[i] += u[r][i];
                    kept += (double)tithe_exchange_residual(ex, r)[i];
                    expect(fabs(u[r][i] - (double)tithe_exchange_momentum(ex, r)[i]) < 1e-5,
                           "%s: u of rank %u", options, r);
                }
                expect(fabs(m[i] - (double)tithe_exchange_direction(ex)[i]) < 1e-5, "%s: m of step %u",
                       options, s);
                expect(fabs(RANKS * sent[i] + kept - all[i]) < 1e-4, "%s: step %u, entry %zu", options, s, i);
            }
            free(x);
        }
        tithe_exchange_free(ex);
    }
}

/* A whole vector, layers in any order and tithe_exchange_step: the same bits. */
static void however_it_is_put(void **state)
{
    (void)state;
    static const char options[] = "codec=topk:k=30;feedback=ec;momentum=0.9;bucket=100MB";
    tithe_comm one = ranks_here(1), same = ranks_here(1), third = ranks_here(1);
    tithe_exchange *a = open_over(&one, options), *b = open_over(&same, options),
                   *c = open_over(&third, options);
    for (unsigned s = 0; s < STEPS; s++) {
        float whole[N], layered[N], *g = gradients_make(1, N, s);
        assert_int_equal(tithe_exchange_put(a, 0, 0, g, 1, NULL), TITHE_OK);
        assert_int_equal(tithe_exchange_finish(a, whole, NULL), TITHE_OK);
        assert_int_equal(tithe_exchange_put_layers(b, 0, 0, (const size_t[]){2, 3, 1}, 3, g + 300, 1, NULL),
                         TITHE_OK);
        assert_int_equal(tithe_exchange_put_layer(b, 0, 0, 0, g, 1, NULL), TITHE_OK);
        assert_int_equal(tithe_exchange_finish(b, layered, NULL), TITHE_OK);
        assert_int_equal(tithe_exchange_step(c, g, 1, NULL), TITHE_OK);
        assert_memory_equal(whole, layered, sizeof whole);
        assert_memory_equal(whole, g, sizeof whole);
        free(g);
    }
    tithe_exchange_free(a);
    tithe_exchange_free(b);
    tithe_exchange_free(c);
}

/* A step that is not taken leaves nothing behind, and no rank may skip one. */
static void steps_that_are_not_taken(void **state)
{
    (void)state;
    tithe_comm comm = ranks_here(RANKS);
    tithe_exchange *ex = open_over(&comm, "codec=topk:k=30;feedback=ec;momentum=0.9;on-nonfinite=skip");
    float update[N], u[N], direction[N], *x = gradients_make(RANKS, N, 1);
    put_all(ex, x);
    assert_int_equal(tithe_exchange_finish(ex, update, NULL), TITHE_OK);
    memcpy(u, tithe_exchange_momentum(ex, 1), sizeof u);
    memcpy(direction, tithe_exchange_direction(ex), sizeof direction);
    x[N + 5] = NAN;
    put_all(ex, x);
    assert_int_equal(tithe_exchange_finish(ex, update, NULL), TITHE_E_SKIPPED);
    assert_memory_equal(u, tithe_exchange_momentum(ex, 1), sizeof u);
    assert_memory_equal(direction, tithe_exchange_direction(ex), sizeof direction);
    assert_int_equal(tithe_exchange_skip(ex, 1, 1, NULL), TITHE_E_ARGUMENT);
    x[N + 5] = 1;
    put_all(ex, x);
    assert_int_equal(tithe_exchange_finish(ex, update, NULL), TITHE_OK);
    for (size_t i = 0; i < N; i++)
        assert_float_equal(tithe_exchange_momentum(ex, 1)[i], 0.9f * u[i] + x[N + i], 1e-6);
    free(x);
    tithe_exchange_free(ex);
}

/* What is refused leaves no trace: a layer twice, all of it after a layer, a finish that comes too early. */
static void mistakes_leave_no_trace(void **state)
{
    (void)state;
    tithe_comm comm = ranks_here(2);
    tithe_exchange *ex = open_over(&comm, "momentum=0.5;bucket=layer");
    float one[N], seven[N], update[N];
    for (size_t i = 0; i < N; i++) one[i] = 1, seven[i] = 7;
    for (unsigned s = 0; s < 3; s++) {
        const size_t layers[] = {0, 1, 2, 3};
        assert_int_equal(tithe_exchange_put_layers(ex, 0, 0, layers, 2, one, 1, NULL), TITHE_OK);
        assert_int_equal(tithe_exchange_put_layer(ex, 0, 0, 0, seven, 1, NULL), TITHE_E_ARGUMENT);
        assert_int_equal(tithe_exchange_put_layer(ex, 0, 0, 4, seven, 1, NULL), TITHE_E_ARGUMENT);
        assert_int_equal(tithe_exchange_put(ex, 0, 0, seven, 1, NULL), TITHE_E_ARGUMENT);
        assert_int_equal(tithe_exchange_put_layers(ex, 0, 0, layers + 2, 2, one, 1, NULL), TITHE_OK);
        assert_int_equal(tithe_exchange_finish(ex, update, NULL), TITHE_E_ARGUMENT);
        assert_int_equal(tithe_exchange_put(ex, 1, 0, one, 1, NULL), TITHE_OK);
        assert_int_equal(tithe_exchange_finish(ex, update, NULL), TITHE_OK);
        for (size_t i = 0; i < N; i++) assert_float_equal(update[i], 1, 1e-6);
    }
    tithe_exchange_free(ex);
}

/* Another scheme in mid-run: momentum and what was kept go on. */
static void another_scheme_goes_on(void **state)
{
    (void)state;
    tithe_comm comm = ranks_here(RANKS);
    tithe_exchange *ex = open_over(&comm, "codec=topk:k=30;feedback=ec;momentum=0.9");
    float update[N], u[N], *x = gradients_make(RANKS, N, 1);
    put_all(ex, x);
    assert_int_equal(tithe_exchange_finish(ex, update, NULL), TITHE_OK);
    assert_int_equal(tithe_exchange_switch_scheme(ex, "artopk", NULL, NULL), TITHE_OK);
    float before[N];
    memcpy(u, tithe_exchange_momentum(ex, 2), sizeof u);
    memcpy(before, tithe_exchange_direction(ex), sizeof before);
    put_all(ex, x);
    assert_int_equal(tithe_exchange_finish(ex, update, NULL), TITHE_OK);
    for (size_t i = 0; i < N; i++) {
        assert_float_equal(tithe_exchange_momentum(ex, 2)[i], 0.9f * u[i] + x[2 * N + i], 1e-6);
        assert_float_equal(tithe_exchange_direction(ex)[i], update[i] + 0.9f * before[i], 1e-6);
    }
    free(x);
    tithe_exchange_free(ex);
}

static void what_is_refused(void **state)
{
    (void)state;
    tithe_comm comm = ranks_here(RANKS);
    tithe_exchange *ex = NULL;
    static const char *const wrong[] = {"momentum=1", "momentum=-0.1", "momentum=nan", "momentum=x"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        expect(tithe_exchange_open(&comm, wrong[i], N, &ex, NULL) != TITHE_OK, "%s is taken", wrong[i]);
    tithe_codec *codec = codec_with("all|raw", (tithe_codec_options){0});
    const tithe_exchange_config asked[] = {{.momentum = 1.5},
                                           {.momentum = (double)NAN},
                                           {.momentum = 0.9, .restores = true},
                                           {.momentum = 0.9, .taking_part = 2}};
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        tithe_exchange_config config = asked[i];
        tithe_error error = {0};
        config.size = sizeof config;
        config.comm = &comm;
        config.codec = codec;
        assert_int_equal(tithe_exchange_create(&config, N, &ex, &error), TITHE_E_SPEC);
        expect(strstr(error.text, "`momentum`") != NULL, "%s", error.text);
    }
    tithe_codec_free(codec);
    tithe_outer *outer = NULL;
    ex = open_over(&comm, "momentum=0.9");
    assert_int_equal(tithe_outer_open(ex, "lr=1", &outer, NULL), TITHE_E_SPEC);
    tithe_exchange_free(ex);
    ex = open_over(&comm, "momentum=0");
    assert_null(tithe_exchange_momentum(ex, 0));
    assert_null(tithe_exchange_direction(ex));
    tithe_exchange_free(ex);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dense_is_as_without),     cmocka_unit_test(the_host_moves_along_what_was_sent),
        cmocka_unit_test(however_it_is_put),       cmocka_unit_test(steps_that_are_not_taken),
        cmocka_unit_test(another_scheme_goes_on),  cmocka_unit_test(what_is_refused),
        cmocka_unit_test(mistakes_leave_no_trace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
