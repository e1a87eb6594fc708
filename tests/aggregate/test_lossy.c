/* test_lossy.c - whatever the network does with packets: no wrong sum, and an end. */
#include "aggregate/lossy.h"

static void run_one(unsigned workers, unsigned reductions, unsigned chunks, weather sky, uint64_t seed)
{
    static lossy l;
    l = (lossy){.workers = workers, .reductions = reductions, .chunks = chunks, .sky = sky, .seed = seed};
    lossy_run(&l);
    const agg_counts *counts = ti_aggregate_counts(l.s.a);
    uint64_t sums = 0;
    for (unsigned r = 0; r < reductions; r++) sums += 1 + (r * 7 + 3) % chunks;
    expect(l.wrong == 0, "%u workers, seed %llu: %llu numbers are wrong", workers, (unsigned long long)seed,
           (unsigned long long)l.wrong);
    expect(counts->aggregated == sums, "%llu sums of %llu", (unsigned long long)counts->aggregated,
           (unsigned long long)sums);
    for (agg_reason r = AGG_SHORT; r < AGG_REASONS; r++)
        expect(r == AGG_REPLAYED || counts->dropped[r] == 0, "%llu packets were dropped as %s",
               (unsigned long long)counts->dropped[r], ti_agg_reason_name(r));
    if (sky.loss == 0 && sky.repeat == 0 && sky.slow < 0.001)
        expect(counts->packets == sums * workers + workers + counts->retransmitted,
               "packets came from nowhere");
    lossy_free(&l);
}

static void no_weather_spoils_a_sum(void **state)
{
    (void)state;
    static const weather skies[] = {
        {0, 0, 1e-4, 1e-4},   {0.01, 0.01, 1e-4, 3e-4}, {0.1, 0.1, 1e-4, 1e-3}, {0.4, 0.3, 1e-5, 1e-2},
        {0, 0.5, 1e-5, 2e-2}, {0.01, 0, 0.3, 0.5},      {0.8, 0, 1e-4, 1e-4},
    };
    for (size_t s = 0; s < sizeof skies / sizeof *skies; s++)
        for (unsigned workers = 1; workers <= LOSSY_WORKERS; workers++)
            run_one(workers, 20, 60, skies[s], 1000 * s + workers);
}

/* 10^5 packets; a million of each are in slow_million.c. */
static void one_in_a_hundred(void **state)
{
    (void)state;
    static const unsigned workers[] = {2, 4, 8};
    for (unsigned i = 0; i < 3; i++)
        run_one(workers[i], 100, 1000, (weather){0.01, 0.01, 1e-4, 5e-4}, 17 + i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_weather_spoils_a_sum),
        cmocka_unit_test(one_in_a_hundred),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
