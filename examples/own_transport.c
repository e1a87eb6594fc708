/* own_transport.c - bring your own transport: five functions, here over queues in memory.
 *
 * Every rank is a thread of its own that shares nothing with the others but the queues, as a process would. The
 * all-reduce that runs over it gives the same bits as one with all ranks in one place.
 *
 *     cc -Iinclude examples/own_transport.c build/libtithe.a -lm -lpthread -o build/ot && build/ot */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <tithe/tithe.h>

/* ---- the transport --------------------------------------------------------------------------------------- */

typedef struct message {
    struct message *next;
    size_t length;
    unsigned char bytes[];
} message;

typedef struct queue {
    message *first, *last;
} queue;

typedef struct network {
    unsigned size;
    pthread_mutex_t lock;
    pthread_cond_t news;
    char gave_up[120]; /* why somebody did; empty: nobody did */
    queue *queues;     /* from * size + to */
} network;

static tithe_status complain(tithe_error *error, tithe_status status, unsigned rank, const char *what)
{
    if (error) {
        error->code = status;
        error->position = rank;
        snprintf(error->text, sizeof error->text, "Rank %u: %s.", rank, what);
    }
    return status;
}

/* The bytes are copied, so the caller may change them at once, and flush has nothing to wait for. */
static tithe_status queue_send(void *self, unsigned from, unsigned to, const void *bytes, size_t length,
                               tithe_error *error)
{
    network *net = self;
    message *m = malloc(sizeof *m + length);
    if (!m) return complain(error, TITHE_E_MEMORY, to, "there is no memory for a message to it");
    m->next = NULL;
    m->length = length;
    if (length) memcpy(m->bytes, bytes, length);
    pthread_mutex_lock(&net->lock);
    queue *q = &net->queues[(size_t)from * net->size + to];
    if (q->first)
        q->last->next = m;
    else
        q->first = m;
    q->last = m;
    pthread_cond_broadcast(&net->news);
    pthread_mutex_unlock(&net->lock);
    return TITHE_OK;
}

static struct timespec from_now(double seconds)
{
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    const double whole = (double)(long)seconds;
    t.tv_sec += (time_t)whole;
    t.tv_nsec += (long)((seconds - whole) * 1e9);
    if (t.tv_nsec >= 1000000000) {
        t.tv_nsec -= 1000000000;
        t.tv_sec++;
    }
    return t;
}

static tithe_status queue_receive(void *self, unsigned at, unsigned from, void *bytes, size_t length,
                                  double timeout, tithe_error *error)
{
    network *net = self;
    const struct timespec end = from_now(timeout);
    queue *q = &net->queues[(size_t)from * net->size + at];
    tithe_status status = TITHE_OK;
    pthread_mutex_lock(&net->lock);
    bool late = false;
    while (!q->first && !*net->gave_up && !late)
        late = pthread_cond_timedwait(&net->news, &net->lock, &end) != 0;
    message *m = q->first;
    if (m) {
        q->first = m->next;
    } else if (*net->gave_up) {
        status = complain(error, TITHE_E_PEER, from, net->gave_up);
    } else {
        status = complain(error, TITHE_E_TIMEOUT, from, "no message came from it in time");
    }
    pthread_mutex_unlock(&net->lock);
    if (m && m->length != length)
        status = complain(error, TITHE_E_PEER, from, "its message has another length than was expected");
    else if (m && length)
        memcpy(bytes, m->bytes, length);
    free(m);
    return status;
}

static tithe_status queue_flush(void *self, double timeout, tithe_error *error)
{
    (void)self, (void)timeout, (void)error;
    return TITHE_OK;
}

static void queue_give_up(void *self, const char *why)
{
    network *net = self;
    pthread_mutex_lock(&net->lock);
    snprintf(net->gave_up, sizeof net->gave_up, "%s", why);
    pthread_cond_broadcast(&net->news);
    pthread_mutex_unlock(&net->lock);
}

static void network_close(network *net)
{
    for (size_t i = 0; i < (size_t)net->size * net->size; i++)
        for (message *m = net->queues[i].first, *next; m; m = next) {
            next = m->next;
            free(m);
        }
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

static bool network_open(network *net, unsigned size)
{
    *net = (network){.size = size};
    pthread_mutex_init(&net->lock, NULL);
    pthread_cond_init(&net->news, NULL);
    net->queues = calloc((size_t)size * size, sizeof *net->queues);
    return net->queues != NULL;
}

/* ---- ranks that use it ----------------------------------------------------------------------------------- */

enum { RANKS = 4, N = 10 };

typedef struct rank {
    tithe_comm *comm;
    float vector[N], scratch[N];
    tithe_status status;
    tithe_error error;
} rank;

static void *run_rank(void *argument)
{
    rank *r = argument;
    float *const vectors[] = {r->vector};
    const tithe_collective *ring;
    r->status = tithe_collective_find("ring", &ring, NULL, &r->error);
    if (!r->status) r->status = tithe_all_reduce(r->comm, ring, vectors, N, r->scratch, &r->error);
    if (r->status) tithe_comm_give_up(r->comm, r->error.text);
    return NULL;
}

int main(void)
{
    network net;
    if (!network_open(&net, RANKS)) return 1;
    static rank ranks[RANKS];
    pthread_t threads[RANKS];
    for (unsigned r = 0; r < RANKS; r++) {
        const tithe_place place = {
            .size = sizeof place, .ranks = RANKS, .first = r, .local = 1, .timeout = 10};
        if (tithe_comm_custom(&queues, &net, &place, &ranks[r].comm, NULL)) return 1;
        for (unsigned i = 0; i < N; i++) ranks[r].vector[i] = (float)(r + 1) / (float)(i + 1);
    }
    for (unsigned r = 0; r < RANKS; r++)
        if (pthread_create(&threads[r], NULL, run_rank, &ranks[r])) return 1;
    for (unsigned r = 0; r < RANKS; r++) pthread_join(threads[r], NULL);
    network_close(&net);

    for (unsigned r = 0; r < RANKS; r++) {
        if (ranks[r].status) {
            fprintf(stderr, "%s\n", ranks[r].error.text);
            return 1;
        }
        printf("rank %u sent %3llu bytes and has", r,
               (unsigned long long)tithe_comm_sent_bytes(ranks[r].comm));
        for (unsigned i = 0; i < N; i++) printf(" %.4g", (double)ranks[r].vector[i]);
        printf("\n");
        tithe_comm_free(ranks[r].comm);
        if (memcmp(ranks[r].vector, ranks[0].vector, sizeof ranks[r].vector) != 0) return 1; /* never */
    }
    return 0;
}
