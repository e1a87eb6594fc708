/* controller.c - what `tuner=auto` itself takes: steps of an exchange that it steers, and of one that is told its setting, in turns.
 *
 *     build/tests/bench_controller [N [RANKS [STEPS [BANDWIDTH]]]]      numbers, ranks, steps, and bytes/s of a link of 1 ms
 *
 * All ranks live in one process, so that a step is nothing but its work. One line for each N, of one rank: seconds of a step without the controller,
 * and with a gradient that takes 10 ns for each number; what the controller adds (to the median), and with its check-ins, which come now
 * and then (to the mean), both as medians of ten pairs with the least and the most; and as shares of the step with its gradient. A network makes steps longer, and shares smaller. Without N: 10^4, 10^6, 10^7. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tithe/tithe.h"

static const double GAMMA = 0.1, GRADIENT = 1e-8;
enum { BEFORE = 20, PAIRS = 10 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void must(tithe_status status, const tithe_error *error)
{
    if (!status) return;
    fprintf(stderr, "controller: %s\n", error->text);
    exit(2);
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *all, unsigned count)
{
    qsort(all, count, sizeof *all, by_size);
    return all[count / 2];
}

/* Few are large. */
static void fill(float *g, size_t n, unsigned ranks)
{
    uint64_t state = 1;
    for (size_t i = 0; i < n * ranks; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        const float u = (float)(state >> 40) * 0x1p-23f - 1;
        g[i] = u * u * u * u * u;
    }
}

static double step(tithe_exchange *ex, unsigned ranks, const float *g, size_t n, float *update)
{
    tithe_error error = {0};
    const double start = now();
    for (unsigned r = 0; r < ranks; r++) must(tithe_exchange_put(ex, r, 0, g + r * n, GAMMA, &error), &error);
    must(tithe_exchange_finish(ex, update, &error), &error);
    return now() - start;
}

/* What the other one would be with the setting that it has now, and as old: what is kept grows, and takes longer to select from. */
static tithe_exchange *like(const tithe_exchange *led, unsigned age, tithe_comm *comm, unsigned ranks,
                            const float *g, size_t n, float *update, tithe_steering *as)
{
    tithe_error error = {0};
    tithe_exchange *fixed;
    tithe_exchange_steering(led, as);
    must(tithe_exchange_open(comm, as->options, n, &fixed, &error), &error);
    for (unsigned k = 0; k < age; k++) step(fixed, ranks, g, n, update);
    return fixed;
}

typedef struct pair {
    tithe_comm *comm;
    tithe_exchange *led, *fixed;
    tithe_steering as; /* what the second one is told to be */
    unsigned changes;
} pair;

static tithe_exchange *lead(tithe_comm *comm, size_t n, double bandwidth)
{
    tithe_error error = {0};
    tithe_exchange *led;
    const tithe_link link = {.latency = 1e-3, .bandwidth = bandwidth};
    must(tithe_exchange_open(comm, "tuner=auto", n, &led, &error), &error);
    must(tithe_exchange_tell_link(led, &link, 1e-8 * (double)n, &error), &error);
    return led;
}

/* Where vectors lie in memory makes more of a difference than the controller does, so in every other pair the other one is made first. */
static void start(pair *p, bool fixed_first, unsigned ranks, const float *g, size_t n, float *update,
                  double bandwidth)
{
    tithe_error error = {0};
    must(tithe_comm_local(ranks, &p->comm, &error), &error);
    tithe_exchange *scout = lead(p->comm, n, bandwidth);
    for (unsigned k = 0; k < BEFORE; k++) step(scout, ranks, g, n, update);
    if (fixed_first) p->fixed = like(scout, BEFORE, p->comm, ranks, g, n, update, &p->as);
    p->led = lead(p->comm, n, bandwidth);
    for (unsigned k = 0; k < BEFORE; k++) step(p->led, ranks, g, n, update);
    if (!fixed_first) p->fixed = like(p->led, BEFORE, p->comm, ranks, g, n, update, &p->as);
    tithe_exchange_steering(p->led, &p->as);
    tithe_exchange_free(scout);
}

static void end(pair *p)
{
    tithe_exchange_free(p->led);
    tithe_exchange_free(p->fixed);
    tithe_comm_free(p->comm);
}

static void follow(pair *p, unsigned age, unsigned ranks, const float *g, size_t n, float *update)
{
    tithe_steering here = {.size = sizeof here};
    tithe_exchange_steering(p->led, &here);
    if (here.changes == p->as.changes) return;
    tithe_exchange_free(p->fixed);
    p->fixed = like(p->led, age, p->comm, ranks, g, n, update, &p->as);
    p->changes++;
}

static void measure(size_t n, unsigned ranks, unsigned steps, double bandwidth)
{
    float *g = malloc(n * ranks * sizeof *g), *update = malloc(n * sizeof *update);
    double *with = malloc(steps * sizeof *with), *without = malloc(steps * sizeof *without);
    double each[PAIRS], all[PAIRS], one[PAIRS];
    unsigned changes = 0;
    if (!g || !update || !with || !without) exit(2);
    fill(g, n, ranks);
    for (unsigned i = 0; i < PAIRS; i++) {
        pair p = {.as = {.size = sizeof p.as}};
        double sum = 0;
        start(&p, i % 2, ranks, g, n, update, bandwidth);
        for (unsigned k = 0; k < steps; k++) {
            follow(&p, BEFORE + k, ranks, g, n, update);
            double took = k % 2 ? step(p.led, ranks, g, n, update) : 0;
            without[k] = step(p.fixed, ranks, g, n, update);
            if (k % 2 == 0) took = step(p.led, ranks, g, n, update);
            with[k] = took;
            sum += took - without[k];
        }
        one[i] = median(without, steps) / ranks;
        each[i] = median(with, steps) / ranks - one[i];
        all[i] = sum / steps / ranks;
        changes = p.changes;
        end(&p);
    }
    const double quiet = median(each, PAIRS), looks = median(all, PAIRS), alone = median(one, PAIRS),
                 whole = alone + GRADIENT * (double)n;
    printf("%zu numbers: a rank's step %.4g ms, with a gradient %.4g ms; the controller %.3g us (%.2g to "
           "%.2g), with check-ins "
           "%.3g us (%.2g to %.2g): %.2f %% and %.2f %%; %u changes\n",
           n, 1e3 * alone, 1e3 * whole, 1e6 * quiet, 1e6 * each[0], 1e6 * each[PAIRS - 1], 1e6 * looks,
           1e6 * all[0], 1e6 * all[PAIRS - 1], 100 * quiet / whole, 100 * looks / whole, changes);
    free(g);
    free(update);
    free(with);
    free(without);
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = {10000, 1000000, 10000000};
    const size_t n = argc > 1 ? (size_t)strtoull(argv[1], NULL, 10) : 0;
    const unsigned ranks = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 2,
                   steps = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 201;
    const double bandwidth = argc > 4 ? strtod(argv[4], NULL) : 1.25e6;
    for (size_t i = 0; i < (n ? 1 : sizeof sizes / sizeof *sizes); i++)
        measure(n ? n : sizes[i], ranks, steps, bandwidth);
    return 0;
}
