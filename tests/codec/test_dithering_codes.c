/* test_dithering_codes.c - rows of levels as codes: what is written many at a time is what is written one by one, what is
 * read many at a time is what was written, and a single bad code in a long row is noticed wherever it stands. */
#include "codec/dithering_codes.h"
#include "kernels/kernels.h"
#include "support.h"

enum { MAX = 2 * ELIAS_SPLIT + 77 };

static uint8_t codes[MAX], back[MAX + CODES_SPARE];
static elias_table table;
static elias_words words;

/* Small levels more often, as they are in life; `even`: all of them alike. */
static void draw(dice *d, unsigned s, size_t n, bool even)
{
    for (size_t i = 0; i < n; i++) {
        unsigned level = (unsigned)roll_below(d, s + 1);
        if (!even) level >>= roll_below(d, 8);
        codes[i] = (uint8_t)(level | (level && roll(d) & 1 ? 128 : 0));
    }
}

static uint64_t max_bits(bool elias, unsigned s, size_t n)
{
    return (uint64_t)n * (elias ? 2 * log2_floor(s + 1) + 2 : level_code_width(s));
}

/* The row in stretches of any length, into no more room than the longest codes take. */
static guarded write_row(dice *d, bool elias, unsigned s, size_t n, uint64_t *bits)
{
    guarded row = guarded_make(bytes_of_bits(max_bits(elias, s, n)), s);
    bit_writer w = bit_writer_at(row.data);
    for (size_t i = 0; i < n;) {
        const size_t left = n - i, some = 1 + roll_below(d, 1000), many = some < left ? some : left;
        ti_level_codes_write(&w, elias ? &words : NULL, s, codes + i, many, left);
        i += many;
    }
    *bits = bits_finish(&w);
    expect(guarded_is_intact(&row), "s=%u: something beside the room was written", s);
    return row;
}

static void expect_row(dice *d, bool elias, unsigned s, size_t n)
{
    static uint8_t plain[MAX * 2 + 16];
    uint64_t bits;
    guarded row = write_row(d, elias, s, n, &bits);
    bit_writer w = bit_writer_at(plain);
    for (size_t i = 0; i < n; i++) put_level(&w, elias, s, codes[i] & 127, codes[i] >> 7);
    expect(bits_finish(&w) == bits && memcmp(plain, row.data, bytes_of_bits(bits)) == 0,
           "s=%u, %zu codes: the bits are others than one by one", s, n);

    guarded exact = guarded_make(bytes_of_bits(bits), s); /* so that a reader beyond the end is noticed */
    memcpy(exact.data, row.data, bytes_of_bits(bits));
    for (int with_table = 0; with_table < 2; with_table++) {
        bit_reader r = bit_reader_at(exact.data, bytes_of_bits(bits), 0);
        for (size_t i = 0; i < n;) {
            const size_t left = n - i, some = 1 + roll_below(d, 3000), many = some < left ? some : left;
            expect(ti_level_codes_read(&r, elias, s, with_table ? &table : NULL, many, back + i),
                   "s=%u: codes %zu to %zu of %zu cannot be read", s, i, i + many, n);
            i += many;
        }
        expect(memcmp(back, codes, n) == 0 && r.position == bits, "s=%u: other codes come back", s);
        expect(ti_level_codes_sound(back, n, s), "s=%u: they are not sound", s);
        if (!elias) continue;
        r = bit_reader_at(exact.data, bytes_of_bits(bits), 0);
        expect(ti_elias_codes_pass(&r, s, with_table ? &table : NULL, n) && r.position == bits,
               "s=%u: the codes cannot be passed", s);
        r = bit_reader_at(exact.data, bytes_of_bits(bits), 0);
        expect(!ti_elias_codes_pass(&r, s, with_table ? &table : NULL, n + 1),
               "s=%u: the end was not noticed", s);
    }
    guarded_free(&row);
    guarded_free(&exact);
}

static void rows_come_back(void **state)
{
    (void)state;
    static const size_t lengths[] = {0, 1, 2, 7, 8, 9, 15, 16, 17, 63, 64, 100, 1000, 4097, 9000};
    dice d = {11};
    for (unsigned s = 1; s <= FEW_LEVELS; s += s < 20 ? 1 : 7) {
        ti_elias_table(&table, s);
        for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++)
            for (int mode = 0; mode < 4; mode++) {
                draw(&d, s, lengths[l], mode & 1);
                if (mode == 3)
                    memset(codes, (int)s, lengths[l]); /* the longest codes, to the end of the room */
                expect_row(&d, mode & 2, s, lengths[l]);
            }
    }
}

/* From several places at once: with few bits a code, with many, and with codes that no table holds. */
static void long_rows_come_back(void **state)
{
    (void)state;
    static const unsigned levels[] = {1, 2, 7, 20, 127};
    static const size_t lengths[] = {ELIAS_SPLIT - 1, ELIAS_SPLIT, ELIAS_SPLIT + 1, MAX};
    dice d = {13};
    for (size_t j = 0; j < sizeof levels / sizeof *levels; j++) {
        ti_elias_table(&table, levels[j]);
        for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++)
            for (int mode = 0; mode < 4; mode++) {
                draw(&d, levels[j], lengths[l], mode == 1);
                if (mode == 2) memset(codes, 0, lengths[l]);
                if (mode == 3) memset(codes, (int)levels[j] | 128, lengths[l]);
                expect_row(&d, true, levels[j], lengths[l]);
            }
    }
}

/* Level 2, `011` and a sign, over and over: read from beside a code it stays beside, or makes no sense. Then there is
 * only one place to read from, and the answer is the same. */
static void rows_that_never_fall_into_step(void **state)
{
    (void)state;
    dice d = {14};
    unsigned split = 0;
    for (unsigned level = 1; level < 8; level++)
        for (unsigned sign = 0; sign < 2; sign++) {
            ti_elias_table(&table, 7);
            memset(codes, (int)(level | sign << 7), MAX);
            expect_row(&d, true, 7, MAX);
            uint64_t bits;
            guarded row = write_row(&d, true, 7, MAX, &bits);
            elias_point points[ELIAS_CHAINS];
            size_t passed;
            bit_reader r = bit_reader_at(row.data, bytes_of_bits(bits), 0);
            split += ti_elias_split(&r, 7, &table, MAX, points, &passed);
            guarded_free(&row);
        }
    expect(split < 14, "all rows were split, so none of them asks what it should");
}

static void a_bad_code_is_noticed(void **state)
{
    (void)state;
    dice d = {12};
    for (unsigned s = 1; s < FEW_LEVELS; s += 1 + s / 9) {
        ti_elias_table(&table, s);
        for (int trial = 0; trial < 60; trial++) {
            const size_t n = 1 + roll_below(&d, trial % 20 == 3 ? MAX : 3000), at = roll_below(&d, n);
            const bool elias = trial % 2;
            const unsigned widest = elias ? FEW_LEVELS : (1u << (level_code_width(s) - 1)) - 1;
            draw(&d, s, n, trial % 3 == 0);
            codes[at] =
                elias || (widest > s && trial % 4) ? (uint8_t)(s + 1 + roll_below(&d, widest - s)) : 128;
            uint64_t bits;
            const unsigned all = elias ? FEW_LEVELS : s; /* the writer has to know the level */
            guarded row = write_row(&d, elias, all, n, &bits);
            for (int with_table = 0; with_table < 2; with_table++) {
                const elias_table *t = with_table ? &table : NULL;
                bit_reader r = bit_reader_at(row.data, bytes_of_bits(bits), 0);
                const bool read = ti_level_codes_read(&r, elias, s, t, n, back);
                expect(elias ? !read : read && !ti_level_codes_sound(back, n, s),
                       "s=%u: code %u at %zu of %zu went through", s, codes[at], at, n);
                if (!elias) continue;
                r = bit_reader_at(row.data, bytes_of_bits(bits), 0);
                expect(!ti_elias_codes_pass(&r, s, t, n), "s=%u: code %u at %zu of %zu was passed", s,
                       codes[at], at, n);
            }
            guarded_free(&row);
        }
    }
}

static int setup(void **state)
{
    (void)state;
    ti_elias_words(&words);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_come_back),
        cmocka_unit_test(long_rows_come_back),
        cmocka_unit_test(rows_that_never_fall_into_step),
        cmocka_unit_test(a_bad_code_is_noticed),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
