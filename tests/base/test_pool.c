/* test_pool.c - every part runs exactly once, on as many threads as there are, round after round. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/pool.h"

enum { MAX = 1000 };

typedef struct tally {
    atomic_int runs[MAX];
} tally;

static void count_part(void *context, unsigned part)
{
    atomic_fetch_add(&((tally *)context)->runs[part], 1);
}

static void every_part_runs_once(void **state)
{
    (void)state;
    for (unsigned threads = 1; threads <= 8; threads++) {
        tithe_pool *pool;
        assert_int_equal(tithe_pool_create(threads, &pool, NULL), TITHE_OK);
        assert_int_equal(tithe_pool_threads(pool), threads);
        for (unsigned round = 0; round < 300; round++) {
            static tally counted;
            memset(&counted, 0, sizeof counted);
            const unsigned parts = round * 37 % MAX;
            ti_pool_run(pool, parts, count_part, &counted);
            for (unsigned part = 0; part < MAX; part++) assert_int_equal(counted.runs[part], part < parts);
        }
        tithe_pool_free(pool);
    }
}

/* Two parts that wait for each other end only if they run at the same time. */
static void wait_for_the_other(void *context, unsigned part)
{
    (void)part;
    pthread_barrier_wait(context);
}

static void parts_run_at_the_same_time(void **state)
{
    (void)state;
    tithe_pool *pool;
    pthread_barrier_t barrier;
    assert_int_equal(tithe_pool_create(3, &pool, NULL), TITHE_OK);
    assert_int_equal(pthread_barrier_init(&barrier, NULL, 3), 0);
    for (int round = 0; round < 100; round++) ti_pool_run(pool, 3, wait_for_the_other, &barrier);
    pthread_barrier_destroy(&barrier);
    tithe_pool_free(pool);
}

static void no_pool_is_one_thread(void **state)
{
    (void)state;
    static tally counted;
    ti_pool_run(NULL, 5, count_part, &counted);
    for (unsigned part = 0; part < MAX; part++) assert_int_equal(counted.runs[part], part < 5);
    assert_int_equal(tithe_pool_threads(NULL), 1);
    tithe_pool_free(NULL);
}

static void splits_cover_everything(void **state)
{
    (void)state;
    const size_t units[] = {1, 8, 64, 8192};
    for (size_t n = 0; n < 200000; n = n * 3 / 2 + 1)
        for (size_t u = 0; u < 4; u++)
            for (unsigned parts = 1; parts <= 7; parts++) {
                assert_int_equal(pool_begin(n, units[u], parts, 0), 0);
                assert_int_equal(pool_begin(n, units[u], parts, parts), n);
                for (unsigned part = 0; part < parts; part++) {
                    const size_t begin = pool_begin(n, units[u], parts, part);
                    assert_int_equal(begin % units[u], 0);
                    assert_true(begin <= pool_begin(n, units[u], parts, part + 1));
                }
            }
}

static void the_environment_says_how_many(void **state)
{
    (void)state;
    tithe_pool *pool;
    tithe_error error;
    assert_int_equal(setenv("TITHE_THREADS", "3", 1), 0);
    assert_int_equal(tithe_pool_create(0, &pool, NULL), TITHE_OK);
    assert_int_equal(tithe_pool_threads(pool), 3);
    tithe_pool_free(pool);
    assert_int_equal(setenv("TITHE_THREADS", "three", 1), 0); /* not a number: as if it were not there */
    assert_int_equal(tithe_pool_create(0, &pool, NULL), TITHE_OK);
    assert_true(tithe_pool_threads(pool) >= 1);
    tithe_pool_free(pool);
    assert_int_equal(tithe_pool_create(100000, &pool, &error), TITHE_E_ARGUMENT);
    assert_non_null(strstr(error.text, "256"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_part_runs_once),          cmocka_unit_test(parts_run_at_the_same_time),
        cmocka_unit_test(no_pool_is_one_thread),         cmocka_unit_test(splits_cover_everything),
        cmocka_unit_test(the_environment_says_how_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
