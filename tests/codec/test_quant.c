/* test_quant.c - natural compression with the probabilities that it promises, halves against exact rounding, and the
 * sign with its magnitude. test_levels.c has the dithers. */
#include "base/bytes.h"
#include "codec/coded.h"

/* ---- natural ------------------------------------------------------------------------------------------------- */

enum { DRAWS = 1 << 20 };

/* `value`, many times over: how often does it become `up`, and never anything but `down` otherwise? */
static void expect_chance_in(const tithe_codec *codec, double value, double down, double up, double p,
                             uint64_t rounds)
{
    static double x[DRAWS];
    const tithe_type type = tithe_codec_type(codec);
    for (size_t i = 0; i < DRAWS; i++) set_number(type, x, i, value);
    size_t ups[2] = {0}; /* even and odd positions take different halves of a random number */
    for (uint64_t round = 0; round < rounds; round++) {
        coded c = code_numbers(codec, (tithe_call){.seed = 17 + round}, x, DRAWS, TITHE_OK);
        for (size_t i = 0; i < DRAWS; i++) {
            const double y = get_number(type, c.y, i);
            if (y != up && y != down) fail_msg("%.17g became %.17g", value, y);
            ups[i % 2] += y == up && up != down;
        }
        coded_free(&c);
    }
    const double trials = (double)rounds * DRAWS / 2;
    for (int half = 0; half < 2; half++)
        expect(fabs((double)ups[half] - trials * p) <= count_slack(trials, p),
               "%.17g went up %zu times of %.0f, p = %.9g", value, ups[half], trials, p);
}

static void expect_chance(const tithe_codec *codec, double value, double down, double up, double p)
{
    expect_chance_in(codec, value, down, up, p, 1);
}

static void natural_rounds_up_as_often_as_the_mantissa_says(void **state)
{
    (void)state;
    tithe_codec *nine = codec_of("natural"), *eight = codec_of("natural:bits=8"),
                *twelve = codec_of("natural:type=f64");
    static const uint32_t mantissas[] = {0,        1,        40,       127,      128,     200,
                                         0x200000, 0x2aaaaa, 0x400000, 0x7fff80, 0x7fffff};
    for (size_t i = 0; i < sizeof mantissas / sizeof *mantissas; i++) {
        const double p = mantissas[i] / 8388608.0;
        expect_chance(nine, (double)float_of_bits(130u << 23 | mantissas[i]), 8, mantissas[i] ? 16 : 8, p);
        if (i % 3 == 0) {
            expect_chance(eight, -(double)float_of_bits(126u << 23 | mantissas[i]), -0.5,
                          mantissas[i] ? -1 : -0.5, p);
            expect_chance(twelve, ldexp(1 + p, -500), ldexp(1, -500), p > 0 ? ldexp(1, -499) : ldexp(1, -500),
                          p);
        }
    }
    /* Denormals are 0 or the smallest normal number, with the same chance: unbiased. */
    expect_chance(nine, (double)float_of_bits(0x300000), 0, 0x1p-126, 0x300000 / 8388608.0);
    expect_chance(twelve, 0x0.4p-1022, 0, 0x1p-1022, 0.25);
    /* The second part of the decision, which one value in 65536 needs: seven bits of a float, 36 of a double. */
    expect_chance_in(nine, 1 + 127 * 0x1p-23, 1, 2, 127 * 0x1p-23, 10);
    expect_chance_in(twelve, 1 + 0x1.fp-17, 1, 2, 0x1.fp-17, 8);
    tithe_codec_free(nine);
    tithe_codec_free(eight);
    tithe_codec_free(twelve);
}

static void expect_one(const tithe_codec *codec, double value, double wanted)
{
    double x[1];
    const tithe_type type = tithe_codec_type(codec);
    set_number(type, x, 0, value);
    for (uint64_t seed = 0; seed < 20; seed++) {
        coded c = code_numbers(codec, (tithe_call){.seed = seed}, x, 1, TITHE_OK);
        const double y = get_number(type, c.y, 0);
        expect(y == wanted, "%s: %.17g became %.17g instead of %.17g", tithe_codec_spec(codec), value, y,
               wanted);
        coded_free(&c);
    }
}

static void powers_of_two_are_exact_and_the_ends_hold(void **state)
{
    (void)state;
    tithe_codec *nine = codec_of("natural"), *eight = codec_of("natural:bits=8"),
                *twelve = codec_of("natural:type=f64");
    for (int e = -126; e <= 127; e++) {
        expect_one(nine, ldexp(1, e), ldexp(1, e));
        expect_one(nine, -ldexp(1, e), -ldexp(1, e));
        expect_one(eight, -ldexp(1, e), e < -108 ? 0 : e > 18 ? -0x1p18 : -ldexp(1, e));
    }
    for (int e = -1022; e <= 1023; e += 5) expect_one(twelve, ldexp(1, e), ldexp(1, e));
    expect_one(nine, 0, 0);
    expect_one(nine, -0.0, 0);
    expect_one(nine, (double)FLT_MAX, 0x1p127); /* there is no upper neighbour */
    expect_one(nine, -0x1.8p127, -0x1p127);
    expect_one(eight, 300000, 0x1p18);
    expect_one(eight, -1e38, -0x1p18);
    expect_one(eight, 0x1.8p-110, 0); /* up or down, it is too small */
    expect_one(eight, -0.0, 0);
    expect_one(twelve, DBL_MAX, 0x1p1023);
    expect_one(twelve, -1.5e308, -0x1p1023);
    tithe_codec_free(nine);
    tithe_codec_free(eight);
    tithe_codec_free(twelve);
}

static void the_sign_of_zero_does_not_matter_to_a_sum(void **state)
{
    (void)state;
    const float x[3] = {-0.0f, 0.0f, -0.0f};
    tithe_codec *codec = codec_of("natural");
    coded c = code_numbers(codec, (tithe_call){0}, x, 3, TITHE_OK);
    for (int i = 0; i < 3; i++) assert_int_equal(bits_of_float(((float *)c.y)[i]), 0);
    assert_int_equal(c.values[3], 5); /* but it travels: bits 0 and 2 */
    coded_free(&c);
    tithe_codec_free(codec);
}

static void the_smallest_code_of_eight_bits_is_drawn_too(void **state)
{
    (void)state;
    tithe_codec *codec = codec_of("natural:bits=8");
    expect_chance(codec, 0x1.4p-109, 0, 0x1p-108, 0.25);
    expect_chance(codec, 0x1.cp17, 0x1p17, 0x1p18, 0.75);
    tithe_codec_free(codec);
}

static void contractive_multiplies_by_eight_ninths(void **state)
{
    (void)state;
    tithe_codec *floats = codec_of("natural:scale=contractive"),
                *doubles = codec_of("natural:scale=contractive,type=f64");
    expect_one(floats, 4, (double)(4 * (float)(8.0 / 9)));
    expect_one(floats, -0x1p-126, (double)(-0x1p-126f * (float)(8.0 / 9)));
    expect_one(doubles, 4, 4 * (8.0 / 9));
    tithe_codec_free(floats);
    tithe_codec_free(doubles);
}

/* ---- halves -------------------------------------------------------------------------------------------------- */

/* The nearest number with `digits` bits and no exponent below `least`, ties to even: dividing by a power of two is
 * exact in double, and rint does the rest. */
static double nearest(double x, int digits, int min)
{
    if (x == 0) return x;
    const int exponent = ilogb(x) < min ? min : ilogb(x);
    const double quantum = ldexp(1, exponent - digits + 1);
    return rint(x / quantum) * quantum;
}

typedef struct half_format {
    const char *spec;
    int digits, min;
    double largest;
    uint32_t infinity; /* pattern of it: from here on nothing is finite */
} half_format;

static const half_format halves[] = {{"f16", 11, -14, 65504, 0x7c00}, {"bf16", 8, -126, 0x1.fep127, 0x7f80}};

static void every_half_comes_back(void **state)
{
    (void)state;
    for (int f = 0; f < 2; f++) {
        tithe_codec *codec = codec_of(halves[f].spec);
        static float x[65536];
        size_t n = 0;
        static uint16_t pattern[65536];
        for (uint32_t bits = 0; bits < 65536; bits++) {
            const uint32_t magnitude = bits & 0x7fff, digits = (uint32_t)halves[f].digits - 1;
            if (magnitude >= halves[f].infinity) continue;
            /* value = 1.m * 2^(e - bias), or 0.m * 2^(1 - bias) */
            const uint32_t e = magnitude >> digits, m = magnitude & ((1u << digits) - 1);
            const double v = ldexp((double)(e ? m + (1u << digits) : m),
                                   (int)(e ? e : 1) - 1 + halves[f].min - (int)digits);
            pattern[n] = (uint16_t)bits;
            x[n++] = (float)(bits >> 15 ? -v : v);
        }
        assert_int_equal(n, 2 * halves[f].infinity);
        coded c = code_numbers(codec, (tithe_call){0}, x, n, TITHE_OK);
        for (size_t i = 0; i < n; i++) {
            expect((c.values[2 * i] | c.values[2 * i + 1] << 8) == pattern[i],
                   "%s: %.9g is written as %02x%02x, not %04x", halves[f].spec, (double)x[i],
                   c.values[2 * i + 1], c.values[2 * i], pattern[i]);
            assert_true(((float *)c.y)[i] == x[i]);
        }
        coded_free(&c);
        tithe_codec_free(codec);
    }
}

/* Every exponent, with the mantissas where rounding goes wrong: ties, their neighbours, carries, and others. */
static size_t telling_floats(float *x, double largest)
{
    dice d = {50};
    size_t n = 0;
    for (uint32_t exponent = 0; exponent < 255; exponent++)
        for (uint32_t k = 0; k < 160; k++) {
            uint32_t mantissa = (uint32_t)roll(&d) & 0x7fffff;
            if (k < 24) mantissa = 0x7fffff & (1u << k);
            if (k >= 24 && k < 48) mantissa = 0x7fffff & ~(1u << (k - 24));
            if (k >= 48 && k < 96)
                mantissa = (mantissa & ~0u << k % 24) | (1u << k % 24 >> 1); /* a tie at bit k */
            if (k >= 96 && k < 120) mantissa = ((mantissa & ~0u << k % 24) | (1u << k % 24 >> 1)) + 1;
            if (k >= 120 && k < 144) mantissa = ((mantissa & ~0u << k % 24) | (1u << k % 24 >> 1)) - 1;
            const float v =
                float_of_bits((uint32_t)(roll(&d) & 1) << 31 | exponent << 23 | (mantissa & 0x7fffff));
            if (fabs((double)v) <= largest) x[n++] = v;
        }
    return n;
}

static void halves_are_rounded_to_the_nearest(void **state)
{
    (void)state;
    for (int f = 0; f < 2; f++) {
        static float x[255 * 160];
        const size_t n = telling_floats(x, halves[f].largest);
        tithe_codec *codec = codec_of(halves[f].spec);
        coded c = code_numbers(codec, (tithe_call){0}, x, n, TITHE_OK);
        for (size_t i = 0; i < n; i++) {
            const double wanted = nearest((double)x[i], halves[f].digits, halves[f].min);
            expect((double)((float *)c.y)[i] == wanted, "%s: %a became %a instead of %a", halves[f].spec,
                   (double)x[i], (double)((float *)c.y)[i], wanted);
        }
#if defined(__FLT16_MAX__) && !defined(__clang__)
        for (size_t i = 0; i < n && f == 0; i++) { /* and as the compiler does it */
            __extension__ const _Float16 half = (_Float16)x[i];
            assert_true((float)half == ((float *)c.y)[i]);
        }
#endif
        coded_free(&c);
        tithe_codec_free(codec);
    }
}

static void what_no_half_can_hold_is_refused(void **state)
{
    (void)state;
    for (int f = 0; f < 2; f++) {
        tithe_codec *codec = codec_of(halves[f].spec);
        float x[2] = {1, (float)halves[f].largest};
        coded c = code_numbers(codec, (tithe_call){0}, x, 2, TITHE_OK);
        coded_free(&c);
        x[1] = nextafterf(-x[1], -INFINITY);
        c = code_numbers(codec, (tithe_call){0}, x, 2, TITHE_E_RANGE);
        coded_free(&c);
        tithe_codec_free(codec);
    }
}

/* ---- sign ---------------------------------------------------------------------------------------------------- */

static void the_magnitude_is_the_mean_of_the_survivors(void **state)
{
    (void)state;
    dice d = {51};
    for (size_t n = 1; n < 200; n += 3) {
        float x[200];
        double sum = 0;
        for (size_t i = 0; i < n; i++) {
            x[i] = (float)roll_gauss(&d);
            if (i % 10 == 3) x[i] = i % 20 == 3 ? -0.0f : 0; /* zeros of both signs count as positive */
            sum += fabs((double)x[i]);
        }
        tithe_codec *codec = codec_of("sign");
        coded c = code_numbers(codec, (tithe_call){0}, x, n, TITHE_OK);
        assert_int_equal(c.info.value_bits, 32 + n);
        for (size_t i = 0; i < n; i++) {
            const float y = ((float *)c.y)[i];
            expect(fabs(fabs((double)y) - sum / (double)n) <= 1e-7 * sum / (double)n,
                   "magnitude %.9g instead of %.9g", (double)fabsf(y), sum / (double)n);
            assert_true((y < 0) == (x[i] < 0));
        }
        coded_free(&c);
        tithe_codec_free(codec);
    }
}

static void scale_norm_takes_the_norm_of_the_whole(void **state)
{
    (void)state;
    const float x[6] = {3, -1, 4, -1, 5, -9};
    const double norm = sqrt(9 + 1 + 16 + 1 + 25 + 81);
    tithe_codec *codec = codec_of("topk:k=2|sign:scale=norm");
    coded c = code_numbers(codec, (tithe_call){0}, x, 6, TITHE_OK);
    const float wanted[6] = {0, 0, 0, 0, (float)norm, -(float)norm};
    assert_memory_equal(c.y, wanted, sizeof wanted);
    coded_free(&c);
    tithe_codec_free(codec);
    codec = codec_of("topk:k=2|sign"); /* and the default the mean of those two */
    c = code_numbers(codec, (tithe_call){0}, x, 6, TITHE_OK);
    assert_true(((float *)c.y)[4] == 7 && ((float *)c.y)[5] == -7 && ((float *)c.y)[2] == 0);
    coded_free(&c);
    tithe_codec_free(codec);
    const float large[2] = {3e38f, 3e38f}; /* whose norm is no float */
    codec = codec_of("sign:scale=norm");
    c = code_numbers(codec, (tithe_call){0}, large, 2, TITHE_E_RANGE);
    coded_free(&c);
    tithe_codec_free(codec);
    codec = codec_of("sign");
    c = code_numbers(codec, (tithe_call){0}, large, 2, TITHE_OK);
    assert_true(((float *)c.y)[1] == 3e38f);
    coded_free(&c);
    tithe_codec_free(codec);
}

static void raw_changes_nothing(void **state)
{
    (void)state;
    static float x[255 * 160];
    const size_t n = telling_floats(x, (double)FLT_MAX);
    tithe_codec *codec = codec_of("raw");
    coded c = code_numbers(codec, (tithe_call){0}, x, n, TITHE_OK);
    for (size_t i = 0; i < n; i++)
        assert_true(get_u32(c.values + 4 * i) == bits_of_float(x[i]) && ((float *)c.y)[i] == x[i]);
    coded_free(&c);
    tithe_codec_free(codec);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(natural_rounds_up_as_often_as_the_mantissa_says),
        cmocka_unit_test(powers_of_two_are_exact_and_the_ends_hold),
        cmocka_unit_test(the_sign_of_zero_does_not_matter_to_a_sum),
        cmocka_unit_test(the_smallest_code_of_eight_bits_is_drawn_too),
        cmocka_unit_test(contractive_multiplies_by_eight_ninths),
        cmocka_unit_test(every_half_comes_back),
        cmocka_unit_test(halves_are_rounded_to_the_nearest),
        cmocka_unit_test(what_no_half_can_hold_is_refused),
        cmocka_unit_test(the_magnitude_is_the_mean_of_the_survivors),
        cmocka_unit_test(scale_norm_takes_the_norm_of_the_whole),
        cmocka_unit_test(raw_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
