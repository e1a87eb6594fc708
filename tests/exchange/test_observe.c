/* test_observe.c - what ranks see of their gradients before they choose: against sums in doubles, whole and in pieces, of all numbers and of samples. */
#include "exchange/control.h"
#include "exchange/group.h"

enum { RANKS = 3 };
static const double GAMMA = 0.25;

typedef struct seen {
    double spread, spread_kept, descent, behind,
        noise; /* the last: what a sketch of these vectors is off by, squared */
} seen;

typedef struct lookout {
    tithe_comm comm;
    tithe_exchange *ex;
    size_t n;
    float *g, *update; /* of all ranks, one after the other; of all together */
} lookout;

/* Few are large, as in gradients, and what is kept points partly where they do. */
static lookout *lookout_start(size_t n)
{
    lookout *l = calloc(1, sizeof *l);
    tithe_error error = {0};
    assert_non_null(l);
    l->comm = ranks_here(RANKS);
    l->n = n;
    expect(!tithe_exchange_open(&l->comm, "tuner=auto;codec=topk;scheme=gather", n, &l->ex, &error), "%s",
           error.text);
    l->g = gradients_make(RANKS, n, 1);
    l->update = gradients_make(1, n, 2);
    float *other = gradients_make(RANKS, n, 3);
    for (unsigned r = 0; r < RANKS; r++)
        for (size_t i = 0; i < n; i++) {
            float *g = &l->g[r * n + i];
            *g = *g * *g * *g;
            l->ex->workers[r].residual[i] = *g / 2 + other[r * n + i];
        }
    free(other);
    return l;
}

static void lookout_end(lookout *l)
{
    tithe_exchange_free(l->ex);
    free(l->g);
    free(l->update);
    free(l);
}

/* What they should see. */
static seen computed(const lookout *l)
{
    seen s = {0};
    double g2 = 0, e2 = 0;
    for (unsigned r = 0; r < RANKS; r++) {
        double sums[4] = {0};
        for (size_t i = 0; i < l->n; i++) {
            const double g = (double)l->g[r * l->n + i],
                         x = (double)l->ex->workers[r].residual[i] + GAMMA * g;
            sums[0] += fabs(g);
            sums[1] += g * g;
            sums[2] += fabs(x);
            sums[3] += x * x;
            s.descent += g * (double)l->update[i] / RANKS;
        }
        s.spread += sums[0] * sums[0] / sums[1] / RANKS;
        s.spread_kept += sums[2] * sums[2] / sums[3] / RANKS;
    }
    for (size_t i = 0; i < l->n; i++) {
        double g = 0, e = 0;
        for (unsigned r = 0; r < RANKS; r++) {
            g += (double)l->g[r * l->n + i] / RANKS;
            e += (double)l->ex->workers[r].residual[i] / RANKS;
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
    c->step = step - 1;
    c->next = step;
    ti_control_remember(l->ex, l->update);
    c->step = step;
    c->since = 1;
    for (unsigned r = 0; r < RANKS; r++) {
        c->ranks[r] = (control_rank){0};
        for (size_t i = 0; i < l->n; i += piece) {
            const float *g = l->g + r * l->n + i;
            ti_control_observe(l->ex, r, g, g, i, i + piece < l->n ? piece : l->n - i, GAMMA);
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
    return fabs(a - b) <= share * fabs(b);
}

/* Spreads and descents are those of all numbers; a sketch is right on average, and off by what 32 groups let it be. */
static void short_vectors_are_seen_whole(void **state)
{
    (void)state;
    enum { TIMES = 2000 };
    static const size_t lengths[] = {40, 64, 1000, 5003};
    for (unsigned k = 0; k < sizeof lengths / sizeof *lengths; k++) {
        lookout *l = lookout_start(lengths[k]);
        const seen right = computed(l);
        double sum = 0, off = 0;
        for (uint32_t t = 1; t <= TIMES; t++) {
            const seen s = looked(l, t, l->n);
            expect(near(s.spread, right.spread, 1e-4) && near(s.spread_kept, right.spread_kept, 1e-4) &&
                       fabs(s.descent - right.descent) <= 1e-4 * (1 + fabs(right.descent)),
                   "%zu numbers: %g, %g, %g in place of %g, %g, %g", l->n, s.spread, s.spread_kept, s.descent,
                   right.spread, right.spread_kept, right.descent);
            sum += s.behind - right.behind;
            off += (s.behind - right.behind) * (s.behind - right.behind);
        }
        expect(fabs(sum / TIMES) < 4 * sqrt(off / TIMES / TIMES),
               "%zu numbers: off by %g on average, %g at a time", l->n, sum / TIMES, sqrt(off / TIMES));
        expect(off / TIMES < 1.3 * right.noise, "%zu numbers: %g squared in place of %g", l->n, off / TIMES,
               right.noise);
        lookout_end(l);
    }
}

/* Layers and buckets begin anywhere. */
static void pieces_add_up(void **state)
{
    (void)state;
    lookout *l = lookout_start(5003);
    for (uint32_t step = 1; step < 20; step++) {
        const seen whole = looked(l, step, l->n);
        static const size_t pieces[] = {1, 17, 64, 1000, 5002};
        for (unsigned p = 0; p < sizeof pieces / sizeof *pieces; p++) {
            const seen s = looked(l, step, pieces[p]);
            expect(near(s.spread, whole.spread, 1e-4) && near(s.spread_kept, whole.spread_kept, 1e-4) &&
                       fabs(s.descent - whole.descent) < 1e-4 * (1 + fabs(whole.descent)) &&
                       fabs(s.behind - whole.behind) < 1e-3 * (1 + fabs(whole.behind)),
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
    lookout *l = lookout_start(200001);
    const seen right = computed(l);
    double spread = 0, behind = 0, off = 0, descent = 0, descent_off = 0;
    for (uint32_t t = 1; t <= TIMES; t++) {
        const seen s = looked(l, t, l->n);
        spread += s.spread / TIMES;
        behind += s.behind / TIMES;
        off += (s.behind - right.behind) * (s.behind - right.behind) / TIMES;
        descent += s.descent / TIMES;
        descent_off += (s.descent - right.descent) * (s.descent - right.descent) / TIMES;
    }
    expect(near(spread, right.spread, 0.02), "spread %g in place of %g", spread, right.spread);
    expect(fabs(behind - right.behind) < 4 * sqrt(off / TIMES), "behind %g in place of %g", behind,
           right.behind);
    expect(fabs(descent - right.descent) < 4 * sqrt(descent_off / TIMES), "descent %g in place of %g",
           descent, right.descent);
    lookout_end(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(short_vectors_are_seen_whole),
                                       cmocka_unit_test(pieces_add_up),
                                       cmocka_unit_test(long_vectors_are_sampled)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
