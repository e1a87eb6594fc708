/* test_select_random.c - the selectors that draw: randk against the drawing of docs/format.md and for evenness,
 * stochastic against water-filling by sorting, on vectors made to mislead it, and for the frequencies it promises. */
#include "base/rng.h"
#include "codec/selected.h"
#include "kernels/stream.h"

/* ---- randk --------------------------------------------------------------------------------------------------- */

/* The positions that a frame of randk|raw fills, seen from the decoder. */
static size_t drawn(const tithe_codec *codec, const tithe_call *call, const selected *s, size_t n,
                    uint32_t *at)
{
    tithe_call with = *call;
    float *y = calloc(n + 1, sizeof *y);
    with.scratch_size = tithe_codec_scratch(codec, n);
    with.scratch = malloc(with.scratch_size + 1);
    tithe_error error = {0};
    expect(tithe_decode_add(codec, &with, s->frame, s->info.bytes, 1, y, n, &error) == TITHE_OK, "%s",
           error.text);
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        if (y[i] != 0) at[count++] = (uint32_t)i;
    free(with.scratch);
    free(y);
    return count;
}

/* Section 5 of docs/format.md: Floyd's method, on the stream that test_rng.c has compared with the page. */
static size_t floyd(tithe_key key, size_t n, size_t entries, uint32_t *at)
{
    bool *marked = calloc(n + 1, sizeof *marked);
    const bool complement = entries > n / 2;
    const size_t draws = complement ? n - entries : entries;
    rng_stream stream;
    ti_rng_stream_start(&stream, key);
    for (size_t j = n - draws; j < n; j++) {
        const size_t t = ti_rng_stream_below(&stream, (uint32_t)(j + 1));
        marked[marked[t] ? j : t] = true;
    }
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        if (marked[i] != complement) at[count++] = (uint32_t)i;
    free(marked);
    return count;
}

static void randk_draws_as_the_page_says(void **state)
{
    (void)state;
    dice d = {40};
    enum { MAX = 9000 };
    static float x[MAX];
    static uint32_t theirs[MAX], mine[MAX];
    for (size_t i = 0; i < MAX; i++) x[i] = 1 + (float)i;
    tithe_codec *codec = codec_with("randk", (tithe_codec_options){TITHE_F32, false, true});
    for (int trial = 0; trial < 400; trial++) {
        const size_t n = trial % 10 ? 1 + roll_below(&d, 200) : 1 + roll_below(&d, MAX),
                     k = 1 + roll_below(&d, n + 1);
        const tithe_call call = {.seed = roll(&d),
                                 .step = (uint32_t)roll(&d),
                                 .rank = (uint32_t)roll(&d),
                                 .tensor = (uint32_t)roll(&d),
                                 .level = (double)k};
        selected s = select_with(codec, call, x, n);
        const size_t wanted = k < n ? k : n;
        assert_int_equal(s.info.entries, wanted);
        assert_int_equal(s.info.index_bits, 0);
        assert_int_equal(drawn(codec, &call, &s, n, theirs), wanted); /* distinct: each is non-zero once */
        assert_int_equal(
            floyd(ti_rng_key(call.seed, call.step, call.rank, call.tensor, RNG_SELECT), n, wanted, mine),
            wanted);
        assert_memory_equal(mine, theirs, wanted * sizeof *mine);
        const float factor = (float)((double)n / (double)wanted);
        for (size_t i = 0; i < wanted;
             i++) { /* values in the order of the positions, scaled up to be unbiased */
            assert_true(get_f32(s.values + 4 * i) == x[mine[i]] * factor);
        }
        selected_free(&s);
    }
    tithe_codec_free(codec);
}

/* Every position, and every pair of positions, has its chance. */
static void randk_is_even(void **state)
{
    (void)state;
    enum { N = 12, TRIALS = 12000 };
    const tithe_selector *randk = tithe_selectors()[4];
    assert_string_equal(randk->name, "randk");
    for (size_t k = 1; k <= N; k++) {
        size_t single[N] = {0}, both[N][N] = {{0}};
        for (uint64_t seed = 0; seed < TRIALS; seed++) {
            uint32_t at[N + 1];
            uint64_t scratch[2];
            randk->draw(ti_rng_key(seed, 0, 0, 0, RNG_SELECT), N, k, at, scratch);
            for (size_t i = 0; i < k; i++) {
                single[at[i]]++;
                for (size_t j = 0; j < i; j++) both[at[i]][at[j]]++;
            }
        }
        const double p = (double)k / N, pair = p * (double)(k - 1) / (N - 1);
        for (size_t i = 0; i < N; i++) {
            expect(fabs((double)single[i] - TRIALS * p) <= count_slack(TRIALS, p),
                   "k=%zu: position %zu came %zu times", k, i, single[i]);
            for (size_t j = 0; j < i; j++)
                expect(fabs((double)both[i][j] - TRIALS * pair) <= count_slack(TRIALS, pair),
                       "k=%zu: %zu and %zu came %zu times", k, i, j, both[i][j]);
        }
    }
}

/* ---- stochastic: the probabilities --------------------------------------------------------------------------- */

/* Water-filling by sorting: the j largest are exact, and M = (sum of the others) / (T - j) is at least the next. */
typedef struct waterline {
    double magnitude; /* M; 0 when everything is exact */
    size_t exact;
    double squares; /* E|C(x)|^2 / max^2, before any contraction */
} waterline;

static waterline water_by_sorting(tithe_type type, const void *x, size_t n, double budget)
{
    sort_entry *sorted = sorted_magnitudes(type, x, 0, n);
    waterline w = {0};
    size_t nonzero = 0;
    while (nonzero < n && sorted[nonzero].magnitude > 0) nonzero++;
    const long double unit = nonzero ? (long double)sorted[0].magnitude : 1;
    long double rest = 0, exact = 0;
    size_t j = nonzero;
    if ((double)nonzero > budget) {
        /* From the smallest up, as long as the water covers them. */
        while (j > 0) {
            rest += (long double)sorted[--j].magnitude;
            const long double line = rest / ((long double)budget - (long double)j);
            if ((double)j < budget && line >= (long double)sorted[j].magnitude &&
                (j == 0 || line <= (long double)sorted[j - 1].magnitude))
                break;
        }
        w.magnitude = (double)(rest / ((long double)budget - (long double)j));
    }
    for (size_t i = 0; i < j; i++)
        exact += (long double)sorted[i].magnitude / unit * ((long double)sorted[i].magnitude / unit);
    w.exact = j;
    w.squares = (double)(exact + (long double)w.magnitude / unit * (rest / unit));
    free(sorted);
    return w;
}

/* What a frame of stochastic|raw says: entries that share a magnitude, and which. */
static uint32_t read_shared(const selected *s, tithe_type type, double *magnitude)
{
    uint32_t u = 0;
    const uint8_t *p = s->values;
    for (unsigned shift = 0;; shift += 7) {
        u |= (uint32_t)(*p & 127) << shift;
        if (!(*p++ & 128)) break;
    }
    *magnitude = u ? frame_number(type, p) : 0;
    return u;
}

static void decode_raw(const tithe_codec *codec, const selected *s, void *y, size_t n)
{
    tithe_call call = {.scratch_size = tithe_codec_scratch(codec, n)};
    call.scratch = malloc(call.scratch_size + 1);
    memset(y, 0, n * type_bytes(tithe_codec_type(codec)));
    tithe_error error = {0};
    const tithe_status status =
        tithe_codec_type(codec) == TITHE_F32
            ? tithe_decode_add(codec, &call, s->frame, s->info.bytes, 1, y, n, &error)
            : tithe_decode_add_f64(codec, &call, s->frame, s->info.bytes, 1, y, n, &error);
    expect(status == TITHE_OK, "%s", error.text);
    free(call.scratch);
}

/* Up to rounding, which is coarser among the smallest floats. */
static bool is_near(double value, double wanted, double epsilon)
{
    return fabs(value - wanted) <= epsilon * fabs(wanted) + (epsilon > 1e-9 ? 0x1p-149 : 0);
}

/* One frame against the waterline: who is exact, what the others have become, and nobody else. */
static void expect_waterline(tithe_type type, const void *x, size_t n, double budget, bool contractive,
                             const char *what)
{
    tithe_codec *codec = codec_with("stochastic", (tithe_codec_options){type, contractive, true});
    const waterline w = water_by_sorting(type, x, n, budget);
    selected s = select_with(codec, (tithe_call){.seed = 9, .level = budget}, x, n);
    expect(s.status == TITHE_OK, "%s, T=%g: %s", what, budget, s.error.text);
    double *y = malloc((n + 1) * sizeof *y), shared;
    const uint32_t u = read_shared(&s, type, &shared);
    decode_raw(codec, &s, y, n);
    double max = 0, norm = 0;
    for (size_t i = 0; i < n; i++) max = fmax(max, fabs(get_number(type, x, i)));
    for (size_t i = 0; max > 0 && i < n; i++) norm += pow(get_number(type, x, i) / max, 2);
    const double factor = contractive && w.magnitude > 0 ? norm / w.squares : 1,
                 epsilon = type == TITHE_F32 ? 3e-7 : 1e-12;
    if (u)
        expect(is_near(shared, w.magnitude * factor, epsilon), "%s, T=%g: M is %.17g instead of %.17g", what,
               budget, shared, w.magnitude * factor);
    size_t exact = 0;
    for (size_t i = 0; i < n; i++) {
        const double v = get_number(type, x, i), got = get_number(type, y, i), a = fabs(v);
        if (a == 0 || (got == 0 && a < w.magnitude * (1 + epsilon))) { /* left out, as it may be */
            expect(got == 0, "%s: zero was sent as %g", what, got);
            continue;
        }
        const bool is_shared = is_near(fabs(got), w.magnitude * factor, epsilon);
        const bool is_exact = is_near(got, v * factor, epsilon);
        expect((got > 0) == (v > 0) && (a > w.magnitude * (1 + epsilon)   ? is_exact
                                        : a < w.magnitude * (1 - epsilon) ? is_shared
                                                                          : is_exact || is_shared),
               "%s, T=%g: %.9g became %.9g, M = %.9g", what, budget, v, got, w.magnitude);
        exact += a > w.magnitude * (1 + epsilon);
        if (!contractive && a > w.magnitude * (1 + epsilon))
            expect(got == v, "%s: %.17g became %.17g", what, v, got);
    }
    expect(exact <= w.exact && s.info.entries >= exact, "%s, T=%g: %zu exact entries instead of %zu", what,
           budget, exact, w.exact);
    if (w.magnitude == 0)
        expect(u == 0 && s.info.entries == w.exact, "%s, T=%g: all fit, but not all went", what, budget);
    free(y);
    selected_free(&s);
    tithe_codec_free(codec);
}

static void water_fills_every_vessel(void **state)
{
    (void)state;
    dice d = {41};
    enum { N = 400 };
    static double source[N], x[N];
    static const char *const names[] = {"gaussian", "half each", "nine tenths each", "squares of two", "flat",
                                        "sparse",   "ties",      "one large",        "denormals"};
    for (int shape = 0; shape < 9; shape++)
        for (int trial = 0; trial < 40; trial++) {
            const size_t n = trial < 20 ? 1 + roll_below(&d, 30) : N;
            for (size_t i = 0; i < n; i++) {
                const double sign = roll_below(&d, 2) ? 1 : -1, k = (double)(i % 140);
                source[i] = sign * (shape == 0   ? roll_gauss(&d)
                                    : shape == 1 ? pow(0.5, k)
                                    : shape == 2 ? pow(0.9, (double)i)
                                    : shape == 3 ? pow(2, -(double)(i * i % 145))
                                    : shape == 4 ? 0.5
                                    : shape == 5 ? (roll_below(&d, 10) ? 0 : roll_gauss(&d))
                                    : shape == 6 ? (double)roll_below(&d, 4)
                                    : shape == 7 ? (i == n / 3 ? 1e6 : 1)
                                                 : ldexp((double)(1000000 + roll_below(&d, 1000)), -149));
            }
            for (tithe_type type = TITHE_F32; type <= TITHE_F64; type++) {
                for (size_t i = 0; i < n; i++) set_number(type, x, i, source[i]);
                const double whole = (double)n,
                             budgets[] = {0.5, 1, 1.5, sqrt(whole), whole / 3, whole - 0.5, whole, 2 * whole};
                const double budget = budgets[trial % 8] < whole ? budgets[trial % 8] : whole;
                expect_waterline(type, x, n, budget, false, names[shape]);
                if (budget >= 0.4) expect_waterline(type, x, n, budget, true, names[shape]);
            }
        }
}

/* Doubles whose squares are no doubles any more. */
static void very_large_and_very_small_doubles(void **state)
{
    (void)state;
    dice d = {42};
    static const double scales[] = {1e-300, 1e-180, 1e-160, 1e154, 1e200, 1e300};
    for (size_t s = 0; s < sizeof scales / sizeof *scales; s++) {
        double x[60];
        for (size_t i = 0; i < 60; i++) x[i] = scales[s] * roll_gauss(&d) * (i % 7 ? 1 : 50);
        expect_waterline(TITHE_F64, x, 60, 12, false, "scaled");
        expect_waterline(TITHE_F64, x, 60, 12, true, "scaled");
    }
    /* In f64, the steepest vessels of all: each number is the square of the one before. */
    double steep[9];
    for (int i = 0; i < 9; i++) steep[i] = pow(0.5, (double)(1 << i));
    for (double budget = 0.5; budget <= 9; budget += 0.5)
        expect_waterline(TITHE_F64, steep, 9, budget, false, "steep");
}

static void a_magnitude_that_is_no_float_is_refused(void **state)
{
    (void)state;
    const float x[4] = {3e38f, 1e38f, 2e38f, 1e38f};
    for (int contractive = 0; contractive < 2; contractive++) {
        tithe_codec *codec =
            codec_with("stochastic:k=1e-3", (tithe_codec_options){TITHE_F32, contractive, false});
        selected s = select_with(codec, (tithe_call){0}, x, 4); /* M would be about 7e41 */
        expect(s.status == TITHE_E_RANGE, "status %d", s.status);
        selected_free(&s);
        tithe_codec_free(codec);
    }
}

/* ---- stochastic: the frequencies ----------------------------------------------------------------------------- */

static void entries_come_as_often_as_they_should(void **state)
{
    (void)state;
    enum { N = 40, TRIALS = 20000 };
    float x[N], y[N];
    dice d = {43};
    for (size_t i = 0; i < N; i++) x[i] = (float)(roll_gauss(&d) * (i < 3 ? 20 : i < 6 ? 1e-3 : 1));
    tithe_codec *codec = codec_of("stochastic:k=11.3");
    const waterline w = water_by_sorting(TITHE_F32, x, N, 11.3);
    assert_true(w.exact >= 2 && w.exact < 11);
    size_t count[N] = {0}, total = 0;
    for (uint32_t step = 0; step < TRIALS; step++) {
        selected s = select_with(codec, (tithe_call){.seed = 3, .step = step}, x, N);
        decode_raw(codec, &s, y, N);
        for (size_t i = 0; i < N; i++) count[i] += y[i] != 0;
        total += s.info.entries;
        selected_free(&s);
    }
    double sum = 0;
    for (size_t i = 0; i < N; i++) {
        const double p = fmin(1, fabs((double)x[i]) / w.magnitude);
        sum += p;
        expect(fabs((double)count[i] - TRIALS * p) <= count_slack(TRIALS, p),
               "%g with p = %.5f came %zu times", (double)x[i], p, count[i]);
        if (p == 1) assert_int_equal(count[i], TRIALS);
    }
    assert_true(fabs(sum - 11.3) < 1e-6);
    expect(fabs((double)total - TRIALS * 11.3) < count_slack(TRIALS * (double)N, 11.3 / N),
           "%zu entries in all", total);
    tithe_codec_free(codec);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(randk_draws_as_the_page_says),
        cmocka_unit_test(randk_is_even),
        cmocka_unit_test(water_fills_every_vessel),
        cmocka_unit_test(very_large_and_very_small_doubles),
        cmocka_unit_test(a_magnitude_that_is_no_float_is_refused),
        cmocka_unit_test(entries_come_as_often_as_they_should),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
