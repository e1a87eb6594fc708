/* queues.h - a transport for ranks that are threads: queues in memory, on a network whose clocks are computed.
 *
 * Each rank has a clock of its own, and a link that carries one message at a time each way. A message leaves when the
 * sender's link is free, arrives a latency later, and takes up the receiver's link for as long as its bytes take; the
 * receiver's clock then stands at its arrival or later. Nothing is timed: the clocks are the same in every run, however
 * busy the machine. */
#ifndef TESTS_QUEUES_H
#define TESTS_QUEUES_H

#include <pthread.h>
#include <time.h>

#include "support.h"

typedef struct queued {
    struct queued *next;
    double start; /* when its first byte left */
    size_t length;
    unsigned char bytes[];
} queued;

typedef struct link_span {
    double from, to;
} link_span;

/* A rank's own: no other thread touches it. */
typedef struct link_state {
    double now, free; /* its clock; when its link can send again */
    link_span *taken; /* of its link's other way, in order */
    size_t count, room;
} link_state;

typedef struct network {
    unsigned size;
    tithe_link link;
    link_state *ranks;
    pthread_mutex_t lock;
    pthread_cond_t news;
    char gave_up[200]; /* why somebody did; empty: nobody did */
    queued **queues;   /* the first of from * size + to */
} network;

static inline tithe_status queue_complain(tithe_error *error, tithe_status status, unsigned rank,
                                          const char *what)
{
    if (error) {
        error->code = status;
        error->position = rank;
        snprintf(error->text, sizeof error->text, "Rank %u: %.200s.", rank, what);
    }
    return status;
}

static inline double queue_duration(const network *net, double bytes)
{
    return isinf(net->link.bandwidth) ? 0 : bytes / net->link.bandwidth;
}

static inline void queue_insert(link_state *r, size_t place, link_span span)
{
    if (r->count == r->room) {
        r->room = r->room ? 2 * r->room : 64;
        r->taken = realloc(r->taken, r->room * sizeof *r->taken);
    }
    memmove(r->taken + place + 1, r->taken + place, (r->count - place) * sizeof *r->taken);
    r->taken[place] = span;
    r->count++;
}

/* Take up the link from `earliest` on for so long in all, between what has taken it already; returns when that ends. */
static inline double queue_take(link_state *r, double earliest, double duration)
{
    double at = earliest;
    for (size_t place = 0; duration > 0; place++) {
        const double next = place < r->count ? r->taken[place].from : INFINITY;
        if (next > at) {
            const double piece = fmin(duration, next - at);
            queue_insert(r, place++, (link_span){at, at + piece});
            duration -= piece;
            at += piece;
        }
        if (place < r->count && duration > 0) at = fmax(at, r->taken[place].to);
    }
    return at;
}

static inline tithe_status queue_send(void *self, unsigned from, unsigned to, const void *bytes,
                                      size_t length, tithe_error *error)
{
    (void)error;
    network *net = self;
    link_state *r = &net->ranks[from];
    queued *m = malloc(sizeof *m + length);
    m->next = NULL;
    m->length = length;
    m->start = fmax(r->now, r->free);
    r->free = m->start + queue_duration(net, (double)length);
    if (length) memcpy(m->bytes, bytes, length);
    pthread_mutex_lock(&net->lock);
    queued **end = &net->queues[(size_t)from * net->size + to];
    while (*end) end = &(*end)->next;
    *end = m;
    pthread_cond_broadcast(&net->news);
    pthread_mutex_unlock(&net->lock);
    return TITHE_OK;
}

static inline struct timespec queue_from_now(double seconds)
{
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    const double end = (double)t.tv_nsec * 1e-9 + seconds;
    t.tv_sec += (time_t)end;
    t.tv_nsec = (long)((end - floor(end)) * 1e9);
    return t;
}

/* The next message of a queue; NULL: none came in time, or somebody gave up, and why. */
static inline queued *queue_next(network *net, queued **first, double timeout, char *why, size_t room)
{
    const struct timespec end = queue_from_now(timeout);
    bool late = false;
    pthread_mutex_lock(&net->lock);
    while (!*first && !*net->gave_up && !late)
        late = pthread_cond_timedwait(&net->news, &net->lock, &end) != 0;
    queued *m = *first;
    if (m) *first = m->next;
    snprintf(why, room, "%s", net->gave_up);
    pthread_mutex_unlock(&net->lock);
    return m;
}

static inline tithe_status queue_receive(void *self, unsigned at, unsigned from, void *bytes, size_t length,
                                         double timeout, tithe_error *error)
{
    network *net = self;
    char why[sizeof net->gave_up];
    queued *m = queue_next(net, &net->queues[(size_t)from * net->size + at], timeout, why, sizeof why);
    if (!m && *why) return queue_complain(error, TITHE_E_PEER, from, why);
    if (!m) return queue_complain(error, TITHE_E_TIMEOUT, from, "no message came from it in time");
    link_state *r = &net->ranks[at];
    const bool fits = m->length == length;
    if (fits && length) memcpy(bytes, m->bytes, length);
    const double arrived = queue_take(r, m->start + net->link.latency, queue_duration(net, (double)length));
    r->now = fmax(r->now, arrived);
    free(m);
    if (fits) return TITHE_OK;
    return queue_complain(error, TITHE_E_PEER, from, "its message has another length than was expected");
}

static inline tithe_status queue_flush(void *self, double deadline, tithe_error *error)
{
    (void)self, (void)deadline, (void)error; /* bytes were copied */
    return TITHE_OK;
}

static inline void queue_give_up(void *self, const char *why)
{
    network *net = self;
    pthread_mutex_lock(&net->lock);
    if (!*net->gave_up) snprintf(net->gave_up, sizeof net->gave_up, "%s", why); /* the first says why */
    pthread_cond_broadcast(&net->news);
    pthread_mutex_unlock(&net->lock);
}

static inline void network_close(network *net)
{
    for (size_t q = 0; q < (size_t)net->size * net->size; q++)
        for (queued *m = net->queues[q], *next; m; m = next) {
            next = m->next;
            free(m);
        }
    for (unsigned r = 0; r < net->size; r++) free(net->ranks[r].taken);
    free(net->ranks);
    free(net->queues);
    pthread_cond_destroy(&net->news);
    pthread_mutex_destroy(&net->lock);
}

static const tithe_transport queues = {
    .size = sizeof(tithe_transport),
    .name = "queues",
    .summary = "threads of one process, over queues in memory",
    .send = queue_send,
    .receive = queue_receive,
    .flush = queue_flush,
    .give_up = queue_give_up,
};

/* On links that do this. */
static inline void network_start(network *net, unsigned size, tithe_link link)
{
    *net = (network){.size = size, .link = link};
    pthread_mutex_init(&net->lock, NULL);
    pthread_cond_init(&net->news, NULL);
    net->ranks = calloc(size, sizeof *net->ranks);
    net->queues = calloc((size_t)size * size, sizeof *net->queues);
    assert_true(net->ranks && net->queues);
}

/* Where nobody looks at the clocks. */
static inline void network_open(network *net, unsigned size)
{
    network_start(net, size, (tithe_link){.latency = 0, .bandwidth = INFINITY});
}

/* When the last rank was done. */
static inline double network_time(const network *net)
{
    double latest = 0;
    for (unsigned r = 0; r < net->size; r++) latest = fmax(latest, net->ranks[r].now);
    return latest;
}

/* All ranks go on from here together, as after a computation that takes all of them equally long. By one thread, while the
 * others wait. */
static inline void network_align(network *net)
{
    const double latest = network_time(net);
    for (unsigned r = 0; r < net->size; r++) {
        net->ranks[r].now = net->ranks[r].free = latest;
        net->ranks[r].count = 0;
    }
}

static inline bool network_is_empty(const network *net)
{
    for (size_t q = 0; q < (size_t)net->size * net->size; q++)
        if (net->queues[q]) return false;
    return true;
}

#endif
