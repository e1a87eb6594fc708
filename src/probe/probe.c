/* probe.c - ping with messages of growing length, answered by a single byte. */
#include "tithe/probe.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/median.h"
#include "comm/comm.h"
#include "probe/probe.h"

enum { MAX_REPEATS = 31, MIN_REPEATS = 3, UNSTEADY_REPEATS = 9, WARM_UP = 4, ORDER_BYTES = 8 };

/* 1 byte to 16 MB: short ones for the latency, long ones for the bandwidth. */
static const size_t lengths[] = {1,      64,      1024,    8192,    65536,   131072,  262144,
                                 524288, 1048576, 2097152, 4194304, 8388608, 16777216};
enum { LENGTHS = sizeof lengths / sizeof *lengths };

/* Longer messages never take less: neighbours that say otherwise share their mean (pool adjacent violators). */
static void smooth(tithe_probe_link *link)
{
    tithe_link_point *p = link->points;
    for (size_t i = 1; i < link->count; i++) {
        double sum = p[i].seconds;
        size_t from = i;
        while (from > 0 && p[from - 1].seconds * (double)(i - from + 1) > sum) sum += p[--from].seconds;
        for (size_t j = from; j <= i; j++) p[j].seconds = sum / (double)(i - from + 1);
    }
}

/* An answer takes half of the shortest round trip of all: with that of another one, which a busy machine made longer, a message
 * would seem to arrive before it could. */
void ti_probe_one_way(tithe_probe_link *link, double shortest)
{
    for (size_t i = 0; i < link->count; i++) link->points[i].seconds -= shortest / 2;
    smooth(link);
    tithe_link_fit(link->points, link->count, &link->link);
    /* Noise may hide that longer ones take longer; the longest one then says how fast it went at least. */
    const tithe_link_point *longest = &link->points[link->count - 1];
    if (isnan(link->link.bandwidth)) link->link.bandwidth = longest->bytes / longest->seconds;
}

/* ---- the messages --------------------------------------------------------------------------------------------- */

static const uint64_t NOTHING_YET = UINT64_MAX;

/* Rank 0 says what comes: its length; 0 ends; NOTHING_YET: still at work elsewhere. */
static tithe_status announce(tithe_comm *comm, unsigned to, uint64_t length, tithe_error *error)
{
    uint8_t order[ORDER_BYTES];
    put_u64(order, length);
    const tithe_status status = ti_comm_send(comm, 0, to, order, sizeof order, error);
    return status ? status : ti_comm_flush(comm, error);
}

static tithe_status ping(tithe_comm *comm, unsigned to, const uint8_t *bytes, size_t length, double *seconds,
                         tithe_error *error)
{
    uint8_t answer;
    tithe_status status = announce(comm, to, length, error);
    if (!status)
        status =
            ti_comm_receive(comm, 0, to, &answer, 1, error); /* it is ready, so that only this is timed */
    if (status) return status;
    const double start = clock_now();
    status = ti_comm_send(comm, 0, to, bytes, length, error);
    if (!status) status = ti_comm_receive(comm, 0, to, &answer, 1, error);
    *seconds = clock_now() - start;
    return status ? status : ti_comm_flush(comm, error);
}

/* Those whose turn has not come, and the server, must not think that rank 0 is gone. */
static tithe_status reassure(tithe_comm *comm, unsigned busy_with, double *last, tithe_error *error)
{
    const double patience = comm->timeout > 0 ? comm->timeout : 30;
    if (clock_now() - *last < patience / 8) return TITHE_OK;
    double bytes; /* of no interest: it is the question that counts */
    tithe_status status = ti_comm_sent(comm, &bytes, error);
    for (unsigned r = busy_with + 1; r < comm->size && !status; r++)
        status = announce(comm, r, NOTHING_YET, error);
    *last = clock_now();
    return status;
}

static tithe_status answer_pings(tithe_comm *comm, uint8_t *bytes, tithe_error *error)
{
    for (;;) {
        uint8_t order[ORDER_BYTES], answer = 1;
        tithe_status status = ti_comm_receive(comm, comm->first, 0, order, sizeof order, error);
        if (status) return status;
        const uint64_t length = get_u64(order);
        if (length == 0) return TITHE_OK;
        if (length == NOTHING_YET) continue;
        if (length > lengths[LENGTHS - 1])
            return ti_fail(error, TITHE_E_CORRUPT, 0, "Rank 0 announces a message of %llu bytes.",
                           (unsigned long long)length);
        for (int turn = 0; turn < 2 && !status; turn++) {
            if (turn == 1) status = ti_comm_receive(comm, comm->first, 0, bytes, (size_t)length, error);
            if (!status) status = ti_comm_send(comm, comm->first, 0, &answer, 1, error);
            if (!status) status = ti_comm_flush(comm, error);
        }
        if (status) return status;
    }
}

/* Of a few times some may be those of lost packets: where most are far above the shortest, a few more are asked for. */
static bool is_unsteady(const double *times, size_t count)
{
    double sorted[MAX_REPEATS];
    memcpy(sorted, times, count * sizeof *sorted);
    return count < UNSTEADY_REPEATS && median(sorted, count) > 1.1 * sorted[0];
}

static tithe_status measure_link(tithe_comm *comm, const uint8_t *bytes, double budget,
                                 tithe_probe_link *link, tithe_error *error)
{
    double shortest = INFINITY, first, last = clock_now();
    for (int i = 0; i < WARM_UP; i++) { /* connections are made, and routes found, with the first ones */
        const tithe_status status = ping(comm, link->to, bytes, 1, &first, error);
        if (status) return status;
    }
    for (size_t i = 0; i < LENGTHS; i++) {
        double times[MAX_REPEATS];
        size_t count = 0;
        const double start = clock_now(), share = budget / LENGTHS;
        while (count < MAX_REPEATS &&
               (count < MIN_REPEATS || clock_now() - start < share || is_unsteady(times, count))) {
            tithe_status status = ping(comm, link->to, bytes, lengths[i], &times[count++], error);
            if (!status) status = reassure(comm, link->to, &last, error);
            if (status) return status;
        }
        const double middle = median(times, count); /* which sorts them */
        shortest = fmin(shortest, times[0]);
        link->points[link->count++] = (tithe_link_point){(double)lengths[i], middle};
        if (middle > 4 * share && i > 6) break; /* the next one would take even longer */
    }
    ti_probe_one_way(link, shortest);
    return announce(comm, link->to, 0, error);
}

tithe_status tithe_probe(tithe_comm *comm, double seconds, tithe_probe_link *links, tithe_error *error)
{
    if (!comm->transport || comm->size < 2)
        return ti_fail(error, TITHE_E_ARGUMENT, 0,
                       "A probe needs two ranks in different processes, over MPI or ZeroMQ.");
    uint8_t *bytes = calloc(lengths[LENGTHS - 1], 1);
    if (!bytes) return ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory for a probe.");
    comm->phase = "probing";
    tithe_status status = TITHE_OK;
    if (comm->first == 0) {
        for (unsigned r = 1; r < comm->size && !status; r++) {
            links[r - 1] = (tithe_probe_link){.from = 0, .to = r};
            status = measure_link(comm, bytes, seconds / (comm->size - 1), &links[r - 1], error);
        }
        if (!status) status = ti_comm_dismiss_server(comm, error);
    } else {
        status = answer_pings(comm, bytes, error);
    }
    comm->phase = NULL;
    free(bytes);
    if (status) tithe_comm_give_up(comm, error ? error->text : tithe_status_text(status));
    return status;
}
