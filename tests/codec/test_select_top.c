/* test_select_top.c - exact top-k against a full sort: exactly k, ascending, ties to the lowest position, whatever the
 * input does to the sample; in memory of exactly the promised size, without an allocation, in a bounded number of
 * passes. The file under test is compiled in here, so that its passes can be counted. */
#include "codec/kth.h"
#include "codec/select.h"
#include "codec/top_inputs.h"
#include "kernels/parallel.h"

/* ---- counting ------------------------------------------------------------------------------------------ */

static size_t visits; /* of an element of the vector, after the sample */

static size_t counted_select(tithe_pool *pool, const select_job *job, bool *finite)
{
    visits += job->n;
    return ti_parallel_select(pool, job, finite);
}

static void counted_narrow(const void *numbers, size_t n, size_t k, kth_range *range, size_t *above,
                           size_t *inside)
{
    visits += n;
    ti_kth_narrow(numbers, n, k, range, above, inside);
}

#define ti_parallel_select counted_select
#define ti_kth_narrow counted_narrow
#define select_key(c, i) (visits++, (select_key)(c, i))
#include "codec/select_top.c"
#undef ti_parallel_select
#undef ti_kth_narrow
#undef select_key

/* Allocations are counted where the C library lets one stand in for malloc, which sanitizers want to do themselves. */
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define COUNTS_ALLOCATIONS 1
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#undef COUNTS_ALLOCATIONS
#endif
#endif
#endif

static bool watching;
static size_t allocations;

#ifdef COUNTS_ALLOCATIONS
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);

void *malloc(size_t size)
{
    allocations += watching;
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    allocations += watching;
    return __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
    allocations += watching;
    return __libc_realloc(old, size);
}
#endif

/* ---- the question -------------------------------------------------------------------------------------- */

static const tithe_key key = {0x123456789abcdef, 42};

enum { BEFORE = 3, FIRST = 5 }; /* entries that stand in the selection already; where the stretch begins */

typedef struct question {
    tithe_type type;
    size_t n;
    const void *x;      /* what the places were ranked by */
    const float *e, *g; /* or their parts: x = e + gamma * g */
    float gamma;
    const rank *order;
    const char *name;
} question;

/* Passes over the stretch that the search took. */
static double expect_top(const question *q, size_t k)
{
    const size_t width = type_bytes(q->type), room = q->type == TITHE_F64 ? k : ti_select_top_room(q->n, k);
    const size_t work = ti_select_top_scratch(q->n, room), places = BEFORE + room + 16;
    guarded x = guarded_make((FIRST + q->n) * width, 0), indices = guarded_make(places * 4, 4);
    guarded values = guarded_make(places * width, width), scratch = guarded_make(work, 0);
    uint8_t *chosen = calloc(q->n + 1, 1);
    assert_non_null(chosen);
    memset(x.data, 0x7b, FIRST * width); /* large numbers that are none of its business */
    memcpy((uint8_t *)x.data + FIRST * width, q->g ? (const void *)q->e : q->x, q->n * width);
    float *g = q->g ? malloc((FIRST + q->n) * sizeof *g) : NULL;
    if (g) {
        memset(g, 0xff, FIRST * sizeof *g); /* not a number */
        memcpy(g + FIRST, q->g, q->n * sizeof *g);
    }
    const tithe_call call = {0};
    const tithe_select_call c = {.x = x.data,
                                 .n = FIRST + q->n,
                                 .type = q->type,
                                 .call = &call,
                                 .key = key,
                                 .scratch = scratch.data,
                                 .gradient = g,
                                 .gamma = q->gamma};
    tithe_selection s = {.indices = indices.data, .values = values.data, .count = BEFORE, .factor = 1};
    visits = allocations = 0;
    watching = true;
    const bool finite = ti_select_top(&c, FIRST, q->n, k, &s);
    watching = false;
    const double passes = q->n ? (double)visits / (double)q->n : 0;

    expect(finite, "%s, n=%zu, k=%zu: refused", q->name, q->n, k);
    expect(s.count == BEFORE + k, "%s, n=%zu, k=%zu: %zu entries", q->name, q->n, k, s.count - BEFORE);
    expect(allocations == 0, "%s, n=%zu, k=%zu: %zu allocations", q->name, q->n, k, allocations);
    expect(guarded_is_intact(&x) && guarded_is_intact(&indices) && guarded_is_intact(&values) &&
               guarded_is_intact(&scratch) && bytes_are(x.data, FIRST * width, 0x7b) &&
               bytes_are(indices.data, BEFORE * 4, GUARD_BYTE) &&
               bytes_are(values.data, BEFORE * width, GUARD_BYTE),
           "%s, n=%zu, k=%zu: it wrote beside", q->name, q->n, k);
    for (size_t i = 0; i < k; i++) chosen[q->order[i].position] = 1;
    const uint8_t *after = (const uint8_t *)x.data + FIRST * width;
    expect(memcmp(after, q->x, q->n * width) == 0, "%s, n=%zu, k=%zu: another vector", q->name, q->n, k);
    expect(s.gathered == (q->type == TITHE_F32), "%s: gathered or not", q->name);
    size_t at = BEFORE;
    for (size_t i = 0; i < q->n; i++) {
        if (!chosen[i]) continue;
        expect(s.indices[at] == FIRST + i, "%s, n=%zu, k=%zu: entry %zu is place %u instead of %zu", q->name,
               q->n, k, at - BEFORE, s.indices[at] - FIRST, i);
        if (s.gathered)
            expect(memcmp((float *)s.values + at, (const float *)q->x + i, 4) == 0,
                   "%s, n=%zu, k=%zu: value of %zu", q->name, q->n, k, i);
        at++;
    }
    guarded_free(&x);
    guarded_free(&indices);
    guarded_free(&values);
    guarded_free(&scratch);
    free(chosen);
    free(g);
    return passes;
}

static const size_t lengths[] = {1, 2, 9, 1000, SMALL - 1, SMALL, SMALL + 1, 33000, 65543, 200000};
enum { LENGTHS = sizeof lengths / sizeof *lengths, LEVELS = 9 };

static size_t level(size_t n, unsigned which)
{
    const size_t k[LEVELS] = {1, 2, n / 500, n / 100, n / 10, n / 2, n - n / 20, n - 1, n};
    return k[which] < 1 ? 1 : k[which];
}

/* One pass where the sample tells the truth; otherwise a few more, but never beyond seven. */
static void expect_few_passes(const question *q, shape s, size_t k, double passes)
{
    const bool honest = s <= GEOMETRIC && q->n >= 65536 && k * 10 <= q->n;
    expect(passes <= (honest ? 1 : 7), "%s, n=%zu, k=%zu: %g passes", q->name, q->n, k, passes);
    if ((s == SAMPLE_LARGE || s == SAMPLE_SMALL) && q->n == 200000 && k == q->n / 10)
        expect(passes > 1, "%s, n=%zu, k=%zu: it is not; see mark_sampled", q->name, q->n, k);
}

static void the_largest_are_found(void **state)
{
    (void)state;
    double max = 0;
    for (size_t l = 0; l < LENGTHS; l++)
        for (int s = 0; s < SHAPES; s++) {
            const size_t n = lengths[l];
            float *x = malloc(n * sizeof *x);
            fill_shape(x, n, (shape)s, key);
            rank *order = ranked_places(TITHE_F32, x, n);
            const question q = {.type = TITHE_F32, .n = n, .x = x, .order = order, .name = shape_names[s]};
            for (unsigned i = 0; i < LEVELS; i++) {
                const size_t k = level(n, i) < n ? level(n, i) : n;
                const double passes = expect_top(&q, k);
                expect_few_passes(&q, (shape)s, k, passes);
                max = fmax(max, passes);
            }
            free(order);
            free(x);
        }
    printf("at most %.2f passes over a vector\n", max);
}

/* The k-th magnitude occurs many times: the k ends before, amid and after those that equal it. */
static void ties_go_to_the_lowest(void **state)
{
    (void)state;
    static const size_t sizes[] = {100, SMALL + 100, 100000};
    for (size_t l = 0; l < 3; l++) {
        const size_t n = sizes[l];
        float *x = malloc(n * sizeof *x);
        dice d = {l};
        size_t above = 0, equal = 0;
        for (size_t i = 0; i < n; i++) {
            const size_t which = roll_below(&d, 10);
            x[i] = (roll(&d) & 1 ? 1 : -1) * (which == 0  ? 5 + (float)roll_unit(&d)
                                              : which < 4 ? 3
                                                          : (float)roll_unit(&d));
            above += which == 0;
            equal += which > 0 && which < 4;
        }
        rank *order = ranked_places(TITHE_F32, x, n);
        const question q = {.type = TITHE_F32, .n = n, .x = x, .order = order, .name = "ties amid"};
        const size_t k[] = {above,         above + 1,        above + equal / 2, above + equal - 1,
                            above + equal, above + equal + 1};
        for (int i = 0; i < 6; i++)
            if (k[i]) expect_top(&q, k[i]);
        free(order);
        free(x);
    }
}

/* The largest of e + gamma * g, with the sum left in e; the sample has to look at the sum, too. */
static void sums_are_ranked(void **state)
{
    (void)state;
    static const size_t sizes[] = {7, 1000, SMALL, 65543, 150000};
    for (size_t l = 0; l < 5; l++)
        for (int s = 0; s < SHAPES; s++) {
            const size_t n = sizes[l];
            float *x = malloc(n * sizeof *x), *e = malloc(n * sizeof *e), *g = malloc(n * sizeof *g);
            fill_shape(x, n, (shape)s, key);
            fill_shape(g, n, (shape)((s + 5) % SHAPES), key);
            const float gamma = s % 2 ? 1 : 0.125f;
            for (size_t i = 0; i < n; i++) {
                e[i] = x[i] - gamma * g[i];
                x[i] = e[i] + gamma * g[i];
            }
            rank *order = ranked_places(TITHE_F32, x, n);
            const question q = {TITHE_F32, n, x, e, g, gamma, order, shape_names[s]};
            for (unsigned i = 0; i < LEVELS; i += 2)
                expect_few_passes(&q, (shape)s, level(n, i), expect_top(&q, level(n, i)));
            free(order);
            free(x);
            free(e);
            free(g);
        }
}

static void doubles_are_ranked(void **state)
{
    (void)state;
    for (int s = 0; s < SHAPES; s++) {
        enum { N = 20000 };
        static float x[N];
        static double wide[N];
        fill_shape(x, N, (shape)s, key);
        for (size_t i = 0; i < N; i++) wide[i] = s == RANDOM ? (double)x[i] * 0x1.0000001p700 : (double)x[i];
        rank *order = ranked_places(TITHE_F64, wide, N);
        const question q = {.type = TITHE_F64, .n = N, .x = wide, .order = order, .name = shape_names[s]};
        for (unsigned i = 0; i < LEVELS; i++) expect_top(&q, level(N, i));
        free(order);
    }
}

static void what_is_not_finite_is_refused(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 1000, SMALL, 70000};
    static const uint32_t odd[] = {0x7f800000, 0xff800000, 0x7fc00000, 0x7fffffff};
    for (size_t l = 0; l < 4; l++)
        for (size_t j = 0; j < 8; j++) {
            const size_t n = sizes[l], k = n / 10 + 1, room = ti_select_top_room(n, k);
            float *x = malloc(n * sizeof *x);
            fill_shape(x, n, RANDOM, key);
            x[n * (j % 4) / 4] = float_of_bits(odd[j % 4]);
            for (size_t i = 0; j >= 4 && i < n; i++) x[i] = float_of_bits(odd[j % 4]); /* the sample, too */
            guarded indices = guarded_make((room + 16) * 4, 0), values = guarded_make((room + 16) * 4, 0);
            guarded scratch = guarded_make(ti_select_top_scratch(n, room), 0);
            const tithe_call call = {0};
            const tithe_select_call c = {
                .x = x, .n = n, .type = TITHE_F32, .call = &call, .key = key, .scratch = scratch.data};
            tithe_selection s = {.indices = indices.data, .values = values.data};
            expect(!ti_select_top(&c, 0, n, k, &s), "n=%zu: %08x was taken", n, odd[j % 4]);
            assert_true(guarded_is_intact(&indices) && guarded_is_intact(&values) &&
                        guarded_is_intact(&scratch));
            guarded_free(&indices);
            guarded_free(&values);
            guarded_free(&scratch);
            free(x);
        }
}

/* ---- the same through the public functions ------------------------------------------------------------- */

static void frames_hold_the_largest(void **state)
{
    (void)state;
    static const size_t sizes[] = {1000, SMALL + 7, 65543, 200000};
    for (size_t l = 0; l < 4; l++)
        for (int s = 0; s < SHAPES; s++) {
            const size_t n = sizes[l], k = level(n, (unsigned)(s + (int)l) % LEVELS);
            char spec[40];
            snprintf(spec, sizeof spec, "topk:k=%zu", k);
            tithe_codec *codec = codec_of(spec);
            float *x = malloc(n * sizeof *x), *y = calloc(n, sizeof *y), *e = calloc(n, sizeof *e);
            fill_shape(x, n, (shape)s, key);
            rank *order = ranked_places(TITHE_F32, x, n);
            guarded frame = guarded_make(tithe_codec_bound(codec, n), 0);
            guarded scratch = guarded_make(tithe_codec_scratch(codec, n), 0);
            const tithe_call call = {.seed = 3, .scratch = scratch.data, .scratch_size = scratch.size};
            tithe_frame_info info = {0}, again = {0};
            allocations = 0;
            watching = true;
            const tithe_status sent = tithe_encode(codec, &call, x, n, frame.data, frame.size, &info, NULL);
            const tithe_status got = tithe_decode_add(codec, &call, frame.data, info.bytes, 1, y, n, NULL);
            const tithe_status kept =
                tithe_ec_encode(codec, &call, e, x, 1, n, frame.data, frame.size, &again, NULL);
            watching = false;
            expect(!sent && !got && !kept && allocations == 0, "%s of %s, n=%zu: %zu allocations", spec,
                   shape_names[s], n, allocations);
            expect(info.entries == k && again.entries == k && again.bytes == info.bytes,
                   "%s of %s, n=%zu: %zu entries", spec, shape_names[s], n, info.entries);
            for (size_t i = 0; i < n; i++) {
                const size_t place = order[i].position;
                expect(y[place] == (i < k ? x[place] : 0), "%s of %s, n=%zu: rank %zu decodes to %g", spec,
                       shape_names[s], n, i, (double)y[place]);
                expect(e[place] == (i < k ? 0 : x[place]), "%s of %s, n=%zu: rank %zu leaves %g", spec,
                       shape_names[s], n, i, (double)e[place]);
            }
            assert_true(guarded_is_intact(&frame) && guarded_is_intact(&scratch));
            guarded_free(&frame);
            guarded_free(&scratch);
            free(order);
            free(x);
            free(y);
            free(e);
            tithe_codec_free(codec);
        }
}

int main(void)
{
#ifndef COUNTS_ALLOCATIONS
    printf("allocations are not counted in this build\n");
#endif
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_largest_are_found),
        cmocka_unit_test(ties_go_to_the_lowest),
        cmocka_unit_test(sums_are_ranked),
        cmocka_unit_test(doubles_are_ranked),
        cmocka_unit_test(what_is_not_finite_is_refused),
        cmocka_unit_test(frames_hold_the_largest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
