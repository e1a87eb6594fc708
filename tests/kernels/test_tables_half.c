/* test_tables_half.c - numbers of sixteen bits and signs, of every table against ref; and ref, for every half there is,
 * against the arithmetic of the page. */
#include "kernels/tables.h"

static fenced input_field;
static output floats, bytes;

static int setup(void **state)
{
    tables_setup(state);
    input_field = fenced_make(LONGEST * 4);
    floats = output_make("floats", LONGEST * 4);
    bytes = output_make("bytes", LONGEST * 2);
    return 0;
}

/* ---- floats to halves, and to signs ---------------------------------------------------------------------- */

typedef void shorten(const float *x, size_t n, uint8_t *dst);

static void expect_short(const float *x, size_t n, size_t size, unsigned place, size_t which)
{
    output_place(&bytes, size, 1, place);
    for (const kernels *const *t = ti_kernel_tables(); *t; t++) {
        if (!(*t)->runs_here()) continue;
        here.table = (*t)->name;
        shorten *const all[] = {(*t)->f16_encode, (*t)->bf16_encode, (*t)->sign_encode};
        uint8_t *dst = *t == &ti_kernels_ref ? bytes.wanted : bytes.got;
        output_reset(dst, &bytes, NULL);
        all[which](x, n, dst);
        if (dst == bytes.got) expect_output(&bytes, size);
    }
}

static float *input(vector_kind kind, size_t n, unsigned place)
{
    float *x = (void *)fenced_place(&input_field, n * 4, 4, place);
    memcpy(x, vector_of(kind, n + place), n * 4);
    return x;
}

static void shorten_all(vector_kind kind, size_t n, unsigned place)
{
    float *x = input(kind, n, place);
    expect_short(x, n, n * 2, (place + 5) % PLACES, 1);
    expect_short(x, n, (n + 7) / 8, (place + 5) % PLACES, 2);
    for (size_t i = 0; i < n && kind == V_HUGE; i++) /* around the largest half, and around the smallest */
        x[i] *= i % 2 ? 0x1p-111f : 0x1p-126f * 0x1p-22f;
    expect_short(x, n, n * 2, (place + 5) % PLACES, 0);
}

static void shortening(void **state)
{
    (void)state;
    every_case("f16_encode, bf16_encode or sign_encode", shorten_all);
}

/* The value of a finite half, or of what would follow the largest. */
static double half_value(unsigned half)
{
    const int exponent = half >> 10 & 31;
    return ldexp((half & 1023) + (exponent ? 1024 : 0), (exponent ? exponent : 1) - 25);
}

/* Every half comes back from itself, from all that is nearer to it than to its neighbours, and from the middle if it is
 * even; and so does infinity. */
static void every_half_is_the_nearest(void **state)
{
    (void)state;
    here.function = "f16_encode";
    float x[16];
    uint8_t dst[32];
    for (const kernels *const *t = ti_kernel_tables(); *t; t++) {
        if (!(*t)->runs_here()) continue;
        here.table = (*t)->name;
        for (unsigned half = 0; half < 0x7c00; half++) {
            const float at = (float)half_value(half),
                        middle = (float)((half_value(half) + half_value(half + 1)) / 2);
            const float below = nextafterf(middle, 0), above = nextafterf(middle, INFINITY);
            const float four[4] = {at, below, middle, above};
            const unsigned wanted[4] = {half, half, half + (half & 1), half + 1};
            for (size_t i = 0; i < 16; i++) x[i] = i < 8 ? four[i % 4] : -four[i % 4];
            (*t)->f16_encode(x, 16, dst);
            for (size_t i = 0; i < 16; i++) {
                const unsigned got = dst[2 * i] | dst[2 * i + 1] << 8, sign = i < 8 ? 0 : 0x8000;
                expect_here(got == (sign | wanted[i % 4]), "%a became %04x", (double)x[i], got);
            }
        }
    }
}

/* ---- halves and signs to sums ---------------------------------------------------------------------------- */

static void add_all(vector_kind kind, size_t n, unsigned place)
{
    static const float scales[] = {1, -1, 8.0f / 9, 0x1p-120f};
    const float scale = scales[(n + place + kind) % 4], *y = vector_of(kind % V_NONFINITE, 2 * n + 1);
    dice d = {n * V_KINDS + kind};
    output_place(&floats, n * 4, 4, (place + 3) % PLACES);
    for (size_t which = 0; which < 3; which++) {
        const unsigned infinity = which == 0 ? 0x7c00 : 0x7f80;
        uint8_t *src = fenced_place(&input_field, which < 2 ? 2 * n : (n + 7) / 8, 1, place);
        for (size_t i = 0; which < 2 && i < n; i++) {
            const unsigned half = (unsigned)roll_below(&d, infinity) | ((unsigned)roll(&d) & 0x8000);
            src[2 * i] = (uint8_t)half;
            src[2 * i + 1] = (uint8_t)(half >> 8);
        }
        for (size_t i = 0; which == 2 && i < (n + 7) / 8; i++) src[i] = (uint8_t)roll(&d);
        for (const kernels *const *t = ti_kernel_tables(); *t; t++) {
            if (!(*t)->runs_here()) continue;
            here.table = (*t)->name;
            uint8_t *dst = *t == &ti_kernels_ref ? floats.wanted : floats.got;
            output_reset(dst, &floats, y);
            if (which == 0) (*t)->f16_add(src, n, scale, (void *)dst);
            if (which == 1) (*t)->bf16_add(src, n, scale, (void *)dst);
            if (which == 2) (*t)->sign_add(src, n, scale, (void *)dst);
            if (dst == floats.got) expect_output(&floats, floats.size);
        }
    }
}

static void sums(void **state)
{
    (void)state;
    every_case("f16_add, bf16_add or sign_add", add_all);
}

static void every_half_has_its_value(void **state)
{
    (void)state;
    here.function = "f16_add";
    for (const kernels *const *t = ti_kernel_tables(); *t; t++) {
        if (!(*t)->runs_here()) continue;
        here.table = (*t)->name;
        for (unsigned half = 0; half < 0x7c00; half++) {
            uint8_t src[32];
            float y[16] = {0};
            for (size_t i = 0; i < 16; i++) {
                src[2 * i] = (uint8_t)half;
                src[2 * i + 1] = (uint8_t)(half >> 8 | (i % 2 ? 0x80 : 0));
            }
            (*t)->f16_add(src, 16, 1, y);
            for (size_t i = 0; i < 16; i++)
                expect_here((double)y[i] == (i % 2 ? -half_value(half) : half_value(half)), "%04x is %a",
                            half, (double)y[i]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shortening),
        cmocka_unit_test(every_half_is_the_nearest),
        cmocka_unit_test(sums),
        cmocka_unit_test(every_half_has_its_value),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
