/* zmq.c - messages over ZeroMQ: a server that everybody knows, and workers that come to it. The only file that
 * includes zmq.h.
 *
 * Every worker has one connection to the server, which it opens itself, so that only the server needs an address that
 * others can reach. When workers talk to each other too (`peers`), each also listens on a port of its own, and of two
 * workers the one with the higher rank connects. A message is a head (kind, from, to) and its bytes; what arrives is
 * queued by sender until it is asked for.
 *
 * Anybody may connect to a port. What is no message of ours is dropped; a worker that does not fit is told why, and the
 * run goes on without it; and nobody passes for a rank: on a socket that several share, ZeroMQ's name for the connection
 * has to be the one that said hello, and of workers among themselves each knows a number that only the server gave out. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zmq.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "comm/comm.h"
#include "comm/endpoint.h"
#include "tithe/codec.h"
#include "tithe/transport.h"

enum {
    HELLO,   /* a worker to the server: version, workers, peers, and where it listens */
    WELCOME, /* the server to a worker: its rank, the run's number, and where everybody listens */
    I_AM,    /* of two workers, the one that connected says who it is, and knows the number */
    MESSAGE,
    GIVE_UP, /* also from the server to a worker that it does not take. The same in all versions */
    WAITING, /* for this rank, for long; or for nobody any more */
    HEAD = 12,
    MOST_ADDRESS = 128,
    HELLO_BYTES = 12 + MOST_ADDRESS,
    NUMBER_BYTES = 16,
    MAGIC = 0x7469, /* "ti" */
    VERSION = 2     /* of what is said here */
};

/* What has arrived, and waits to be asked for. */
typedef struct queued {
    struct queued *next;
    zmq_msg_t body;
} queued;

/* Messages so long are counted until ZeroMQ has handed them to the system; shorter ones it copies. */
enum { LONG_MESSAGE = 64 << 10 };

/* Long messages that are still on their way out. ZeroMQ's own thread counts down. */
typedef struct outbox {
    pthread_mutex_t lock;
    pthread_cond_t left;
    unsigned waiting;
} outbox;

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
    bool serves;
    double deadline;
    peer *peers;                  /* size + 1 of them */
    unsigned *waits;              /* comm.h: what each has said of itself */
    uint8_t number[NUMBER_BYTES]; /* drawn by the server for this run */
    outbox out;
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

static void note_gone(void *bytes, void *out_)
{
    outbox *out = out_;
    free(bytes);
    pthread_mutex_lock(&out->lock);
    out->waiting--;
    pthread_cond_signal(&out->left);
    pthread_mutex_unlock(&out->lock);
}

/* A copy that ZeroMQ frees when the system has taken it: flush waits for that. */
static bool send_long(zmq_state *s, void *socket, const void *bytes, size_t length)
{
    zmq_msg_t message;
    void *copy = malloc(length);
    if (!copy || zmq_msg_init_data(&message, copy, length, note_gone, &s->out) != 0) {
        free(copy);
        errno = ENOMEM;
        return false;
    }
    memcpy(copy, bytes, length);
    pthread_mutex_lock(&s->out.lock);
    s->out.waiting++;
    pthread_mutex_unlock(&s->out.lock);
    if (zmq_msg_send(&message, socket, 0) >= 0) return true;
    const int why = zmq_errno();
    zmq_msg_close(&message);
    errno = why;
    return false;
}

static tithe_status put_at(zmq_state *s, const peer *p, unsigned to, int kind, const void *bytes,
                           size_t length, tithe_error *error)
{
    uint8_t head[HEAD];
    put_u32(head, (uint32_t)kind);
    put_u32(head + 4, s->rank);
    put_u32(head + 8, to);
    if (p->identity_length && zmq_send(p->socket, p->identity, p->identity_length, ZMQ_SNDMORE) < 0)
        return fail_zmq("send", error);
    if (zmq_send(p->socket, head, HEAD, ZMQ_SNDMORE) < 0) return fail_zmq("send", error);
    const bool sent = length >= LONG_MESSAGE ? send_long(s, p->socket, bytes, length)
                                             : zmq_send(p->socket, bytes, length, 0) >= 0;
    return sent ? TITHE_OK : fail_zmq("send", error);
}

static tithe_status put(zmq_state *s, unsigned to, int kind, const void *bytes, size_t length,
                        tithe_error *error)
{
    char name[24];
    if (!s->peers[to].socket)
        return ti_fail(error, TITHE_E_PEER, to, "There is no connection to %s.",
                       name_of(s, to, name, sizeof name));
    return put_at(s, &s->peers[to], to, kind, bytes, length, error);
}

static void put_to_all(zmq_state *s, unsigned except, int kind, const void *bytes, size_t length)
{
    for (unsigned r = 0; r <= s->size; r++)
        if (r != s->rank && r != except && s->peers[r].socket) put(s, r, kind, bytes, length, NULL);
}

/* ---- in ------------------------------------------------------------------------------------------------ */

typedef struct arrival {
    int kind;
    unsigned from, to;
    uint8_t identity[32];
    size_t identity_length;
    zmq_msg_t body;
} arrival;

/* One message: the name of the connection where several share a socket, head, body. False: it is none of ours, and is
 * dropped with all its parts. */
static bool take(void *socket, bool routed, arrival *a)
{
    zmq_msg_t part;
    uint8_t head[HEAD];
    bool fine = true, more = true;
    *a = (arrival){.kind = -1};
    zmq_msg_init(&a->body);
    for (int i = routed ? 0 : 1; more; i++) {
        zmq_msg_init(&part);
        if (zmq_msg_recv(&part, socket, ZMQ_DONTWAIT) < 0) { /* there is none, or no memory for it */
            zmq_msg_close(&part);
            fine = false;
            break;
        }
        const size_t length = zmq_msg_size(&part);
        more = zmq_msg_more(&part) != 0;
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
        zmq_msg_close(&part);
        if (more != (i < 2)) fine = false;
    }
    if (!fine) zmq_msg_close(&a->body);
    return fine;
}

static void drop(queued *q)
{
    zmq_msg_close(&q->body);
    free(q);
}

static bool enqueue(peer *p, zmq_msg_t *body)
{
    queued *q = malloc(sizeof *q);
    if (!q) return false;
    q->next = NULL;
    zmq_msg_init(&q->body);
    zmq_msg_move(&q->body, body);
    *(p->last ? &p->last->next : &p->first) = q;
    p->last = q;
    return true;
}

/* Is it from whom it says? */
static bool is_from(const zmq_state *s, const arrival *a, const void *socket)
{
    const peer *p = &s->peers[a->from];
    return p->socket == socket && p->identity_length == a->identity_length &&
           memcmp(p->identity, a->identity, a->identity_length) == 0;
}

/* A worker of this run that connects to us, which those after us do. */
static void meet(zmq_state *s, arrival *a, void *socket)
{
    peer *p = &s->peers[a->from];
    if (socket != s->listener || s->serves || p->socket || a->from <= s->rank || a->from >= s->size) return;
    if (zmq_msg_size(&a->body) != NUMBER_BYTES ||
        memcmp(zmq_msg_data(&a->body), s->number, NUMBER_BYTES) != 0)
        return;
    p->socket = socket;
    memcpy(p->identity, a->identity, a->identity_length);
    p->identity_length = a->identity_length;
}

/* Tell a worker that it is not taken. */
static void refuse(zmq_state *s, const arrival *a, const char *why)
{
    peer stranger = {.socket = s->listener, .identity_length = a->identity_length};
    memcpy(stranger.identity, a->identity, a->identity_length);
    put_at(s, &stranger, 0, GIVE_UP, why, strlen(why), NULL);
}

static tithe_status bad_news(const zmq_state *s, arrival *a, tithe_error *error)
{
    char name[24];
    ti_fail(error, TITHE_E_PEER, a->from, "%s gave up: %.*s", name_of(s, a->from, name, sizeof name),
            (int)zmq_msg_size(&a->body), (const char *)zmq_msg_data(&a->body));
    if (error && error->text[0] == 'r') error->text[0] = 'R';
    if (error && error->text[0] == 't') error->text[0] = 'T';
    return TITHE_E_PEER;
}

/* Sort what has arrived. Whatever strangers say is dropped here. */
static tithe_status handle(zmq_state *s, arrival *a, void *socket, tithe_error *error)
{
    tithe_status status = TITHE_OK;
    if (a->kind == HELLO && s->serves) {
        char why[80];
        snprintf(why, sizeof why, "The run has begun, and has all of its %u workers.", s->size);
        refuse(s, a, why);
    } else if (a->from > s->size) {
        /* nobody */
    } else if (a->kind == I_AM) {
        meet(s, a, socket);
    } else if (!is_from(s, a, socket)) {
        /* somebody who would like to be that rank */
    } else if (a->kind == MESSAGE) {
        s->waits[a->from] = 0;
        if (!enqueue(&s->peers[a->from], &a->body))
            status = ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory for a message.");
    } else if (a->kind == WAITING && zmq_msg_size(&a->body) == 4) {
        const uint32_t whom = get_u32(zmq_msg_data(&a->body));
        s->waits[a->from] = whom <= s->size ? whom + 1 : 0;
    } else if (a->kind == GIVE_UP) {
        status = bad_news(s, a, error);
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

static void say_waiting(zmq_state *s, unsigned from, uint32_t whom)
{
    uint8_t bytes[4];
    put_u32(bytes, whom);
    put_to_all(s, from, WAITING, bytes, sizeof bytes);
}

static tithe_status fail_late(const zmq_state *s, unsigned from, double deadline, tithe_error *error)
{
    char me[24], other[24];
    unsigned waiter;
    const unsigned who = comm_culprit(s->waits, s->size + 1, s->rank, from, &waiter);
    return ti_fail(error, TITHE_E_TIMEOUT, who, "Nothing came from %s to %s within %.3g seconds.",
                   name_of(s, who, other, sizeof other), name_of(s, waiter, me, sizeof me), deadline);
}

/* Halfway to the deadline the others are told who is waited for, so that they know whose fault it is. */
static tithe_status wait_for_message(zmq_state *s, unsigned from, double deadline, tithe_error *error)
{
    const double start = clock_now();
    bool told = false;
    tithe_status status = TITHE_OK;
    while (!s->peers[from].first && !status) {
        const double left = start + deadline - clock_now();
        if (left <= 0) return fail_late(s, from, deadline, error);
        if (!told && left < deadline / 2) {
            say_waiting(s, from, from);
            told = true;
        }
        const double next = told ? left : left - deadline / 2;
        status = pump(s, next < 0.5 ? next : 0.5, error);
    }
    if (told && !status) say_waiting(s, from, UINT32_MAX);
    return status;
}

static tithe_status receive(void *self, unsigned at, unsigned from, void *bytes, size_t length,
                            double deadline, tithe_error *error)
{
    (void)at;
    zmq_state *s = self;
    peer *p = &s->peers[from];
    char other[24];
    const tithe_status status = wait_for_message(s, from, deadline, error);
    if (status) return status;
    queued *q = p->first;
    if (zmq_msg_size(&q->body) != length)
        return ti_fail(error, TITHE_E_MISMATCH, from,
                       "A message of %s has %zu bytes where %zu were expected.",
                       name_of(s, from, other, sizeof other), zmq_msg_size(&q->body), length);
    memcpy(bytes, zmq_msg_data(&q->body), length);
    p->first = q->next;
    if (!p->first) p->last = NULL;
    drop(q);
    return TITHE_OK;
}

static struct timespec after(double seconds)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    const double until = (double)t.tv_nsec * 1e-9 + seconds;
    t.tv_sec += (time_t)until;
    t.tv_nsec = (long)((until - (double)(time_t)until) * 1e9);
    return t;
}

/* All bytes were copied, so there is nothing to protect. But the messages of the next round should not share the link with
 * those of this one: a tree that hands out would serve the far branch last. So long ones have to be out first, if they get
 * out at all: whoever does not take them will be missed elsewhere. */
static tithe_status flush(void *self, double deadline, tithe_error *error)
{
    zmq_state *s = self;
    const double end = clock_now() + deadline;
    tithe_status status = TITHE_OK;
    pthread_mutex_lock(&s->out.lock);
    while (s->out.waiting && clock_now() < end && !status) {
        const struct timespec until = after(0.1);
        if (pthread_cond_timedwait(&s->out.left, &s->out.lock, &until) == 0) continue;
        pthread_mutex_unlock(&s->out.lock); /* somebody may have given up meanwhile */
        status = pump(s, 0, error);
        pthread_mutex_lock(&s->out.lock);
    }
    pthread_mutex_unlock(&s->out.lock);
    return status;
}

static void give_up(void *self, const char *why)
{
    zmq_state *s = self;
    put_to_all(s, s->rank, GIVE_UP, why, strlen(why));
}

static void close_zmq(void *self)
{
    zmq_state *s = self;
    for (unsigned r = 0; s->peers && r <= s->size; r++) {
        void *socket = s->peers[r].socket;
        if (socket && socket != s->listener && socket != s->server) zmq_close(socket);
        for (queued *q = s->peers[r].first; q;) {
            queued *next = q->next;
            drop(q);
            q = next;
        }
    }
    if (s->server) zmq_close(s->server);
    if (s->listener) zmq_close(s->listener);
    if (s->context)
        zmq_ctx_term(s->context); /* waits for what is still to be sent, as long as ZMQ_LINGER says */
    pthread_cond_destroy(&s->out.left);
    pthread_mutex_destroy(&s->out.lock);
    free(s->peers);
    free(s->waits);
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

static void *open_socket(zmq_state *s, int type, const char *endpoint)
{
    void *socket = zmq_socket(s->context, type);
    if (!socket) return NULL;
    const int linger = 2000, unlimited = 0, timeout = (int)(s->deadline * 1000),
              v6 = ti_endpoint_is_v6(endpoint);
    const int64_t longest =
        4 * ((int64_t)TITHE_MAX_N + 1) + (1 << 20); /* more is no vector; ends the connection */
    zmq_setsockopt(socket, ZMQ_LINGER, &linger, sizeof linger);
    zmq_setsockopt(socket, ZMQ_SNDHWM, &unlimited,
                   sizeof unlimited); /* a round is bounded; a send must not wait */
    zmq_setsockopt(socket, ZMQ_RCVHWM, &unlimited, sizeof unlimited);
    zmq_setsockopt(socket, ZMQ_SNDTIMEO, &timeout, sizeof timeout);
    zmq_setsockopt(socket, ZMQ_MAXMSGSIZE, &longest, sizeof longest);
    zmq_setsockopt(socket, ZMQ_IPV6, &v6, sizeof v6);
    return socket;
}

static void write_hello(uint8_t *hello, const tithe_zmq_options *o, const char *address)
{
    memset(hello, 0, HELLO_BYTES);
    put_u32(hello, (uint32_t)MAGIC << 16 | VERSION);
    put_u32(hello + 4, o->workers);
    put_u32(hello + 8, o->peers);
    snprintf((char *)hello + 12, MOST_ADDRESS, "%s", address);
}

enum hello_answer { TAKE_IT, REFUSE_IT, IGNORE_IT };

/* Is this a worker for us? What is no worker at all gets no answer. */
static enum hello_answer judge_hello(const zmq_state *s, arrival *a, const tithe_zmq_options *o, char *why,
                                     size_t room)
{
    const uint8_t *hello = zmq_msg_data(&a->body);
    const size_t length = zmq_msg_size(&a->body);
    if (a->kind != HELLO || length < 4 || get_u32(hello) >> 16 != MAGIC) return IGNORE_IT;
    for (unsigned r = 0; r < s->size; r++) /* who said it twice is still one */
        if (s->peers[r].socket && s->peers[r].identity_length == a->identity_length &&
            memcmp(s->peers[r].identity, a->identity, a->identity_length) == 0)
            return IGNORE_IT;
    const unsigned version = get_u32(hello) & 0xffff;
    if (version != VERSION || length != HELLO_BYTES)
        snprintf(
            why, room,
            "The server speaks version %u of Tithe's messages, but a worker version %u: install the same "
            "Tithe everywhere.",
            VERSION, version);
    else if (get_u32(hello + 4) != o->workers)
        snprintf(why, room, "The server waits for %u workers, but a worker expects %u.", o->workers,
                 get_u32(hello + 4));
    else if (get_u32(hello + 8) != (uint32_t)o->peers)
        snprintf(
            why, room,
            "Server and worker disagree on whether workers talk to each other: give both the same scheme.");
    else
        return TAKE_IT;
    return REFUSE_IT;
}

static tithe_status listen_at(zmq_state *s, const char *endpoint, tithe_error *error)
{
    s->listener = open_socket(s, ZMQ_ROUTER, endpoint);
    if (!s->listener) return fail_zmq("open a socket", error);
    if (zmq_bind(s->listener, endpoint) != 0)
        return ti_fail(error, TITHE_E_PEER, 0, "Cannot listen at '%s': %s.", endpoint,
                       zmq_strerror(zmq_errno()));
    return TITHE_OK;
}

static void take_in(zmq_state *s, unsigned rank, arrival *a, uint8_t *address)
{
    peer *p = &s->peers[rank];
    p->socket = s->listener;
    memcpy(p->identity, a->identity, a->identity_length);
    p->identity_length = a->identity_length;
    memcpy(address, (uint8_t *)zmq_msg_data(&a->body) + 12, MOST_ADDRESS);
    address[MOST_ADDRESS - 1] = 0;
}

/* Wait until all workers have said hello; `book` is where they listen. */
static tithe_status wait_for_workers(zmq_state *s, const tithe_zmq_options *o, uint8_t *book,
                                     tithe_error *error)
{
    const double end = clock_now() + s->deadline;
    char why[160] = "", refused[180] = "";
    for (unsigned here = 0; here < o->workers;) {
        zmq_pollitem_t item = {.socket = s->listener, .events = ZMQ_POLLIN};
        arrival a;
        if (clock_now() > end)
            return ti_fail(error, TITHE_E_TIMEOUT, here,
                           "Only %u of %u workers came to %.60s within %.3g seconds%s.", here, o->workers,
                           o->endpoint, s->deadline, refused);
        if (zmq_poll(&item, 1, 200) <= 0 || !take(s->listener, true, &a)) continue;
        switch (judge_hello(s, &a, o, why, sizeof why)) {
        case TAKE_IT:
            take_in(s, here, &a, book + (size_t)here * MOST_ADDRESS);
            here++;
            break;
        case REFUSE_IT:
            refuse(s, &a, why);
            snprintf(refused, sizeof refused, ", and one was refused: %.*s", (int)strcspn(why, "."), why);
            break;
        case IGNORE_IT: break;
        }
        zmq_msg_close(&a.body);
    }
    return TITHE_OK;
}

static bool draw_number(uint8_t *number)
{
    const int file = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    const bool drawn = file >= 0 && read(file, number, NUMBER_BYTES) == NUMBER_BYTES;
    if (file >= 0) close(file);
    return drawn;
}

/* The server: wait for all workers, then tell each its rank and where the others listen. */
static tithe_status gather_workers(zmq_state *s, const tithe_zmq_options *o, tithe_error *error)
{
    const size_t length = NUMBER_BYTES + (size_t)o->workers * MOST_ADDRESS;
    uint8_t *welcome = calloc(1, length);
    tithe_status status = TITHE_OK;
    if (!welcome)
        status = ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory for the workers.");
    else if (!draw_number(welcome))
        status = ti_fail(error, TITHE_E_FILE, 0, "Cannot draw a number from /dev/urandom.");
    if (!status) status = listen_at(s, o->endpoint, error);
    if (!status) status = wait_for_workers(s, o, welcome + NUMBER_BYTES, error);
    if (status) /* those who came should not wait in vain */
        give_up(s, error ? error->text : "not all workers came");
    for (unsigned r = 0; r < o->workers && !status; r++) status = put(s, r, WELCOME, welcome, length, error);
    free(welcome);
    return status;
}

/* A port of its own, where only those can reach it who can also reach the server. */
static tithe_status listen_for_peers(zmq_state *s, const tithe_zmq_options *o, char *address,
                                     tithe_error *error)
{
    char wanted[MOST_ADDRESS];
    size_t length = MOST_ADDRESS;
    tithe_status status = ti_endpoint_beside(o->endpoint, wanted, sizeof wanted, error);
    if (!status) status = listen_at(s, wanted, error);
    if (!status && zmq_getsockopt(s->listener, ZMQ_LAST_ENDPOINT, address, &length) != 0)
        status = fail_zmq("say where it listens", error);
    return status;
}

static tithe_status meet_peers(zmq_state *s, const uint8_t *book, tithe_error *error)
{
    tithe_status status = TITHE_OK;
    for (unsigned r = 0; r < s->rank && !status; r++) { /* those before us listen; those after us will come */
        char address[MOST_ADDRESS + 1];
        memcpy(address, book + (size_t)r * MOST_ADDRESS, MOST_ADDRESS);
        address[MOST_ADDRESS] = 0;
        void *socket = open_socket(s, ZMQ_DEALER, address);
        if (!socket || zmq_connect(socket, address) != 0) {
            if (socket) zmq_close(socket);
            return ti_fail(error, TITHE_E_PEER, r, "Cannot connect to rank %u at '%s': %s.", r, address,
                           zmq_strerror(zmq_errno()));
        }
        s->peers[r].socket = socket;
        status = put(s, r, I_AM, s->number, NUMBER_BYTES, error);
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

/* The server's answer: a rank, or a reason why there is none. */
static tithe_status read_answer(zmq_state *s, const tithe_zmq_options *o, arrival *a, tithe_error *error)
{
    const uint8_t *bytes = zmq_msg_data(&a->body);
    if (a->kind == GIVE_UP)
        return ti_fail(error, TITHE_E_MISMATCH, 0, "The server at %.60s says: %.*s", o->endpoint,
                       (int)zmq_msg_size(&a->body), (const char *)bytes);
    s->rank = a->to;
    if (s->rank >= s->size || zmq_msg_size(&a->body) != NUMBER_BYTES + (size_t)s->size * MOST_ADDRESS)
        return ti_fail(error, TITHE_E_MISMATCH, 0, "The server's welcome makes no sense.");
    memcpy(s->number, bytes, NUMBER_BYTES);
    return o->peers ? meet_peers(s, bytes + NUMBER_BYTES, error) : TITHE_OK;
}

/* A worker: say hello, learn its rank, meet the others. */
static tithe_status join(zmq_state *s, const tithe_zmq_options *o, tithe_error *error)
{
    char address[MOST_ADDRESS] = "";
    uint8_t hello[HELLO_BYTES];
    tithe_status status = o->peers ? listen_for_peers(s, o, address, error) : TITHE_OK;
    if (status) return status;
    s->server = open_socket(s, ZMQ_DEALER, o->endpoint);
    if (!s->server || zmq_connect(s->server, o->endpoint) != 0)
        return ti_fail(error, TITHE_E_PEER, 0, "Cannot connect to '%s': %s.", o->endpoint,
                       zmq_strerror(zmq_errno()));
    s->peers[s->size].socket = s->server;
    write_hello(hello, o, address);
    s->rank = 0;
    status = put(s, s->size, HELLO, hello, sizeof hello, error);
    const double end = clock_now() + s->deadline;
    while (!status) {
        zmq_pollitem_t item = {.socket = s->server, .events = ZMQ_POLLIN};
        arrival a;
        if (clock_now() > end)
            return ti_fail(error, TITHE_E_TIMEOUT, 0, "The server at %s did not answer within %.3g seconds.",
                           o->endpoint, s->deadline);
        if (zmq_poll(&item, 1, 200) <= 0 || !take(s->server, false, &a)) continue;
        const bool answer = a.kind == WELCOME || a.kind == GIVE_UP;
        if (answer) status = read_answer(s, o, &a, error);
        zmq_msg_close(&a.body);
        if (answer) break;
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
    const tithe_status sensible = ti_endpoint_check(o->endpoint, error);
    if (sensible) return sensible;
    zmq_state *s = calloc(1, sizeof *s);
    if (s) {
        pthread_mutex_init(&s->out.lock, NULL);
        pthread_cond_init(&s->out.left, NULL);
        s->size = s->rank = o->workers;
        s->deadline = o->deadline > 0 ? o->deadline : 30;
        s->serves = o->server;
        s->peers = calloc(o->workers + 1u, sizeof *s->peers);
        s->waits = calloc(o->workers + 1u, sizeof *s->waits);
        s->context = zmq_ctx_new();
    }
    if (!s || !s->peers || !s->waits || !s->context) {
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
