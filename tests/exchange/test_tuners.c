/* test_tuners.c - a tuner with a state of its own: it hears of every step, decides what comes next, and goes on after a
 * checkpoint where it was. */
#include "exchange/group.h"

enum { N = 40, RANKS = 3, STEPS = 6 };

/* Sends one entry more in every step, and changes the collective after the third. */
typedef struct climber {
    double level, seen;
} climber;

static unsigned open_climbers;

static tithe_status open(const tithe_codec *codec, size_t n, const double *params, void **state,
                         tithe_error *error)
{
    (void)codec, (void)error;
    assert_true(n == N && params[0] == 2);
    climber *c = *state = calloc(1, sizeof *c);
    c->level = params[0];
    open_climbers++;
    return TITHE_OK;
}

static void close(void *state)
{
    free(state);
    open_climbers--;
}

static size_t scratch(const tithe_codec *codec, size_t n)
{
    (void)codec, (void)n;
    return 0;
}

static tithe_status choose(const tithe_tuner_call *c, tithe_choice *choice, tithe_error *error)
{
    (void)error;
    const climber *state = c->state;
    *choice = (tithe_choice){.level = state->level, .entries = state->level, .reason = "climbing"};
    return TITHE_OK;
}

static void after(void *state, const tithe_tuner_step *step, tithe_tuner_plan *plan)
{
    climber *c = state;
    assert_true(step->entries == c->level && step->sent_bytes > 0 && step->seconds >= 0);
    assert_true(step->energy > step->unsent && step->unsent > 0);
    assert_string_equal(step->scheme, "gather");
    assert_string_equal(step->collective, step->step <= 3 ? "allgather" : "tree");
    assert_true(step->step == (uint32_t)c->seen);
    c->level++;
    c->seen++;
    if (step->step == 3) plan->collective = "tree";
}

static size_t save(const void *state, double *numbers)
{
    const climber *c = state;
    if (numbers) {
        numbers[0] = c->level;
        numbers[1] = c->seen;
    }
    return 2;
}

static void load(void *state, const double *numbers)
{
    *(climber *)state = (climber){.level = numbers[0], .seen = numbers[1]};
}

static const tithe_param params[] = {
    {.name = "from", .doc = "first level", .fallback = 2, .min = 1, .max = 100, .whole = true},
    {.name = NULL}};
static const tithe_tuner climbing = {.name = "climbing",
                                     .summary = "one entry more in every step",
                                     .params = params,
                                     .tunes = true,
                                     .scratch = scratch,
                                     .choose = choose,
                                     .open = open,
                                     .close = close,
                                     .after = after,
                                     .save = save,
                                     .load = load};

static group *climb_from_the_start(void)
{
    tithe_exchange_config config;
    group *g = group_start(&(wanted){.codec = "topk:k=1", .feedback = "ec", .ranks = RANKS, .n = N}, &config);
    tithe_codec_free(g->codec);
    config.codec = g->codec =
        codec_with("topk", (tithe_codec_options){.contractive = true, .open_level = true});
    config.tuner = &climbing;
    config.measure = true;
    expect(!tithe_exchange_create(&config, N, &g->ex, &g->error), "%s", g->error.text);
    return g;
}

static void climb(group *g, unsigned from, unsigned to)
{
    float x[N];
    for (unsigned k = from; k < to; k++) {
        dice d = {k + 1};
        for (unsigned r = 0; r < RANKS; r++) {
            for (size_t i = 0; i < N; i++) x[i] = (float)roll_gauss(&d);
            expect(!tithe_exchange_put(g->ex, r, 0, x, 0.1, &g->error), "%s", g->error.text);
        }
        expect(!tithe_exchange_finish(g->ex, g->update, &g->error), "%s", g->error.text);
        const tithe_exchange_record last = last_of(g->ex);
        assert_true(last.level == 2 + k);
        assert_string_equal(last.reason, "climbing");
        assert_string_equal(last.collective, k <= 3 ? "allgather" : "tree");
    }
}

static void a_tuner_sees_steps_and_decides(void **state)
{
    (void)state;
    group *g = climb_from_the_start();
    assert_int_equal(open_climbers, 1);
    climb(g, 0, STEPS);
    group_free(g);
    assert_int_equal(open_climbers, 0);
}

static void its_state_goes_into_a_checkpoint(void **state)
{
    (void)state;
    double numbers[2];
    float update[N];
    group *one = climb_from_the_start(), *other = climb_from_the_start();
    climb(one, 0, 3);
    assert_int_equal(tithe_exchange_learned(one->ex, numbers), 2);
    assert_true(numbers[0] == 5 && numbers[1] == 3);
    for (unsigned r = 0; r < RANKS; r++)
        memcpy(tithe_exchange_kept(other->ex, r), tithe_exchange_kept(one->ex, r), N * sizeof(float));
    tithe_exchange_relearn(other->ex, numbers);
    tithe_exchange_continue(other->ex, 3, NULL, NULL);
    climb(one, 3, STEPS);
    memcpy(update, one->update, sizeof update);
    climb(other, 3, STEPS);
    assert_memory_equal(update, other->update, sizeof update);
    group_free(one);
    group_free(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tuner_sees_steps_and_decides),
        cmocka_unit_test(its_state_goes_into_a_checkpoint),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
