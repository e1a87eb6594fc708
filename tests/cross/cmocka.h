/* cmocka.h - the part of cmocka that the unit tests use, in one header, for processors that the real one is not at hand
 * for: a test that fails says where and why, and the next one goes on. cmocka.pc beside it makes CMake find it. */
#ifndef TESTS_CROSS_CMOCKA_H
#define TESTS_CROSS_CMOCKA_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct CMUnitTest {
    const char *name;
    void (*run)(void **state);
};

static jmp_buf cross_next_test;
enum { CROSS_FAILED = 1, CROSS_SKIPPED };

static _Noreturn inline void cross_fail(const char *file, int line, const char *what)
{
    printf("%s:%d: %s\n", file, line, what);
    fflush(stdout);
    longjmp(cross_next_test, CROSS_FAILED);
}

static inline int cross_run(const struct CMUnitTest *tests, size_t count, int (*setup)(void **),
                            int (*teardown)(void **))
{
    void *state = NULL;
    if (setup && setup(&state)) return 1;
    volatile int failed = 0;
    for (volatile size_t i = 0; i < count; i++) {
        void *own = state;
        printf("[ RUN      ] %s\n", tests[i].name);
        fflush(stdout);
        switch (setjmp(cross_next_test)) {
        case 0:
            tests[i].run(&own);
            printf("[       OK ] %s\n", tests[i].name);
            break;
        case CROSS_SKIPPED: printf("[  SKIPPED ] %s\n", tests[i].name); break;
        default: printf("[  FAILED  ] %s\n", tests[i].name); failed++;
        }
    }
    if (teardown && teardown(&state)) failed++;
    printf("%zu tests, %d failed\n", count, failed);
    return failed;
}

#define cmocka_unit_test(f) \
    {                       \
#f, f               \
    }
#define cmocka_run_group_tests(tests, setup, teardown) \
    cross_run(tests, sizeof(tests) / sizeof *(tests), setup, teardown)

#define fail_msg(...) (printf(__VA_ARGS__), printf("\n"), cross_fail(__FILE__, __LINE__, "failed"))
#define fail() cross_fail(__FILE__, __LINE__, "failed")
#define skip() longjmp(cross_next_test, CROSS_SKIPPED)
#define cross_ask(condition, text) ((condition) ? (void)0 : cross_fail(__FILE__, __LINE__, text))

#define print_message(...) printf(__VA_ARGS__)
#define assert_true(c) cross_ask(c, #c)
#define assert_false(c) cross_ask(!(c), "not " #c)
#define assert_null(p) cross_ask((p) == NULL, #p " is not NULL")
#define assert_non_null(p) cross_ask((p) != NULL, #p " is NULL")
#define assert_int_equal(a, b) cross_ask((uintmax_t)(a) == (uintmax_t)(b), #a " is not " #b)
#define assert_int_not_equal(a, b) cross_ask((uintmax_t)(a) != (uintmax_t)(b), #a " is " #b)
#define assert_in_range(a, min, max)                                                                     \
    cross_ask((uintmax_t)(a) >= (uintmax_t)(min) && (uintmax_t)(a) <= (uintmax_t)(max), #a " is out of " \
                                                                                           "range")
/* As floats, which is what cmocka compares. */
#define assert_float_equal(a, b, off)                                                             \
    cross_ask((float)(a) - (float)(b) <= (float)(off) && (float)(b) - (float)(a) <= (float)(off), \
              #a " is not " #b)
#define assert_ptr_equal(a, b) cross_ask((const void *)(a) == (const void *)(b), #a " is not " #b)
#define assert_string_equal(a, b) cross_ask(strcmp(a, b) == 0, #a " is not " #b)
#define assert_string_not_equal(a, b) cross_ask(strcmp(a, b) != 0, #a " is " #b)
#define assert_memory_equal(a, b, n) cross_ask(memcmp(a, b, n) == 0, #a " differs from " #b)
#define assert_memory_not_equal(a, b, n) cross_ask(memcmp(a, b, n) != 0, #a " equals " #b)

#endif
