/* test_mail.c - datagrams that are handed over together arrive one by one, as they were, whatever their lengths; also where the system
 * cannot cut, and where the other side does not ask for them together. */
#define _DEFAULT_SOURCE /* SO_NO_CHECK */
#include <arpa/inet.h>
#include <poll.h>
#include <sys/uio.h>
#include <unistd.h>

#include "support.h"
#include "switch/mail.h"

enum { LONGEST = 3000, MANY = 200 };

typedef struct way {
    int from, to;
    net_address at, back;
} way;

static way way_open(bool together)
{
    way w;
    socklen_t length = sizeof w.at;
    assert_int_equal(ti_net_resolve("127.0.0.1:0", &w.at, NULL), TITHE_OK);
    w.to = ti_net_listen(&w.at, NULL);
    assert_true(w.to >= 0 && getsockname(w.to, &w.at.any, &length) == 0);
    w.from = ti_net_connect(&w.at, NULL);
    assert_true(w.from >= 0 && getsockname(w.from, &w.back.any, &length) == 0);
    if (together) ti_inbox_prepare(w.to);
    return w;
}

static void way_close(const way *w)
{
    close(w->from);
    close(w->to);
}

/* Number k of a run, and what is in it. */
static size_t length_of(uint64_t seed, unsigned k)
{
    dice d = {seed * 1000 + k};
    switch (roll_below(&d, 8)) {
    case 0: return roll_below(&d, LONGEST);
    case 1: return 0;
    default: return 1400; /* most have one length */
    }
}

static uint8_t byte_of(unsigned k, size_t i)
{
    return (uint8_t)(k * 31 + i * 7 + i / 256);
}

static void send_run(outbox *out, const way *w, uint64_t seed, bool addressed)
{
    static uint8_t bytes[MANY][LONGEST];
    for (unsigned k = 0; k < MANY; k++) {
        const size_t length = length_of(seed, k), half = length / 3;
        for (size_t i = 0; i < length; i++) bytes[k][i] = byte_of(k, i);
        const struct iovec pieces[MAIL_PIECES] = {{bytes[k], half}, {bytes[k] + half, length - half}};
        assert_false(ti_outbox_is_full(out));
        ti_outbox_add(out, pieces, MAIL_PIECES, true);
    }
    for (unsigned l = 0; l < ti_outbox_letters(out); l++)
        assert_int_equal(ti_outbox_post(out, w->from, l, addressed ? &w->at : NULL), 0);
    assert_int_equal(ti_outbox_flush(out, w->from), 0);
    assert_int_equal(ti_outbox_letters(out), 0);
}

/* All of a run, in order, and then nothing. */
static void expect_run(inbox *in, const way *w, uint64_t seed)
{
    for (unsigned k = 0; k < MANY;) {
        struct pollfd readable = {.fd = w->to, .events = POLLIN};
        expect(poll(&readable, 1, 60000) == 1, "datagram %u has not come", k);
        assert_true(ti_inbox_receive(in, w->to, MSG_DONTWAIT) > 0);
        for (mail_item d; ti_inbox_next(in, &d); k++) {
            expect(d.length == length_of(seed, k), "datagram %u has %zu bytes, not %zu", k, d.length,
                   length_of(seed, k));
            for (size_t i = 0; i < d.length; i++) assert_int_equal(d.bytes[i], byte_of(k, i));
            assert_int_equal(d.from->v4.sin_port, w->back.v4.sin_port);
        }
    }
    assert_true(ti_inbox_receive(in, w->to, MSG_DONTWAIT) < 0);
}

static void what_is_sent_arrives(void **state)
{
    (void)state;
    inbox *in = ti_inbox_open();
    for (unsigned how = 0; how < 8; how++) {
        const way w = way_open(how & 1);
        outbox *out = ti_outbox_open();
        if (how & 2) ti_outbox_leave_whole(out);
        for (uint64_t seed = 1; seed < 6; seed++) {
            send_run(out, &w, seed, how & 4);
            expect_run(in, &w, seed);
        }
        ti_outbox_close(out);
        way_close(&w);
    }
    ti_inbox_close(in);
}

/* Without checksums nothing is cut (it takes the same turn in the system as an interface that cannot): what was sent together is lost, once. */
static void a_system_that_cannot_cut(void **state)
{
    (void)state;
    inbox *in = ti_inbox_open();
    outbox *out = ti_outbox_open();
    const way w = way_open(true);
    const int plain = 1;
    assert_int_equal(setsockopt(w.from, SOL_SOCKET, SO_NO_CHECK, &plain, sizeof plain), 0);
    send_run(out, &w, 1, false);
    while (ti_inbox_receive(in, w.to, MSG_DONTWAIT) > 0) continue; /* those that went alone */
    send_run(out, &w, 2, false);
    expect_run(in, &w, 2);
    ti_outbox_close(out);
    ti_inbox_close(in);
    way_close(&w);
}

static void nobody_listens(void **state)
{
    (void)state;
    outbox *out = ti_outbox_open();
    const way w = way_open(false);
    uint8_t byte = 1;
    const struct iovec piece = {&byte, 1};
    unsigned refused = 0;
    close(w.to);
    for (unsigned i = 0; i < 100 && !refused; i++) {
        ti_outbox_add(out, &piece, 1, true);
        ti_outbox_post(out, w.from, 0, NULL);
        refused = ti_outbox_flush(out, w.from);
    }
    assert_int_equal(refused, 1);
    ti_outbox_close(out);
    close(w.from);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_sent_arrives),
                                       cmocka_unit_test(a_system_that_cannot_cut),
                                       cmocka_unit_test(nobody_listens)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
