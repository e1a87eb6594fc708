/* test_ec_failures.c - a step of error compensation that fails has sent nothing, and leaves e as it was, up to the
 * rounding of e + gamma*g. */
#include "feedback/feedback.h"

/* "After any failure nothing was sent, and e is as it was, up to rounding." */
static void expect_e_as_before(const feedback *f, const char *why)
{
    const rig *r = &f->r;
    double scale = 0;
    for (size_t i = 0; i < r->n; i++) {
        const double g = get_number(r->type, f->g, i);
        scale += fabs(get_number(r->type, r->x_before, i)) + (isfinite(g) ? f->gamma * fabs(g) : 0);
    }
    const double epsilon = r->type == TITHE_F32 ? 0x1p-22 : 0x1p-50;
    for (size_t i = 0; i < r->n; i++) {
        const double off = fabs(get_number(r->type, r->x, i) - get_number(r->type, r->x_before, i));
        const bool touched = isfinite(get_number(r->type, f->g, i));
        expect(off <= (touched ? epsilon * scale : 0), "%s n=%zu, %s: e[%zu] was %.9g and is %.9g",
               tithe_codec_spec(r->codec), r->n, why, i, get_number(r->type, r->x_before, i),
               get_number(r->type, r->x, i));
    }
}

static void ask_for_failures(const tithe_codec *codec, void *context)
{
    (void)context;
    const double bad[] = {(double)NAN, (double)INFINITY, (double)-INFINITY};
    static const size_t sizes[] = {1, 40, 1000, 9000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const size_t n = sizes[i], places[] = {0, n / 2, n - 1};
        if (is_refused(codec, n)) continue;
        feedback f = feedback_make(codec, n);
        rig *r = &f.r;
        for (int p = 0; p < 3; p++) {
            feedback_fill(&f, 7);
            set_number(r->type, f.g, places[p], bad[p]);
            r->info.bytes = 4711;
            expect(ec(&f, f.g) == TITHE_E_NONFINITE && r->error.position == places[p], "%s n=%zu: %s",
                   RIG_SAYS(r));
            expect(r->info.bytes == 4711, "%s n=%zu%s: sent all the same", RIG_SAYS(r));
            expect_e_as_before(&f, "a gradient that is not finite");
        }
        feedback_fill(&f, 8);
        expect(ec_into(&f, f.g, 6) == TITHE_E_SPACE, "%s takes six bytes for a frame",
               tithe_codec_spec(codec));
        expect_e_as_before(&f, "no room for the frame");
        if (r->scratch.size) {
            r->call.scratch_size--;
            expect(ec(&f, f.g) == TITHE_E_SPACE, "%s takes a scratch too small", tithe_codec_spec(codec));
            expect_e_as_before(&f, "no room in the scratch");
            r->call.scratch_size++;
        }
        if (source_is(codec, TITHE_INDICES_GIVEN)) {
            r->given[0] = (uint32_t)n;
            expect(ec(&f, f.g) == TITHE_E_ARGUMENT, "given index n is taken");
            expect_e_as_before(&f, "a given index out of range");
        }
        if (strstr(tithe_codec_spec(codec), "per=layer")) {
            r->segments[0]++;
            expect(ec(&f, f.g) == TITHE_E_ARGUMENT, "layers of n+1 are taken");
            expect_e_as_before(&f, "layers that do not add up");
            r->segments[0]--;
        }
        /* And after all that the step can be made. */
        feedback_fill(&f, 9);
        if (source_is(codec, TITHE_INDICES_GIVEN)) r->given[0] = 0;
        expect_step(&f, f.g, f.v);
        feedback_free(&f);
    }
}

static void a_failure_leaves_e_as_it_was(void **state)
{
    (void)state;
    ask_every_codec(ask_for_failures, NULL);
}

static void a_missing_level_leaves_e_as_it_was(void **state)
{
    (void)state;
    static const char *const specs[] = {"topk", "threshold", "mstopk", "randk:scale=contractive",
                                        "stochastic:scale=contractive"};
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        tithe_codec *codec = codec_with(specs[i], (tithe_codec_options){TITHE_F32, true, true});
        feedback f = feedback_make(codec, 50);
        feedback_fill(&f, 3);
        expect(ec(&f, f.g) == TITHE_E_ARGUMENT, "%s encodes without a level", specs[i]);
        expect_e_as_before(&f, "no level");
        f.r.call.level = 3;
        expect(ec(&f, f.g) == TITHE_OK, "%s: %s", specs[i], f.r.error.text);
        feedback_free(&f);
        tithe_codec_free(codec);
    }
}

static void a_sum_that_overflows_is_out_of_range(void **state)
{
    (void)state;
    static const char *const specs[] = {"raw",        "natural", "topk:k=3", "threshold:lambda=1",
                                        "mstopk:k=2", "sign"};
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        tithe_codec *codec = codec_of(specs[i]);
        feedback f = feedback_make(codec, 20);
        feedback_fill(&f, 3);
        f.gamma = 1;
        ((float *)f.r.x)[11] = ((float *)f.r.x_before)[11] = 3e38f;
        ((float *)f.g)[11] = 3e38f;
        expect(ec(&f, f.g) == TITHE_E_RANGE, "%s sends an infinite sum", specs[i]);
        const float left =
            ((float *)f.r.x)[11]; /* the sum was cut at the largest float, so some of it may be lost */
        expect(left >= 0 && left <= 3e38f, "%s leaves %g of 3e38", specs[i], (double)left);
        ((float *)f.r.x)[11] = ((float *)f.r.x_before)[11] = 0; /* judge the others by their own size */
        ((float *)f.g)[11] = 0;
        expect_e_as_before(&f, "an infinite sum");
        feedback_free(&f);
        tithe_codec_free(codec);
    }
}

/* Gradients near the end of the range, of which twice as much would be infinite, are taken back as well. */
static void large_gradients_are_taken_back(void **state)
{
    (void)state;
    static const char *const specs[] = {"natural", "topk:k=3", "threshold:lambda=1",
                                        "dither:bucket=4,scale=contractive", "mstopk:k=2"};
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        tithe_codec *codec = codec_of(specs[i]);
        feedback f = feedback_make(codec, 20);
        feedback_fill(&f, 4);
        f.gamma = 1;
        ((float *)f.g)[5] = 1e38f;
        ((float *)f.g)[6] = -2.5e38f;
        ((float *)f.g)[13] = NAN;
        expect(ec(&f, f.g) == TITHE_E_NONFINITE && f.r.error.position == 13, "%s: %s", specs[i],
               f.r.error.text);
        expect(fabsf(((float *)f.r.x)[5]) < 1e32f && fabsf(((float *)f.r.x)[6]) < 1e32f,
               "%s: e keeps %g and %g", specs[i], (double)((float *)f.r.x)[5], (double)((float *)f.r.x)[6]);
        feedback_free(&f);
        tithe_codec_free(codec);
    }
}

static void arguments_that_make_no_sense(void **state)
{
    (void)state;
    tithe_codec *codec = codec_of("topk:k=2");
    feedback f = feedback_make(codec, 10);
    const double gammas[] = {0, -1, (double)NAN, (double)INFINITY};
    for (int i = 0; i < 4; i++) {
        feedback_fill(&f, 1);
        f.gamma = gammas[i];
        expect(ec(&f, f.g) == TITHE_E_ARGUMENT, "gamma = %g is taken", gammas[i]);
        assert_memory_equal(f.r.x, f.r.x_before, 10 * sizeof(float));
    }
    assert_int_equal(
        tithe_ec_encode(codec, &f.r.call, NULL, f.g, 1, 10, f.r.frame.data, f.r.bound, &f.r.info, NULL),
        TITHE_E_ARGUMENT);
    double e[10] = {0};
    assert_int_equal(
        tithe_ec_encode_f64(codec, &f.r.call, e, NULL, 1, 10, f.r.frame.data, f.r.bound, &f.r.info, NULL),
        TITHE_E_ARGUMENT); /* this codec takes floats */
    feedback_free(&f);
    tithe_codec_free(codec);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failure_leaves_e_as_it_was),
        cmocka_unit_test(a_missing_level_leaves_e_as_it_was),
        cmocka_unit_test(a_sum_that_overflows_is_out_of_range),
        cmocka_unit_test(large_gradients_are_taken_back),
        cmocka_unit_test(arguments_that_make_no_sense),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
