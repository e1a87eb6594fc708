/* test_auto.c - the rule of `auto`, asked directly: dense where dense is fastest, less where the link is slow, more where nothing is gained while
 * something waits, and no less while that is not known to have changed; two settings that are about even, and a link that goes to and fro,
 * do not make it do so. */
#include <math.h>
#include <string.h>

#include "support.h"
#include "tithe/tuner.h"

enum { LEVELS = 16, COUNT = LEVELS + 1, N = 1 << 20 };

/* Dense, and top-k from 1/4 down, by factors of 2. */
typedef struct world {
    const tithe_tuner *tuner;
    void *state;
    tithe_setting settings[COUNT];
    double seconds[COUNT];
    tithe_view view;
    unsigned changes;
    bool settled;
    char reason[160];
} world;

static const double COMPUTE = 1e-3;

static void world_open(world *w)
{
    double params[TITHE_MAX_PARAMS];
    tithe_error error = {0};
    *w = (world){0};
    expect(!tithe_tuner_find("auto:low=1e-5,high=0.25", &w->tuner, params, &error), "%s", error.text);
    expect(!w->tuner->open(NULL, N, params, &w->state, &error), "%s", error.text);
    w->settings[0] = (tithe_setting){.keep = 1, .whole = true, .rounds = 2, .bytes = 8.0 * N};
    double keep = 0.25;
    for (unsigned i = 1; i < COUNT; i++, keep /= 2)
        w->settings[i] = (tithe_setting){.keep = keep, .waits = 1, .rounds = 2, .bytes = 6.0 * keep * N};
    w->view = (tithe_view){.n = N,
                           .ranks = 4,
                           .settings = w->settings,
                           .count = COUNT,
                           .seconds = w->seconds,
                           .gain = NAN,
                           .spread = NAN,
                           .spread_kept = NAN,
                           .descent = NAN,
                           .behind = NAN,
                           .behind_error = NAN};
}

static void link(world *w, double latency, double bandwidth)
{
    w->view.latency = latency;
    w->view.bandwidth = bandwidth;
    for (unsigned i = 0; i < COUNT; i++)
        w->seconds[i] = COMPUTE + w->settings[i].rounds * latency + w->settings[i].bytes / bandwidth;
}

/* What it takes, asked after `step` steps. */
static size_t ask(world *w, uint32_t step, bool fresh)
{
    tithe_order order = {.take = w->view.now};
    w->view.step = step;
    w->view.fresh = fresh;
    w->tuner->steer(w->state, &w->view, &order);
    assert_true(order.take < COUNT);
    if (order.take != w->view.now) {
        w->changes++;
        expect(order.reason[0] != 0, "a change in step %u without a reason", step);
    }
    w->view.now = order.take;
    w->settled = order.settled;
    return order.take;
}

static void see(world *w, double spread, double descent, double behind)
{
    w->view.spread = w->view.spread_kept = spread;
    w->view.descent = descent;
    w->view.behind = behind;
    w->view.behind_error = 0.01 * behind;
}

static size_t first_choice(double bandwidth)
{
    world w;
    world_open(&w);
    link(&w, 1e-4, bandwidth);
    const size_t take = ask(&w, 0, false);
    w.tuner->close(w.state);
    return take;
}

/* The first step knows the link, and a slower one never means that more is sent. */
static void slower_links_get_less(void **state)
{
    (void)state;
    size_t before = 0;
    assert_int_equal(first_choice(1e13), 0); /* dense, since nothing is gained */
    for (int i = 0; i < 34; i++) {
        const double bandwidth = ldexp(1e13, -i);
        const size_t take = first_choice(bandwidth);
        expect(take >= before, "%g bytes/s: %zu, but %zu on twice of it", bandwidth, take, before);
        before = take;
    }
    expect(before >= 8, "the slowest link gets %zu", before);
}

/* The loss does not fall while much is kept: more is sent, and soon. */
static void what_waits_too_long_is_sent(void **state)
{
    (void)state;
    world w;
    world_open(&w);
    link(&w, 1e-4, 1e6);
    const double first = w.settings[ask(&w, 0, false)].keep;
    for (uint32_t step = 10; step <= 40; step += 10) {
        see(&w, N / 10.0, -1e-9, 1);
        ask(&w, step, true);
    }
    const double now = w.settings[w.view.now].keep;
    expect(now >= 4 * first, "keep is %g, and was %g, where nothing is gained", now, first);
    expect(now <= 8 * first, "keep is %g, and was %g, but nobody knows how much it takes", now, first);
    w.tuner->close(w.state);
}

/* With momentum a descent below 0 says nothing of that: what is sent stays as it is. */
static void momentum_hides_what_waits(void **state)
{
    (void)state;
    world w;
    world_open(&w);
    link(&w, 1e-4, 1e6);
    w.view.momentum = true;
    see(&w, N / 10.0, NAN, NAN);
    ask(&w, 0, false);
    see(&w, N / 10.0, 1e-9, 1e-9);
    const double first = w.settings[ask(&w, 5, true)].keep;
    for (uint32_t step = 10; step <= 40; step += 10) {
        see(&w, N / 10.0, -1e-9, 1);
        ask(&w, step, true);
    }
    const double now = w.settings[w.view.now].keep;
    expect(now <= 2 * first && now >= first / 2, "keep is %g, and was %g", now,
           first); /* the way gets longer, and noise counts */
    w.tuner->close(w.state);
}

/* With momentum levels take equally many steps: a lower one, whose steps are faster, is taken, though more is late. */
static void momentum_makes_no_level_dearer(void **state)
{
    (void)state;
    double keep[2];
    for (int with = 0; with < 2; with++) {
        world w;
        world_open(&w);
        link(&w, 1e-4, 1e7);
        w.view.momentum = with;
        see(&w, N / 2.0, NAN, NAN);
        ask(&w, 0, false);
        for (uint32_t step = 10; step <= 40; step += 10) {
            see(&w, N / 2.0, -1e-9, 1e-9);
            ask(&w, step, true);
        }
        keep[with] = w.settings[w.view.now].keep;
        w.tuner->close(w.state);
    }
    expect(4 * keep[1] <= keep[0], "keep is %g with momentum, and %g without", keep[1], keep[0]);
}

/* Level after 200 steps under gradients that fall like step^-power. */
static double level_under(double power, double bandwidth)
{
    world w;
    world_open(&w);
    link(&w, 1e-4, bandwidth);
    ask(&w, 0, false);
    for (uint32_t step = 5; step <= 200; step += 5) {
        const double descent = pow(step, -2 * power), keep = w.settings[w.view.now].keep;
        see(&w, N / 10.0, descent, descent * 0.1 / (2 * keep));
        ask(&w, step, true);
    }
    w.tuner->close(w.state);
    return w.settings[w.view.now].keep;
}

/* Where gradients do not fall, nothing is gained by being late, and it costs more. */
static void lag_costs_more_where_nothing_falls(void **state)
{
    (void)state;
    unsigned more = 0;
    for (int i = 0; i < 10; i++) {
        const double bandwidth = ldexp(1e5, i);
        const double steady = level_under(0, bandwidth), falls = level_under(1, bandwidth);
        expect(steady >= falls, "keep %g where gradients stay, %g where they fall", steady, falls);
        more += steady > falls;
    }
    expect(more > 2, "the same level on all but %u links", more);
}

/* Level after 200 steps whose descents are noise, with nothing to be seen of what is late. */
static double level_in_noise(double bandwidth)
{
    world w;
    world_open(&w);
    link(&w, 1e-4, bandwidth);
    ask(&w, 0, false);
    for (uint32_t step = 5; step <= 200; step += 5) {
        see(&w, N / 10.0, step % 2 ? 1 : -1, -1e-3);
        ask(&w, step, true);
    }
    w.tuner->close(w.state);
    return w.settings[w.view.now].keep;
}

/* The share that is sent after 200 steps where nearly all of a step is latency, and the best that can be won is an eighth of it. */
static double level_for_an_eighth(bool noise)
{
    world w;
    world_open(&w);
    link(&w, 1e-2, 8.0 * N / 3e-3);
    ask(&w, 0, false);
    for (uint32_t step = 5; step <= 200; step += 5) {
        const double descent = 1.0 / step / step, keep = w.settings[w.view.now].keep;
        if (noise)
            see(&w, N / 10.0, step % 2 ? 1 : -1, -1e-3);
        else
            see(&w, N / 10.0, descent, descent * 0.1 / (2 * keep));
        ask(&w, step, true);
    }
    w.tuner->close(w.state);
    return w.settings[w.view.now].keep;
}

static void a_small_gain_is_none_in_noise(void **state)
{
    (void)state;
    const double noise = level_for_an_eighth(true), falls = level_for_an_eighth(false);
    expect(noise == 1 && falls < 1, "keep %g in noise, %g where gradients fall", noise, falls);
}

/* Where descents are noise, a lag that is long beside the way is not taken for what it is where gradients fall. */
static void noise_makes_careful(void **state)
{
    (void)state;
    unsigned more = 0;
    for (int i = 0; i < 10; i++) {
        const double bandwidth = ldexp(1e4, i);
        const double noise = level_in_noise(bandwidth), falls = level_under(1, bandwidth);
        expect(noise >= falls, "keep %g in noise, %g where gradients fall", noise, falls);
        more += noise > falls;
    }
    expect(more > 2, "the same level on all but %u links", more);
}

/* More was sent because nothing was gained. While nobody can be sure that anything is, it stays; once steps gain, less will do. */
static void what_was_learned_is_kept_in_noise(void **state)
{
    (void)state;
    world w;
    world_open(&w);
    link(&w, 1e-4, 1e6);
    uint32_t step = 0;
    ask(&w, step, false);
    for (step = 10; step <= 40; step += 10) {
        see(&w, N / 10.0, -1e-9, 1);
        ask(&w, step, true);
    }
    const double learned = w.settings[w.view.now].keep;
    for (; step <= 100; step += 5) {
        see(&w, N / 10.0, step % 2 ? 1 : -1, -1e-3);
        ask(&w, step, true);
        const double now = w.settings[w.view.now].keep;
        expect(now >= learned / 2, "keep falls from %g to %g in step %u", learned, now, step);
    }
    for (; step <= 200; step += 5) {
        see(&w, N / 10.0, 1, 1e-3);
        ask(&w, step, true);
    }
    expect(w.settings[w.view.now].keep < learned / 2, "keep stays %g where steps gain",
           w.settings[w.view.now].keep);
    w.tuner->close(w.state);
}

/* What is late is ahead of dense after half of the way, even if a step of lag costs a step. Here all ranks get what all of them send, so only
 * what is very late is faster at all. */
static void what_is_late_pays_soon(void **state)
{
    (void)state;
    unsigned late = 0;
    for (int i = 0; i < 100; i++) {
        world w;
        world_open(&w);
        for (unsigned k = 1; k < COUNT; k++) w.settings[k].bytes *= 64;
        link(&w, 1e-4, 1e7 * pow(1.12, i));
        const size_t take = ask(&w, 0, false);
        const double half = 20,
                     lag = take ? 0.1 / (2 * w.settings[take].keep) : 0; /* a tenth of all numbers */
        expect(w.seconds[take] * (half + lag) <= w.seconds[0] * half * (1 + 1e-9),
               "link %d: %g steps late, for %g seconds in place of %g", i, lag, w.seconds[take],
               w.seconds[0]);
        late += take > 0;
        w.tuner->close(w.state);
    }
    expect(late > 20 && late < 100, "late on %u of 100 links", late);
}

/* A link that moves around the point where two settings are even: few changes. One that moves far is followed. */
static void it_does_not_flap(void **state)
{
    (void)state;
    for (int i = 0; i < 100; i++) {
        const double bandwidth = 1e5 * pow(1.17, i);
        world w;
        world_open(&w);
        link(&w, 1e-4, bandwidth);
        ask(&w, 0, false);
        w.changes = 0;
        for (uint32_t step = 1; step <= 400; step++) {
            link(&w, 1e-4, step % 2 ? 1.3 * bandwidth : bandwidth / 1.3);
            ask(&w, step, false);
        }
        expect(w.changes <= 12, "%u changes in 400 steps around %g bytes/s", w.changes, bandwidth);
        w.tuner->close(w.state);
    }
    world w;
    world_open(&w);
    link(&w, 1e-4, 1e13);
    assert_int_equal(ask(&w, 0, false), 0);
    link(&w, 1e-4, 1e5);
    assert_true(ask(&w, 30, false) > 2);
    link(&w, 1e-4, 1e13);
    expect(ask(&w, 60, false) == 0, "a fast link again, and %zu is still in use", w.view.now);
    w.tuner->close(w.state);
}

/* Dense, two quantizers of all numbers, of which the second loses more, and a share of them, with these seconds of a step. */
static size_t among(double dense, double fine, double coarse, double share, bool *settled)
{
    world w;
    world_open(&w);
    w.settings[1] = (tithe_setting){.keep = 1, .lag = 0.06};
    w.settings[2] = (tithe_setting){.keep = 1, .lag = 1.3};
    w.settings[3] = (tithe_setting){.keep = 0.001, .waits = 1};
    const double seconds[] = {dense, fine, coarse, share};
    memcpy(w.seconds, seconds, sizeof seconds);
    w.view.count = sizeof seconds / sizeof *seconds;
    const size_t take = ask(&w, 0, false);
    *settled = w.settled;
    w.tuner->close(w.state);
    return take;
}

/* Of two quantizers the finer one is taken if they are even to one percent, and dense if it is even to three. */
static void what_is_even_is_least_late(void **state)
{
    (void)state;
    bool settled;
    assert_int_equal(among(2, 1, 0.995, 9, &settled), 1);
    assert_int_equal(among(2, 1, 0.97, 9, &settled), 2);
    assert_int_equal(among(1.02, 1, 9, 9, &settled), 0);
    assert_int_equal(among(1.05, 1, 9, 9, &settled), 1);
}

/* Nobody looks where no look could change anything. */
static void looks_are_for_something(void **state)
{
    (void)state;
    bool settled;
    assert_int_equal(among(2, 1, 9, 0.94, &settled), 1); /* a share must be faster by 8 % */
    assert_true(settled);
    assert_int_equal(among(2, 1, 9, 0.90, &settled), 1);
    assert_false(settled);
    assert_int_equal(among(9, 1, 0.9, 2, &settled), 2); /* more than a step late, and still settled */
    assert_true(settled);
    assert_int_equal(among(100, 90, 80, 1, &settled), 3);
    assert_false(settled);
}

/* A change that was a mistake is taken back for any gain, where another one has to gain something. */
static void mistakes_are_taken_back(void **state)
{
    (void)state;
    for (int misled = 0; misled < 2; misled++) {
        world w;
        world_open(&w);
        link(&w, 1e-4, 1e7);
        const size_t best = ask(&w, 0, false);
        for (unsigned i = 0; i < COUNT; i++) w.seconds[i] = i == best ? 1 : 2;
        w.view.now = best == 1 ? 2 : 1;
        w.settings[w.view.now].waits = w.settings[best].waits;
        w.settings[w.view.now].keep = w.settings[best].keep;
        w.seconds[w.view.now] = 1.02;
        w.view.misled = misled;
        const size_t take = ask(&w, 30, true);
        expect((take == best) == misled, "misled: %d, and setting %zu of %zu is taken", misled, take, best);
        w.tuner->close(w.state);
    }
}

/* What it knows as numbers makes another one decide alike. */
static void numbers_come_back(void **state)
{
    (void)state;
    world a, b;
    world_open(&a);
    world_open(&b);
    link(&a, 1e-4, 1e6);
    ask(&a, 0, false);
    for (uint32_t step = 5; step < 60; step += 5) {
        see(&a, N / 20.0, 1.0 / step, 0.3 / step);
        ask(&a, step, true);
    }
    double numbers[64];
    const size_t count = a.tuner->save(a.state, NULL);
    assert_true(count <= 64 && a.tuner->save(a.state, numbers) == count);
    double wild[64];
    for (size_t i = 0; i < count; i++) wild[i] = i % 3 ? 1e300 : i % 2 ? NAN : -1e300;
    b.tuner->load(b.state, wild); /* whatever a file says, it comes to an end */
    link(&b, 1e-4, 1e6);
    ask(&b, 7, false);
    b.tuner->load(b.state, numbers);
    b.view = a.view;
    b.view.settings = b.settings;
    b.view.seconds = b.seconds;
    for (uint32_t step = 60; step < 300; step += 5) {
        const double bandwidth = step % 100 < 50 ? 1e6 : 1e8;
        link(&a, 1e-4, bandwidth);
        link(&b, 1e-4, bandwidth);
        see(&a, N / 20.0, 1.0 / step, 1);
        see(&b, N / 20.0, 1.0 / step, 1);
        expect(ask(&a, step, true) == ask(&b, step, true), "another choice in step %u", step);
    }
    a.tuner->close(a.state);
    b.tuner->close(b.state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(slower_links_get_less),
                                       cmocka_unit_test(what_waits_too_long_is_sent),
                                       cmocka_unit_test(momentum_hides_what_waits),
                                       cmocka_unit_test(momentum_makes_no_level_dearer),
                                       cmocka_unit_test(lag_costs_more_where_nothing_falls),
                                       cmocka_unit_test(it_does_not_flap),
                                       cmocka_unit_test(mistakes_are_taken_back),
                                       cmocka_unit_test(noise_makes_careful),
                                       cmocka_unit_test(a_small_gain_is_none_in_noise),
                                       cmocka_unit_test(what_was_learned_is_kept_in_noise),
                                       cmocka_unit_test(what_is_late_pays_soon),
                                       cmocka_unit_test(what_is_even_is_least_late),
                                       cmocka_unit_test(looks_are_for_something),
                                       cmocka_unit_test(numbers_come_back)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
