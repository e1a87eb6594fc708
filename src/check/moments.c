/* moments.c - E C(x), E|C(x)|^2 and E|C(x)-x|^2 by repeated trials.
 *
 * Unbiasedness is tested along directions u of length 1: the mean of <C(x)-x, u>/|x| must be 0. Along x (a
 * wrong scale shows there), along sign(x) (rounding up or down does), along random signs, at the largest
 * coordinate and at one of ordinary size.
 *
 * Random selections are rare events at a single coordinate, and a sample that has not met the event looks
 * calm and biased. Two things keep that from being an alarm. For an unbiased C, E<C(x)-x, u>^2 <= E|C(x)-x|^2
 * <= omega|x|^2, so with the claimed omega (which has a row of its own) a mean over N trials strays by more
 * than sqrt(2 ln(1/alpha) omega/N) with a chance of about alpha; that wider interval counts wherever the
 * sample does not speak for itself. And an event must have a chance of about 1/(1+omega) at least, so
 * 30 (1+omega) trials meet all. */
#include "check/moments.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check/stats.h"

enum {
    RANDOM_SIGNS = 4,
    ALONG_X = 0,
    ALONG_SIGN,
    ALONG_RANDOM,
    AT_LARGEST = ALONG_RANDOM + RANDOM_SIGNS,
    AT_ORDINARY,
    DIRECTIONS,
    LOOKS = 4,  /* trials that tell whether the codec draws at all */
    PILOT = 40, /* trials that tell how many are needed */
    FEWEST = 600,
    MAX = 1 << 20,         /* trials on one vector, so that all steps are as long on the wire */
    CALL = 512,            /* what a call costs besides its coordinates, in coordinates */
    COORDINATES = 13000000 /* to spend on one codec at most: this bounds the time */
};

static const double wanted_width = 0.0075; /* of an interval, relative to |x| or to the bound */

static const char *const direction_names[DIRECTIONS] = {
    "x",           "sign(x)",        "random signs", "random signs", "random signs", "random signs",
    "the largest", "an ordinary one"};

/* The directions that belong to one vector. */
typedef struct directions {
    double *sign;   /* of x: -1, 0 or 1 */
    double *random; /* RANDOM_SIGNS rows of n */
    size_t largest, ordinary;
    double scale[DIRECTIONS]; /* 1/(|direction| |x|) */
    double peak[DIRECTIONS];  /* largest |u_i x_i|/|x|: what a single coordinate can contribute */
} directions;

typedef struct sample {
    check_moments along[DIRECTIONS];
    check_moments second; /* |C(x)|^2/|x|^2 */
    check_moments error;  /* |C(x)-x|^2/|x|^2 */
} sample;

/* The worst that was seen of one claim, in the words of a row. */
typedef struct verdict {
    bool any, holds;
    double bound, measured, half_width, rank;
    const char *vector, *direction;
    double trials;
} verdict;

static void directions_set(directions *d, const check_vector *v, check_random *r)
{
    const double norm = sqrt(v->norm2);
    double nonzero = 0, peak_x = 0, largest = 0;
    for (size_t i = 0; i < v->n; i++) {
        const double size = fabs(v->x[i]);
        d->sign[i] = (v->x[i] > 0) - (v->x[i] < 0);
        nonzero += size > 0;
        if (size > largest) largest = size, d->largest = i;
    }
    peak_x = largest / norm;
    d->ordinary = d->largest;
    const double ordinary = sqrt(v->norm2 / nonzero); /* the root mean square of what is not zero */
    for (size_t i = 0; i < v->n; i++)
        if (d->sign[i] != 0 && fabs(fabs(v->x[i]) - ordinary) < fabs(fabs(v->x[d->ordinary]) - ordinary))
            d->ordinary = i;

    for (size_t i = 0; i < RANDOM_SIGNS * v->n; i++) d->random[i] = ti_check_random_sign(r);
    d->scale[ALONG_X] = 1 / v->norm2;
    d->peak[ALONG_X] = peak_x * peak_x;
    d->scale[ALONG_SIGN] = 1 / (sqrt(nonzero) * norm);
    d->peak[ALONG_SIGN] = peak_x / sqrt(nonzero);
    for (int k = 0; k < RANDOM_SIGNS; k++) {
        d->scale[ALONG_RANDOM + k] = 1 / (sqrt((double)v->n) * norm);
        d->peak[ALONG_RANDOM + k] = peak_x / sqrt((double)v->n);
    }
    d->scale[AT_LARGEST] = d->scale[AT_ORDINARY] = 1 / norm;
    d->peak[AT_LARGEST] = peak_x;
    d->peak[AT_ORDINARY] = fabs(v->x[d->ordinary]) / norm;
}

static void sample_add(sample *s, const directions *d, const check_vector *v, const double *y)
{
    const double *const u = d->random;
    const size_t n = v->n;
    double second = 0, error = 0, sum[DIRECTIONS] = {0};
    for (size_t i = 0; i < n; i++) {
        const double e = y[i] - v->x[i];
        second += y[i] * y[i];
        error += e * e;
        sum[ALONG_X] += e * v->x[i];
        sum[ALONG_SIGN] += e * d->sign[i];
        sum[ALONG_RANDOM] += e * u[i];
        sum[ALONG_RANDOM + 1] += e * u[n + i];
        sum[ALONG_RANDOM + 2] += e * u[2 * n + i];
        sum[ALONG_RANDOM + 3] += e * u[3 * n + i];
    }
    sum[AT_LARGEST] = y[d->largest] - v->x[d->largest];
    sum[AT_ORDINARY] = y[d->ordinary] - v->x[d->ordinary];
    for (int k = 0; k < DIRECTIONS; k++) ti_check_moments_add(&s->along[k], sum[k] * d->scale[k]);
    ti_check_moments_add(&s->second, second / v->norm2);
    ti_check_moments_add(&s->error, error / v->norm2);
}

/* Does the result depend on the step, on any of the vectors? */
static bool draws(check_run *run, double *first)
{
    bool same = true;
    for (size_t i = 0; i < run->vectors->count; i++) {
        const check_vector *v = &run->vectors->list[i];
        for (uint32_t look = 0; look < LOOKS; look++) {
            if (!ti_check_run_trial(run, i, look, TITHE_SELF_CONTAINED)) break;
            if (look == 0) memcpy(first, run->y, v->n * sizeof *first);
            same = same && memcmp(first, run->y, v->n * sizeof *first) == 0;
        }
    }
    return !same;
}

/* Trials so that (quantile sigma / width)^2 <= N. */
static double trials_needed(const sample *pilot, const tithe_claims *claims)
{
    const bool unbiased = claims->traits & TITHE_UNBIASED;
    double sigma = sqrt(ti_check_variance(&pilot->second)) / (1 + fmin(claims->omega, 1e6));
    sigma = fmax(sigma, sqrt(ti_check_variance(&pilot->error)) / fmax(1, 1 - claims->delta));
    for (int k = 0; k < DIRECTIONS && unbiased; k++)
        sigma = fmax(sigma, sqrt(ti_check_variance(&pilot->along[k])));
    double need = pow(6.3 * sigma / wanted_width, 2);
    if (unbiased) need = fmax(need, 31 * (1 + fmin(claims->omega, 1e6)));
    return fmin(fmax(need, FEWEST), MAX);
}

/* What the time does not allow is taken from those who want most: all above one ceiling get the ceiling. */
static void share_out(const check_vectors *vectors, double *trials)
{
    double low = 0, high = COORDINATES;
    for (int round = 0; round < 60; round++) {
        const double ceiling = low + (high - low) / 2;
        double sum = 0;
        for (size_t i = 0; i < vectors->count; i++)
            sum += fmin(trials[i] * (double)(vectors->list[i].n + CALL), ceiling);
        if (sum <= COORDINATES)
            low = ceiling;
        else
            high = ceiling;
    }
    for (size_t i = 0; i < vectors->count; i++)
        trials[i] = floor(fmin(trials[i], low / (double)(vectors->list[i].n + CALL)));
}

/* The trials from first to last; false if one of them failed, which the row "round trip" will tell. */
static bool collect(check_run *run, size_t vector, const directions *d, uint32_t first, double count,
                    sample *s)
{
    const check_vector *v = &run->vectors->list[vector];
    for (uint32_t trial = first; trial < first + (uint32_t)count; trial++) {
        if (!ti_check_run_trial(run, vector, trial, trial % 2 ? TITHE_EXCHANGE : TITHE_SELF_CONTAINED))
            return false;
        sample_add(s, d, v, run->y);
    }
    return true;
}

static void plan(check_run *run, directions *d, check_random *r, double *trials)
{
    for (size_t i = 0; i < run->vectors->count; i++) {
        const check_vector *v = &run->vectors->list[i];
        const tithe_claims claims = codec_claims(run->codec, v->n);
        sample pilot = {0};
        if (!(v->norm2 > 0)) continue;
        directions_set(d, v, r);
        if (collect(run, i, d, LOOKS, PILOT, &pilot)) trials[i] = trials_needed(&pilot, &claims);
    }
    share_out(run->vectors, trials);
}

static void judge_unbiased(verdict *worst, const sample *s, const directions *d, const check_vector *v,
                           const tithe_claims *claims, bool random, double comparisons, tithe_type type)
{
    const double alpha = CHECK_ALPHA / (2 * comparisons);
    const double rounding = type == TITHE_F32 ? 1e-6 : 1e-12; /* of the arithmetic, not of the codec's idea */
    for (int k = 0; k < DIRECTIONS; k++) {
        const check_moments *m = &s->along[k];
        double half = ti_check_half_width(m, alpha);
        const bool all_met = m->count >= 30 * (1 + claims->omega) || d->peak[k] < half / 2;
        if (random && !(ti_check_has_events(m) && all_met))
            half = fmax(half, sqrt(-2 * log(alpha) * claims->omega / m->count));
        half += rounding;
        const double rank = isfinite(m->mean) ? fabs(m->mean) / half : INFINITY;
        if (worst->any && !(rank > worst->rank)) continue;
        *worst = (verdict){.any = true,
                           .holds = rank <= 1,
                           .bound = half,
                           .measured = fabs(m->mean),
                           .rank = rank,
                           .vector = v->name,
                           .direction = direction_names[k],
                           .trials = m->count};
    }
}

/* mean <= bound, up to the interval. `unit` is what 1 stands for in the row. The worst is what is surely
 * largest. */
static void judge_bound(verdict *worst, const check_moments *m, double bound, double unit,
                        const check_vector *v, bool random, double comparisons)
{
    const double alpha = CHECK_ALPHA / comparisons;
    double half = ti_check_half_width(m, alpha);
    if (random && !ti_check_has_events(m)) {
        /* Unseen events could at most bring the value to 0: the empirical Bernstein bound for values in [0,
         * mean]. */
        const double l = -log(alpha);
        half = fmax(half, sqrt(2 * ti_check_variance(m) * l / m->count) + 7 * l / (3 * m->count) * m->mean);
    }
    const bool holds = m->mean - half <= bound * (1 + 1e-6) + 1e-12;
    const double rank = isfinite(m->mean) ? (m->mean - half) / fmax(bound, 1e-12) : INFINITY;
    if (worst->any && !(rank > worst->rank)) return;
    *worst = (verdict){.any = true,
                       .holds = holds,
                       .bound = bound * unit,
                       .measured = m->mean * unit,
                       .half_width = half * unit,
                       .rank = rank,
                       .vector = v->name,
                       .trials = m->count};
}

/* E|C(0)|^2 <= (1 + omega) 0: zero must stay zero. */
static void judge_zero(verdict *worst, check_run *run, size_t vector)
{
    const check_vector *v = &run->vectors->list[vector];
    for (uint32_t trial = 0; trial < 2 * LOOKS; trial++) {
        if (!ti_check_run_trial(run, vector, trial, trial % 2 ? TITHE_EXCHANGE : TITHE_SELF_CONTAINED))
            return;
        double squares = 0;
        for (size_t i = 0; i < v->n; i++) squares += run->y[i] * run->y[i];
        if (squares == 0) continue;
        *worst = (verdict){
            .any = true, .measured = squares, .rank = INFINITY, .vector = v->name, .trials = trial + 1};
    }
}

static void bound_row(check_output *out, const char *claim, const verdict *w, bool random)
{
    if (!w->any) return;
    if (random)
        ti_check_row(out, claim, w->bound, w->measured, w->holds,
                     "on %s: %.0f trials, interval +-%.2g, confidence 1-%g", w->vector, w->trials,
                     w->half_width, CHECK_ALPHA);
    else
        ti_check_row(out, claim, w->bound, w->measured, w->holds, "on %s: deterministic", w->vector);
}

static void measure(check_run *run, check_output *out, directions *d, check_random *r, double *trials)
{
    const check_vectors *vectors = run->vectors;
    const bool random = draws(run, d->random);
    const double comparisons = (double)vectors->count * DIRECTIONS;
    for (size_t i = 0; i < vectors->count; i++) trials[i] = LOOKS;
    if (random) plan(run, d, r, trials); /* its trials choose N and have no say in the means */
    verdict unbiased = {0}, second = {0}, contraction = {0}, absolute = {0}, error = {0};
    for (size_t i = 0; i < vectors->count; i++) {
        const check_vector *v = &vectors->list[i];
        const tithe_claims claims = codec_claims(run->codec, v->n);
        sample s = {0};
        if (!(v->norm2 > 0)) {
            judge_zero(&second, run, i);
            continue;
        }
        directions_set(d, v, r);
        if (!collect(run, i, d, LOOKS + PILOT, trials[i], &s)) continue;

        const double share = (double)vectors->count, Delta2 = claims.Delta * claims.Delta / v->norm2;
        if (claims.traits & TITHE_UNBIASED)
            judge_unbiased(&unbiased, &s, d, v, &claims, random, comparisons, run->type);
        if (isfinite(claims.omega)) judge_bound(&second, &s.second, 1 + claims.omega, 1, v, random, share);
        if (claims.traits & TITHE_CONTRACTIVE)
            judge_bound(&contraction, &s.error, 1 - claims.delta, 1, v, random, share);
        if (claims.traits & TITHE_ABSOLUTE)
            judge_bound(&absolute, &s.error, Delta2, v->norm2, v, random, share);
        if (!(claims.traits & (TITHE_CONTRACTIVE | TITHE_ABSOLUTE)) && isfinite(claims.delta) &&
            isfinite(Delta2))
            judge_bound(&error, &s.error, 1 - claims.delta + Delta2, 1, v, random, share);
    }
    if (unbiased.any)
        ti_check_row(out, "unbiased", unbiased.bound, unbiased.measured, unbiased.holds,
                     "on %s along %s: %.0f trials, %.0f projections, confidence 1-%g", unbiased.vector,
                     unbiased.direction, unbiased.trials, comparisons, CHECK_ALPHA);
    bound_row(out, "second moment", &second, random);
    bound_row(out, "contraction", &contraction, random);
    bound_row(out, "absolute error", &absolute, random);
    bound_row(out, "error", &error, random);
}

tithe_status ti_check_moment_rows(check_run *run, check_output *out)
{
    directions d = {0};
    check_random *r = malloc(sizeof *r);
    double *trials = calloc(run->vectors->count, sizeof *trials);
    d.sign = malloc(run->vectors->longest * sizeof *d.sign);
    d.random = malloc(RANDOM_SIGNS * run->vectors->longest * sizeof *d.random);
    const bool fine = r && trials && d.sign && d.random;
    if (fine) {
        ti_check_random_start(r, run->seed, 2);
        measure(run, out, &d, r, trials);
    }
    free(r);
    free(trials);
    free(d.sign);
    free(d.random);
    return fine ? TITHE_OK : TITHE_E_MEMORY;
}
