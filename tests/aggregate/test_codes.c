/* test_codes.c - the arithmetic of a switch: what may be added, and how a sum becomes a power of two. */
#include "aggregate/lossy.h"

/* Over all random numbers that count, the mean is the sum itself: no bias at all. */
static void rounding_is_exact_on_average(void **state)
{
    (void)state;
    for (uint32_t sum = 1; sum <= 1200; sum++) {
        const uint32_t h = codes_highest_bit(sum);
        uint64_t total = 0;
        for (uint32_t random = 0; random < UINT32_C(1) << h; random++) {
            const uint8_t plus = codes_round(sum, random), minus = codes_round(0u - sum, random);
            assert_int_equal(minus, plus | NATURAL_SIGN);
            assert_true(plus == h + 1 || plus == h + 2);
            total += codes_natural(plus);
        }
        expect(total == (uint64_t)sum << h, "%u becomes %g on average", sum,
               (double)total / (double)(1u << h));
    }
    assert_int_equal(codes_round(0, 12345), 0);
}

/* Of large sums a sample: within what chance allows, and never but one of the two neighbours. */
static void large_sums_too(void **state)
{
    (void)state;
    enum { TRIALS = 40000 };
    dice d = {5};
    for (unsigned i = 0; i < 60; i++) {
        const uint32_t sum = 1 + (uint32_t)(roll(&d) >> (34 + i % 20));
        const uint32_t h = codes_highest_bit(sum);
        const double p = (double)(sum - (UINT32_C(1) << h)) / (double)(UINT32_C(1) << h);
        double ups = 0;
        for (uint32_t t = 0; t < TRIALS; t++) ups += codes_round(sum, codes_random(i, t)) == h + 2;
        expect(fabs(ups - TRIALS * p) <= count_slack(TRIALS, p), "%u: %g of %d up, not %g", sum, ups, TRIALS,
               TRIALS * p);
    }
    assert_int_equal(codes_round(UINT32_C(1) << 30, 7), 31);
}

static void the_highest_bit(void **state)
{
    (void)state;
    for (uint32_t b = 0; b < 32; b++) {
        assert_int_equal(codes_highest_bit(UINT32_C(1) << b), b);
        assert_int_equal(codes_highest_bit(UINT32_MAX >> (31 - b)), b);
    }
}

/* Whatever is let in, the largest numbers of all workers together stay in 32 bits, and in `down`. */
static void nothing_can_overflow(void **state)
{
    (void)state;
    static const uint32_t many[] = {1, 2, 3, 7, 8, 1000, 1024};
    for (size_t m = 0; m < sizeof many / sizeof *many; m++)
        for (unsigned operation = 0; operation < 4; operation++)
            for (unsigned up = 0; up <= 40; up++)
                for (unsigned down = 0; down <= 40; down++)
                    for (unsigned top = 0; top <= 32; top++) {
                        const uint32_t most = top == 32 ? UINT32_MAX : (UINT32_C(1) << top) - (top % 2);
                        const packet_head h = {.operation = (uint8_t)operation,
                                               .up = (uint8_t)up,
                                               .down = (uint8_t)down,
                                               .most = operation == OPERATION_NATURAL ? top : most,
                                               .values = 1};
                        if (!codes_make_sense(&h, many[m])) continue;
                        assert_true(up >= 1 && up <= 32 && down >= 1 && down <= 32 && operation < 3);
                        const double largest = operation == OPERATION_NATURAL ? ldexp(many[m], (int)top - 1)
                                               : operation == OPERATION_SUM   ? (double)most * many[m]
                                                                              : (double)most;
                        expect(largest < (operation == OPERATION_NATURAL ? 0x1p31 : ldexp(1, (int)down)),
                               "%u workers may send numbers up to %u, which come to %g in %u bits", many[m],
                               h.most, largest, down);
                    }
}

/* 31 - ceil(log2 N) bits of exponents are what N workers have. */
static void the_window_of_powers(void **state)
{
    (void)state;
    for (uint32_t workers = 1; workers <= PACKET_WORKERS; workers++) {
        packet_head h = {.operation = OPERATION_NATURAL, .up = 8, .down = 8, .values = 1};
        h.most = 31 - (uint32_t)ceil(log2(workers));
        assert_true(codes_make_sense(&h, workers));
        h.most++;
        assert_false(codes_make_sense(&h, workers));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounding_is_exact_on_average),
        cmocka_unit_test(large_sums_too),
        cmocka_unit_test(the_highest_bit),
        cmocka_unit_test(nothing_can_overflow),
        cmocka_unit_test(the_window_of_powers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
