/* test_observe.c - what ranks see of their gradients before they choose: against sums in doubles, whole and in pieces, of all numbers and of
 * samples, where each rank keeps what it did not send and where a server does. */
#include "exchange/control.h"
#include "exchange/group.h"

enum { RANKS = 3 };
static const double GAMMA = 0.25;

typedef struct seen {
    double spread, spread_kept, descent, behind;
    double noise; /* what a sketch of these vectors is off by, squared */
} seen;

typedef struct lookout {
    tithe_comm comm;
    tithe_exchange *ex;
    size_t n;
    float *g, *sent, *update; /* of all ranks, one after the other; the last of all together */
} lookout;

/* Few are large, as in gradients, and what is kept points partly where they do. One in `apart` is not zero. */
static lookout *lookout_start(const char *scheme, size_t n, size_t apart)
{
    lookout *l = calloc(1, sizeof *l);
    tithe_error error = {0};
    char options[80];
    assert_non_null(l);
    l->comm = ranks_here(RANKS);
    l->n = n;
    snprintf(options, sizeof options, "tuner=auto;codec=topk;scheme=%s", scheme);
    expect(!tithe_exchange_open(&l->comm, options, n, &l->ex, &error), "%s", error.text);
    const tithe_link slow = {.latency = 1e-6, .bandwidth = 1}; /* not dense */
    expect(!tithe_exchange_tell_link(l->ex, &slow, 0, &error), "%s", error.text);
    l->g = gradients_make(RANKS, n, 1);
    l->sent = gradients_make(RANKS, n, 2);
    l->update = gradients_make(1, n, 3);
    float *other = gradients_make(RANKS, n, 4);
    for (unsigned r = 0; r < RANKS; r++)
        for (size_t i = 0; i < n; i++) {
            float *g = &l->g[r * n + i];
            *g = i % apart ? 0 : *g * *g * *g;
            l->ex->workers[r].residual[i] = i % apart ? 0 : *g / 2 + other[r * n + i];
        }
    if (strcmp(scheme, "star") == 0) {
        assert_non_null(l->ex->server.residual);
        for (size_t i = 0; i < n; i++) l->ex->server.residual[i] = l->g[i] / 4;
    }
    free(other);
    return l;
}

static void lookout_end(lookout *l)
{
    tithe_exchange_free(l->ex);
    free(l->g);
    free(l->sent);
    free(l->update);
    free(l);
}

/* What a rank has to answer for: its own, and if it is the server what that keeps. */
static double kept_at(const lookout *l, unsigned rank, size_t i)
{
    const float *of_sums = l->ex->scheme->served && rank == l->comm.server ? l->ex->server.residual : NULL;
    return (double)l->ex->workers[rank].residual[i] + (of_sums ? (double)of_sums[i] : 0);
}

/* What they should see. */
static seen computed(const lookout *l)
{
    seen s = {0};
    double g2 = 0, e2 = 0;
    for (unsigned r = 0; r < RANKS; r++) {
        double v1 = 0, v2 = 0, x1 = 0, x2 = 0;
        for (size_t i = 0; i < l->n; i++) {
            const double v = (double)l->sent[r * l->n + i], x = kept_at(l, r, i) + GAMMA * v;
            v1 += fabs(v);
            v2 += v * v;
            x1 += fabs(x);
            x2 += x * x;
            s.descent += (double)l->g[r * l->n + i] * (double)l->update[i] / RANKS;
        }
        s.spread += v1 * v1 / v2 / RANKS;
        s.spread_kept += x1 * x1 / x2 / RANKS;
    }
    for (size_t i = 0; i < l->n; i++) {
        double g = 0, e = 0;
        for (unsigned r = 0; r < RANKS; r++) {
            g += (double)l->g[r * l->n + i] / RANKS;
            e += kept_at(l, r, i) / RANKS;
        }
        s.behind += g * e;
        g2 += g * g;
        e2 += e * e;
    }
    s.noise = (g2 * e2 + s.behind * s.behind) / SKETCH;
    return s;
}

/* What they do see in a step, put in pieces of so many numbers. */
static seen looked(lookout *l, uint32_t step, size_t piece)
{
    exchange_control *c = l->ex->control;
    float all[SEEN] = {0};
    c->step = step;
    c->next = step;
    ti_control_remember(l->ex, l->update);
    c->since = 1;
    for (unsigned r = 0; r < RANKS; r++) {
        c->ranks[r] = (control_rank){0};
        for (size_t i = 0; i < l->n; i += piece) {
            const size_t at = r * l->n + i;
            ti_control_observe(l->ex, r, l->g + at, l->sent + at, i, i + piece < l->n ? piece : l->n - i,
                               GAMMA);
        }
        c->ranks[r].descent = c->ranks[r].gained;
        ti_control_tell(l->ex, r);
        for (unsigned i = 0; i < SEEN; i++) all[i] += c->ranks[r].seen[i];
    }
    seen s = {.spread = (double)all[SEEN_SPREAD] / RANKS,
              .spread_kept = (double)all[SEEN_SPREAD_KEPT] / RANKS,
              .descent = (double)all[SEEN_DESCENT] / RANKS};
    for (unsigned i = 0; i < SKETCH; i++)
        s.behind +=
            (double)all[SEEN_SKETCHES + i] * (double)all[SEEN_SKETCHES + SKETCH + i] / (RANKS * RANKS);
    return s;
}

static bool near(double a, double b, double share)
{
    return fabs(a - b) <= share * (1 + fabs(b));
}

/* Spreads and descents are those of all numbers; a sketch is right on average, and off by what 32 groups let it be. */
static void check_whole(const char *scheme, size_t n, size_t apart)
{
    enum { TIMES = 2000 };
    lookout *l = lookout_start(scheme, n, apart);
    const seen right = computed(l);
    double sum = 0, off = 0;
    for (uint32_t t = 1; t <= TIMES; t++) {
        const seen s = looked(l, t, n);
        expect(near(s.spread, right.spread, 1e-4) && near(s.spread_kept, right.spread_kept, 1e-4) &&
                   near(s.descent, right.descent, 1e-4),
               "%s, %zu numbers: %g, %g, %g in place of %g, %g, %g", scheme, n, s.spread, s.spread_kept,
               s.descent, right.spread, right.spread_kept, right.descent);
        sum += s.behind - right.behind;
        off += (s.behind - right.behind) * (s.behind - right.behind);
    }
    expect(fabs(sum / TIMES) < 4 * sqrt(off / TIMES / TIMES), "%s, %zu numbers: off by %g, %g at a time",
           scheme, n, sum / TIMES, sqrt(off / TIMES));
    expect(off / TIMES < 1.3 * right.noise, "%s, %zu numbers: %g squared in place of %g", scheme, n,
           off / TIMES, right.noise);
    lookout_end(l);
}

static void short_vectors_are_seen_whole(void **state)
{
    (void)state;
    check_whole("gather", 40, 1);
    check_whole("gather", 64, 1);
    check_whole("gather", 5003, 1);
    check_whole("star", 1000, 1);
    check_whole("gather", 5003, 32); /* neighbours share no group, but these would, without a toss */
}

/* Layers and buckets begin anywhere. */
static void pieces_add_up(void **state)
{
    (void)state;
    lookout *l = lookout_start("star", 5003, 1);
    for (uint32_t step = 1; step < 20; step++) {
        const seen whole = looked(l, step, l->n);
        static const size_t pieces[] = {1, 17, 64, 1000, 5002};
        for (unsigned p = 0; p < sizeof pieces / sizeof *pieces; p++) {
            const seen s = looked(l, step, pieces[p]);
            expect(near(s.spread, whole.spread, 1e-4) && near(s.spread_kept, whole.spread_kept, 1e-4) &&
                       near(s.descent, whole.descent, 1e-3) && near(s.behind, whole.behind, 1e-3),
                   "pieces of %zu: %g and %g, %g and %g", pieces[p], s.descent, whole.descent, s.behind,
                   whole.behind);
        }
    }
    lookout_end(l);
}

/* A sample stands for all of it, on average. */
static void long_vectors_are_sampled(void **state)
{
    (void)state;
    enum { TIMES = 300 };
    lookout *l = lookout_start("gather", 200001, 1);
    const seen right = computed(l);
    seen mean = {0}, off = {0};
    for (uint32_t t = 1; t <= TIMES; t++) {
        const seen s = looked(l, t, l->n);
        mean.spread += s.spread / TIMES;
        mean.spread_kept += s.spread_kept / TIMES;
        mean.behind += s.behind / TIMES;
        mean.descent += s.descent / TIMES;
        off.behind += (s.behind - right.behind) * (s.behind - right.behind) / TIMES;
        off.descent += (s.descent - right.descent) * (s.descent - right.descent) / TIMES;
    }
    expect(near(mean.spread, right.spread, 0.02) && near(mean.spread_kept, right.spread_kept, 0.02),
           "spreads %g and %g in place of %g and %g", mean.spread, mean.spread_kept, right.spread,
           right.spread_kept);
    expect(fabs(mean.behind - right.behind) < 4 * sqrt(off.behind / TIMES), "behind %g in place of %g",
           mean.behind, right.behind);
    expect(fabs(mean.descent - right.descent) < 4 * sqrt(off.descent / TIMES), "descent %g in place of %g",
           mean.descent, right.descent);
    lookout_end(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(short_vectors_are_seen_whole),
                                       cmocka_unit_test(pieces_add_up),
                                       cmocka_unit_test(long_vectors_are_sampled)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
