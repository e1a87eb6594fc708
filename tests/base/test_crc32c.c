/* test_crc32c.c - CRC-32C against published answers, against a bit-by-bit computation, and against damage. */
#include "base/crc32c.h"
#include "base/crc32c_table.h"

#include "support.h"

/* From the definition: divide by the polynomial, one bit at a time. */
static uint32_t slow_crc(const uint8_t *bytes, size_t length)
{
    uint32_t crc = 0xffffffff;
    for (size_t i = 0; i < 8 * length; i++) {
        const uint32_t bit = (crc ^ bytes[i / 8] >> i % 8) & 1;
        crc = crc >> 1 ^ (bit ? 0x82f63b78 : 0);
    }
    return ~crc;
}

static void published_answers(void **state)
{
    (void)state;
    uint8_t up[32], down[32], zeros[32], ones[32];
    for (int i = 0; i < 32; i++) {
        up[i] = (uint8_t)i;
        down[i] = (uint8_t)(31 - i);
        zeros[i] = 0;
        ones[i] = 0xff;
    }
    assert_int_equal(tithe_crc32c((const uint8_t *)"123456789", 9), 0xe3069283);
    assert_int_equal(tithe_crc32c(zeros, 32), 0x8a9136aa); /* this and the next four: RFC 3720, B.4 */
    assert_int_equal(tithe_crc32c(ones, 32), 0x62a8ab43);
    assert_int_equal(tithe_crc32c(up, 32), 0x46dd794e);
    assert_int_equal(tithe_crc32c(down, 32), 0x113fdb5c);
    static const uint8_t read_command[48] = {0x01, 0xc0, 0, 0, 0, 0, 0,    0, 0,    0, 0, 0,    0, 0, 0, 0,
                                             0x14, 0,    0, 0, 0, 0, 0x04, 0, 0,    0, 0, 0x14, 0, 0, 0, 0x18,
                                             0x28, 0,    0, 0, 0, 0, 0,    0, 0x02, 0, 0, 0,    0, 0, 0, 0};
    assert_int_equal(tithe_crc32c(read_command, 48), 0xd9963a56);
    assert_int_equal(tithe_crc32c(zeros, 0), 0);
}

static void every_table_entry_follows_from_the_polynomial(void **state)
{
    (void)state;
    for (unsigned t = 0; t < 8; t++)
        for (uint32_t byte = 0; byte < 256; byte++) {
            uint32_t remainder = byte; /* the byte, then t bytes of zeros */
            for (unsigned bit = 0; bit < 8 * (t + 1); bit++)
                remainder = remainder >> 1 ^ (remainder & 1 ? 0x82f63b78 : 0);
            expect(crc32c_table[t][byte] == remainder, "entry %u of table %u", byte, t);
        }
}

static void every_length_and_alignment(void **state)
{
    (void)state;
    dice d = {6};
    static uint8_t bytes[20000];
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)roll(&d);
    for (size_t start = 0; start < 9; start++)
        for (size_t length = 0; length < 300; length++)
            assert_int_equal(tithe_crc32c(bytes + start, length), slow_crc(bytes + start, length));
    for (size_t length = 1000; length < 19000;
         length += 1 + length / 5) /* long enough for several streams at once */
        assert_int_equal(tithe_crc32c(bytes + length % 8, length), slow_crc(bytes + length % 8, length));
}

static void every_single_bit_and_short_burst_is_found(void **state)
{
    (void)state;
    dice d = {7};
    uint8_t bytes[200];
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)roll(&d);
    for (size_t length = 1; length <= sizeof bytes; length += 13) {
        const uint32_t sound = tithe_crc32c(bytes, length);
        for (size_t bit = 0; bit < 8 * length; bit++) {
            bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
            assert_int_not_equal(tithe_crc32c(bytes, length), sound);
            bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
        /* Bursts of at most 32 bits leave a remainder, whatever is inside. */
        for (int trial = 0; trial < 500 && length >= 5; trial++) {
            const size_t at = roll_below(&d, length - 4);
            const uint32_t burst = (uint32_t)roll(&d) | 1;
            for (size_t b = 0; b < 4; b++) bytes[at + b] ^= (uint8_t)(burst >> 8 * b);
            assert_int_not_equal(tithe_crc32c(bytes, length), sound);
            for (size_t b = 0; b < 4; b++) bytes[at + b] ^= (uint8_t)(burst >> 8 * b);
        }
        assert_int_equal(tithe_crc32c(bytes, length), sound);
    }
}

/* Wherever a row of bytes is cut, the checksums of both halves make that of the whole. */
static void halves_join(void **state)
{
    (void)state;
    static uint8_t bytes[5000];
    dice d = {9};
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)roll(&d);
    for (size_t n = 0; n <= sizeof bytes; n += n < 40 ? 1 : 331)
        for (size_t cut = 0; cut <= n; cut += n < 40 ? 1 : 97)
            assert_int_equal(
                ti_crc32c_join(tithe_crc32c(bytes, cut), tithe_crc32c(bytes + cut, n - cut), n - cut),
                tithe_crc32c(bytes, n));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_answers),
        cmocka_unit_test(every_table_entry_follows_from_the_polynomial),
        cmocka_unit_test(every_length_and_alignment),
        cmocka_unit_test(every_single_bit_and_short_burst_is_found),
        cmocka_unit_test(halves_join),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
