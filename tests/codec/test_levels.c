/* test_levels.c - the two dithers, value by value: the norm of each bucket, a level next to where the number stands,
 * the widths of the codes, and the frequencies that make it unbiased. All of it is computed here a second time. */
#include "codec/coded.h"

/* ---- what a codec of this kind should do ---------------------------------------------------------------------- */

typedef struct setting {
    bool natural; /* natdither, else dither */
    int p;        /* 0 is the maximum norm */
    unsigned s;
    size_t bucket; /* 0: one for all */
    bool norm_natural, elias, contractive;
} setting;

static tithe_codec *codec_for(const setting *t)
{
    char spec[160], p[12];
    snprintf(p, sizeof p, t->p ? "%d" : "inf", t->p);
    snprintf(spec, sizeof spec, "%s:p=%s,s=%u,bucket=%zu,norm=%s,code=%s,scale=%s",
             t->natural ? "natdither" : "dither", p, t->s, t->bucket, t->norm_natural ? "natural" : "raw",
             t->elias ? "elias" : "fixed", t->contractive ? "contractive" : "unbiased");
    return codec_of(spec);
}

static long double norm_of(const setting *t, const float *x, size_t n)
{
    long double sum = 0;
    for (size_t i = 0; i < n; i++) {
        const long double a = fabsl((long double)x[i]);
        sum = t->p == 0 ? fmaxl(sum, a) : sum + (t->p == 1 ? a : a * a);
    }
    return t->p == 2 ? sqrtl(sum) : sum;
}

/* Height of level l, in units of the norm. */
static long double height(const setting *t, unsigned l)
{
    if (l == 0) return 0;
    return t->natural ? powl(2, (long double)l - t->s) : (long double)l / t->s;
}

/* The level at or below a share of the norm. */
static unsigned floor_level(const setting *t, long double share)
{
    unsigned l = 0;
    while (l < t->s && height(t, l + 1) <= share) l++;
    return l;
}

/* |x|^2 / E|C(x)|^2 for one bucket with norm 1. */
static long double contraction_of(const setting *t, const float *x, size_t n, long double norm)
{
    long double squares = 0, expected = 0;
    for (size_t i = 0; i < n; i++) {
        const long double share = fabsl((long double)x[i]) / norm;
        const unsigned l = floor_level(t, share);
        const long double low = height(t, l), high = l < t->s ? height(t, l + 1) : low;
        const long double up = high > low ? (share - low) / (high - low) : 0;
        squares += share * share;
        expected += low * low * (1 - up) + high * high * up;
    }
    return expected > 0 ? squares / expected : 1;
}

static unsigned bits_in(unsigned v) /* 1 + floor(log2 v) */
{
    unsigned bits = 0;
    for (; v; v >>= 1) bits++;
    return bits;
}

/* What the decoder does with a level, in floats: docs/format.md, section 6.6. */
static float value_of(const setting *t, unsigned l, float norm)
{
    if (t->natural) return l ? ldexpf(norm, (int)l - (int)t->s) : 0;
    return (float)l * (norm / (float)t->s);
}

static void expect_levels(const setting *t, const float *x, size_t n, uint64_t seed)
{
    tithe_codec *codec = codec_for(t);
    const char *spec = tithe_codec_spec(codec);
    coded c = code_numbers(codec, (tithe_call){.seed = seed}, x, n, TITHE_OK);
    const size_t bucket = t->bucket && t->bucket < n ? t->bucket : n, buckets = n ? (n - 1) / bucket + 1 : 0;
    const float *y = c.y;
    uint64_t bits = (uint64_t)buckets * (t->norm_natural ? 8 : 32);
    for (size_t b = 0; b < buckets; b++) {
        const size_t begin = b * bucket, many = n - begin < bucket ? n - begin : bucket;
        const long double norm = norm_of(t, x + begin, many);
        long double wanted = norm;
        if (t->contractive && norm > 0)
            wanted *= contraction_of(t, x + begin, many, norm) * (t->norm_natural ? 8.0L / 9 : 1);
        float written;
        if (t->norm_natural) {
            const unsigned field = c.values[b];
            written = field ? ldexpf(1, (int)field - 127) : 0;
            expect((written == 0 && wanted < 0x1p-126L) ||
                       ((long double)written <= 2 * wanted * (1 + 1e-6L) &&
                        (long double)written >= wanted / 2 * (1 - 1e-6L)),
                   "%s: the norm %.9Lg is written as %.9g", spec, wanted, (double)written);
        } else {
            memcpy(&written, c.values + 4 * b, 4);
            expect(fabsl((long double)written - wanted) <= 2e-6L * wanted + 0x1p-149L,
                   "%s: bucket %zu of %zu has norm %.9g, not %.9Lg", spec, b, buckets, (double)written,
                   wanted);
        }
        for (size_t i = begin; i < begin + many; i++) {
            const long double share = norm > 0 ? fabsl((long double)x[i]) / norm : 0;
            const unsigned low = floor_level(t, share * (1 - 1e-5L)),
                           high = floor_level(t, share * (1 + 1e-5L)) + 1;
            unsigned level = low; /* the neighbours are all there is */
            while (level < high && level < t->s && fabsf(y[i]) != value_of(t, level, written)) level++;
            expect(fabsf(y[i]) == value_of(t, level, written), "%s: %.9g (%.9Lg of its norm) became %.9g",
                   spec, (double)x[i], share, (double)y[i]);
            expect(level == 0 || (y[i] < 0) == (x[i] < 0) || y[i] == 0, "%s: %.9g became %.9g", spec,
                   (double)x[i], (double)y[i]);
            /* With a norm of zero all levels look alike, and the codes cannot be told from the values. */
            if (written > 0 && (level == 0 || y[i] != 0))
                bits += t->elias ? 2 * bits_in(level + 1) - 1 + (level > 0) : 1 + bits_in(t->s);
            else
                bits += t->elias ? 1 : 1 + bits_in(t->s);
        }
    }
    if (norm_of(t, x, n) > 1e-30L || !t->elias)
        expect(c.info.value_bits == bits, "%s: %llu bits instead of %llu", spec,
               (unsigned long long)c.info.value_bits, (unsigned long long)bits);
    coded_free(&c);
    tithe_codec_free(codec);
}

/* ---- every setting --------------------------------------------------------------------------------------------- */

static void levels_are_next_to_where_numbers_stand(void **state)
{
    (void)state;
    static const unsigned dither_s[] = {1, 2, 3, 4, 5, 6, 7, 8, 100, 127, 128, 255, 1000, 16383};
    static const unsigned natdither_s[] = {1, 2, 3, 4, 7, 8, 15, 20, 33, 63, 64};
    float x[210];
    for (int mode = 0; mode < 48; mode++) {
        setting t = {.natural = mode & 1,
                     .norm_natural = mode & 2,
                     .elias = mode & 4,
                     .contractive = mode & 8,
                     .p = mode / 16};
        const unsigned *s = t.natural ? natdither_s : dither_s;
        const size_t many =
            t.natural ? sizeof natdither_s / sizeof *natdither_s : sizeof dither_s / sizeof *dither_s;
        for (size_t i = 0; i < many; i++)
            for (input_kind k = 0; k < KINDS; k++) {
                if (k == HUGE_NUMBERS || k == DENORMAL) continue; /* below, at their own size */
                const size_t n = 200 + i % 7;
                fill_kind(TITHE_F32, k, x, n, i);
                t.s = s[i];
                t.bucket = i % 3 ? 31 + i : 0;
                expect_levels(&t, x, n, i);
            }
    }
}

static void buckets_of_any_length(void **state)
{
    (void)state;
    enum { MAX = 12300 };
    static float x[MAX];
    static const size_t buckets[] = {1, 2, 3, 511, 512, 513, 4095, 4096, 4097, 5000, 16383, 0};
    static const size_t lengths[] = {1, 2, 3, 511, 512, 1025, 4096, 4097, 8191, MAX};
    fill_kind(TITHE_F32, GAUSSIAN, x, MAX, 3);
    for (size_t i = 0; i < MAX; i++) x[i] *= 1 + (float)(i / 1000); /* norms that differ */
    for (size_t b = 0; b < sizeof buckets / sizeof *buckets; b++)
        for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
            const setting t = {.natural = b % 2,
                               .p = 2,
                               .s = (b + l) % 3 ? 7 : 5,
                               .bucket = buckets[b],
                               .elias = l % 4 == 3,
                               .contractive = l % 2,
                               .norm_natural = l % 5 == 1};
            expect_levels(&t, x, lengths[l], b);
        }
}

/* Norms from the smallest float to near the largest: the scale inside must not overflow or vanish. */
static void norms_of_any_size(void **state)
{
    (void)state;
    dice d = {60};
    static const double sizes[] = {0x1p-149, 1e-44, 1e-40,  0x1p-126, 1e-30,  0x1p-61, 0x1p-60, 0x1p-59,
                                   1e-10,    1e10,  0x1p59, 0x1p60,   0x1p61, 1e30,    1e36,    0x1p126};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int mode = 0; mode < 12; mode++) {
            float x[40];
            /* Up to the largest that fits, which is 2^127 for the norm of the bucket. */
            const size_t n = sizes[i] > 1e37 ? 1 : 2 + roll_below(&d, 38);
            for (size_t j = 0; j < n; j++)
                x[j] = (float)(sizes[i] * (j ? roll_gauss(&d) / 8 : 1) / (sizes[i] > 1e30 ? 2 : 1));
            const setting t = {.natural = mode & 1,
                               .p = mode % 3,
                               .s = mode & 2 ? 60 : 3,
                               .elias = mode & 4,
                               .norm_natural = mode == 9};
            expect_levels(&t, x, n, (uint64_t)mode);
        }
}

static void a_norm_above_2_to_the_127_is_refused(void **state)
{
    (void)state;
    float x[100];
    for (size_t i = 0; i < 100; i++) x[i] = 0x1p126f;
    static const char *const specs[] = {"dither", "natdither:p=1", "dither:bucket=50", "dither:bucket=4096",
                                        "natdither:bucket=5000"};
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        tithe_codec *codec = codec_of(specs[i]);
        coded c = code_numbers(codec, (tithe_call){0}, x, 100, TITHE_E_RANGE);
        coded_free(&c);
        tithe_codec_free(codec);
    }
    tithe_codec *codec = codec_of("dither:p=inf,bucket=50");
    coded c = code_numbers(codec, (tithe_call){0}, x, 100, TITHE_OK);
    for (size_t i = 0; i < 100; i++) assert_true(fabsf(((float *)c.y)[i] / 0x1p126f - 1) < 1e-6f);
    coded_free(&c);
    tithe_codec_free(codec);
}

/* ---- frequencies ------------------------------------------------------------------------------------------------ */

static void expect_frequencies(const setting *t, const float *x, size_t n)
{
    enum { TRIALS = 20000 };
    tithe_codec *codec = codec_for(t);
    size_t ups[64] = {0};
    const float norm = (float)norm_of(t, x, n);
    unsigned low[64];
    double chance[64];
    for (size_t i = 0; i < n; i++) {
        const long double share = fabsl((long double)x[i]) / (long double)norm;
        low[i] = floor_level(t, share);
        const long double l = height(t, low[i]), h = height(t, low[i] + 1);
        chance[i] = low[i] == t->s ? 0 : (double)((share - l) / (h - l));
    }
    for (uint64_t seed = 0; seed < TRIALS; seed++) {
        coded c = code_numbers(codec, (tithe_call){.seed = seed, .rank = 4}, x, n, TITHE_OK);
        for (size_t i = 0; i < n; i++) {
            const float y = fabsf(((float *)c.y)[i]);
            const bool up = low[i] < t->s && y == value_of(t, low[i] + 1, norm);
            ups[i] += up;
            /* What rounds to a level exactly may fall on either side of it. */
            expect(up || y == value_of(t, low[i], norm) || chance[i] < 1e-5, "%s: %.9g became %.9g",
                   tithe_codec_spec(codec), (double)x[i], (double)y);
        }
        coded_free(&c);
    }
    for (size_t i = 0; i < n; i++)
        expect(fabs((double)ups[i] - TRIALS * chance[i]) <= count_slack(TRIALS, chance[i]) + 1e-5 * TRIALS,
               "%s: %.9g went up %zu times of %d, p = %.6f", tithe_codec_spec(codec), (double)x[i], ups[i],
               TRIALS, chance[i]);
    tithe_codec_free(codec);
}

static void levels_come_as_often_as_they_should(void **state)
{
    (void)state;
    dice d = {61};
    for (int mode = 0; mode < 6; mode++) {
        float x[24];
        for (size_t i = 0; i < 24; i++) x[i] = (float)(roll_gauss(&d) * (i % 4 == 3 ? 0.01 : 1));
        const setting t = {.natural = mode % 2, .p = mode % 3, .s = mode < 3 ? 4 : 200, .elias = mode == 5};
        setting u = t;
        if (u.natural && u.s > 64) u.s = 9;
        expect_frequencies(&u, x, 24);
    }
}

/* A norm of its own byte is rounded as natural compression rounds: up with the chance of its mantissa. */
static void natural_norms_come_as_often_as_they_should(void **state)
{
    (void)state;
    enum { BUCKETS = 30000 };
    static float x[BUCKETS];
    for (size_t i = 0; i < BUCKETS; i++) x[i] = 1.3f;
    tithe_codec *codec = codec_of("dither:bucket=1,norm=natural,s=1");
    coded c = code_numbers(codec, (tithe_call){.seed = 5}, x, BUCKETS, TITHE_OK);
    size_t twos = 0;
    for (size_t i = 0; i < BUCKETS; i++) {
        assert_true(c.values[i] == 127 || c.values[i] == 128);
        twos += c.values[i] == 128;
    }
    expect(fabs((double)twos - 0.3 * BUCKETS) < count_slack(BUCKETS, 0.3), "%zu of %d norms went up", twos,
           BUCKETS);
    coded_free(&c);
    tithe_codec_free(codec);
}

/* ---- the level of a call ----------------------------------------------------------------------------------------- */

static void a_level_in_the_call_is_s(void **state)
{
    (void)state;
    tithe_codec *codec = codec_of("dither"), *three = codec_of("dither:s=3"), *natural = codec_of("natural");
    float x[50];
    fill_kind(TITHE_F32, GAUSSIAN, x, 50, 9);
    coded a = code_numbers(codec, (tithe_call){.level = 3}, x, 50, TITHE_OK);
    coded b = code_numbers(three, (tithe_call){0}, x, 50, TITHE_OK);
    assert_int_equal(a.info.bytes, b.info.bytes);
    assert_memory_equal(a.frame, b.frame, a.info.bytes); /* s travels in the frame */
    coded_free(&a);
    coded_free(&b);
    a = code_numbers(codec, (tithe_call){.level = 3, .form = TITHE_EXCHANGE}, x, 50,
                     TITHE_OK); /* in both forms */
    coded_free(&a);
    const double bad[] = {0.5, 1.5, 16384, 1e6, 1e12, (double)INFINITY};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        a = code_numbers(codec, (tithe_call){.level = bad[i]}, x, 50, TITHE_E_ARGUMENT);
        coded_free(&a);
    }
    const double none[] = {0, -3, (double)NAN}; /* no level at all */
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        a = code_numbers(codec, (tithe_call){.level = none[i]}, x, 50, TITHE_OK);
        assert_int_equal(a.info.value_bits, 32 + 50 * 4);
        coded_free(&a);
    }
    a = code_numbers(natural, (tithe_call){.level = 9}, x, 50, TITHE_OK); /* nothing to set */
    coded_free(&a);
    tithe_codec_free(codec);
    tithe_codec_free(three);
    tithe_codec_free(natural);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(levels_are_next_to_where_numbers_stand),
        cmocka_unit_test(buckets_of_any_length),
        cmocka_unit_test(norms_of_any_size),
        cmocka_unit_test(a_norm_above_2_to_the_127_is_refused),
        cmocka_unit_test(levels_come_as_often_as_they_should),
        cmocka_unit_test(natural_norms_come_as_often_as_they_should),
        cmocka_unit_test(a_level_in_the_call_is_s),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
