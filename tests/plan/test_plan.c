/* test_plan.c - the plan against itself: break-even bandwidth, frames, edges. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

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
            .speed = {1e-9 * uniform(&random), 3e-9 * uniform(&random), 3e-9 * uniform(&random),
                      1e-9 * uniform(&random)},
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

static void expect_near(double value, double expected, double within)
{
    if (!(fabs(value - expected) <= within)) fail_msg("%.12g, not %.12g", value, expected);
}

static const tithe_plan_row *find(const tithe_plan_row *rows, size_t count, const char *scheme,
                                  const char *collective)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(rows[i].scheme, scheme) == 0 && strcmp(rows[i].collective, collective) == 0)
            return &rows[i];
    fail_msg("there is no row %s %s", scheme, collective);
    return NULL;
}

static double real_frame(size_t n, size_t k)
{
    tithe_codec *codec;
    const tithe_codec_options open = {.open_level = true};
    assert_int_equal(tithe_codec_create("topk|raw", &open, &codec, NULL), TITHE_OK);
    const double frame = (double)tithe_codec_length(codec, n, k, TITHE_EXCHANGE);
    tithe_codec_free(codec);
    return frame;
}

/* --count frame charges what a codec would really write, in the rounds that there really are; --count paper neither. */
static void frames_are_real(void **state)
{
    (void)state;
    const double keeps[] = {0.01};
    tithe_plan_request q = {
        .params = 100000, .workers = 4, .link = {1e-3, 1e6}, .keeps = keeps, .keep_count = 1};
    tithe_plan_row rows[16];
    tithe_plan plan;
    const double frame = real_frame(100000, 1000);
    const struct {
        const char *scheme, *collective;
        double own, paper; /* seconds; 0: the paper has no such row */
    } expected[] = {
        {"dense", "star", 2e-3 + 6 * 0.4, 2e-3 + 6 * 0.4},
        {"dense", "ring", 6e-3 + 1.5 * 0.4, 6e-3 + 1.5 * 0.4},
        {"dense", "tree", 4e-3 + 4 * 0.4, 4e-3 + 4 * 0.4},
        {"dense", "direct", 11e-3 + 1.5 * 0.4 + 5e-6, 0}, /* parts of 100 kB: in turns */
        {"gather", "allgather", 6e-3 + (3 * 4 + 3 * frame) / 1e6, 2e-3 + 3 * 8000 / 1e6},
        {"gather", "tree", 8e-3 + 11 * (4 + frame) / 1e6, 0},
        {"star", "star", 2e-3 + 6 * frame / 1e6, 0},
        {"artopk", "ring", 8e-3 + (1.5 * 4000 + 2 * (frame - 4000)) / 1e6, 8e-3 + 3.5 * 4000 / 1e6},
        {"artopk", "tree", 6e-3 + (4 * 4000 + 2 * (frame - 4000)) / 1e6, 6e-3 + 6 * 4000 / 1e6},
        {"artopk", "direct", 4e-3 + (1.5 * 4000 + 2 * (frame - 4000)) / 1e6, 0},
    };
    enum { ROWS = sizeof expected / sizeof *expected };
    for (int paper = 0; paper < 2; paper++) {
        q.count_paper = paper;
        const size_t count = tithe_plan_rows(&q);
        assert_int_equal(count, paper ? 6 : ROWS);
        assert_int_equal(tithe_plan_make(&q, rows, &plan, NULL), TITHE_OK);
        for (size_t i = 0; i < ROWS; i++) {
            const double seconds = paper ? expected[i].paper : expected[i].own;
            if (seconds > 0)
                expect_near(find(rows, count, expected[i].scheme, expected[i].collective)->network_seconds,
                            seconds, 1e-12);
        }
    }
}

/* ---- against the schedules that run ------------------------------------------------------------------------------ */

/* What the busiest rank sends in each round of a schedule, summed; parts of equal length. */
static double busiest(unsigned size, unsigned rounds,
                      void (*move)(unsigned size, unsigned rank, unsigned round, tithe_move *move))
{
    double sum = 0;
    for (unsigned round = 0; round < rounds; round++) {
        unsigned most = 0;
        for (unsigned rank = 0; rank < size; rank++) {
            tithe_move m = {.to = TITHE_NOBODY, .from = TITHE_NOBODY};
            move(size, rank, round, &m);
            if (m.to != TITHE_NOBODY && m.send_end - m.send > most) most = m.send_end - m.send;
        }
        sum += most;
    }
    return sum;
}

static void rounds_are_those_that_run(void **state)
{
    (void)state;
    const double keeps[] = {0.001};
    for (unsigned workers = 1; workers <= 64; workers++) {
        const tithe_plan_request q = {
            .params = 640000, .workers = workers, .link = {1, 1}, .keeps = keeps, .keep_count = 1};
        tithe_plan_row rows[16];
        tithe_plan plan;
        const size_t count = tithe_plan_rows(&q);
        const double frame = real_frame(640000, 640);
        assert_int_equal(tithe_plan_make(&q, rows, &plan, NULL), TITHE_OK);
        for (const char *const *name = (const char *const[]){"ring", "tree", NULL}; *name; name++) {
            const tithe_collective *c = tithe_collective_find(*name);
            const tithe_plan_row *dense = find(rows, count, "dense", *name);
            const tithe_plan_row *gather = find(rows, count, "gather", **name == 'r' ? "allgather" : "tree");
            const unsigned reduce = c->reduce_rounds(workers), handed = c->gather_rounds(workers);
            expect_near(dense->rounds, reduce, 1e-9);
            expect_near(dense->bytes, busiest(workers, reduce, c->reduce) * 4 * q.params / c->parts(workers),
                        1e-3);
            expect_near(gather->rounds, 2 * handed, 1e-9);
            expect_near(gather->bytes, busiest(workers, handed, c->gather) * (4 + frame), 1e-3);
        }
    }
}

/* Where frames would be longer together than the vector, the vector is summed, as scheme_gather.c does. */
static void long_frames_are_summed(void **state)
{
    (void)state;
    const double keeps[] = {0.9};
    const tithe_plan_request q = {
        .params = 100000, .workers = 8, .link = {1e-3, 1e6}, .keeps = keeps, .keep_count = 1};
    tithe_plan_row rows[16];
    tithe_plan plan;
    assert_int_equal(tithe_plan_make(&q, rows, &plan, NULL), TITHE_OK);
    expect_near(find(rows, tithe_plan_rows(&q), "gather", "allgather")->network_seconds,
                9e-3 + (7 * 4 + 2 * 7.0 / 8 * 400000) / 1e6, 1e-12);
}

/* ---- a cost in place of a link ------------------------------------------------------------------------------------ */

/* A straight line gives the times of its latency and bandwidth, which are found again. */
static void a_cost_is_a_link(void **state)
{
    (void)state;
    const double keeps[] = {0.01};
    tithe_cost *cost;
    tithe_plan_request q = {
        .params = 1000000, .workers = 5, .link = {2e-3, 5e6}, .keeps = keeps, .keep_count = 1};
    tithe_plan_row by_link[16], by_cost[16];
    tithe_plan one, other;
    tithe_link link;
    assert_int_equal(tithe_cost_create("alphabeta:latency=2ms,bandwidth=5e6", &cost, NULL), TITHE_OK);
    assert_int_equal(tithe_link_of_cost(cost, &link, NULL), TITHE_OK);
    expect_near(link.latency, 2e-3, 2e-5);
    expect_near(link.bandwidth, 5e6, 1);
    assert_int_equal(tithe_plan_make(&q, by_link, &one, NULL), TITHE_OK);
    q.cost = cost;
    assert_int_equal(tithe_plan_make(&q, by_cost, &other, NULL), TITHE_OK);
    for (size_t i = 0; i < tithe_plan_rows(&q); i++)
        expect_near(by_link[i].seconds, by_cost[i].seconds, 1e-9);
    assert_int_equal(one.winner, other.winner);
    tithe_cost_free(cost);
    assert_int_equal(tithe_cost_create("packet:c1=576,payload=512", &cost, NULL), TITHE_OK);
    assert_int_equal(tithe_link_of_cost(cost, &link, NULL), TITHE_E_ARGUMENT); /* bytes are no seconds */
    tithe_cost_free(cost);
}

static void nobody_to_talk_to(void **state)
{
    (void)state;
    const double keeps[] = {0.1};
    const tithe_plan_request q = {
        .params = 10, .workers = 1, .link = {1, 1}, .keeps = keeps, .keep_count = 1};
    tithe_plan_row rows[16];
    tithe_plan plan;
    assert_int_equal(tithe_plan_make(&q, rows, &plan, NULL), TITHE_OK);
    for (size_t i = 0; i < tithe_plan_rows(&q); i++) assert_true(rows[i].network_seconds == 0);
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
        cmocka_unit_test(below_break_even_it_pays),  cmocka_unit_test(frames_are_real),
        cmocka_unit_test(rounds_are_those_that_run), cmocka_unit_test(long_frames_are_summed),
        cmocka_unit_test(a_cost_is_a_link),          cmocka_unit_test(nobody_to_talk_to),
        cmocka_unit_test(speeds_are_measured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
