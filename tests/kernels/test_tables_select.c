/* test_tables_select.c - selection of every table against ref: the same survivors in the same order, nothing beyond
 * the room that was given, however they crowd; the sums that are taken on the way; and what is done with survivors afterwards. */
#include "kernels/tables.h"

enum { SLACK = 16 };

static fenced gradient_field;
static output vector, memory, indices, values;

static int setup(void **state)
{
    tables_setup(state);
    gradient_field = fenced_make(LONGEST * 4);
    vector = output_make("the vector", LONGEST * 4);
    memory = output_make("the memory", LONGEST * 4);
    indices = output_make("the indices", (LONGEST + SLACK) * 4);
    values = output_make("the values", (LONGEST + SLACK) * 4);
    return 0;
}

typedef struct select_case {
    const float *x, *g;
    size_t n, capacity;
    float gamma;
    uint32_t first, min;
    bool many; /* expected to survive */
} select_case;

static size_t run(const kernels *k, const select_case *c, uint8_t *x, uint8_t *to_indices, uint8_t *to_values,
                  bool *finite)
{
    output_reset(x, &vector, c->x);
    output_reset(to_indices, &indices, NULL);
    output_reset(to_values, &values, NULL);
    const select_job job = {
        .source = {(void *)x, c->g, c->gamma},
        .n = c->n,
        .first = c->first,
        .min = c->min,
        .indices = (void *)to_indices,
        .values = (void *)to_values,
        .capacity = c->capacity,
        .expected = c->many ? c->n : 0,
    };
    return k->select(&job, finite);
}

/* What the definition promises of ref itself. */
static void expect_sound(const select_case *c, size_t count, bool finite)
{
    here.table = "ref";
    size_t found = 0;
    bool all_finite = true;
    const uint32_t *at = (const void *)indices.wanted;
    const float *value = (const void *)values.wanted, *left = (const void *)vector.wanted;
    for (size_t i = 0; i < c->n; i++) {
        const float v = c->g ? c->x[i] + c->gamma * c->g[i] : c->x[i];
        const uint32_t bits = bits_of_float(v);
        all_finite &= isfinite(v) != 0;
        const float kept = isfinite(v) ? v : c->g ? kept_of_overflow(c->x[i], c->gamma * c->g[i]) : c->x[i];
        expect_here(bits_of_float(left[i]) == bits_of_float(kept), "lane %zu was left %a", i,
                    (double)left[i]);
        if ((bits & 0x7fffffffu) < c->min) continue;
        if (found < c->capacity)
            expect_here(at[found] == c->first + i && bits_of_float(value[found]) == bits,
                        "survivor %zu should be place %zu", found, i);
        found++;
    }
    expect_here(count == found, "%zu survivors instead of %zu", count, found);
    expect_here(finite == all_finite, "finite or not was not seen");
}

static size_t expect_equal_if(const select_case *c, unsigned place)
{
    snprintf(here.more, sizeof here.more, ", %s, at least %08x, room for %zu, %s expected",
             c->g ? "with gradient" : "no gradient", c->min, c->capacity, c->many ? "many" : "few");
    output_place(&vector, c->n * 4, 4, place);
    output_place(&indices, (c->capacity + SLACK) * 4, 4, (place + 3) % PLACES);
    output_place(&values, (c->capacity + SLACK) * 4, 4, (place + 7) % PLACES);
    bool finite, got_finite;
    const size_t count = run(&ti_kernels_ref, c, vector.wanted, indices.wanted, values.wanted, &finite);
    expect_sound(c, count, finite);
    const size_t written = count < c->capacity ? count : c->capacity;
    for (size_t t = 0; t < running_count; t++) {
        here.table = running[t]->name;
        const size_t got = run(running[t], c, vector.got, indices.got, values.got, &got_finite);
        expect_here(got_finite == finite, "finite: %d instead of %d", got_finite, finite);
        expect_output(&vector, vector.size);
        /* A gradient that makes something infinite is refused: the survivors of that do not matter to anybody. */
        const bool matters = finite || !c->g;
        if (matters) expect_here(got == count, "%zu survivors instead of %zu", got, count);
        expect_output(&indices, matters ? written * 4 : 0);
        expect_output(&values, matters ? written * 4 : 0);
    }
    return count;
}

/* Whatever was expected. */
static size_t expect_equal(const select_case *c, unsigned place)
{
    select_case other = *c;
    other.many = true;
    expect_equal_if(&other, place);
    return expect_equal_if(c, place);
}

/* The magnitude that about one in `every` reaches, taken from the vector itself so that something equals it. */
static uint32_t common_magnitude(const float *x, size_t n, size_t every)
{
    uint32_t best = 0;
    for (size_t i = 0; i < n && i < 3 * every; i++) {
        const uint32_t magnitude = bits_of_float(x[i]) & 0x7fffffffu;
        if (magnitude > best && magnitude < 0x7f800000u) best = magnitude;
    }
    return best;
}

static void choose(vector_kind kind, size_t n, unsigned place)
{
    const vector_kind other = gradient_kind(kind, n);
    float *g = (void *)fenced_place(&gradient_field, n * 4, 4, (place + 9) % PLACES);
    memcpy(g, vector_of(other, 3 * n), n * 4);
    const float *x = vector_of(kind, n + place);
    const uint32_t some = common_magnitude(x, n, 1 + n % 3), few = common_magnitude(x, n, 50);
    const uint32_t min[] = {0, 1, some, some + 1, few, few + 1, 0x7f800000u, 0x7fffffffu, 0x80000000u};
    for (unsigned flags = 0; flags < 2; flags++) {
        select_case c = {.x = x, .g = flags ? g : NULL, .n = n, .gamma = n % 2 ? 1 : 0.3f};
        c.first = n % 3 == 0 ? 0 : n % 3 == 1 ? 12345 : (uint32_t)(UINT32_MAX - n);
        for (size_t i = 0; i < sizeof min / sizeof *min; i++) {
            if (n <= SHORT && (i + n + place) % 3) continue; /* each length meets them all at some place */
            c.min = min[i];
            c.capacity = n;
            const size_t count = expect_equal(&c, place);
            const size_t tight[] = {count, count ? count - 1 : 0, count / 2, 0};
            c.capacity = tight[(n + i) % 4];
            expect_equal(&c, place);
        }
    }
}

static void selecting(void **state)
{
    (void)state;
    every_case("select", choose);
}

/* Rooms around those where several streams are used, or a stream has room for a vector more or less. */
static void any_room_will_do(void **state)
{
    (void)state;
    static const size_t rooms[] = {0,   1,   7,   8,   9,   15,  16,  17,  63,  64,  65,  127, 128, 129,
                                   191, 192, 193, 255, 256, 257, 259, 260, 264, 320, 384, 512, 700, 70000};
    here.function = "select into a small room";
    here.kind = V_GAUSS;
    const float *x = vector_of(V_GAUSS, 1);
    static const size_t lengths[] = {40, 300, 65536, 70000};
    for (size_t j = 0; j < 4; j++)
        for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++)
            for (int level = 0; level < 3; level++) {
                static const uint32_t min[] = {0, 0x3f800000u,
                                               0x40300000u}; /* all, a third, six in a thousand */
                const select_case c = {.x = x, .n = lengths[j], .capacity = rooms[i], .min = min[level]};
                here.n = c.n;
                expect_equal(&c, (unsigned)(i + j) % PLACES);
            }
}

/* All survivors in one part of the vector, and just room enough for them. */
static void survivors_may_crowd(void **state)
{
    (void)state;
    static const size_t lengths[] = {65536, 65536 + 63, 70000, LONGEST};
    static float x[LONGEST];
    float *g = (void *)fenced_place(&gradient_field, LONGEST * 4, 4, 0);
    here.function = "select of survivors that crowd";
    for (size_t i = 0; i < LONGEST; i++) g[i] = 0x1p-10f * (float)(i % 7);
    for (size_t j = 0; j < 4; j++)
        for (unsigned part = 0; part < 9; part++) /* eighths, and the tail alone */
            for (unsigned flags = 0; flags < 8; flags++) {
                const size_t n = here.n = lengths[j], eighth = n / 8;
                const size_t begin = part < 8 ? part * eighth : n - 200, end = part < 8 ? begin + eighth : n;
                size_t count = 0;
                for (size_t i = 0; i < n; i++) {
                    const bool keep = i >= begin && i < end && (flags & 2 || i % 5 == 0);
                    x[i] = (keep ? 2 : 0.5f) * (i % 2 ? 1 : -1);
                    count += keep;
                }
                select_case c = {.x = x, .g = flags & 1 ? g : NULL, .n = n, .gamma = 1, .min = 0x3fc00000u};
                c.capacity = flags & 4 ? count - 1 : count;
                assert_true(expect_equal(&c, (part + flags) % PLACES) == count);
            }
}

/* ---- and sums on the way -------------------------------------------------------------------------------------- */

typedef struct form_case {
    const float *x, *g, *before;
    float gamma;
    uint32_t min;
    bool remembers, drift;
} form_case;

static size_t form(const kernels *k, const form_case *c, size_t n, bool wanted, double sums[3], bool *finite)
{
    uint8_t *x = wanted ? vector.wanted : vector.got, *kept = wanted ? memory.wanted : memory.got;
    uint8_t *at = wanted ? indices.wanted : indices.got, *value = wanted ? values.wanted : values.got;
    output_reset(x, &vector, c->x);
    output_reset(kept, &memory, c->before);
    output_reset(at, &indices, NULL);
    output_reset(value, &values, NULL);
    const form_job job = {.select = {.source = {(void *)x, c->g, c->gamma},
                                     .n = n,
                                     .first = 77,
                                     .min = c->min,
                                     .indices = (void *)at,
                                     .values = (void *)value,
                                     .capacity = n},
                          .memory = c->remembers ? (void *)kept : NULL,
                          .drift = c->drift};
    return k->form(&job, sums, finite);
}

/* What the parts that it is defined by say, one after the other. */
static void expect_parts(const form_case *c, size_t n, size_t count, const double sums[3], bool finite)
{
    static float x[LONGEST], kept[LONGEST];
    static uint32_t at[LONGEST + SLACK];
    static float value[LONGEST + SLACK];
    double drifted[2] = {0};
    bool is_finite;
    memcpy(x, c->x, n * 4);
    memcpy(kept, c->before, n * 4);
    const select_job job = {.source = {x, c->g, c->gamma},
                            .n = n,
                            .first = 77,
                            .min = c->min,
                            .indices = at,
                            .values = value,
                            .capacity = n};
    here.table = "ref";
    expect_here(ti_kernels_ref.select(&job, &is_finite) == count && is_finite == finite,
                "other survivors than without sums");
    expect_here(memcmp(x, vector.wanted, n * 4) == 0 && memcmp(at, indices.wanted, count * 4) == 0,
                "another vector than without sums");
    ti_kernels_ref.drift(kept, c->g, n, drifted);
    expect_here(memcmp(memory.wanted, c->remembers ? c->g : c->before, n * 4) == 0,
                "the memory is not what it should be");
    if (!finite) return;
    expect_double("the squares of the sum", sums[0], ti_kernels_ref.keep(NULL, x, n));
    expect_double("the product with the memory", sums[1], c->remembers && c->drift ? drifted[0] : 0);
    expect_double("the squares of the gradient", sums[2], c->remembers ? drifted[1] : 0);
}

static void form_and_sum(vector_kind kind, size_t n, unsigned place)
{
    float *g = (void *)fenced_place(&gradient_field, n * 4, 4, (place + 9) % PLACES);
    memcpy(g, vector_of(gradient_kind(kind, n), 3 * n), n * 4);
    form_case c = {.x = vector_of(kind, n + place), .g = g, .gamma = n % 2 ? 1 : 0.3f};
    c.before = vector_of((vector_kind)((kind + n) % V_NONFINITE), 2 * n + 1);
    output_place(&vector, n * 4, 4, place);
    output_place(&memory, n * 4, 4, n % 3 ? 0 : (place + 5) % PLACES); /* place 0 is a boundary of lines */
    output_place(&indices, (n + SLACK) * 4, 4, (place + 3) % PLACES);
    output_place(&values, (n + SLACK) * 4, 4, (place + 7) % PLACES);
    for (unsigned way = 0; way < 3; way++) {
        double wanted[3], got[3];
        bool finite, got_finite;
        c.remembers = way > 0;
        c.drift = way == 2;
        c.min = (n + way) % 3 ? common_magnitude(c.x, n, 50) : 1;
        snprintf(here.more, sizeof here.more, ", at least %08x, way %u", c.min, way);
        const size_t count = form(&ti_kernels_ref, &c, n, true, wanted, &finite);
        expect_parts(&c, n, count, wanted, finite);
        for (size_t t = 0; t < running_count; t++) {
            here.table = running[t]->name;
            const size_t survived = form(running[t], &c, n, false, got, &got_finite);
            expect_here(got_finite == finite, "finite: %d instead of %d", got_finite, finite);
            expect_output(&vector, vector.size);
            expect_output(&memory, memory.size);
            if (!finite) continue;
            expect_here(survived == count, "%zu survivors instead of %zu", survived, count);
            expect_output(&indices, count * 4);
            expect_output(&values, count * 4);
            for (int i = 0; i < 3; i++) expect_double("a sum on the way", got[i], wanted[i]);
        }
    }
}

static void forming_and_summing(void **state)
{
    (void)state;
    every_case("form", form_and_sum);
}

/* ---- what survived ---------------------------------------------------------------------------------------- */

/* In place, what is not below some magnitude; to the side, what lies between two. */
static void sift(vector_kind kind, size_t n, unsigned place)
{
    const float *x = vector_of(kind, n + place);
    const uint32_t some = common_magnitude(x, n, 1 + n % 3), few = common_magnitude(x, n, 50);
    const uint32_t limits[] = {0, 1, some, some + 1, few, few + 1, 0x7f800000u, 0x7fffffffu, 0x80000000u};
    uint32_t *numbers = (void *)fenced_place(&gradient_field, n * 4, 4, (place + 5) % PLACES);
    for (size_t i = 0; i < n; i++) numbers[i] = (uint32_t)(7 * i + place);
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        if (n <= SHORT && (i + n + place) % 3) continue;
        snprintf(here.more, sizeof here.more, ", limit %08x", limits[i]);
        output_place(&indices, n * 4, 4, place);
        output_place(&values, n * 4, 4, (place + 3) % PLACES);
        output_reset(indices.wanted, &indices, numbers);
        output_reset(values.wanted, &values, x);
        const size_t kept =
            ti_kernels_ref.compact((void *)indices.wanted, (void *)values.wanted, n, limits[i]);
        for (size_t t = 0; t < running_count; t++) {
            here.table = running[t]->name;
            output_reset(indices.got, &indices, numbers);
            output_reset(values.got, &values, x);
            const size_t got = running[t]->compact((void *)indices.got, (void *)values.got, n, limits[i]);
            expect_here(got == kept, "compact: %zu instead of %zu", got, kept);
            expect_output(&indices, kept * 4);
            expect_output(&values, kept * 4);
        }

        float *from = (void *)fenced_place(&vector.got_field, n * 4, 4, place);
        memcpy(from, x, n * 4);
        output_place(&indices, (n + SLACK) * 4, 4, (place + 7) % PLACES);
        output_reset(indices.wanted, &indices, NULL);
        const uint32_t min = limits[(i + n) % (i + 1)];
        size_t above, got_above;
        const size_t count = ti_kernels_ref.collect(from, n, min, limits[i], (void *)indices.wanted, &above);
        size_t plain = 0, larger = 0;
        for (size_t j = 0; j < n; j++) {
            const uint32_t magnitude = bits_of_float(x[j]) & 0x7fffffffu;
            plain += magnitude >= min && magnitude <= limits[i];
            larger += magnitude > limits[i];
        }
        expect_here(count == plain && above == larger, "collect of ref: %zu and %zu instead of %zu and %zu",
                    count, above, plain, larger);
        for (size_t t = 0; t < running_count; t++) {
            here.table = running[t]->name;
            output_reset(indices.got, &indices, NULL);
            const size_t got = running[t]->collect(from, n, min, limits[i], (void *)indices.got, &got_above);
            expect_here(got == count && got_above == above, "collect: %zu and %zu instead of %zu and %zu",
                        got, got_above, count, above);
            expect_output(&indices, count * 4);
        }
    }
}

static void sifting(void **state)
{
    (void)state;
    every_case("compact or collect", sift);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(selecting),
        cmocka_unit_test(any_room_will_do),
        cmocka_unit_test(survivors_may_crowd),
        cmocka_unit_test(forming_and_summing),
        cmocka_unit_test(sifting),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
