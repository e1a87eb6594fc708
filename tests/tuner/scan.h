/* scan.h - the answer that cat has to give, by a full sort and a scan of every level, in long double and by the
 * formulas of docs/design.md; and vectors that are hard on whoever prunes. */
#ifndef TESTS_TUNER_SCAN_H
#define TESTS_TUNER_SCAN_H

#include "support.h"

/* ---- vectors ------------------------------------------------------------------------------------------------ */

typedef enum tuned_input {
    IN_GAUSS,
    IN_HEAVY,  /* magnitudes over many octaves */
    IN_EQUAL,  /* one magnitude, both signs */
    IN_TWO,    /* two magnitudes */
    IN_SPARSE, /* mostly zeros */
    IN_TIES,   /* a few different magnitudes */
    IN_DENORMAL,
    IN_HUGE,
    IN_POWER, /* i^-0.5: efficiency is flat */
    IN_CLOSE, /* neighbours differ by one unit in the last place */
    IN_ONE,   /* one entry that is not zero */
    IN_KINDS
} tuned_input;

static inline void fill_tuned(tuned_input kind, float *x, size_t n, dice *d)
{
    const double tail = 0.3 + 6 * roll_unit(d), share = roll_unit(d);
    for (size_t i = 0; i < n; i++) {
        const double sign = roll(d) & 1 ? -1 : 1, u = roll_unit(d);
        double v = 0;
        switch (kind) {
        case IN_GAUSS: v = roll_gauss(d); break;
        case IN_HEAVY: v = sign * exp(tail * roll_gauss(d)); break;
        case IN_EQUAL: v = sign * 0.3; break;
        case IN_TWO: v = sign * (u < share ? 1 : 0.25); break;
        case IN_SPARSE: v = u < 0.05 ? roll_gauss(d) : 0; break;
        case IN_TIES: v = sign * (double)(1 + roll_below(d, 5)); break;
        case IN_DENORMAL: v = sign * (double)float_of_bits((uint32_t)(roll(d) & 0x7fffff)); break;
        case IN_HUGE: v = sign * 1e38 * (1 + u); break;
        case IN_POWER: v = sign / sqrt(1 + (double)i); break;
        case IN_CLOSE: v = sign * (double)float_of_bits(0x3f800000u + (uint32_t)i); break;
        default: v = i == n / 2 ? -2.5 : 0;
        }
        x[i] = (float)v;
    }
}

/* ---- the scan ------------------------------------------------------------------------------------------------ */

static int descending_magnitude(const void *a, const void *b)
{
    const float x = fabsf(*(const float *)a), y = fabsf(*(const float *)b);
    return (x < y) - (x > y);
}

typedef struct scan {
    size_t n, nonzero;
    float *sorted;
    long double *s1, *s2; /* of the T largest */
} scan;

static inline scan scan_open(const float *x, size_t n)
{
    scan s = {.n = n, .sorted = malloc((n + 1) * sizeof(float))};
    s.s1 = calloc(n + 1, sizeof *s.s1);
    s.s2 = calloc(n + 1, sizeof *s.s2);
    assert_true(s.sorted && s.s1 && s.s2);
    for (size_t i = 0; i < n; i++) s.sorted[i] = fabsf(x[i]);
    qsort(s.sorted, n, sizeof *s.sorted, descending_magnitude);
    for (size_t i = 0; i < n; i++) {
        const long double a = (long double)s.sorted[i];
        s.s1[i + 1] = s.s1[i] + a;
        s.s2[i + 1] = s.s2[i] + a * a;
        s.nonzero += a > 0;
    }
    return s;
}

static inline void scan_close(scan *s)
{
    free(s->sorted);
    free(s->s1);
    free(s->s2);
}

/* |x|^2 / E|C(x)|^2 of SS: saturate while the next one deserves a probability above 1. */
static inline long double scan_water(const scan *s, size_t t, size_t *m)
{
    const long double all = s->s1[s->nonzero];
    while (*m < t && *m < s->nonzero && (long double)(t - *m) * s->sorted[*m] > all - s->s1[*m]) (*m)++;
    const long double rest = all - s->s1[*m];
    const long double moment =
        s->s2[*m] + (*m < s->nonzero && t > *m ? rest * rest / (long double)(t - *m) : 0);
    return s->s2[s->nonzero] / moment;
}

/* omega of dithering a bucket of d values (docs/design.md). */
static inline long double scan_dither(bool natural, double d, double s)
{
    const double reach = sqrt(d), u = natural ? pow(2, 1 - s) : 1 / s;
    return (natural ? 0.125L : 0) + fminl(reach * u, reach * reach * u * u / 4);
}

/* The share of |x|^2 that t entries are worth. */
static inline long double scan_progress(const scan *s, const char *spec, size_t t, size_t *m)
{
    const char *bar = strchr(spec, '|'), *quantizer = bar ? bar + 1 : "raw";
    const long double share = s->s2[t] / s->s2[s->n];
    if (strncmp(spec, "stochastic", 10) == 0) return scan_water(s, t, m);
    if (strncmp(quantizer, "sign", 4) == 0) return s->s1[t] * s->s1[t] / ((long double)t * s->s2[s->n]);
    if (strncmp(quantizer, "natural", 7) == 0) return share * 8 / 9;
    if (strncmp(quantizer, "f16", 3) == 0) return share * (1 - 0x1p-22L);
    if (strncmp(quantizer, "bf16", 4) == 0) return share * (1 - 0x1p-16L);
    if (strncmp(quantizer, "dither", 6) == 0 || strncmp(quantizer, "natdither", 9) == 0) {
        const char *at = strstr(quantizer, "s="), *in = strstr(quantizer, "bucket=");
        const double levels = at ? atof(at + 2) : 7, bucket = in ? atof(in + 7) : 0;
        const double d = bucket > 0 && bucket < (double)t ? bucket : (double)t;
        return share / (1 + scan_dither(*quantizer == 'n', d, levels));
    }
    return share;
}

/* ---- asking cat ---------------------------------------------------------------------------------------------- */

typedef struct asked {
    tithe_codec *codec;
    tithe_cost *cost;
    const char *spec;
    tithe_tuner_call call;
} asked;

static inline asked ask_open(const char *spec, const char *cost, bool paper, size_t max)
{
    asked a = {.spec = spec};
    tithe_error error = {0};
    const tithe_codec_options options = {.contractive = true, .open_level = true};
    if (tithe_codec_create(spec, &options, &a.codec, &error)) fail_msg("%s: %s", spec, error.text);
    if (tithe_cost_create(cost, &a.cost, &error)) fail_msg("%s: %s", cost, error.text);
    const tithe_tuner *cat = tuner_of("cat");
    const char *why = cat->refuse(a.codec);
    if (why) fail_msg("%s: %s", spec, why);
    a.call = (tithe_tuner_call){
        .codec = a.codec, .cost = a.cost, .count_paper = paper, .form = TITHE_EXCHANGE, .gamma = 1};
    a.call.scratch_size = cat->scratch(a.codec, max);
    a.call.scratch = malloc(a.call.scratch_size + 1);
    assert_non_null(a.call.scratch);
    return a;
}

static inline void ask_close(asked *a)
{
    tithe_codec_free(a->codec);
    tithe_cost_free(a->cost);
    free(a->call.scratch);
}

static inline tithe_choice ask(asked *a, const float *x, size_t n)
{
    tithe_choice choice;
    tithe_error error = {0};
    a->call.x = x;
    a->call.n = n;
    if (tuner_of("cat")->choose(&a->call, &choice, &error))
        fail_msg("%s, n = %zu: %s", a->spec, n, error.text);
    return choice;
}

static inline double asked_cost(const asked *a, size_t n, size_t t)
{
    const double bits = a->call.count_paper ? tithe_codec_paper_bits(a->codec, n, t)
                                            : 8.0 * (double)tithe_codec_length(a->codec, n, t, a->call.form);
    return tithe_cost_of(a->cost, bits);
}

/* Is the choice as good as the best level of all? Ends the test if not. */
static inline void expect_argmax(asked *a, const float *x, size_t n, const char *what)
{
    const tithe_choice choice = ask(a, x, n);
    scan s = scan_open(x, n);
    const bool threshold = strncmp(a->spec, "threshold", 9) == 0,
               water = strncmp(a->spec, "stochastic", 10) == 0;
    long double best = -1, mine = -1;
    size_t best_level = 0, m = 0;
    for (size_t t = 1; t <= (threshold || water ? s.nonzero : n); t++) {
        if (threshold && t < n && s.sorted[t] == s.sorted[t - 1]) continue;
        const long double progress = scan_progress(&s, a->spec, t, &m);
        const long double value = progress / (long double)asked_cost(a, n, t);
        if (value > best) {
            best = value;
            best_level = t;
        }
        if ((double)t == choice.entries && s.nonzero) {
            mine = value;
            expect(fabsl(choice.progress - progress) <= 1e-11L * progress,
                   "%s over %s, %s, n = %zu: progress %.17g is %.17Lg", a->spec, tithe_cost_spec(a->cost),
                   what, n, choice.progress, progress);
            expect(choice.cost == asked_cost(a, n, t), "%s: the cost is another one", a->spec);
        }
    }
    if (s.nonzero == 0) {
        assert_string_equal(choice.reason, "nothing to send");
    } else if (!(mine >= best * (1 - 1e-12L))) {
        fail_msg("%s over %s%s, %s, n = %zu: level %g is worth %.17Lg, but %zu is worth %.17Lg", a->spec,
                 tithe_cost_spec(a->cost), a->call.count_paper ? " (paper)" : "", what, n, choice.entries,
                 mine, best_level, best);
    }
    if (threshold && s.nonzero) { /* lambda takes as many as it says */
        size_t count = 0;
        for (size_t i = 0; i < n; i++) count += (double)fabsf(x[i]) >= choice.level * (double)a->call.gamma;
        assert_int_equal(count, (size_t)choice.entries);
    } else if (s.nonzero) {
        assert_true(choice.level == choice.entries);
    }
    scan_close(&s);
}

#endif
