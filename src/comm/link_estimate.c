/* link_estimate.c - latency and bandwidth of the link, from the messages of a running job.
 *
 * The clocks of ranks differ, and who receives also waits for a sender that is late. Two kinds of messages say something
 * all the same:
 *
 * Rounds in which everybody sends to one and receives from one. The mean over the ranks of (receives - sends), each by
 * its own clock, is latency + bytes/bandwidth: what a rank was late in the one term it is early in the next, as in NTP. That
 * holds as long as nobody is so late that its message is there before it looks; so a round counts only when all ranks
 * have heard of each other just before (`together`). After N-1 rounds of a ring nobody enters later than its predecessor
 * and one latency. Counted are the rounds of a ring after that, and the second half of `direct`. In a tree, a star or a
 * broadcast some ranks only send, and `native` does not tell; there it takes a probe.
 *
 * The sums of an update (ti_comm_fold with COMM_ASK), which are short. Along a chain, rank 0 gets its answer after N
 * latencies, since by the same argument rank k is there when the sum is, k latencies later. A server says for how long it
 * held a rank's message, if it had to wait for it and so knows when it came; the rest is two latencies. What disturbs
 * these only makes them longer, so each rank takes the least of the last 16 that it heard of, unless the last three were
 * all far longer; and of the ranks' the largest counts: collectives wait for the slowest link. The median of the 16 is
 * above the least by what a busy machine adds to a message, its noise.
 *
 * The bandwidth is the median, over the last three updates so that two that agree are believed, of bytes / (seconds -
 * latency), or of the slope between two messages where lengths differ: whatever a message costs besides, a bucket of
 * bytes that passes unhindered or one more round trip of a protocol, is in both. Messages too short for their time to
 * stand out from latency and noise say only that the link has at least so many bytes a second; then ranks take turns with
 * two probes each, as long as 1 % of the bytes sent so far has room for, and the lower quartile is taken: a worker beside
 * the server has no slow link. */
#include "comm/link_estimate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/median.h"
#include "comm/comm.h"

enum {
    REPORT = 2 * LINK_ROUNDS + 2, /* numbers of a report: rounds, and a probe */
    FIRST_PING = 1 << 14,
    MEETING = LINK_VALUES + REPORT + 3, /* and of a meeting, at most */
    MAX_POINTS = LINK_WINDOW * LINK_ROUNDS
};
static const double BUDGET = 0.01;
static const double NOISE = 1e-4; /* seconds that a system may take to wake a process up, */
static const double LEAP = 5e-3;  /* and that only another link takes */

/* ---- what is timed ---------------------------------------------------------------------------------------- */

void ti_link_round(tithe_comm *comm, uint64_t longest, uint64_t bytes, double start)
{
    if (!comm->transport || comm->local != 1) return;
    link_round *min = comm->seen.rounds;
    for (unsigned i = 1; i < LINK_ROUNDS; i++)
        if (comm->seen.rounds[i].longest < min->longest) min = &comm->seen.rounds[i];
    if (longest >= min->longest) *min = (link_round){longest, (double)bytes, clock_now() - start};
}

void ti_link_hear(tithe_comm *comm, double latency)
{
    if (!(latency > 0)) return;
    comm->seen.latency[comm->seen.heard++ % LINK_LATENCIES] = latency;
    comm->seen.unheard = 0;
}

/* The least of the last few. */
static double least_latency(const link_seen *seen, unsigned last)
{
    double least = INFINITY;
    for (unsigned i = 1; i <= last && i <= seen->heard; i++)
        least = fmin(least, seen->latency[(seen->heard - i) % LINK_LATENCIES]);
    return least;
}

/* And what messages usually take more; 0 of both: this process has no say in it, or has none any more. */
static double latency_of(link_seen *seen, unsigned ranks, double *noise)
{
    if (seen->unheard++ > LINK_LATENCIES * ranks) seen->heard = 0;
    double all[LINK_LATENCIES];
    const size_t count = seen->heard < LINK_LATENCIES ? seen->heard : LINK_LATENCIES;
    const double least = least_latency(seen, LINK_LATENCIES), newest = least_latency(seen, LINK_WINDOW);
    *noise = 0;
    if (!count) return 0;
    if (seen->heard >= LINK_WINDOW && newest > 2 * least + LEAP)
        return newest; /* another link, whose noise is not known */
    memcpy(all, seen->latency, count * sizeof *all);
    *noise = median(all, count) - least;
    return least;
}

/* ---- what it says ----------------------------------------------------------------------------------------- */

/* The value below which this share of all lies; without interpolation. */
static double quantile(double *values, size_t count, double share)
{
    sort_ascending(values, count);
    return values[(size_t)(share * (double)(count - 1))];
}

static double moving(const link_sample *p, const tithe_link_estimate *link)
{
    return p->seconds - p->hops * link->now.latency;
}

/* Seconds beside its latency that a message must take for its bytes to show. */
static double threshold(const link_sample *p, const tithe_link_estimate *link)
{
    return fmax(fmax(p->hops * link->now.latency / 2, 2 * link->noise), NOISE);
}

static bool tells(const link_sample *p, const tithe_link_estimate *link)
{
    return p->bytes > 0 && moving(p, link) > threshold(p, link);
}

static double longest_of(const link_sample *points, size_t all)
{
    double longest = 0;
    for (size_t i = 0; i < all; i++) longest = fmax(longest, points[i].bytes);
    return longest;
}

/* Not more than this share of the messages went slower; NAN: the one that stands there was too short to tell. One that was
 * held up looks like a telling one, so it is not for a single message to say that it tells. */
static double fit(const tithe_link_estimate *link, const link_sample *points, size_t all, double share)
{
    double ratios[MAX_POINTS], slopes[MAX_POINTS * MAX_POINTS / 2];
    const double longest = longest_of(points, all);
    size_t count = 0, telling = 0, pairs = 0;
    for (size_t i = 0; i < all; i++) {
        const link_sample *a = &points[i];
        if (a->bytes > 0 && 2 * a->bytes >= longest) {
            ratios[count++] = moving(a, link) > 0 ? a->bytes / moving(a, link) : INFINITY;
            telling += tells(a, link);
        }
        for (size_t j = 0; j < all && tells(a, link); j++) {
            const link_sample *b = &points[j];
            const double longer = moving(b, link) - moving(a, link);
            if (b->group != a->group || b->bytes < 2 * a->bytes || !tells(b, link)) continue;
            slopes[pairs++] = longer > 0 ? (b->bytes - a->bytes) / longer : INFINITY;
        }
    }
    if (telling <= (size_t)(share * (double)(count > 0 ? count - 1 : 0))) return NAN;
    const double slope = pairs && 2 * pairs >= count ? quantile(slopes, pairs, share) : NAN;
    return isfinite(slope) ? slope : quantile(ratios, count, share);
}

static double fit_rounds(const tithe_link_estimate *link, const link_sample *rounds, size_t all)
{
    return fit(link, rounds, all, 0.5);
}

static double fit_pings(const tithe_link_estimate *link)
{
    return fit(link, link->pings, LINK_PINGS, 0.25);
}

/* What the rounds show that do not tell: slower than that, and half of the longest ones would have. */
static double least_bandwidth(const tithe_link_estimate *link)
{
    double least[MAX_POINTS];
    const double longest = longest_of(link->rounds, MAX_POINTS);
    size_t count = 0;
    for (size_t i = 0; i < MAX_POINTS; i++) {
        const link_sample *p = &link->rounds[i];
        if (p->bytes > 0 && 2 * p->bytes >= longest)
            least[count++] = p->bytes / fmax(moving(p, link), threshold(p, link));
    }
    return count ? quantile(least, count, 0.5) : 0;
}

/* Where rounds do not tell: what probes say, or else what was known; but a link is not slower than its rounds show. */
static double fit_besides(const tithe_link_estimate *link)
{
    const double pings = fit_pings(link), known = isnan(pings) ? link->now.bandwidth : pings;
    return isnan(known) ? NAN : fmax(known, least_bandwidth(link));
}

void ti_link_learn(tithe_link_estimate *link, double latency, const link_sample *rounds, link_sample ping)
{
    if (latency > 0) link->now.latency = latency;
    for (unsigned i = 0; i < LINK_ROUNDS; i++)
        link->rounds[link->reports % LINK_WINDOW * LINK_ROUNDS + i] = rounds[i];
    link->reports++;
    link->newest = fit_rounds(link, rounds, LINK_ROUNDS);
    if (ping.bytes > 0) link->pings[link->answered++ % LINK_PINGS] = ping;
    if (isnan(link->now.latency)) return;
    if (ping.bytes > 0 && isnan(fit_pings(link)) && link->ping_length < COMM_BLOCK) link->ping_length *= 2;
    double bandwidth = fit_rounds(link, link->rounds, MAX_POINTS);
    if (isnan(bandwidth))
        bandwidth = fit_besides(link);
    else
        memset(link->pings, 0, sizeof link->pings); /* of another time, once rounds do not tell */
    if (!isnan(bandwidth)) link->now.bandwidth = bandwidth;
}

/* ---- an update -------------------------------------------------------------------------------------------- */

tithe_link_estimate ti_link_start(void)
{
    return (tithe_link_estimate){
        .now = {.latency = NAN, .bandwidth = NAN}, .newest = NAN, .ping_length = FIRST_PING};
}

tithe_status tithe_link_estimate_create(tithe_link_estimate **estimate, tithe_error *error)
{
    tithe_link_estimate *made = malloc(sizeof *made);
    if (!made) return ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory to watch the link.");
    *made = ti_link_start();
    *estimate = made;
    return TITHE_OK;
}

void tithe_link_estimate_free(tithe_link_estimate *estimate)
{
    free(estimate);
}

void tithe_link_now(const tithe_link_estimate *estimate, tithe_link *link)
{
    *link = estimate->now;
}

double tithe_link_probe_bytes(const tithe_link_estimate *estimate)
{
    return estimate->probe_bytes + estimate->look_bytes;
}

static void write_report(const link_seen *seen, double *report)
{
    for (unsigned i = 0; i < LINK_ROUNDS; i++) {
        report[2 * i] = seen->rounds[i].bytes;
        report[2 * i + 1] = seen->rounds[i].seconds;
    }
    report[REPORT - 2] = seen->ping_bytes;
    report[REPORT - 1] = seen->ping_seconds;
}

/* True: the rounds were enough, so that no probe is needed. */
static bool read_report(tithe_link_estimate *link, unsigned size, const double *report, double latency)
{
    link_sample rounds[LINK_ROUNDS];
    for (unsigned i = 0; i < LINK_ROUNDS; i++)
        rounds[i] = (link_sample){report[2 * i] / size, report[2 * i + 1] / size, 1, link->reports};
    ti_link_learn(link, latency, rounds,
                  (link_sample){report[REPORT - 2], report[REPORT - 1], 2, link->answered / 2});
    return !isnan(link->newest);
}

/* Long ones are more exact, so one is as long as a quarter of the room that there is, within limits; and every other one
 * is twice as long, for a slope. */
static uint64_t next_length(const tithe_link_estimate *link, double room)
{
    uint64_t length = link->ping_length;
    while (length < COMM_BLOCK && 8 * (double)length <= room) length *= 2;
    return length << (link->pinged % 2);
}

/* The ranks take turns, with rank 0 or with a server that has none. */
static tithe_status probe(tithe_comm *comm, tithe_link_estimate *link, uint64_t length, tithe_error *error)
{
    const bool served = ti_comm_has_own_server(comm);
    const unsigned rank = served ? link->pinged / 2 % comm->size : 1 + link->pinged / 2 % (comm->size - 1);
    double seconds = 0;
    const tithe_status status = ti_comm_ping(comm, rank, length, &seconds, error);
    link->pinged++;
    link->probe_bytes += (double)length;
    if (seconds > 0) {
        comm->seen.ping_bytes = (double)length;
        comm->seen.ping_seconds = seconds;
    }
    return status;
}

/* By all processes: to a sum of so many numbers and back; a server says two more to each rank. */
static double bytes_of_meeting(const tithe_comm *comm, size_t count)
{
    const bool apart = ti_comm_has_own_server(comm);
    tithe_rounds rounds;
    tithe_rounds_start(&rounds);
    ti_comm_fold_rounds(comm->size, apart, count, &rounds);
    return tithe_rounds_sent(&rounds) + (apart ? 2.0 * sizeof(double) * comm->size : 0);
}

tithe_status ti_link_meet(tithe_comm *comm, tithe_link_estimate *link, double *values, size_t n, bool last,
                          tithe_error *error)
{
    if (!comm->transport || comm->local == comm->size) return TITHE_OK;
    double all[MEETING] = {0};
    const bool reports = link->reports_next;
    size_t count = 0;
    for (; count < n && n <= LINK_VALUES; count++) all[count] = values[count];
    double *sent = &all[count++], *report = &all[count];
    *sent = (double)comm->sent_bytes;
    if (reports) {
        write_report(&comm->seen, report);
        count += REPORT;
        comm->seen.ping_bytes = comm->seen.ping_seconds = 0;
    }
    double *noise = &all[count++];
    double *latency = &all[count++]; /* the last one: of all processes the most */
    *latency = latency_of(&comm->seen, comm->size, noise);
    for (unsigned i = 0; i < LINK_ROUNDS; i++) comm->seen.rounds[i] = (link_round){0};
    tithe_status status = ti_comm_fold(comm, COMM_ASK, all, count, error);
    if (status) return status;
    for (size_t i = 0; i < n; i++) values[i] = all[i];

    if (*latency > 0) link->now.latency = *latency;
    link->noise =
        *noise / (ti_comm_has_own_server(comm) ? comm->size : 1); /* of a chain its first rank knows it */
    bool told = true;
    link->newest = NAN;
    const size_t others = reports ? count - REPORT : count;
    link->met_bytes = bytes_of_meeting(comm, others);
    const double cost = bytes_of_meeting(comm, others + REPORT) - link->met_bytes;
    if (reports) {
        link->probe_bytes += cost;
        told = read_report(link, comm->size, report, *latency);
    }
    const double room = BUDGET * (*sent + comm->seen.server_sent) - link->probe_bytes - cost;
    link->reports_next = room >= 0;
    const uint64_t length = next_length(link, room);
    if (!told && !last && !isnan(link->now.latency) && link->pinged == link->answered &&
        room >= (double)length)
        status = probe(comm, link, length, error);
    return status;
}

double ti_link_meet_seconds(const tithe_comm *comm, const tithe_link *link)
{
    const double hops = ti_comm_has_own_server(comm) ? 2 : comm->size;
    return hops * (link->latency + MEETING * sizeof(double) / link->bandwidth);
}

tithe_status tithe_link_update(tithe_comm *comm, tithe_link_estimate *link, tithe_error *error)
{
    return ti_link_meet(comm, link, NULL, 0, false, error);
}
