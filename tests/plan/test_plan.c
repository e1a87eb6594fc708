/* test_plan.c - the plan against itself: break-even bandwidth, frames, edges. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/rng.h"
#include "tithe/tithe.h"

static double uniform(uint64_t *state)
{
    return (double)(rng_mix(*state += RNG_GOLDEN) >> 11) * 0x1p-53;
}

static bool compressed_wins(tithe_plan_request q, double bandwidth)
{
    tithe_plan_row rows[32];
    tithe_plan plan;
    q.link.bandwidth = bandwidth;
    assert_int_equal(tithe_plan_make(&q, rows, &plan, NULL), TITHE_OK);
    return rows[plan.winner].keep < 1;
}

/* Just below it a compressed row wins; just above, a dense one, as the smallest dense time is compared with. */
static void below_break_even_it_pays(void **state)
{
    (void)state;
    uint64_t random = 7;
    unsigned finite = 0;
    for (int i = 0; i < 2000; i++) {
        const double keeps[] = {pow(10, -1 - 3 * uniform(&random)), pow(10, -1 - 3 * uniform(&random))};
        const tithe_plan_request q = {
            .params = floor(pow(10, 3 + 5 * uniform(&random))),
            .workers = 2 + (unsigned)(63 * uniform(&random)),
            .link = {pow(10, -5 + 4 * uniform(&random)), 1e8},
            .keeps = keeps,
            .keep_count = 2,
            .count_paper = i % 2,
            .speed = {1e-9 * uniform(&random), 3e-9 * uniform(&random), 3e-9 * uniform(&random)},
        };
        tithe_plan_row rows[32];
        tithe_plan plan;
        assert_int_equal(tithe_plan_make(&q, rows, &plan, NULL), TITHE_OK);
        if (plan.break_even == 0 || isinf(plan.break_even)) continue;
        finite++;
        assert_true(compressed_wins(q, plan.break_even * 0.999));
        assert_false(compressed_wins(q, plan.break_even * 1.001));
    }
    assert_true(finite > 500);
}

/* --count frame charges what a codec would really write. */
static void frames_are_real(void **state)
{
    (void)state;
    const double keeps[] = {0.01};
    const tithe_plan_request q = {
        .params = 100000, .workers = 4, .link = {1e-3, 1e6}, .keeps = keeps, .keep_count = 1};
    tithe_plan_row rows[6];
    tithe_plan plan;
    assert_int_equal(tithe_plan_rows(&q), 6);
    assert_int_equal(tithe_plan_make(&q, rows, &plan, NULL), TITHE_OK);
    tithe_codec *codec;
    assert_int_equal(tithe_codec_create("topk:k=1000|raw", NULL, &codec, NULL), TITHE_OK);
    const double frame = (double)tithe_codec_length(codec, 100000, 1000, TITHE_EXCHANGE);
    tithe_codec_free(codec);
    assert_true(fabs(rows[3].network_seconds - (2 * 1e-3 + 3 * frame / 1e6)) < 1e-12);
    assert_true(fabs(rows[4].network_seconds - (8 * 1e-3 + (1.5 * 4000 + 2 * (frame - 4000)) / 1e6)) < 1e-12);
    assert_true(fabs(rows[1].network_seconds - (6e-3 + 1.5 * 0.4)) < 1e-12);
}

static void nobody_to_talk_to(void **state)
{
    (void)state;
    const double keeps[] = {0.1};
    const tithe_plan_request q = {
        .params = 10, .workers = 1, .link = {1, 1}, .keeps = keeps, .keep_count = 1};
    tithe_plan_row rows[6];
    tithe_plan plan;
    assert_int_equal(tithe_plan_make(&q, rows, &plan, NULL), TITHE_OK);
    for (int i = 0; i < 6; i++) assert_true(rows[i].network_seconds == 0);
    assert_true(rows[plan.winner].keep == 1 && plan.break_even == 0);
}

static void speeds_are_measured(void **state)
{
    (void)state;
    tithe_speed speed;
    assert_int_equal(tithe_speed_measure(&speed, NULL), TITHE_OK);
    assert_true(speed.encode_value > 0 && speed.encode_value < 1e-5);
    assert_true(speed.encode_entry >= 0 && speed.encode_entry < 1e-4);
    assert_true(speed.decode_entry > 0 && speed.decode_entry < 1e-4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(below_break_even_it_pays),
        cmocka_unit_test(frames_are_real),
        cmocka_unit_test(nobody_to_talk_to),
        cmocka_unit_test(speeds_are_measured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
