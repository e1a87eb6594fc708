/* rounding.c - identities of levels: 9/8, and natural dithering as natural after standard dithering. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check/identities.h"
#include "check/stats.h"

enum {
    REPEATS = 128, /* of a pattern of CHECK_BUCKET values within one vector */
    N = CHECK_BUCKET * REPEATS,
    TRIALS = 160,
    EXPONENTS = 48, /* powers of two that are told apart, 2^-32 to 2^15 */
    LOWEST = -32,
    OTHER = 0,
    ZERO = 1,
    FIRST = 2,
    CELLS = FIRST + EXPONENTS,
    MIN = 25 /* expected in a cell of the chi-square test */
};

typedef double cells[CHECK_BUCKET][CELLS];

tithe_status ti_check_second_moment_at(const tithe_codec *codec, uint64_t seed, double wanted,
                                       check_output *out)
{
    check_vectors vectors;
    check_run run;
    double x[1024];
    for (int i = 0; i < 1024; i++) x[i] = ldexp(i % 3 ? 4.0 / 3.0 : -4.0 / 3.0, i % 9 - 4);
    tithe_status status = ti_check_vectors_own(codec, "mantissa 4/3", x, 1024, &vectors);
    if (status != TITHE_OK) return status;
    status = ti_check_run_open(codec, seed, &vectors, &run);
    if (status == TITHE_OK) {
        check_moments m = {0};
        for (uint32_t trial = 0; trial < 2000; trial++) {
            if (!ti_check_run_trial(&run, 0, trial, TITHE_EXCHANGE)) break;
            double squares = 0;
            for (size_t i = 0; i < 1024; i++) squares += run.y[i] * run.y[i];
            ti_check_moments_add(&m, squares / vectors.list[0].norm2);
        }
        const double half = ti_check_half_width(&m, CHECK_ALPHA / 2) + 1e-6;
        ti_check_row(out, "9/8 attained at mantissa 1/3", wanted, m.mean,
                     run.failures == 0 && fabs(m.mean - wanted) <= half,
                     "E|C(x)|^2/|x|^2 over %.0f trials of n=1024, interval +-%.2g, confidence 1-%g", m.count,
                     half, CHECK_ALPHA);
        ti_check_run_close(&run);
    }
    ti_check_vectors_free(&vectors);
    return status;
}

/* ---- two samples of levels ---------------------------------------------------------------------------- */

/* The cell of y/unit: its power of two, zero, or neither. The sign must be that of x. */
static size_t cell_of(double y, double unit, double x)
{
    if (y == 0) return ZERO;
    const double level = y / unit;
    if ((level < 0) != (x < 0)) return OTHER;
    const double exponent = log2(fabs(level)), whole = round(exponent);
    if (!(fabs(exponent - whole) < 1e-4) || whole < LOWEST || whole >= LOWEST + EXPONENTS) return OTHER;
    return FIRST + (size_t)(whole - LOWEST);
}

static void count_levels(cells counts, const double *y, const double *x, double unit)
{
    for (size_t i = 0; i < N; i++) counts[i % CHECK_BUCKET][cell_of(y[i], unit, x[i])] += 1;
}

static void compare_row(check_output *out, const char *claim, const cells *a, const cells *b, size_t failures)
{
    double statistic = 0, freedom = 0;
    for (size_t i = 0; i < CHECK_BUCKET; i++)
        statistic += ti_check_two_samples((*a)[i], (*b)[i], CELLS, MIN, &freedom);
    const double critical = ti_check_chi2_quantile(freedom, CHECK_ALPHA);
    ti_check_row(
        out, claim, critical, statistic, failures == 0 && freedom > 0 && statistic <= critical,
        "chi-square of two samples, %.0f degrees of freedom, %d coordinates, %d draws each, confidence 1-%g",
        freedom, CHECK_BUCKET, REPEATS * TRIALS, CHECK_ALPHA);
}

/* The same values in every bucket, so that one vector brings REPEATS draws of each. From the top level down
 * to below the lowest. */
static void pattern(double *x)
{
    for (size_t i = 0; i < N; i++) {
        const size_t j = i % CHECK_BUCKET;
        x[i] = (double)(float)((j % 3 ? 1.0 : -1.0) * pow(0.71, (double)j));
    }
}

static double norm_of(const double *x, check_norm norm)
{
    double sum = 0, squares = 0, max = 0;
    for (size_t i = 0; i < CHECK_BUCKET; i++) {
        sum += fabs(x[i]);
        squares += x[i] * x[i];
        max = fmax(max, fabs(x[i]));
    }
    return norm == CHECK_NORM_1 ? sum : norm == CHECK_NORM_2 ? sqrt(squares) : max;
}

/* One codec with its vector. */
typedef struct side {
    check_vectors vectors;
    check_run run;
    bool open;
} side;

static tithe_status side_open(side *s, const tithe_codec *codec, uint64_t seed, const double *x)
{
    tithe_status status = ti_check_vectors_own(codec, "pattern", x, N, &s->vectors);
    if (status != TITHE_OK) return status;
    status = ti_check_run_open(codec, seed, &s->vectors, &s->run);
    if (status != TITHE_OK) ti_check_vectors_free(&s->vectors);
    s->open = status == TITHE_OK;
    return status;
}

static void side_close(side *s)
{
    if (!s->open) return;
    ti_check_run_close(&s->run);
    ti_check_vectors_free(&s->vectors);
}

typedef struct work {
    double x[N], fine[N];
    side one, first, then;
    cells a, b;
} work;

static void work_free(work *w)
{
    side_close(&w->one);
    side_close(&w->first);
    side_close(&w->then);
    free(w);
}

/* Why it is true: the levels 2^-j of natdither are among the levels i/2^(s-1) of dither, and rounding without
 * bias to the fine grid and then, without bias, to the coarse one is rounding to the coarse one without bias.
 * It is the share y = x/norm that natural has to round, so the decoded values are divided by the norm first,
 * and put exactly on the grid from which the norm's rounding moved them. */
tithe_status ti_check_natural_dithering(const tithe_codec *natdither, const tithe_codec *dither,
                                        const tithe_codec *natural, unsigned s, check_norm norm,
                                        uint64_t seed, check_output *out)
{
    work *w = calloc(1, sizeof *w);
    if (!w) return TITHE_E_MEMORY;
    pattern(w->x);
    tithe_status status = side_open(&w->one, natdither, seed, w->x);
    if (status == TITHE_OK) status = side_open(&w->first, dither, seed + 1, w->x);
    if (status == TITHE_OK) status = side_open(&w->then, natural, seed + 2, w->x);
    if (status != TITHE_OK) {
        work_free(w);
        return status;
    }
    const double unit = norm_of(w->x, norm), steps = ldexp(1, (int)s - 1);
    for (uint32_t trial = 0; trial < TRIALS; trial++) {
        if (ti_check_run_trial(&w->one.run, 0, trial, TITHE_EXCHANGE))
            count_levels(w->a, w->one.run.y, w->x, unit);
        if (!ti_check_run_trial(&w->first.run, 0, trial, TITHE_EXCHANGE)) continue;
        for (size_t i = 0; i < N; i++) w->fine[i] = round(w->first.run.y[i] / unit * steps) / steps;
        ti_check_vector_set(&w->then.vectors.list[0], w->fine);
        if (ti_check_run_trial(&w->then.run, 0, trial, TITHE_EXCHANGE))
            count_levels(w->b, w->then.run.y, w->x, 1);
    }
    compare_row(out, "equals natural after dither in distribution", (const cells *)&w->a,
                (const cells *)&w->b, w->one.run.failures + w->first.run.failures + w->then.run.failures);
    work_free(w);
    return TITHE_OK;
}

tithe_status ti_check_same_rounding(const tithe_codec *one, const tithe_codec *other, uint64_t seed,
                                    check_output *out)
{
    work *w = calloc(1, sizeof *w);
    if (!w) return TITHE_E_MEMORY;
    pattern(w->x);
    tithe_status status = side_open(&w->one, one, seed, w->x);
    if (status == TITHE_OK) status = side_open(&w->first, other, seed + 1, w->x);
    if (status == TITHE_OK) {
        for (uint32_t trial = 0; trial < TRIALS; trial++) {
            if (ti_check_run_trial(&w->one.run, 0, trial, TITHE_EXCHANGE))
                count_levels(w->a, w->one.run.y, w->x, 1);
            if (ti_check_run_trial(&w->first.run, 0, trial, TITHE_EXCHANGE))
                count_levels(w->b, w->first.run.y, w->x, 1);
        }
        compare_row(out, "equals natural in distribution", (const cells *)&w->a, (const cells *)&w->b,
                    w->one.run.failures + w->first.run.failures);
    }
    work_free(w);
    return status;
}
