/* relay.h - a switch in a thread, and between it and its workers a relay that loses, repeats and reorders their packets. Real sockets
 * on the loopback; what is lost comes from one seed. */
#ifndef TESTS_SWITCH_RELAY_H
#define TESTS_SWITCH_RELAY_H

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

#include "exchange/group.h"
#include "tithe/switch.h"

/* How packets get to the switch: set by each test's main. */
static const char *backend = "udp";

/* 0: it can be used here. Otherwise what main returns, with the reason said. */
static inline int backend_take(const char *name)
{
    const tithe_switch_backend *const *b = tithe_switch_backends();
    const tithe_switch_options options = {.size = sizeof options, .address = "127.0.0.1:0", .workers = 2};
    while (strcmp((*b)->name, name) != 0) b++;
    const char *why = (*b)->refuse ? (*b)->refuse(&options) : NULL;
    if (why) printf("SKIP: %s\n", why);
    backend = name;
    return why ? 77 : 0;
}

/* ---- the switch --------------------------------------------------------------------------------------------- */

typedef struct served {
    pthread_t thread;
    tithe_switch_options options;
    tithe_switch_counts counts;
    tithe_status status;
    tithe_error error;
    atomic_bool stop;
    pthread_mutex_t lock;
    pthread_cond_t news;
    char address[80]; /* empty: it does not listen yet */
    bool ended;
} served;

static inline bool served_stops(void *context)
{
    served *s = context;
    return atomic_load(&s->stop);
}

static inline void served_is_ready(void *context, const char *address)
{
    served *s = context;
    pthread_mutex_lock(&s->lock);
    snprintf(s->address, sizeof s->address, "%s", address);
    pthread_cond_signal(&s->news);
    pthread_mutex_unlock(&s->lock);
}

static inline void *served_run(void *context)
{
    served *s = context;
    s->status = tithe_switch_serve(&s->options, &s->counts, &s->error);
    pthread_mutex_lock(&s->lock);
    s->ended = true;
    pthread_cond_signal(&s->news);
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

/* Returns when workers may come. */
static inline void served_start(served *s, tithe_switch_options options)
{
    memset(s, 0, sizeof *s);
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->news, NULL);
    s->counts.size = sizeof s->counts;
    s->options = options;
    s->options.size = sizeof options;
    s->options.backend = backend;
    s->options.address = "127.0.0.1:0";
    s->options.stop = served_stops;
    s->options.stop_context = s;
    s->options.ready = served_is_ready;
    s->options.ready_context = s;
    assert_int_equal(pthread_create(&s->thread, NULL, served_run, s), 0);
    pthread_mutex_lock(&s->lock);
    while (!s->address[0] && !s->ended) pthread_cond_wait(&s->news, &s->lock);
    pthread_mutex_unlock(&s->lock);
    expect(s->address[0], "%s", s->error.text);
}

static inline void served_end(served *s)
{
    atomic_store(&s->stop, true);
    pthread_join(s->thread, NULL);
    expect(s->status == TITHE_OK, "%s", s->error.text);
}

/* ---- the relay ---------------------------------------------------------------------------------------------- */

enum { RELAY_PEERS = 16, RELAY_LATE = 64, RELAY_BYTES = 65536 };

typedef struct relay {
    pthread_t thread;
    atomic_bool stop;
    struct sockaddr_in beyond; /* the switch */
    int front;                 /* where workers come to */
    struct pollfd polls[1 + RELAY_PEERS];
    struct sockaddr_in peers[RELAY_PEERS];
    unsigned count;
    double loss, repeat, late;
    dice d;
    atomic_ulong packets, lost;
    /* one packet that waits until others have overtaken it */
    uint8_t held[RELAY_BYTES];
    size_t held_length;
    int held_from; /* -1: none */
    bool held_up;
    char address[40];
} relay;

static inline void relay_send(relay *r, unsigned peer, bool up, const uint8_t *bytes, size_t length)
{
    if (up)
        send(r->polls[1 + peer].fd, bytes, length, 0);
    else
        sendto(r->front, bytes, length, 0, (const struct sockaddr *)&r->peers[peer], sizeof r->peers[peer]);
}

static inline void relay_pass(relay *r, unsigned peer, bool up, const uint8_t *bytes, size_t length)
{
    atomic_fetch_add(&r->packets, 1);
    if (roll_unit(&r->d) < r->loss) {
        atomic_fetch_add(&r->lost, 1);
        return;
    }
    if (r->held_from < 0 && roll_unit(&r->d) < r->late) {
        memcpy(r->held, bytes, length);
        r->held_length = length;
        r->held_from = (int)peer;
        r->held_up = up;
        return;
    }
    relay_send(r, peer, up, bytes, length);
    if (roll_unit(&r->d) < r->repeat) relay_send(r, peer, up, bytes, length);
    if (r->held_from >= 0 && roll_below(&r->d, 8) == 0) {
        relay_send(r, (unsigned)r->held_from, r->held_up, r->held, r->held_length);
        r->held_from = -1;
    }
}

/* A worker has a socket of its own towards the switch, which tells workers apart by their addresses. */
static inline unsigned relay_peer(relay *r, const struct sockaddr_in *from)
{
    for (unsigned p = 0; p < r->count; p++)
        if (r->peers[p].sin_port == from->sin_port) return p;
    assert_true(r->count < RELAY_PEERS);
    const int made = socket(AF_INET, SOCK_DGRAM, 0);
    assert_true(made >= 0 && connect(made, (const struct sockaddr *)&r->beyond, sizeof r->beyond) == 0);
    r->peers[r->count] = *from;
    r->polls[1 + r->count] = (struct pollfd){.fd = made, .events = POLLIN};
    return r->count++;
}

static inline void *relay_run(void *context)
{
    relay *r = context;
    static _Thread_local uint8_t bytes[RELAY_BYTES];
    while (!atomic_load(&r->stop)) {
        if (poll(r->polls, 1 + r->count, 20) <= 0) continue;
        for (unsigned i = 0; i <= r->count; i++) {
            if (!(r->polls[i].revents & POLLIN)) continue;
            struct sockaddr_in from = {0};
            socklen_t size = sizeof from;
            for (ssize_t got; (got = recvfrom(r->polls[i].fd, bytes, sizeof bytes, MSG_DONTWAIT,
                                              (struct sockaddr *)&from, &size)) >= 0;
                 size = sizeof from)
                relay_pass(r, i ? i - 1 : relay_peer(r, &from), i == 0, bytes, (size_t)got);
        }
    }
    return NULL;
}

static inline void relay_start(relay *r, const char *beyond, double loss, double repeat, double late,
                               uint64_t seed)
{
    memset(r, 0, sizeof *r);
    r->loss = loss;
    r->repeat = repeat;
    r->late = late;
    r->d.state = seed;
    r->held_from = -1;
    const char *colon = strrchr(beyond, ':');
    r->beyond = (struct sockaddr_in){.sin_family = AF_INET,
                                     .sin_port = htons((uint16_t)atoi(colon + 1)),
                                     .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    const int room = 4 << 20;
    r->front = socket(AF_INET, SOCK_DGRAM, 0);
    assert_true(r->front >= 0 && bind(r->front, (struct sockaddr *)&at, sizeof at) == 0 &&
                getsockname(r->front, (struct sockaddr *)&at, &size) == 0);
    setsockopt(r->front, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
    r->polls[0] = (struct pollfd){.fd = r->front, .events = POLLIN};
    snprintf(r->address, sizeof r->address, "127.0.0.1:%u", ntohs(at.sin_port));
    assert_int_equal(pthread_create(&r->thread, NULL, relay_run, r), 0);
}

static inline void relay_end(relay *r)
{
    atomic_store(&r->stop, true);
    pthread_join(r->thread, NULL);
    for (unsigned i = 0; i <= r->count; i++) close(r->polls[i].fd);
}

/* ---- runs --------------------------------------------------------------------------------------------------- */

/* Steps over a switch at `address`, each compared with the same step over a simulated one, bit for bit. */
static inline void compare_steps(const char *address, const char *key, const wanted *w, unsigned steps)
{
    tithe_exchange_config config;
    group *here = group_make(w), *there = group_start(w, &config);
    const tithe_switch_options at = {.size = sizeof at, .address = address, .key = key};
    expect(tithe_switch_attach(&there->comm, &at, &there->error) == TITHE_OK, "%s", there->error.text);
    expect(tithe_exchange_create(&config, w->n, &there->ex, &there->error) == TITHE_OK, "%s",
           there->error.text);
    for (unsigned k = 0; k < steps; k++) {
        float *x = gradients_make(w->ranks, w->n, k);
        group_put_all(here, x, 0.25);
        group_put_all(there, x, 0.25);
        group_finish(here);
        group_finish(there);
        expect(same_floats(here->update, there->update, w->n), "%s, %u ranks, step %u: another sum", w->codec,
               w->ranks, k);
        free(x);
    }
    ti_comm_detach(&there->comm);
    group_free(here);
    group_free(there);
}

#endif
