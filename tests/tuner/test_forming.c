/* test_forming.c - a level that is chosen while e + gamma g is formed, against the same choice for a vector that is there; and numbers that are none. */
#include "tuner/forming.h"

#include "tuner/scan.h"

static const char *const codecs[] = {
    "topk|raw",       "topk|sign",  "topk|natural",   "threshold|raw",
    "threshold|sign", "mstopk|raw", "stochastic|raw", "all|dither:bucket=512"};
static const char *const costs[] = {"bits", "affine:c0=1e5", "packet:c0=64,c1=576,payload=512"};
/* sorted as a whole; sampled; sampled in several parts, the last of which is short */
static const size_t lengths[] = {0, 1, 1000, 40000, FORM_TOGETHER + 1, 2 * FORM_TOGETHER + 777};
enum { CODECS = sizeof codecs / sizeof *codecs, COSTS = sizeof costs / sizeof *costs };
enum { LENGTHS = sizeof lengths / sizeof *lengths, MOST = 2 * FORM_TOGETHER + 777 };

static float e[MOST], g[MOST], x[MOST], formed[MOST];

static void expect_same(const tithe_choice *a, const tithe_choice *b, const char *codec, size_t n, int kind)
{
    expect(a->level == b->level && a->entries == b->entries && a->cost == b->cost &&
               a->progress == b->progress && a->largest_count == b->largest_count,
           "%s, n = %zu, kind %d: %.17g and %.17g entries", codec, n, kind, a->level, b->level);
    assert_string_equal(a->reason, b->reason);
}

/* To the bit: the level, what it says of it, the positions that it hands out, x, and what is known of waiting. */
static void as_of_a_vector_that_is_there(void **state)
{
    (void)state;
    dice d = {5};
    size_t handed = 0, waited = 0;
    for (size_t round = 0; round < LENGTHS * CODECS * COSTS; round++) {
        const size_t n = lengths[round % LENGTHS];
        const char *codec = codecs[round / LENGTHS % CODECS], *cost = costs[round / LENGTHS / CODECS];
        const int kind = (int)roll_below(&d, IN_KINDS);
        const float gamma = kind == IN_HUGE ? 0.5f : 0.3f;
        const bool late = round / LENGTHS % CODECS < 6 && n;
        fill_tuned((tuned_input)kind, g, n, &d);
        for (size_t i = 0; i < n; i++) e[i] = kind == IN_SPARSE ? 0 : 0.1f * g[n - 1 - i];
        for (size_t i = 0; i < n; i++) x[i] = e[i] + gamma * g[i];
        asked a = ask_open(codec, cost, false, n);
        late_memory one = {0}, other = {0};
        if (late) {
            assert_true(ti_late_open(&one, n) && ti_late_open(&other, n));
            for (size_t i = 0; i < n; i++) formed[i] = roll_below(&d, 100) ? 0 : gamma * g[i];
            for (int m = 0; m < 2; m++) {
                assert_true(ti_late_look(m ? &other : &one, g, 0, n));
                ti_late_learn(m ? &other : &one, formed, 1 + n / 1000, n);
            }
            for (size_t i = 0; i < n; i++) g[i] *= 0.99f;
            for (size_t i = 0; i < n; i++) x[i] = e[i] + gamma * g[i];
            double energy = 0;
            for (size_t first = 0; first < n; first += FORM_TOGETHER) {
                const size_t many = n - first < FORM_TOGETHER ? n - first : FORM_TOGETHER;
                assert_true(ti_late_look(&one, g, first, many));
                energy += ti_kernels()->keep(NULL, x + first, many);
            }
            ti_late_judge(&one, (double)gamma, energy);
            a.call.lost = one.lost;
            a.call.pace = one.pace;
            a.call.before = one.before;
            waited += one.lost < 1;
        }
        a.call.gamma = gamma;
        const tithe_choice there = ask(&a, x, n);
        uint32_t *largest = malloc((there.largest_count + 1) * sizeof *largest);
        assert_non_null(largest);
        if (there.largest) memcpy(largest, there.largest, there.largest_count * sizeof *largest);
        memcpy(formed, e, n * sizeof *e);
        forming f = {.e = formed, .g = g, .gamma = gamma, .n = n, .late = late ? &other : NULL};
        a.call.forming = &f;
        a.call.lost = a.call.pace = a.call.before = 0;
        const tithe_choice made = ask(&a, formed, n);
        expect_same(&there, &made, codec, n, kind);
        assert_true(f.done == n && !f.wrong && memcmp(formed, x, n * sizeof *x) == 0);
        assert_true(!there.largest == !made.largest);
        if (there.largest) assert_memory_equal(largest, made.largest, there.largest_count * sizeof *largest);
        handed += there.largest != NULL;
        if (late) assert_memory_equal(one.vector, other.vector, n * sizeof *g);
        assert_true(one.lost == other.lost && one.pace == other.pace && one.before == other.before);
        free(largest);
        ti_late_close(&one);
        ti_late_close(&other);
        ask_close(&a);
    }
    assert_true(handed > 10 && waited > 10);
}

/* In g, or where the step or the sum is too large for a number; anywhere, with and without a memory. */
static void what_is_not_finite_is_found(void **state)
{
    (void)state;
    dice d = {6};
    for (unsigned round = 0; round < 160; round++) {
        const size_t n = lengths[2 + round % 4], at = roll_below(&d, (uint32_t)n);
        const unsigned how = round / 4 % 5;
        late_memory m = {0};
        fill_tuned(round % 3 ? IN_GAUSS : IN_SPARSE, g, n, &d);
        for (size_t i = 0; i < n; i++) e[i] = 0.1f * g[i];
        const float gamma = how == 4 ? 4 : 1;
        const float bad[] = {NAN, INFINITY, -INFINITY, -2e38f, 3e38f};
        g[at] = bad[how];
        if (how == 3) e[at] = -3e38f;
        asked a = ask_open(codecs[round % 6], costs[round % COSTS], false, n);
        if (round % 2) assert_true(ti_late_open(&m, n));
        forming f = {.e = e, .g = g, .gamma = gamma, .n = n, .late = m.vector ? &m : NULL};
        a.call.forming = &f;
        a.call.x = e;
        a.call.n = n;
        a.call.gamma = gamma;
        tithe_error error = {0};
        tithe_choice choice;
        assert_int_equal(tuner_of("cat")->choose(&a.call, &choice, &error), TITHE_E_NONFINITE);
        expect(error.position == at, "n = %zu, how %u: %s instead of at %zu", n, how, error.text, at);
        ti_late_close(&m);
        ask_close(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_of_a_vector_that_is_there),
        cmocka_unit_test(what_is_not_finite_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
