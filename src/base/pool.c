/* pool.c - threads that wait on a condition between calls; starting one costs more than a pass over a
 * million numbers.
 *
 * A round of work has a number. Threads wait until the number changes, then take parts from a common
 * counter until there are none, and the last one to finish wakes the caller, who has been taking parts
 * too. */
#include "base/pool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/status.h"

enum { MAX_THREADS = 256 };

struct tithe_pool {
    unsigned threads; /* the caller's included */
    pthread_t ids[MAX_THREADS];
    pthread_mutex_t lock;
    pthread_cond_t start, finish;
    unsigned long round;
    unsigned busy; /* threads, the caller's not included, that have not finished this round */
    bool stop;
    pool_work *work;
    void *context;
    unsigned parts;
    atomic_uint next;
};

static void take_parts(tithe_pool *pool)
{
    for (unsigned part; (part = atomic_fetch_add(&pool->next, 1)) < pool->parts;)
        pool->work(pool->context, part);
}

static void *wait_and_work(void *argument)
{
    tithe_pool *pool = argument;
    unsigned long seen = 0;
    pthread_mutex_lock(&pool->lock);
    for (;;) {
        while (pool->round == seen && !pool->stop) pthread_cond_wait(&pool->start, &pool->lock);
        if (pool->stop) break;
        seen = pool->round;
        pthread_mutex_unlock(&pool->lock);
        take_parts(pool);
        pthread_mutex_lock(&pool->lock);
        if (--pool->busy == 0) pthread_cond_signal(&pool->finish);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

void ti_pool_run(tithe_pool *pool, unsigned parts, pool_work *work, void *context)
{
    if (!pool || pool->threads == 1 || parts <= 1) {
        for (unsigned part = 0; part < parts; part++) work(context, part);
        return;
    }
    pthread_mutex_lock(&pool->lock);
    pool->work = work;
    pool->context = context;
    pool->parts = parts;
    atomic_store(&pool->next, 0);
    pool->busy = pool->threads - 1;
    pool->round++;
    pthread_cond_broadcast(&pool->start);
    pthread_mutex_unlock(&pool->lock);
    take_parts(pool);
    pthread_mutex_lock(&pool->lock);
    while (pool->busy) pthread_cond_wait(&pool->finish, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
}

unsigned tithe_pool_threads(const tithe_pool *pool)
{
    return pool ? pool->threads : 1;
}

/* TITHE_THREADS if it is a sensible number, else the processors that are there. */
static unsigned default_threads(void)
{
    const char *text = getenv("TITHE_THREADS");
    char *end;
    const long stated = text ? strtol(text, &end, 10) : 0;
    if (text && *text && *end == 0 && stated >= 1 && stated <= MAX_THREADS) return (unsigned)stated;
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online < 1 ? 1 : online > MAX_THREADS ? MAX_THREADS : (unsigned)online;
}

tithe_status tithe_pool_create(unsigned threads, tithe_pool **pool, tithe_error *error)
{
    if (!pool) return ti_fail(error, TITHE_E_ARGUMENT, 0, "A place for the pool is needed.");
    if (threads > MAX_THREADS)
        return ti_fail(error, TITHE_E_ARGUMENT, 0, "A pool has 1 to %d threads, not %u.", MAX_THREADS,
                       threads);
    tithe_pool *made = calloc(1, sizeof *made);
    if (!made) return ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory for a pool.");
    const unsigned wanted = threads ? threads : default_threads();
    pthread_mutex_init(&made->lock, NULL);
    pthread_cond_init(&made->start, NULL);
    pthread_cond_init(&made->finish, NULL);
    for (made->threads = 1; made->threads < wanted; made->threads++)
        if (pthread_create(&made->ids[made->threads], NULL, wait_and_work, made)) {
            tithe_pool_free(made);
            return ti_fail(error, TITHE_E_MEMORY, 0, "The system does not start %u threads: ask for fewer.",
                           wanted);
        }
    *pool = made;
    return TITHE_OK;
}

void tithe_pool_free(tithe_pool *pool)
{
    if (!pool) return;
    pthread_mutex_lock(&pool->lock);
    pool->stop = true;
    pthread_cond_broadcast(&pool->start);
    pthread_mutex_unlock(&pool->lock);
    for (unsigned i = 1; i < pool->threads; i++) pthread_join(pool->ids[i], NULL);
    pthread_cond_destroy(&pool->start);
    pthread_cond_destroy(&pool->finish);
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}
