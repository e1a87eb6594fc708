/* zmq_wire.c - see zmq_wire.h. The only file that includes zmq.h. */
#include "comm/zmq_wire.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <zmq.h>

#include "base/bytes.h"
#include "comm/endpoint.h"
#include "comm/transport_fail.h"
#include "comm/zmq_strangers.h"
#include "tithe/codec.h"

enum {
    HEAD = 12,
    LINGER = 2000,          /* milliseconds */
    LOOK = 5,               /* milliseconds between two looks at strangers */
    QUEUE = 1000,           /* messages of one connection; what is more waits at its sender */
    LONG_MESSAGE = 64 << 10 /* so long are sent from where they are; shorter ones ZeroMQ copies */
};

struct wire {
    void *context;
    /* Long messages that are still on their way out. ZeroMQ's own thread counts down. */
    pthread_mutex_t lock;
    pthread_cond_t returned;
    unsigned lent;
    /* Who connects to the listener, and the thread that watches them. */
    strangers *strangers;
    void *monitor; /* NULL: nobody listens */
    pthread_t watch;
};

/* What has arrived, with ZeroMQ's memory for it. */
typedef struct held {
    wire_body body; /* first, so that one is the other */
    zmq_msg_t message;
} held;

static tithe_status fail_zmq(const char *what, tithe_error *error)
{
    return transport_fail(error, TITHE_E_PEER, 0, "ZeroMQ could not %s: %s.", what,
                          zmq_strerror(zmq_errno()));
}

/* ZeroMQ takes memory for every long message that arrives and gives it back, which glibc would get from the system each time,
 * page by page. It keeps what is shorter than anything that was freed before (up to 32 MB): once, and nobody touches it. */
static void teach_malloc(void)
{
    void *volatile once = malloc(16 << 20);
    free(once);
}

wire *ti_wire_open(void)
{
    wire *w = calloc(1, sizeof *w);
    if (!w) return NULL;
    w->context = zmq_ctx_new();
    w->strangers = ti_strangers_open();
    if (!w->context || !w->strangers) {
        if (w->context) zmq_ctx_term(w->context);
        ti_strangers_close(w->strangers);
        free(w);
        return NULL;
    }
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->returned, NULL);
    teach_malloc();
    return w;
}

void ti_wire_close(wire *w)
{
    if (!w) return;
    zmq_ctx_term(w->context);
    ti_strangers_close(w->strangers);
    pthread_cond_destroy(&w->returned);
    pthread_mutex_destroy(&w->lock);
    free(w);
}

/* ---- sockets ------------------------------------------------------------------------------------------- */

static void *open_socket(void *context, int type, const char *endpoint, double timeout)
{
    void *socket = zmq_socket(context, type);
    if (!socket) return NULL;
    const int linger = LINGER, unlimited = 0, queue = QUEUE, milliseconds = (int)(timeout * 1000),
              v6 = ti_endpoint_is_v6(endpoint);
    const int64_t longest =
        4 * ((int64_t)TITHE_MAX_N + 1) + (1 << 20); /* more is no vector; ends the connection */
    zmq_setsockopt(socket, ZMQ_LINGER, &linger, sizeof linger);
    zmq_setsockopt(socket, ZMQ_SNDHWM, &unlimited,
                   sizeof unlimited); /* a round is bounded; a send must not wait */
    zmq_setsockopt(socket, ZMQ_RCVHWM, &queue, sizeof queue);
    zmq_setsockopt(socket, ZMQ_SNDTIMEO, &milliseconds, sizeof milliseconds);
    zmq_setsockopt(socket, ZMQ_MAXMSGSIZE, &longest, sizeof longest);
    zmq_setsockopt(socket, ZMQ_IPV6, &v6, sizeof v6);
    return socket;
}

/* ---- strangers ----------------------------------------------------------------------------------------- */

/* What ZeroMQ tells of the listener: the first part of a message has an event in 16 bits and a file in 32, in the machine's order. */
static bool heed_event(wire *w)
{
    zmq_msg_t part;
    uint8_t bytes[6] = {0};
    bool more = true, goes_on = true;
    for (int i = 0; more; i++) {
        zmq_msg_init(&part);
        more = zmq_msg_recv(&part, w->monitor, ZMQ_DONTWAIT) >= 0 && zmq_msg_more(&part);
        if (i == 0 && zmq_msg_size(&part) == sizeof bytes) memcpy(bytes, zmq_msg_data(&part), sizeof bytes);
        zmq_msg_close(&part);
    }
    uint16_t event;
    int32_t file;
    memcpy(&event, bytes, sizeof event);
    memcpy(&file, bytes + 2, sizeof file);
    if (event == ZMQ_EVENT_ACCEPTED) ti_strangers_come(w->strangers, file);
    if (event == ZMQ_EVENT_DISCONNECTED) ti_strangers_go(w->strangers, file);
    if (event == ZMQ_EVENT_MONITOR_STOPPED) goes_on = false;
    return goes_on;
}

static void *watch_strangers(void *wire_)
{
    wire *w = wire_;
    bool goes_on = true, some = false;
    while (goes_on) {
        zmq_pollitem_t item = {.socket = w->monitor, .events = ZMQ_POLLIN};
        if (zmq_poll(&item, 1, some ? LOOK : -1) > 0) goes_on = heed_event(w);
        some = ti_strangers_watch(w->strangers);
    }
    zmq_close(w->monitor);
    return NULL;
}

/* Before it listens, so that nobody is missed. Signals are for the threads of the program. */
static bool start_watch(wire *w, void *socket)
{
    static const char name[] = "inproc://strangers";
    const int events = ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_MONITOR_STOPPED;
    if (zmq_socket_monitor(socket, name, events) != 0) return false;
    w->monitor = zmq_socket(w->context, ZMQ_PAIR);
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const bool started = w->monitor && zmq_connect(w->monitor, name) == 0 &&
                         pthread_create(&w->watch, NULL, watch_strangers, w) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (started) return true;
    if (w->monitor) zmq_close(w->monitor);
    w->monitor = NULL;
    return false;
}

static void close_watched(wire *w, void *socket)
{
    if (w->monitor) {
        zmq_socket_monitor(socket, NULL, 0);
        pthread_join(w->watch, NULL);
        w->monitor = NULL;
    }
    zmq_close(socket);
}

void ti_wire_know(wire *w, const wire_body *body)
{
    held *h = (held *)(void *)body;
    const int file = zmq_msg_get(&h->message, ZMQ_SRCFD);
    if (file >= 0) ti_strangers_know(w->strangers, file);
}

/* ---- listen and connect -------------------------------------------------------------------------------- */

void *ti_wire_listen(wire *w, const char *endpoint, int file, double timeout, const char **why)
{
    void *socket = open_socket(w->context, ZMQ_ROUTER, endpoint, timeout);
    if (socket && file) zmq_setsockopt(socket, ZMQ_USE_FD, &file, sizeof file);
    if (socket && start_watch(w, socket) && zmq_bind(socket, endpoint) == 0) return socket;
    *why = zmq_strerror(zmq_errno());
    if (socket) close_watched(w, socket);
    return NULL;
}

void *ti_wire_connect(wire *w, const char *endpoint, double timeout, const char **why)
{
    void *socket = open_socket(w->context, ZMQ_DEALER, endpoint, timeout);
    if (socket && zmq_connect(socket, endpoint) == 0) return socket;
    *why = zmq_strerror(zmq_errno());
    if (socket) zmq_close(socket);
    return NULL;
}

void ti_wire_close_socket(void *socket)
{
    zmq_close(socket);
}

void ti_wire_close_listener(wire *w, void *socket)
{
    char address[256];
    const bool known = ti_wire_address(socket, address, sizeof address);
    close_watched(w, socket);
    const char *path = known ? ti_endpoint_path(address) : NULL;
    if (path) unlink(path); /* which ZeroMQ leaves behind */
}

void ti_wire_hurry(void *socket, double seconds)
{
    const int linger = (int)(seconds * 1000);
    zmq_setsockopt(socket, ZMQ_LINGER, &linger, sizeof linger);
}

bool ti_wire_address(void *socket, char *address, size_t room)
{
    return zmq_getsockopt(socket, ZMQ_LAST_ENDPOINT, address, &room) == 0;
}

bool ti_wire_same_name(const wire_name *a, const wire_name *b)
{
    return a->length == b->length && memcmp(a->bytes, b->bytes, a->length) == 0;
}

/* ---- messages ------------------------------------------------------------------------------------------ */

static void note_returned(void *bytes, void *loan_)
{
    (void)bytes;
    wire_loan *loan = loan_;
    wire *w = loan->wire;
    pthread_mutex_lock(&w->lock);
    loan->count--;
    w->lent--;
    pthread_cond_signal(&w->returned);
    pthread_mutex_unlock(&w->lock);
}

/* ZeroMQ says when it needs the bytes no more. */
static bool send_lent(wire *w, void *socket, const void *bytes, size_t length, wire_loan *loan)
{
    zmq_msg_t message;
    loan->wire = w;
    if (zmq_msg_init_data(&message, (void *)bytes, length, note_returned, loan) != 0) return false;
    pthread_mutex_lock(&w->lock);
    loan->count++;
    w->lent++;
    pthread_mutex_unlock(&w->lock);
    if (zmq_msg_send(&message, socket, 0) >= 0) return true;
    const int why = zmq_errno();
    zmq_msg_close(&message);
    errno = why;
    return false;
}

tithe_status ti_wire_send(wire *w, void *socket, const wire_name *name, const uint32_t head[3],
                          const void *bytes, size_t length, wire_loan *loan, tithe_error *error)
{
    uint8_t packed[HEAD];
    for (size_t i = 0; i < 3; i++) put_u32(packed + 4 * i, head[i]);
    if (name->length && zmq_send(socket, name->bytes, name->length, ZMQ_SNDMORE) < 0)
        return fail_zmq("send", error);
    if (zmq_send(socket, packed, HEAD, ZMQ_SNDMORE) < 0) return fail_zmq("send", error);
    const bool sent = loan && length >= LONG_MESSAGE ? send_lent(w, socket, bytes, length, loan)
                                                     : zmq_send(socket, bytes, length, 0) >= 0;
    return sent ? TITHE_OK : fail_zmq("send", error);
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

bool ti_wire_flush(wire *w, double seconds)
{
    const struct timespec until = after(seconds);
    pthread_mutex_lock(&w->lock);
    while (w->lent && pthread_cond_timedwait(&w->returned, &w->lock, &until) == 0) continue;
    const bool all = w->lent == 0;
    pthread_mutex_unlock(&w->lock);
    return all;
}

bool ti_wire_owes(const wire_loan *loan)
{
    if (!loan->wire) return false;
    pthread_mutex_lock(&loan->wire->lock);
    const bool some = loan->count > 0;
    pthread_mutex_unlock(&loan->wire->lock);
    return some;
}

tithe_status ti_wire_wait(void *const *sockets, size_t count, double seconds, bool *ready, tithe_error *error)
{
    zmq_pollitem_t items[WIRE_MAX_SOCKETS];
    for (size_t i = 0; i < count; i++) {
        items[i] = (zmq_pollitem_t){.socket = sockets[i], .events = ZMQ_POLLIN};
        ready[i] = false;
    }
    const long wait = seconds <= 0 ? 0 : (long)(seconds * 1000) + 1;
    if (zmq_poll(items, (int)count, wait) < 0)
        return zmq_errno() == EINTR ? TITHE_OK : fail_zmq("wait", error);
    for (size_t i = 0; i < count; i++) ready[i] = items[i].revents & ZMQ_POLLIN;
    return TITHE_OK;
}

static wire_body *hold(zmq_msg_t *part)
{
    held *h = malloc(sizeof *h);
    if (!h) return NULL;
    zmq_msg_init(&h->message);
    zmq_msg_move(&h->message, part);
    h->body = (wire_body){.length = zmq_msg_size(&h->message), .bytes = zmq_msg_data(&h->message)};
    return &h->body;
}

void ti_wire_drop(wire_body *body)
{
    held *h = (held *)(void *)body;
    if (h) zmq_msg_close(&h->message);
    free(h);
}

/* The parts: the name of the connection where several share a socket, head, body. */
bool ti_wire_take(void *socket, bool shared, wire_arrival *a)
{
    zmq_msg_t part;
    bool fine = true, more = true;
    *a = (wire_arrival){.body = NULL};
    for (int i = shared ? 0 : 1; more; i++) {
        zmq_msg_init(&part);
        if (zmq_msg_recv(&part, socket, ZMQ_DONTWAIT) < 0) { /* there is none, or no memory for it */
            zmq_msg_close(&part);
            fine = false;
            break;
        }
        const size_t length = zmq_msg_size(&part);
        more = zmq_msg_more(&part) != 0;
        if (more != (i < 2)) fine = false;
        if (i == 0 && length <= sizeof a->name.bytes) {
            memcpy(a->name.bytes, zmq_msg_data(&part), length);
            a->name.length = length;
        } else if (i == 1 && length == HEAD) {
            const uint8_t *head = zmq_msg_data(&part);
            a->kind = get_u32(head);
            a->from = get_u32(head + 4);
            a->to = get_u32(head + 8);
        } else if (i == 2 && fine) {
            a->body = hold(&part);
        } else {
            fine = false;
        }
        zmq_msg_close(&part);
    }
    if (!fine) {
        ti_wire_drop(a->body);
        a->body = NULL;
    }
    return fine;
}
