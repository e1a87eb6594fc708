/* test_integers.c - vectors as whole numbers for a switch: nothing overflows, nothing is lost but what is left behind, and the mean
 * is the vector. */
#include "codec/integers.h"

#include "aggregate/codes.h"
#include "base/bits.h"
#include "support.h"

/* A codec, and what it makes of the vectors of all ranks. */
typedef struct summing {
    tithe_codec *codec;
    const struct quant_integers *how;
    unsigned ranks;
    size_t n;
    uint32_t *scales, *proposed;
    uint8_t *codes; /* of one rank */
    uint64_t *sums; /* of all, exact; of NATURAL in two's complement */
    uint64_t seed;
} summing;

static integers_call call_of(const summing *s, unsigned rank)
{
    const tithe_call call = {.seed = s->seed, .step = 3, .rank = rank};
    return (integers_call){.quant = ti_codec_quant_call(s->codec, &call, s->n),
                           .ranks = s->ranks,
                           .scales = s->scales,
                           .measure = true};
}

static summing summing_make(const char *spec, unsigned ranks, size_t n, uint64_t seed)
{
    summing s = {.codec = codec_of(spec), .ranks = ranks, .n = n, .seed = seed};
    s.how = tithe_codec_quantizer(s.codec)->integers;
    assert_non_null(s.how);
    const integers_call c = call_of(&s, 0);
    const size_t scales = s.how->scales(&c);
    s.scales = calloc(2 * scales + 1, sizeof *s.scales);
    s.proposed = calloc(scales + 1, sizeof *s.proposed);
    s.codes = calloc(4 * n + 8, 1);
    s.sums = calloc(n + 1, sizeof *s.sums);
    assert_true(s.scales && s.proposed && s.codes && s.sums);
    return s;
}

static void summing_free(summing *s)
{
    tithe_codec_free(s->codec);
    free(s->scales);
    free(s->proposed);
    free(s->codes);
    free(s->sums);
}

/* The largest of what ranks propose. x holds the vectors of all. */
static void agree(summing *s, const float *x)
{
    integers_call c = call_of(s, 0);
    const size_t scales = s->how->scales(&c);
    memset(s->scales, 0, 2 * scales * sizeof *s->scales);
    for (unsigned round = 0; round < s->how->rounds(&c); round++)
        for (unsigned r = 0; r < s->ranks; r++) {
            integers_call mine = call_of(s, r);
            assert_int_equal(s->how->propose(&mine, round, x + r * s->n, s->proposed, NULL), TITHE_OK);
            for (size_t i = 0; i < scales; i++) {
                uint32_t *agreed = &s->scales[round * scales + i];
                if (s->proposed[i] > *agreed) *agreed = s->proposed[i];
            }
        }
}

static uint32_t code_at(const uint8_t *codes, size_t i, unsigned bits)
{
    bit_reader r = bit_reader_at(codes, (i + 1) * bits / 8 + 1, i * bits);
    return bits_get(&r, bits);
}

/* All ranks write; what is left goes back into x. */
static void add_all(summing *s, float *x)
{
    memset(s->sums, 0, s->n * sizeof *s->sums);
    for (unsigned r = 0; r < s->ranks; r++) {
        const integers_call c = call_of(s, r);
        const agg_reduction shape = s->how->shape(&c);
        const packet_head h = {.operation = (uint8_t)shape.operation,
                               .up = shape.up,
                               .down = shape.down,
                               .most = shape.most,
                               .values = 1};
        assert_true(codes_make_sense(&h, s->ranks) && shape.n == s->n);
        s->how->encode(&c, x + r * s->n, s->codes);
        for (size_t i = 0; i < s->n; i++) {
            const uint32_t code = code_at(s->codes, i, shape.up);
            const bool natural = shape.operation == OPERATION_NATURAL;
            expect((natural ? code & 127 : code) <= shape.most, "%s, %u ranks: %u is above %u",
                   tithe_codec_spec(s->codec), s->ranks, code, shape.most);
            s->sums[i] += natural ? (uint64_t)(int64_t)(int32_t)codes_natural(code) : code;
        }
    }
}

/* The sums as a switch without rounding would send them: of NATURAL only where they are powers of two. */
static void read_back(summing *s, float *y)
{
    const integers_call c = call_of(s, 0);
    const agg_reduction shape = s->how->shape(&c);
    uint8_t *bytes = calloc(4 * s->n + 8, 1);
    bit_writer w = bit_writer_at(bytes);
    for (size_t i = 0; i < s->n; i++) {
        uint32_t number = (uint32_t)s->sums[i];
        if (shape.operation == OPERATION_NATURAL) {
            number = codes_round(number, 0);
            assert_int_equal((uint32_t)s->sums[i], codes_natural(number));
        }
        bits_put(&w, number, shape.down);
    }
    bits_finish(&w);
    s->how->decode(&c, bytes, 1, y);
    free(bytes);
}

static const char *const specs[] = {"all|natural",
                                    "all|natural:scale=contractive",
                                    "all|int32",
                                    "all|int32:block=7",
                                    "all|dither",
                                    "all|dither:s=1,p=inf,bucket=32",
                                    "all|dither:s=300,bucket=50,scale=contractive",
                                    "all|dither:p=1,s=16383"};
enum { SPECS = sizeof specs / sizeof *specs, N = 333 };

/* Whatever is in the vectors: numbers within what was said, and for one rank among silent ones what was written and what is
 * left are the vector. */
static void what_is_not_written_is_left(void **state)
{
    (void)state;
    static const unsigned sizes[] = {1, 2, 3, 8, 1000};
    for (unsigned i = 0; i < SPECS; i++)
        for (unsigned z = 0; z < sizeof sizes / sizeof *sizes; z++)
            for (input_kind k = 0; k < KINDS; k++) {
                if (k == HUGE_NUMBERS && strstr(specs[i], "dither")) continue; /* their norm is refused */
                const unsigned ranks = sizes[z];
                summing s = summing_make(specs[i], ranks, N, 5 + z);
                float *x = calloc((size_t)ranks * N, sizeof *x), before[N], y[N];
                fill_kind(TITHE_F32, k, x, N, 7);
                memcpy(before, x, sizeof before);
                agree(&s, x);
                add_all(&s, x);
                if (ranks <= 8) read_back(&s, y); /* the others wrote zeros */
                for (size_t j = 0; j < N && ranks <= 8; j++) {
                    const double sum = (double)y[j] + (double)x[j],
                                 scale = fabs((double)before[j]) + fabs((double)y[j]);
                    expect(fabs(sum - (double)before[j]) <= 1e-6 * scale + 0x1p-148,
                           "%s, %u ranks, %s: %g was written and %g is left of %g", specs[i], ranks,
                           kind_name(k), (double)y[j], (double)x[j], (double)before[j]);
                }
                summing_free(&s);
                free(x);
            }
}

/* The largest numbers that there are, on all ranks, with one sign: the sum does not wrap around. */
static void sums_of_the_largest_fit(void **state)
{
    (void)state;
    static const unsigned sizes[] = {1, 2, 5, 64, 1024};
    for (unsigned i = 0; i < SPECS; i++)
        for (unsigned z = 0; z < sizeof sizes / sizeof *sizes; z++) {
            const unsigned ranks = sizes[z];
            summing s = summing_make(specs[i], ranks, 16, 1);
            float *x = malloc(ranks * 16 * sizeof *x), y[16];
            for (size_t j = 0; j < ranks * (size_t)16; j++) x[j] = j % 2 ? 1.9999999f : -1.9999999f;
            agree(&s, x);
            add_all(&s, x);
            const integers_call c = call_of(&s, 0);
            const agg_reduction shape = s.how->shape(&c);
            for (size_t j = 0; j < 16; j++) {
                if (shape.operation == OPERATION_NATURAL)
                    assert_true((int64_t)s.sums[j] <= INT64_C(1) << 30 &&
                                (int64_t)s.sums[j] >= -(INT64_C(1) << 30));
                else
                    assert_true(s.sums[j] >> shape.down == 0);
            }
            if (shape.operation != OPERATION_NATURAL && !strstr(specs[i], "contractive")) {
                read_back(&s, y);
                for (size_t j = 0; j < 16; j++) assert_true((y[j] > 0) == (j % 2 == 1));
            }
            summing_free(&s);
            free(x);
        }
}

/* With 30 bits and a power of two in each of three ranks, sums are exact, and so is int32 for numbers of one size. */
static void sums_are_exact_where_they_can_be(void **state)
{
    (void)state;
    enum { RANKS = 3 };
    static const char *const exact[] = {"all|int32", "all|natural"};
    for (unsigned i = 0; i < 2; i++) {
        summing s = summing_make(exact[i], RANKS, N, 9);
        float x[RANKS * N], y[N];
        double sum[N] = {0};
        dice d = {11};
        for (unsigned r = 0; r < RANKS; r++)
            for (size_t j = 0; j < N; j++) {
                const int e = (int)roll_below(&d, 20);
                x[r * N + j] = (float)ldexp(roll(&d) & 1 ? 1 : -1, e);
                if (i == 1 && r > 0) x[r * N + j] = 0; /* so that the sum is a power of two, too */
                sum[j] += (double)x[r * N + j];
            }
        agree(&s, x);
        add_all(&s, x);
        read_back(&s, y);
        for (size_t j = 0; j < N; j++) assert_true((double)y[j] == sum[j]);
        for (size_t j = 0; j < RANKS * (size_t)N; j++) assert_true(x[j] == 0);
        summing_free(&s);
    }
}

/* The mean over many seeds is the vector, also of what lies far below the window, or below a level. */
static void numbers_are_unbiased(void **state)
{
    (void)state;
    enum { TRIALS = 20000, FEW = 24 };
    static const struct {
        const char *spec;
        float low; /* the vector's smallest, its largest is 1 */
    } cases[] = {{"all|natural", 0x1p-32f}, {"all|int32", 0x1p-31f}, {"all|dither:s=3", 0.05f}};
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        summing s = summing_make(cases[i].spec, 2, FEW, 0);
        double total[FEW] = {0}, squares[FEW] = {0};
        float first[2 * FEW] = {0};
        first[0] = 1;
        for (size_t j = 1; j < FEW; j++)
            first[j] = (j % 2 ? 1.0f : -1.0f) * cases[i].low * (1 + (float)j / 5);
        for (unsigned t = 0; t < TRIALS; t++) {
            float x[2 * FEW], y[FEW];
            s.seed = t;
            memcpy(x, first, sizeof x);
            agree(&s, x);
            add_all(&s, x);
            read_back(&s, y);
            for (size_t j = 0; j < FEW; j++) {
                total[j] += (double)y[j];
                squares[j] += (double)y[j] * (double)y[j];
            }
        }
        for (size_t j = 0; j < FEW; j++) {
            const double mean = total[j] / TRIALS, spread = sqrt(squares[j] / TRIALS / TRIALS);
            expect(fabs(mean - (double)first[j]) <= 6.5 * spread, "%s: the mean of %g is %g, give or take %g",
                   cases[i].spec, (double)first[j], mean, spread);
        }
        assert_true(squares[FEW - 1] > 0); /* something did get through */
        summing_free(&s);
    }
}

/* A contraction on every rank, also on one whose norm is small beside that of the others. */
static void dithering_contracts_where_it_says_so(void **state)
{
    (void)state;
    enum { RANKS = 3, TRIALS = 400, MANY = 200 };
    summing s = summing_make("all|dither:s=2,scale=contractive", RANKS, MANY, 0);
    static float x[RANKS * MANY], left[RANKS * MANY];
    double error[RANKS] = {0}, energy[RANKS] = {0};
    dice d = {3};
    for (unsigned r = 0; r < RANKS; r++)
        for (size_t j = 0; j < MANY; j++) x[r * MANY + j] = (float)(roll_gauss(&d) * (r == 0 ? 0.01 : 1));
    for (unsigned t = 0; t < TRIALS; t++) {
        s.seed = t;
        memcpy(left, x, sizeof left);
        agree(&s, left);
        add_all(&s, left);
        for (unsigned r = 0; r < RANKS; r++)
            for (size_t j = 0; j < MANY; j++) {
                error[r] += pow((double)left[r * MANY + j], 2);
                energy[r] += pow((double)x[r * MANY + j], 2);
            }
    }
    for (unsigned r = 0; r < RANKS; r++)
        expect(error[r] < energy[r], "rank %u: %g is left of %g", r, error[r], energy[r]);
    summing_free(&s);
}

/* The bytes of natural are those of its frame, where all exponents fit. */
static void natural_is_that_of_its_frame(void **state)
{
    (void)state;
    summing s = summing_make("all|natural", 4, N, 77);
    static float x[4 * N];
    uint8_t scratch[64], frame[2 * N + 64];
    fill_kind(TITHE_F32, GAUSSIAN, x, 4 * N, 2);
    static float copy[4 * N];
    memcpy(copy, x, sizeof x);
    agree(&s, copy);
    for (unsigned r = 0; r < 4; r++) {
        const integers_call c = call_of(&s, r);
        const tithe_call call = {
            .seed = 77, .step = 3, .rank = r, .scratch = scratch, .scratch_size = sizeof scratch};
        float y[N] = {0};
        tithe_frame_info info;
        assert_int_equal(tithe_encode(s.codec, &call, x + r * N, N, frame, sizeof frame, &info, NULL),
                         TITHE_OK);
        assert_int_equal(tithe_decode_add(s.codec, &call, frame, info.bytes, 1, y, N, NULL), TITHE_OK);
        s.how->encode(&c, copy + r * N, s.codes);
        for (size_t j = 0; j < N; j++) {
            const int below = (int)s.scales[j / 256] - (int)integers_window(4);
            const int code = s.codes[j] & 127;
            const double value = code ? ldexp(s.codes[j] >> 7 ? -1 : 1, below + code - 127) : 0;
            assert_true(value == (double)y[j]);
        }
    }
    summing_free(&s);
}

static void norms_too_large_are_refused(void **state)
{
    (void)state;
    summing s = summing_make("all|dither", 2, N, 1);
    float x[N];
    tithe_error error = {0};
    fill_kind(TITHE_F32, HUGE_NUMBERS, x, N, 1);
    const integers_call c = call_of(&s, 0);
    assert_int_equal(s.how->propose(&c, 0, x, s.proposed, &error), TITHE_E_RANGE);
    assert_true(error.text[0]);
    summing_free(&s);
}

static void windows(void **state)
{
    (void)state;
    static const unsigned ranks[] = {1, 2, 3, 4, 5, 8, 9, 1000, 1024},
                          bits[] = {31, 30, 29, 29, 28, 28, 27, 21, 21};
    for (unsigned i = 0; i < 9; i++) assert_int_equal(integers_window(ranks[i]), bits[i]);
    assert_true(integers_bits(1) == 1 && integers_bits(14) == 4 && integers_bits(28) == 5 &&
                integers_bits(256) == 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_not_written_is_left),
        cmocka_unit_test(sums_of_the_largest_fit),
        cmocka_unit_test(sums_are_exact_where_they_can_be),
        cmocka_unit_test(numbers_are_unbiased),
        cmocka_unit_test(dithering_contracts_where_it_says_so),
        cmocka_unit_test(natural_is_that_of_its_frame),
        cmocka_unit_test(norms_too_large_are_refused),
        cmocka_unit_test(windows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
