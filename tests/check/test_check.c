/* test_check.c - honest codecs pass, and the rows say what they should. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h> /* after those above, which it needs */

#include "check/rows.h"
#include "tithe/tithe.h"

static rows check_spec(const char *spec, uint64_t seed)
{
    tithe_codec *codec;
    tithe_error error = {0};
    if (tithe_codec_create(spec, NULL, &codec, &error) != TITHE_OK) fail_msg("%s: %s", spec, error.text);
    rows r = {.print = true};
    assert_int_equal(tithe_check_codec(codec, seed, keep_row, &r), TITHE_OK);
    tithe_codec_free(codec);
    for (size_t i = 0; i < r.count; i++) { /* the codec, and with it the spec, is gone */
        assert_non_null(r.list[i].claim);
        assert_true(memchr(r.list[i].detail, 0, sizeof r.list[i].detail) != NULL);
    }
    return r;
}

static void honest_codecs_pass(void **state)
{
    (void)state;
    static const char *const specs[] = {"all|raw",
                                        "all|natural",
                                        "all|natural:bits=8",
                                        "all|natural:type=f64",
                                        "all|sign",
                                        "all|f16",
                                        "topk:keep=0.1|raw",
                                        "topk:k=1|natural",
                                        "topk:keep=0.05|sign",
                                        "mstopk:keep=0.1|natural",
                                        "randk:keep=0.25|raw",
                                        "randk:k=3|natural",
                                        "randk:keep=0.1,scale=contractive|raw",
                                        "randk:k=1|raw",
                                        "stochastic:keep=0.1|raw",
                                        "stochastic:k=5,scale=contractive|raw",
                                        "threshold:lambda=0.5|raw",
                                        "threshold:lambda=3e-4|natural",
                                        "given|natural",
                                        "all|dither:s=7,bucket=64",
                                        "all|dither:s=1",
                                        "topk:keep=0.1|dither:s=3,p=inf,code=elias",
                                        "all|natdither:s=5,p=1,bucket=32,norm=natural",
                                        "all|natdither:s=3,scale=contractive",
                                        "topk:keep=0.1,per=layer|natural"};
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++)
        for (uint64_t seed = 1; seed <= 3; seed++) {
            const rows r = check_spec(specs[i], seed);
            if (r.failed) fail_msg("%s, seed %llu", specs[i], (unsigned long long)seed);
            assert_true(r.count >= 8);
            assert_non_null(row_of(&r, "round trip"));
            assert_non_null(row_of(&r, "length"));
        }
}

static void rows_follow_the_traits(void **state)
{
    (void)state;
    rows r = check_spec("all|natural", 1);
    assert_non_null(row_of(&r, "unbiased"));
    assert_non_null(row_of(&r, "second moment"));
    assert_non_null(row_of(&r, "fixed size"));
    assert_non_null(row_of(&r, "error feedback"));
    assert_true(row_of(&r, "index bits")->measured == 0);
    assert_true(row_of(&r, "value bits")->measured == 9);
    r = check_spec("threshold:lambda=0.5|raw", 1);
    assert_non_null(row_of(&r, "absolute error"));
    assert_null(row_of(&r, "unbiased"));
    assert_null(row_of(&r, "fixed size"));
    r = check_spec("topk:keep=0.001|raw", 1); /* 500 entries take a longer vector */
    assert_non_null(row_of(&r, "contraction"));
    assert_non_null(row_of(&r, "index bits"));
    r = check_spec("randk:k=1|raw", 1); /* omega >= 1: not for error feedback */
    assert_null(row_of(&r, "error feedback"));
}

static void intervals_are_narrow(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        rows r = check_spec("all|natural", seed);
        assert_true(row_of(&r, "unbiased")->bound < 0.01);
        r = check_spec("all|dither:s=7,bucket=64", seed);
        assert_true(row_of(&r, "unbiased")->bound < 0.03);
    }
}

static bool stop_at_once(void *context, const tithe_check_row *row)
{
    (void)row;
    ++*(int *)context;
    return false;
}

static void reporting_can_be_stopped(void **state)
{
    (void)state;
    tithe_codec *codec;
    int calls = 0;
    assert_int_equal(tithe_codec_create("topk:k=9|raw", NULL, &codec, NULL), TITHE_OK);
    assert_int_equal(tithe_check_codec(codec, 1, stop_at_once, &calls), TITHE_OK);
    assert_int_equal(calls, 1);
    assert_int_equal(tithe_check_codec(NULL, 1, stop_at_once, &calls), TITHE_E_ARGUMENT);
    assert_int_equal(tithe_check_codec(codec, 1, NULL, NULL), TITHE_E_ARGUMENT);
    tithe_codec_free(codec);
}

static void same_seed_same_rows(void **state)
{
    (void)state;
    const rows a = check_spec("randk:keep=0.2|natural", 5), b = check_spec("randk:keep=0.2|natural", 5);
    assert_int_equal(a.count, b.count);
    for (size_t i = 0; i < a.count; i++) {
        assert_true(a.list[i].measured == b.list[i].measured && a.list[i].bound == b.list[i].bound);
        assert_string_equal(a.list[i].detail, b.list[i].detail);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(honest_codecs_pass), cmocka_unit_test(rows_follow_the_traits),
        cmocka_unit_test(intervals_are_narrow), cmocka_unit_test(reporting_can_be_stopped),
        cmocka_unit_test(same_seed_same_rows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
