/* test_warmup.c - a warm-up: it begins where it is told to, never rises, ends at the codec's own level, and goes on after a
 * checkpoint where it was. */
#include "support.h"

enum { N = 2000, STEPS = 20 };

static const tithe_tuner *found(const char *spec, double *params)
{
    const tithe_tuner *tuner = NULL;
    tithe_error error = {0};
    expect(!tithe_tuner_find(spec, &tuner, params, &error), "%s", error.text);
    return tuner;
}

static double entries_now(const tithe_tuner *tuner, const void *state, const tithe_codec *codec)
{
    const tithe_tuner_call c = {.state = state, .codec = codec, .n = N, .gamma = 1};
    tithe_choice choice;
    assert_int_equal(tuner->choose(&c, &choice, NULL), TITHE_OK);
    assert_true(choice.level == 0 || choice.level == choice.entries);
    return choice.entries;
}

static void falls_to_the_level_of_the_codec(void **state)
{
    (void)state;
    static const struct {
        const char *spec;
        double first, last;
    } cases[] = {{"topk:keep=0.01|natural", 200, 20},
                 {"topk:k=7", 200, 7},
                 {"randk:keep=0.05", 200, 100},
                 {"topk:keep=0.5", 1000, 1000}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double params[TITHE_MAX_PARAMS];
        const tithe_tuner *tuner = found("warmup:from=0.1,steps=20", params);
        tithe_codec *codec =
            codec_with(cases[i].spec, (tithe_codec_options){.open_level = true, .contractive = true});
        void *own = NULL, *other = NULL;
        assert_null(tuner->refuse(codec));
        assert_int_equal(tuner->open(codec, N, params, &own, NULL), TITHE_OK);
        assert_int_equal(tuner->open(codec, N, params, &other, NULL), TITHE_OK);
        double before = INFINITY;
        for (unsigned s = 0; s <= STEPS + 2; s++) {
            const double now = entries_now(tuner, own, codec);
            if (s == 0) assert_true(now == cases[i].first);
            if (s >= STEPS) assert_true(now == cases[i].last);
            assert_true(now <= before && now >= cases[i].last);
            before = now;
            double saved;
            assert_int_equal(tuner->save(own, &saved), 1);
            tuner->load(other, &saved);
            assert_true(entries_now(tuner, other, codec) == now);
            tithe_tuner_plan plan = {0};
            tuner->after(own, &(tithe_tuner_step){.step = s}, &plan);
            assert_true(!plan.scheme && !plan.collective);
        }
        tuner->close(own);
        tuner->close(other);
        tithe_codec_free(codec);
    }
}

/* What states no number of entries of the whole vector has nothing to fall to. */
static void other_levels_are_refused(void **state)
{
    (void)state;
    static const char *const specs[] = {"topk", "topk:keep=0.1,per=layer", "threshold:lambda=1",
                                        "all|dither:s=3", "topk:rule=l2"};
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        double params[TITHE_MAX_PARAMS];
        tithe_codec *codec = codec_with(specs[i], (tithe_codec_options){.open_level = true});
        expect(found("warmup", params)->refuse(codec) != NULL, "%s is taken", specs[i]);
        tithe_codec_free(codec);
    }
}

/* In an exchange: the frames get shorter, nothing is lost on the way, and the sum is as without. */
static void exchanges_warm_up(void **state)
{
    (void)state;
    static const char *const more[] = {"", ";scheme=shards", ";bucket=2KiB", ";feedback=ef21",
                                       ";scheme=star"};
    for (size_t m = 0; m < sizeof more / sizeof *more; m++) {
        char options[160];
        tithe_comm *comm = NULL;
        tithe_exchange *ex = NULL;
        tithe_error error = {0};
        assert_int_equal(tithe_comm_local(3, &comm, &error), TITHE_OK);
        snprintf(options, sizeof options, "codec=topk:keep=0.01;tuner=warmup:steps=5%s", more[m]);
        expect(!tithe_exchange_open(comm, options, N, &ex, &error), "%s: %s", options, error.text);
        double first = 0, last = 0;
        for (unsigned s = 0; s < 8; s++) {
            float x[N], update[N];
            for (unsigned r = 0; r < 3; r++) {
                fill_kind(TITHE_F32, GAUSSIAN, x, N, 10 * s + r);
                expect(!tithe_exchange_put(ex, r, 0, x, 1, &error), "%s", error.text);
            }
            expect(!tithe_exchange_finish(ex, update, &error), "%s", error.text);
            last = last_of(ex).level;
            if (s == 0) first = last;
        }
        expect(fabs(first - 200) <= 4 && fabs(last - 20) <= 4, "%s: from %g to %g", options, first, last);
        tithe_exchange_free(ex);
        tithe_comm_free(comm);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(falls_to_the_level_of_the_codec),
        cmocka_unit_test(other_levels_are_refused),
        cmocka_unit_test(exchanges_warm_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
