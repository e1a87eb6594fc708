/* test_tables_levels.c - levels of standard and natural dithering, of every table against ref: the same codes to the
 * last random bit, and the same sums. */
#include "kernels/tables.h"

static fenced vector_field, random_field;
static output codes;

static int setup(void **state)
{
    tables_setup(state);
    vector_field = fenced_make(LONGEST * 4);
    random_field = fenced_make(LONGEST * 4);
    codes = output_make("the codes", LONGEST);
    return 0;
}

typedef struct grid {
    const char *name;
    bool natural;
    unsigned s;
} grid;

static const grid grids[] = {{"dither", false, 1},    {"dither", false, 7},   {"dither", false, 100},
                             {"dither", false, 127},  {"natdither", true, 1}, {"natdither", true, 7},
                             {"natdither", true, 20}, {"natdither", true, 64}};
enum { GRIDS = sizeof grids / sizeof *grids };

/* Between two levels: how far is t from the lower one? */
static float fraction_of(const grid *q, float t)
{
    if (!q->natural) return t - floorf(t);
    return t < 1 ? t : (float)(bits_of_float(t) & 0x7fffffu) * 0x1p-23f;
}

static void expect_levels(const grid *q, level_job job, unsigned place)
{
    snprintf(here.more, sizeof here.more, ", %s:s=%u", q->name, q->s);
    output_place(&codes, job.n, 1, place);
    output_reset(codes.wanted, &codes, NULL);
    double squares, expected, got_squares, got_expected;
    job.codes = codes.wanted;
    here.table = "ref";
    if (q->natural) {
        ti_kernels_ref.natdither_levels(&job);
        ti_kernels_ref.natdither_moments(&job, &squares, &expected);
    } else {
        ti_kernels_ref.dither_levels(&job);
        ti_kernels_ref.dither_moments(&job, &squares, &expected);
    }
    for (size_t i = 0; i < job.n; i++) {
        expect_here((job.codes[i] & 127) <= q->s && job.codes[i] != 128, "code %u at %zu", job.codes[i], i);
        expect_here(job.codes[i] == 0 || job.codes[i] >> 7 == (job.x[i] < 0), "the other sign at %zu", i);
    }
    for (size_t t = 0; t < running_count; t++) {
        const kernels *k = running[t];
        here.table = k->name;
        output_reset(codes.got, &codes, NULL);
        job.codes = codes.got;
        (q->natural ? k->natdither_levels : k->dither_levels)(&job);
        expect_output(&codes, job.n);
        (q->natural ? k->natdither_moments : k->dither_moments)(&job, &got_squares, &got_expected);
        expect_double("the sum of squares", got_squares, squares);
        expect_double("the expected squares", got_expected, expected);
    }
}

/* 31 random bits decide unless they equal those of the fraction: these do, or miss it by little, or are any. */
static uint32_t close_random(const grid *q, float t, dice *d)
{
    const uint32_t any = (uint32_t)roll(d), whole = (uint32_t)(fraction_of(q, t) * 2147483648.0f);
    switch (any % 4) {
    case 0: return any;
    case 1: return 2 * whole + (any >> 31) + (any >> 2 & 7) - 4;
    default: return 2 * whole + (any >> 31);
    }
}

/* The lift keeps the slope a normal number, as in the codecs. */
static level_job job_of(const grid *q, const float *x, size_t n, const uint32_t *random)
{
    level_job job = {.x = x, .n = n, .lift = 1, .s = q->s, .random = random};
    const double norm = (double)ti_kernels_ref.max_abs(x, n);
    const double steps = q->natural ? ldexp(1, (int)q->s - 1) : q->s;
    if (norm < 0x1p-60) job.lift = 0x1p100f;
    if (norm > 0x1p60) job.lift = 0x1p-64f;
    if (norm > 0) job.slope = (float)(steps / (norm * (double)job.lift));
    return job;
}

static void round_grid(const grid *q, vector_kind kind, size_t n, unsigned place, dice *d)
{
    float *x = (void *)fenced_place(&vector_field, n * 4, 4, place);
    memcpy(x, vector_of(kind, n), n * 4);
    uint32_t *random = (void *)fenced_place(&random_field, n * 4, 4, (place + 5) % PLACES);
    level_job job = job_of(q, x, n, random);
    job.key = (tithe_key){n, kind};
    job.position = (uint64_t)place << n % 50;
    for (size_t i = 0; i < n; i++) random[i] = close_random(q, (fabsf(x[i]) * job.lift) * job.slope, d);
    expect_levels(q, job, (place + 1) % PLACES);
}

static void round_levels(vector_kind kind, size_t n, unsigned place)
{
    if (kind == V_NONFINITE) return; /* those never get here */
    dice d = {n + 7 * place};
    for (size_t j = n % 3; j < GRIDS; j += 3) round_grid(&grids[j], kind, n, place, &d);
}

static void levels(void **state)
{
    (void)state;
    every_case("a level kernel", round_levels);
}

static void every_number_of_levels(void **state)
{
    (void)state;
    here.function = "a level kernel";
    for (unsigned s = 1; s <= 127; s++)
        for (unsigned kind = 0; kind < V_NONFINITE; kind++) {
            dice d = {s};
            here.kind = (vector_kind)kind;
            here.n = 64 + s;
            here.place = s % PLACES;
            round_grid(&(grid){"dither", false, s}, here.kind, here.n, here.place, &d);
            if (s <= 64) round_grid(&(grid){"natdither", true, s}, here.kind, here.n, here.place, &d);
        }
}

/* Values at the ends of every step, one bit less and one bit more; just below 1; fractions finer than the 31 bits that
 * decide as a rule; and t beyond the last level. */
static void levels_at_the_edges(void **state)
{
    (void)state;
    enum { MAX = 4096 };
    float *x = (void *)fenced_place(&vector_field, MAX * 4, 4, AT_FRONT);
    uint32_t *random = (void *)fenced_place(&random_field, MAX * 4, 4, AT_FRONT);
    here.function = "a level kernel at an edge";
    for (size_t j = 0; j < GRIDS; j++) {
        const grid *q = &grids[j];
        dice d = {j};
        size_t n = 0, up[2] = {0};
        for (int step = 0; step < 130; step++)
            for (int off = -1; off <= 1; off++) {
                const float whole = (float)step, power = ldexpf(1, step % 40 - 30);
                x[n++] = float_of_bits(bits_of_float(whole) + (uint32_t)(whole > 0 ? off : 0));
                x[n++] = -float_of_bits(bits_of_float(power) + (uint32_t)off);
            }
        for (uint32_t off = 0; off < 300; off++) x[n++] = float_of_bits(0x3f7fffffu - off);
        x[n++] = -0.0f;
        const size_t fine = n;
        for (int i = 0; i < 2000; i++)
            x[n++] = ldexpf(1 + (float)roll_unit(&d), -8 - i % 26) * (roll(&d) & 1 ? 1 : -1);
        for (size_t i = 0; i < n; i++) {
            random[i] = close_random(q, fabsf(x[i]), &d);
            if (i >= fine)
                random[i] = 2 * (uint32_t)(fabsf(x[i]) * 2147483648.0f); /* undecided, all of them */
        }
        const level_job job = {.x = x,
                               .n = n,
                               .lift = 1,
                               .slope = 1,
                               .s = q->s,
                               .random = random,
                               .key = {j, 9},
                               .position = 1000 * j};
        here.n = n;
        expect_levels(q, job, AT_END);
        for (size_t i = fine; i < n; i++) up[codes.wanted[i] != 0]++;
        expect(up[0] > 200 && up[1] > 200, "%s:s=%u: of 2000 undecided, %zu go up", q->name, q->s, up[1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(levels),
        cmocka_unit_test(every_number_of_levels),
        cmocka_unit_test(levels_at_the_edges),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
