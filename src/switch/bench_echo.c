/* bench_echo.c - see bench_echo.h. */
#include "switch/bench_echo.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/clock.h"
#include "switch/mail.h"
#include "switch/switch.h"

enum { MOST_WORKERS = 8, LOOK_UP = 100000 /* microseconds */ };
static const double lost = 2; /* seconds without a packet, after which one must be */

typedef struct echo {
    pthread_t thread;
    net_address at;
    int socket;
    inbox *in;
    outbox *out;
    atomic_bool stop;
} echo;

/* ---- what sends back --------------------------------------------------------------------------------------------- */

static void give_back(echo *e, const net_address *to)
{
    for (unsigned l = 0; l < ti_outbox_letters(e->out); l++) ti_outbox_post(e->out, e->socket, l, to);
    ti_outbox_flush(e->out, e->socket);
}

static void *run(void *context)
{
    echo *e = context;
    while (!atomic_load(&e->stop)) {
        mail_item d;
        net_address to = {0};
        const net_address *last = NULL;
        ti_inbox_receive(e->in, e->socket, MSG_WAITFORONE);
        while (ti_inbox_next(e->in, &d)) {
            if (last && (last != d.from || ti_outbox_is_full(e->out))) give_back(e, &to);
            const struct iovec piece = {(void *)d.bytes, d.length};
            ti_outbox_add(e->out, &piece, 1, true);
            to = *d.from;
            last = d.from;
        }
        give_back(e, &to);
    }
    return NULL;
}

static void close_echo(echo *e)
{
    if (e->socket >= 0) close(e->socket);
    ti_inbox_close(e->in);
    ti_outbox_close(e->out);
}

static tithe_status open_echo(echo *e, tithe_error *error)
{
    socklen_t length = sizeof e->at;
    const struct timeval look_up = {.tv_usec = LOOK_UP};
    *e = (echo){.socket = -1};
    tithe_status status = ti_net_resolve("127.0.0.1:0", &e->at, error);
    if (!status && (e->socket = ti_net_listen(&e->at, error)) < 0) status = TITHE_E_FILE;
    if (status) return status;
    getsockname(e->socket, &e->at.any, &length);
    setsockopt(e->socket, SOL_SOCKET, SO_RCVTIMEO, &look_up, sizeof look_up);
    ti_inbox_prepare(e->socket);
    e->in = ti_inbox_open();
    e->out = ti_outbox_open();
    if (!e->in || !e->out || pthread_create(&e->thread, NULL, run, e))
        return ti_fail(error, TITHE_E_MEMORY, 0, "There is no thread that could send packets back.");
    return TITHE_OK;
}

/* ---- workers ------------------------------------------------------------------------------------------------------ */

typedef struct worker {
    int socket;
    uint32_t sent, back;
} worker;

static void send_some(worker *w, const echo_shape *shape, uint32_t window, outbox *out, const uint8_t *bytes)
{
    const struct iovec piece = {(void *)bytes, shape->length};
    for (; w->sent < shape->packets && w->sent - w->back < window && !ti_outbox_is_full(out); w->sent++)
        ti_outbox_add(out, &piece, 1, true);
    for (unsigned l = 0; l < ti_outbox_letters(out); l++) ti_outbox_post(out, w->socket, l, NULL);
    ti_outbox_flush(out, w->socket);
}

static tithe_status run_round(worker *of, const echo_shape *shape, uint32_t window, inbox *in, outbox *out,
                              const uint8_t *bytes, tithe_error *error)
{
    double heard = clock_now();
    uint32_t all = 0;
    for (unsigned i = 0; i < shape->workers; i++) of[i].sent = of[i].back = 0;
    while (all < shape->workers * shape->packets) {
        for (unsigned i = 0; i < shape->workers; i++) {
            mail_item d;
            send_some(&of[i], shape, window, out, bytes);
            ti_inbox_receive(in, of[i].socket, MSG_DONTWAIT);
            for (; ti_inbox_next(in, &d); of[i].back++, all++) heard = clock_now();
        }
        if (clock_now() > heard + lost)
            return ti_fail(error, TITHE_E_TIMEOUT, 0,
                           "A packet was lost on the loopback: raise net.core.rmem_max.");
    }
    return TITHE_OK;
}

static tithe_status run_rounds(const echo_shape *shape, const echo *e, unsigned rounds, double *seconds,
                               tithe_error *error)
{
    worker of[MOST_WORKERS];
    const uint32_t window = ti_switch_slots(e->socket, shape->workers, shape->datagram);
    tithe_status status = TITHE_OK;
    inbox *in = ti_inbox_open();
    outbox *out = ti_outbox_open();
    uint8_t *bytes = calloc(1, shape->length);
    if (!in || !out || !bytes) status = ti_fail(error, TITHE_E_MEMORY, 0, "There is no memory for packets.");
    for (unsigned i = 0; i < shape->workers; i++) {
        of[i].socket = status ? -1 : ti_net_connect(&e->at, error);
        if (of[i].socket < 0) status = status ? status : TITHE_E_FILE;
        if (!status) ti_inbox_prepare(of[i].socket);
    }
    for (unsigned k = 0; k <= rounds && !status; k++) {
        const double began = clock_now();
        status = run_round(of, shape, window, in, out, bytes, error);
        if (k) seconds[k - 1] = clock_now() - began;
    }
    for (unsigned i = 0; i < shape->workers; i++)
        if (of[i].socket >= 0) close(of[i].socket);
    ti_inbox_close(in);
    ti_outbox_close(out);
    free(bytes);
    return status;
}

tithe_status ti_bench_echo(const echo_shape *shape, unsigned rounds, double *seconds, tithe_error *error)
{
    echo e;
    if (shape->workers > MOST_WORKERS)
        return ti_fail(error, TITHE_E_ARGUMENT, 0, "There are %d workers at most.", MOST_WORKERS);
    tithe_status status = open_echo(&e, error);
    if (!status) {
        status = run_rounds(shape, &e, rounds, seconds, error);
        atomic_store(&e.stop, true);
        pthread_join(e.thread, NULL);
    }
    close_echo(&e);
    return status;
}
