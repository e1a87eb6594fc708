/* slow_alarms.c - honest codecs raise no false alarm, over many seeds.
 *
 * At one in 10^6 rows, the few thousand rows tried here should all hold; a rate of one in 10^3, which a plain
 * interval of three deviations would have, could not stay hidden. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h> /* after those above, which it needs */

#include "check/rows.h"

static void expect_silence(const char *spec, uint64_t seeds)
{
    tithe_codec *codec;
    assert_int_equal(tithe_codec_create(spec, NULL, &codec, NULL), TITHE_OK);
    size_t failed = 0;
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        rows r = {.print = true};
        assert_int_equal(tithe_check_codec(codec, seed, keep_row, &r), TITHE_OK);
        failed += r.failed;
    }
    tithe_codec_free(codec);
    assert_int_equal(failed, 0);
}

static void natural_raises_no_alarm(void **state)
{
    (void)state;
    expect_silence("all|natural", 200);
}

/* Rare events: where a plain t-interval would raise one. */
static void rare_draws_raise_no_alarm(void **state)
{
    (void)state;
    expect_silence("randk:k=1|raw", 60);
    expect_silence("randk:k=1,scale=contractive|raw", 60);
    expect_silence("stochastic:k=3|natural", 60);
    expect_silence("all|dither:s=1", 60);
}

static void identities_raise_no_alarm(void **state)
{
    (void)state;
    size_t failed = 0;
    for (uint64_t seed = 1; seed <= 30; seed++) {
        rows r = {.print = true};
        assert_int_equal(tithe_check_identities(seed, keep_row, &r), TITHE_OK);
        failed += r.failed;
    }
    assert_int_equal(failed, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(natural_raises_no_alarm),
                                       cmocka_unit_test(rare_draws_raise_no_alarm),
                                       cmocka_unit_test(identities_raise_no_alarm)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
