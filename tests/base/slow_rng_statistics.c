/* slow_rng_statistics.c - 2^26 and more numbers of the generator against what random numbers must not show: leaning
 * bits, uneven bytes, echoes between lanes, blocks, ranks, steps, tensors, seeds and purposes, and crowded birthdays.
 *
 * Every question has a fixed seed and asks for a deviation that chance makes less than once in 10^10, so the thousands
 * of them together raise a false alarm less than once in 10^6 choices of the seed.
 *
 * With `stream NAME` it writes numbers to standard output without end, for batteries of tests such as dieharder. */
#include <signal.h>

#include "base/rng.h"
#include "support.h"

enum { BLOCKS = 1 << 14 }; /* 2^26 numbers */

static void expect_normal(double z, const char *what, size_t which)
{
    expect(fabs(z) < 6.5, "%s, number %zu: %.1f standard deviations off", what, which, z);
}

/* Squares of deviations, summed up and set against their mean and spread; good for hundreds of degrees and more. */
static void expect_even(const uint32_t *count, size_t bins, double total, const char *what, size_t which)
{
    double chi = 0;
    const double mean = total / (double)bins, df = (double)bins - 1;
    for (size_t i = 0; i < bins; i++) chi += ((double)count[i] - mean) * ((double)count[i] - mean) / mean;
    /* Laurent and Massart's bounds with x = 24: once in 2.6 * 10^10 on each side */
    expect(chi < df + 2 * sqrt(24 * df) + 48, "%s, number %zu: chi-square %.1f of %.0f degrees", what, which,
           chi, df);
    expect(chi > df - 2 * sqrt(24 * df), "%s, number %zu: chi-square %.1f of %.0f degrees", what, which, chi,
           df);
}

static double weight(uint32_t v)
{
    return (double)__builtin_popcount(v) - 16;
}

/* ---- one stream ------------------------------------------------------------------------------------------ */

static void bits_and_places_are_even(void **state)
{
    (void)state;
    static uint32_t block[TITHE_BLOCK], by_place[TITHE_BLOCK];
    uint64_t ones[64] = {0};
    const tithe_key key = ti_rng_key(1, 0, 0, 0, RNG_QUANTIZE);
    for (uint64_t b = 0; b < BLOCKS; b++) {
        uint32_t here[64] = {0};
        tithe_random_block(key, b, block);
        for (size_t i = 0; i < TITHE_BLOCK; i += 2)
            for (int bit = 0; bit < 32; bit++) {
                here[bit] += block[i] >> bit & 1;
                here[32 + bit] += block[i + 1] >> bit & 1;
            }
        for (int bit = 0; bit < 64; bit++) ones[bit] += here[bit];
        for (size_t i = 0; i < TITHE_BLOCK; i++) by_place[i] += (uint32_t)__builtin_popcount(block[i]);
    }
    const double half = BLOCKS * (TITHE_BLOCK / 4.0); /* of the numbers that have a bit */
    for (size_t bit = 0; bit < 64; bit++)
        expect_normal(((double)ones[bit] - half) / sqrt(half / 2), "bit", bit);
    for (size_t i = 0; i < TITHE_BLOCK; i++)
        expect_normal(((double)by_place[i] - BLOCKS * 16.0) / sqrt(BLOCKS * 8.0), "place in a block", i);
}

static void bytes_and_halves_are_even(void **state)
{
    (void)state;
    static uint32_t block[TITHE_BLOCK], byte[8][256], half[4][65536];
    const tithe_key key = ti_rng_key(2, 0, 0, 0, RNG_SELECT);
    for (uint64_t b = 0; b < BLOCKS; b++) {
        tithe_random_block(key, b, block);
        for (size_t i = 0; i < TITHE_BLOCK; i++) {
            for (size_t j = 0; j < 4; j++) byte[i % 2 * 4 + j][block[i] >> 8 * j & 255]++;
            for (size_t j = 0; j < 2; j++) half[i % 2 * 2 + j][block[i] >> 16 * j & 65535]++;
        }
    }
    for (size_t j = 0; j < 8; j++) expect_even(byte[j], 256, BLOCKS * (TITHE_BLOCK / 2.0), "byte", j);
    for (size_t j = 0; j < 4; j++) expect_even(half[j], 65536, BLOCKS * (TITHE_BLOCK / 2.0), "half", j);
}

/* How two rows of numbers go together: by value, by bits, and by the number of bits. */
typedef struct bond {
    double count, product, differ, weights, bit[32];
} bond;

static void bond_add(bond *together, const uint32_t *a, const uint32_t *b, size_t n)
{
    double product = 0, weights = 0;
    uint64_t differ = 0;
    for (size_t i = 0; i < n; i++) {
        product += ((double)a[i] - 2147483647.5) * ((double)b[i] - 2147483647.5);
        differ += (uint64_t)__builtin_popcount(a[i] ^ b[i]);
        weights += weight(a[i]) * weight(b[i]);
    }
    together->count += (double)n;
    together->product += product * 0x1p-64;
    together->differ += (double)differ;
    together->weights += weights;
}

static void bond_add_bits(bond *together, const uint32_t *a, const uint32_t *b, size_t n)
{
    uint32_t differ[32] = {0};
    for (size_t i = 0; i < n; i++)
        for (int bit = 0; bit < 32; bit++) differ[bit] += (a[i] ^ b[i]) >> bit & 1;
    for (int bit = 0; bit < 32; bit++) together->bit[bit] += (double)differ[bit];
}

static void expect_no_bond(const bond *b, bool by_bit, const char *what, size_t which)
{
    expect_normal(b->product * 12 / sqrt(b->count), what, which); /* a uniform number has variance 1/12 */
    expect_normal((b->differ - 16 * b->count) / sqrt(8 * b->count), what, which);
    expect_normal(b->weights / (8 * sqrt(b->count)), what, which);
    for (int bit = 0; by_bit && bit < 32; bit++)
        expect_normal((b->bit[bit] - b->count / 2) / sqrt(b->count / 4), what, which * 100 + (size_t)bit);
}

/* Neighbours in a row, in a lane (16 apart), in other lanes, and at the same place of the next block. */
static void no_echo_at_any_lag(void **state)
{
    (void)state;
    static const size_t lags[] = {1,  2,  3,  4,  5,  6,  7,  8,  9,   10,  11,   12,   13,   14,   15,
                                  16, 17, 18, 31, 32, 33, 48, 64, 128, 256, 4080, 4095, 4096, 4097, 8192};
    enum { LAGS = sizeof lags / sizeof *lags };
    static uint32_t window[3 * TITHE_BLOCK];
    static bond bonds[LAGS];
    const tithe_key key = ti_rng_key(3, 0, 0, 0, RNG_QUANTIZE);
    for (uint64_t b = 0; b < BLOCKS; b++) {
        memmove(window, window + TITHE_BLOCK, 2 * TITHE_BLOCK * sizeof *window);
        tithe_random_block(key, b, window + 2 * TITHE_BLOCK);
        for (size_t l = 0; b >= 2 && l < LAGS; l++)
            bond_add(&bonds[l], window + 2 * TITHE_BLOCK, window + 2 * TITHE_BLOCK - lags[l], TITHE_BLOCK);
    }
    for (size_t l = 0; l < LAGS; l++) expect_no_bond(&bonds[l], false, "lag", lags[l]);
}

/* The last numbers of a block and the first of the next, each with each: lane by lane the seeding is all they share. */
static void no_echo_across_blocks(void **state)
{
    (void)state;
    static uint32_t last[16][BLOCKS], first[16][BLOCKS], block[TITHE_BLOCK];
    const tithe_key key = ti_rng_key(4, 0, 0, 0, RNG_QUANTIZE);
    for (uint64_t b = 0; b <= BLOCKS; b++) {
        tithe_random_block(key, b, block);
        for (size_t i = 0; i < 16; i++) {
            if (b > 0) first[i][b - 1] = block[i];
            if (b < BLOCKS) last[i][b] = block[TITHE_BLOCK - 16 + i];
        }
    }
    for (size_t i = 0; i < 16; i++)
        for (size_t j = 0; j < 16; j++) {
            bond ends = {0}, starts = {0};
            bond_add(&ends, last[i], first[j], BLOCKS);
            expect_no_bond(&ends, false, "end and start of blocks", 16 * i + j);
            bond_add(&starts, first[i], first[j] + 1, BLOCKS - 1);
            expect_no_bond(&starts, false, "starts of blocks", 16 * i + j);
        }
}

/* ---- streams of different keys ----------------------------------------------------------------------------- */

enum { SEED, STEP, RANK, TENSOR, PURPOSE, PARTS };
static const char *const part_names[PARTS] = {"seeds", "steps", "ranks", "tensors", "purposes"};

/* Key number `which` of a row in which neighbours differ in one part only. */
static tithe_key key_in_row(int part, uint32_t which)
{
    uint32_t v[PARTS] = {7, 100, 3, 5, RNG_SELECT};
    v[part] = part == PURPOSE ? 1 + which % 3 : which;
    if (part == PURPOSE) v[STEP] = which / 3 * 2;
    return ti_rng_key(v[SEED], v[STEP], v[RANK], v[TENSOR], (rng_purpose)v[PURPOSE]);
}

static void no_echo_between_keys(void **state)
{
    (void)state;
    static uint32_t rows[2][TITHE_BLOCK];
    for (int part = 0; part < PARTS; part++)
        for (uint64_t block = 0; block < 2; block++) {
            bond all = {0}, starts = {0};
            tithe_random_block(key_in_row(part, 0), block * 12345, rows[0]);
            for (uint32_t which = 1; which <= 4096; which++) {
                uint32_t *now = rows[which % 2];
                tithe_random_block(key_in_row(part, which), block * 12345, now);
                bond_add(&all, now, rows[1 - which % 2], TITHE_BLOCK);
                bond_add_bits(&all, now, rows[1 - which % 2], TITHE_BLOCK);
                bond_add(&starts, now, rows[1 - which % 2], 16);
                bond_add_bits(&starts, now, rows[1 - which % 2], 16);
            }
            expect_no_bond(&all, true, part_names[part], (size_t)block);
            expect_no_bond(&starts, true, part_names[part], 10 + (size_t)block);
        }
}

/* Four keys, two parts changed or not: were a key a sum of its parts, the four would cancel. */
static void no_echo_between_four_keys(void **state)
{
    (void)state;
    static uint32_t sum[TITHE_BLOCK], block[TITHE_BLOCK], zero[TITHE_BLOCK];
    for (int pair = 0; pair < 6; pair++) {
        static const int firsts[6] = {SEED, SEED, SEED, STEP, STEP, RANK},
                         seconds[6] = {STEP, RANK, TENSOR, RANK, TENSOR, TENSOR};
        bond b = {0};
        for (uint32_t base = 0; base < 2048; base += 2) {
            memset(sum, 0, sizeof sum);
            for (uint32_t corner = 0; corner < 4; corner++) {
                uint32_t v[4] = {base, base, base, base};
                v[firsts[pair]] += corner & 1;
                v[seconds[pair]] += corner >> 1;
                tithe_random_block(ti_rng_key(v[SEED], v[STEP], v[RANK], v[TENSOR], RNG_QUANTIZE), 0, block);
                for (size_t i = 0; i < TITHE_BLOCK; i++) sum[i] ^= block[i];
            }
            bond_add(&b, sum, zero, TITHE_BLOCK);
            bond_add_bits(&b, sum, zero, TITHE_BLOCK);
        }
        expect_normal((b.differ - 16 * b.count) / sqrt(8 * b.count), "four keys", (size_t)pair);
        for (size_t bit = 0; bit < 32; bit++)
            expect_normal((b.bit[bit] - b.count / 2) / sqrt(b.count / 4), "four keys, bits",
                          (size_t)pair * 100 + bit);
    }
}

/* The very first numbers of 2^18 neighbouring keys: even, all lanes different. */
static void first_numbers_are_even(void **state)
{
    (void)state;
    enum { KEYS = 1 << 18 };
    static uint32_t byte[4][256], block[TITHE_BLOCK];
    for (int part = STEP; part <= RANK; part++) {
        memset(byte, 0, sizeof byte);
        size_t twins = 0;
        for (uint32_t which = 0; which < KEYS; which++) {
            tithe_random_block(key_in_row(part, which), 0, block);
            for (size_t i = 0; i < 16; i++) {
                for (size_t j = 0; j < 4; j++) byte[j][block[i] >> 8 * j & 255]++;
                for (size_t j = 0; j < i; j++) twins += block[i] == block[j];
            }
        }
        for (size_t j = 0; j < 4; j++) expect_even(byte[j], 256, KEYS * 16.0, "first numbers", j);
        /* 120 pairs each, equal once in 2^32: 0.0073 are expected, and four happen once in 8 * 10^9 */
        expect(twins < 4, "%zu of the first numbers of %s are equal", twins, part_names[part]);
    }
}

/* ---- birthdays --------------------------------------------------------------------------------------------- */

static int ascending(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

enum { BIRTHDAYS = 4096, YEARS = 2048 }; /* years of 2^32 days: four equal spacings are expected in each */

static size_t equal_spacings(uint32_t *days)
{
    size_t equal = 0;
    qsort(days, BIRTHDAYS, sizeof *days, ascending);
    for (size_t i = BIRTHDAYS - 1; i > 0; i--) days[i] -= days[i - 1];
    qsort(days, BIRTHDAYS, sizeof *days, ascending);
    for (size_t i = 1; i < BIRTHDAYS; i++) equal += days[i] == days[i - 1];
    return equal;
}

static uint32_t reversed(uint32_t v)
{
    uint32_t r = 0;
    for (int bit = 0; bit < 32; bit++) r |= (v >> bit & 1) << (31 - bit);
    return r;
}

static void birthdays_do_not_crowd(void **state)
{
    (void)state;
    static uint32_t days[BIRTHDAYS], block[TITHE_BLOCK];
    for (size_t kind = 0; kind < 5; kind++) {
        size_t equal = 0;
        for (uint32_t year = 0; year < YEARS; year++) {
            const tithe_key key = ti_rng_key(5, 0, 0, (uint32_t)kind, RNG_QUANTIZE);
            for (size_t i = 0; i < BIRTHDAYS; i++) {
                const size_t lane = i / 256; /* a lane gives 256 numbers of each block */
                if (kind < 2 && i == 0) tithe_random_block(key, year, block);
                if ((kind == 2 || kind == 3) && i % 256 == 0)
                    tithe_random_block(key, year * 16 + lane, block);
                if (kind == 4 && i % 16 == 0)
                    tithe_random_block(ti_rng_key(6, year, (uint32_t)i, 0, RNG_SELECT), 0, block);
                if (kind < 2) days[i] = kind ? reversed(block[i]) : block[i];
                if (kind == 2) days[i] = block[16 * (i % 256) + 1];       /* the high half of one lane */
                if (kind == 3) days[i] = reversed(block[16 * (i % 256)]); /* the low half, lowest bit first */
                if (kind == 4) days[i] = block[i % 16]; /* the first numbers of neighbouring ranks */
            }
            equal += equal_spacings(days);
        }
        expect_normal(((double)equal - 4.0 * YEARS) / sqrt(4.0 * YEARS), "birthdays", kind);
    }
}

/* ---- for batteries ------------------------------------------------------------------------------------------ */

/* one: a stream.  ranks: eight ranks, a number of each in turn.  steps: the first 64 numbers of every step. */
static int stream(const char *name)
{
    static uint32_t row[8][TITHE_BLOCK], mixed[8 * TITHE_BLOCK];
    signal(SIGPIPE, SIG_IGN); /* the reader stops when it has seen enough */
    for (uint32_t turn = 0;; turn++) {
        size_t filled = 0;
        for (uint32_t r = 0; r < 8 && strcmp(name, "ranks") == 0; r++)
            tithe_random_block(ti_rng_key(8, 1, r, 0, RNG_QUANTIZE), turn, row[r]);
        for (; strcmp(name, "ranks") == 0 && filled < 8 * TITHE_BLOCK; filled++)
            mixed[filled] = row[filled % 8][filled / 8];
        for (; strcmp(name, "one") == 0 && filled < 8 * TITHE_BLOCK; filled += TITHE_BLOCK)
            tithe_random_block(ti_rng_key(8, 0, 0, 0, RNG_QUANTIZE), turn * 8 + filled / TITHE_BLOCK,
                               mixed + filled);
        for (; strcmp(name, "steps") == 0 && filled < TITHE_BLOCK; filled += 64) {
            tithe_random_block(ti_rng_key(8, turn * 64 + (uint32_t)filled / 64, 0, 0, RNG_QUANTIZE), 0,
                               row[0]);
            memcpy(mixed + filled, row[0], 64 * sizeof *mixed);
        }
        if (filled == 0) {
            fprintf(stderr, "usage: stream one|ranks|steps\n");
            return 2;
        }
        if (fwrite(mixed, sizeof *mixed, filled, stdout) != filled) return 0;
    }
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "stream") == 0) return stream(argv[2]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bits_and_places_are_even), cmocka_unit_test(bytes_and_halves_are_even),
        cmocka_unit_test(no_echo_at_any_lag),       cmocka_unit_test(no_echo_across_blocks),
        cmocka_unit_test(no_echo_between_keys),     cmocka_unit_test(no_echo_between_four_keys),
        cmocka_unit_test(first_numbers_are_even),   cmocka_unit_test(birthdays_do_not_crowd),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
