/* test_aggregate.c - one packet at a time: sums in any order of arrival, packets that nobody should have sent, and jobs that do
 * not mix. */
#include "aggregate/lossy.h"
#include "aggregate/slot.h"

enum { N = 3, SLOTS = 4, VALUES = 16, HERE = 100 };

static const agg_shape shape = {
    .workers = N, .slots = SLOTS, .values = VALUES, .jobs = 2, .datagram = 1472, .lease = AGG_LEASE};

typedef struct packet {
    uint8_t bytes[PACKET_HEAD + 4 * VALUES + 8];
    size_t length;
} packet;

static packet part_of(packet_head h, uint64_t seed)
{
    packet p;
    uint32_t numbers[VALUES];
    dice d = {seed};
    const numbers_kind k = {(packet_operation)h.operation, h.up, h.down, h.most};
    for (unsigned i = 0; i < VALUES; i++) numbers[i] = roll_number(&d, k);
    p.length = write_part(p.bytes, &h, numbers);
    return p;
}

static packet_head part_head(const numbers_kind *k, uint8_t place, unsigned worker, uint32_t number)
{
    return (packet_head){.kind = KIND_PART,
                         .job = 7,
                         .place = place,
                         .worker = (uint16_t)worker,
                         .number = number,
                         .operation = (uint8_t)k->operation,
                         .up = (uint8_t)k->up,
                         .down = (uint8_t)k->down,
                         .most = k->most,
                         .values = VALUES,
                         .draw = 99};
}

static uint64_t dropped(const bench_switch *s, agg_reason reason)
{
    return ti_aggregate_counts(s->a)->dropped[reason];
}

/* ---- sums -------------------------------------------------------------------------------------------------- */

/* Every order of three parts, each of them twice and in between: the same packet comes out, bit for bit. */
static void any_order_gives_the_same_bits(void **state)
{
    (void)state;
    static const unsigned orders[6][N] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    for (unsigned kind = 0; kind < 10; kind++) {
        const numbers_kind k = kind_at(kind, N);
        uint8_t first[sizeof(packet)];
        size_t length = 0;
        for (unsigned o = 0; o < 6; o++) {
            bench_switch s = switch_make(shape);
            const uint8_t place = join_all(&s, 7, N, HERE);
            agg_answer answer = {0};
            for (unsigned i = 0; i < N; i++) {
                const unsigned w = orders[o][i];
                const packet p = part_of(part_head(&k, place, w, 0), w);
                answer = give(&s, HERE + w, p.bytes, p.length);
                assert_true(answer.reason == AGG_FINE && (answer.length > 0) == (i == N - 1));
                if (i < N - 1) { /* once more: it is not added twice */
                    assert_true(give(&s, HERE + w, p.bytes, p.length).length == 0);
                }
            }
            assert_true(answer.to_all && answer.length == PACKET_HEAD + packet_bytes(VALUES, k.down));
            if (o == 0) {
                length = answer.length;
                memcpy(first, s.out, length);
            }
            assert_true(answer.length == length && memcmp(first, s.out, length) == 0);
            for (unsigned w = 0; w < N; w++) { /* who has lost the sum gets it again, alone */
                const packet p = part_of(part_head(&k, place, w, 0), w);
                answer = give(&s, HERE + w, p.bytes, p.length);
                assert_true(!answer.to_all && answer.length == length && memcmp(first, s.out, length) == 0);
            }
            assert_int_equal(ti_aggregate_counts(s.a)->retransmitted, 2 * N - 1);
            assert_int_equal(ti_aggregate_counts(s.a)->aggregated, 1);
            for (unsigned i = 0; i < VALUES; i++) {
                int64_t sum = 0;
                for (unsigned w = 0; w < N; w++) {
                    const packet p = part_of(part_head(&k, place, w, 0), w);
                    sum = come_to(k, sum, unpack(p.bytes + PACKET_HEAD, i, k.up));
                }
                assert_true(is_outcome(k, sum, unpack(first + PACKET_HEAD, i, k.down)));
            }
            switch_free(&s);
        }
    }
}

/* The random numbers of a value do not depend on where packets were cut. */
static void rounding_does_not_see_packets(void **state)
{
    (void)state;
    const numbers_kind k = kind_at(0, N);
    uint32_t numbers[N][VALUES];
    uint8_t whole[VALUES], halves[VALUES];
    dice d = {3};
    for (unsigned w = 0; w < N; w++)
        for (unsigned i = 0; i < VALUES; i++) numbers[w][i] = roll_number(&d, k);
    bench_switch s = switch_make(shape);
    const uint8_t place = join_all(&s, 7, N, HERE);
    for (unsigned part = 0; part < 3; part++)
        for (unsigned w = 0; w < N; w++) {
            packet p;
            packet_head h = part_head(&k, place, w, part);
            const unsigned first = part == 2 ? VALUES / 2 : 0;
            if (part > 0) h.values = VALUES / 2;
            h.draw += first * RNG_GOLDEN;
            p.length = write_part(p.bytes, &h, numbers[w] + first);
            const agg_answer answer = give(&s, HERE + w, p.bytes, p.length);
            assert_true(answer.reason == AGG_FINE);
            if (w == N - 1) memcpy((part ? halves : whole) + first, s.out + PACKET_HEAD, h.values);
        }
    assert_memory_equal(whole, halves, VALUES);
    switch_free(&s);
}

/* Slots go on, also through the end of the numbers and around. */
static void numbers_go_on(void **state)
{
    (void)state;
    const numbers_kind k = kind_at(2, N);
    bench_switch s = switch_make(shape);
    const uint8_t place = join_all(&s, 7, N, HERE);
    for (uint32_t number = 0; number < 40 * SLOTS; number++)
        for (unsigned w = 0; w < N; w++) {
            const packet p = part_of(part_head(&k, place, w, number), w);
            const agg_answer answer = give(&s, HERE + w, p.bytes, p.length);
            assert_true(answer.reason == AGG_FINE && answer.to_all == (w == N - 1));
        }
    switch_free(&s);
    slot last = {0};
    const uint32_t end = UINT32_MAX - 2 * SLOTS + 1; /* of this slot and version the last one before 0 */
    packet_head h = part_head(&k, 0, 0, end);
    slot_note(&last, &h, true, 1);
    h.number = 0;
    assert_int_equal(slot_judge(&last, &h, SLOTS, 1), SLOT_FIRST);
    h.number = 2 * SLOTS;
    assert_int_equal(slot_judge(&last, &h, SLOTS, 1), SLOT_EARLY);
    h.number = end - 2 * SLOTS;
    assert_int_equal(slot_judge(&last, &h, SLOTS, 1), SLOT_OLD);
}

/* ---- what nobody should have sent ---------------------------------------------------------------------------- */

static void expect_dropped(bench_switch *s, uint64_t from, const packet *p, agg_reason reason)
{
    const uint64_t before = dropped(s, reason), packets = ti_aggregate_counts(s->a)->packets;
    const agg_answer answer = give(s, from, p->bytes, p->length);
    expect(answer.reason == reason, "dropped as '%s', not as '%s'", ti_agg_reason_name(answer.reason),
           ti_agg_reason_name(reason));
    assert_int_equal(dropped(s, reason), before + 1);
    assert_int_equal(ti_aggregate_counts(s->a)->packets, packets + 1);
}

/* None of these gets into the sum that they were sent into. */
static void bad_packets_are_counted_and_dropped(void **state)
{
    (void)state;
    const numbers_kind k = {OPERATION_SUM, 8, 16, 200};
    bench_switch s = switch_make(shape);
    const uint8_t place = join_all(&s, 7, N, HERE);
    const packet good = part_of(part_head(&k, place, 1, 0), 1);
    packet p = part_of(part_head(&k, place, 0, 0), 0);
    assert_true(give(&s, HERE, p.bytes, p.length).reason == AGG_FINE);

    for (p.length = 0; p.length < good.length; p.length++) {
        memcpy(p.bytes, good.bytes, good.length);
        expect_dropped(&s, HERE + 1, &p, AGG_SHORT);
    }
    p = good;
    p.length++;
    expect_dropped(&s, HERE + 1, &p, AGG_LONG);
    const struct {
        unsigned at;
        uint8_t byte;
        agg_reason reason;
    } cases[] = {
        {0, 'X', AGG_FOREIGN},
        {1, 0, AGG_FOREIGN},
        {2, 2, AGG_VERSION},
        {2, 0, AGG_VERSION},
        {3, 0, AGG_KIND},
        {3, 9, AGG_KIND},
        {3, 0x82, AGG_KIND},
        {4, 8, AGG_JOB},
        {11, 1, AGG_JOB},
        {12, N, AGG_WORKER},
        {13, 255, AGG_WORKER},
        {12, 2, AGG_STRANGER},
        {14, 1, AGG_JOB},
        {14, 255, AGG_JOB},
        {15, 3, AGG_FORMAT},
        {15, 0, AGG_FORMAT},
        {15, 2, AGG_FORMAT},
        {16, 2 * SLOTS, AGG_EARLY},
        {19, 255, AGG_REPLAYED},
        {20, 1, AGG_DIFFERENT},
        {28, 0, AGG_FORMAT},
        {29, 1, AGG_FORMAT},
        {28, VALUES - 1, AGG_LONG},
        {30, 0, AGG_FORMAT},
        {30, 33, AGG_FORMAT},
        {31, 0, AGG_FORMAT},
        {31, 9, AGG_FORMAT},
        {31, 17, AGG_DIFFERENT},
        {32, 199, AGG_DIFFERENT},
        {33, 1, AGG_FORMAT},
        {PACKET_HEAD, 201, AGG_RANGE},
        {PACKET_HEAD + VALUES - 1, 255, AGG_RANGE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        p = good;
        p.bytes[cases[i].at] = cases[i].byte;
        expect_dropped(&s, HERE + 1, &p, cases[i].reason);
    }
    expect_dropped(&s, 12345, &good, AGG_STRANGER);

    /* the sum is that of the good ones */
    assert_true(give(&s, HERE + 1, good.bytes, good.length).reason == AGG_FINE);
    p = part_of(part_head(&k, place, 2, 0), 2);
    const agg_answer answer = give(&s, HERE + 2, p.bytes, p.length);
    assert_true(answer.to_all);
    for (unsigned i = 0; i < VALUES; i++) {
        uint32_t sum = 0;
        for (unsigned w = 0; w < N; w++) sum += part_of(part_head(&k, place, w, 0), w).bytes[PACKET_HEAD + i];
        assert_int_equal(unpack(s.out + PACKET_HEAD, i, 16), sum);
    }
    switch_free(&s);
}

/* A number whose padding is not zero, or that uses bits that it should not have. */
static void odd_widths_are_checked_to_the_last_bit(void **state)
{
    (void)state;
    const numbers_kind k = {OPERATION_SUM, 5, 7, 30};
    bench_switch s = switch_make(shape);
    const uint8_t place = join_all(&s, 7, N, HERE);
    packet_head h = part_head(&k, place, 0, 0);
    h.values = 3; /* 15 bits */
    packet p;
    p.length = write_part(p.bytes, &h, (uint32_t[]){30, 0, 30});
    p.bytes[PACKET_HEAD + 1] |= 0x80;
    expect_dropped(&s, HERE, &p, AGG_RANGE);
    p.length = write_part(p.bytes, &h, (uint32_t[]){30, 31, 30});
    expect_dropped(&s, HERE, &p, AGG_RANGE);
    switch_free(&s);
}

/* Packets from before, and from long before, one slot and two versions at a time. */
static void replayed_packets_are_never_added(void **state)
{
    (void)state;
    const numbers_kind k = kind_at(2, N);
    bench_switch s = switch_make(shape);
    const uint8_t place = join_all(&s, 7, N, HERE);
    for (uint32_t number = 0; number < 5 * SLOTS; number++) {
        for (unsigned w = 0; w < N; w++) {
            const packet p = part_of(part_head(&k, place, w, number), w + number);
            assert_true(give(&s, HERE + w, p.bytes, p.length).reason == AGG_FINE);
        }
        for (uint32_t old = 0; old + 2 * SLOTS <= number; old++) {
            const packet p = part_of(part_head(&k, place, 1, old), 1 + old);
            const agg_answer answer = give(&s, HERE + 1, p.bytes, p.length);
            if (number - old >= 2 * SLOTS) assert_true(answer.reason == AGG_REPLAYED && !answer.length);
        }
        for (uint32_t far = number + 2 * SLOTS + 1; far < number + 9 * SLOTS; far++) {
            const packet p = part_of(part_head(&k, place, 1, far), 1 + far);
            expect_dropped(&s, HERE + 1, &p, AGG_EARLY);
        }
    }
    assert_int_equal(ti_aggregate_counts(s.a)->aggregated, 5 * SLOTS);
    switch_free(&s);
}

/* ---- jobs -------------------------------------------------------------------------------------------------- */

static agg_answer send_join(bench_switch *s, uint64_t job, unsigned worker, unsigned workers, uint64_t from,
                            uint32_t datagram, uint32_t now)
{
    uint8_t bytes[PACKET_HEAD + PACKET_JOIN];
    const size_t length = write_join(bytes, job, worker, workers, datagram);
    const agg_address address = address_of(from);
    return ti_aggregate(s->a, &address, now, bytes, length, s->out);
}

static uint32_t said(const bench_switch *s, unsigned at)
{
    return get_u32(s->out + PACKET_HEAD + at);
}

/* All hear of it when the last one comes, with the least datagram of all. */
static void a_job_begins_when_all_are_there(void **state)
{
    (void)state;
    bench_switch s = switch_make(shape);
    static const uint32_t datagrams[N] = {1472, 900, 65507};
    for (unsigned w = 0; w < N; w++) {
        const agg_answer answer = send_join(&s, 7, w, N, HERE + w, datagrams[w], 0);
        assert_true(answer.length == PACKET_HEAD + PACKET_JOINED && answer.to_all == (w == N - 1));
        assert_int_equal(get_u16(s.out + PACKET_HEAD + 2), w + 1);
        assert_int_equal(said(&s, 4), w == N - 1 ? 900 : 0);
        assert_true(said(&s, 8) == SLOTS && said(&s, 12) == VALUES);
        const numbers_kind k = kind_at(2, N);
        const packet early = part_of(part_head(&k, 0, 0, 0), 0);
        if (w < N - 1) expect_dropped(&s, HERE, &early, AGG_EARLY);
    }
    const agg_answer again = send_join(&s, 7, 0, N, HERE, 1472, 0);
    assert_true(again.length && !again.to_all && said(&s, 4) == 900);
    switch_free(&s);
}

static void joins_that_make_no_sense(void **state)
{
    (void)state;
    bench_switch s = switch_make(shape);
    assert_int_equal(send_join(&s, 7, 0, N + 1, HERE, 1472, 0).reason, AGG_SIZE);
    assert_true(s.out[3] == KIND_REFUSED && get_u16(s.out + PACKET_HEAD) == AGG_SIZE &&
                get_u16(s.out + PACKET_HEAD + 2) == N);
    assert_int_equal(send_join(&s, 7, N, N, HERE, 1472, 0).reason, AGG_WORKER);
    assert_int_equal(send_join(&s, 7, 0, N, HERE, 40, 0).reason, AGG_FORMAT);
    assert_int_equal(send_join(&s, 7, 0, N, HERE, 70000, 0).reason, AGG_FORMAT);
    join_all(&s, 7, N, HERE);
    /* a worker that was started again, elsewhere, does not get into the job of the others */
    assert_int_equal(send_join(&s, 7, 1, N, HERE + 50, 1472, 0).reason, AGG_STRANGER);
    uint8_t long_join[PACKET_HEAD + PACKET_JOIN + 1] = {0};
    write_join(long_join, 7, 1, N, 1472);
    assert_int_equal(give(&s, HERE, long_join, sizeof long_join).reason, AGG_LONG);
    assert_int_equal(give(&s, HERE, long_join, sizeof long_join - 2).reason, AGG_SHORT);
    switch_free(&s);
}

/* Two jobs, packet by packet beside each other: each has its own sums. A third one finds no place, until one is left. */
static void jobs_do_not_mix(void **state)
{
    (void)state;
    const numbers_kind k = kind_at(2, N);
    bench_switch s = switch_make(shape);
    const uint8_t places[2] = {join_all(&s, 7, N, HERE), join_all(&s, 8, N, HERE + 10)};
    assert_true(places[0] != places[1]);
    assert_int_equal(send_join(&s, 9, 0, N, HERE + 20, 1472, 0).reason, AGG_FULL);
    for (uint32_t number = 0; number < 3 * SLOTS; number++)
        for (unsigned w = 0; w < N; w++)
            for (unsigned j = 0; j < 2; j++) {
                packet_head h = part_head(&k, places[j], w, number);
                h.job = 7 + j;
                const packet p = part_of(h, 1000 * j + w + number);
                const agg_answer answer = give(&s, HERE + 10 * j + w, p.bytes, p.length);
                assert_true(answer.reason == AGG_FINE && answer.to_all == (w == N - 1));
                for (unsigned i = 0; answer.to_all && i < VALUES; i++) {
                    int64_t sum = 0;
                    for (unsigned o = 0; o < N; o++) {
                        h.worker = (uint16_t)o;
                        const packet part = part_of(h, 1000 * j + o + number);
                        sum = come_to(k, sum, unpack(part.bytes + PACKET_HEAD, i, k.up));
                    }
                    assert_int_equal(unpack(s.out + PACKET_HEAD, i, 32), sum);
                }
                /* the same part, said to be of the other job */
                packet other = p;
                other.bytes[14] = places[1 - j];
                expect_dropped(&s, HERE + 10 * j + w, &other, AGG_JOB);
            }
    for (unsigned w = 0; w < N; w++) {
        packet p = {.length = PACKET_HEAD};
        packet_write(p.bytes,
                     &(packet_head){.kind = KIND_LEAVE, .job = 7, .place = places[0], .worker = (uint16_t)w});
        assert_int_equal(give(&s, HERE + w, p.bytes, p.length).reason, AGG_FINE);
    }
    assert_int_equal(join_all(&s, 9, N, HERE + 20), places[0]);
    packet_head h =
        part_head(&k, places[0], 0, 0); /* its first packet, into slots that have held another job's */
    h.job = 9;
    const packet p = part_of(h, 1);
    assert_int_equal(give(&s, HERE + 20, p.bytes, p.length).reason, AGG_FINE);
    switch_free(&s);
}

/* A job whose workers were killed loses its place when somebody wants it, and not before it was silent for long. */
static void a_silent_job_makes_room(void **state)
{
    (void)state;
    bench_switch s = switch_make(shape);
    join_all(&s, 7, N, HERE);
    join_all(&s, 8, N, HERE + 10);
    assert_int_equal(send_join(&s, 9, 0, N, HERE + 20, 1472, AGG_LEASE).reason, AGG_FULL);
    packet ask = {.length = PACKET_HEAD};
    packet_write(ask.bytes, &(packet_head){.kind = KIND_ASK, .job = 7, .place = 0});
    const agg_address address = address_of(HERE);
    const agg_answer answer =
        ti_aggregate(s.a, &address, AGG_LEASE, ask.bytes, ask.length, s.out); /* it is alive */
    assert_true(answer.length && s.out[3] == KIND_JOINED);
    assert_int_equal(send_join(&s, 9, 0, N, HERE + 20, 1472, AGG_LEASE + 1).reason, AGG_FINE);
    assert_int_equal(s.out[14], 1);
    packet_write(ask.bytes, &(packet_head){.kind = KIND_ASK, .job = 8, .place = 1});
    assert_int_equal(give(&s, HERE + 10, ask.bytes, ask.length).reason, AGG_JOB);
    assert_int_equal(s.out[3], KIND_REFUSED);
    switch_free(&s);
}

/* Who waits for a part of somebody who has left is told; a sum that is there is still given out. */
static void those_who_wait_hear_of_who_left(void **state)
{
    (void)state;
    const numbers_kind k = kind_at(2, N);
    bench_switch s = switch_make(shape);
    const uint8_t place = join_all(&s, 7, N, HERE);
    packet parts[N], p = {.length = PACKET_HEAD};
    for (unsigned w = 0; w < N; w++) {
        parts[w] = part_of(part_head(&k, place, w, 0), w);
        give(&s, HERE + w, parts[w].bytes, parts[w].length);
    }
    packet_write(p.bytes, &(packet_head){.kind = KIND_LEAVE, .job = 7, .place = place, .worker = 1});
    assert_int_equal(give(&s, HERE + 1, p.bytes, p.length).reason, AGG_FINE);
    const agg_answer sum = give(&s, HERE, parts[0].bytes, parts[0].length);
    assert_true(sum.reason == AGG_FINE && s.out[3] == KIND_SUM);
    const packet next = part_of(part_head(&k, place, 0, 1), 5);
    const agg_answer answer = give(&s, HERE, next.bytes, next.length);
    assert_true(answer.reason == AGG_GONE && s.out[3] == KIND_REFUSED && !answer.to_all);
    assert_int_equal(get_u16(s.out + PACKET_HEAD + 2), 1);
    switch_free(&s);
}

static void shapes_that_cannot_be(void **state)
{
    (void)state;
    assert_null(ti_aggregate_refuse(&shape));
    agg_shape wrong[] = {shape, shape, shape, shape, shape, shape, shape, shape};
    wrong[0].workers = 0;
    wrong[1].workers = PACKET_WORKERS + 1;
    wrong[2].slots = 6;
    wrong[3].slots = 0;
    wrong[4].values = 12;
    wrong[5].jobs = 257;
    wrong[6].datagram = 70000;
    wrong[7].values = 65536;
    for (unsigned i = 0; i < 8; i++) assert_non_null(ti_aggregate_refuse(&wrong[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_order_gives_the_same_bits),
        cmocka_unit_test(rounding_does_not_see_packets),
        cmocka_unit_test(numbers_go_on),
        cmocka_unit_test(bad_packets_are_counted_and_dropped),
        cmocka_unit_test(odd_widths_are_checked_to_the_last_bit),
        cmocka_unit_test(replayed_packets_are_never_added),
        cmocka_unit_test(a_job_begins_when_all_are_there),
        cmocka_unit_test(joins_that_make_no_sense),
        cmocka_unit_test(jobs_do_not_mix),
        cmocka_unit_test(a_silent_job_makes_room),
        cmocka_unit_test(those_who_wait_hear_of_who_left),
        cmocka_unit_test(shapes_that_cannot_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
