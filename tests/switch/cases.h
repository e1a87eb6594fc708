/* cases.h - what holds of a switch over real sockets, whatever its backend: sums as those of a simulated one, through a network that
 * loses, repeats and reorders; strangers, and a switch that is not there. */
#ifndef TESTS_SWITCH_CASES_H
#define TESTS_SWITCH_CASES_H

#include "switch/model.h"

static const char *const codecs[] = {"all|natural", "all|int32", "all|dither:s=7"};

static char *write_key(char *path, uint64_t seed)
{
    dice d = {seed};
    strcpy(path, "/tmp/tithe-key-XXXXXX");
    const int file = mkstemp(path);
    assert_true(file >= 0);
    for (int i = 0; i < 4; i++) {
        const uint64_t number = roll(&d);
        assert_int_equal(write(file, &number, sizeof number), sizeof number);
    }
    close(file);
    return path;
}

/* Long packets and short ones, with and without a key: the bits do not depend on how vectors were cut. */
static void sums_are_those_of_a_simulated_switch(void **state)
{
    (void)state;
    char key[40];
    write_key(key, 1);
    for (unsigned keyed = 0; keyed < 2; keyed++)
        for (unsigned datagram = 0; datagram <= 1472; datagram += 736)
            for (unsigned ranks = 1; ranks <= 4; ranks += 1 + (ranks == 2)) {
                served s;
                served_start(&s, (tithe_switch_options){
                                     .workers = ranks, .datagram = datagram, .key = keyed ? key : NULL});
                for (unsigned c = 0; c < 3; c++) {
                    const wanted w = {.codec = codecs[c],
                                      .feedback = c ? "ec" : NULL,
                                      .scheme = "switch",
                                      .ranks = ranks,
                                      .n = 20000};
                    compare_steps(s.address, keyed ? key : NULL, &w, 3);
                }
                served_end(&s);
                assert_true(s.counts.aggregated > 0 && s.counts.dropped == 0);
            }
    unlink(key);
}

static void run_lossy(unsigned ranks, unsigned steps)
{
    static relay r;
    served s;
    served_start(&s, (tithe_switch_options){.workers = ranks, .datagram = 400, .slots = 32});
    relay_start(&r, s.address, 0.01, 0.01, 0.01, 5 + ranks);
    const wanted w = {.codec = codecs[ranks / 2 % 3], .scheme = "switch", .ranks = ranks, .n = 30000};
    compare_steps(r.address, NULL, &w, steps);
    relay_end(&r);
    served_end(&s);
    assert_true(atomic_load(&r.lost) > 0 && s.counts.retransmitted > 0);
    for (unsigned i = 1; tithe_switch_reason(i);
         i++) /* late ones are all that is dropped, some after the end */
        expect(s.counts.reasons[i] == 0 || strcmp(tithe_switch_reason(i), "replayed") == 0 ||
                   strcmp(tithe_switch_reason(i), "job") == 0,
               "%s: %llu", tithe_switch_reason(i), (unsigned long long)s.counts.reasons[i]);
}

static void one_in_a_hundred_is_lost(void **state)
{
    (void)state;
    run_lossy(2, 6);
    run_lossy(4, 3);
    run_lossy(8, 2);
}

/* Two runs on one switch at the same time. */
typedef struct one_run {
    pthread_t thread;
    const char *address;
    wanted w;
} one_run;

static void *run_beside(void *context)
{
    one_run *o = context;
    compare_steps(o->address, NULL, &o->w, 5);
    return NULL;
}

static void two_jobs_do_not_mix(void **state)
{
    (void)state;
    served s;
    one_run runs[2];
    served_start(&s, (tithe_switch_options){.workers = 2, .datagram = 1472});
    for (unsigned i = 0; i < 2; i++) {
        runs[i] = (one_run){.address = s.address,
                            .w = {.codec = codecs[i], .scheme = "switch", .ranks = 2, .n = 15000 + 7 * i}};
        assert_int_equal(pthread_create(&runs[i].thread, NULL, run_beside, &runs[i]), 0);
    }
    for (unsigned i = 0; i < 2; i++) pthread_join(runs[i].thread, NULL);
    served_end(&s);
    assert_int_equal(s.counts.dropped, 0);
}

/* ---- what goes wrong ------------------------------------------------------------------------------------------ */

static tithe_status one_step(const char *address, const char *key, unsigned ranks, tithe_error *error)
{
    tithe_exchange_config config;
    const wanted w = {.codec = "all|natural", .scheme = "switch", .ranks = ranks, .n = 100};
    group *g = group_start(&w, &config);
    const tithe_switch_options at = {.size = sizeof at, .address = address, .key = key};
    g->comm.timeout = 0.5;
    tithe_status status = tithe_switch_attach(&g->comm, &at, error);
    if (!status) status = tithe_exchange_create(&config, w.n, &g->ex, error);
    if (!status) {
        float *x = gradients_make(ranks, w.n, 0);
        group_put_all(g, x, 1);
        status = tithe_exchange_finish(g->ex, g->update, error);
        free(x);
    }
    ti_comm_detach(&g->comm);
    group_free(g);
    return status;
}

static void strangers_get_nowhere(void **state)
{
    (void)state;
    char key[40], other[40];
    served s;
    tithe_error error = {0};
    write_key(key, 1);
    write_key(other, 2);
    served_start(&s, (tithe_switch_options){.workers = 2, .key = key});
    assert_int_equal(one_step(s.address, NULL, 2, &error), TITHE_E_TIMEOUT);
    assert_true(strstr(error.text, "key") != NULL);
    assert_int_equal(one_step(s.address, other, 2, &error), TITHE_E_TIMEOUT);
    assert_int_equal(one_step(s.address, key, 3, &error), TITHE_E_MISMATCH);
    assert_true(strstr(error.text, "2 workers") && strstr(error.text, "3"));
    assert_int_equal(one_step(s.address, key, 2, &error), TITHE_OK);
    served_end(&s);
    unsigned tag = 1;
    while (strcmp(tithe_switch_reason(tag), "tag") != 0) tag++;
    assert_true(s.counts.reasons[tag] > 0);
    assert_int_equal(one_step(s.address, key, 2, &error), TITHE_E_TIMEOUT); /* nobody is there any more */
    assert_true(strstr(error.text, "tithe switch") != NULL);
    unlink(key);
    unlink(other);
}

/* A switch that ends while a run goes on: within the deadline, and with a sentence. */
static void a_switch_that_goes_away(void **state)
{
    (void)state;
    served s;
    tithe_exchange_config config;
    const wanted w = {.codec = "all|natural", .scheme = "switch", .ranks = 2, .n = 1000};
    group *g = group_start(&w, &config);
    served_start(&s, (tithe_switch_options){.workers = 2});
    const tithe_switch_options at = {.size = sizeof at, .address = s.address};
    g->comm.timeout = 1;
    assert_int_equal(tithe_switch_attach(&g->comm, &at, NULL), TITHE_OK);
    assert_int_equal(tithe_exchange_create(&config, w.n, &g->ex, &g->error), TITHE_OK);
    float *x = gradients_make(2, w.n, 0);
    group_put_all(g, x, 1);
    group_finish(g);
    served_end(&s);
    group_put_all(g, x, 1);
    const tithe_status status = tithe_exchange_finish(g->ex, g->update, &g->error);
    expect(status == TITHE_E_PEER || status == TITHE_E_TIMEOUT, "status %d: %s", status, g->error.text);
    assert_true(strstr(g->error.text, s.address) != NULL);
    free(x);
    ti_comm_detach(&g->comm);
    group_free(g);
}

static void options_that_make_no_sense(void **state)
{
    (void)state;
    static const struct {
        tithe_switch_options options;
        const char *word;
    } wrong[] = {
        {{.address = "127.0.0.1:0"}, "workers"},
        {{.address = "127.0.0.1", .workers = 2}, "HOST:PORT"},
        {{.address = "127.0.0.1:70000", .workers = 2}, "HOST:PORT"},
        {{.address = "0.0.0.0:0", .workers = 2}, "key"},
        {{.address = "127.0.0.1:0", .workers = 2, .slots = 5}, "power of two"},
        {{.address = "127.0.0.1:0", .workers = 2, .datagram = 10}, "datagram"},
        {{.address = "127.0.0.1:0", .workers = 2, .backend = "smoke"}, "udp"},
        {{.address = "127.0.0.1:0", .workers = 2, .key = "/nowhere/at/all"}, "key"},
        {{.address = "127.0.0.1:0", .workers = 5000}, "1024"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        tithe_error error = {0};
        tithe_switch_counts counts = {.size = sizeof counts};
        tithe_switch_options o = wrong[i].options;
        o.size = sizeof o;
        assert_true(tithe_switch_serve(&o, &counts, &error) != TITHE_OK);
        expect(strstr(error.text, wrong[i].word), "%s", error.text);
    }
}

/* A packet as a worker of another job, another version, or none at all would send it: counted, dropped, and nothing is added. */
static void send_raw(const char *address, const void *bytes, size_t length)
{
    const struct sockaddr_in at = {.sin_family = AF_INET,
                                   .sin_port = htons((uint16_t)atoi(strrchr(address, ':') + 1)),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int made = socket(AF_INET, SOCK_DGRAM, 0);
    assert_true(made >= 0);
    assert_int_equal(sendto(made, bytes, length, 0, (const struct sockaddr *)&at, sizeof at), length);
    close(made);
}

static void bad_packets_are_counted(void **state)
{
    (void)state;
    static const struct {
        const char *why;
        size_t length;
        packet_head h;
        uint8_t mark, version;
    } bad[] = {
        {"short", 20, {.kind = KIND_PART}, 0x54, PACKET_VERSION},
        {"foreign", 60, {.kind = KIND_PART}, 0x55, PACKET_VERSION},
        {"version", 60, {.kind = KIND_PART}, 0x54, PACKET_VERSION + 1},
        {"kind", 60, {.kind = KIND_SUM}, 0x54, PACKET_VERSION},
        {"job", 60, {.kind = KIND_PART, .job = 1}, 0x54, PACKET_VERSION},
        {"job", 60, {.kind = KIND_PART, .job = 1, .place = 200}, 0x54, PACKET_VERSION},
        {"long", 1000, {.kind = KIND_JOIN, .job = 1}, 0x54, PACKET_VERSION},
        {"size", PACKET_HEAD + PACKET_JOIN, {.kind = KIND_JOIN, .job = 1}, 0x54, PACKET_VERSION},
        {"long", 2000, {.kind = KIND_PART}, 0x54, PACKET_VERSION},
    };
    enum { BAD = sizeof bad / sizeof *bad };
    served s;
    served_start(&s, (tithe_switch_options){.workers = 2, .datagram = 1472});
    for (unsigned i = 0; i < BAD; i++) {
        uint8_t packet[2000] = {0};
        packet_write(packet, &bad[i].h);
        packet[0] = bad[i].mark;
        packet[2] = bad[i].version;
        send_raw(s.address, packet, bad[i].length);
    }
    const wanted w = {.codec = "all|natural", .scheme = "switch", .ranks = 2, .n = 5000};
    compare_steps(s.address, NULL, &w, 3);
    served_end(&s);
    for (unsigned r = 1; tithe_switch_reason(r); r++) {
        unsigned expected = 0;
        for (unsigned i = 0; i < BAD; i++) expected += strcmp(bad[i].why, tithe_switch_reason(r)) == 0;
        expect(s.counts.reasons[r] == expected, "%s: %llu, not %u", tithe_switch_reason(r),
               (unsigned long long)s.counts.reasons[r], expected);
    }
    assert_int_equal(s.counts.dropped, BAD);
}

/* A worker that begins anew is another job: what the first one left half full is not touched, and nobody adds to it. */
static void a_worker_that_starts_again(void **state)
{
    (void)state;
    served s;
    tithe_error error = {0};
    served_start(&s, (tithe_switch_options){.workers = 2, .datagram = 1472, .jobs = 4});
    for (unsigned i = 0; i < 3; i++) { /* one of two joins, and goes away */
        tithe_comm one = {.size = 2, .local = 1, .timeout = 0.2};
        const tithe_switch_options at = {.size = sizeof at, .address = s.address};
        assert_int_equal(tithe_switch_attach(&one, &at, &error), TITHE_OK);
        assert_int_equal(one.aggregator->join(one.aggregator_self, 77 + i, 2, 0, 1, 0.2, &error),
                         TITHE_E_TIMEOUT);
        assert_true(strstr(error.text, "Of 2 workers, 1 came") != NULL);
        ti_comm_detach(&one);
    }
    const wanted w = {.codec = "all|int32", .scheme = "switch", .ranks = 2, .n = 3000};
    compare_steps(s.address, NULL, &w, 2);
    compare_steps(s.address, NULL, &w, 2);
    served_end(&s);
    assert_int_equal(s.counts.dropped, 0);
}

static void it_does_what_its_model_does(void **state)
{
    (void)state;
    char key[40];
    write_key(key, 3);
    for (unsigned seed = 1; seed <= 4; seed++) compare_with_model(seed % 2 ? NULL : key, 60, seed);
    unlink(key);
}

/* Of somebody who has no key: dropped, whatever else it says. */
static void a_part_without_a_tag_is_dropped(void **state)
{
    (void)state;
    char key[40];
    served s;
    uint8_t packet[200] = {0};
    write_key(key, 4);
    served_start(&s, (tithe_switch_options){.workers = 2, .datagram = 1472, .key = key});
    packet_write(packet, &(packet_head){.kind = KIND_PART, .job = 1, .values = 8, .up = 8, .down = 8});
    static const size_t lengths[] = {PACKET_HEAD, PACKET_HEAD + PACKET_TAG - 1, 60, 200};
    for (unsigned i = 0; i < 4; i++) send_raw(s.address, packet, lengths[i]);
    const wanted w = {.codec = "all|natural", .scheme = "switch", .ranks = 2, .n = 5000};
    compare_steps(s.address, key, &w, 2);
    served_end(&s);
    assert_int_equal(s.counts.reasons[AGG_TAG], 4);
    assert_int_equal(s.counts.dropped, 4);
    unlink(key);
}

#define SWITCH_CASES                                                                                    \
    cmocka_unit_test(sums_are_those_of_a_simulated_switch), cmocka_unit_test(one_in_a_hundred_is_lost), \
        cmocka_unit_test(two_jobs_do_not_mix), cmocka_unit_test(strangers_get_nowhere),                 \
        cmocka_unit_test(bad_packets_are_counted), cmocka_unit_test(a_worker_that_starts_again),        \
        cmocka_unit_test(a_switch_that_goes_away), cmocka_unit_test(options_that_make_no_sense),        \
        cmocka_unit_test(it_does_what_its_model_does), cmocka_unit_test(a_part_without_a_tag_is_dropped)

#endif
