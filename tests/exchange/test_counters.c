/* The table of counters has all that is counted, once. */
#include "support.h"

#include "exchange/counters.h"

enum { FIRST = offsetof(tithe_exchange_totals, uplink_bytes) };

static void every_total_has_a_row(void **state)
{
    (void)state;
    unsigned rows[(sizeof(tithe_exchange_totals) - FIRST) / sizeof(double)] = {0};
    size_t count = 0;
    for (const tithe_counter *c = tithe_counters(); c->name; c++, count++) {
        const size_t place = (c->offset - FIRST) / sizeof(double);
        assert_true(place < sizeof rows / sizeof *rows && *c->doc && c->unit);
        expect(++rows[place] == 1, "%s is another one's field, too", c->name);
        for (const tithe_counter *other = tithe_counters(); other < c; other++)
            assert_string_not_equal(other->name, c->name);
    }
    assert_int_equal(count, sizeof rows / sizeof *rows);
    assert_int_equal(count, COUNTERS);
}

static void sums(void **state)
{
    (void)state;
    tithe_exchange_totals a = {.uplink_bytes = 1, .sent_messages = 2, .unsent = 0.5, .overlap = 3};
    const tithe_exchange_totals b = {.uplink_bytes = 10, .sent_messages = 20, .cost = 5, .decode = 7};
    ti_counters_add(&a, &b);
    assert_true(a.uplink_bytes == 11 && a.sent_messages == 22 && a.unsent == 0.5 && a.overlap == 3 &&
                a.cost == 5 && a.decode == 7 && a.encode == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_total_has_a_row), cmocka_unit_test(sums)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
