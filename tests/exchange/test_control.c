/* test_control.c - a tuner that steers, in an exchange: ranks that live apart choose the same, a step that is refused confuses nobody, and
 * what the controller knows goes through a checkpoint. */
#include "exchange/steered.h"

/* A fast link, a slow one, a fast one: what leaves is all that there was. */
static void link_at(tithe_exchange *ex, unsigned k)
{
    if (k == 0 || k == 2 * STEPS / 3) tell(ex, 1e-5, 1e9);
    if (k == STEPS / 3) tell(ex, 1e-2, 1e5);
}

/* Every other step is refused; all that was taken and all that is kept is all that was to be sent, whatever the setting. */
static void check_nothing_lost(unsigned ranks)
{
    static float update[N];
    static double due[N], applied[N];
    memset(due, 0, sizeof due);
    memset(applied, 0, sizeof applied);
    tithe_comm comm = ranks_here(ranks);
    tithe_exchange *ex = exchange_of(&comm, "tuner=auto;on-nonfinite=skip");
    unsigned dense = 0, others = 0;
    for (unsigned k = 0; k < STEPS; k++) {
        link_at(ex, k);
        if (k % 2) step(ex, 1000 + k, true, update, NULL);
        step(ex, k, false, update, due);
        *(strstr(setting_of(ex), "dense") ? &dense : &others) += 1;
        const float *of_sums = tithe_exchange_server_residual(ex);
        for (size_t i = 0; i < N; i++) {
            double kept = of_sums ? (double)of_sums[i] : 0;
            applied[i] += ranks * (double)update[i];
            for (unsigned r = 0; r < ranks; r++) kept += (double)tithe_exchange_residual(ex, r)[i];
            expect(fabs(applied[i] + kept - due[i]) < 1e-3, "step %u, %s: %g and %g of %g", k, setting_of(ex),
                   applied[i], kept, due[i]);
        }
    }
    expect(dense && others, "%u steps dense, %u others", dense, others);
    tithe_exchange_free(ex);
}

static void nothing_is_lost(void **state)
{
    (void)state;
    check_nothing_lost(2);
    check_nothing_lost(3);
    check_nothing_lost(4);
    check_nothing_lost(7);
}

/* A NaN gets into nothing that is remembered, and the first step that is taken is the first step. */
static void refused_steps_are_no_steps(void **state)
{
    (void)state;
    static float update[N], other[N];
    tithe_comm comm = ranks_here(RANKS);
    tithe_exchange *ex = exchange_of(&comm, "tuner=auto;codec=topk;on-nonfinite=skip;scheme=gather"),
                   *plain = exchange_of(&comm, "tuner=auto;codec=topk;scheme=gather");
    for (unsigned k = 0; k < STEPS; k++) {
        link_at(ex, k);
        link_at(plain, k);
        if (k == 0) assert_string_equal(setting_of(ex), setting_of(plain));
        if (k == 0 || k == 7) step(ex, 2000 + k, true, update, NULL);
        step(ex, k, false, update, NULL);
        step(plain, k, false, other, NULL);
        if (k == 0) { /* from the first check-in on the number of the step counts, too */
            expect(same_floats(update, other, N), "another update in step %u", k);
        }
        for (size_t i = 0; i < N; i++) expect(isfinite(update[i]), "step %u: %g", k, (double)update[i]);
    }
    tithe_exchange_free(ex);
    tithe_exchange_free(plain);
}

/* For a host whose optimizer nobody knows: with low=1 and high=1 every number goes in every step, as coarsely as the link asks for. */
static void nothing_waits_at_level_one(void **state)
{
    (void)state;
    tithe_comm comm = ranks_here(RANKS);
    tithe_exchange *ex = exchange_of(&comm, "tuner=auto:low=1,high=1"),
                   *all = exchange_of(&comm, "tuner=auto");
    const setting_list *list = &ex->control->settings;
    unsigned coarse = 0;
    for (size_t i = 0; i < list->count; i++) {
        const tithe_setting *s = &list->all[i];
        expect(s->keep == 1 && s->waits == 0, "%s", s->options);
        coarse += strstr(s->options, "dither") != NULL;
    }
    expect(coarse && list->count < all->control->settings.count, "%u coarse ones of %zu", coarse,
           list->count);
    static const char *const nothing[] = {"tuner=auto:low=1,high=1;scheme=artopk",
                                          "tuner=auto:low=1,high=1;codec=topk"};
    for (unsigned i = 0; i < 2; i++) {
        tithe_exchange *none = NULL;
        assert_int_equal(tithe_exchange_open(&comm, nothing[i], N, &none, NULL), TITHE_E_SPEC);
    }
    tell(ex, 1e-5, 1e3);
    expect(strstr(setting_of(ex), "dither:p=inf,bucket=512"), "4 bits over a slow link, not %s",
           setting_of(ex));
    tithe_exchange_free(ex);
    tithe_exchange_free(all);
}

static void no_signs_under_momentum(void **state)
{
    (void)state;
    tithe_comm comm = ranks_here(RANKS);
    tithe_exchange *ex[] = {exchange_of(&comm, "tuner=auto"), exchange_of(&comm, "tuner=auto;momentum=0.9")};
    unsigned signs[2] = {0, 0}, sparse[2] = {0, 0};
    for (unsigned e = 0; e < 2; e++) {
        const setting_list *list = &ex[e]->control->settings;
        for (size_t i = 0; i < list->count; i++) {
            signs[e] += strstr(list->all[i].options, "sign") != NULL;
            sparse[e] += list->all[i].keep < 1;
        }
        tithe_exchange_free(ex[e]);
    }
    expect(signs[0] && !signs[1] && sparse[1], "%u and %u settings with signs, %u sparse", signs[0], signs[1],
           sparse[1]);
}

/* The lowest level of a tuner that takes any. */
static double lowest_of(tithe_comm *comm, const char *options)
{
    tithe_exchange *ex = exchange_of(comm, options);
    const setting_list *list = &ex->control->settings;
    double lowest = 1;
    for (size_t i = 0; i < list->count; i++) lowest = fmin(lowest, list->all[i].keep);
    tithe_exchange_free(ex);
    return lowest;
}

/* One percent, unless somebody asks for less; and what is the lowest is among them. */
static void momentum_has_a_lowest_level(void **state)
{
    (void)state;
    tithe_comm comm = ranks_here(RANKS);
    const double any = lowest_of(&comm, "tuner=auto"), least = lowest_of(&comm, "tuner=auto;momentum=0.9"),
                 asked = lowest_of(&comm, "tuner=auto:low=1e-5;momentum=0.9"),
                 below = lowest_of(&comm, "tuner=auto:high=0.004;momentum=0.9");
    expect(any < 0.005 && fabs(least - 0.01) < 1e-9, "from %g, and with momentum from %g", any, least);
    expect(asked == any, "from %g in place of %g, which was asked for", asked, any);
    expect(below < 0.005, "from %g, where 0.004 is the highest", below);
}

/* The least that a leader may send grows with the number of ranks; without one there is no such limit. */
static void leaders_send_enough(void **state)
{
    (void)state;
    for (unsigned ranks = 4; ranks <= 64; ranks *= 4) {
        tithe_comm comm = ranks_here(ranks);
        tithe_exchange *ex = exchange_of(&comm, "tuner=auto;codec=topk");
        const setting_list *list = &ex->control->settings;
        double led = INFINITY, other = INFINITY;
        for (size_t i = 0; i < list->count; i++) {
            const double entries = list->all[i].keep * N;
            double *least = strstr(list->all[i].options, "artopk") ? &led : &other;
            if (entries < *least) *least = entries;
        }
        expect(led >= ranks / 2 && led < 3 * (ranks / 2) + 1 && other < 2,
               "%u ranks: at least %g under a leader, %g without", ranks, led, other);
        tithe_exchange_free(ex);
    }
}

/* Numbers that no run writes are refused; those of a run bring back its setting. */
static void numbers_come_back(void **state)
{
    (void)state;
    static float update[N];
    tithe_comm comm = ranks_here(RANKS);
    tithe_error error = {0};
    tithe_exchange *ex = exchange_of(&comm, "tuner=auto"), *again = exchange_of(&comm, "tuner=auto");
    for (unsigned k = 0; k < 20; k++) {
        link_at(ex, k);
        step(ex, k, false, update, NULL);
    }
    const size_t count = ti_control_save(ex, NULL);
    double *numbers = calloc(count, sizeof *numbers), *back = calloc(count, sizeof *back);
    assert_int_equal(ti_control_save(ex, numbers), count);
    assert_int_equal(ti_control_save(again, NULL), count);
    expect(!ti_control_load(again, numbers, 20, &error), "%s", error.text);
    assert_string_equal(setting_of(again), setting_of(ex));
    ti_control_save(again, back);
    expect(memcmp(numbers, back, count * sizeof *back) == 0, "other numbers come back");
    const double wrong[] = {-1, 0.5, 1e10, NAN, INFINITY};
    static const size_t places[] = {0, 1, 10, 18}; /* setting, settings, flags, steps that gains are of */
    for (size_t p = 0; p < sizeof places / sizeof *places; p++)
        for (size_t w = 0; w < sizeof wrong / sizeof *wrong; w++) {
            const size_t place = places[p];
            const double was = numbers[place];
            numbers[place] = wrong[w];
            expect(ti_control_load(again, numbers, 20, &error) == TITHE_E_CORRUPT, "%g at %zu is taken",
                   wrong[w], place);
            numbers[place] = was;
        }
    const double slow = numbers[21];
    assert_true(slow == 1); /* nothing was timed */
    assert_true(numbers[22] > 0);
    numbers[22] = NAN; /* seconds of a step */
    assert_int_equal(ti_control_load(again, numbers, 20, &error), TITHE_E_CORRUPT);
    numbers[22] = 1;
    for (unsigned i = 0; i < 2; i++) {
        numbers[21] = i ? nextafter(SLOW_MAX, INFINITY) : nextafter(SLOW_MIN, 0);
        expect(ti_control_load(again, numbers, 20, &error) == TITHE_E_CORRUPT, "%g is taken", numbers[21]);
    }
    free(numbers);
    free(back);
    tithe_exchange_free(ex);
    tithe_exchange_free(again);
}

/* Who goes on after steps that others made has the check-ins of one who begins: with their numbers alone, it would wait for a step
 * that is long past. */
static void a_later_start_checks_in_like_an_early_one(void **state)
{
    (void)state;
    enum { LATER = 100 };
    static float update[N];
    tithe_comm comm = ranks_here(RANKS);
    tithe_exchange *early = exchange_of(&comm, "tuner=auto"), *later = exchange_of(&comm, "tuner=auto");
    tithe_exchange_continue(later, LATER, NULL, NULL);
    unsigned together = 0;
    for (unsigned k = 0; k < 4; k++) {
        step(early, k, false, update, NULL);
        step(later, k, false, update, NULL);
        expect(early->control->checked == later->control->checked, "step %u: one of them checks in", k);
        together += early->control->checked;
    }
    assert_true(together > 0);
    tithe_exchange_free(early);
    tithe_exchange_free(later);
}

static double dense_seconds(const exchange_control *c)
{
    double least = INFINITY;
    for (size_t i = 0; i < c->settings.count; i++)
        if (c->settings.all[i].whole) least = fmin(least, c->seconds[i]);
    return least;
}

static bool promises_much(const tithe_exchange *ex)
{
    const exchange_control *c = ex->control;
    double least = INFINITY;
    for (size_t i = 0; i < c->settings.count; i++) least = fmin(least, c->seconds[i]);
    return 4 * (c->seconds[c->now] - least) > ti_control_cost(ex);
}

/* Where all numbers are sent at first, and four steps of the fastest setting would pay for a look, it comes after two steps, otherwise later. */
static void a_look_that_promises_much_comes_soon(void **state)
{
    (void)state;
    unsigned soon = 0, late = 0;
    for (unsigned ranks = 2; ranks <= 64; ranks *= 2)
        for (int i = 0; i < 24; i++) {
            tithe_comm comm = ranks_here(ranks);
            tithe_exchange *ex = exchange_of(&comm, "tuner=auto");
            const exchange_control *c = ex->control;
            const double latency = 1e-3, bandwidth = 1e5 * pow(1.5, i);
            tell(ex, latency, bandwidth);
            if (!c->settled && !(c->settings.all[c->now].waits > 0)) {
                const bool promises = promises_much(ex);
                expect(promises == (c->next == 1), "%u ranks, %g bytes/s: a look in step %u", ranks,
                       bandwidth, (unsigned)c->next);
                *(promises ? &soon : &late) += 1;
            }
            tithe_exchange_free(ex);
        }
    expect(soon && late, "%u soon, %u late", soon, late);
}

/* Check-ins take 3 % of the time, and 2 % of what dense steps would take: all but the first, which looks at what waits as soon as there is
 * something to be seen. */
static void check_ins_are_paid_for(void **state)
{
    (void)state;
    enum { MANY = 8, LONG = 150 };
    static float update[N];
    unsigned more = 0;
    tithe_comm comm = ranks_here(MANY);
    for (int i = 0; i < 4; i++) {
        const double bandwidth = ldexp(16e6, 2 * i);
        const tithe_link link = {.latency = 1e-4, .bandwidth = bandwidth};
        tithe_exchange *ex = exchange_of(&comm, "tuner=auto");
        tithe_error error = {0};
        expect(!tithe_exchange_tell_link(ex, &link, 5e-5, &error), "%s", error.text);
        double spent = 0, took = 0, dense = 0;
        unsigned met = 0;
        for (unsigned k = 0; k < LONG; k++) {
            const exchange_control *c = ex->control;
            const bool waits = c->settings.all[c->now].waits > 0 || promises_much(ex);
            const double own = c->seconds[c->now], other = dense_seconds(c);
            took += own;
            dense += other;
            step(ex, k, false, update, NULL);
            if (!c->checked) continue;
            spent += ti_control_seconds(ex, &link);
            if (met++ == 0 && waits) continue;
            expect(spent <= 0.03 * (took + own) && spent <= 0.02 * (dense + other), /* to a step */
                   "step %u at %g bytes/s: check-ins took %g s of %g, and dense steps %g", k, bandwidth,
                   spent, took, dense);
        }
        more += met > 2;
        tithe_exchange_free(ex);
    }
    expect(more > 2, "more than two check-ins on %u links", more);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_is_lost),
                                       cmocka_unit_test(refused_steps_are_no_steps),
                                       cmocka_unit_test(nothing_waits_at_level_one),
                                       cmocka_unit_test(no_signs_under_momentum),
                                       cmocka_unit_test(momentum_has_a_lowest_level),
                                       cmocka_unit_test(leaders_send_enough),
                                       cmocka_unit_test(numbers_come_back),
                                       cmocka_unit_test(a_later_start_checks_in_like_an_early_one),
                                       cmocka_unit_test(a_look_that_promises_much_comes_soon),
                                       cmocka_unit_test(check_ins_are_paid_for)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
