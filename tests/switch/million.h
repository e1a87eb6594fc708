/* million.h - a million packets each through real sockets with 2, 4 and 8 workers, one in a hundred lost, repeated, or late. */
#ifndef TESTS_SWITCH_MILLION_H
#define TESTS_SWITCH_MILLION_H

#include "switch/relay.h"

static void a_million_packets(void **state)
{
    (void)state;
    static const char *const codecs[] = {"all|natural", "all|int32", "all|dither:s=7"};
    static const unsigned steps[] = {260, 34, 80}; /* a million packets each */
    static relay r;
    for (unsigned i = 0; i < 3; i++) {
        const unsigned ranks = 2u << i;
        served s;
        served_start(&s, (tithe_switch_options){.workers = ranks, .datagram = 164, .slots = 64});
        relay_start(&r, s.address, 0.01, 0.01, 0.01, 50 + i);
        const wanted w = {.codec = codecs[i], .scheme = "switch", .ranks = ranks, .n = 128000};
        compare_steps(r.address, NULL, &w, steps[i]);
        relay_end(&r);
        served_end(&s);
        print_message("%u workers: %lu packets, %lu lost, %llu sums, %llu retransmitted, %llu dropped\n",
                      ranks, atomic_load(&r.packets), atomic_load(&r.lost),
                      (unsigned long long)s.counts.aggregated, (unsigned long long)s.counts.retransmitted,
                      (unsigned long long)s.counts.dropped);
        assert_true(atomic_load(&r.packets) >= 1000000 && atomic_load(&r.lost) > 5000 &&
                    s.counts.retransmitted > 0);
    }
}

#endif
