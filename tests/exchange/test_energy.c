/* test_energy.c - the energy kept and SpeedUp(T), of messages that are made and measured here a second time. */
#include "exchange/group.h"

enum { RANKS = 3, N = 900, STEPS = 4 };
static const double gamma_all = 0.7;

/* The squared cosine of the angle between what was to be sent and what was. */
static double cosine_squared(const float *x, const float *v)
{
    double xx = 0, vv = 0, xv = 0;
    for (size_t i = 0; i < N; i++) {
        xx += (double)x[i] * (double)x[i];
        vv += (double)v[i] * (double)v[i];
        xv += (double)x[i] * (double)v[i];
    }
    return vv > 0 ? xv * fabs(xv) / (xx * vv) : 0;
}

static void check_record(const group *g, const char *spec, const double *kept, const double *speedup)
{
    double least = INFINITY, mean = 0, fast = 0, slowest = INFINITY;
    for (unsigned r = 0; r < RANKS; r++) {
        mean += kept[r] / RANKS;
        fast += speedup[r] / RANKS;
        least = fmin(least, kept[r]);
        slowest = fmin(slowest, speedup[r]);
    }
    const tithe_exchange_record last = last_of(g->ex);
    expect(fabs(last.kept - mean) < 1e-5 && fabs(last.kept_least - least) < 1e-5,
           "%s: kept %g and %g, not %g and %g", spec, last.kept, last.kept_least, mean, least);
    expect(fabs(last.speedup - fast) < 1e-4 * fast && fabs(last.speedup_least - slowest) < 1e-4 * fast,
           "%s: SpeedUp %g and %g, not %g and %g", spec, last.speedup, last.speedup_least, fast, slowest);
    expect(last.kept_least >= 0 && last.kept <= 1, "%s: %g is no share", spec, last.kept_least);
}

/* Under error compensation what is to be sent is what was not sent before and a step; otherwise the gradient. */
static void check_codec(const char *spec, const char *feedback)
{
    group *g = group_make(&(wanted){
        .codec = spec, .feedback = feedback, .scheme = "gather", .ranks = RANKS, .n = N, .measure = true});
    static float e[RANKS][N], v[N];
    memset(e, 0, sizeof e);
    for (unsigned k = 0; k < STEPS; k++) {
        float *x = gradients_make(RANKS, N, k);
        double kept[RANKS], speedup[RANKS];
        for (unsigned r = 0; r < RANKS; r++) {
            for (size_t i = 0; i < N; i++)
                e[r][i] = g->feedback->keeps ? e[r][i] + (float)gamma_all * x[r * N + i] : x[r * N + i];
            const tithe_frame_info info = message(g->codec, k, r, 0, e[r], N, v);
            kept[r] = cosine_squared(e[r], v);
            speedup[r] = kept[r] * N / (double)info.entries;
            for (size_t i = 0; i < N; i++) e[r][i] -= v[i];
        }
        group_put_all(g, x, gamma_all);
        group_finish(g);
        check_record(g, spec, kept, speedup);
        free(x);
    }
    group_free(g);
}

static void of_unbiased_codecs(void **state)
{
    (void)state;
    static const char *const specs[] = {
        "randk:keep=0.02",      "randk:keep=0.1|natural", "natural", "all|dither:s=1", "all|natdither:s=2",
        "stochastic:keep=0.05", "all|dither:bucket=32"};
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) check_codec(specs[i], "none");
}

static void of_biased_codecs(void **state)
{
    (void)state;
    static const char *const specs[] = {
        "topk:keep=0.02", "topk:keep=0.05|sign", "topk:rule=l2|sign:scale=norm",
        "all|sign",       "topk:keep=0.1|f16",   "threshold:lambda=3"};
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) check_codec(specs[i], "none");
}

static void under_error_compensation(void **state)
{
    (void)state;
    static const char *const specs[] = {"topk:keep=0.02", "topk:keep=0.05|natural", "all|dither:s=1",
                                        "randk:keep=0.1", "stochastic:keep=0.05",   "all|sign"};
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) check_codec(specs[i], "ec");
}

/* Cut into parts, or not compressed at all: shares all the same. */
static void of_other_schemes(void **state)
{
    (void)state;
    static const struct {
        const char *codec, *scheme, *feedback;
    } rows[] = {{"natural", "shards", "none"},
                {"all|dither:s=1", "shards", "none"},
                {"topk:keep=0.1", "artopk", "ec"},
                {"topk:keep=0.1|natural", "artopk", "ec"},
                {"randk:keep=0.1", "star", "none"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        group *g = group_make(&(wanted){.codec = rows[i].codec,
                                        .feedback = rows[i].feedback,
                                        .scheme = rows[i].scheme,
                                        .ranks = RANKS,
                                        .n = N,
                                        .measure = true});
        float *x = gradients_make(RANKS, N, 0);
        group_put_all(g, x, gamma_all);
        group_finish(g);
        const tithe_exchange_record last = last_of(g->ex);
        expect(last.kept_least > 0 && last.kept < 1, "%s, %s: %g to %g kept", rows[i].codec, rows[i].scheme,
               last.kept_least, last.kept);
        free(x);
        group_free(g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_unbiased_codecs),
        cmocka_unit_test(of_biased_codecs),
        cmocka_unit_test(under_error_compensation),
        cmocka_unit_test(of_other_schemes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
