/* courier.c - see courier.h. */
#include "exchange/courier.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/status.h"

struct courier {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    courier_job *carry;
    void *context;
    unsigned count;
    unsigned next; /* bucket that goes next */
    bool busy, stop;
    bool *ready;
    double *began, *ended; /* of each bucket in this round */
    tithe_status status;   /* of this round */
    tithe_error error;
};

static bool has_work(const courier *c)
{
    return c->next < c->count && c->ready[c->next] && !c->status;
}

static void *carry_all(void *context)
{
    courier *c = context;
    pthread_mutex_lock(&c->lock);
    for (;;) {
        while (!has_work(c) && !c->stop) pthread_cond_wait(&c->changed, &c->lock);
        if (c->stop) break;
        const unsigned bucket = c->next;
        c->busy = true;
        pthread_mutex_unlock(&c->lock);
        tithe_error error = {0};
        const double began = clock_now();
        const tithe_status status = c->carry(c->context, bucket, &error);
        const double ended = clock_now();
        pthread_mutex_lock(&c->lock);
        c->busy = false;
        c->began[bucket] = began;
        c->ended[bucket] = ended;
        c->next = bucket + 1;
        c->status = status;
        c->error = error;
        pthread_cond_broadcast(&c->changed);
    }
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

static void begin_round(courier *c)
{
    c->next = 0;
    c->status = TITHE_OK;
    memset(c->ready, 0, c->count * sizeof *c->ready);
}

static void free_courier(courier *c)
{
    pthread_cond_destroy(&c->changed);
    pthread_mutex_destroy(&c->lock);
    free(c->ready);
    free(c->began);
    free(c->ended);
    free(c);
}

tithe_status ti_courier_start(unsigned buckets, courier_job *carry, void *context, courier **made,
                              tithe_error *error)
{
    courier *c = calloc(1, sizeof *c);
    if (!c) return ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory for a thread that sends.");
    c->carry = carry;
    c->context = context;
    c->count = buckets;
    c->ready = calloc(buckets, sizeof *c->ready);
    c->began = calloc(buckets, sizeof *c->began);
    c->ended = calloc(buckets, sizeof *c->ended);
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->changed, NULL);
    if (!c->ready || !c->began || !c->ended || pthread_create(&c->thread, NULL, carry_all, c)) {
        free_courier(c);
        return ti_fail(error, TITHE_E_MEMORY, 0,
                       "There could be no thread that sends: do without overlap, or allow more threads.");
    }
    *made = c;
    return TITHE_OK;
}

void ti_courier_stop(courier *c)
{
    if (!c) return;
    pthread_mutex_lock(&c->lock);
    c->stop = true;
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
    pthread_join(c->thread, NULL);
    free_courier(c);
}

void ti_courier_ready(courier *c, unsigned bucket)
{
    pthread_mutex_lock(&c->lock);
    c->ready[bucket] = true;
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
}

tithe_status ti_courier_await(courier *c, double *hidden, tithe_error *error)
{
    const double asked = clock_now();
    *hidden = 0;
    pthread_mutex_lock(&c->lock);
    while (c->busy || has_work(c)) pthread_cond_wait(&c->changed, &c->lock);
    for (unsigned b = 0; b < c->next; b++) {
        const double end = c->ended[b] < asked ? c->ended[b] : asked;
        if (end > c->began[b]) *hidden += end - c->began[b];
    }
    tithe_status status = c->status;
    if (status && error) *error = c->error;
    if (!status && c->next < c->count)
        status = ti_fail(error, TITHE_E_ARGUMENT, c->next, "Bucket %u did not leave.", c->next);
    begin_round(c);
    pthread_mutex_unlock(&c->lock);
    return status;
}
