/* test_link.c - the estimate of a link: from times that are made up, so that latency and bandwidth are known; and over a
 * transport (the threads of queues.h), where all ranks must hold the same and counts must not change. */
#include "comm/link_estimate.h"

#include "queues.h"
#include "support.h"

/* ---- times that are made up ------------------------------------------------------------------------------- */

typedef struct made_up {
    double latency, bandwidth;
    double noise;     /* relative, of every time */
    double straggler; /* share of the rounds that take ten times as long */
    double besides;   /* seconds that a message takes besides latency and bytes */
} made_up;

static double taken(const made_up *m, dice *d, double bytes)
{
    const double clean = m->latency + m->besides + bytes / m->bandwidth;
    const double noisy = clean * (1 + m->noise * fabs(roll_gauss(d)));
    return roll_unit(d) < m->straggler ? 10 * noisy : noisy;
}

/* One report with rounds of `bytes`, the second half of them `times` as long. */
static void report(tithe_link_estimate *link, const made_up *m, dice *d, double bytes, double times)
{
    link_sample rounds[LINK_ROUNDS];
    for (unsigned i = 0; i < LINK_ROUNDS; i++) {
        const double length = bytes * (2 * i < LINK_ROUNDS ? 1 : times);
        rounds[i] = (link_sample){length, taken(m, d, length), 1, link->reports};
    }
    ti_link_learn(link, m->latency * (1 + m->noise * roll_unit(d)), rounds, (link_sample){0});
}

static bool is_near(double value, double wanted, double share)
{
    return fabs(value - wanted) <= share * wanted;
}

static void both_are_found(void **state)
{
    (void)state;
    static const double latencies[] = {2e-5, 1e-3, 1e-2}, bandwidths[] = {1.25e6, 1.25e7, 1.25e9};
    for (unsigned l = 0; l < 3; l++)
        for (unsigned b = 0; b < 3; b++)
            for (unsigned seed = 0; seed < 50; seed++) {
                const made_up m = {latencies[l], bandwidths[b], 0.03, 0.1, 0};
                dice d = {seed};
                tithe_link_estimate link = ti_link_start();
                const double bytes = fmax(4 * m.latency, 1e-3) * m.bandwidth;
                for (unsigned i = 0; i < 8; i++) report(&link, &m, &d, bytes, 1);
                expect(is_near(link.now.latency, m.latency, 0.04), "latency %g, not %g", link.now.latency,
                       m.latency);
                expect(is_near(link.now.bandwidth, m.bandwidth, 0.12), "bandwidth %g, not %g",
                       link.now.bandwidth, m.bandwidth);
            }
}

/* In the middle of a run; and back. */
static void a_change_is_followed(void **state)
{
    (void)state;
    for (unsigned seed = 0; seed < 50; seed++) {
        made_up m = {1e-3, 1.25e7, 0.03, 0.1, 0};
        dice d = {seed};
        tithe_link_estimate link = ti_link_start();
        for (unsigned phase = 0; phase < 4; phase++) {
            m.bandwidth = phase % 2 ? 1.25e6 : 1.25e7;
            m.latency = phase % 2 ? 2e-3 : 1e-3;
            for (unsigned i = 0; i < 4; i++) report(&link, &m, &d, 125000, 1); /* two seconds, in a job */
            expect(is_near(link.now.bandwidth, m.bandwidth, 0.2), "phase %u: bandwidth %g, not %g", phase,
                   link.now.bandwidth, m.bandwidth);
        }
    }
}

/* With two lengths, what every message takes besides does not count; with one, it is in the bandwidth. */
static void lengths_tell_what_one_length_cannot(void **state)
{
    (void)state;
    const made_up m = {1e-3, 1.25e7, 0.01, 0, 5e-3};
    dice d = {7};
    tithe_link_estimate one = ti_link_start(), two = ti_link_start();
    for (unsigned i = 0; i < 6; i++) {
        report(&one, &m, &d, 500000, 1);
        report(&two, &m, &d, 125000, 4);
    }
    expect(is_near(two.now.bandwidth, m.bandwidth, 0.05), "two lengths: %g", two.now.bandwidth);
    const double effective = 500000 / (500000 / m.bandwidth + m.besides);
    expect(is_near(one.now.bandwidth, effective, 0.05), "one length: %g, not %g", one.now.bandwidth,
           effective);
}

static void unknown_is_no_guess(void **state)
{
    (void)state;
    made_up m = {1e-2, 1.25e7, 0.03, 0.2, 0}; /* short messages that are held up do not tell either */
    dice d = {1};
    tithe_link_estimate link = ti_link_start();
    assert_true(isnan(link.now.latency) && isnan(link.now.bandwidth) && link.probe_bytes == 0);
    const link_sample none[LINK_ROUNDS] = {{0}};
    ti_link_learn(&link, 0, none, (link_sample){0});
    assert_true(isnan(link.now.latency) && isnan(link.now.bandwidth));
    link_sample rounds[LINK_ROUNDS] = {{1e6, 0.1, 1, 0}};
    ti_link_learn(&link, 0, rounds, (link_sample){0}); /* long, but the latency is not known */
    assert_true(isnan(link.now.bandwidth));
    link = ti_link_start();
    for (unsigned i = 0; i < 8; i++) report(&link, &m, &d, 1000, 1); /* 80 us beside 10 ms say nothing */
    assert_true(is_near(link.now.latency, m.latency, 0.04) && isnan(link.now.bandwidth));
    m.straggler = 0;
    report(&link, &m, &d, 1e6, 1);
    const double known = link.now.bandwidth;
    assert_true(is_near(known, m.bandwidth, 0.12));
    for (unsigned i = 0; i < 20; i++) ti_link_learn(&link, 0, none, (link_sample){0});
    assert_true(link.now.bandwidth == known); /* nothing says that it has changed */
}

/* What a busy machine adds to messages is not taken for what their bytes take. */
static void noise_is_no_bandwidth(void **state)
{
    (void)state;
    const made_up m = {1e-3, 1.25e7, 0.5, 0.2, 0};
    for (unsigned noisy = 0; noisy < 2; noisy++) {
        dice d = {5};
        tithe_link_estimate link = ti_link_start();
        link.noise = noisy ? 2e-3 : 0;
        for (unsigned i = 0; i < 8; i++) report(&link, &m, &d, 1e4, 1); /* 0.8 ms, up to twice as long */
        expect(!isnan(link.now.bandwidth) == !noisy, "noise %g: bandwidth %g", link.noise,
               link.now.bandwidth);
    }
}

/* Short messages that a slow link could not carry as fast show that it is slow no more; others say nothing. */
static void a_link_is_not_slower_than_it_shows(void **state)
{
    (void)state;
    made_up m = {1e-3, 2.5e5, 0.03, 0, 0};
    dice d = {11};
    tithe_link_estimate link = ti_link_start();
    for (unsigned i = 0; i < 4; i++) report(&link, &m, &d, 4000, 1);
    const double slow = link.now.bandwidth;
    assert_true(is_near(slow, m.bandwidth, 0.1));
    for (unsigned i = 0; i < 4; i++) report(&link, &m, &d, 50, 1);
    assert_true(is_near(link.now.bandwidth, slow, 0.05));
    m.bandwidth = 1.25e7;
    for (unsigned i = 0; i < 4; i++) report(&link, &m, &d, 4000, 1); /* 0.3 ms, half a latency is 0.5 */
    expect(link.now.bandwidth >= 4000 / 6e-4 && link.now.bandwidth <= m.bandwidth, "%g bytes/s",
           link.now.bandwidth);
}

/* Nor than they show after probes of a time when it was; and one probe that was held up is not the link. */
static void old_probes_are_no_limit(void **state)
{
    (void)state;
    const link_sample none[LINK_ROUNDS] = {{0}};
    for (unsigned held_up = 0; held_up < 2; held_up++) {
        made_up m = {1e-3, held_up ? 1.25e7 : 2.5e5, 0.03, 0, 0};
        dice d = {17};
        tithe_link_estimate link = ti_link_start();
        for (unsigned i = 0; i < LINK_PINGS; i++) {
            const double seconds = (i == 2 && held_up ? 4 : 1) * (taken(&m, &d, 1e6) + m.latency);
            ti_link_learn(&link, m.latency, none, (link_sample){1e6, seconds, 2, i / 2});
        }
        expect(is_near(link.now.bandwidth, m.bandwidth, 0.15), "probes: %g bytes/s", link.now.bandwidth);
        m.bandwidth = 1.25e7;
        for (unsigned i = 0; i < 4; i++) report(&link, &m, &d, 4000, 1);
        expect(link.now.bandwidth >= 4000 / 6e-4, "rounds: %g bytes/s", link.now.bandwidth);
    }
}

/* Once rounds have told, what probes said before counts no more, also when rounds are short again. */
static void rounds_outdate_probes(void **state)
{
    (void)state;
    made_up m = {1e-3, 2.5e5, 0.03, 0, 0};
    dice d = {19};
    const link_sample none[LINK_ROUNDS] = {{0}};
    tithe_link_estimate link = ti_link_start();
    for (unsigned i = 0; i < LINK_PINGS; i++)
        ti_link_learn(&link, m.latency, none, (link_sample){1e5, taken(&m, &d, 1e5) + m.latency, 2, i / 2});
    assert_true(is_near(link.now.bandwidth, m.bandwidth, 0.15));
    m.bandwidth = 1.25e7;
    for (unsigned i = 0; i < 4; i++) report(&link, &m, &d, 125000, 1);
    for (unsigned i = 0; i < 4; i++) report(&link, &m, &d, 200, 1);
    expect(is_near(link.now.bandwidth, m.bandwidth, 0.2), "%g bytes/s", link.now.bandwidth);
}

/* One report of another link is told apart, the second one is believed. */
static void two_reports_that_agree_are_believed(void **state)
{
    (void)state;
    for (unsigned faster = 0; faster < 2; faster++) {
        made_up m = {1e-3, faster ? 1.25e6 : 1.25e7, 0.03, 0, 0};
        dice d = {13};
        tithe_link_estimate link = ti_link_start();
        for (unsigned i = 0; i < 5; i++) report(&link, &m, &d, 125000, 1);
        const double before = m.bandwidth, after = m.bandwidth = faster ? 1.25e7 : 1.25e6;
        for (unsigned i = 0; i < 2; i++) {
            report(&link, &m, &d, 125000, 1);
            expect(is_near(link.newest, after, 0.2), "the newest: %g", link.newest);
            expect(is_near(link.now.bandwidth, i ? after : before, 0.2), "report %u: %g", i + 1,
                   link.now.bandwidth);
        }
    }
}

/* Probes that say nothing get longer; once one does, they stay. */
static void probes_grow_until_they_tell(void **state)
{
    (void)state;
    const made_up m = {1e-3, 1.25e7, 0.02, 0, 0};
    dice d = {3};
    tithe_link_estimate link = ti_link_start();
    const link_sample none[LINK_ROUNDS] = {{0}};
    for (unsigned i = 0; i < 20; i++) {
        const double bytes = (double)(link.ping_length << i % 2);
        const double there_and_back = taken(&m, &d, bytes) + taken(&m, &d, 1);
        ti_link_learn(&link, m.latency, none, (link_sample){bytes, there_and_back, 2, i / 2});
    }
    expect(link.ping_length >= 8192 && link.ping_length <= 65536, "%llu bytes",
           (unsigned long long)link.ping_length);
    expect(is_near(link.now.bandwidth, m.bandwidth, 0.25), "bandwidth %g, not %g", link.now.bandwidth,
           m.bandwidth);
}

/* ---- over a transport ------------------------------------------------------------------------------------- */

enum { MAX_RANKS = 5, STEPS = 40, NUMBERS = 4000 };

typedef struct process {
    pthread_t thread;
    tithe_comm comm;
    const char *collective;
    bool updates;
    float *vector, *scratch;
    tithe_link_estimate link;
    double sum;
    link_seen seen; /* after the first step */
    tithe_status status;
    tithe_error error;
} process;

static void *work(void *argument)
{
    process *p = argument;
    p->link = ti_link_start();
    for (unsigned step = 0; step < STEPS && !p->status; step++) {
        p->comm.seen.together = false;
        for (size_t i = 0; i < NUMBERS; i++) p->vector[i] = (float)(p->comm.first + 1);
        p->status = tithe_all_reduce(&p->comm, collective_of(p->collective), &p->vector, NUMBERS, p->scratch,
                                     &p->error);
        if (step == 0) p->seen = p->comm.seen;
        double values[2] = {1, p->comm.first};
        if (!p->status && p->updates)
            p->status = ti_link_meet(&p->comm, &p->link, values, 2, step + 1 == STEPS, &p->error);
        p->sum += values[0] + values[1];
    }
    return NULL;
}

static uint64_t run(const char *collective, unsigned size, bool updates, process *all)
{
    network net;
    uint64_t sent = 0;
    network_open(&net, size);
    for (unsigned r = 0; r < size; r++) {
        all[r] = (process){
            .comm = {.size = size, .first = r, .local = 1, .transport = &queues, .self = &net, .timeout = 60},
            .collective = collective,
            .updates = updates,
            .vector = calloc(NUMBERS, sizeof(float)),
            .scratch = calloc(NUMBERS, sizeof(float))};
        assert_true(all[r].vector && all[r].scratch);
        assert_int_equal(pthread_create(&all[r].thread, NULL, work, &all[r]), 0);
    }
    for (unsigned r = 0; r < size; r++) pthread_join(all[r].thread, NULL);
    for (unsigned r = 0; r < size; r++) {
        expect(all[r].status == TITHE_OK, "%s: %s", collective, all[r].error.text);
        assert_true(all[r].vector[NUMBERS - 1] == (float)(size * (size + 1) / 2));
        sent += all[r].comm.sent_bytes;
        free(all[r].vector);
        free(all[r].scratch);
    }
    network_close(&net);
    return sent;
}

static void all_ranks_hold_the_same_and_counts_stay(void **state)
{
    (void)state;
    static const char *const collectives[] = {"ring", "tree", "star", "direct"};
    process all[MAX_RANKS];
    for (unsigned c = 0; c < 4; c++)
        for (unsigned size = 2; size <= MAX_RANKS; size++) {
            const uint64_t without = run(collectives[c], size, false, all);
            const uint64_t with = run(collectives[c], size, true, all);
            expect(with == without, "%s, %u ranks: %llu bytes with updates, %llu without", collectives[c],
                   size, (unsigned long long)with, (unsigned long long)without);
            for (unsigned r = 0; r < size; r++) {
                const tithe_link_estimate *a = &all[0].link, *b = &all[r].link;
                assert_memory_equal(&a->now.latency, &b->now.latency, sizeof a->now.latency);
                assert_memory_equal(&a->now.bandwidth, &b->now.bandwidth, sizeof a->now.bandwidth);
                assert_memory_equal(a->rounds, b->rounds, sizeof a->rounds);
                assert_memory_equal(a->pings, b->pings, sizeof a->pings);
                assert_true(a->probe_bytes == b->probe_bytes && a->now.latency > 0 && a->reports > 0);
                assert_true(all[r].sum == STEPS * (size + size * (size - 1) / 2.0));
            }
            expect(all[0].link.probe_bytes <= 0.01 * (double)with, "%s, %u ranks: %g bytes of %llu",
                   collectives[c], size, all[0].link.probe_bytes, (unsigned long long)with);
        }
}

/* Rounds are taken where everybody sends and receives, and the same ones on all ranks. */
static void the_same_rounds_are_timed(void **state)
{
    (void)state;
    process all[MAX_RANKS];
    for (unsigned size = 2; size <= MAX_RANKS; size++) {
        static const char *const collectives[] = {"ring", "tree", "star", "direct"};
        for (unsigned c = 0; c < 4; c++) {
            run(collectives[c], size, false, all);
            const bool symmetric = c == 0 || c == 3;
            for (unsigned r = 0; r < size; r++) {
                const link_seen *seen = &all[r].seen;
                assert_true(seen->together == symmetric);
                unsigned taken_up = 0;
                for (unsigned i = 0; i < LINK_ROUNDS; i++) {
                    assert_true(seen->rounds[i].longest == all[0].seen.rounds[i].longest);
                    assert_true(seen->rounds[i].bytes <= (double)seen->rounds[i].longest);
                    taken_up += seen->rounds[i].longest > 0;
                }
                /* the second half of a ring, one round of direct */
                const unsigned rounds = c == 0 ? size - 1 : c == 3 ? 1 : 0;
                assert_int_equal(taken_up, rounds < LINK_ROUNDS ? rounds : LINK_ROUNDS);
            }
        }
    }
}

/* The least of the last 16, or of the last three if they were all far longer; of all ranks' the largest. Who hears nothing
 * any more has no say. */
enum { HEARD = 16, FAR = 3, LONG = FAR + 16 * 2 + 3 };
static void *hear(void *argument)
{
    process *p = argument;
    p->link = ti_link_start();
    for (unsigned i = 0; i < HEARD && p->comm.first == 1; i++) ti_link_hear(&p->comm, 50 + HEARD - 1 - i);
    for (unsigned i = 0; i < LONG && !p->status; i++) {
        p->status = ti_link_meet(&p->comm, &p->link, NULL, 0, true, &p->error);
        const bool right = i < FAR         ? p->link.now.latency == 50
                           : i == FAR      ? p->link.now.latency == 200
                           : i == LONG - 1 ? p->link.now.latency < 50
                                           : true;
        p->sum += !right;
        if (p->comm.first == 1 && i < FAR) ti_link_hear(&p->comm, 200);
    }
    return NULL;
}

static void the_least_latency_counts(void **state)
{
    (void)state;
    process all[2];
    network net;
    network_open(&net, 2);
    for (unsigned r = 0; r < 2; r++) {
        all[r] = (process){
            .comm = {.size = 2, .first = r, .local = 1, .transport = &queues, .self = &net, .timeout = 60}};
        assert_int_equal(pthread_create(&all[r].thread, NULL, hear, &all[r]), 0);
    }
    for (unsigned r = 0; r < 2; r++) pthread_join(all[r].thread, NULL);
    for (unsigned r = 0; r < 2; r++) {
        expect(all[r].status == TITHE_OK, "%s", all[r].error.text);
        expect(all[r].sum == 0, "rank %u: %g latencies are others", r, all[r].sum);
    }
    network_close(&net);
}

static void one_process_has_no_link(void **state)
{
    (void)state;
    tithe_comm comm = ranks_here(4);
    tithe_link_estimate link = ti_link_start();
    assert_int_equal(tithe_link_update(&comm, &link, NULL), TITHE_OK);
    assert_true(isnan(link.now.latency) && isnan(link.now.bandwidth) && link.probe_bytes == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_are_found),
        cmocka_unit_test(a_change_is_followed),
        cmocka_unit_test(lengths_tell_what_one_length_cannot),
        cmocka_unit_test(unknown_is_no_guess),
        cmocka_unit_test(noise_is_no_bandwidth),
        cmocka_unit_test(a_link_is_not_slower_than_it_shows),
        cmocka_unit_test(old_probes_are_no_limit),
        cmocka_unit_test(rounds_outdate_probes),
        cmocka_unit_test(two_reports_that_agree_are_believed),
        cmocka_unit_test(probes_grow_until_they_tell),
        cmocka_unit_test(all_ranks_hold_the_same_and_counts_stay),
        cmocka_unit_test(the_same_rounds_are_timed),
        cmocka_unit_test(the_least_latency_counts),
        cmocka_unit_test(one_process_has_no_link),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
