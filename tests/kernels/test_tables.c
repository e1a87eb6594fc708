/* test_tables.c - every table of kernels against ref, bit for bit: sums, maxima, additions, random numbers, nibbles,
 * and checksums. Natural compression, selection, dithering and gaps have their own files beside this one. */
#include "kernels/tables.h"

static fenced input_field, second_field;
static output floats, bytes;

static int setup(void **state)
{
    tables_setup(state);
    input_field = fenced_make(LONGEST * 4);
    second_field = fenced_make(LONGEST * 4);
    floats = output_make("floats", LONGEST * 4);
    bytes = output_make("bytes", LONGEST * 2);
    return 0;
}

static float *input(vector_kind kind, size_t n, unsigned place)
{
    float *x = (void *)fenced_place(&input_field, n * 4, 4, place);
    memcpy(x, vector_of(kind, n + place), n * 4);
    return x;
}

/* ---- one number from a vector ---------------------------------------------------------------------------- */

static void reduce(vector_kind kind, size_t n, unsigned place)
{
    const float *x = input(kind, n, place);
    const size_t first = ti_kernels_ref.find_nonfinite(x, n);
    const double magnitudes = ti_kernels_ref.sum_abs(x, n), squares = ti_kernels_ref.sum_squares(x, n);
    const uint32_t max = bits_of_float(ti_kernels_ref.max_abs(x, n));
    for (size_t t = 0; t < running_count; t++) {
        const kernels *k = running[t];
        here.table = k->name;
        const size_t found = k->find_nonfinite(x, n);
        expect_here(found == first, "the first that is not finite: %zu instead of %zu", found, first);
        expect_double("the sum of magnitudes", k->sum_abs(x, n), magnitudes);
        expect_double("the sum of squares", k->sum_squares(x, n), squares);
        const uint32_t got = bits_of_float(k->max_abs(x, n));
        expect_here(got == max, "the largest magnitude: %08x instead of %08x", got, max);
    }
}

/* Against a limit that some are below, many are, or that one of them is. */
static void split_up(vector_kind kind, size_t n, unsigned place)
{
    if (kind == V_NONFINITE) return;
    const float *x = input(kind, n, place);
    const float limits[] = {0.5f, 1e30f, n ? fabsf(x[n / 2]) : 0, 0x1p-149f};
    for (size_t l = 0; l < 4; l++) {
        size_t wanted, others;
        const double sum = ti_kernels_ref.sum_below(x, n, limits[l], &wanted);
        for (size_t t = 0; t < running_count; t++) {
            here.table = running[t]->name;
            expect_double("the sum below the limit", running[t]->sum_below(x, n, limits[l], &others), sum);
            expect_here(others == wanted, "%zu others instead of %zu", others, wanted);
        }
    }
}

static void reductions(void **state)
{
    (void)state;
    every_case("a reduction", reduce);
    every_case("sum_below", split_up);
}

/* A sum that tells in which order it was made: of numbers so different in size that every addition rounds. */
static void sums_keep_their_order(void **state)
{
    (void)state;
    here.function = "a sum";
    dice d = {3};
    for (size_t n = 1; n <= 2000; n += 1 + n / 9) {
        float *x = (void *)fenced_place(&input_field, n * 4, 4, AT_END);
        for (size_t i = 0; i < n; i++) x[i] = (float)ldexp(roll_gauss(&d), (int)roll_below(&d, 200) - 100);
        here.n = n;
        const double magnitudes = ti_kernels_ref.sum_abs(x, n), squares = ti_kernels_ref.sum_squares(x, n);
        for (size_t t = 0; t < running_count; t++) {
            here.table = running[t]->name;
            expect_double("the sum of magnitudes", running[t]->sum_abs(x, n), magnitudes);
            expect_double("the sum of squares", running[t]->sum_squares(x, n), squares);
        }
    }
}

static void the_first_nonfinite_is_found_anywhere(void **state)
{
    (void)state;
    static const size_t lengths[] = {1, 2, 15, 16, 17, 63, 64, 65, 300, 1023, 1024, 1025, 2049};
    static const uint32_t odd[] = {0x7f800000, 0xff800000, 0x7f800001, 0xffffffff};
    here.function = "find_nonfinite";
    for (size_t j = 0; j < sizeof lengths / sizeof *lengths; j++) {
        const size_t n = here.n = lengths[j];
        float *x = input(V_HUGE, n, AT_END);
        for (size_t at = n; at-- > 0;) {
            const float before = x[at];
            x[at] = float_of_bits(odd[at % 4]);
            for (const kernels *const *t = ti_kernel_tables(); *t; t++) {
                if (!(*t)->runs_here()) continue;
                here.table = (*t)->name;
                const size_t found = (*t)->find_nonfinite(x, n);
                expect_here(found == at, "%zu instead of %zu", found, at);
            }
            if (at % 3) x[at] = before; /* every third stays, behind the next ones */
        }
    }
}

/* ---- a vector from a vector ------------------------------------------------------------------------------ */

static void add(vector_kind kind, size_t n, unsigned place)
{
    static const float scales[] = {1, -1, 8.0f / 9, 0x1p-120f};
    const float scale = scales[(n + place + kind) % 4], *x = input(kind, n, place);
    const float *y = vector_of((vector_kind)((kind + n) % V_NONFINITE), 2 * n + 1);
    output_place(&floats, n * 4, 4, (place + 3) % PLACES);
    output_reset(floats.wanted, &floats, y);
    ti_kernels_ref.add_scaled((void *)floats.wanted, x, scale, n);
    for (size_t t = 0; t < running_count; t++) {
        here.table = running[t]->name;
        output_reset(floats.got, &floats, y);
        running[t]->add_scaled((void *)floats.got, x, scale, n);
        expect_output(&floats, floats.size);
    }
}

static void additions(void **state)
{
    (void)state;
    every_case("add_scaled", add);
}

/* Sums over two vectors, and one of them takes the place of the other. */
static void look_back(vector_kind kind, size_t n, unsigned place)
{
    const float *now = input(kind, n, place);
    const float *before = vector_of((vector_kind)((kind + n) % V_NONFINITE), 2 * n + 1);
    double wanted[2], got[2];
    output_place(&floats, n * 4, 4, (place + 3) % PLACES);
    output_reset(floats.wanted, &floats, before);
    ti_kernels_ref.drift((void *)floats.wanted, now, n, wanted);
    expect_here(n == 0 || memcmp(floats.wanted, now, n * 4) == 0, "the new vector is not kept");
    for (size_t t = 0; t < running_count; t++) {
        here.table = running[t]->name;
        output_reset(floats.got, &floats, before);
        running[t]->drift((void *)floats.got, now, n, got);
        expect_output(&floats, floats.size);
        for (int i = 0; i < 2; i++) expect_double("a sum over two vectors", got[i], wanted[i]);
    }
}

static void take_over(vector_kind kind, size_t n, unsigned place)
{
    const float *x = input(kind, n, place);
    output_place(&floats, n * 4, 4, (place + 5) % PLACES);
    output_reset(floats.wanted, &floats, NULL);
    const double wanted = ti_kernels_ref.keep((void *)floats.wanted, x, n);
    expect_here(n == 0 || memcmp(floats.wanted, x, n * 4) == 0, "the vector is not kept");
    const double plain = ti_kernels_ref.sum_squares(x, n);
    expect_here(!isfinite(plain) || fabs(wanted - plain) <= 1e-13 * plain, "%.17g is not its squares, %.17g",
                wanted, plain);
    for (size_t t = 0; t < running_count; t++) {
        here.table = running[t]->name;
        output_reset(floats.got, &floats, NULL);
        expect_double("its squares", running[t]->keep((void *)floats.got, x, n), wanted);
        expect_double("its squares", running[t]->keep(NULL, x, n), wanted);
        expect_output(&floats, floats.size);
    }
}

static void sums_that_look_back(void **state)
{
    (void)state;
    every_case("drift", look_back);
    every_case("keep", take_over);
}

static void shorten(vector_kind kind, size_t n, unsigned place)
{
    const float *x = input(kind, n, place);
    output_place(&bytes, n * 2, 1, (place + 5) % PLACES);
    output_reset(bytes.wanted, &bytes, NULL);
    ti_kernels_ref.bf16_encode(x, n, bytes.wanted);
    for (size_t t = 0; t < running_count; t++) {
        here.table = running[t]->name;
        output_reset(bytes.got, &bytes, NULL);
        running[t]->bf16_encode(x, n, bytes.got);
        expect_output(&bytes, bytes.size);
    }
}

static void bf16(void **state)
{
    (void)state;
    every_case("bf16_encode", shorten);
}

/* ---- random numbers -------------------------------------------------------------------------------------- */

static void random_blocks(void **state)
{
    (void)state;
    here.function = "random_block";
    here.n = TITHE_BLOCK;
    dice d = {4};
    static const uint64_t extreme[] = {0, 1, UINT64_MAX, UINT64_C(1) << 63, UINT64_C(1) << 61, UINT32_MAX};
    for (unsigned trial = 0; trial < 300; trial++) {
        const tithe_key key = trial % 3 ? (tithe_key){roll(&d), roll(&d)}
                                        : (tithe_key){extreme[trial / 3 % 6], extreme[trial / 18 % 6]};
        const uint64_t block = trial % 4 ? roll(&d) >> roll_below(&d, 64) : extreme[trial / 4 % 6];
        here.place = trial % PLACES;
        output_place(&floats, TITHE_BLOCK * 4, 4, here.place);
        output_reset(floats.wanted, &floats, NULL);
        ti_kernels_ref.random_block(key, block, (void *)floats.wanted);
        for (size_t t = 0; t < running_count; t++) {
            here.table = running[t]->name;
            output_reset(floats.got, &floats, NULL);
            running[t]->random_block(key, block, (void *)floats.got);
            expect_output(&floats, floats.size);
        }
    }
}

/* ---- nibbles --------------------------------------------------------------------------------------------- */

static void pack(vector_kind kind, size_t n, unsigned place)
{
    n -= n % 2;
    dice d = {n * V_KINDS + kind};
    uint8_t *codes = fenced_place(&input_field, n, 1, place);
    for (size_t i = 0; i < n; i++)
        codes[i] = (uint8_t)roll(&d); /* bits that do not belong to a code are dropped */
    output_place(&bytes, n / 2, 1, (place + 1) % PLACES);
    output_reset(bytes.wanted, &bytes, NULL);
    ti_kernels_ref.pack_nibbles(codes, n, bytes.wanted);
    for (size_t t = 0; t < running_count; t++) {
        here.table = running[t]->name;
        output_reset(bytes.got, &bytes, NULL);
        running[t]->pack_nibbles(codes, n, bytes.got);
        expect_output(&bytes, bytes.size);
    }
}

static void unpack(vector_kind kind, size_t n, unsigned place)
{
    n -= n % 2;
    dice d = {n * V_KINDS + kind};
    uint8_t *nibbles = fenced_place(&input_field, n / 2, 1, place);
    for (size_t i = 0; i < n / 2; i++) nibbles[i] = (uint8_t)roll(&d);
    float *table = (void *)fenced_place(&second_field, 64, 4, (place + 2) % PLACES);
    memcpy(table, vector_of((vector_kind)(n % V_NONFINITE), n), 64);
    table[0] = 0;
    table[8] = -0.0f;
    const float *y = vector_of(kind, n + 3);
    output_place(&floats, n * 4, 4, (place + 7) % PLACES);
    output_reset(floats.wanted, &floats, y);
    ti_kernels_ref.nibbles_add(nibbles, n, table, (void *)floats.wanted);
    for (size_t t = 0; t < running_count; t++) {
        here.table = running[t]->name;
        output_reset(floats.got, &floats, y);
        running[t]->nibbles_add(nibbles, n, table, (void *)floats.got);
        expect_output(&floats, floats.size);
    }
}

static void nibbles(void **state)
{
    (void)state;
    every_case("pack_nibbles", pack);
    every_case("nibbles_add", unpack);
}

/* ---- checksum -------------------------------------------------------------------------------------------- */

/* One bit after the other, by the polynomial. */
static uint32_t crc_step(uint32_t crc, uint8_t byte)
{
    crc ^= byte;
    for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
    return crc;
}

static void checksums(void **state)
{
    (void)state;
    enum { MAX = 4096 * 3 };
    here.function = "crc32c";
    dice d = {6};
    uint8_t *data = second_field.end - MAX;
    for (size_t i = 0; i < MAX; i++) data[i] = (uint8_t)roll(&d);
    for (const kernels *const *t = ti_kernel_tables(); *t; t++) {
        if (!(*t)->runs_here()) continue;
        here.table = (*t)->name;
        uint32_t wanted = 0xffffffff;
        for (size_t n = 0; n <= MAX; n++) {
            here.n = n;
            expect_here((*t)->crc32c(0xffffffff, data, n) == wanted, "not what the polynomial says");
            if (n < MAX) wanted = crc_step(wanted, data[n]);
        }
        for (int trial = 0; trial < 3000; trial++) { /* in two parts, from anywhere to anywhere */
            const size_t begin = roll_below(&d, MAX), n = here.n = roll_below(&d, MAX - begin + 1);
            const size_t split = roll_below(&d, n + 1);
            const uint32_t start = (uint32_t)roll(&d);
            const uint32_t whole = ti_kernels_ref.crc32c(start, data + begin, n);
            const uint32_t first = (*t)->crc32c(start, data + begin, split);
            expect_here((*t)->crc32c(first, data + begin + split, n - split) == whole,
                        "from %zu, split at %zu", begin, split);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reductions),
        cmocka_unit_test(sums_keep_their_order),
        cmocka_unit_test(the_first_nonfinite_is_found_anywhere),
        cmocka_unit_test(additions),
        cmocka_unit_test(sums_that_look_back),
        cmocka_unit_test(bf16),
        cmocka_unit_test(random_blocks),
        cmocka_unit_test(nibbles),
        cmocka_unit_test(checksums),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
