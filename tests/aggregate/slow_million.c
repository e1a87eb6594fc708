/* slow_million.c - a million packets each with 2, 4 and 8 workers, one in a hundred lost, and one repeated. */
#include "aggregate/lossy.h"

static void a_million_packets(void **state)
{
    (void)state;
    static const unsigned workers[] = {2, 4, 8};
    static lossy l;
    for (unsigned i = 0; i < 3; i++) {
        l = (lossy){.workers = workers[i],
                    .reductions = 2000 / workers[i],
                    .chunks = 1000,
                    .sky = {0.01, 0.01, 1e-4, 5e-4},
                    .seed = 100 + i};
        lossy_run(&l);
        const agg_counts *counts = ti_aggregate_counts(l.s.a);
        expect(l.packets >= 1000000, "only %llu packets were sent", (unsigned long long)l.packets);
        expect(l.wrong == 0, "%u workers: %llu numbers are wrong", workers[i], (unsigned long long)l.wrong);
        assert_true(counts->retransmitted > 0 && counts->dropped[AGG_REPLAYED] > 0);
        print_message("%u workers: %llu packets, %llu sums, %llu retransmitted, %llu replayed, %.0f s\n",
                      workers[i], (unsigned long long)l.packets, (unsigned long long)counts->aggregated,
                      (unsigned long long)counts->retransmitted,
                      (unsigned long long)counts->dropped[AGG_REPLAYED], l.now);
        lossy_free(&l);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_million_packets)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
