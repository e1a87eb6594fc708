/* bench.c - how many numbers a switch adds in a second: a switch in a thread of its own, two workers in another, and reductions alone. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/reduction.h"
#include "base/clock.h"
#include "base/median.h"
#include "comm/comm.h"
#include "switch/bench_echo.h"
#include "switch/switch.h"

enum { WORKERS = 2, ROUNDS = 15, TRIPS = 2000, TRIP_VALUES = 256 };

/* What is added, in packets of which length, and what it is meant to reach. */
typedef struct case_row {
    const char *what;
    packet_operation operation;
    unsigned bits, datagram;
    size_t n;     /* numbers of a reduction */
    double least; /* numbers in a second; 0: nothing is asked */
} case_row;

static const case_row cases[] = {
    {"int32, MTU 1500", OPERATION_SUM, 32, 1472, 1 << 20, 20e6},
    {"natural, MTU 1500", OPERATION_NATURAL, 8, 1472, 1 << 22, 20e6},
    {"int32, jumbo", OPERATION_SUM, 32, PACKET_LONGEST, 1 << 22, 150e6},
    {"natural, jumbo", OPERATION_NATURAL, 8, PACKET_LONGEST, 1 << 23, 150e6},
};
enum { CASES = sizeof cases / sizeof *cases };
static const double longest_trip = 40e-6;

typedef struct bench {
    pthread_t thread;
    tithe_switch_options options;
    tithe_switch_counts counts;
    tithe_status status;
    tithe_error error;
    pthread_mutex_t lock;
    pthread_cond_t news;
    char address[NET_TEXT]; /* empty: it does not listen yet */
    bool ended;
    atomic_bool stop;
    tithe_comm *comm;
} bench;

static bool is_over(void *context)
{
    bench *b = context;
    return atomic_load(&b->stop);
}

static void note(bench *b, const char *address)
{
    pthread_mutex_lock(&b->lock);
    if (address)
        snprintf(b->address, sizeof b->address, "%s", address);
    else
        b->ended = true;
    pthread_cond_signal(&b->news);
    pthread_mutex_unlock(&b->lock);
}

static void listens(void *context, const char *address)
{
    note(context, address);
}

static void *run_switch(void *context)
{
    bench *b = context;
    b->status = tithe_switch_serve(&b->options, &b->counts, &b->error);
    note(b, NULL);
    return NULL;
}

static void end(bench *b)
{
    tithe_comm_free(b->comm);
    atomic_store(&b->stop, true);
    pthread_join(b->thread, NULL);
    pthread_mutex_destroy(&b->lock);
    pthread_cond_destroy(&b->news);
}

static tithe_status start(bench *b, const char *backend, unsigned datagram, unsigned slots,
                          tithe_error *error)
{
    memset(b, 0, sizeof *b);
    b->counts.size = sizeof b->counts;
    b->options = (tithe_switch_options){.size = sizeof b->options,
                                        .address = "127.0.0.1:0",
                                        .workers = WORKERS,
                                        .jobs = 1,
                                        .slots = slots,
                                        .datagram = datagram,
                                        .backend = backend,
                                        .stop = is_over,
                                        .stop_context = b,
                                        .ready = listens,
                                        .ready_context = b};
    pthread_mutex_init(&b->lock, NULL);
    pthread_cond_init(&b->news, NULL);
    if (pthread_create(&b->thread, NULL, run_switch, b))
        return ti_fail(error, TITHE_E_MEMORY, 0, "There is no thread for a switch.");
    pthread_mutex_lock(&b->lock);
    while (!b->address[0] && !b->ended) pthread_cond_wait(&b->news, &b->lock);
    pthread_mutex_unlock(&b->lock);
    if (!b->address[0]) {
        if (error) *error = b->error;
        return b->status;
    }
    const tithe_switch_options at = {.size = sizeof at, .address = b->address};
    tithe_status status = tithe_comm_local(WORKERS, &b->comm, error);
    if (!status) status = tithe_switch_attach(b->comm, &at, error);
    return status ? status : ti_comm_join_switch(b->comm, false, error);
}

/* Seconds of one reduction, `rounds` times; the first one is not counted. */
static tithe_status reduce(bench *b, const agg_reduction *r, unsigned rounds, double *seconds,
                           tithe_error *error)
{
    const size_t bytes = r->n * r->up / 8;
    uint8_t *codes = malloc(bytes), *sums = malloc(bytes);
    const uint8_t *up[WORKERS];
    tithe_status status = codes && sums ? TITHE_OK : TITHE_E_MEMORY;
    if (status) ti_fail(error, status, 0, "There is not enough memory for %zu numbers.", r->n);
    for (size_t i = 0; i < bytes && !status; i++)
        codes[i] = (uint8_t)(r->up == 8 ? i % 30 : i % 4 ? 0 : i / 4 % 251);
    for (unsigned w = 0; w < WORKERS; w++) up[w] = codes;
    for (unsigned k = 0; k <= rounds && !status; k++) {
        const double began = clock_now();
        status = ti_comm_reduce(b->comm, r, up, sums, false, error);
        if (k) seconds[k - 1] = clock_now() - began;
    }
    for (size_t i = 0; i < r->n && r->up == 32 && !status; i++)
        if (get_u32(sums + 4 * i) != 2 * get_u32(codes + 4 * i))
            status = ti_fail(error, TITHE_E_CORRUPT, i, "The switch has added wrong.");
    free(codes);
    free(sums);
    return status;
}

static agg_reduction reduction_of(const case_row *c, size_t n)
{
    const bool natural = c->operation == OPERATION_NATURAL;
    return (agg_reduction){.operation = c->operation,
                           .up = (uint8_t)c->bits,
                           .down = (uint8_t)c->bits,
                           .most = natural ? 30 : UINT32_MAX / WORKERS,
                           .n = n};
}

static tithe_switch_row row_of(const char *name, const case_row *c)
{
    return (tithe_switch_row){.name = name, .what = c->what, .n = c->n};
}

static void describe(tithe_switch_row *row, const case_row *c, double seconds[ROUNDS])
{
    row->fastest = seconds[0];
    for (int i = 1; i < ROUNDS; i++) row->fastest = seconds[i] < row->fastest ? seconds[i] : row->fastest;
    row->seconds = median(seconds, ROUNDS);
    row->rate = (double)c->n / row->seconds;
}

static tithe_status measure_rate(const char *backend, const case_row *c, tithe_switch_row *row,
                                 tithe_error *error)
{
    static _Thread_local bench b;
    double seconds[ROUNDS];
    const agg_reduction r = reduction_of(c, c->n);
    tithe_status status = start(&b, backend, c->datagram, 0, error);
    if (!status) status = reduce(&b, &r, ROUNDS, seconds, error);
    end(&b);
    if (status) return status;
    describe(row, c, seconds);
    row->retransmitted = b.counts.retransmitted;
    row->gate = c->least;
    row->met = row->rate >= c->least;
    return TITHE_OK;
}

/* The packets of the same reduction, as many under way as that has. */
static tithe_status measure_echo(const case_row *c, tithe_switch_row *row, tithe_error *error)
{
    double seconds[ROUNDS];
    const agg_reduction r = reduction_of(c, c->n);
    const packet_limits limits = {.datagram = c->datagram, .values = 65528};
    const packet_cut cut = reduction_cut(&r, &limits);
    const echo_shape shape = {.workers = WORKERS,
                              .length = PACKET_HEAD + packet_bytes(cut.values, c->bits),
                              .packets = cut.packets,
                              .datagram = c->datagram};
    const tithe_status status = ti_bench_echo(&shape, ROUNDS, seconds, error);
    if (!status) describe(row, c, seconds);
    return status;
}

/* One packet of each worker, and back. */
static tithe_status measure_trip(const char *backend, tithe_switch_row *row, tithe_error *error)
{
    static _Thread_local bench b;
    double *seconds = malloc(TRIPS * sizeof *seconds);
    const agg_reduction r = reduction_of(&cases[0], TRIP_VALUES);
    tithe_status status = seconds ? start(&b, backend, 1472, 0, error) : TITHE_E_MEMORY;
    if (!status) status = reduce(&b, &r, TRIPS, seconds, error);
    if (seconds) end(&b);
    if (!status) {
        row->fastest = seconds[0];
        row->gate = longest_trip;
        row->retransmitted = b.counts.retransmitted;
        for (int i = 1; i < TRIPS; i++) row->fastest = seconds[i] < row->fastest ? seconds[i] : row->fastest;
        row->seconds = median(seconds, TRIPS);
        row->rate = TRIP_VALUES / row->seconds;
        row->met = row->seconds <= longest_trip;
    }
    free(seconds);
    return status;
}

/* What is lost for good on the way is said in its row, and the others go on. */
typedef struct rows {
    void (*report)(void *context, const tithe_switch_row *row);
    void *context;
    tithe_error error;
} rows;

static tithe_status tell(rows *to, tithe_switch_row *row, tithe_status status)
{
    if (status == TITHE_E_TIMEOUT) row->why = to->error.text;
    if (status && !row->why) return status;
    to->report(to->context, row);
    return TITHE_OK;
}

static tithe_status measure_backend(const tithe_switch_backend *backend, rows *to)
{
    const tithe_switch_options options = {
        .size = sizeof options, .address = "127.0.0.1:0", .workers = WORKERS};
    char name[32];
    snprintf(name, sizeof name, "switch.%s", backend->name);
    tithe_switch_row row = {.name = name, .why = backend->refuse ? backend->refuse(&options) : NULL};
    if (row.why) return tell(to, &row, TITHE_OK);
    tithe_status status = TITHE_OK;
    for (size_t c = 0; c < CASES && !status; c++) {
        row = row_of(name, &cases[c]);
        status = tell(to, &row, measure_rate(backend->name, &cases[c], &row, &to->error));
    }
    row =
        (tithe_switch_row){.name = name, .what = "one slot, there and back", .trip = true, .n = TRIP_VALUES};
    return status ? status : tell(to, &row, measure_trip(backend->name, &row, &to->error));
}

tithe_status tithe_switch_bench(void (*report)(void *context, const tithe_switch_row *row), void *context,
                                tithe_error *error)
{
    rows to = {.report = report, .context = context};
    tithe_status status = TITHE_OK;
    for (size_t c = 0; c < CASES && !status; c++) {
        tithe_switch_row row = row_of("echo", &cases[c]);
        status = tell(&to, &row, measure_echo(&cases[c], &row, &to.error));
    }
    for (const tithe_switch_backend *const *b = tithe_switch_backends(); *b && !status; b++)
        status = measure_backend(*b, &to);
    if (status && error) *error = to.error;
    return status;
}
