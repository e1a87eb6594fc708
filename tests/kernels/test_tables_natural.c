/* test_tables_natural.c - natural compression of every table against ref, bit for bit: what is written, what is left
 * of the vector, what is not finite, and decoding. */
#include "base/rng.h"
#include "kernels/tables.h"

static fenced gradient_field, code_field, sign_field;
static output vector, fields, signs;

static int setup(void **state)
{
    tables_setup(state);
    gradient_field = fenced_make(LONGEST * 4);
    code_field = fenced_make(LONGEST);
    sign_field = fenced_make(LONGEST / 8 + 1);
    vector = output_make("the vector", LONGEST * 4);
    fields = output_make("the fields", LONGEST);
    signs = output_make("the signs", LONGEST / 8 + 1);
    return 0;
}

/* ---- encoding -------------------------------------------------------------------------------------------- */

/* All that one call is given, but for where it writes. */
typedef struct natural_case {
    const float *x, *g;
    size_t n;
    tithe_key key;
    uint64_t position;
    bool subtract;
    float gamma, factor;
} natural_case;

static bool run(const kernels *k, const natural_case *c, uint8_t *x, uint8_t *to_fields, uint8_t *to_signs)
{
    output_reset(x, &vector, c->x);
    output_reset(to_fields, &fields, NULL);
    output_reset(to_signs, &signs, NULL);
    const natural_job job = {
        .source = {(void *)x, c->g, c->gamma},
        .n = c->n,
        .key = c->key,
        .position = c->position,
        .fields = to_fields,
        .signs = to_signs,
        .subtract = c->subtract,
        .factor = c->factor,
    };
    return k->natural_encode(&job);
}

/* What the definition promises of ref itself. */
static void expect_sound(const natural_case *c, bool finite)
{
    here.table = "ref";
    bool all_finite = true;
    for (size_t i = 0; i < c->n; i++) {
        const float v = c->g ? c->x[i] + c->gamma * c->g[i] : c->x[i];
        const uint32_t left = bits_of_float(((const float *)(void *)vector.wanted)[i]),
                       field = fields.wanted[i];
        if (!isfinite(v)) {
            all_finite = false;
            expect_here(field == 0, "lane %zu is not finite, but has field %u", i, field);
            const float kept = c->g ? kept_of_overflow(c->x[i], c->gamma * c->g[i]) : c->x[i];
            expect_here(left == bits_of_float(kept), "lane %zu is not finite, but became %08x", i, left);
            continue;
        }
        const uint32_t exponent = bits_of_float(v) >> 23 & 255;
        expect_here(field == exponent || (field == exponent + 1 && field < 255),
                    "lane %zu: field %u of exponent %u", i, field, exponent);
        expect_here((signs.wanted[i / 8] >> i % 8 & 1) == (signbit(v) != 0), "lane %zu has the other sign",
                    i);
        const float sent = float_of_bits((signbit(v) ? 0x80000000u : 0) | field << 23) * c->factor;
        const float rest = c->subtract ? v - sent : v;
        expect_here(left == bits_of_float(rest), "lane %zu was left %a", i, (double)float_of_bits(left));
    }
    if (c->n % 8)
        expect_here(signs.wanted[c->n / 8] >> c->n % 8 == 0, "the last byte is not padded with zeros");
    expect_here(finite == all_finite, "finite or not was not seen");
}

static void expect_equal(const natural_case *c)
{
    const bool finite = run(&ti_kernels_ref, c, vector.wanted, fields.wanted, signs.wanted);
    expect_sound(c, finite);
    for (size_t t = 0; t < running_count; t++) {
        here.table = running[t]->name;
        const bool got = run(running[t], c, vector.got, fields.got, signs.got);
        expect_here(got == finite, "finite: %d instead of %d", got, finite);
        expect_output(&fields, fields.size);
        expect_output(&signs, signs.size);
        expect_output(&vector, vector.size);
    }
}

static void place_all(size_t n, unsigned place)
{
    output_place(&vector, n * 4, 4, place);
    output_place(&fields, n, 1, (place + 3) % PLACES);
    output_place(&signs, (n + 7) / 8, 1, (place + 11) % PLACES);
}

static void encode(vector_kind kind, size_t n, unsigned place)
{
    const vector_kind other = gradient_kind(kind, n);
    float *g = (void *)fenced_place(&gradient_field, n * 4, 4, (place + 9) % PLACES);
    memcpy(g, vector_of(other, 3 * n), n * 4);
    place_all(n, place);
    for (unsigned flags = 0; flags < 8; flags++) {
        const natural_case c = {
            .x = vector_of(kind, n + place),
            .g = flags & 1 ? g : NULL,
            .n = n,
            .key = {n * 77 + kind, place},
            .position = (uint64_t)NATURAL_SPAN * (n % 3) << n % 40,
            .subtract = flags >> 1 & 1,
            .gamma = n % 2 ? 1 : 0.3f,
            .factor = flags & 4 ? 8.0f / 9 : 1,
        };
        snprintf(here.more, sizeof here.more, ", %s, %s, factor %g",
                 c.g ? vector_names[other] : "no gradient", c.subtract ? "subtracted" : "not subtracted",
                 (double)c.factor);
        expect_equal(&c);
    }
}

static void encoding(void **state)
{
    (void)state;
    every_case("natural_encode", encode);
}

/* Sixteen random bits decide unless they equal the top of the mantissa. Here they always do, or miss it by one: every
 * value has to look up more, or must not. */
static void ties_are_looked_up(void **state)
{
    (void)state;
    static const size_t lengths[] = {1, 7, 31, 32, 33, 47, 48, 49, 300, 8191, 8192, 8193, 70001, LONGEST};
    static uint32_t random[TITHE_BLOCK];
    static float x[LONGEST];
    here.function = "natural_encode of values that tie";
    dice d = {11};
    for (size_t j = 0; j < sizeof lengths / sizeof *lengths; j++)
        for (unsigned flags = 0; flags < 4; flags++) {
            const natural_case c = {.x = x,
                                    .n = here.n = lengths[j],
                                    .key = {roll(&d), roll(&d)},
                                    .position = NATURAL_SPAN * (uint64_t)j,
                                    .subtract = flags & 1,
                                    .factor = 1};
            size_t up[2] = {0};
            for (size_t i = 0; i < c.n; i++) {
                if (i % NATURAL_SPAN == 0)
                    ti_kernels_ref.random_block(c.key, (c.position + i) / NATURAL_SPAN, random);
                const size_t at = i % NATURAL_SPAN;
                uint32_t top = random[at / 2] >> 16 * (at % 2) & 0xffff;
                if (flags & 2 && i % 3) top = (top + (i % 3 == 1 ? 1 : 0xffff)) & 0xffff;
                const uint32_t rest = (uint32_t)roll(&d) & 127, exponent = (uint32_t)roll_below(&d, 255);
                x[i] = float_of_bits(((uint32_t)roll(&d) & 0x80000000u) | exponent << 23 | top << 7 | rest);
                if (!(flags & 2)) up[rng_at(c.key, c.position + i) >> 57 < rest]++;
            }
            if (!(flags & 2) && c.n >= 300)
                assert_true(up[0] > c.n / 4 && up[1] > c.n / 4); /* both answers occur */
            here.place = (unsigned)(j + flags) % PLACES;
            place_all(c.n, here.place);
            expect_equal(&c);
        }
}

/* A number above 2^127 has no upper neighbour: field 254 stays, whatever is drawn. */
static void the_largest_exponent_stays(void **state)
{
    (void)state;
    static float x[1000];
    here.function = "natural_encode of the largest floats";
    for (size_t i = 0; i < 1000; i++)
        x[i] = float_of_bits((i % 2 ? 0xff7fffffu : 0x7f7fffffu) - (uint32_t)(i / 4));
    const natural_case c = {.x = x, .n = here.n = 1000, .key = {1, 2}, .subtract = true, .factor = 1};
    place_all(c.n, AT_END);
    expect_equal(&c);
    assert_true(bytes_are(fields.wanted, c.n, 254));
    for (size_t t = 0; t < running_count; t++) {
        assert_true(run(running[t], &c, vector.got, fields.got, signs.got));
        expect(bytes_are(fields.got, c.n, 254), "%s goes beyond 2^127", running[t]->name);
    }
}

/* A vector in two parts, each at its own position, is the vector in one. */
static void positions_continue(void **state)
{
    (void)state;
    here.function = "natural_encode in parts";
    enum { N = 100000 };
    const float *x = vector_of(V_GAUSS, 0);
    static uint8_t whole[N], whole_signs[N / 8];
    static float copy[N];
    for (const kernels *const *t = ti_kernel_tables(); *t; t++) {
        if (!(*t)->runs_here()) continue;
        here.table = (*t)->name;
        memcpy(copy, x, sizeof copy);
        natural_job job = {
            .source = {copy, NULL, 0}, .n = N, .key = {5, 6}, .fields = whole, .signs = whole_signs};
        assert_true((*t)->natural_encode(&job));
        for (size_t split = NATURAL_SPAN; split < N; split += 3 * NATURAL_SPAN) {
            static uint8_t part[N], part_signs[N / 8];
            natural_job first = job, second = job;
            first.fields = part;
            first.signs = part_signs;
            first.n = split;
            second.source.x = copy + split;
            second.fields = part + split;
            second.signs = part_signs + split / 8;
            second.n = N - split;
            second.position = split;
            assert_true((*t)->natural_encode(&first) && (*t)->natural_encode(&second));
            expect_here(memcmp(part, whole, sizeof whole) == 0, "split at %zu", split);
            expect_here(memcmp(part_signs, whole_signs, sizeof whole_signs) == 0, "signs, split at %zu",
                        split);
        }
    }
}

/* ---- decoding -------------------------------------------------------------------------------------------- */

static void decode(vector_kind kind, size_t n, unsigned place)
{
    dice d = {n * V_KINDS + kind};
    uint8_t *code = fenced_place(&code_field, n, 1, (place + 4) % PLACES);
    uint8_t *sign = fenced_place(&sign_field, (n + 7) / 8, 1, (place + 8) % PLACES);
    for (size_t i = 0; i < n; i++)
        code[i] = (uint8_t)(roll(&d) % (i % 3 ? 255 : 3)); /* many zeros, of both signs */
    for (size_t i = 0; i < (n + 7) / 8; i++) sign[i] = (uint8_t)roll(&d);
    const float *y = vector_of(kind, n + place);
    output_place(&vector, n * 4, 4, place);
    static const float scales[] = {1, -1, 0.3f, 0};
    for (unsigned flags = 0; flags < 4; flags++) {
        const float factor = flags & 1 ? 8.0f / 9 : 1, scale = scales[(flags + n) % 4];
        snprintf(here.more, sizeof here.more, ", factor %g, scale %g", (double)factor, (double)scale);
        output_reset(vector.wanted, &vector, y);
        ti_kernels_ref.natural_decode_add(code, sign, n, factor, scale, (void *)vector.wanted);
        for (size_t t = 0; t < running_count; t++) {
            here.table = running[t]->name;
            output_reset(vector.got, &vector, y);
            running[t]->natural_decode_add(code, sign, n, factor, scale, (void *)vector.got);
            expect_output(&vector, vector.size);
        }
    }
}

static void decoding(void **state)
{
    (void)state;
    every_case("natural_decode_add", decode);
}

/* Zeros keep their sign: -0 + -0 is -0, and 0 + -0 is 0. */
static void zeros_keep_their_sign(void **state)
{
    (void)state;
    here.function = "natural_decode_add of zeros";
    for (size_t n = 1; n <= 70; n++)
        for (const kernels *const *t = ti_kernel_tables(); *t; t++) {
            if (!(*t)->runs_here()) continue;
            here.table = (*t)->name;
            here.n = n;
            uint8_t code[70] = {0}, sign[9];
            float y[70];
            memset(sign, 0x55, sizeof sign);
            for (size_t i = 0; i < n; i++) y[i] = i % 3 ? -0.0f : 0.0f;
            (*t)->natural_decode_add(code, sign, n, 1, 1, y);
            for (size_t i = 0; i < n; i++)
                expect_here((signbit(y[i]) != 0) == (i % 3 && i % 2 == 0), "place %zu has the other sign", i);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(encoding),
        cmocka_unit_test(ties_are_looked_up),
        cmocka_unit_test(the_largest_exponent_stays),
        cmocka_unit_test(positions_continue),
        cmocka_unit_test(decoding),
        cmocka_unit_test(zeros_keep_their_sign),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
