/* zmq.c - messages over ZeroMQ: a server that everybody knows, and workers that come to it.
 *
 * Every worker has one connection to the server, which it opens itself, so that only the server needs an address that
 * others can reach. When workers talk to each other too (`peers`), each also listens on a port of its own, and of two
 * workers the one with the higher rank connects (zmq_meet.c). A message is a head (kind, from, to) and its bytes
 * (zmq_wire.c); what arrives is queued by sender until it is asked for.
 *
 * Anybody may connect to a port. What is no message of ours is dropped; a worker that does not fit is told why, and the
 * run goes on without it; and nobody passes for a rank: on a socket that several share, ZeroMQ's name for the connection
 * has to be the one that said hello, and of workers among themselves each knows a number that only the server gave out. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "comm/comm.h"
#include "comm/endpoint.h"
#include "comm/transport_fail.h"
#include "comm/zmq_state.h"

static const char *name_of(const zmq_state *s, unsigned rank, char *text, size_t size)
{
    if (rank == s->size)
        snprintf(text, size, "the server");
    else
        snprintf(text, size, "rank %u", rank);
    return text;
}

/* ---- out ----------------------------------------------------------------------------------------------- */

tithe_status ti_zmq_put(zmq_state *s, unsigned to, uint32_t kind, const void *bytes, size_t length,
                        tithe_error *error)
{
    zmq_peer *p = &s->peers[to];
    char name[24];
    if (!p->socket)
        return transport_fail(error, TITHE_E_PEER, to,
                              "There is no connection to %s: start all with the same scheme.",
                              name_of(s, to, name, sizeof name));
    return ti_wire_send(s->wire, p->socket, &p->name, (const uint32_t[]){kind, s->rank, to}, bytes, length,
                        kind == MESSAGE ? &p->loan : NULL, error);
}

static void put_to_all(zmq_state *s, unsigned except, uint32_t kind, const void *bytes, size_t length)
{
    for (unsigned r = 0; r <= s->size; r++)
        if (r != s->rank && r != except && s->peers[r].socket) ti_zmq_put(s, r, kind, bytes, length, NULL);
}

void ti_zmq_refuse(zmq_state *s, const wire_name *whom, const char *why)
{
    ti_wire_send(s->wire, s->listener, whom, (const uint32_t[]){GIVE_UP, s->rank, 0}, why, strlen(why), NULL,
                 NULL);
}

/* ---- in ------------------------------------------------------------------------------------------------ */

unsigned ti_zmq_rank_of(const zmq_state *s, const wire_name *name)
{
    for (unsigned r = 0; r < s->size; r++)
        if (s->peers[r].socket == s->listener && s->listener && ti_wire_same_name(&s->peers[r].name, name))
            return r;
    return s->size + 1;
}

static void enqueue(zmq_peer *p, wire_body *body)
{
    *(p->last ? &p->last->next : &p->first) = body;
    p->last = body;
    p->queued++;
}

/* Is it from whom it says? */
static bool is_from(const zmq_state *s, const wire_arrival *a, const void *socket)
{
    if (a->from > s->size) return false;
    const zmq_peer *p = &s->peers[a->from];
    return p->socket == socket && ti_wire_same_name(&p->name, &a->name);
}

/* A worker of this run that connects to us, which those after us do; or one that answers, since now it knows us. */
static void meet(zmq_state *s, const wire_arrival *a, void *socket)
{
    if (socket != s->listener && is_from(s, a, socket)) s->peers[a->from].answered = true;
    if (socket != s->listener || s->serves || a->from <= s->rank || a->from >= s->size) return;
    zmq_peer *p = &s->peers[a->from];
    if (p->socket) return;
    if (!a->body || a->body->length != NUMBER_BYTES || memcmp(a->body->bytes, s->number, NUMBER_BYTES) != 0)
        return;
    p->socket = socket;
    p->name = a->name;
    ti_wire_know(s->wire, a->body);
    ti_zmq_put(s, a->from, I_AM, s->number, NUMBER_BYTES, NULL);
}

static tithe_status fail_flooded(const zmq_state *s, unsigned from, tithe_error *error)
{
    char name[24];
    return transport_fail(error, TITHE_E_PEER, from,
                          "%d messages that nobody has asked for wait here from %s: start all with the same "
                          "options.",
                          MAX_QUEUED, name_of(s, from, name, sizeof name));
}

static tithe_status bad_news(const zmq_state *s, const wire_arrival *a, tithe_error *error)
{
    char name[24];
    transport_fail(error, TITHE_E_PEER, a->from, "%s gave up: %.*s", name_of(s, a->from, name, sizeof name),
                   zmq_text_length(a->body), (const char *)a->body->bytes);
    if (error && error->text[0] == 'r') error->text[0] = 'R';
    if (error && error->text[0] == 't') error->text[0] = 'T';
    return TITHE_E_PEER;
}

/* Sort what has arrived, and keep or free its body. Whatever strangers say is dropped here. */
static tithe_status handle(zmq_state *s, wire_arrival *a, void *socket, tithe_error *error)
{
    tithe_status status = TITHE_OK;
    if (a->kind == GIVE_UP && s->serves) a->from = ti_zmq_rank_of(s, &a->name); /* may not know it yet */
    if (a->kind == HELLO && s->serves) {
        char why[80];
        snprintf(why, sizeof why, "The run has begun, and has all of its %u workers.", s->size);
        ti_zmq_refuse(s, &a->name, why);
    } else if (a->kind == I_AM) {
        meet(s, a, socket);
    } else if (!is_from(s, a, socket)) {
        /* nobody, or somebody who would like to be that rank */
    } else if (!a->body) {
        status = transport_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory for a message.");
    } else if (a->kind == MESSAGE && s->peers[a->from].queued == MAX_QUEUED) {
        status = fail_flooded(s, a->from, error);
    } else if (a->kind == MESSAGE) {
        s->waits[a->from] = 0;
        enqueue(&s->peers[a->from], a->body);
        return TITHE_OK;
    } else if (a->kind == WAITING && a->body->length == 4) {
        const uint32_t whom = get_u32(a->body->bytes);
        s->waits[a->from] = whom <= s->size ? whom + 1 : 0;
    } else if (a->kind == GIVE_UP) {
        status = bad_news(s, a, error);
    }
    ti_wire_drop(a->body);
    return status;
}

tithe_status ti_zmq_wait(const zmq_state *s, void *const *sockets, size_t count, double seconds, bool *ready,
                         tithe_error *error)
{
    if (s->stop && s->stop(s->stop_context))
        return transport_fail(error, TITHE_E_STOPPED, 0, "It was stopped by hand.");
    return ti_wire_wait(sockets, count, seconds, ready, error);
}

tithe_status ti_zmq_pump(zmq_state *s, double seconds, tithe_error *error)
{
    void *sockets[WIRE_MAX_SOCKETS];
    bool ready[WIRE_MAX_SOCKETS] = {false};
    size_t count = 0;
    if (s->listener) sockets[count++] = s->listener;
    if (s->server) sockets[count++] = s->server;
    for (unsigned r = 0; r < s->rank && r < s->size && count < WIRE_MAX_SOCKETS; r++)
        if (s->peers[r].socket && s->peers[r].socket != s->listener) sockets[count++] = s->peers[r].socket;
    tithe_status status = ti_zmq_wait(s, sockets, count, seconds, ready, error);
    for (size_t i = 0; i < count && !status; i++) {
        wire_arrival a;
        if (ready[i] && ti_wire_take(sockets[i], sockets[i] == s->listener, &a))
            status = handle(s, &a, sockets[i], error);
    }
    return status;
}

/* ---- the five functions -------------------------------------------------------------------------------- */

static tithe_status send(void *self, unsigned from, unsigned to, const void *bytes, size_t length,
                         tithe_error *error)
{
    (void)from;
    return ti_zmq_put(self, to, MESSAGE, bytes, length, error);
}

static void say_waiting(zmq_state *s, unsigned from, uint32_t whom)
{
    uint8_t bytes[4];
    put_u32(bytes, whom);
    put_to_all(s, from, WAITING, bytes, sizeof bytes);
}

static tithe_status fail_late(const zmq_state *s, unsigned from, double timeout, tithe_error *error)
{
    char me[24], other[24];
    unsigned waiter;
    const unsigned who = comm_culprit(s->waits, s->size + 1, s->rank, from, &waiter);
    return transport_fail(error, TITHE_E_TIMEOUT, who, "Nothing came from %s to %s within %.3g seconds.",
                          name_of(s, who, other, sizeof other), name_of(s, waiter, me, sizeof me), timeout);
}

/* What has arrived on the connection of a rank, without asking the system. */
static tithe_status look_at(zmq_state *s, unsigned from, tithe_error *error)
{
    void *socket = s->peers[from].socket;
    wire_arrival a;
    tithe_status status = TITHE_OK;
    while (socket && !s->peers[from].first && !status && ti_wire_take(socket, socket == s->listener, &a))
        status = handle(s, &a, socket, error);
    return status;
}

/* After a quarter of the timeout the others are told who is waited for, so that they know whose fault it is. */
static tithe_status wait_for_message(zmq_state *s, unsigned from, double timeout, tithe_error *error)
{
    const double start = clock_now();
    bool told = false;
    tithe_status status = look_at(s, from, error);
    while (!s->peers[from].first && !status) {
        const double left = start + timeout - clock_now();
        if (left <= 0) return fail_late(s, from, timeout, error);
        if (!told && left < 0.75 * timeout) {
            say_waiting(s, from, from);
            told = true;
        }
        const double next = told ? left : left - 0.75 * timeout;
        status = ti_zmq_pump(s, next < 0.5 ? next : 0.5, error);
    }
    if (told && !status) say_waiting(s, from, UINT32_MAX);
    return status;
}

/* The next message of a rank, out of its queue. */
static tithe_status next_message(zmq_state *s, unsigned from, size_t length, double timeout, wire_body **body,
                                 tithe_error *error)
{
    zmq_peer *p = &s->peers[from];
    char other[24];
    const tithe_status status = wait_for_message(s, from, timeout, error);
    if (status) return status;
    wire_body *q = p->first;
    if (q->length != length)
        return transport_fail(error, TITHE_E_MISMATCH, from,
                              "A message of %s has %zu bytes where %zu were expected.",
                              name_of(s, from, other, sizeof other), q->length, length);
    p->first = q->next;
    if (!p->first) p->last = NULL;
    p->queued--;
    *body = q;
    return TITHE_OK;
}

static tithe_status receive(void *self, unsigned at, unsigned from, void *bytes, size_t length,
                            double timeout, tithe_error *error)
{
    (void)at;
    wire_body *body = NULL;
    const tithe_status status = next_message(self, from, length, timeout, &body, error);
    if (status) return status;
    memcpy(bytes, body->bytes, length);
    ti_wire_drop(body);
    return TITHE_OK;
}

/* Where ZeroMQ has it, unless numbers cannot be read there. */
static tithe_status take_piece(void *self, unsigned at, unsigned from, void *room, size_t length,
                               const void **bytes, double timeout, tithe_error *error)
{
    (void)at;
    zmq_state *s = self;
    wire_body *body = NULL;
    const tithe_status status = next_message(s, from, length, timeout, &body, error);
    if (status) return status;
    ti_wire_drop(s->peers[from].taken);
    s->peers[from].taken = body;
    const bool aligned = (uintptr_t)body->bytes % sizeof(float) == 0;
    if (!aligned) memcpy(room, body->bytes, length);
    *bytes = aligned ? (const void *)body->bytes : room;
    return TITHE_OK;
}

static bool owes(const zmq_state *s, unsigned rank)
{
    return ti_wire_owes(&s->peers[rank].loan);
}

static tithe_status fail_unsent(const zmq_state *s, double timeout, tithe_error *error)
{
    char me[24], other[24];
    unsigned to = 0, waiter;
    while (to < s->size && !owes(s, to)) to++;
    if (comm_culprit(s->waits, s->size + 1, s->rank, to, &waiter) != to)
        return fail_late(s, to, timeout, error);
    return transport_fail(error, TITHE_E_TIMEOUT, to,
                          "A message of %s could not be handed to %s within %.3g seconds.",
                          name_of(s, s->rank, me, sizeof me), name_of(s, to, other, sizeof other), timeout);
}

/* Long messages leave from where they are. And those of the next round should not share the link with those of this one: a
 * tree that hands out would serve the far branch last. */
static tithe_status flush(void *self, double timeout, tithe_error *error)
{
    zmq_state *s = self;
    const double end = clock_now() + timeout;
    tithe_status status = TITHE_OK;
    while (!ti_wire_flush(s->wire, 0.1) && !status) {
        status = ti_zmq_pump(s, 0, error); /* somebody may have given up meanwhile */
        if (!status && clock_now() > end) status = fail_unsent(s, timeout, error);
    }
    return status;
}

static void cut_off(zmq_state *s, void *socket)
{
    for (unsigned r = 0; r <= s->size; r++)
        if (s->peers[r].socket == socket) s->peers[r].socket = NULL;
    ti_wire_hurry(socket, 0);
    if (socket == s->listener)
        ti_wire_close_listener(s->wire, socket);
    else
        ti_wire_close_socket(socket);
    if (socket == s->listener) s->listener = NULL;
    if (socket == s->server) s->server = NULL;
}

/* Bytes that were lent are their owner's again: whoever does not take them loses the connection. */
static void call_in(zmq_state *s)
{
    enum { GRACE = 1, SOON = 10 }; /* seconds; ZeroMQ lets go when its thread gets to it */
    if (ti_wire_flush(s->wire, GRACE)) return;
    for (unsigned r = 0; r <= s->size; r++)
        if (s->peers[r].socket && owes(s, r)) cut_off(s, s->peers[r].socket);
    ti_wire_flush(s->wire, SOON);
}

void ti_zmq_give_up(void *self, const char *why)
{
    zmq_state *s = self;
    put_to_all(s, s->rank, GIVE_UP, why, strlen(why));
    call_in(s);
}

static void close_zmq(void *self)
{
    zmq_state *s = self;
    for (unsigned r = 0; s->peers && r <= s->size; r++) {
        void *socket = s->peers[r].socket;
        if (socket && socket != s->listener && socket != s->server) ti_wire_close_socket(socket);
        ti_wire_drop(s->peers[r].taken);
        for (wire_body *q = s->peers[r].first; q;) {
            wire_body *next = q->next;
            ti_wire_drop(q);
            q = next;
        }
    }
    if (s->server) ti_wire_close_socket(s->server);
    if (s->listener) ti_wire_close_listener(s->wire, s->listener);
    ti_wire_close(s->wire);
    free(s->peers);
    free(s->waits);
    free(s);
}

static const tithe_transport transport = {
    .size = sizeof(tithe_transport),
    .name = "zmq",
    .summary = "ZeroMQ over TCP or IPC: workers on any hosts that come to a server",
    .send = send,
    .receive = receive,
    .flush = flush,
    .give_up = ti_zmq_give_up,
    .close = close_zmq,
    .take_piece = take_piece,
};

tithe_status tithe_comm_zmq(const tithe_zmq_options *o, tithe_comm **comm, tithe_error *error)
{
    if (!o || o->size < sizeof *o || !o->endpoint || o->workers < 1 || o->workers >= WIRE_MAX_SOCKETS)
        return transport_fail(
            error, TITHE_E_ARGUMENT, 0,
            "Options with their size in `size`, an endpoint such as tcp://127.0.0.1:5555 and 1 to %d "
            "workers are needed.",
            WIRE_MAX_SOCKETS - 1);
    const tithe_status sensible = ti_endpoint_check(o->endpoint, error);
    if (sensible) return sensible;
    zmq_state *s = calloc(1, sizeof *s);
    if (s) {
        s->size = s->rank = o->workers;
        s->timeout = o->timeout > 0 ? o->timeout : 30;
        s->serves = o->server;
        s->stop = o->stop;
        s->stop_context = o->stop_context;
        s->peers = calloc(o->workers + 1u, sizeof *s->peers);
        s->waits = calloc(o->workers + 1u, sizeof *s->waits);
        s->wire = ti_wire_open();
    }
    if (!s || !s->peers || !s->waits || !s->wire) {
        if (s) close_zmq(s);
        return transport_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory for ZeroMQ.");
    }
    const tithe_status status = o->server ? ti_zmq_gather_workers(s, o, error) : ti_zmq_join(s, o, error);
    if (status) {
        close_zmq(s);
        return status;
    }
    const tithe_place place = {.size = sizeof place,
                               .ranks = o->workers,
                               .first = s->rank,
                               .local = o->server ? 0 : 1,
                               .server = o->workers,
                               .timeout = s->timeout};
    const tithe_status made = tithe_comm_custom(&transport, s, &place, comm, error);
    if (made) close_zmq(s);
    return made;
}
