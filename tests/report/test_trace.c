/* A trace in memory gives back what it was given, and owns it. */
#include "report/traces.h"

static void starts_empty(void **state)
{
    (void)state;
    tithe_trace *trace = trace_of("one");
    assert_string_equal(tithe_trace_name(trace), "one");
    assert_int_equal(tithe_trace_count(trace), 0);
    assert_int_equal(tithe_trace_fact_count(trace), 0);
    assert_null(tithe_trace_at(trace, 0));
    assert_null(tithe_trace_find(trace, "data"));
    tithe_trace_free(trace);
    tithe_trace_free(NULL);
    tithe_error error = {0};
    assert_int_equal(tithe_trace_create(NULL, &trace, &error), TITHE_E_ARGUMENT);
}

static void keeps_facts(void **state)
{
    (void)state;
    tithe_trace *trace = trace_of("facts");
    for (int i = 0; i < 100; i++) {
        char key[16], value[32];
        snprintf(key, sizeof key, "key %d", i);
        snprintf(value, sizeof value, "value %d", i);
        assert_int_equal(tithe_trace_fact(trace, key, value), TITHE_OK);
    }
    assert_int_equal(tithe_trace_fact(trace, "key 7", "another"), TITHE_OK);
    assert_int_equal(tithe_trace_fact_count(trace), 100);
    const char *key, *value;
    tithe_trace_fact_at(trace, 7, &key, &value);
    assert_string_equal(key, "key 7");
    assert_string_equal(value, "another");
    assert_string_equal(tithe_trace_find(trace, "key 99"), "value 99");
    tithe_trace_fact_at(trace, 100, &key, &value);
    assert_null(key);
    tithe_trace_free(trace);
}

static void refuses_keys_that_a_file_could_not_hold(void **state)
{
    (void)state;
    tithe_trace *trace = trace_of("keys");
    static const char *const bad[] = {"", "a:b", "a\nb", " a", "a ", "name", "\t"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        expect(tithe_trace_fact(trace, bad[i], "x") == TITHE_E_ARGUMENT, "'%s' was taken", bad[i]);
    assert_int_equal(tithe_trace_fact(trace, NULL, "x"), TITHE_E_ARGUMENT);
    assert_int_equal(tithe_trace_fact(trace, "x", NULL), TITHE_E_ARGUMENT);
    assert_int_equal(tithe_trace_fact_count(trace), 0);
    tithe_trace_free(trace);
}

static void owns_the_texts_of_records(void **state)
{
    (void)state;
    enum { COUNT = 1000 };
    tithe_trace *trace = trace_of("records");
    char reason[32];
    for (size_t i = 0; i < COUNT; i++) {
        tithe_trace_record r = plain_record(i, 1.0 / (double)(i + 1), 3);
        snprintf(reason, sizeof reason, "reason %zu", i / 10);
        r.reason = reason;
        r.scheme = i % 2 ? "gather" : NULL; /* NULL is taken for nothing to say */
        assert_int_equal(tithe_trace_add(trace, &r), TITHE_OK);
    }
    memset(reason, 'x', sizeof reason - 1);
    assert_int_equal(tithe_trace_count(trace), COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        char expected[32];
        snprintf(expected, sizeof expected, "reason %zu", i / 10);
        const tithe_trace_record *r = tithe_trace_at(trace, i);
        assert_true(r->step == (double)i && r->loss == 1.0 / (double)(i + 1) && isnan(r->gap));
        assert_string_equal(r->reason, expected);
        assert_string_equal(r->scheme, i % 2 ? "gather" : "");
        assert_string_equal(r->collective, "");
    }
    tithe_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(starts_empty),
        cmocka_unit_test(keeps_facts),
        cmocka_unit_test(refuses_keys_that_a_file_could_not_hold),
        cmocka_unit_test(owns_the_texts_of_records),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
