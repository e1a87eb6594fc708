/* record.c - what a step was like, from its ranks and buckets. */
#include <math.h>

#include "exchange/exchange.h"

/* Of one local rank, over all buckets. */
typedef struct rank_sums {
    double entries, energy, sent, unsent;
    const char *reason;
} rank_sums;

/* <x, C(x)>^2 / (|x|^2 |C(x)|^2), since 2 <x, C(x)> = |x|^2 + |C(x)|^2 - |x - C(x)|^2. */
static double kept_of(const rank_sums *sums)
{
    const double twice = sums->energy + sums->sent - sums->unsent;
    return twice > 0 && sums->sent > 0 ? fmin(1, twice * twice / (4 * sums->energy * sums->sent)) : 0;
}

static bool sum_rank(const tithe_exchange *ex, unsigned local, rank_sums *sums)
{
    *sums = (rank_sums){.reason = ""};
    for (unsigned p = 0; p < ti_exchange_parts(ex); p++) {
        const exchange_worker *w = &ti_exchange_part(ex, p)->workers[local];
        if (!w->was_put) return false;
        sums->entries += (double)w->info.entries;
        sums->energy += w->energy;
        sums->sent += w->sent;
        sums->unsent += w->unsent;
        sums->reason = w->reason;
    }
    return true;
}

/* -1: nobody, or several. */
static int leader_of(const tithe_exchange *ex)
{
    const int leader = ti_exchange_part(ex, 0)->last.leader;
    for (unsigned p = 1; p < ti_exchange_parts(ex); p++)
        if (ti_exchange_part(ex, p)->last.leader != leader) return -1;
    return leader;
}

void ti_exchange_record(tithe_exchange *ex)
{
    const unsigned local = ex->config.comm->local;
    rank_sums sums;
    unsigned ranks = 0;
    for (unsigned i = 0; i < local; i++) ranks += sum_rank(ex, i, &sums);
    const tithe_exchange_record *part = ex->buckets ? &ti_exchange_part(ex, 0)->last : NULL;
    tithe_exchange_record r = {.size = sizeof r,
                               .step = ex->step,
                               .ranks = ranks,
                               .level_least = INFINITY,
                               .kept_least = INFINITY,
                               .speedup_least = INFINITY,
                               .scheme = part ? part->scheme : ex->scheme->name,
                               .collective = part ? part->collective : ex->collective_name,
                               .leader = leader_of(ex),
                               .reason = ""};
    for (unsigned i = 0; i < local; i++) {
        if (!sum_rank(ex, i, &sums)) continue;
        r.level += sums.entries / ranks;
        r.level_least = fmin(r.level_least, sums.entries);
        r.level_most = fmax(r.level_most, sums.entries);
        r.energy += sums.energy / ranks;
        r.unsent += sums.unsent / ranks;
        r.unsent_max = fmax(r.unsent_max, sums.unsent);
        r.reason = sums.reason;
        if (!(sums.energy > 0) || !ex->config.measure)
            continue; /* nothing to send is no measure of anything */
        const double kept = kept_of(&sums),
                     speedup = sums.entries > 0 ? kept * (double)ex->n / sums.entries : 0;
        r.measured++;
        r.kept += kept;
        r.kept_least = fmin(r.kept_least, kept);
        r.speedup += speedup;
        r.speedup_least = fmin(r.speedup_least, speedup);
    }
    r.kept /= r.measured; /* of no rank at all: 0/0 */
    r.speedup /= r.measured;
    r.residual = ex->config.feedback->scaled && ex->config.measure ? r.unsent : NAN;
    if (!ex->config.measure) r.energy = r.unsent = r.unsent_max = NAN;
    ex->last = r;
}
