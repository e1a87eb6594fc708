/* test_shards_random.c - what is drawn under owners of parts: the update is unbiased, its variance is within the two omegas, its
 * error as documented, and every part of every bucket draws for itself. Bounds are such that a sound library leaves them
 * less than once in 10^8 runs; the seed is fixed, so one that passes passes. */
#include "exchange/group.h"

enum { RANKS = 4, N = 1536, TRIALS = 4000 };

/* Without feedback the steps of one gradient are independent trials. */
typedef struct moments {
    double sum[N], squares[N]; /* of N * update - sum of the gradients */
    double total[N], sizes[N]; /* the sum of the gradients, and of their magnitudes */
    double each;               /* of |g_r|^2 */
} moments;

static moments *run_trials(const char *codec, const char *downlink)
{
    moments *m = calloc(1, sizeof *m);
    group *g = group_make(
        &(wanted){.codec = codec, .downlink = downlink, .scheme = "shards", .ranks = RANKS, .n = N});
    float *x = gradients_make(RANKS, N, 0);
    for (size_t i = 0; i < (size_t)RANKS * N; i++) {
        m->total[i % N] += (double)x[i];
        m->sizes[i % N] += fabs((double)x[i]);
        m->each += (double)x[i] * (double)x[i];
    }
    for (unsigned k = 0; k < TRIALS; k++) {
        group_put_all(g, x, 1);
        group_finish(g);
        for (size_t i = 0; i < N; i++) {
            const double off = RANKS * (double)g->update[i] - m->total[i];
            m->sum[i] += off;
            m->squares[i] += off * off;
        }
    }
    free(x);
    group_free(g);
    return m;
}

/* Each mean over its own spread is nearly normal, so that the sum of their squares is nearly a chi-square number. Where a coin
 * may fall the other way fewer than 20 times, the spread is not seen, but not more than that of 20 times either: `range` is
 * how far apart its sides are, 0 for four times the numbers. Draws that share a norm are not quite independent, and
 * spreads are off by less than a half: hence twice the limit. */
static void expect_unbiased(const moments *m, double range, const char *what)
{
    double chi = 0;
    for (size_t i = 0; i < N; i++) {
        const double mean = m->sum[i] / TRIALS, variance = m->squares[i] / TRIALS - mean * mean;
        const double sides = range > 0 ? range : 4 * m->sizes[i];
        const double ratio = mean * mean * TRIALS / (variance + 20 * sides * sides / TRIALS);
        expect(ratio <= 64, "%s: off by %g at %zu, %g sigmas", what, mean, i, sqrt(ratio));
        chi += ratio;
    }
    expect(chi <= 2 * chi_square_limit(N), "%s: chi-square %g of %d", what, chi, N);
}

static double omega_of(const char *spec, size_t n)
{
    tithe_codec *codec = codec_of(spec);
    const double omega = claims_of(codec, n).omega;
    tithe_codec_free(codec);
    return omega;
}

/* S = sum C_W(g_r), then C_M(S): E|C_M(S) - sum g|^2 <= w_M |sum g|^2 + (1 + w_M) w_W sum |g_r|^2. */
static void check_two_ways(const char *codec, const char *downlink, double range)
{
    moments *m = run_trials(codec, downlink);
    const size_t longest = N / 3; /* no part is longer */
    const double up = omega_of(codec, longest), back = omega_of(downlink ? downlink : codec, longest);
    double error = 0, whole = 0;
    for (size_t i = 0; i < N; i++) {
        error += m->squares[i] / TRIALS;
        whole += m->total[i] * m->total[i];
    }
    const double max = back * whole + (1 + back) * up * m->each;
    expect_unbiased(m, range, codec);
    expect(error <= 1.02 * max, "%s, then %s: an error of %g, where %g is claimed", codec,
           downlink ? downlink : "the same", error, max);
    free(m);
}

static void updates_are_unbiased(void **state)
{
    (void)state;
    check_two_ways("natural", NULL, 0);
    check_two_ways("natural", "all|raw", 0);
    check_two_ways("all|raw", "natural", 0);
    check_two_ways("all|dither:s=7,bucket=128", NULL, 20);
    check_two_ways("all|natdither:s=4", "natural", 20);
    check_two_ways("randk:keep=0.25", "natural", 0);
}

/* The error of natural is known to the number: (x - a)(b - x) between powers of two a and b. So its least is, too. */
static void the_error_is_that_of_its_codec(void **state)
{
    (void)state;
    moments *m = run_trials("natural", "all|raw");
    float *x = gradients_make(RANKS, N, 0);
    double error = 0, known = 0;
    for (size_t i = 0; i < N; i++) error += m->squares[i] / TRIALS;
    for (size_t i = 0; i < (size_t)RANKS * N; i++) {
        const double size = fabs((double)x[i]), low = exp2(floor(log2(size)));
        known += (size - low) * (2 * low - size);
    }
    expect(fabs(error / known - 1) <= 0.02, "%g, not %g", error, known);
    free(x);
    free(m);
}

/* ---- independence ------------------------------------------------------------------------------------------ */

enum { PART = 256, PARTS = 4, BUCKETS = 3, PIECES = PARTS * BUCKETS, STEPS = 60 };

/* All parts of all buckets hold the same numbers, 1.5, which natural makes 1 or 2 by a coin: then coins are compared. */
static void check_independence(const char *options)
{
    tithe_comm comm = ranks_here(PARTS);
    tithe_exchange *ex = NULL;
    tithe_error error = {0};
    static float x[PIECES * PART], update[PIECES * PART];
    double agree[PIECES][PIECES] = {{0}};
    expect(tithe_exchange_open(&comm, options, PIECES * PART, &ex, &error) == TITHE_OK, "%s", error.text);
    assert_int_equal(tithe_exchange_buckets(ex), BUCKETS);
    for (unsigned k = 0; k < STEPS; k++) {
        for (size_t i = 0; i < PIECES * PART; i++) x[i] = 1.5;
        for (unsigned r = 0; r < PARTS; r++) {
            if (r > 0)
                assert_int_equal(tithe_exchange_skip(ex, r, 1, &error), TITHE_OK);
            else
                assert_int_equal(tithe_exchange_put(ex, r, 0, x, 1, &error), TITHE_OK);
        }
        assert_int_equal(tithe_exchange_finish(ex, update, &error), TITHE_OK);
        for (unsigned p = 0; p < PIECES; p++)
            for (unsigned q = 0; q < p; q++)
                for (unsigned i = 0; i < PART; i++) {
                    const float a = update[p * PART + i], b = update[q * PART + i];
                    assert_true((a == 1 || a == 2) && (b == 1 || b == 2));
                    agree[p][q] += a == b;
                }
    }
    const double trials = (double)STEPS * PART;
    for (unsigned p = 0; p < PIECES; p++)
        for (unsigned q = 0; q < p; q++)
            expect(fabs(agree[p][q] - trials / 2) <= count_slack(trials, 0.5),
                   "%s: parts %u and %u agree in %g of %g draws", options, q, p, agree[p][q], trials);
    tithe_exchange_free(ex);
}

static void parts_draw_for_themselves(void **state)
{
    (void)state;
    check_independence("codec=natural;downlink=raw;scheme=shards;bucket=4096B;overlap=off");
    check_independence("codec=raw;downlink=natural;scheme=shards;bucket=4096B;overlap=off");
}

/* Nor is the owner's coin one of the ranks': 1.5 from two ranks is 2, 3 or 4, of which 3 is tossed once more. Equal coins would
 * never make 2 and 4 of it equally often. */
static void owners_draw_for_themselves(void **state)
{
    (void)state;
    group *g = group_make(&(wanted){.codec = "natural", .scheme = "shards", .ranks = 2, .n = 4 * PART});
    static float x[8 * PART];
    double count[5] = {0};
    for (size_t i = 0; i < 8 * PART; i++) x[i] = 1.5;
    for (unsigned k = 0; k < STEPS; k++) {
        group_put_all(g, x, 1);
        group_finish(g);
        for (size_t i = 0; i < 4 * PART; i++) count[(int)(2 * g->update[i])]++;
    }
    const double trials = 4.0 * STEPS * PART;
    assert_true(count[3] == 0 && count[2] + count[4] == trials);
    assert_true(fabs(count[2] - trials / 2) <= count_slack(trials, 0.5));
    group_free(g);
}

/* ---- how far the update is from the mean of the gradients -------------------------------------------------- */

enum { DRAWN = 1 << 17 };

/* |update - mean| / |mean|, after both roundings, of numbers that four ranks draw for themselves: from [-1, 1], or exp(2 N(0,1)) with a
 * sign. */
static double relative_error(const char *codec, bool bounded)
{
    group *g = group_make(&(wanted){.codec = codec, .scheme = "shards", .ranks = RANKS, .n = DRAWN});
    float *x = malloc(RANKS * (size_t)DRAWN * sizeof *x);
    double off = 0, all = 0;
    dice d = {bounded ? 5 : 6};
    assert_non_null(x);
    for (size_t i = 0; i < RANKS * (size_t)DRAWN; i++)
        x[i] = (float)(bounded ? 2 * roll_unit(&d) - 1 : (roll(&d) >> 63 ? 1 : -1) * exp(2 * roll_gauss(&d)));
    group_put_all(g, x, 1);
    group_finish(g);
    for (size_t i = 0; i < DRAWN; i++) {
        double mean = 0;
        for (unsigned r = 0; r < RANKS; r++) mean += (double)x[r * (size_t)DRAWN + i] / RANKS;
        off += pow((double)g->update[i] - mean, 2);
        all += mean * mean;
    }
    free(x);
    group_free(g);
    return sqrt(off / all);
}

/* The figures of docs/performance.md; the limits are what each is to keep. */
static void the_error_is_as_documented(void **state)
{
    (void)state;
    static const struct {
        const char *codec;
        double bounded, lognormal;
    } rows[] = {
        {"bf16", 0.005, 0.005},
        {"all|dither:s=127,p=inf,bucket=128", 0.03, 0.05},
        {"all|dither:s=127,p=inf,bucket=512", 0.03, 0.08},
        {"all|dither:s=127,bucket=128", 0.1, 0.1},
        {"all|natdither:s=7,p=inf,bucket=128", 0.45, 0.25},
        {"all|dither:s=7,p=inf,bucket=128", 0.25, 0.45},
        {"all|dither:s=7,bucket=128", 1.2, 0.55},
        {"natural", 0.45, 0.35},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const double bounded = relative_error(rows[i].codec, true);
        const double lognormal = relative_error(rows[i].codec, false);
        print_message("relative error of %s: bounded %.2g, log-normal %.2g\n", rows[i].codec, bounded,
                      lognormal);
        expect(bounded <= rows[i].bounded && lognormal <= rows[i].lognormal, "%s: %g and %g, not %g and %g",
               rows[i].codec, bounded, lognormal, rows[i].bounded, rows[i].lognormal);
    }
}

/* All of the largest may lie in one part, of whatever length: 47236 numbers in three parts need more to find 472 in one of them than
 * in the whole. */
static void crowds_fit(void **state)
{
    (void)state;
    static const size_t lengths[] = {5000, 12345, 47236, 70001, 140000};
    static const char *const specs[] = {"topk:keep=0.01", "topk:keep=0.05|natural", "topk:k=3|sign",
                                        "topk:keep=0.3"};
    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++)
        for (size_t c = 0; c < sizeof specs / sizeof *specs; c++)
            for (unsigned ranks = 2; ranks <= 7; ranks++) {
                const size_t n = lengths[l];
                tithe_comm comm = ranks_here(ranks);
                tithe_exchange *ex = NULL;
                tithe_error error = {0};
                char options[100];
                float *x = calloc(n, sizeof *x), *update = malloc(n * sizeof *update);
                for (size_t i = 0; i < n / ranks; i++) x[i] = (float)(1 + i % 97);
                snprintf(options, sizeof options, "scheme=shards;codec=%s", specs[c]);
                expect(tithe_exchange_open(&comm, options, n, &ex, &error) == TITHE_OK, "%s", error.text);
                for (unsigned r = 0; r < ranks; r++)
                    expect(tithe_exchange_put(ex, r, 0, x, 0.5, &error) == TITHE_OK, "%s", error.text);
                expect(tithe_exchange_finish(ex, update, &error) == TITHE_OK, "%s, %zu numbers, %u ranks: %s",
                       options, n, ranks, error.text);
                tithe_exchange_free(ex);
                free(x);
                free(update);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(updates_are_unbiased),       cmocka_unit_test(the_error_is_that_of_its_codec),
        cmocka_unit_test(parts_draw_for_themselves),  cmocka_unit_test(owners_draw_for_themselves),
        cmocka_unit_test(the_error_is_as_documented), cmocka_unit_test(crowds_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
