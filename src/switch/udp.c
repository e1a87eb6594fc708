/* udp.c - the switch as a process that reads and writes datagrams, many with each call of the system. */
#define _GNU_SOURCE /* recvmmsg and sendmmsg */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "base/clock.h"
#include "switch/switch.h"

static const double spin = 60e-6; /* seconds of looking again and again, before the process goes to sleep */
enum { BATCH = 32, SENDS = 512, LOOK_UP = 200000 /* microseconds between two looks at whether to stop */ };

/* Datagrams that came, answers that go, and to whom. */
typedef struct mail {
    switch_state *s;
    size_t room, out_room;
    uint8_t *in, *out;
    struct mmsghdr got[BATCH], go[SENDS];
    struct iovec got_bytes[BATCH], go_bytes[SENDS];
    net_address from[BATCH], to[SENDS];
    unsigned answers, sends;
} mail;

static bool open_mail(mail *m, switch_state *s)
{
    memset(m, 0, sizeof *m);
    m->s = s;
    m->room = s->shape.datagram + 1; /* one more than any may have: longer ones are seen to be */
    m->out_room = ti_aggregate_room(&s->shape);
    m->in = malloc(BATCH * m->room);
    m->out = malloc(BATCH * m->out_room);
    for (unsigned i = 0; i < BATCH && m->in; i++) {
        m->got_bytes[i] = (struct iovec){m->in + i * m->room, m->room};
        m->got[i].msg_hdr =
            (struct msghdr){.msg_name = &m->from[i], .msg_iov = &m->got_bytes[i], .msg_iovlen = 1};
    }
    return m->in && m->out;
}

/* One that cannot be sent is lost, as it may be on its way: the worker asks again. */
static void flush(mail *m)
{
    for (unsigned first = 0; first < m->sends;) {
        const int sent = sendmmsg(m->s->socket, m->go + first, m->sends - first, 0);
        if (sent < 0 && errno == EINTR) continue;
        first += sent > 0 ? (unsigned)sent : 1;
    }
    m->sends = m->answers = 0;
}

static void address(mail *m, const net_address *to, uint8_t *bytes, size_t length)
{
    const unsigned i = m->sends++;
    m->to[i] = *to;
    m->go_bytes[i] = (struct iovec){bytes, length};
    m->go[i].msg_hdr = (struct msghdr){
        .msg_name = &m->to[i], .msg_namelen = net_length(to), .msg_iov = &m->go_bytes[i], .msg_iovlen = 1};
}

static void answer(mail *m, const agg_answer *a, uint8_t *out, const net_address *from)
{
    const size_t length = ti_seal_close_packet(&m->s->seal, out, a->length);
    m->answers++;
    if (!a->to_all) {
        address(m, from, out, length);
        return;
    }
    for (uint32_t w = 0; w < m->s->shape.workers; w++) {
        const net_address to = ti_net_unpack(ti_aggregate_address(m->s->a, a->place, w));
        if (m->sends == SENDS) { /* the bytes stay where they are */
            const unsigned answers = m->answers;
            flush(m);
            m->answers = answers;
        }
        address(m, &to, out, length);
    }
}

static void take(mail *m, unsigned i, uint32_t now)
{
    size_t length = m->got[i].msg_len;
    const uint8_t *packet = m->in + i * m->room;
    if (m->got[i].msg_hdr.msg_flags & MSG_TRUNC || length > m->s->shape.datagram) {
        ti_aggregate_count_dropped(m->s->a, AGG_LONG);
        return;
    }
    if (!ti_seal_check(&m->s->seal, packet, &length)) {
        ti_aggregate_count_dropped(m->s->a, AGG_TAG);
        return;
    }
    if (m->answers == BATCH || m->sends == SENDS) flush(m);
    uint8_t *out = m->out + m->answers * m->out_room;
    const agg_address from = ti_net_pack(&m->from[i]);
    if (m->s->before) m->s->before(m->s);
    const agg_answer a = ti_aggregate(m->s->a, &from, now, packet, length, out);
    if (m->s->after) m->s->after(m->s);
    if (a.length) answer(m, &a, out, &m->from[i]);
}

/* What has come; -1: nothing has, for a while. Waking up takes longer than a packet does, so it is not asleep at once. */
static int receive(mail *m)
{
    const double start = clock_now();
    int count;
    for (unsigned i = 0; i < BATCH; i++) m->got[i].msg_hdr.msg_namelen = sizeof m->from[i];
    do count = recvmmsg(m->s->socket, m->got, BATCH, MSG_DONTWAIT, NULL);
    while (count < 0 && errno == EAGAIN && clock_now() < start + spin);
    if (count < 0 && errno == EAGAIN) count = recvmmsg(m->s->socket, m->got, BATCH, MSG_WAITFORONE, NULL);
    return count;
}

static tithe_status take_all(mail *m, bool *busy, tithe_error *error)
{
    const int count = receive(m);
    *busy = count > 0;
    if (count < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR && errno != ECONNREFUSED)
        return ti_fail(error, TITHE_E_FILE, 0, "The switch cannot read from its socket: %s.",
                       strerror(errno));
    const uint32_t now = (uint32_t)clock_now();
    for (int i = 0; i < count; i++) take(m, (unsigned)i, now);
    flush(m);
    return TITHE_OK;
}

static void tell_where(const switch_state *s)
{
    char text[NET_TEXT];
    ti_net_write(&s->at, text);
    if (s->options->ready) s->options->ready(s->options->ready_context, text);
}

tithe_status ti_switch_run(switch_state *s, tithe_error *error)
{
    tithe_status status = TITHE_OK;
    mail *m = malloc(sizeof *m);
    const struct timeval patience = {.tv_usec = LOOK_UP};
    setsockopt(s->socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (!m || !open_mail(m, s))
        status = ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory for the packets of a switch.");
    if (!status) tell_where(s);
    for (double looked = clock_now(); !status;) {
        bool busy;
        status = take_all(m, &busy, error);
        if (busy && clock_now() < looked + 1e-6 * LOOK_UP) continue;
        looked = clock_now();
        if (switch_is_stopped(s->options)) break;
    }
    if (m) {
        free(m->in);
        free(m->out);
    }
    free(m);
    return status;
}

static tithe_status serve(const tithe_switch_options *options, tithe_switch_counts *counts,
                          tithe_error *error)
{
    switch_state s;
    tithe_status status = ti_switch_open(&s, options, error);
    if (!status) status = ti_switch_start(&s, error);
    if (!status) status = ti_switch_run(&s, error);
    ti_switch_count(&s, counts);
    ti_switch_close(&s);
    return status;
}

const tithe_switch_backend ti_switch_udp = {
    .name = "udp",
    .summary = "a process that reads and writes datagrams: on every system",
    .serve = serve,
};
