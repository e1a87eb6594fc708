/* test_indices.c - sets of positions: every coding comes back, the plan is the smallest of all, it is never longer than
 * promised and close to the entropy, and no stream of bytes leads out of the array. */
#include "codec/indices.h"

#include "support.h"

enum { MAX = 6000 };

/* ---- sets ------------------------------------------------------------------------------------------------ */

static size_t uniform_set(dice *d, size_t n, double keep, uint32_t *set)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        if (roll_unit(d) < keep) set[count++] = (uint32_t)i;
    return count;
}

/* Runs and long gaps: as far from geometric gaps as sets of layers get. */
static size_t clustered_set(dice *d, size_t n, uint32_t *set)
{
    size_t count = 0;
    for (size_t i = roll_below(d, 50); i < n; i += 1 + (size_t)pow(2, 11 * roll_unit(d)))
        for (size_t run = 1 + roll_below(d, 9); run && i < n; run--, i++) set[count++] = (uint32_t)i;
    return count;
}

/* Gaps that repeat a short pattern: the worst for a search that hopes for one valley. */
static size_t patterned_set(dice *d, size_t n, uint32_t *set)
{
    uint32_t pattern[4];
    const size_t length = 1 + roll_below(d, 4), scale = 1 + roll_below(d, 60);
    for (size_t i = 0; i < length; i++) pattern[i] = (uint32_t)(1 + roll_below(d, scale));
    size_t count = 0;
    for (uint64_t at = roll_below(d, 3); at < n; at += pattern[count % length]) set[count++] = (uint32_t)at;
    return count;
}

/* ---- an account of its own -------------------------------------------------------------------------------- */

static uint64_t golomb_account(const uint32_t *set, size_t count, unsigned j, bool three)
{
    uint64_t bits = 0;
    for (size_t i = 0; i < count; i++) {
        const uint64_t gap = i ? set[i] - set[i - 1] - 1 : set[i], h = gap >> j;
        bits += j + (three ? h / 3 + 1 + (h % 3 ? 2 : 1) : h + 1);
    }
    return bits;
}

static unsigned log2_up(size_t n)
{
    unsigned width = 0;
    while ((UINT64_C(1) << width) < n) width++;
    return width;
}

static uint64_t smallest_account(const uint32_t *set, size_t count, size_t n)
{
    uint64_t min = (uint64_t)count * log2_up(n);
    if (n < min) min = n;
    for (unsigned j = 0; j <= 31; j++) {
        const uint64_t two = golomb_account(set, count, j, false);
        if (two < min) min = two;
        const uint64_t three = j <= 30 ? golomb_account(set, count, j, true) : UINT64_MAX;
        if (three < min) min = three;
    }
    return min;
}

static uint64_t promised_account(size_t count, size_t n)
{
    uint64_t min = (uint64_t)count * log2_up(n);
    if (n < min) min = n;
    for (unsigned r = 0; r < 40; r++)
        if ((uint64_t)count * (1 + r) + (n >> r) < min) min = (uint64_t)count * (1 + r) + (n >> r);
    return min;
}

static void expect_round_trip(index_plan plan, const uint32_t *set, size_t count, size_t n)
{
    const size_t bytes = (size_t)((plan.bits + 7) / 8);
    guarded stream = guarded_make(bytes, 0);
    ti_indices_write(&plan, set, count, n, stream.data);
    assert_true(guarded_is_intact(&stream));
    index_plan read;
    assert_true(ti_indices_from_byte(ti_indices_byte(&plan), &read));
    assert_true(read.coding == plan.coding && read.shift == plan.shift && read.three == plan.three);
    guarded back = guarded_make(count * sizeof *set, 0);
    expect(ti_indices_read(&read, stream.data, bytes, count, n, back.data),
           "coding %u: %zu of %zu are refused", ti_indices_byte(&plan), count, n);
    assert_int_equal(read.bits, plan.bits);
    assert_memory_equal(back.data, set, count * sizeof *set);
    assert_true(guarded_is_intact(&back));
    guarded_free(&stream);
    guarded_free(&back);
}

static void expect_plan(const uint32_t *set, size_t count, size_t n)
{
    const index_plan plan = ti_indices_plan(set, count, n);
    if (count == 0 || count == n) {
        assert_int_equal(plan.coding, TITHE_INDEX_NONE);
        assert_int_equal(plan.bits, 0);
        assert_int_equal(ti_indices_max_bits(count, n), 0);
        assert_int_equal(ti_indices_expected_bits(count, n), 0);
        return;
    }
    const uint64_t min = smallest_account(set, count, n);
    expect(plan.bits == min, "%zu of %zu: %llu bits by coding %u, but %llu would do", count, n,
           (unsigned long long)plan.bits, ti_indices_byte(&plan), (unsigned long long)min);
    assert_int_equal(ti_indices_max_bits(count, n), promised_account(count, n));
    assert_true(plan.bits <= ti_indices_max_bits(count, n));
    assert_true(ti_indices_expected_bits(count, n) <= ti_indices_max_bits(count, n));
    expect_round_trip(plan, set, count, n);
}

static uint32_t set[MAX];

static void the_plan_is_the_smallest_of_all(void **state)
{
    (void)state;
    dice d = {20};
    for (int trial = 0; trial < 3000; trial++) {
        const size_t n = 1 + roll_below(&d, trial % 3 ? 300 : MAX);
        size_t count;
        if (trial % 4 == 0)
            count = clustered_set(&d, n, set);
        else if (trial % 4 == 1)
            count = patterned_set(&d, n, set);
        else
            count = uniform_set(&d, n, pow(roll_unit(&d), 3), set);
        expect_plan(set, count, n);
    }
}

static void all_small_sets(void **state)
{
    (void)state;
    for (size_t n = 1; n <= 11; n++)
        for (unsigned members = 0; members < 1u << n; members++) {
            size_t count = 0;
            for (unsigned i = 0; i < n; i++)
                if (members >> i & 1) set[count++] = i;
            expect_plan(set, count, n);
        }
}

static void every_coding_comes_back(void **state)
{
    (void)state;
    dice d = {21};
    for (int trial = 0; trial < 60; trial++) {
        const size_t n = 2 + roll_below(&d, 3000);
        size_t count = trial % 2 ? uniform_set(&d, n, roll_unit(&d), set) : clustered_set(&d, n, set);
        if (count == 0) set[count++] = (uint32_t)n - 1;
        if (count == n) count--;
        expect_round_trip((index_plan){TITHE_INDEX_FIXED, 0, false, (uint64_t)count * log2_up(n)}, set, count,
                          n);
        expect_round_trip((index_plan){TITHE_INDEX_BITMAP, 0, false, n}, set, count, n);
        for (unsigned j = 0; j <= 31; j++) {
            expect_round_trip(
                (index_plan){TITHE_INDEX_GOLOMB, j, false, golomb_account(set, count, j, false)}, set, count,
                n);
            if (j <= 30)
                expect_round_trip(
                    (index_plan){TITHE_INDEX_GOLOMB, j, true, golomb_account(set, count, j, true)}, set,
                    count, n);
        }
    }
}

static void positions_up_to_2_to_the_32(void **state)
{
    (void)state;
    const size_t n = TITHE_MAX_N;
    static const uint32_t far[][4] = {{0, 1, 2, 4294967294},
                                      {4294967291, 4294967292, 4294967293, 4294967294},
                                      {0, 1431655765, 2863311530, 4294967294},
                                      {7, 8, 2147483648, 2147483649}};
    for (size_t i = 0; i < sizeof far / sizeof *far; i++) {
        expect_plan(far[i], 4, n);
        for (unsigned j = 20; j <= 31; j++) {
            expect_round_trip((index_plan){TITHE_INDEX_GOLOMB, j, false, golomb_account(far[i], 4, j, false)},
                              far[i], 4, n);
            if (j <= 30)
                expect_round_trip(
                    (index_plan){TITHE_INDEX_GOLOMB, j, true, golomb_account(far[i], 4, j, true)}, far[i], 4,
                    n);
        }
    }
}

/* ---- how good ---------------------------------------------------------------------------------------------- */

static double entropy_bits(size_t count, size_t n) /* log2 of n over count */
{
    return (lgamma((double)n + 1) - lgamma((double)count + 1) - lgamma((double)(n - count) + 1)) / log(2);
}

static void uniform_sets_take_little_more_than_their_entropy(void **state)
{
    (void)state;
    dice d = {22};
    static uint32_t large[400000];
    for (double keep = 0.0015; keep <= 0.6; keep *= 1.035) {
        const size_t n = keep < 0.02 ? 400000 : 40000;
        const size_t count = uniform_set(&d, n, keep, large);
        assert_true(count >= 500);
        const double share = (double)ti_indices_plan(large, count, n).bits / entropy_bits(count, n);
        expect(share >= 1 - 0.02, "keep = %.4f: less than the entropy cannot be", keep);
        expect(share <= (keep <= 0.3 ? 1.03 : 1.05), "keep = %.4f: %.4f times the entropy", keep, share);
    }
}

/* Exactly `count` of n, each set as likely as any other. */
static void drawn_set(dice *d, size_t n, size_t count, uint32_t *drawn)
{
    for (size_t i = 0, found = 0; found < count; i++)
        if (roll_below(d, n - i) < count - found) drawn[found++] = (uint32_t)i;
}

/* The mean of many draws, as many as make it sure to a tenth of what is allowed. */
static void evenly_drawn_sets_take_what_is_expected(void **state)
{
    (void)state;
    dice d = {24};
    static const size_t lengths[] = {2, 50, 123, 300, MAX};
    static const double keeps[] = {0, 0.001, 0.01, 0.03, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 0.8, 0.97};
    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++)
        for (size_t k = 0; k < sizeof keeps / sizeof *keeps; k++) {
            const size_t n = lengths[l], count = (size_t)fmax(1, round(keeps[k] * (double)n));
            const size_t trials = 20 + 20000 / count;
            double sum = 0;
            if (count >= n) continue;
            for (size_t t = 0; t < trials; t++) {
                drawn_set(&d, n, count, set);
                sum += (double)ti_indices_plan(set, count, n).bits;
            }
            const double mean = sum / (double)trials, expected = (double)ti_indices_expected_bits(count, n);
            const double within = count >= 12 ? 0.01 * mean + 1 : 0.08 * mean + 1; /* whole bits */
            expect(fabs(expected - mean) <= within, "%zu of %zu: %.1f bits, %.1f on average", count, n,
                   expected, mean);
        }
}

/* ---- what was not written by us ---------------------------------------------------------------------------- */

/* Any bytes: refused, or `count` positions, ascending and below n, and no byte beyond the end was read. */
static bool read_hostile(uint8_t coding, const uint8_t *bytes, size_t length, size_t count, size_t n)
{
    index_plan plan;
    if (!ti_indices_from_byte(coding, &plan)) return false;
    uint8_t *exact = malloc(length + !length);
    guarded out = guarded_make(count * sizeof(uint32_t), 0);
    assert_non_null(exact);
    memcpy(exact, bytes, length);
    const bool sound = ti_indices_read(&plan, exact, length, count, n, out.data);
    assert_true(guarded_is_intact(&out));
    if (sound) {
        const uint32_t *p = out.data;
        expect(plan.bits <= 8 * (uint64_t)length, "coding %u, %zu of %zu: %llu bits of %zu bytes", coding,
               count, n, (unsigned long long)plan.bits, length);
        for (size_t i = 0; i < count; i++) assert_true(p[i] < n && (i == 0 || p[i] > p[i - 1]));
    }
    free(exact);
    guarded_free(&out);
    return sound;
}

static void hostile_streams_stay_inside(void **state)
{
    (void)state;
    dice d = {23};
    size_t taken = 0;
    for (int trial = 0; trial < 60000; trial++) {
        uint8_t bytes[40];
        const size_t length = roll_below(&d, sizeof bytes + 1),
                     n = 2 + roll_below(&d, trial % 2 ? 300 : 70000);
        const uint64_t style = roll_below(&d, 3); /* few zeros, even, few ones */
        for (size_t i = 0; i < length; i++)
            bytes[i] = (uint8_t)(style == 0   ? roll(&d) | roll(&d)
                                 : style == 1 ? roll(&d)
                                              : roll(&d) & roll(&d));
        taken += read_hostile((uint8_t)roll_below(&d, 70), bytes, length,
                              1 + roll_below(&d, n - 1 < 60 ? n - 1 : 60), n);
    }
    expect(taken > 500, "only %zu were taken: the question is too easy", taken);
}

static void known_bad_streams(void **state)
{
    (void)state;
    const uint8_t zeros[8] = {0}, ones[8] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    assert_false(read_hostile(2, zeros, 8, 1, 1000)); /* a quotient that never ends */
    assert_false(read_hostile(3, zeros, 8, 1, 1000));
    assert_false(read_hostile(2 + 2 * 31, ones, 5, 1, 5)); /* one gap of 2^31 - 1 */
    assert_false(read_hostile(2 + 2 * 31, zeros, 8, 2, TITHE_MAX_N));
    assert_false(read_hostile(0, zeros, 0, 1, 2)); /* nothing there at all */
    assert_false(read_hostile(1, zeros, 0, 1, 2));
    assert_false(read_hostile(2, zeros, 0, 1, 2));
    assert_false(read_hostile(0, zeros, 8, 2, 1000)); /* position 0 twice */
    assert_false(read_hostile(1, ones, 1, 5, 8));     /* eight bits for five entries */
    assert_false(read_hostile(1, ones, 1, 5, 5));     /* bits beyond n */
    const uint8_t first[2] = {0x01, 0x00};
    assert_true(read_hostile(1, first, 2, 1, 9));
    const uint8_t padded[2] = {0x01, 0x80};
    assert_false(read_hostile(1, padded, 2, 1, 9));
    assert_false(read_hostile(2, padded, 1, 2, 9));     /* the second quotient runs to the end */
    const uint8_t clean[1] = {0x01}, dirty[1] = {0x81}; /* position 0, then padding */
    assert_true(read_hostile(2, clean, 1, 1, 9));
    assert_false(read_hostile(2, dirty, 1, 1, 9));
    const uint8_t clean_fixed[1] = {0x08}, dirty_fixed[1] = {0x18};
    assert_true(read_hostile(0, clean_fixed, 1, 1, 9));
    assert_false(read_hostile(0, dirty_fixed, 1, 1, 9));
    index_plan plan;
    for (unsigned byte = 0; byte < 256; byte++) {
        const bool known = ti_indices_from_byte((uint8_t)byte, &plan);
        assert_int_equal(known,
                         byte <= 64); /* 2 + 2 * 31 is the last power of two, 3 + 2 * 30 stands below it */
        if (known) assert_int_equal(ti_indices_byte(&plan), byte);
        if (known && byte >= 2)
            assert_true(indices_golomb_m(&plan) == (byte % 2 ? 3u : 1u) << (byte - 2) / 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_plan_is_the_smallest_of_all),
        cmocka_unit_test(all_small_sets),
        cmocka_unit_test(every_coding_comes_back),
        cmocka_unit_test(positions_up_to_2_to_the_32),
        cmocka_unit_test(uniform_sets_take_little_more_than_their_entropy),
        cmocka_unit_test(evenly_drawn_sets_take_what_is_expected),
        cmocka_unit_test(hostile_streams_stay_inside),
        cmocka_unit_test(known_bad_streams),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
