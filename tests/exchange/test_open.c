/* test_open.c - an exchange from two words is the one from a config. */
#include "exchange/group.h"

enum { N = 300, RANKS = 3 };

static void two_words_are_a_config(void **state)
{
    (void)state;
    tithe_comm comm = ranks_here(RANKS);
    tithe_exchange *ex = NULL;
    tithe_error error = {0};
    assert_int_equal(tithe_exchange_open(&comm, "topk:keep=0.1", "ec", N, &ex, &error), TITHE_OK);
    group *g = group_make(&(wanted){.codec = "topk:keep=0.1", .feedback = "ec", .ranks = RANKS, .n = N});
    static float update[N];
    for (unsigned k = 0; k < 5; k++) {
        float *x = gradients_make(RANKS, N, k);
        for (unsigned r = 0; r < RANKS; r++)
            assert_int_equal(tithe_exchange_put(ex, r, 0, x + (size_t)r * N, 0.25, &error), TITHE_OK);
        assert_int_equal(tithe_exchange_finish(ex, update, &error), TITHE_OK);
        group_put_all(g, x, 0.25);
        group_finish(g);
        expect(same_floats(update, g->update, N), "another update in step %u", k);
        free(x);
    }
    group_free(g);
    tithe_exchange_free(ex);
}

static void what_makes_no_sense_is_refused(void **state)
{
    (void)state;
    tithe_comm comm = ranks_here(2);
    tithe_exchange *ex = NULL;
    tithe_error error = {0};
    assert_int_equal(tithe_exchange_open(&comm, "nothing", "ec", N, &ex, &error), TITHE_E_SPEC);
    assert_true(tithe_exchange_open(&comm, "topk:keep=0.1", "never", N, &ex, &error) != TITHE_OK);
    assert_non_null(strstr(error.text, "ef21")); /* what there is */
    assert_int_equal(tithe_exchange_open(NULL, "raw", NULL, N, &ex, &error), TITHE_E_ARGUMENT);
    assert_null(ex);
    assert_int_equal(tithe_exchange_open(&comm, "raw", NULL, N, &ex, &error), TITHE_OK); /* no feedback */
    tithe_exchange_free(ex);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(two_words_are_a_config),
                                       cmocka_unit_test(what_makes_no_sense_is_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
