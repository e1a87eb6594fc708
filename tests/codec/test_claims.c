/* test_claims.c - what a codec promises: the constants of pairs against formulas written down here, and what must hold
 * among the promises of any codec. Whether random codecs keep theirs is measured by tithe_check_codec. */
#include "codec/contract.h"

/* ---- formulas ------------------------------------------------------------------------------------------------- */

typedef struct promise {
    const char *spec;
    size_t n;
    double omega, delta, Delta;
    unsigned traits;
} promise;

enum {
    U = TITHE_UNBIASED,
    C = TITHE_CONTRACTIVE,
    A = TITHE_ABSOLUTE,
    S = TITHE_SUMMABLE,
    F = TITHE_FIXED_SIZE
};

static void expect_promise(promise p)
{
    tithe_codec *codec = codec_of(p.spec);
    const tithe_claims c = claims_of(codec, p.n);
    expect(fabs(c.omega - p.omega) <= 1e-12 * (1 + p.omega), "%s: omega is %.15g instead of %.15g", p.spec,
           c.omega, p.omega);
    expect(fabs(c.delta - p.delta) <= 1e-12 * (1 + fabs(p.delta)), "%s: delta is %.15g instead of %.15g",
           p.spec, c.delta, p.delta);
    expect(fabs(c.Delta - p.Delta) <= 1e-12 * (1 + p.Delta), "%s: Delta is %.15g instead of %.15g", p.spec,
           c.Delta, p.Delta);
    expect(c.traits == p.traits, "%s: traits are %u instead of %u", p.spec, c.traits, p.traits);
    tithe_codec_free(codec);
}

static void selectors_alone(void **state)
{
    (void)state;
    const double n = 100, k = 10;
    expect_promise((promise){"raw", 100, 0, 1, 0, U | C | A | S | F});
    expect_promise((promise){"topk:k=10", 100, 0, k / n, 0, C});
    expect_promise((promise){"topk:keep=0.1", 100, 0, k / n, 0, C});
    expect_promise((promise){"topk:k=200", 100, 0, 1, 0, C | A});
    expect_promise((promise){"topk:rule=l2", 100, 0, 1 / n, 0, C});
    expect_promise((promise){"topk:k=10,per=layer", 100, 0, k / n, 0, C});
    expect_promise((promise){"topk:keep=0.1,per=layer", 100, 0, 0.1 * 2 / 3, 0, C}); /* round(1.49) = 1 */
    expect_promise((promise){"mstopk:k=10", 100, 0, k / n, 0, C});
    expect_promise((promise){"threshold:lambda=0.5", 100, 0, 1, 0.5 * 10, A});
    expect_promise((promise){"randk:k=10", 100, n / k - 1, 2 - n / k, 0, U | F});
    expect_promise((promise){"randk:k=60", 100, n / 60 - 1, 2 - n / 60, 0, U | C | F});
    expect_promise((promise){"randk:k=10,scale=contractive", 100, 0, k / n, 0, C | F});
    expect_promise((promise){"stochastic:k=10", 100, n / k - 1, 2 - n / k, 0, U});
    expect_promise((promise){"stochastic:keep=0.025", 100, 40 - 1, 2 - 40, 0, U});
    expect_promise((promise){"stochastic:k=10,scale=contractive", 100, 0, k / n, 0, C});
    expect_promise((promise){"given", 100, 0, 0, 0, S | F});
}

static void natural_after_a_selector(void **state)
{
    (void)state;
    const double n = 100, k = 10;
    expect_promise((promise){"natural", 100, 1.0 / 8, 7.0 / 8, 0, U | C | F});
    expect_promise((promise){"natural:bits=8", 100, 1.0 / 8, 7.0 / 8, 0, U | C | F});
    expect_promise((promise){"natural:scale=contractive", 100, 0, 8.0 / 9, 0, C | F});
    /* A projection and what comes after are orthogonal: delta' = delta (1 - omega), or delta / (1 + omega). */
    expect_promise((promise){"topk:k=10|natural", 100, 1.0 / 8, k / n * 7 / 8, 0, C});
    expect_promise((promise){"topk:k=10|natural:scale=contractive", 100, 0, k / n * 8 / 9, 0, C});
    expect_promise((promise){"mstopk:k=10|natural", 100, 1.0 / 8, k / n * 7 / 8, 0, C});
    expect_promise((promise){"randk:k=10,scale=contractive|natural", 100, 0, k / n * 8 / 9, 0, C | F});
    expect_promise((promise){"threshold:lambda=2|natural", 100, 1.0 / 8, 7.0 / 8, 20, 0});
    /* Two unbiased ones: second moments multiply. */
    expect_promise((promise){"randk:k=10|natural", 100, n / k * 9 / 8 - 1, 2 - n / k * 9 / 8, 0, U | F});
    expect_promise((promise){"stochastic:k=10|natural", 100, n / k * 9 / 8 - 1, 2 - n / k * 9 / 8, 0, U});
    expect_promise((promise){"given|natural", 100, 1.0 / 8, 0, 0, F});
}

static void the_other_quantizers(void **state)
{
    (void)state;
    const double n = 100, k = 10, h = 0x1p-11, b = 0x1p-8;
    expect_promise((promise){"f16", 100, (1 + h) * (1 + h) - 1, 1 - h * h, 0, C | F});
    expect_promise((promise){"topk:k=10|bf16", 100, (1 + b) * (1 + b) - 1, k / n * (1 - b * b), 0, C});
    const double error =
        sqrt(n / k - 1) + b * sqrt(n / k); /* of the selector, and of rounding what it scaled up */
    expect_promise((promise){"randk:k=10|bf16", 100, n / k * (1 + b) * (1 + b) - 1, 1 - error * error, 0, F});
    expect_promise((promise){"int32", 100, 0x1p-40, 1 - 0x1p-40, 0, U | C | F});
    expect_promise((promise){"sign", 100, 0, 1 / n, 0, C | F});
    expect_promise((promise){"topk:k=10|sign", 100, 0, k / n * (1 / k), 0, C});
    expect_promise((promise){"sign:scale=norm", 100, n - 1, -n, 0, F});
    expect_promise((promise){"randk:k=10,scale=contractive|sign", 100, 0, k / n * (1 / k), 0, C | F});
    /* dither: min(reach/s, reach^2/(4s^2)), reach = sqrt(d) for p = 2 and inf, d for p = 1 */
    expect_promise((promise){"dither", 100, fmin(10.0 / 7, 100.0 / 196), 1 - 100.0 / 196, 0, U | C | F});
    expect_promise((promise){"dither:s=1", 100, 10, 1 - 10, 0, U | F});
    expect_promise((promise){"dither:s=1,p=inf", 100, 10, 1 - 10, 0, U | F});
    expect_promise((promise){"dither:s=7,p=1", 100, 100.0 / 7, 1 - 100.0 / 7, 0, U | F});
    expect_promise((promise){"dither:s=1,bucket=25", 100, 5, 1 - 5, 0, U | F});
    expect_promise((promise){"dither:s=1,bucket=1000", 100, 10, 1 - 10, 0, U | F});
    expect_promise((promise){"dither:code=elias", 100, 100.0 / 196, 1 - 100.0 / 196, 0, U | C});
    expect_promise((promise){"dither:s=1,norm=natural", 100, 11 * 9.0 / 8 - 1, 2 - 11 * 9.0 / 8, 0, U | F});
    expect_promise((promise){"dither:s=1,scale=contractive", 100, 0, 1.0 / 11, 0, C | F});
    /* natdither: 1/8 + min(reach u, reach^2 u^2 / 4), u = 2^(1-s) */
    expect_promise((promise){"natdither:s=1", 100, 0.125 + 10, 1 - 10.125, 0, U | F});
    expect_promise((promise){"natdither:s=5", 100, 0.125 + fmin(10.0 / 16, 100.0 / 256 / 4),
                             1 - 0.125 - 100.0 / 1024, 0, U | C | F});
    expect_promise(
        (promise){"topk:k=4|dither:s=1", 100, 1, 0, 0, 0}); /* four survivors: 1 + omega = 2, delta = 1 - 1 */
}

/* Contractive `stochastic` before a contractive quantizer: the worst factor f in [T/n, 1], found by trying. */
static void stochastic_with_a_contractive_quantizer(void **state)
{
    (void)state;
    static const char *const second[] = {"natural:scale=contractive", "dither:s=1,scale=contractive"};
    for (int q = 0; q < 2; q++)
        for (int k = 5; k <= 100; k += 19) {
            char spec[100];
            snprintf(spec, sizeof spec, "stochastic:k=%d,scale=contractive|%s", k, second[q]);
            const double lost = 1 - (q ? 1.0 / (1 + fmin(10.0, 100.0 / 4)) : 8.0 / 9);
            double min = 1;
            for (double f = k / 100.0; f <= 1; f += 1e-5)
                for (int whole = 0; whole < 2; whole++) min = fmin(min, f - whole * lost * f * (2 - f));
            tithe_codec *codec = codec_of(spec);
            const double delta = claims_of(codec, 100).delta;
            expect(fabs(delta - min) < 1e-4, "%s: delta is %.9g instead of %.9g", spec, delta, min);
            tithe_codec_free(codec);
        }
}

/* ---- what holds for all ------------------------------------------------------------------------------------------ */

static void ask_for_sense(const tithe_codec *codec, void *context)
{
    (void)context;
    static const size_t sizes[] = {0, 1, 2, 7, 100, 100000, TITHE_MAX_N};
    const char *spec = tithe_codec_spec(codec);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const size_t n = sizes[i];
        const tithe_claims c = claims_of(codec, n);
        expect(c.omega >= 0 && isfinite(c.omega), "%s n=%zu: omega = %g", spec, n, c.omega);
        expect(c.delta <= 1 && isfinite(c.delta), "%s n=%zu: delta = %g", spec, n, c.delta);
        expect(c.Delta >= 0 && isfinite(c.Delta), "%s n=%zu: Delta = %g", spec, n, c.Delta);
        expect(c.smallest >= 0 && c.largest > 0, "%s n=%zu: range %g to %g", spec, n, c.smallest, c.largest);
        if (c.traits & U) /* E|C-x|^2 = E|C|^2 - |x|^2 */
            expect(fabs(c.delta - (1 - c.omega)) <= 1e-12 * (1 + c.omega),
                   "%s n=%zu: unbiased, but delta = %g", spec, n, c.delta);
        expect(!(c.traits & C) == !(c.delta > 0 && c.Delta == 0), "%s n=%zu: contractive? delta = %g", spec,
               n, c.delta);
        if (c.traits & A) expect(c.delta == 1, "%s n=%zu: absolute, but delta = %g", spec, n, c.delta);
        /* After a selector that shares, or a rounding, the bound is a worst case that may say little. */
        if (strstr(spec, "scale=contractive") && !strstr(spec, "scale=norm") &&
            !tithe_codec_quantizer(codec)->rounds && !tithe_codec_selector(codec)->shares &&
            !source_is(codec, TITHE_INDICES_GIVEN))
            expect(c.delta > 0 && c.omega < 1e-12, "%s n=%zu: contractive in name only", spec, n);
        if (c.traits & S) assert_string_equal(tithe_codec_quantizer(codec)->name, "raw");
    }
}

static void promises_make_sense_for_every_codec(void **state)
{
    (void)state;
    ask_every_codec(ask_for_sense, NULL);
}

/* Frames of a fixed size are equally long, whatever is in the vector. */
static void ask_for_fixed_sizes(const tithe_codec *codec, void *context)
{
    (void)context;
    rig r = rig_make(codec, 333, 0);
    const bool fixed = claims_of(codec, 333).traits & F;
    size_t first = 0;
    bool differs = false;
    for (input_kind k = 0; k < KINDS; k++) {
        if (k == HUGE_NUMBERS) continue;
        rig_fill(&r, k);
        expect(rig_encode(&r) == TITHE_OK, "%s n=%zu: %s", RIG_SAYS(&r));
        differs |= first && r.info.bytes != first;
        first = r.info.bytes;
    }
    expect(!(fixed && differs), "%s: the size depends on the data", tithe_codec_spec(codec));
    rig_free(&r);
}

static void fixed_sizes_are_fixed(void **state)
{
    (void)state;
    ask_every_codec(ask_for_fixed_sizes, NULL);
}

/* Codecs without randomness keep their promise on every vector in their range, not only on average. */
static void ask_the_deterministic(const tithe_codec *codec, void *context)
{
    (void)context;
    static const char *const selectors[] = {"all", "topk", "threshold"}, *const quantizers[] = {
                                                                             "raw", "f16", "bf16", "sign"};
    bool first = false, second = false;
    for (int i = 0; i < 3; i++) first |= strcmp(tithe_codec_selector(codec)->name, selectors[i]) == 0;
    for (int i = 0; i < 4; i++) second |= strcmp(tithe_codec_quantizer(codec)->name, quantizers[i]) == 0;
    if (!first || !second) return;
    for (size_t n = 1; n < 300; n = n * 3 / 2 + 1)
        for (input_kind k = 0; k < KINDS; k++) {
            rig r = rig_make(codec, n, 0);
            rig_fill(&r, k);
            const tithe_claims c = claims_of(codec, n);
            bool in_range = true;
            double energy = 0, sent = 0, error = 0;
            for (size_t i = 0; i < n; i++) {
                const double a = fabs(get_number(r.type, r.x, i));
                in_range &= a == 0 || (a >= c.smallest && a <= c.largest);
                energy += a * a;
            }
            if (in_range && rig_encode(&r) == TITHE_OK) {
                rig_clear_y(&r);
                expect(rig_decode(&r, 1) == TITHE_OK, "%s n=%zu: %s", RIG_SAYS(&r));
                for (size_t i = 0; i < n; i++) {
                    const double v = get_number(r.type, r.x, i), y = get_number(r.type, r.y.data, i);
                    sent += y * y;
                    error += (y - v) * (y - v);
                }
                expect(sent <= (1 + c.omega) * energy * (1 + 1e-6), "%s n=%zu, %s: |C(x)|^2 = %g |x|^2",
                       tithe_codec_spec(codec), n, kind_name(k), sent / energy);
                expect(error <= (1 - c.delta) * energy + c.Delta * c.Delta + 1e-6 * energy,
                       "%s n=%zu, %s: error %g |x|^2", tithe_codec_spec(codec), n, kind_name(k),
                       error / energy);
            }
            rig_free(&r);
        }
}

static void deterministic_codecs_keep_their_promises_always(void **state)
{
    (void)state;
    ask_every_codec(ask_the_deterministic, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(selectors_alone),
        cmocka_unit_test(natural_after_a_selector),
        cmocka_unit_test(the_other_quantizers),
        cmocka_unit_test(stochastic_with_a_contractive_quantizer),
        cmocka_unit_test(promises_make_sense_for_every_codec),
        cmocka_unit_test(fixed_sizes_are_fixed),
        cmocka_unit_test(deterministic_codecs_keep_their_promises_always),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
