/* client.c - the way to a switch: a socket for each rank of this process, what comes through them, and how a job begins and ends. What
 * ranks send in a reduction is in client_reduce.c. */
#define _GNU_SOURCE /* ppoll */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "comm/comm.h"
#include "switch/client.h"
#include "tithe/switch.h"

static const double ask_every = 0.1; /* seconds */

/* ---- memory ------------------------------------------------------------------------------------------------ */

static void forget_ranks(client *c)
{
    for (unsigned i = 0; c->of && i < c->local; i++) {
        if (c->of[i].socket >= 0) close(c->of[i].socket);
        free(c->of[i].memory);
    }
    free(c->of);
    free(c->polls);
    free(c->written);
    ti_inbox_close(c->in);
    ti_outbox_close(c->out);
    c->of = NULL;
    c->polls = NULL;
    c->written = NULL;
    c->in = NULL;
    c->out = NULL;
}

static tithe_status open_ranks(client *c, tithe_error *error)
{
    c->of = calloc(c->local ? c->local : 1, sizeof *c->of);
    c->polls = calloc(c->local ? c->local : 1, sizeof *c->polls);
    if (!c->of || !c->polls)
        return ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory for %u ranks.", c->local);
    for (unsigned i = 0; i < c->local; i++) c->of[i].socket = -1;
    for (unsigned i = 0; i < c->local; i++) {
        const int made = c->of[i].socket = ti_net_connect(&c->at, error);
        if (made < 0) return TITHE_E_FILE;
        ti_inbox_prepare(made);
        c->polls[i] = (struct pollfd){.fd = made, .events = POLLIN};
    }
    c->limits.datagram = ti_net_datagram(c->of[0].socket, &c->at, true);
    c->limits.tag = seal_bytes(&c->seal);
    c->room = c->seal.keyed ? c->limits.datagram : PACKET_HEAD;
    c->written = malloc(MAIL_DATAGRAMS * c->room);
    c->in = ti_inbox_open();
    c->out = ti_outbox_open();
    c->patience = patience_start();
    if (!c->written || !c->in || !c->out)
        return ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory for packets.");
    return TITHE_OK;
}

/* ---- packets ------------------------------------------------------------------------------------------------ */

void ti_client_send(client *c, unsigned i, packet_kind kind)
{
    uint8_t packet[PACKET_HEAD + PACKET_JOIN + PACKET_TAG] = {0};
    const packet_head h = {.kind = (uint8_t)kind,
                           .job = c->job,
                           .worker = (uint16_t)(c->first + i),
                           .place = kind == KIND_JOIN ? 0 : c->place};
    size_t length = PACKET_HEAD;
    packet_write(packet, &h);
    if (kind == KIND_JOIN) {
        put_u16(packet + length, (uint16_t)c->ranks);
        put_u32(packet + length + 4, c->limits.datagram);
        length += PACKET_JOIN;
    }
    length = ti_seal_close_packet(&c->seal, packet, length);
    if (send(c->of[i].socket, packet, length, MSG_NOSIGNAL) < 0 && errno == ECONNREFUSED) c->closed++;
}

static tithe_status take_refusal(const client *c, const packet_head *h, const uint8_t *body,
                                 tithe_error *error)
{
    (void)h;
    const unsigned detail = get_u16(body + 2);
    switch ((agg_reason)get_u16(body)) {
    case AGG_SIZE:
        return ti_fail(error, TITHE_E_MISMATCH, 0,
                       "The switch at %s adds for %u workers, and this run has %u: start it for as many.",
                       c->where, detail, c->ranks);
    case AGG_FULL:
        return ti_fail(
            error, TITHE_E_PEER, 0,
            "The switch at %s has no place left beside %u other jobs: wait for one of them to end.", c->where,
            detail);
    case AGG_JOB:
        return ti_fail(
            error, TITHE_E_PEER, 0,
            "The switch at %s no longer knows this run: it was started anew, or has given its place away.",
            c->where);
    case AGG_GONE:
        return ti_fail(error, TITHE_E_PEER, detail, "Rank %u has left the switch at %s.", detail, c->where);
    default: return TITHE_OK; /* of a later version, perhaps: it goes on asking */
    }
}

/* All workers are here: what the job may send is known. */
static void take_joined(client *c, unsigned i, const packet_head *h, const uint8_t *body)
{
    const uint32_t datagram = get_u32(body + 4), slots = get_u32(body + 8), values = get_u32(body + 12);
    c->here = get_u16(body + 2);
    if (c->of[i].joined || !datagram) return;
    const bool sound = datagram >= PACKET_SHORTEST && datagram <= c->limits.datagram && slots &&
                       slots <= AGG_SLOTS_MAX && !(slots & (slots - 1)) && values >= 8 && values % 8 == 0;
    if (!sound) return;
    c->place = h->place;
    c->slots = slots;
    c->limits.datagram = datagram;
    c->limits.values = values;
    c->of[i].joined = true;
    const int plain = h->operation & 1; /* a program in the kernel answers, which has no checksum of UDP */
    if (!plain) return;
    setsockopt(c->of[i].socket, SOL_SOCKET, SO_NO_CHECK, &plain, sizeof plain);
    ti_outbox_leave_whole(c->out); /* nor does it cut */
}

static tithe_status take_packet(client *c, unsigned i, const uint8_t *packet, size_t length, double now,
                                tithe_error *error)
{
    if (!ti_seal_check(&c->seal, packet, &length) || length < PACKET_HEAD || !packet_is_marked(packet) ||
        !packet_is_version(packet))
        return TITHE_OK;
    const packet_head h = packet_read(packet);
    const uint8_t *body = packet + PACKET_HEAD;
    length -= PACKET_HEAD;
    if (h.job != c->job) return TITHE_OK;
    c->heard = now;
    c->closed = 0;
    if (h.kind == KIND_SUM)
        ti_client_take_sum(c, i, &h, body, length, now);
    else if (h.kind == KIND_JOINED && length == PACKET_JOINED)
        take_joined(c, i, &h, body);
    else if (h.kind == KIND_REFUSED && length == PACKET_REFUSED)
        return take_refusal(c, &h, body, error);
    return TITHE_OK;
}

tithe_status ti_client_receive(client *c, unsigned i, bool *some, tithe_error *error)
{
    tithe_status status = TITHE_OK;
    const int count = ti_inbox_receive(c->in, c->of[i].socket, MSG_DONTWAIT);
    mail_item d;
    if (count < 0 && errno == ECONNREFUSED) c->closed++;
    const double now = clock_now();
    while (!status && ti_inbox_next(c->in, &d)) status = take_packet(c, i, d.bytes, d.length, now, error);
    *some |= count > 0;
    return status;
}

void ti_client_wait(client *c, double until)
{
    const double seconds = until - clock_now();
    struct timespec time = {0};
    if (seconds > 0) {
        time.tv_sec = (time_t)seconds;
        time.tv_nsec = (long)(1e9 * (seconds - (double)time.tv_sec));
    }
    ppoll(c->polls, c->local, &time, NULL);
}

tithe_status ti_client_stopped(const client *c, tithe_error *error)
{
    if (!c->stop || !c->stop(c->stop_context)) return TITHE_OK;
    return ti_fail(error, TITHE_E_STOPPED, 0, "The wait for the switch at %s was stopped.", c->where);
}

/* ---- a job begins -------------------------------------------------------------------------------------------- */

static bool all_joined(const client *c)
{
    for (unsigned i = 0; i < c->local; i++)
        if (!c->of[i].joined) return false;
    return true;
}

static tithe_status wait_for_all(client *c, double timeout, tithe_error *error)
{
    const double start = clock_now();
    double asked = start - ask_every;
    tithe_status status = TITHE_OK;
    while (!status && !all_joined(c)) {
        const double now = clock_now();
        bool some = false;
        if (now > start + timeout && c->here)
            return ti_fail(error, TITHE_E_TIMEOUT, 0,
                           "Of %u workers, %u came to the switch at %s within %g seconds: start the others.",
                           c->ranks, c->here, c->where, timeout);
        if (now > start + timeout)
            return ti_fail(
                error, TITHE_E_TIMEOUT, 0,
                "The switch at %s has not answered within %g seconds: start `tithe switch` there, with "
                "the same key.",
                c->where, timeout);
        if (now >= asked + ask_every) {
            for (unsigned i = 0; i < c->local; i++)
                if (!c->of[i].joined) ti_client_send(c, i, KIND_JOIN);
            asked = now;
            status = ti_client_stopped(c, error);
        }
        for (unsigned i = 0; i < c->local && !status; i++) status = ti_client_receive(c, i, &some, error);
        if (!some && !status) ti_client_wait(c, asked + ask_every);
    }
    return status;
}

static tithe_status join(void *self, uint64_t job, unsigned ranks, unsigned first, unsigned local,
                         double timeout, tithe_error *error)
{
    client *c = self;
    forget_ranks(c);
    c->job = job;
    c->ranks = ranks;
    c->first = first;
    c->local = local;
    c->here = 0;
    tithe_status status = open_ranks(c, error);
    if (!status) status = wait_for_all(c, timeout > 0 ? timeout : CLIENT_TIMEOUT, error);
    for (unsigned i = 0; i < local && !status; i++) {
        c->of[i].memory = malloc(ti_window_size(c->slots));
        if (!c->of[i].memory)
            return ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory for %u slots.", c->slots);
        ti_window_open(&c->of[i].w, c->of[i].memory, c->slots, c->slots);
    }
    return status;
}

/* ---- all of it --------------------------------------------------------------------------------------------- */

static packet_limits limits(const void *self)
{
    const client *c = self;
    return c->limits;
}

static void close_client(void *self)
{
    client *c = self;
    if (!c) return;
    for (unsigned i = 0; c->of && i < c->local; i++)
        if (c->of[i].joined) ti_client_send(c, i, KIND_LEAVE);
    forget_ranks(c);
    ti_seal_close(&c->seal);
    free(c);
}

static const aggregator over_udp = {
    .name = "udp",
    .join = join,
    .reduce = ti_client_reduce,
    .limits = limits,
    .close = close_client,
};

tithe_status tithe_switch_attach(tithe_comm *comm, const tithe_switch_options *o, tithe_error *error)
{
    if (!comm || !o || o->size < sizeof *o || !o->address)
        return ti_fail(error, TITHE_E_ARGUMENT, 0,
                       "A group of ranks, options with their size in `size`, and an address are needed.");
    client *c = calloc(1, sizeof *c);
    if (!c) return ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory for the way to a switch.");
    c->stop = o->stop;
    c->stop_context = o->stop_context;
    tithe_status status = ti_net_resolve(o->address, &c->at, error);
    if (!status) status = ti_seal_open(&c->seal, o->key, error);
    if (status) {
        close_client(c);
        return status;
    }
    ti_net_write(&c->at, c->where);
    ti_comm_attach(comm, &over_udp, c);
    return TITHE_OK;
}
