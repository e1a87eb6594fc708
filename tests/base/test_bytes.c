/* test_bytes.c - little-endian numbers byte by byte, and varints: every length, one spelling, no read beyond the end. */
#include "base/bytes.h"

#include "support.h"

static void numbers_are_little_endian(void **state)
{
    (void)state;
    uint8_t p[8];
    put_u16(p, 0x1234);
    assert_memory_equal(p, "\x34\x12", 2);
    put_u32(p, 0x12345678);
    assert_memory_equal(p, "\x78\x56\x34\x12", 4);
    put_u64(p, UINT64_C(0x123456789abcdef0));
    assert_memory_equal(p, "\xf0\xde\xbc\x9a\x78\x56\x34\x12", 8);
    put_f32(p, -2.0f);
    assert_memory_equal(p, "\x00\x00\x00\xc0", 4);
    put_f64(p, 1.0);
    assert_memory_equal(p, "\x00\x00\x00\x00\x00\x00\xf0\x3f", 8);
}

static void numbers_come_back(void **state)
{
    (void)state;
    dice d = {1};
    uint8_t block[16];
    for (int trial = 0; trial < 20000; trial++) {
        uint8_t *p = block + trial % 8; /* at every alignment */
        const uint64_t v = roll(&d) >> roll_below(&d, 64);
        put_u16(p, (uint16_t)v);
        assert_int_equal(get_u16(p), (uint16_t)v);
        put_u32(p, (uint32_t)v);
        assert_int_equal(get_u32(p), (uint32_t)v);
        put_u64(p, v);
        assert_true(get_u64(p) == v);
        put_f32(p, f32_from_bits((uint32_t)v));
        assert_int_equal(f32_bits(get_f32(p)) | 0x400000,
                         (uint32_t)v | 0x400000); /* a NaN may become quiet */
        put_f64(p, f64_from_bits(v & UINT64_C(0x7fefffffffffffff)));
        assert_true(f64_bits(get_f64(p)) == (v & UINT64_C(0x7fefffffffffffff)));
    }
    put_u32(block, 0xffffffff);
    put_u32(block + 4, 0xffffffff);
    assert_true(get_u32(block) == UINT32_MAX && get_u64(block) == UINT64_MAX && get_u16(block) == 0xffff);
}

static void bits_fill_bytes(void **state)
{
    (void)state;
    for (uint64_t bits = 0; bits < 100; bits++) assert_int_equal(bytes_of_bits(bits), (bits + 7) / 8);
    assert_true(bytes_of_bits(UINT64_MAX) ==
                (size_t)(UINT64_C(1) << 61)); /* where adding 7 would wrap around */
}

/* ---- varints --------------------------------------------------------------------------------------------- */

static const uint32_t corners[] = {0,       1,         127,       128, 16383,      16384,      2097151,
                                   2097152, 268435455, 268435456, 300, 0x7fffffff, 0x80000000, UINT32_MAX};
static const size_t sizes[] = {1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 2, 5, 5, 5};

static void expect_varint(uint32_t v, size_t size)
{
    uint8_t p[8];
    memset(p, GUARD_BYTE, sizeof p);
    assert_int_equal(varint_size(v), size);
    assert_ptr_equal(put_varint(p, v), p + size);
    assert_true(bytes_are(p + size, sizeof p - size, GUARD_BYTE));
    uint64_t sum = 0;
    for (size_t i = 0; i < size; i++) {
        assert_int_equal(p[i] >> 7, i + 1 < size); /* the top bit says that more follow */
        sum += (uint64_t)(p[i] & 127) << 7 * i;
    }
    assert_true(sum == v);

    uint32_t back = ~v;
    assert_ptr_equal(get_varint(p, p + size, &back), p + size);
    assert_true(back == v);
    for (size_t cut = 0; cut < size; cut++) { /* what is cut is refused, and the result stays */
        uint8_t *exact = malloc(cut + 1);
        assert_non_null(exact);
        memcpy(exact + 1, p, cut);
        back = 4711;
        assert_null(get_varint(exact + 1, exact + 1 + cut, &back));
        assert_int_equal(back, 4711);
        free(exact);
    }
}

static void varints_of_every_length(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof corners / sizeof *corners; i++) expect_varint(corners[i], sizes[i]);
    for (uint32_t v = 0; v < 40000; v++) expect_varint(v, v < 128 ? 1 : v < 16384 ? 2 : 3);
    dice d = {2};
    for (int trial = 0; trial < 20000; trial++) {
        const uint32_t v = (uint32_t)(roll(&d) >> (32 + roll_below(&d, 32)));
        size_t size = 1;
        while (size < 5 && (uint64_t)v >> 7 * size) size++;
        expect_varint(v, size);
    }
}

/* Every pair of bytes: what is accepted is what put_varint writes. */
static void one_number_has_one_spelling(void **state)
{
    (void)state;
    for (unsigned word = 0; word < 1u << 16; word++) {
        const uint8_t p[2] = {(uint8_t)word, (uint8_t)(word >> 8)};
        uint32_t v;
        const uint8_t *after = get_varint(p, p + 2, &v);
        if (!after) {
            assert_true((p[0] & 0x80) && ((p[1] & 0x80) || p[1] == 0));
            continue;
        }
        uint8_t again[5];
        assert_int_equal(put_varint(again, v) - again, after - p);
        assert_memory_equal(again, p, (size_t)(after - p));
    }
}

static void longer_spellings_and_larger_numbers_are_refused(void **state)
{
    (void)state;
    static const struct {
        size_t length;
        uint8_t bytes[6];
    } bad[] = {
        {2, {0x80, 0x00}},                         /* 0 in two bytes */
        {3, {0x85, 0x80, 0x00}},                   /* 5 in three */
        {5, {0xff, 0xff, 0xff, 0xff, 0x00}},       /* 2^28 - 1 in five */
        {5, {0x80, 0x80, 0x80, 0x80, 0x10}},       /* 2^32 */
        {5, {0xff, 0xff, 0xff, 0xff, 0x7f}},       /* 2^35 - 1 */
        {6, {0xff, 0xff, 0xff, 0xff, 0x8f, 0x01}}, /* six bytes */
        {6, {0x80, 0x80, 0x80, 0x80, 0x80, 0x00}},
    };
    uint32_t v = 4711;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_null(get_varint(bad[i].bytes, bad[i].bytes + bad[i].length, &v));
        assert_int_equal(v, 4711);
    }
    const uint8_t max[] = {0xff, 0xff, 0xff, 0xff, 0x0f};
    assert_ptr_equal(get_varint(max, max + 5, &v), max + 5);
    assert_true(v == UINT32_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_little_endian),
        cmocka_unit_test(numbers_come_back),
        cmocka_unit_test(bits_fill_bytes),
        cmocka_unit_test(varints_of_every_length),
        cmocka_unit_test(one_number_has_one_spelling),
        cmocka_unit_test(longer_spellings_and_larger_numbers_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
