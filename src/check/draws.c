/* draws.c - the identities about randomness: independent ranks and steps, fair positions, expected counts. */
#include <math.h>
#include <stdlib.h>

#include "check/identities.h"
#include "check/stats.h"

enum { MEMBERS = 16, AVERAGES = 200, AVERAGED_N = 512, COUNT_N = 777, COUNTS = 3000 };

/* One draw of a group; groups differ in everything, members of one group in one part of the call only. */
static tithe_call member_call(const check_run *run, check_part part, uint32_t group, uint32_t member)
{
    tithe_call call = ti_check_run_call(run, 0, group, TITHE_EXCHANGE);
    switch (part) {
    case CHECK_RANK: call.rank = member; break;
    case CHECK_STEP: call.step = group * MEMBERS + member; break;
    case CHECK_TENSOR: call.tensor = member; break;
    case CHECK_SEED: call.seed += member; break;
    }
    return call;
}

/* With D_m = C_m(x) - x: |sum D_m|^2 - sum |D_m|^2 is the sum of the products <D_m, D_l> of different
 * members, of mean 0 if they are independent and unbiased. Over sum |D_m|^2 it is how far 16
 * Var(mean)/Var(one) is from 1. */
tithe_status ti_check_averaging(const tithe_codec *codec, check_part part, uint64_t seed, check_output *out)
{
    static const char *const names[] = {"ranks", "steps", "tensors", "seeds"};
    static const char *const claims[] = {"mean over ranks: variance / n", "mean over steps: variance / n",
                                         "mean over tensors: variance / n", "mean over seeds: variance / n"};
    check_vectors vectors;
    check_run run;
    tithe_status status = ti_check_vectors_gaussian(codec, seed, AVERAGED_N, &vectors);
    if (status != TITHE_OK) return status;
    status = ti_check_run_open(codec, seed, &vectors, &run);
    if (status == TITHE_OK) {
        const check_vector *v = &vectors.list[0];
        check_moments products = {0}, squares = {0};
        for (uint32_t group = 0; group < AVERAGES; group++) {
            double sum[AVERAGED_N] = {0}, own = 0, together = 0;
            for (uint32_t member = 0; member < MEMBERS; member++) {
                const tithe_call call = member_call(&run, part, group, member);
                if (!ti_check_run_encode(&run, &call, v) || !ti_check_run_decode(&run, &call, v)) continue;
                for (size_t i = 0; i < AVERAGED_N; i++) {
                    const double d = run.y[i] - v->x[i];
                    sum[i] += d;
                    own += d * d;
                }
            }
            for (size_t i = 0; i < AVERAGED_N; i++) together += sum[i] * sum[i];
            ti_check_moments_add(&products, together - own);
            ti_check_moments_add(&squares, own);
        }
        const double off = fabs(products.mean) / squares.mean;
        const double half = ti_check_half_width(&products, CHECK_ALPHA / 2) / squares.mean;
        ti_check_row(out, claims[part], half, off, run.failures == 0 && off <= half,
                     "|16 Var(mean of 16 %s)/Var(one) - 1|, %d groups, n=%d, confidence 1-%g", names[part],
                     AVERAGES, AVERAGED_N, CHECK_ALPHA);
        ti_check_run_close(&run);
    }
    ti_check_vectors_free(&vectors);
    return status;
}

/* ---- fair positions ----------------------------------------------------------------------------------- */

static const size_t distances[] = {1, 2, 8, 31};
enum { DISTANCES = sizeof distances / sizeof *distances };

typedef struct tally {
    double *x;
    uint32_t *one;  /* how often each position was drawn */
    uint32_t *pair; /* how often i and i + distance were, for each distance: DISTANCES rows of n */
} tally;

static void tally_trial(tally *t, const double *y, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (y[i] == 0) continue;
        t->one[i]++;
        for (size_t j = 0; j < DISTANCES; j++)
            if (i + distances[j] < n && y[i + distances[j]] != 0) t->pair[j * n + i]++;
    }
}

static void inclusion_rows(const tally *t, size_t n, size_t k, uint32_t trials, check_output *out)
{
    /* k of n without replacement: the counts have variance T p (1-p) and covariance -T p (1-p)/(n-1), so the
     * plain chi-square sum is n/(n-1) times a chi-square with n-1 degrees of freedom. */
    const double size = (double)n, p = (double)k / size, expected = p * trials;
    double statistic = 0;
    for (size_t i = 0; i < n; i++) statistic += (t->one[i] - expected) * (t->one[i] - expected);
    statistic *= (size - 1) / (size * expected * (1 - p));
    const double critical = ti_check_chi2_quantile(size - 1, CHECK_ALPHA);
    ti_check_row(out, "each position with probability k/n", critical, statistic, statistic <= critical,
                 "chi-square of %u draws of %zu out of %zu, confidence 1-%g", trials, k, n, CHECK_ALPHA);

    /* Both i and i+distance: a binomial count with p2 = k(k-1)/(n(n-1)), as a normal with its skewness. */
    const double p2 = p * ((double)k - 1) / (size - 1), mean = p2 * trials, sigma = sqrt(mean * (1 - p2));
    double worst = 0, pairs = 0;
    for (size_t j = 0; j < DISTANCES; j++)
        for (size_t i = 0; i + distances[j] < n; i++, pairs += 1)
            worst = fmax(worst, fabs(t->pair[j * n + i] - mean) / sigma);
    const double z = ti_check_normal_quantile(CHECK_ALPHA / (2 * pairs));
    const double bound = z + (z * z - 1) / 6 * fabs(1 - 2 * p2) / sigma;
    if (mean >= 25)
        ti_check_row(
            out, "each pair with probability k(k-1)/n(n-1)", bound, worst, worst <= bound,
            "worst of %.0f pairs in standard deviations, %u draws of %zu out of %zu, confidence 1-%g", pairs,
            trials, k, n, CHECK_ALPHA);
}

tithe_status ti_check_inclusion(const tithe_codec *codec, size_t n, size_t k, uint32_t trials, uint64_t seed,
                                check_output *out)
{
    check_vectors vectors;
    check_run run;
    tally t = {.x = malloc(n * sizeof *t.x),
               .one = calloc(n, sizeof *t.one),
               .pair = calloc(DISTANCES * n, sizeof *t.pair)};
    tithe_status status = t.x && t.one && t.pair ? TITHE_OK : TITHE_E_MEMORY;
    if (status == TITHE_OK) {
        for (size_t i = 0; i < n; i++) t.x[i] = 1;
        status = ti_check_vectors_own(codec, "all equal", t.x, n, &vectors);
    }
    if (status == TITHE_OK) {
        status = ti_check_run_open(codec, seed, &vectors, &run);
        if (status == TITHE_OK) {
            for (uint32_t trial = 0; trial < trials; trial++)
                if (ti_check_run_trial(&run, 0, trial, TITHE_EXCHANGE)) tally_trial(&t, run.y, n);
            inclusion_rows(&t, n, k, trials, out);
            ti_check_run_close(&run);
        }
        ti_check_vectors_free(&vectors);
    }
    free(t.x);
    free(t.one);
    free(t.pair);
    return status;
}

tithe_status ti_check_expected_count(const tithe_codec *codec, double expected, uint64_t seed,
                                     check_output *out)
{
    check_vectors vectors;
    check_run run;
    tithe_status status = ti_check_vectors_gaussian(codec, seed, COUNT_N, &vectors);
    if (status != TITHE_OK) return status;
    status = ti_check_run_open(codec, seed, &vectors, &run);
    if (status == TITHE_OK) {
        check_moments m = {0};
        for (uint32_t trial = 0; trial < COUNTS; trial++) {
            const tithe_call call = ti_check_run_call(&run, 0, trial, TITHE_EXCHANGE);
            if (ti_check_run_encode(&run, &call, &vectors.list[0]))
                ti_check_moments_add(&m, (double)run.info.entries);
        }
        const double off = fabs(m.mean - expected), half = ti_check_half_width(&m, CHECK_ALPHA / 2);
        ti_check_row(out, "probabilities add up to k", half, off, run.failures == 0 && off <= half,
                     "mean of %.0f counts is %.3f, expected %g, n=%d, confidence 1-%g", m.count, m.mean,
                     expected, COUNT_N, CHECK_ALPHA);
        ti_check_run_close(&run);
    }
    ti_check_vectors_free(&vectors);
    return status;
}
