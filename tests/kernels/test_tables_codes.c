/* test_tables_codes.c - levels between bytes, packed bits, Elias words and sums, of every table against ref; and ref
 * against a stream that is written bit by bit. */
#include "kernels/tables.h"

static fenced code_field, table_field;
static output bytes, floats;

static int setup(void **state)
{
    tables_setup(state);
    code_field = fenced_make(LONGEST);
    table_field = fenced_make(1024);
    bytes = output_make("bytes", LONGEST + CODES_SPARE);
    floats = output_make("floats", LONGEST * 4);
    return 0;
}

/* Bytes of level and sign; the kinds of vectors are levels up to 1, 3, 7 ... 127 here. */
static uint8_t *draw_codes(vector_kind kind, size_t n, unsigned place)
{
    dice d = {n * V_KINDS + kind};
    uint8_t *codes = fenced_place(&code_field, n, 1, place);
    for (size_t i = 0; i < n; i++) {
        const unsigned level = (unsigned)roll_below(&d, UINT64_C(2) << kind);
        codes[i] = (uint8_t)(level | (level && roll(&d) & 1 ? 128 : 0));
    }
    return codes;
}

static void pack(vector_kind kind, size_t n, unsigned place)
{
    n -= n % 8;
    if (kind == 6) return; /* eight bits are bytes already */
    const unsigned width = 2 + (unsigned)kind;
    const uint8_t *codes = draw_codes(kind, n, place);
    output_place(&bytes, n / 8 * width, 1, (place + 3) % PLACES);
    output_reset(bytes.wanted, &bytes, NULL);
    ti_kernels_ref.pack_codes(codes, n, width, bytes.wanted);
    here.table = "ref";
    for (size_t i = 0; i < n * width; i++) {
        const unsigned code = codes[i / width], at = (unsigned)(i % width),
                       bit = at == width - 1 ? code >> 7 : code >> at & 1;
        expect_here((bytes.wanted[i / 8] >> i % 8 & 1u) == bit, "bit %u of code %zu", at, i / width);
    }
    for (size_t t = 0; t < running_count; t++) {
        here.table = running[t]->name;
        output_reset(bytes.got, &bytes, NULL);
        running[t]->pack_codes(codes, n, width, bytes.got);
        expect_output(&bytes, bytes.size);
    }
}

static void unpack(vector_kind kind, size_t n, unsigned place)
{
    n -= n % 8;
    if (kind == 6) return;
    const unsigned width = 2 + (unsigned)kind;
    const uint8_t *codes = draw_codes(kind, n, AT_FRONT);
    static uint8_t room[LONGEST];
    ti_kernels_ref.pack_codes(codes, n, width, room);
    output_place(&bytes, n, 1, (place + 1) % PLACES);
    memcpy(bytes.wanted, codes, n);
    uint8_t *packed = fenced_place(&code_field, n / 8 * width, 1, place);
    memcpy(packed, room, n / 8 * width);
    for (const kernels *const *t = ti_kernel_tables(); *t; t++) {
        if (!(*t)->runs_here()) continue;
        here.table = (*t)->name;
        output_reset(bytes.got, &bytes, NULL);
        (*t)->unpack_codes(packed, n, width, bytes.got);
        expect_output(&bytes, n);
    }
}

static void fixed_width(void **state)
{
    (void)state;
    every_case("pack_codes", pack);
    every_case("unpack_codes", unpack);
}

/* Elias gamma of level + 1, and a sign unless the level is 0: docs/format.md section 6.6. */
static unsigned gamma_word(unsigned code, uint32_t *word)
{
    const unsigned v = (code & 127) + 1;
    unsigned extra = 0;
    while (v >> (extra + 1)) extra++;
    *word = 1u << extra | (v - (1u << extra)) << (extra + 1);
    if (v == 1) return 1;
    *word |= code >> 7 << (2 * extra + 1);
    return 2 * extra + 2;
}

static void join(vector_kind kind, size_t n, unsigned place)
{
    n -= n % 8;
    const uint8_t *codes = draw_codes(kind % 3, n, place);
    output_place(&bytes, n / 8, 1, (place + 3) % PLACES); /* widths */
    output_place(&floats, n, 8, (place + 5) % PLACES);    /* words */
    output_reset(bytes.wanted, &bytes, NULL);
    output_reset(floats.wanted, &floats, NULL);
    ti_kernels_ref.elias_groups(codes, n / 8, (void *)floats.wanted, bytes.wanted);
    here.table = "ref";
    for (size_t g = 0; g < n / 8; g++) {
        uint64_t word = 0, got;
        unsigned width = 0;
        for (size_t j = 0; j < 8; j++) {
            uint32_t one;
            const unsigned more = gamma_word(codes[8 * g + j], &one);
            word |= (uint64_t)one << width;
            width += more;
        }
        memcpy(&got, floats.wanted + 8 * g, 8);
        expect_here(got == word && bytes.wanted[g] == width, "group %zu", g);
    }
    for (size_t t = 0; t < running_count; t++) {
        here.table = running[t]->name;
        output_reset(bytes.got, &bytes, NULL);
        output_reset(floats.got, &floats, NULL);
        running[t]->elias_groups(codes, n / 8, (void *)floats.got, bytes.got);
        expect_output(&bytes, bytes.size);
        expect_output(&floats, floats.size);
    }
}

static void elias_words(void **state)
{
    (void)state;
    every_case("elias_groups", join);
}

static void sum_up(vector_kind kind, size_t n, unsigned place)
{
    const unsigned s = (2u << kind) - 1;
    const uint8_t *codes = draw_codes(kind, n, place);
    float *table = (void *)fenced_place(&table_field, 1024, 4, (place + 2) % PLACES);
    memcpy(table, vector_of((vector_kind)(n % V_NONFINITE), n), 1024);
    const float *y = vector_of(kind % V_NONFINITE, n + 3);
    output_place(&floats, n * 4, 4, (place + 7) % PLACES);
    output_reset(floats.wanted, &floats, y);
    ti_kernels_ref.codes_add(codes, n, s, table, (void *)floats.wanted);
    for (size_t t = 0; t < running_count; t++) {
        here.table = running[t]->name;
        output_reset(floats.got, &floats, y);
        running[t]->codes_add(codes, n, s, table, (void *)floats.got);
        expect_output(&floats, floats.size);
    }
}

static void sums(void **state)
{
    (void)state;
    every_case("codes_add", sum_up);
}

/* As a table of the same products: each is rounded. */
static void multiply(vector_kind kind, size_t n, unsigned place)
{
    static const float scales[] = {1, -1, 0.125f, 1.0f / 3, -0x1p-30f, 0, 0x1p100f, 0x1p-140f};
    const unsigned s = (2u << kind) - 1;
    const uint8_t *codes = draw_codes(kind, n, place);
    const float *y = vector_of(kind % V_NONFINITE, n + 3);
    const float scale = scales[(n + place) % (sizeof scales / sizeof *scales)];
    const float step = fabsf(*vector_of((vector_kind)(n % V_NONFINITE), n + 1)) / (float)s;
    float table[256];
    for (unsigned level = 0; level < 128; level++) {
        const float value = (float)level * step;
        table[level] = scale * value;
        table[128 + level] = -table[level];
    }
    output_place(&floats, n * 4, 4, (place + 7) % PLACES);
    output_reset(floats.wanted, &floats, y);
    ti_kernels_ref.codes_add(codes, n, s, table, (void *)floats.wanted);
    output_reset(floats.got, &floats, y);
    here.table = "ref";
    ti_kernels_ref.steps_add(codes, n, step, scale, (void *)floats.got);
    expect_output(&floats, floats.size);
    for (size_t t = 0; t < running_count; t++) {
        here.table = running[t]->name;
        output_reset(floats.got, &floats, y);
        running[t]->steps_add(codes, n, step, scale, (void *)floats.got);
        expect_output(&floats, floats.size);
    }
}

static void products(void **state)
{
    (void)state;
    every_case("steps_add", multiply);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fixed_width),
        cmocka_unit_test(elias_words),
        cmocka_unit_test(sums),
        cmocka_unit_test(products),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
