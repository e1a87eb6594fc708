/* zmq.c - messages over ZeroMQ: a server that everybody knows, and workers that come to it. The only file that
 * includes zmq.h.
 *
 * Every worker has one connection to the server, which it opens itself, so that only the server needs an address that
 * others can reach. When workers talk to each other too (`peers`), each also listens on a port of its own, and of two
 * workers the one with the higher rank connects. A message is a head (kind, from, to) and its bytes; what arrives is
 * queued by sender until it is asked for. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "comm/comm.h"
#include "tithe/transport.h"

enum {
    HELLO,   /* a worker to the server: version, workers, peers, and where it listens */
    WELCOME, /* the server to a worker: its rank, and where everybody listens */
    I_AM,    /* of two workers, the one that connected says who it is */
    MESSAGE,
    GIVE_UP,
    HEAD = 12,
    MOST_ADDRESS = 128,
    HELLO_BYTES = 12 + MOST_ADDRESS,
    WIRE = 0x74690001 /* "ti", version 1 of what is said here */
};

typedef struct queued {
    struct queued *next;
    size_t length;
    uint8_t bytes[];
} queued;

/* The other end of one connection. */
typedef struct peer {
    void *socket;         /* NULL: not connected */
    uint8_t identity[32]; /* on a socket that several share */
    size_t identity_length;
    queued *first, *last;
} peer;

typedef struct zmq_state {
    void *context;
    void *listener;      /* many connect here; NULL: nobody does */
    void *server;        /* a worker's connection to the server */
    unsigned rank, size; /* rank `size` is the server */
    double deadline;
    peer *peers; /* size + 1 of them */
} zmq_state;

static tithe_status fail_zmq(const char *what, tithe_error *error)
{
    return ti_fail(error, TITHE_E_PEER, 0, "ZeroMQ could not %s: %s.", what, zmq_strerror(zmq_errno()));
}

static const char *name_of(const zmq_state *s, unsigned rank, char *text, size_t size)
{
    if (rank == s->size)
        snprintf(text, size, "the server");
    else
        snprintf(text, size, "rank %u", rank);
    return text;
}

/* ---- out ----------------------------------------------------------------------------------------------- */

static tithe_status put(zmq_state *s, unsigned to, int kind, const void *bytes, size_t length,
                        tithe_error *error)
{
    peer *p = &s->peers[to];
    uint8_t head[HEAD];
    put_u32(head, (uint32_t)kind);
    put_u32(head + 4, s->rank);
    put_u32(head + 8, to);
    char name[24];
    if (!p->socket)
        return ti_fail(error, TITHE_E_PEER, to, "There is no connection to %s.",
                       name_of(s, to, name, sizeof name));
    if (p->identity_length && zmq_send(p->socket, p->identity, p->identity_length, ZMQ_SNDMORE) < 0)
        return fail_zmq("send", error);
    if (zmq_send(p->socket, head, HEAD, ZMQ_SNDMORE) < 0 || zmq_send(p->socket, bytes, length, 0) < 0)
        return fail_zmq("send", error);
    return TITHE_OK;
}

/* ---- in ------------------------------------------------------------------------------------------------ */

typedef struct arrival {
    int kind;
    unsigned from, to;
    uint8_t identity[32];
    size_t identity_length;
    zmq_msg_t body;
} arrival;

/* One message of up to three parts. False: it is none of ours, and is dropped. */
static bool take(void *socket, bool routed, arrival *a)
{
    zmq_msg_t part;
    uint8_t head[HEAD];
    bool fine = true;
    *a = (arrival){.kind = -1};
    zmq_msg_init(&a->body);
    for (int i = routed ? 0 : 1; i < 3; i++) {
        zmq_msg_init(&part);
        if (zmq_msg_recv(&part, socket, 0) < 0) fine = false;
        const size_t length = fine ? zmq_msg_size(&part) : 0;
        if (i == 0 && length <= sizeof a->identity) {
            memcpy(a->identity, zmq_msg_data(&part), length);
            a->identity_length = length;
        } else if (i == 1 && length == HEAD) {
            memcpy(head, zmq_msg_data(&part), HEAD);
            a->kind = (int)get_u32(head);
            a->from = get_u32(head + 4);
            a->to = get_u32(head + 8);
        } else if (i == 2) {
            zmq_msg_move(&a->body, &part);
        } else {
            fine = false;
        }
        const bool more = i < 2 ? zmq_msg_more(&part) != 0 : zmq_msg_more(&a->body) != 0;
        zmq_msg_close(&part);
        if (more != (i < 2)) fine = false;
        if (!more) break;
    }
    if (!fine) zmq_msg_close(&a->body);
    return fine;
}

static bool enqueue(peer *p, zmq_msg_t *body)
{
    const size_t length = zmq_msg_size(body);
    queued *q = malloc(sizeof *q + length);
    if (!q) return false;
    q->next = NULL;
    q->length = length;
    memcpy(q->bytes, zmq_msg_data(body), length);
    *(p->last ? &p->last->next : &p->first) = q;
    p->last = q;
    return true;
}

/* Sort what has arrived. */
static tithe_status handle(zmq_state *s, arrival *a, void *socket, tithe_error *error)
{
    tithe_status status = TITHE_OK;
    char name[24];
    if (a->from > s->size) {
        /* a stranger */
    } else if (a->kind == I_AM) {
        s->peers[a->from].socket = socket;
        memcpy(s->peers[a->from].identity, a->identity, a->identity_length);
        s->peers[a->from].identity_length = a->identity_length;
    } else if (a->kind == MESSAGE) {
        if (!enqueue(&s->peers[a->from], &a->body))
            status = ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory for a message.");
    } else if (a->kind == GIVE_UP) {
        status =
            ti_fail(error, TITHE_E_PEER, a->from, "%s gave up: %.*s", name_of(s, a->from, name, sizeof name),
                    (int)zmq_msg_size(&a->body), (const char *)zmq_msg_data(&a->body));
        if (error && error->text[0] == 'r') error->text[0] = 'R';
        if (error && error->text[0] == 't') error->text[0] = 'T';
    }
    zmq_msg_close(&a->body);
    return status;
}

enum { MOST_SOCKETS = 1024 };

/* Wait for anything to arrive, for at most `seconds`, and sort it. */
static tithe_status pump(zmq_state *s, double seconds, tithe_error *error)
{
    zmq_pollitem_t items[MOST_SOCKETS];
    int count = 0;
    if (s->listener) items[count++] = (zmq_pollitem_t){.socket = s->listener, .events = ZMQ_POLLIN};
    if (s->server) items[count++] = (zmq_pollitem_t){.socket = s->server, .events = ZMQ_POLLIN};
    for (unsigned r = 0; r < s->rank && r < s->size && count < MOST_SOCKETS; r++)
        if (s->peers[r].socket && s->peers[r].socket != s->listener)
            items[count++] = (zmq_pollitem_t){.socket = s->peers[r].socket, .events = ZMQ_POLLIN};
    const long wait = seconds <= 0 ? 0 : (long)(seconds * 1000) + 1;
    const int ready = zmq_poll(items, count, wait);
    if (ready < 0) return zmq_errno() == EINTR ? TITHE_OK : fail_zmq("wait", error);
    tithe_status status = TITHE_OK;
    for (int i = 0; i < count && !status; i++) {
        if (!(items[i].revents & ZMQ_POLLIN)) continue;
        arrival a;
        if (take(items[i].socket, items[i].socket == s->listener, &a))
            status = handle(s, &a, items[i].socket, error);
    }
    return status;
}

/* ---- the five functions -------------------------------------------------------------------------------- */

static tithe_status send(void *self, unsigned from, unsigned to, const void *bytes, size_t length,
                         tithe_error *error)
{
    (void)from;
    return put(self, to, MESSAGE, bytes, length, error);
}

static tithe_status receive(void *self, unsigned at, unsigned from, void *bytes, size_t length,
                            double deadline, tithe_error *error)
{
    (void)at;
    zmq_state *s = self;
    peer *p = &s->peers[from];
    const double end = clock_now() + deadline;
    char me[24], other[24];
    while (!p->first) {
        const double left = end - clock_now();
        if (left <= 0)
            return ti_fail(error, TITHE_E_TIMEOUT, from, "Nothing came from %s to %s within %.3g seconds.",
                           name_of(s, from, other, sizeof other), name_of(s, s->rank, me, sizeof me),
                           deadline);
        const tithe_status status = pump(s, left < 0.5 ? left : 0.5, error);
        if (status) return status;
    }
    queued *q = p->first;
    if (q->length != length)
        return ti_fail(error, TITHE_E_MISMATCH, from,
                       "A message of %s has %zu bytes where %zu were expected.",
                       name_of(s, from, other, sizeof other), q->length, length);
    memcpy(bytes, q->bytes, length);
    p->first = q->next;
    if (!p->first) p->last = NULL;
    free(q);
    return TITHE_OK;
}

/* ZeroMQ has copied everything that was sent. */
static tithe_status flush(void *self, double deadline, tithe_error *error)
{
    (void)self;
    (void)deadline;
    (void)error;
    return TITHE_OK;
}

static void give_up(void *self, const char *why)
{
    zmq_state *s = self;
    for (unsigned r = 0; r <= s->size; r++)
        if (r != s->rank && s->peers[r].socket) put(s, r, GIVE_UP, why, strlen(why), NULL);
}

static void close_zmq(void *self)
{
    zmq_state *s = self;
    for (unsigned r = 0; s->peers && r <= s->size; r++) {
        void *socket = s->peers[r].socket;
        if (socket && socket != s->listener && socket != s->server) zmq_close(socket);
        for (queued *q = s->peers[r].first; q;) {
            queued *next = q->next;
            free(q);
            q = next;
        }
    }
    if (s->server) zmq_close(s->server);
    if (s->listener) zmq_close(s->listener);
    if (s->context)
        zmq_ctx_term(s->context); /* waits for what is still to be sent, as long as ZMQ_LINGER says */
    free(s->peers);
    free(s);
}

static const tithe_transport transport = {
    .name = "zmq",
    .summary = "ZeroMQ over TCP or IPC: workers on any hosts that come to a server",
    .send = send,
    .receive = receive,
    .flush = flush,
    .give_up = give_up,
    .close = close_zmq,
};

/* ---- getting together ---------------------------------------------------------------------------------- */

static void *open_socket(zmq_state *s, int type)
{
    void *socket = zmq_socket(s->context, type);
    if (!socket) return NULL;
    const int linger = 2000, unlimited = 0, timeout = (int)(s->deadline * 1000);
    zmq_setsockopt(socket, ZMQ_LINGER, &linger, sizeof linger);
    zmq_setsockopt(socket, ZMQ_SNDHWM, &unlimited,
                   sizeof unlimited); /* a round is bounded; a send must not wait */
    zmq_setsockopt(socket, ZMQ_RCVHWM, &unlimited, sizeof unlimited);
    zmq_setsockopt(socket, ZMQ_SNDTIMEO, &timeout, sizeof timeout);
    return socket;
}

static void write_hello(uint8_t *hello, const tithe_zmq_options *o, const char *address)
{
    memset(hello, 0, HELLO_BYTES);
    put_u32(hello, WIRE);
    put_u32(hello + 4, o->workers);
    put_u32(hello + 8, o->peers);
    snprintf((char *)hello + 12, MOST_ADDRESS, "%s", address);
}

static tithe_status check_hello(const uint8_t *hello, size_t length, const tithe_zmq_options *o,
                                tithe_error *error)
{
    if (length != HELLO_BYTES || get_u32(hello) != WIRE)
        return ti_fail(error, TITHE_E_MISMATCH, 0,
                       "Something came to %s that is no worker of this version of Tithe.", o->endpoint);
    if (get_u32(hello + 4) != o->workers)
        return ti_fail(error, TITHE_E_MISMATCH, 0,
                       "The server waits for %u workers, but a worker expects %u.", o->workers,
                       get_u32(hello + 4));
    if (get_u32(hello + 8) != (uint32_t)o->peers)
        return ti_fail(
            error, TITHE_E_MISMATCH, 0,
            "Server and worker disagree on whether workers talk to each other: give both the same scheme.");
    return TITHE_OK;
}

static tithe_status listen_at(zmq_state *s, const char *endpoint, tithe_error *error)
{
    s->listener = open_socket(s, ZMQ_ROUTER);
    if (!s->listener) return fail_zmq("open a socket", error);
    if (zmq_bind(s->listener, endpoint) != 0)
        return ti_fail(error, TITHE_E_PEER, 0, "Cannot listen at '%s': %s.", endpoint,
                       zmq_strerror(zmq_errno()));
    return TITHE_OK;
}

/* tcp://0.0.0.0:port is what a wildcard gives; the host has to come from elsewhere. */
static void replace_host(char *address, const char *host)
{
    const char *port = strrchr(address, ':');
    if (strncmp(address, "tcp://0.0.0.0:", 14) != 0 || !port) return;
    char made[MOST_ADDRESS];
    const bool v6 = strchr(host, ':') != NULL;
    snprintf(made, sizeof made, "tcp://%s%.80s%s%.10s", v6 ? "[" : "", host, v6 ? "]" : "", port);
    memcpy(address, made, sizeof made);
}

/* The server: wait for all workers, then tell each its rank and where the others listen. */
static tithe_status gather_workers(zmq_state *s, const tithe_zmq_options *o, tithe_error *error)
{
    tithe_status status = listen_at(s, o->endpoint, error);
    uint8_t *book = calloc(o->workers + 1u, MOST_ADDRESS);
    if (!book && !status)
        status = ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory for the workers.");
    const double end = clock_now() + s->deadline;
    unsigned here = 0;
    while (!status && here < o->workers) {
        zmq_pollitem_t item = {.socket = s->listener, .events = ZMQ_POLLIN};
        const double left = end - clock_now();
        if (left <= 0)
            status =
                ti_fail(error, TITHE_E_TIMEOUT, here, "Only %u of %u workers came to %s within %.3g seconds.",
                        here, o->workers, o->endpoint, s->deadline);
        if (status || zmq_poll(&item, 1, 200) <= 0) continue;
        arrival a;
        if (!take(s->listener, true, &a)) continue;
        if (a.kind == HELLO) {
            status = check_hello(zmq_msg_data(&a.body), zmq_msg_size(&a.body), o, error);
            peer *p = &s->peers[here];
            p->socket = s->listener;
            memcpy(p->identity, a.identity, a.identity_length);
            p->identity_length = a.identity_length;
            if (!status) {
                char *address = (char *)book + (size_t)here * MOST_ADDRESS;
                const char *host = zmq_msg_gets(&a.body, "Peer-Address");
                memcpy(address, (uint8_t *)zmq_msg_data(&a.body) + 12, MOST_ADDRESS);
                address[MOST_ADDRESS - 1] = 0;
                if (host) replace_host(address, host);
            }
            here++;
        }
        zmq_msg_close(&a.body);
    }
    if (status) { /* those who came should not wait in vain */
        give_up(s, error ? error->text : "the workers do not fit together");
    } else {
        for (unsigned r = 0; r < o->workers && !status; r++)
            status = put(s, r, WELCOME, book, (size_t)o->workers * MOST_ADDRESS, error);
    }
    free(book);
    return status;
}

/* A port of its own. The server knows from which host we come, and tells the others. */
static tithe_status listen_for_peers(zmq_state *s, const tithe_zmq_options *o, char *address,
                                     tithe_error *error)
{
    char bound[MOST_ADDRESS] = "";
    size_t length = sizeof bound;
    const bool ipc = strncmp(o->endpoint, "ipc://", 6) == 0;
    const tithe_status status = listen_at(s, ipc ? "ipc://*" : "tcp://*:*", error);
    if (status) return status;
    zmq_getsockopt(s->listener, ZMQ_LAST_ENDPOINT, bound, &length);
    snprintf(address, MOST_ADDRESS, "%s", bound);
    return TITHE_OK;
}

static tithe_status meet_peers(zmq_state *s, const uint8_t *book, tithe_error *error)
{
    tithe_status status = TITHE_OK;
    for (unsigned r = 0; r < s->rank && !status; r++) { /* those before us listen; those after us will come */
        char address[MOST_ADDRESS + 1];
        memcpy(address, book + (size_t)r * MOST_ADDRESS, MOST_ADDRESS);
        address[MOST_ADDRESS] = 0;
        void *socket = open_socket(s, ZMQ_DEALER);
        if (!socket || zmq_connect(socket, address) != 0) {
            if (socket) zmq_close(socket);
            return ti_fail(error, TITHE_E_PEER, r, "Cannot connect to rank %u at '%s': %s.", r, address,
                           zmq_strerror(zmq_errno()));
        }
        s->peers[r].socket = socket;
        status = put(s, r, I_AM, "", 0, error);
    }
    const double end = clock_now() + s->deadline;
    for (unsigned r = s->rank + 1; r < s->size && !status; r++)
        while (!s->peers[r].socket && !status) {
            if (clock_now() > end)
                status = ti_fail(error, TITHE_E_TIMEOUT, r,
                                 "Rank %u did not connect to rank %u within %.3g seconds.", r, s->rank,
                                 s->deadline);
            else
                status = pump(s, 0.2, error);
        }
    return status;
}

/* A worker: say hello, learn its rank, meet the others. */
static tithe_status join(zmq_state *s, const tithe_zmq_options *o, tithe_error *error)
{
    char address[MOST_ADDRESS] = "";
    tithe_status status = TITHE_OK;
    if (o->peers) {
        status = listen_for_peers(s, o, address, error);
    }
    if (status) return status;
    s->server = open_socket(s, ZMQ_DEALER);
    if (!s->server || zmq_connect(s->server, o->endpoint) != 0)
        return ti_fail(error, TITHE_E_PEER, 0, "Cannot connect to '%s': %s.", o->endpoint,
                       zmq_strerror(zmq_errno()));
    s->peers[s->size].socket = s->server;
    uint8_t hello[HELLO_BYTES];
    write_hello(hello, o, address);
    s->rank = 0;
    status = put(s, s->size, HELLO, hello, sizeof hello, error);
    const double end = clock_now() + s->deadline;
    while (!status) {
        zmq_pollitem_t item = {.socket = s->server, .events = ZMQ_POLLIN};
        if (clock_now() > end)
            return ti_fail(error, TITHE_E_TIMEOUT, 0, "The server at %s did not answer within %.3g seconds.",
                           o->endpoint, s->deadline);
        arrival a;
        if (zmq_poll(&item, 1, 200) <= 0 || !take(s->server, false, &a)) continue;
        if (a.kind != WELCOME) {
            status = handle(s, &a, s->server, error);
            continue;
        }
        s->rank = a.to;
        if (s->rank >= s->size || zmq_msg_size(&a.body) != (size_t)s->size * MOST_ADDRESS)
            status = ti_fail(error, TITHE_E_MISMATCH, 0, "The server's welcome makes no sense.");
        else if (o->peers)
            status = meet_peers(s, zmq_msg_data(&a.body), error);
        zmq_msg_close(&a.body);
        return status;
    }
    return status;
}

tithe_status tithe_comm_zmq(const tithe_zmq_options *o, tithe_comm *comm, tithe_error *error)
{
    if (!o || !o->endpoint || o->workers < 1 || o->workers >= MOST_SOCKETS)
        return ti_fail(error, TITHE_E_ARGUMENT, 0,
                       "An endpoint such as tcp://127.0.0.1:5555 and 1 to %d workers are "
                       "needed.",
                       MOST_SOCKETS - 1);
    zmq_state *s = calloc(1, sizeof *s);
    if (s) {
        s->size = s->rank = o->workers;
        s->deadline = o->deadline > 0 ? o->deadline : 30;
        s->peers = calloc(o->workers + 1u, sizeof *s->peers);
        s->context = zmq_ctx_new();
    }
    if (!s || !s->peers || !s->context) {
        if (s) close_zmq(s);
        return ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory for ZeroMQ.");
    }
    const tithe_status status = o->server ? gather_workers(s, o, error) : join(s, o, error);
    if (status) {
        close_zmq(s);
        return status;
    }
    *comm = (tithe_comm){.size = o->workers,
                         .first = s->rank,
                         .local = o->server ? 0 : 1,
                         .server = o->workers,
                         .transport = &transport,
                         .self = s,
                         .deadline = s->deadline};
    return TITHE_OK;
}
