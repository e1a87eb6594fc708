/* udp.c - the switch as a process that reads and writes datagrams, many with each call of the system. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "base/clock.h"
#include "switch/mail.h"
#include "switch/patience.h"
#include "switch/switch.h"

enum { LOOK_UP = 200000 /* microseconds between two looks at whether to stop */ };

/* To whom a letter goes: to all workers of a place, or to one address. */
typedef struct whom {
    bool to_all;
    uint32_t place;
    net_address address;
} whom;

/* Datagrams that came, answers that go, and to whom. */
typedef struct mail {
    switch_state *s;
    inbox *in;
    outbox *out;
    size_t room; /* of an answer */
    uint8_t *answers;
    unsigned count;
    whom to[MAIL_DATAGRAMS]; /* of each letter */
    patience patience;
} mail;

static bool open_mail(mail *m, switch_state *s)
{
    *m = (mail){.s = s,
                .in = ti_inbox_open(),
                .out = ti_outbox_open(),
                .room = ti_aggregate_room(&s->shape),
                .patience = patience_start()};
    m->answers = malloc(MAIL_DATAGRAMS * m->room);
    return m->in && m->out && m->answers;
}

static void close_mail(mail *m)
{
    ti_inbox_close(m->in);
    ti_outbox_close(m->out);
    free(m->answers);
}

static void flush(mail *m)
{
    for (unsigned l = 0; l < ti_outbox_letters(m->out); l++) {
        const whom *to = &m->to[l];
        if (!to->to_all) ti_outbox_post(m->out, m->s->socket, l, &to->address);
        for (uint32_t w = 0; to->to_all && w < m->s->shape.workers; w++) {
            const net_address of = ti_net_unpack(ti_aggregate_address(m->s->a, to->place, w));
            ti_outbox_post(m->out, m->s->socket, l, &of);
        }
    }
    ti_outbox_flush(m->out, m->s->socket);
    m->count = 0;
}

/* Sums to the workers of one place go together. */
static void answer(mail *m, const agg_answer *a, uint8_t *bytes, const net_address *from)
{
    const unsigned letters = ti_outbox_letters(m->out);
    const whom *last = letters ? &m->to[letters - 1] : NULL;
    const bool same = last && last->to_all && a->to_all && last->place == a->place;
    const struct iovec piece = {bytes, ti_seal_close_packet(&m->s->seal, bytes, a->length)};
    m->to[ti_outbox_add(m->out, &piece, 1, same)] = (whom){a->to_all, a->place, *from};
    m->count++;
}

static void take(mail *m, const mail_item *d, uint32_t now)
{
    size_t length = d->length;
    if (length > m->s->shape.datagram) {
        ti_aggregate_count_dropped(m->s->a, AGG_LONG);
        return;
    }
    if (!ti_seal_check(&m->s->seal, d->bytes, &length)) {
        ti_aggregate_count_dropped(m->s->a, AGG_TAG);
        return;
    }
    if (ti_outbox_is_full(m->out)) flush(m);
    uint8_t *out = m->answers + m->count * m->room;
    const agg_address from = ti_net_pack(d->from);
    if (m->s->before) m->s->before(m->s);
    const agg_answer a = ti_aggregate(m->s->a, &from, now, d->bytes, length, out);
    if (a.length) answer(m, &a, out, d->from);
    if (m->s->after) m->s->after(m->s);
}

/* What has come; negative: nothing has, for a while. */
static int receive(mail *m)
{
    const double start = clock_now();
    int count;
    do count = ti_inbox_receive(m->in, m->s->socket, MSG_DONTWAIT);
    while (count < 0 && errno == EAGAIN && clock_now() < start + m->patience.spin);
    if (count < 0 && errno == EAGAIN) {
        count = ti_inbox_receive(m->in, m->s->socket, MSG_WAITFORONE);
        patience_learn(&m->patience, clock_now() - start);
    }
    return count;
}

static tithe_status take_all(mail *m, bool *busy, tithe_error *error)
{
    const int count = receive(m);
    mail_item d;
    *busy = count > 0;
    if (count < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR && errno != ECONNREFUSED)
        return ti_fail(error, TITHE_E_FILE, 0, "The switch cannot read from its socket: %s.",
                       strerror(errno));
    const uint32_t now = (uint32_t)clock_now();
    while (ti_inbox_next(m->in, &d)) take(m, &d, now);
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
    mail *m = calloc(1, sizeof *m);
    const struct timeval look_up = {.tv_usec = LOOK_UP};
    setsockopt(s->socket, SOL_SOCKET, SO_RCVTIMEO, &look_up, sizeof look_up);
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
    if (m) close_mail(m);
    free(m);
    return status;
}

static tithe_status serve(const tithe_switch_options *options, tithe_switch_counts *counts,
                          tithe_error *error)
{
    switch_state s;
    tithe_status status = ti_switch_open(&s, options, error);
    if (!status) status = ti_switch_start(&s, error);
    if (!status) ti_inbox_prepare(s.socket);
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
