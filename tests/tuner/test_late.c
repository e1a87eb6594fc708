/* test_late.c - the level where what is not sent is late and not lost: against a full scan; and what a rank remembers, against the
 * formulas of late.h in long double. */
#include "tuner/late.h"

#include "tuner/scan.h"

static const char *const codecs[] = {
    "topk|raw",      "topk|sign",      "topk|natural",      "topk|dither:s=3,bucket=16",
    "threshold|raw", "threshold|sign", "threshold|natural", "mstopk|raw"};
static const char *const costs[] = {"bits",
                                    "affine:c0=432",
                                    "affine:c0=0,c1=2",
                                    "packet:c0=64,c1=576,payload=512",
                                    "packet:c0=0,c1=40,payload=20",
                                    "alphabeta:latency=1ms,bandwidth=10Mbit"};
enum { CODECS = sizeof codecs / sizeof *codecs, COSTS = sizeof costs / sizeof *costs };

static size_t cases, smaller;

/* What a rank may say of a step. */
typedef struct waiting {
    double lost, pace, before;
} waiting;

static void set(asked *a, waiting w)
{
    a->call.lost = w.lost;
    a->call.pace = w.pace;
    a->call.before = w.before;
}

/* r kept(T) - R cost(T) over all T that are allowed, by a scan of all of them. */
static void expect_late(asked *a, const float *x, size_t n, waiting w)
{
    set(a, (waiting){0});
    const tithe_choice cat = ask(a, x, n);
    set(a, w);
    const tithe_choice late = ask(a, x, n);
    scan s = scan_open(x, n);
    if (s.nonzero == 0) {
        assert_string_equal(late.reason, "nothing to send");
        scan_close(&s);
        return;
    }
    const bool threshold = strncmp(a->spec, "threshold", 9) == 0;
    const long double rate = (long double)cat.progress / (long double)cat.cost;
    const long double within = 1e-11L * rate * (long double)cat.cost;
    const double limit =
        w.before > 0 ? fmin(cat.entries, fmax(w.before + 1, floor(1.2 * w.before))) : cat.entries;
    const double low = w.before > 0 ? fmin(limit, fmax(1, floor(w.before / 1.5))) : 1,
                 least = fmin(low, (double)s.nonzero);
    long double best = -INFINITY, mine = -INFINITY;
    size_t m = 0;
    for (size_t t = 1; t <= (size_t)limit; t++) {
        if (threshold && t < n && s.sorted[t] == s.sorted[t - 1]) continue;
        const long double progress = scan_progress(&s, a->spec, t, &m);
        const long double value = fmin(1, w.lost) * progress - rate * (long double)asked_cost(a, n, t);
        if ((double)t == late.entries) mine = value;
        if ((double)t < least || (progress < w.pace * (1 + 1e-12L) && (double)t < limit)) continue;
        if (value > best) best = value;
    }
    if (best == -INFINITY) { /* magnitudes that are equal leave no level in between: CAT's */
        assert_true(threshold && late.entries == cat.entries);
        scan_close(&s);
        return;
    }
    expect(late.entries >= least && late.entries <= limit, "%s: %g entries, from %g to %g are allowed",
           a->spec, late.entries, least, limit);
    expect(mine >= best - within,
           "%s over %s, n = %zu, lost %g: %g entries are worth %.17Lg, the best %.17Lg", a->spec,
           tithe_cost_spec(a->cost), n, w.lost, late.entries, mine, best);
    expect(late.progress >= w.pace * (1 - 1e-9) || late.entries == limit, "%s: progress %g, but %g is needed",
           a->spec, late.progress, w.pace);
    expect(late.cost == asked_cost(a, n, (size_t)late.entries), "%s: the cost is another one", a->spec);
    if (late.entries < cat.entries) {
        smaller++;
        assert_string_equal(late.reason, "the rest can wait");
    }
    if (threshold) { /* lambda takes as many as it says */
        size_t count = 0;
        for (size_t i = 0; i < n; i++) count += (double)fabsf(x[i]) >= late.level * (double)a->call.gamma;
        assert_int_equal(count, (size_t)late.entries);
    }
    if (late.largest) { /* and who is told where they are finds them there */
        expect((double)late.largest_count >= late.entries, "%s: too few are handed out", a->spec);
        for (size_t i = 0; i < late.largest_count; i++)
            assert_true(fabsf(x[late.largest[i]]) >= s.sorted[(size_t)late.entries - 1]);
    }
    scan_close(&s);
    cases++;
}

static void scan_all(size_t n_min, size_t n_max, int trials, uint64_t seed)
{
    dice d = {seed};
    float *x = malloc(n_max * sizeof *x);
    assert_non_null(x);
    for (size_t c = 0; c < CODECS; c++)
        for (size_t k = 0; k < COSTS; k++) {
            asked a = ask_open(codecs[c], costs[k], k % 3 == 2, n_max);
            for (int trial = 0; trial < trials; trial++) {
                const size_t n = n_min + roll_below(&d, n_max - n_min + 1);
                fill_tuned((tuned_input)((size_t)trial % IN_KINDS), x, n, &d);
                waiting w = {.lost = exp(-6 * roll_unit(&d))};
                if (trial % 2) w.before = ceil((double)n * exp(-8 * roll_unit(&d)));
                if (trial % 3) w.pace = exp(-8 * roll_unit(&d));
                expect_late(&a, x, n, w);
            }
            ask_close(&a);
        }
    free(x);
}

static void as_a_scan_says(void **state)
{
    (void)state;
    scan_all(1, 12, 22, 1);
    scan_all(1, 300, 44, 2);
    scan_all(4000, 9000, 11, 3);
    scan_all(20000, 40000, 4, 4); /* a sample looks ahead there */
    print_message("%zu cases, fewer entries in %zu\n", cases, smaller);
    assert_true(smaller > cases / 4);
}

/* Nobody knows, or all would be lost: CAT. And the less is lost, the fewer go. */
static void from_cat_downwards(void **state)
{
    (void)state;
    static const double lost[] = {0, 1, 2, 0.7, 0.4, 0.2, 0.1, 0.03, 0.01, 1e-4};
    dice d = {5};
    float x[2000];
    for (size_t c = 0; c < CODECS; c++) {
        asked a = ask_open(codecs[c], "affine:c0=432", false, 2000);
        for (int trial = 0; trial < 20; trial++) {
            double before = INFINITY;
            fill_tuned(IN_HEAVY, x, 2000, &d);
            for (size_t l = 0; l < sizeof lost / sizeof *lost; l++) {
                set(&a, (waiting){.lost = lost[l]});
                const double entries = ask(&a, x, 2000).entries;
                if (l == 0) before = entries;
                expect(l < 3 ? entries == before : entries <= before, "%s: %g entries, %g before", codecs[c],
                       entries, before);
                before = entries;
            }
        }
        ask_close(&a);
    }
}

static void a_shared_level_waits_too(void **state)
{
    (void)state;
    dice d = {6};
    for (int trial = 0; trial < 2000; trial++) {
        enum { MAX = 60 };
        const size_t count = 1 + roll_below(&d, MAX);
        double curve[MAX], cost[MAX], sum = 0, paid = 1 + 10 * roll_unit(&d);
        for (size_t i = 0; i < count; i++) {
            curve[i] = sum += exp(3 * roll_gauss(&d));
            cost[i] = paid += 0.01 + roll_unit(&d);
        }
        const double lost = 0.01 + 0.98 * roll_unit(&d);
        double levels[MAX];
        for (size_t i = 0; i < count; i++) levels[i] = (double)(i + 1);
        const size_t best = tithe_tuner_best(curve, cost, count);
        const double before = trial % 2 ? 1 + (double)roll_below(&d, MAX) : 0,
                     least = trial % 3 ? curve[best] * roll_unit(&d) : 0;
        const size_t late = tithe_tuner_best_late(levels, curve, cost, best, lost, least, before);
        assert_true(late <= best);
        assert_true(tithe_tuner_best_late(levels, curve, cost, best, 1, 0, 0) == best);
        assert_true(tithe_tuner_best_late(levels, curve, cost, best, 0, least, before) == best);
        const double limit =
            before > 0 ? fmin(levels[best], fmax(before + 1, floor(1.2 * before))) : levels[best];
        const double low = before > 0 ? fmin(limit, fmax(1, floor(before / 1.5))) : 1;
        assert_true(levels[late] >= low && levels[late] <= limit);
        assert_true(curve[late] >= least || levels[late] == limit);
        const double rate = curve[best] / cost[best], mine = lost * curve[late] - rate * cost[late];
        for (size_t i = 0; i <= best; i++)
            if (levels[i] >= low && levels[i] <= limit && curve[i] >= least)
                assert_true(mine >= lost * curve[i] - rate * cost[i] - 1e-12 * curve[best]);
    }
}

/* ---- what a rank remembers --------------------------------------------------------------------------------- */

enum { N = 37, STEPS = 12 };

static long double dot(const float *a, const float *b)
{
    long double sum = 0;
    for (size_t i = 0; i < N; i++) sum += (long double)a[i] * (long double)b[i];
    return sum;
}

static void fill(float *x, dice *d, double size)
{
    for (size_t i = 0; i < N; i++) x[i] = (float)(size * roll_gauss(d));
}

/* One rank among others: gradients that change a little, an update that is partly its own message. */
static void as_the_formulas_say(void **state)
{
    (void)state;
    unsigned waited = 0, apart = 0;
    for (unsigned seed = 1; seed <= 60; seed++) {
        dice d = {seed};
        late_memory m;
        long double gained = 0, expected = 0, waits = 1;
        float g[N], before[N], e[N], x[N], update[N];
        const float step_size = (float)exp(2 * roll_gauss(&d));
        const double gamma = (double)step_size, smooth = exp(-5 * roll_unit(&d));
        assert_true(ti_late_open(&m, N));
        fill(g, &d, 1);
        for (unsigned t = 0; t < STEPS; t++) {
            memcpy(before, g, sizeof g);
            for (size_t i = 0; i < N && t; i++)
                g[i] -= (float)(smooth / gamma) * update[i] + (float)(0.01 * roll_gauss(&d));
            for (size_t i = 0; i < N; i++) e[i] = 3 * step_size * g[i] * (float)roll_unit(&d);
            for (size_t i = 0; i < N; i++) x[i] = e[i] + step_size * g[i];
            const size_t cut = t % 2 ? 32 * roll_below(&d, N / 32 + 1) : 0; /* in one part, or in two */
            assert_true(ti_late_look(&m, g, 0, cut ? cut : N));
            if (cut) assert_true(ti_late_look(&m, g, cut, N - cut));
            ti_late_judge(&m, gamma, (double)dot(x, x));
            long double r = 1, pace = 0;
            if (t) { /* means of which each step is a fifth, the first all */
                gained += (t > 1 ? 0.2L : 1) * (dot(before, update) - gained);
                expected += (t > 1 ? 0.2L : 1) * ((1 - waits) * gamma * dot(before, before) - expected);
                const long double a = fminl(1, fmaxl(1e-9L, gained / expected));
                long double rho = gamma * (dot(before, update) - dot(g, update)) / dot(update, update);
                rho = fminl(1, fmaxl(1e-6L, rho)) / powl(a, 0.25L);
                r = fminl(1, rho * sqrtl(dot(x, x)) / (gamma * sqrtl(dot(g, g))));
                pace = 1.5L * rho;
                apart += a < 1;
            }
            expect(fabsl(m.lost - r) <= 1e-6L * r, "seed %u, step %u: %.17g instead of %.17Lg", seed, t,
                   m.lost, r);
            expect(fabsl(m.pace - pace) <= 1e-6L * pace, "seed %u, step %u: pace %.17g", seed, t, m.pace);
            assert_true(m.before == (t ? 10.0 + t : 0));
            waited += r < 1;
            for (size_t i = 0; i < N; i++)
                update[i] = (float)(gamma * (0.3 * roll_gauss(&d) + smooth * (double)g[i]));
            m.kept = t == 5 ? 1.25 : roll_unit(&d); /* by rounding it may be a little more than all */
            waits *= 1 - fmin(1, m.kept);
            ti_late_learn(&m, update, 11 + t, N);
        }
        ti_late_close(&m);
    }
    assert_true(waited > 100 && apart > 100);
}

static void look(late_memory *m, const float *g, const float *e, float gamma)
{
    float x[N];
    for (size_t i = 0; i < N; i++) x[i] = e[i] + gamma * g[i];
    assert_true(ti_late_look(m, g, 0, N));
    ti_late_judge(m, (double)gamma, (double)dot(x, x));
}

/* A loss that is 8 times as steep, with an eighth of the step: nothing else changes, to the bit. */
static void a_scale_changes_nothing(void **state)
{
    (void)state;
    dice d = {9};
    float g[N], e[N], update[N];
    late_memory one, other;
    assert_true(ti_late_open(&one, N) && ti_late_open(&other, N));
    fill(g, &d, 1);
    for (unsigned t = 0; t < STEPS; t++) {
        for (size_t i = 0; i < N; i++) g[i] = g[i] / (t ? 8 : 1) * 0.9f;
        for (size_t i = 0; i < N; i++) e[i] = 0.05f * (update[i] = 0.1f * g[i]);
        look(&one, g, e, 0.1f);
        ti_late_learn(&one, update, 5, N);
        for (size_t i = 0; i < N; i++) g[i] *= 8;
        look(&other, g, e, 0.1f / 8);
        ti_late_learn(&other, update, 5, N);
        assert_true(one.lost == other.lost && one.pace == other.pace);
        assert_true(t == 0 || (one.lost < 1 && one.pace > 0));
    }
    ti_late_forget(&one);
    look(&one, g, e, 0.1f);
    assert_true(one.lost == 1 && one.pace == 0 && one.before == 0);
    ti_late_close(&one);
    ti_late_close(&other);
}

/* No step, no gradient, or numbers that are none: CAT. */
static void what_is_not_known_is_lost(void **state)
{
    (void)state;
    float g[N] = {0}, x[N] = {1}, update[N] = {0}; /* x: nothing but what was kept */
    late_memory m;
    assert_true(ti_late_open(&m, N));
    look(&m, g, x, 1);
    ti_late_learn(&m, update, 1, N);
    g[0] = 1;
    look(&m, g, x, 1); /* the model stood still */
    assert_true(m.lost == 1 && m.before == 0);
    update[0] = 1;
    ti_late_learn(&m, update, 1, N);
    g[0] = 0;
    look(&m, g, x, 1); /* nothing is left to gain */
    assert_true(m.lost == 1 && m.before == 0);
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < 3 * N; i++) {
        g[i % N] = bad[i / N];
        assert_false(ti_late_look(&m, g, 0, N));
        g[i % N] = 3.4e38f;
        assert_true(ti_late_look(&m, g, 0, N)); /* as large as it gets */
        g[i % N] = 0;
    }
    ti_late_close(&m);
}

/* An update of few numbers is kept without its zeros, and nothing else changes, to the bit: against a memory that writes all of it down after every
 * step, as a checkpoint does. Around the number from which on it is kept whole, too. */
static void zeros_need_not_be_kept(void **state)
{
    (void)state;
    enum { LONG = 4000, PART = 1600 };
    static float g[LONG], update[LONG];
    unsigned full = 0, few = 0;
    for (unsigned seed = 1; seed <= 20; seed++) {
        dice d = {seed};
        late_memory one, other;
        assert_true(ti_late_open(&one, LONG) && ti_late_open(&other, LONG));
        for (unsigned t = 0; t < STEPS; t++) {
            for (size_t i = 0; i < LONG; i++) g[i] = (float)roll_gauss(&d);
            for (int m = 0; m < 2; m++) {
                late_memory *memory = m ? &other : &one;
                for (size_t first = 0; first < LONG; first += PART)
                    assert_true(ti_late_look(memory, g, first, LONG - first < PART ? LONG - first : PART));
                ti_late_judge(memory, 0.5, 7);
            }
            assert_true(one.along == other.along && one.squares == other.squares && one.lost == other.lost);
            const uint32_t rare = (uint32_t[]){1, 14, 16, 18, 300}[roll_below(&d, 5)];
            for (size_t i = 0; i < LONG; i++)
                update[i] = roll_below(&d, rare) ? i % 2 ? 0 : -0.0f : (float)roll_gauss(&d);
            ti_late_learn(&one, update, 1 + t, LONG);
            ti_late_learn(&other, update, 1 + t, LONG);
            assert_memory_equal(one.numbers, other.numbers, sizeof one.numbers);
            full += one.full;
            few += !one.full;
            const float *whole = ti_late_update(&other, LONG);
            for (size_t i = 0; i < LONG; i++) assert_true(whole[i] == update[i]);
        }
        ti_late_close(&one);
        ti_late_close(&other);
    }
    assert_true(full > 20 && few > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_a_scan_says),           cmocka_unit_test(from_cat_downwards),
        cmocka_unit_test(a_shared_level_waits_too), cmocka_unit_test(as_the_formulas_say),
        cmocka_unit_test(a_scale_changes_nothing),  cmocka_unit_test(what_is_not_known_is_lost),
        cmocka_unit_test(zeros_need_not_be_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
