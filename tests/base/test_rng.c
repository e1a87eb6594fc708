/* test_rng.c - the generator against docs/format.md, section 5, written down here a second time and as plainly as it
 * goes; then against what random numbers must not show. */
#include "base/rng.h"
#include "kernels/stream.h"

#include "support.h"

/* ---- the page, word by word ------------------------------------------------------------------------------ */

static uint64_t page_mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static const uint64_t page_golden = 0x9e3779b97f4a7c15u, page_silver = 0xd1342543de82ef95u;

static uint64_t page_absorb(uint64_t state, uint64_t word)
{
    return page_mix((state ^ word) + page_golden);
}

static void page_key(uint64_t seed, uint64_t step, uint64_t rank, uint64_t tensor, uint64_t purpose,
                     uint64_t key[2])
{
    const uint64_t words[3] = {seed, step << 32 | rank, tensor << 32 | purpose};
    key[0] = 0;
    key[1] = page_silver;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 2; j++) key[j] = page_absorb(key[j], words[i]);
}

static void page_block(const uint64_t key[2], uint64_t block, uint32_t number[4096])
{
    for (uint64_t lane = 0; lane < 8; lane++) {
        const uint64_t c = 8 * block + lane;
        uint64_t s0 = page_mix(page_mix(key[0] + c * page_golden) + key[1]);
        uint64_t s1 = page_mix(page_mix(key[1] + c * page_silver) + key[0]);
        for (size_t round = 0; round < 256; round++) {
            uint64_t x = s0;
            const uint64_t y = s1;
            x = x ^ (x << 23);
            s0 = y;
            s1 = x ^ y ^ (x >> 18) ^ (y >> 5);
            const uint64_t v = s1 + y;
            number[16 * round + 2 * lane] = (uint32_t)(v & 0xffffffffu);
            number[16 * round + 2 * lane + 1] = (uint32_t)(v >> 32);
        }
    }
}

static void blocks_are_those_of_the_page(void **state)
{
    (void)state;
    dice d = {9};
    static uint32_t mine[4096], theirs[4096];
    for (int trial = 0; trial < 200; trial++) {
        const bool extreme = trial % 4 == 0;
        const uint64_t seed = extreme ? UINT64_MAX : roll(&d);
        const uint32_t step = extreme ? UINT32_MAX : (uint32_t)roll(&d), rank = (uint32_t)roll(&d),
                       tensor = trial % 5 ? (uint32_t)trial : UINT32_MAX;
        const rng_purpose purpose = (rng_purpose)(1 + trial % 3);
        const uint64_t block = trial % 3 ? (uint64_t)trial : roll(&d);
        uint64_t key[2];
        page_key(seed, step, rank, tensor, (uint64_t)purpose, key);
        page_block(key, block, mine);
        const tithe_key k = ti_rng_key(seed, step, rank, tensor, purpose);
        assert_true(k.a == key[0] && k.b == key[1]);
        tithe_random_block(k, block, theirs);
        assert_memory_equal(mine, theirs, sizeof mine);
    }
}

/* Numbers that stand here, so that page and library cannot drift together. */
static void known_answers(void **state)
{
    (void)state;
    assert_true(rng_mix(1) == UINT64_C(0x5692161d100b05e5));
    static uint32_t block[4096];
    tithe_random_block(ti_rng_key(0, 0, 0, 0, RNG_SELECT), 0, block);
    static const uint32_t first[] = {0xfcef06e1u, 0x3b2bd650u, 0xa0edcb3bu, 0x70671c58u};
    for (size_t i = 0; i < sizeof first / sizeof *first; i++) assert_int_equal(block[i], first[i]);
    tithe_random_block(ti_rng_key(7, 8, 9, 10, RNG_QUANTIZE), 11, block);
    static const uint32_t last[] = {0x2e078860u, 0xdedd443eu, 0x0f90c65bu, 0xeacf9e86u};
    for (size_t i = 0; i < sizeof last / sizeof *last; i++) assert_int_equal(block[4092 + i], last[i]);
}

static void bounded_draws_are_those_of_the_page(void **state)
{
    (void)state;
    static const uint32_t limits[] = {1,          2,          3,          7,          1000,      65537,
                                      0x7fffffff, 0x80000000, 0x80000001, 0xc0000000, UINT32_MAX};
    static uint32_t numbers[3][4096];
    uint64_t key[2];
    page_key(12, 34, 56, 78, 1, key);
    for (uint64_t b = 0; b < 3; b++) page_block(key, b, numbers[b]);
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        rng_stream s;
        ti_rng_stream_start(&s, ti_rng_key(12, 34, 56, 78, RNG_SELECT));
        const uint64_t limit = limits[i], surplus = (UINT64_C(1) << 32) % limit;
        size_t used = 0;
        for (int draw = 0; draw < 5000; draw++) { /* a surplus of half the range still leaves enough */
            uint64_t p;
            do p = numbers[used / 4096][used % 4096] * limit, used++;
            while ((p & 0xffffffff) < surplus);
            assert_int_equal(ti_rng_stream_below(&s, limits[i]), p >> 32);
        }
    }
}

/* ---- what random numbers must not show -------------------------------------------------------------------- */

enum { BLOCKS = 400 };

static void no_bit_leans_to_a_side(void **state)
{
    (void)state;
    static uint32_t block[4096];
    static size_t by_bit[32], by_place[4096];
    for (uint64_t b = 0; b < BLOCKS; b++) {
        tithe_random_block(ti_rng_key(1, 2, 3, 4, RNG_QUANTIZE), b, block);
        for (int i = 0; i < 4096; i++) {
            by_place[i] += (size_t)__builtin_popcount(block[i]);
            for (int bit = 0; bit < 32; bit++) by_bit[bit] += block[i] >> bit & 1;
        }
    }
    for (int bit = 0; bit < 32; bit++)
        expect(fabs((double)by_bit[bit] - BLOCKS * 2048.0) < count_slack(BLOCKS * 4096.0, 0.5), "bit %d: %zu",
               bit, by_bit[bit]);
    for (int i = 0; i < 4096; i++) /* 4096 questions: still once in 10^4 runs of other seeds */
        expect(fabs((double)by_place[i] - BLOCKS * 16.0) < count_slack(BLOCKS * 32.0, 0.5), "place %d: %zu",
               i, by_place[i]);
}

static void expect_even_bytes(const size_t *count, double total, const char *what)
{
    double chi = 0;
    for (int i = 0; i < 256; i++) chi += pow((double)count[i] - total / 256, 2) / (total / 256);
    expect(chi < chi_square_limit(255), "%s: chi-square %.1f", what, chi);
    expect(chi > 255 - 2 * sqrt(255 * 20.0), "%s: chi-square %.1f is too good", what, chi);
}

static void bytes_are_even(void **state)
{
    (void)state;
    static uint32_t block[4096];
    static size_t count[4][256], first[256], pair[256];
    for (uint64_t b = 0; b < BLOCKS; b++) {
        tithe_random_block(ti_rng_key(99, 0, 0, 0, RNG_SELECT), b, block);
        for (int i = 0; i < 4096; i++) {
            for (int byte = 0; byte < 4; byte++) count[byte][block[i] >> 8 * byte & 255]++;
            if (i >= 16) pair[(block[i] >> 28 << 4 | block[i - 16] >> 28) & 255]++; /* neighbours in a lane */
        }
    }
    for (int byte = 0; byte < 4; byte++) expect_even_bytes(count[byte], BLOCKS * 4096.0, "bytes");
    expect_even_bytes(pair, BLOCKS * 4080.0, "successive numbers of a lane");
    /* The first number of a block depends on the seeding alone. */
    for (uint64_t b = 0; b < 50000; b++) {
        const uint64_t lane = page_mix(b); /* any block, not only neighbours */
        if (b % 16 == 0) {
            tithe_random_block(ti_rng_key(b, 0, 0, 0, RNG_SELECT), lane, block);
            for (int i = 0; i < 16; i++) first[block[i] & 255]++;
        }
    }
    expect_even_bytes(first, 50000.0, "first numbers of blocks");
}

/* Do the streams of two keys agree in about half of their bits, at every distance that two keys can have? */
static void expect_unrelated(tithe_key one, tithe_key other, const char *what)
{
    static uint32_t a[4096], b[4096];
    tithe_random_block(one, 0, a);
    tithe_random_block(other, 0, b);
    size_t differ = 0, differ_shifted = 0, equal = 0;
    for (int i = 0; i < 4096; i++) {
        differ += (size_t)__builtin_popcount(a[i] ^ b[i]);
        differ_shifted += (size_t)__builtin_popcount(a[i] ^ b[(i + 16) % 4096]);
        equal += a[i] == b[i];
    }
    const double slack = count_slack(4096 * 32.0, 0.5);
    expect(fabs((double)differ - 65536) < slack && fabs((double)differ_shifted - 65536) < slack && equal < 4,
           "%s: %zu of 131072 bits differ, %zu shifted", what, differ, differ_shifted);
}

static void streams_of_different_keys_are_unrelated(void **state)
{
    (void)state;
    const uint64_t seed = 1;
    const tithe_key base = ti_rng_key(seed, 5, 6, 7, RNG_QUANTIZE);
    for (uint32_t bit = 0; bit < 32; bit++) {
        const uint32_t flip = 1u << bit;
        expect_unrelated(base, ti_rng_key(seed, 5 ^ flip, 6, 7, RNG_QUANTIZE), "steps");
        expect_unrelated(base, ti_rng_key(seed, 5, 6 ^ flip, 7, RNG_QUANTIZE), "ranks");
        expect_unrelated(base, ti_rng_key(seed, 5, 6, 7 ^ flip, RNG_QUANTIZE), "tensors");
        expect_unrelated(base, ti_rng_key(seed ^ flip, 5, 6, 7, RNG_QUANTIZE), "seeds");
        expect_unrelated(base, ti_rng_key(seed ^ (uint64_t)flip << 32, 5, 6, 7, RNG_QUANTIZE), "high seeds");
    }
    expect_unrelated(base, ti_rng_key(seed, 5, 6, 7, RNG_SELECT), "purposes");
    expect_unrelated(base, ti_rng_derive(base, RNG_NORM), "derived keys");
    expect_unrelated(ti_rng_key(0, 1, 0, 0, RNG_SELECT), ti_rng_key(0, 0, 1, 0, RNG_SELECT),
                     "step and rank swapped");
    expect_unrelated(ti_rng_key(0, 0, 0, 1, RNG_SELECT), ti_rng_key(0, 0, 1, 0, RNG_SELECT),
                     "rank and tensor swapped");
    expect_unrelated(ti_rng_key(0, 0, 0, 0, RNG_SELECT), ti_rng_key(1, 0, 0, 0, RNG_SELECT), "seeds 0 and 1");
}

static void rng_at_is_even_over_positions(void **state)
{
    (void)state;
    static size_t high[256], low[256];
    const tithe_key key = ti_rng_key(4, 0, 0, 0, RNG_QUANTIZE);
    for (uint64_t position = 0; position < 200000; position++) {
        high[rng_at(key, position) >> 56]++;
        low[rng_at(key, position) & 255]++;
    }
    expect_even_bytes(high, 200000, "high bytes by position");
    expect_even_bytes(low, 200000, "low bytes by position");
}

/* ---- bounded draws and coins ------------------------------------------------------------------------------ */

static void below_is_even_for_awkward_limits(void **state)
{
    (void)state;
    static const uint32_t limits[] = {3, 5, 7, 200, 255};
    rng_stream s;
    ti_rng_stream_start(&s, ti_rng_key(31, 0, 0, 0, RNG_SELECT));
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        size_t count[256] = {0};
        const int draws = 300000;
        for (int draw = 0; draw < draws; draw++) {
            const uint32_t v = ti_rng_stream_below(&s, limits[i]);
            assert_true(v < limits[i]);
            count[v]++;
        }
        double chi = 0;
        for (uint32_t v = 0; v < limits[i]; v++)
            chi += pow((double)count[v] - draws / (double)limits[i], 2) / (draws / (double)limits[i]);
        expect(chi < chi_square_limit(limits[i] - 1), "limit %u: chi-square %.1f", limits[i], chi);
    }
    /* 3 * 2^30: without redrawing, one third of the numbers would come twice as often. */
    const uint32_t limit = 0xc0000000;
    size_t residue[3] = {0};
    for (int draw = 0; draw < 300000; draw++) residue[ti_rng_stream_below(&s, limit) % 3]++;
    for (int r = 0; r < 3; r++)
        expect(fabs((double)residue[r] - 100000) < count_slack(300000, 1.0 / 3), "residue %d: %zu", r,
               residue[r]);
    size_t upper = 0; /* 2^31 + 1: nearly half of all draws are redrawn */
    for (int draw = 0; draw < 300000; draw++) upper += ti_rng_stream_below(&s, 0x80000001) >= 0x40000000;
    expect(fabs((double)upper - 150000) < count_slack(300000, 0.5), "upper half: %zu", upper);
    assert_int_equal(ti_rng_stream_below(&s, 1), 0);
}

static void coins_fall_as_often_as_they_should(void **state)
{
    (void)state;
    static const double chances[] = {1e-3, 0.1, 1.0 / 3, 0.5, 0.9, 0.999};
    static uint32_t block[4096];
    for (size_t i = 0; i < sizeof chances / sizeof *chances; i++) {
        const tithe_key key = ti_rng_key(i, 1, 2, 3, RNG_SELECT);
        size_t heads = 0;
        for (uint64_t b = 0; b < 200; b++) {
            tithe_random_block(key, b, block);
            for (uint64_t j = 0; j < 4096; j++)
                heads += tithe_random_below(chances[i], block[j], key, b * 4096 + j);
        }
        const double trials = 200 * 4096.0;
        expect(fabs((double)heads - trials * chances[i]) < count_slack(trials, chances[i]),
               "p = %g: %zu of %.0f", chances[i], heads, trials);
    }
}

/* The first 32 bits decide, unless they equal those of p; then the next 32 do. So tiny chances are exact too. */
static void tiny_chances_are_exact(void **state)
{
    (void)state;
    const tithe_key key = ti_rng_key(77, 0, 0, 0, RNG_SELECT);
    static const struct {
        double p;
        uint32_t edge; /* the one number that does not decide */
        double rest;   /* the chance that is left for it */
    } cases[] = {{0x1p-33, 0, 0.5},
                 {0x1p-36, 0, 0x1p-4},
                 {3 * 0x1p-34, 0, 0.75},
                 {0.5 + 0x1p-34, 0x80000000u, 0.25},
                 {0x1p-31 + 0x1p-35, 2, 0x1p-3},
                 {1 - 0x1p-35, UINT32_MAX, 0.875}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const double p = cases[i].p;
        const uint32_t edge = cases[i].edge;
        if (edge) assert_true(tithe_random_below(p, edge - 1, key, 0) && tithe_random_below(p, 0, key, 0));
        if (edge < UINT32_MAX)
            assert_true(!tithe_random_below(p, edge + 1, key, 0) &&
                        !tithe_random_below(p, UINT32_MAX, key, 0));
        size_t heads = 0;
        for (uint64_t position = 0; position < 200000; position++)
            heads += tithe_random_below(p, edge, key, position);
        expect(fabs((double)heads - 200000 * cases[i].rest) < count_slack(200000, cases[i].rest),
               "p = %g: %zu", p, heads);
    }
    for (uint64_t random = 0; random <= UINT32_MAX; random += 0x01010101) {
        assert_false(tithe_random_below(0, (uint32_t)random, key, random));
        assert_false(tithe_random_below(-1, (uint32_t)random, key, random));
        assert_false(tithe_random_below((double)NAN, (uint32_t)random, key, random));
        assert_true(tithe_random_below(1, (uint32_t)random, key, random));
        assert_true(tithe_random_below(2, (uint32_t)random, key, random));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_those_of_the_page),
        cmocka_unit_test(known_answers),
        cmocka_unit_test(bounded_draws_are_those_of_the_page),
        cmocka_unit_test(no_bit_leans_to_a_side),
        cmocka_unit_test(bytes_are_even),
        cmocka_unit_test(streams_of_different_keys_are_unrelated),
        cmocka_unit_test(rng_at_is_even_over_positions),
        cmocka_unit_test(below_is_even_for_awkward_limits),
        cmocka_unit_test(coins_fall_as_often_as_they_should),
        cmocka_unit_test(tiny_chances_are_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
