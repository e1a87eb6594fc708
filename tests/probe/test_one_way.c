/* test_one_way.c - from round trips to a link: made-up times of a machine that is busy now and then. */
#include "support.h"

#include "probe/probe.h"

enum { LENGTHS = 13 };
static const double LATENCY = 5e-3, BANDWIDTH = 1.25e7;

static double round_trip(double bytes)
{
    return 2 * LATENCY + bytes / BANDWIDTH;
}

static double length_of(size_t i)
{
    return i == 0 ? 1 : 64 * pow(3, (double)i);
}

/* Whatever is held up, and for however long: nothing arrives before its time, and longer ones take no less. */
static void nothing_arrives_early(void **state)
{
    (void)state;
    for (unsigned seed = 0; seed < 2000; seed++) {
        dice d = {seed};
        tithe_probe_link link = {.count = LENGTHS};
        double shortest = INFINITY;
        for (size_t i = 0; i < LENGTHS; i++) {
            const double clean = round_trip(length_of(i)),
                         held_up = roll_below(&d, 3) ? 0 : 0.1 * roll_unit(&d);
            link.points[i] = (tithe_link_point){length_of(i), clean + held_up};
            shortest =
                fmin(shortest, clean + held_up * roll_unit(&d)); /* the middle one is not the shortest */
        }
        ti_probe_one_way(&link, shortest);
        expect(link.link.latency >= LATENCY * (1 - 1e-12), "seed %u: latency %g", seed, link.link.latency);
        expect(link.link.bandwidth > 0 && isfinite(link.link.bandwidth), "seed %u: bandwidth %g", seed,
               link.link.bandwidth);
        for (size_t i = 1; i < LENGTHS; i++)
            expect(link.points[i].seconds >= link.points[i - 1].seconds, "seed %u: length %zu", seed, i);
    }
}

static void a_quiet_link_is_found(void **state)
{
    (void)state;
    tithe_probe_link link = {.count = LENGTHS};
    for (size_t i = 0; i < LENGTHS; i++)
        link.points[i] = (tithe_link_point){length_of(i), round_trip(length_of(i))};
    ti_probe_one_way(&link, round_trip(1));
    expect(fabs(link.link.latency - LATENCY) < 1e-2 * LATENCY, "latency %g", link.link.latency);
    expect(fabs(link.link.bandwidth - BANDWIDTH) < 1e-6 * BANDWIDTH, "bandwidth %g", link.link.bandwidth);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_arrives_early),
                                       cmocka_unit_test(a_quiet_link_is_found)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
