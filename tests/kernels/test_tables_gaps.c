/* test_tables_gaps.c - gaps between indices, counted and written, of every table against ref, and of ref against the page
 * that defines them (docs/format.md, section 4). */
#include "kernels/tables.h"

enum { MAX_BYTES = 1 << 17 };

static fenced index_field;
static output stream;

static int setup(void **state)
{
    tables_setup(state);
    index_field = fenced_make(LONGEST * 4);
    stream = output_make("the stream", MAX_BYTES);
    return 0;
}

static uint32_t gap_at(const uint32_t *indices, size_t i)
{
    return i ? indices[i] - indices[i - 1] - 1 : indices[0];
}

/* ---- the page, word by word -------------------------------------------------------------------------------- */

/* A quotient in zeros, a one that ends it, and one or two bits for a digit. */
static uint64_t page_bits(const uint32_t *indices, size_t n, unsigned shift, bool three)
{
    uint64_t bits = 0;
    for (size_t i = 0; i < n; i++) {
        const uint64_t part = gap_at(indices, i) >> shift;
        bits += three ? part / 3 + 1 + (part % 3 ? 2 : 1) : part + 1;
    }
    return bits;
}

static void put_bit(uint8_t *dst, uint64_t *at, unsigned bit)
{
    dst[*at / 8] |= (uint8_t)(bit << *at % 8);
    ++*at;
}

static void page_write(const uint32_t *indices, size_t n, unsigned shift, bool three, uint8_t *dst)
{
    uint64_t at = 0;
    for (size_t i = 0; i < n; i++)
        for (unsigned bit = 0; bit < shift; bit++) put_bit(dst, &at, gap_at(indices, i) >> bit & 1);
    for (size_t i = 0; i < n; i++) {
        const uint32_t part = gap_at(indices, i) >> shift, digit = part % 3;
        at += three ? part / 3 : part;
        put_bit(dst, &at, 1);
        if (three) put_bit(dst, &at, digit > 0);
        if (three && digit) put_bit(dst, &at, digit == 2);
    }
}

/* ---- the questions ----------------------------------------------------------------------------------------- */

/* Ascending indices with gaps below a limit that grows with the kind, as far as the range of indices lets them. */
static uint32_t *draw_indices(vector_kind kind, size_t n, unsigned place)
{
    static const size_t width[V_KINDS] = {1, 2, 3, 100, 5000, 1000000, UINT32_MAX};
    const size_t widest = n ? UINT32_MAX / n : 1, limit = width[kind] < widest ? width[kind] : widest;
    dice d = {n * 31 + kind};
    uint32_t *indices = (void *)fenced_place(&index_field, n * 4, 4, place);
    uint64_t next = roll_below(&d, limit);
    for (size_t i = 0; i < n; i++, next += 1 + roll_below(&d, limit)) indices[i] = (uint32_t)next;
    return indices;
}

static void say(unsigned shift, bool three)
{
    snprintf(here.more, sizeof here.more, ", shift %u, %s", shift, three ? "threes" : "twos");
}

static void add_up(vector_kind kind, size_t n, unsigned place)
{
    const uint32_t *indices = draw_indices(kind, n, place);
    for (unsigned shift = 0; shift < 30; shift += 1 + (n > SHORT) * 6)
        for (int three = 0; three < 2; three++) {
            uint64_t wanted[3], got[3];
            ti_kernels_ref.gap_bits(indices, n, shift, three, wanted);
            say(shift, three);
            here.table = "ref";
            for (unsigned k = 0; k < 3; k++)
                expect_here(wanted[k] == page_bits(indices, n, shift + k, three), "%llu bits, %u further",
                            (unsigned long long)wanted[k], k);
            for (size_t t = 0; t < running_count; t++) {
                here.table = running[t]->name;
                running[t]->gap_bits(indices, n, shift, three, got);
                for (unsigned k = 0; k < 3; k++)
                    expect_here(got[k] == wanted[k], "%llu bits instead of %llu", (unsigned long long)got[k],
                                (unsigned long long)wanted[k]);
            }
        }
}

static void counting(void **state)
{
    (void)state;
    every_case("gap_bits", add_up);
}

static void put_down(vector_kind kind, size_t n, unsigned place)
{
    const uint32_t *indices = draw_indices(kind, n, place);
    static uint8_t page[MAX_BYTES];
    for (unsigned shift = (unsigned)(n + place) % 3; shift < 32; shift += 3)
        for (int three = 0; three < (shift < 31 ? 2 : 1); three++) {
            const uint64_t bytes = ((uint64_t)n * shift + page_bits(indices, n, shift, three) + 7) / 8;
            if (bytes > (n <= SHORT ? 2000 : MAX_BYTES)) continue; /* nobody would write it so */
            const size_t size = (size_t)bytes;
            say(shift, three);
            memset(page, 0, size);
            page_write(indices, n, shift, three, page);
            output_place(&stream, size, 1, (place + 7) % PLACES);
            output_reset(stream.wanted, &stream, NULL);
            ti_kernels_ref.gap_write(indices, n, shift, three, size, stream.wanted);
            here.table = "ref";
            expect_here(memcmp(stream.wanted, page, size) == 0, "not what the page says");
            for (size_t t = 0; t < running_count; t++) {
                here.table = running[t]->name;
                output_reset(stream.got, &stream, NULL);
                running[t]->gap_write(indices, n, shift, three, size, stream.got);
                expect_output(&stream, size);
            }
        }
}

static void writing(void **state)
{
    (void)state;
    every_case("gap_write", put_down);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counting),
        cmocka_unit_test(writing),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
