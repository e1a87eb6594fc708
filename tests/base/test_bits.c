/* test_bits.c - bit streams: every width, mixed at random, against a list of single bits; unary runs of any length; the
 * reader at and beyond its end. */
#include "base/bits.h"

#include "support.h"

enum { MAX_BITS = 40000 };

/* The plainest stream there is: one byte for each bit. */
typedef struct plain_bits {
    uint8_t bit[MAX_BITS];
    size_t count;
} plain_bits;

static plain_bits plain;

static void plain_put(uint64_t value, unsigned width)
{
    for (unsigned i = 0; i < width; i++) plain.bit[plain.count++] = value >> i & 1;
}

static void expect_equal_streams(const uint8_t *bytes)
{
    for (size_t i = 0; i < plain.count; i++)
        expect((bytes[i / 8] >> i % 8 & 1) == plain.bit[i], "bit %zu of %zu", i, plain.count);
    for (size_t i = plain.count; i % 8; i++)
        expect(!(bytes[i / 8] >> i % 8 & 1), "padding bit %zu is set", i);
}

static uint32_t random_of_width(dice *d, unsigned width)
{
    return (uint32_t)(roll(d) & ((UINT64_C(1) << width) - 1));
}

static void every_width_comes_back(void **state)
{
    (void)state;
    dice d = {3};
    for (unsigned width = 0; width <= 32; width++) {
        const size_t count = 1 + roll_below(&d, 300), bytes = (count * width + 7) / 8;
        guarded buffer = guarded_make(bytes, width);
        bit_writer w = bit_writer_at(buffer.data);
        uint32_t values[300];
        plain.count = 0;
        for (size_t i = 0; i < count; i++) {
            values[i] = i % 5 == 0 ? (uint32_t)((UINT64_C(1) << width) - 1) : random_of_width(&d, width);
            bits_put(&w, values[i], width);
            plain_put(values[i], width);
        }
        assert_int_equal(bits_finish(&w), count * width);
        assert_true(guarded_is_intact(&buffer));
        expect_equal_streams(buffer.data);

        bit_reader r = bit_reader_at(buffer.data, bytes, 0);
        for (size_t i = 0; i < count; i++) {
            assert_int_equal(bits_peek(&r, width), values[i]);
            assert_int_equal(bits_get(&r, width), values[i]);
        }
        assert_false(r.overrun);
        assert_int_equal(r.position, count * width);
        assert_true(bits_padding_is_zero(&r));
        guarded_free(&buffer);
    }
}

static void long_words_follow_each_other(void **state)
{
    (void)state;
    dice d = {8};
    for (int trial = 0; trial < 300; trial++) {
        static uint8_t bytes[MAX_BITS / 8];
        memset(bytes, 0xee, sizeof bytes);
        bit_writer w = bit_writer_at(bytes);
        plain.count = 0;
        bits_put(&w, 5, (unsigned)trial % 5 + 3);
        plain_put(5, (unsigned)trial % 5 + 3);
        for (int i = 0; i < 500; i++) {
            const unsigned width = (unsigned)roll_below(&d, trial % 3 ? 65 : 9);
            const uint64_t value = width ? roll(&d) >> (64 - width) : 0;
            bits_put_long(&w, value, width);
            plain_put(value, width);
        }
        assert_int_equal(bits_finish(&w), plain.count);
        expect_equal_streams(bytes);
    }
}

static void widths_and_unary_runs_may_mix(void **state)
{
    (void)state;
    dice d = {4};
    for (int trial = 0; trial < 300; trial++) {
        static uint8_t bytes[MAX_BITS / 8];
        static struct {
            bool unary;
            unsigned width;
            uint32_t value;
        } parts[400];
        memset(bytes, 0xee, sizeof bytes);
        bit_writer w = bit_writer_at(bytes);
        plain.count = 0;
        const size_t count = 1 + roll_below(&d, 400);
        for (size_t i = 0; i < count; i++) {
            parts[i].unary = roll_below(&d, 3) == 0;
            if (parts[i].unary) {
                parts[i].value = (uint32_t)roll_below(&d, trial % 2 ? 80 : 4);
                bits_put_zeros(&w, parts[i].value);
                bits_put(&w, 1, 1);
                for (uint32_t z = 0; z < parts[i].value; z++) plain_put(0, 1);
                plain_put(1, 1);
            } else {
                parts[i].width = (unsigned)roll_below(&d, 33);
                parts[i].value = random_of_width(&d, parts[i].width);
                bits_put(&w, parts[i].value, parts[i].width);
                plain_put(parts[i].value, parts[i].width);
            }
        }
        assert_int_equal(bits_finish(&w), plain.count);
        expect_equal_streams(bytes);

        const size_t length = (plain.count + 7) / 8;
        uint8_t *exact = malloc(length);
        assert_non_null(exact);
        memcpy(exact, bytes, length);
        bit_reader r = bit_reader_at(exact, length, 0);
        for (size_t i = 0; i < count; i++) {
            if (parts[i].unary)
                assert_int_equal(bits_get_unary(&r), parts[i].value);
            else
                assert_int_equal(bits_get(&r, parts[i].width), parts[i].value);
        }
        assert_false(r.overrun);
        assert_int_equal(r.position, plain.count);
        free(exact);
    }
}

/* The writer without a branch gives the same stream, wherever the other one left off. */
static void writing_ahead_is_the_same_stream(void **state)
{
    (void)state;
    dice d = {14};
    for (int trial = 0; trial < 300; trial++) {
        static uint8_t bytes[MAX_BITS / 8 + 8];
        memset(bytes, 0xee, sizeof bytes);
        bit_writer w = bit_writer_at(bytes);
        plain.count = 0;
        const size_t count = roll_below(&d, 500);
        for (size_t i = 0; i < count; i++) {
            const unsigned width = (unsigned)roll_below(&d, 33);
            const uint32_t value = random_of_width(&d, width);
            if (roll_below(&d, 4) == 0)
                bits_put(&w, value, width);
            else
                bits_put_ahead(&w, value, width);
            plain_put(value, width);
        }
        assert_int_equal(bits_finish(&w), plain.count);
        assert_ptr_equal(w.next, bytes + (plain.count + 7) / 8);
        expect_equal_streams(bytes);
    }
}

static void a_reader_may_start_anywhere(void **state)
{
    (void)state;
    dice d = {5};
    uint8_t bytes[20];
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)roll(&d);
    for (uint64_t start = 0; start <= 160; start++)
        for (unsigned width = 0; width <= 32; width++) {
            bit_reader r = bit_reader_at(bytes, sizeof bytes, start);
            uint64_t wanted = 0;
            for (unsigned i = 0; i < width && start + i < 160; i++)
                wanted |= (uint64_t)(bytes[(start + i) / 8] >> (start + i) % 8 & 1) << i;
            assert_int_equal(bits_get(&r, width), wanted); /* beyond the end there are zeros */
            assert_int_equal(r.overrun, start + width > 160);
        }
}

static void an_overrun_is_remembered(void **state)
{
    (void)state;
    const uint8_t bytes[] = {0xff, 0x01};
    bit_reader r = bit_reader_at(bytes, 2, 0);
    assert_int_equal(bits_get(&r, 16), 0x1ff);
    assert_false(r.overrun);
    assert_int_equal(bits_get(&r, 1), 0);
    assert_true(r.overrun);
    assert_int_equal(bits_get(&r, 0), 0);
    assert_true(r.overrun);
}

static void unary_runs_end_with_the_array(void **state)
{
    (void)state;
    for (size_t length = 0; length < 40; length++) {
        uint8_t *zeros = calloc(length + 1, 1);
        assert_non_null(zeros);
        for (uint64_t start = 0; start <= 8 * length; start += 3) {
            bit_reader r = bit_reader_at(zeros, length, start);
            assert_int_equal(bits_get_unary(&r),
                             8 * length - start); /* all of them zeros, and no one behind */
            assert_true(r.overrun);
        }
        if (length) { /* a one as the very last bit is found */
            zeros[length - 1] = 0x80;
            bit_reader r = bit_reader_at(zeros, length, 0);
            assert_int_equal(bits_get_unary(&r), 8 * length - 1);
            assert_false(r.overrun);
            assert_int_equal(r.position, 8 * length);
        }
        free(zeros);
    }
}

static void padding_is_looked_at_bit_by_bit(void **state)
{
    (void)state;
    for (unsigned position = 0; position < 8; position++)
        for (unsigned byte = 0; byte < 256; byte++) {
            const uint8_t bytes[] = {(uint8_t)byte, 0xff};
            bit_reader r = bit_reader_at(bytes, 2, position);
            assert_int_equal(bits_padding_is_zero(&r), position == 0 || byte >> position == 0);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_width_comes_back),        cmocka_unit_test(long_words_follow_each_other),
        cmocka_unit_test(widths_and_unary_runs_may_mix), cmocka_unit_test(writing_ahead_is_the_same_stream),
        cmocka_unit_test(a_reader_may_start_anywhere),   cmocka_unit_test(an_overrun_is_remembered),
        cmocka_unit_test(unary_runs_end_with_the_array), cmocka_unit_test(padding_is_looked_at_bit_by_bit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
