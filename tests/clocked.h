/* clocked.h - a transport of queues for ranks that are threads, on a network that is computed.
 *
 * Each rank has a clock of its own, and a link that carries one message at a time each way. A message leaves when the
 * sender's link is free, arrives a latency later, and takes up the receiver's link for as long as its bytes take; the
 * receiver's clock then stands at its arrival or later. Nothing is timed: the clocks are the same in every run, however
 * busy the machine. */
#ifndef TESTS_CLOCKED_H
#define TESTS_CLOCKED_H

#include <pthread.h>

#include "support.h"

typedef struct clocked_message {
    struct clocked_message *next;
    double start; /* when its first byte left */
    size_t length;
    unsigned char bytes[];
} clocked_message;

typedef struct clocked_span {
    double from, to;
} clocked_span;

/* A rank's own: no other thread touches it. */
typedef struct clocked_rank {
    double now, free;    /* its clock; when its link can send again */
    clocked_span *taken; /* of its link's other way, in order */
    size_t count, room;
} clocked_rank;

typedef struct clocked {
    unsigned size;
    tithe_link link;
    clocked_rank *ranks;
    pthread_mutex_t lock;
    pthread_cond_t news;
    clocked_message **queues; /* the first of from * size + to */
} clocked;

static inline double clocked_duration(const clocked *net, double bytes)
{
    return isinf(net->link.bandwidth) ? 0 : bytes / net->link.bandwidth;
}

static inline void clocked_insert(clocked_rank *r, size_t place, clocked_span span)
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
static inline double clocked_take(clocked_rank *r, double earliest, double duration)
{
    double at = earliest;
    for (size_t place = 0; duration > 0; place++) {
        const double next = place < r->count ? r->taken[place].from : INFINITY;
        if (next > at) {
            const double piece = fmin(duration, next - at);
            clocked_insert(r, place++, (clocked_span){at, at + piece});
            duration -= piece;
            at += piece;
        }
        if (place < r->count && duration > 0) at = fmax(at, r->taken[place].to);
    }
    return at;
}

static inline tithe_status clocked_send(void *self, unsigned from, unsigned to, const void *bytes,
                                        size_t length, tithe_error *error)
{
    (void)error;
    clocked *net = self;
    clocked_rank *r = &net->ranks[from];
    clocked_message *m = malloc(sizeof *m + length);
    m->next = NULL;
    m->length = length;
    m->start = fmax(r->now, r->free);
    r->free = m->start + clocked_duration(net, (double)length);
    if (length) memcpy(m->bytes, bytes, length);
    pthread_mutex_lock(&net->lock);
    clocked_message **end = &net->queues[(size_t)from * net->size + to];
    while (*end) end = &(*end)->next;
    *end = m;
    pthread_cond_broadcast(&net->news);
    pthread_mutex_unlock(&net->lock);
    return TITHE_OK;
}

static inline tithe_status clocked_receive(void *self, unsigned at, unsigned from, void *bytes, size_t length,
                                           double deadline, tithe_error *error)
{
    (void)deadline; /* a message that never comes is for ctest to notice */
    clocked *net = self;
    clocked_message **first = &net->queues[(size_t)from * net->size + at];
    pthread_mutex_lock(&net->lock);
    while (!*first) pthread_cond_wait(&net->news, &net->lock);
    clocked_message *m = *first;
    *first = m->next;
    pthread_mutex_unlock(&net->lock);
    clocked_rank *r = &net->ranks[at];
    const bool fits = m->length == length;
    if (fits && length) memcpy(bytes, m->bytes, length);
    const double arrived =
        clocked_take(r, m->start + net->link.latency, clocked_duration(net, (double)length));
    r->now = fmax(r->now, arrived);
    free(m);
    if (fits) return TITHE_OK;
    if (error) snprintf(error->text, sizeof error->text, "A message of rank %u has another length.", from);
    return TITHE_E_PEER;
}

static inline tithe_status clocked_flush(void *self, double deadline, tithe_error *error)
{
    (void)self, (void)deadline, (void)error; /* bytes were copied */
    return TITHE_OK;
}

static inline void clocked_give_up(void *self, const char *why)
{
    (void)self;
    fprintf(stderr, "a rank gave up: %s\n", why);
}

static inline void clocked_close(void *self)
{
    clocked *net = self;
    for (unsigned r = 0; r < net->size; r++) free(net->ranks[r].taken);
    free(net->ranks);
    free(net->queues);
    pthread_cond_destroy(&net->news);
    pthread_mutex_destroy(&net->lock);
}

static const tithe_transport clocked_transport = {
    .name = "clocked",
    .summary = "threads of one process, on a network that is computed",
    .send = clocked_send,
    .receive = clocked_receive,
    .flush = clocked_flush,
    .give_up = clocked_give_up,
    .close = clocked_close,
};

static inline void clocked_open(clocked *net, unsigned size, tithe_link link)
{
    *net = (clocked){.size = size, .link = link};
    pthread_mutex_init(&net->lock, NULL);
    pthread_cond_init(&net->news, NULL);
    net->ranks = calloc(size, sizeof *net->ranks);
    net->queues = calloc((size_t)size * size, sizeof *net->queues);
    assert_true(net->ranks && net->queues);
}

/* When the last rank was done. */
static inline double clocked_time(const clocked *net)
{
    double latest = 0;
    for (unsigned r = 0; r < net->size; r++) latest = fmax(latest, net->ranks[r].now);
    return latest;
}

/* All ranks go on from here together, as after a computation that takes all of them equally long. By one thread, while the
 * others wait. */
static inline void clocked_align(clocked *net)
{
    const double latest = clocked_time(net);
    for (unsigned r = 0; r < net->size; r++) {
        net->ranks[r].now = net->ranks[r].free = latest;
        net->ranks[r].count = 0;
    }
}

static inline bool clocked_is_empty(const clocked *net)
{
    for (size_t q = 0; q < (size_t)net->size * net->size; q++)
        if (net->queues[q]) return false;
    return true;
}

#endif
