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
    tithe_exchange_totals a = {
        .size = sizeof a, .uplink_bytes = 1, .sent_messages = 2, .unsent = 0.5, .overlap = 3};
    const tithe_exchange_totals b = {
        .size = sizeof b, .uplink_bytes = 10, .sent_messages = 20, .cost = 5, .decode = 7};
    ti_counters_add(&a, &b);
    assert_true(a.uplink_bytes == 11 && a.sent_messages == 22 && a.unsent == 0.5 && a.overlap == 3 &&
                a.cost == 5 && a.decode == 7 && a.encode == 0);
}

/* A program that knows an older header asks for less, one that knows a newer one for more than there is. */
static void as_much_as_the_caller_has(void **state)
{
    (void)state;
    struct {
        tithe_exchange_totals totals;
        double newer;
    } t;
    tithe_comm *comm;
    tithe_exchange *ex;
    float g[8] = {1};
    assert_int_equal(tithe_comm_local(1, &comm, NULL), TITHE_OK);
    assert_int_equal(tithe_exchange_open(comm, "codec=topk:k=2", 8, &ex, NULL), TITHE_OK);
    assert_int_equal(tithe_exchange_step(ex, g, 1, NULL), TITHE_OK);
    const tithe_exchange_totals all = totals_of(ex);
    assert_true(all.uplink_bytes > 0 && all.downlink_bytes == 0); /* nobody else is there */
    for (size_t size = 0; size <= sizeof t; size += sizeof(double)) {
        memset(&t, 0x55, sizeof t);
        t.totals.size = size;
        tithe_exchange_total(ex, &t.totals);
        assert_int_equal(t.totals.size, size);
        const size_t filled = size < sizeof t.totals ? size : sizeof t.totals;
        if (filled > FIRST)
            assert_memory_equal(&t.totals.uplink_bytes, &all.uplink_bytes, filled - sizeof(size_t));
        for (size_t i = filled > FIRST ? filled : FIRST; i < sizeof t; i++)
            assert_int_equal(((const uint8_t *)&t)[i], 0x55);
    }
    t.totals.size = offsetof(tithe_exchange_totals, downlink_bytes);
    t.totals.uplink_bytes = 3;
    for (const tithe_counter *c = tithe_counters(); c->name; c++)
        assert_true(tithe_counter_of(&t.totals, c) == (strcmp(c->name, "uplink_bytes") == 0 ? 3 : 0));
    tithe_exchange_continue(ex, 7, &t.totals, NULL); /* what it does not have goes on */
    assert_true(totals_of(ex).uplink_bytes == 3 && totals_of(ex).downlink_bytes == all.downlink_bytes);
    tithe_exchange_free(ex);
    tithe_comm_free(comm);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_total_has_a_row), cmocka_unit_test(sums),
                                       cmocka_unit_test(as_much_as_the_caller_has)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
