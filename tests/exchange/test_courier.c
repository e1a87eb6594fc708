/* The courier: buckets go in their order, one at a time, beside other work. */
#include "support.h"

#include "exchange/courier.h"

#include <sched.h>
#include <stdatomic.h>
#include <time.h>

typedef struct trip {
    atomic_uint next;
    unsigned fails_at;
} trip;

static tithe_status note_trip(void *context, unsigned bucket, tithe_error *error)
{
    trip *t = context;
    const struct timespec moment = {.tv_nsec = 2000000};
    nanosleep(&moment, NULL);
    if (atomic_fetch_add(&t->next, 1) != bucket) return TITHE_E_CORRUPT; /* not in order */
    if (bucket != t->fails_at) return TITHE_OK;
    snprintf(error->text, sizeof error->text, "no way");
    return TITHE_E_PEER;
}

/* In order, whatever the order in which they become ready; a failure ends the round; the next one is fresh. */
static void goes_in_order_and_fails_in_order(void **state)
{
    (void)state;
    trip t = {.fails_at = 99};
    courier *c;
    double hidden;
    tithe_error error;
    assert_int_equal(ti_courier_start(4, note_trip, &t, &c, NULL), TITHE_OK);
    for (int round = 0; round < 5; round++) {
        static const unsigned order[] = {2, 0, 3, 1};
        atomic_store(&t.next, 0);
        for (int i = 0; i < 4; i++) ti_courier_ready(c, order[i]);
        /* We are at work until the last one is on its way: the others went meanwhile, however busy the machine is. */
        while (atomic_load(&t.next) < 4) sched_yield();
        assert_int_equal(ti_courier_await(c, &hidden, &error), TITHE_OK);
        assert_int_equal(atomic_load(&t.next), 4);
        assert_true(hidden > 0); /* it worked while we did */
    }
    t.fails_at = 1;
    atomic_store(&t.next, 0);
    for (unsigned i = 0; i < 4; i++) ti_courier_ready(c, i);
    assert_int_equal(ti_courier_await(c, &hidden, &error), TITHE_E_PEER);
    assert_string_equal(error.text, "no way");
    assert_int_equal(atomic_load(&t.next), 2);
    ti_courier_stop(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(goes_in_order_and_fails_in_order)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
