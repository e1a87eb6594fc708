/* zmq_meet.c - a server and its workers get together. Workers come to the server and say hello; when all are there, each is
 * told its rank, and, with `peers`, where the others listen; of two workers the one with the higher rank connects. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "comm/endpoint.h"
#include "comm/transport_fail.h"
#include "comm/zmq_state.h"

enum {
    MAX_ADDRESS = 128,
    HELLO_BYTES = 12 + MAX_ADDRESS,
    MAGIC = 0x7469, /* "ti" */
    VERSION = 5     /* of what is said here and afterwards; up to 4 nobody wanted a rank */
};

static const double LOOK = 0.2; /* seconds between two looks at the clock */

static tithe_status listen_at(zmq_state *s, const char *endpoint, int file, tithe_error *error)
{
    const char *why;
    s->listener = ti_wire_listen(s->wire, endpoint, file, s->timeout, &why);
    if (s->listener) return TITHE_OK;
    return transport_fail(error, TITHE_E_PEER, 0, "Cannot listen at '%s': %s.", endpoint, why);
}

/* ---- hello --------------------------------------------------------------------------------------------- */

static void write_hello(uint8_t *hello, const tithe_zmq_options *o, const char *address)
{
    memset(hello, 0, HELLO_BYTES);
    put_u32(hello, (uint32_t)MAGIC << 16 | VERSION);
    put_u32(hello + 4, o->workers);
    put_u32(hello + 8, o->wants);
    snprintf((char *)hello + 12, MAX_ADDRESS, "%s", address);
}

/* ---- the server ---------------------------------------------------------------------------------------- */

/* Who has come so far, in the order of arrival: which rank they want, and where they listen. */
typedef struct guests {
    unsigned here;
    uint32_t *wants; /* of each; 1 + rank, or 0 */
    uint8_t *book;   /* MAX_ADDRESS bytes for each */
    char refused[180];
} guests;

static bool is_wanted(const guests *g, uint32_t rank_and_1)
{
    for (unsigned i = 0; i < g->here; i++)
        if (g->wants[i] == rank_and_1) return true;
    return false;
}

enum hello_answer { TAKE_IT, REFUSE_IT, IGNORE_IT };

/* Is this a worker for us? What is no worker at all gets no answer. */
static enum hello_answer judge_hello(const zmq_state *s, const guests *g, const wire_arrival *a,
                                     const tithe_zmq_options *o, char *why, size_t room)
{
    if (a->kind != HELLO || !a->body || a->body->length < 4 || get_u32(a->body->bytes) >> 16 != MAGIC)
        return IGNORE_IT;
    if (ti_zmq_rank_of(s, &a->name) < s->size) return IGNORE_IT; /* who said it twice is still one */
    const uint8_t *hello = a->body->bytes;
    const unsigned version = get_u32(hello) & 0xffff;
    if (version != VERSION || a->body->length != HELLO_BYTES)
        snprintf(
            why, room,
            "The server speaks version %d of Tithe's messages, but a worker version %u: install the same "
            "Tithe everywhere.",
            VERSION, version);
    else if (get_u32(hello + 4) != o->workers)
        snprintf(why, room, "The server waits for %u workers, but a worker expects %u.", o->workers,
                 get_u32(hello + 4));
    else if (get_u32(hello + 8) > o->workers || (get_u32(hello + 8) && is_wanted(g, get_u32(hello + 8))))
        snprintf(why, room, "Two workers want to be rank %u, or there is no such rank: give each its own.",
                 get_u32(hello + 8) - 1);
    else
        return TAKE_IT;
    return REFUSE_IT;
}

static void take_in(zmq_state *s, guests *g, const wire_arrival *a)
{
    uint8_t *address = g->book + (size_t)g->here * MAX_ADDRESS;
    s->peers[g->here].socket = s->listener;
    s->peers[g->here].name = a->name;
    memcpy(address, a->body->bytes + 12, MAX_ADDRESS);
    address[MAX_ADDRESS - 1] = 0;
    g->wants[g->here++] = get_u32(a->body->bytes + 8);
    ti_wire_know(s->wire, a->body);
}

/* One does not want to wait any longer. The last one takes its place: nobody has been told a rank yet. */
static void let_go(zmq_state *s, guests *g, const wire_name *name)
{
    const unsigned rank = ti_zmq_rank_of(s, name), last = g->here - 1;
    if (rank >= s->size) return;
    s->peers[rank] = s->peers[last];
    s->peers[last] = (zmq_peer){.socket = NULL};
    memmove(g->book + (size_t)rank * MAX_ADDRESS, g->book + (size_t)last * MAX_ADDRESS, MAX_ADDRESS);
    g->wants[rank] = g->wants[last];
    g->here--;
}

static void receive_guest(zmq_state *s, const tithe_zmq_options *o, guests *g, const wire_arrival *a)
{
    char why[160] = "";
    if (a->kind == GIVE_UP) let_go(s, g, &a->name);
    switch (judge_hello(s, g, a, o, why, sizeof why)) {
    case TAKE_IT: take_in(s, g, a); break;
    case REFUSE_IT:
        ti_zmq_refuse(s, &a->name, why);
        snprintf(g->refused, sizeof g->refused, ", and one was refused: %.*s", (int)strcspn(why, "."), why);
        break;
    case IGNORE_IT: break;
    }
}

/* Where the others listen is told only if all want to know it. Whoever has another idea of who talks to whom is one of this run
 * all the same: the handshake goes by way of the server, and says what differs. */
static void close_book(const guests *g, const tithe_zmq_options *o)
{
    bool open = o->peers;
    for (unsigned i = 0; i < g->here; i++) open = open && g->book[(size_t)i * MAX_ADDRESS];
    if (!open) memset(g->book, 0, (size_t)g->here * MAX_ADDRESS);
}

static void swap_guests(zmq_state *s, const guests *g, unsigned i, unsigned k)
{
    uint8_t address[MAX_ADDRESS], *const first = g->book + (size_t)i * MAX_ADDRESS,
                                         *const second = g->book + (size_t)k * MAX_ADDRESS;
    const zmq_peer peer = s->peers[i];
    const uint32_t wants = g->wants[i];
    s->peers[i] = s->peers[k];
    s->peers[k] = peer;
    g->wants[i] = g->wants[k];
    g->wants[k] = wants;
    memcpy(address, first, MAX_ADDRESS);
    memmove(first, second, MAX_ADDRESS);
    memcpy(second, address, MAX_ADDRESS);
}

/* Everybody to the place that it wants; the others stay in the order of arrival as far as that goes. */
static void seat(zmq_state *s, const guests *g)
{
    for (unsigned i = 0; i < g->here; i++)
        while (g->wants[i] && g->wants[i] != i + 1) swap_guests(s, g, i, g->wants[i] - 1);
}

static tithe_status wait_for_workers(zmq_state *s, const tithe_zmq_options *o, uint8_t *book, uint32_t *wants,
                                     tithe_error *error)
{
    const double end = clock_now() + s->timeout;
    guests g = {.book = book, .wants = wants};
    tithe_status status = TITHE_OK;
    while (g.here < o->workers && !status) {
        wire_arrival a;
        bool ready;
        if (clock_now() > end)
            return transport_fail(error, TITHE_E_TIMEOUT, g.here,
                                  "Only %u of %u workers came to %.60s within %.3g seconds%s.", g.here,
                                  o->workers, o->endpoint, s->timeout, g.refused);
        status = ti_zmq_wait(s, &s->listener, 1, LOOK, &ready, error);
        if (status || !ready || !ti_wire_take(s->listener, true, &a)) continue;
        receive_guest(s, o, &g, &a);
        ti_wire_drop(a.body);
    }
    if (!status) seat(s, &g);
    close_book(&g, o);
    return status;
}

static bool draw_number(uint8_t *number)
{
    const int file = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    const bool drawn = file >= 0 && read(file, number, NUMBER_BYTES) == NUMBER_BYTES;
    if (file >= 0) close(file);
    return drawn;
}

tithe_status ti_zmq_gather_workers(zmq_state *s, const tithe_zmq_options *o, tithe_error *error)
{
    const size_t length = NUMBER_BYTES + (size_t)o->workers * MAX_ADDRESS;
    uint8_t *welcome = calloc(1, length);
    uint32_t *wants = calloc(o->workers, sizeof *wants);
    tithe_status status = TITHE_OK;
    if (!welcome || !wants)
        status = transport_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory for the workers.");
    else if (!draw_number(welcome))
        status = transport_fail(error, TITHE_E_FILE, 0, "Cannot draw a number from /dev/urandom.");
    if (!status) status = listen_at(s, o->endpoint, o->listening, error);
    if (!status) status = wait_for_workers(s, o, welcome + NUMBER_BYTES, wants, error);
    if (status) /* those who came should not wait in vain */
        ti_zmq_give_up(s, error ? error->text : "not all workers came");
    for (unsigned r = 0; r < o->workers && !status; r++)
        status = ti_zmq_put(s, r, WELCOME, welcome, length, error);
    free(welcome);
    free(wants);
    return status;
}

/* ---- a worker ------------------------------------------------------------------------------------------ */

/* A port of its own, where only those can reach it who can also reach the server. */
static tithe_status listen_for_peers(zmq_state *s, const tithe_zmq_options *o, char *address,
                                     tithe_error *error)
{
    char wanted[MAX_ADDRESS];
    tithe_status status = ti_endpoint_beside(o->endpoint, wanted, sizeof wanted, error);
    if (!status) status = listen_at(s, wanted, 0, error);
    if (!status && !ti_wire_address(s->listener, address, MAX_ADDRESS))
        status = transport_fail(error, TITHE_E_PEER, 0, "ZeroMQ could not say where it listens.");
    return status;
}

static tithe_status connect_to_peer(zmq_state *s, unsigned rank, const uint8_t *book, tithe_error *error)
{
    char address[MAX_ADDRESS + 1];
    const char *why;
    memcpy(address, book + (size_t)rank * MAX_ADDRESS, MAX_ADDRESS);
    address[MAX_ADDRESS] = 0;
    s->peers[rank].socket = ti_wire_connect(s->wire, address, s->timeout, &why);
    if (!s->peers[rank].socket)
        return transport_fail(error, TITHE_E_PEER, rank, "Cannot connect to rank %u at '%s': %s.", rank,
                              address, why);
    return ti_zmq_put(s, rank, I_AM, s->number, NUMBER_BYTES, error);
}

static bool is_met(const zmq_state *s, unsigned rank)
{
    return rank < s->rank ? s->peers[rank].answered : rank == s->rank || s->peers[rank].socket;
}

/* Those before us listen, and answer when they know us, before which they would not let us say much; those after us will
 * come. */
static tithe_status meet_peers(zmq_state *s, const uint8_t *book, tithe_error *error)
{
    tithe_status status = TITHE_OK;
    for (unsigned r = 0; r < s->rank && !status; r++) status = connect_to_peer(s, r, book, error);
    const double end = clock_now() + s->timeout;
    for (unsigned r = 0; r < s->size && !status; r++)
        while (!is_met(s, r) && !status) {
            if (clock_now() > end)
                status = transport_fail(error, TITHE_E_TIMEOUT, r,
                                        "Rank %u did not %s rank %u within %.3g seconds.", r,
                                        r < s->rank ? "answer" : "connect to", s->rank, s->timeout);
            else
                status = ti_zmq_pump(s, LOOK, error);
        }
    return status;
}

/* The server's answer: a rank, or a reason why there is none. */
static tithe_status read_answer(zmq_state *s, const tithe_zmq_options *o, const wire_arrival *a,
                                tithe_error *error)
{
    const wire_body *body = a->body;
    if (a->kind == GIVE_UP)
        return transport_fail(error, TITHE_E_MISMATCH, 0, "The server at %.60s says: %.*s", o->endpoint,
                              zmq_text_length(body), (const char *)body->bytes);
    if (a->to >= s->size || body->length != NUMBER_BYTES + (size_t)s->size * MAX_ADDRESS)
        return transport_fail(error, TITHE_E_MISMATCH, 0, "The server's welcome makes no sense.");
    s->rank = a->to;
    memcpy(s->number, body->bytes, NUMBER_BYTES);
    const uint8_t *book = body->bytes + NUMBER_BYTES;
    return o->peers && book[0] ? meet_peers(s, book, error) : TITHE_OK;
}

static tithe_status wait_for_answer(zmq_state *s, const tithe_zmq_options *o, tithe_error *error)
{
    const double end = clock_now() + s->timeout;
    for (;;) {
        wire_arrival a;
        bool ready;
        if (clock_now() > end)
            return transport_fail(error, TITHE_E_TIMEOUT, 0,
                                  "The server at %s did not answer within %.3g seconds.", o->endpoint,
                                  s->timeout);
        tithe_status status = ti_zmq_wait(s, &s->server, 1, LOOK, &ready, error);
        if (status) return status;
        if (!ready || !ti_wire_take(s->server, false, &a)) continue;
        const bool answer = a.body && (a.kind == WELCOME || a.kind == GIVE_UP);
        if (answer) status = read_answer(s, o, &a, error);
        ti_wire_drop(a.body);
        if (answer) return status;
    }
}

tithe_status ti_zmq_join(zmq_state *s, const tithe_zmq_options *o, tithe_error *error)
{
    char address[MAX_ADDRESS] = "";
    uint8_t hello[HELLO_BYTES];
    const char *why;
    tithe_status status = o->peers ? listen_for_peers(s, o, address, error) : TITHE_OK;
    if (status) return status;
    s->server = ti_wire_connect(s->wire, o->endpoint, s->timeout, &why);
    if (!s->server)
        return transport_fail(error, TITHE_E_PEER, 0, "Cannot connect to '%s': %s.", o->endpoint, why);
    s->peers[s->size].socket = s->server;
    write_hello(hello, o, address);
    s->rank = 0;
    status = ti_zmq_put(s, s->size, HELLO, hello, sizeof hello, error);
    if (!status) status = wait_for_answer(s, o, error);
    if (status) { /* our place is free; but there may be nobody who could be told */
        ti_zmq_give_up(s, error ? error->text : "a worker could not join");
        ti_wire_hurry(s->server, 0.5);
    }
    return status;
}
