/* test_control_live.c - a tuner that steers between processes: what is believed of a link, when ranks look at it, and what codecs take in steps. No
 * clock is asked: seconds are made up. */
#include "exchange/steered.h"

/* An exchange as between processes, whose steps are timed, and which sends few bytes over a link that was seen to carry 10^7 a second. */
static tithe_exchange *timed_exchange(tithe_comm *comm, size_t *few, size_t *many)
{
    tithe_exchange *ex = exchange_of(comm, "tuner=auto");
    exchange_control *c = ex->control;
    *few = *many = 0;
    for (size_t i = 0; i < c->settings.count; i++) {
        if (c->settings.all[i].bytes < c->settings.all[*few].bytes) *few = i;
        if (c->settings.all[i].bytes > c->settings.all[*many].bytes) *many = i;
    }
    c->live = true;
    c->now = *few;
    c->took = 0;
    c->link = (tithe_link){.latency = 1e-4, .bandwidth = 1e7};
    c->longest = (long_messages){.bytes = c->settings.all[*many].bytes, .bandwidth = 1e7};
    return ex;
}

/* What short messages say of longer ones is believed once the run is long beside what it may cost, and what that did cost is counted. */
static void short_messages_promise_little(void **state)
{
    (void)state;
    tithe_comm comm = ranks_here(RANKS);
    size_t few, many;
    tithe_exchange *ex = timed_exchange(&comm, &few, &many);
    exchange_control *c = ex->control;
    const tithe_setting *longer = &c->settings.all[many];
    const double seems = 1e9, risk = longer->bytes / 1e7;
    c->link.bandwidth = seems;
    assert_true(ti_control_bandwidth(c, longer, seems) == 1e7);
    assert_true(ti_control_bandwidth(c, &c->settings.all[few], seems) == seems);
    c->took = 1000 * risk;
    assert_true(ti_control_bandwidth(c, longer, seems) == seems);

    for (int wrong = 0; wrong < 2; wrong++) {
        c->now = few;
        c->link.bandwidth = seems;
        ti_control_claim(c, many);
        c->now = many;
        c->timed_all = 2;
        c->link.bandwidth = wrong ? 1e7 : 0.9 * seems;
        ti_control_heed(c);
        expect(c->view.misled == wrong, "a link of %g bytes/s that seemed to have %g: misled is %d",
               c->link.bandwidth, seems, c->view.misled);
        expect(c->longest.bandwidth == c->link.bandwidth, "%g are known", c->longest.bandwidth);
    }
    expect(c->longest.lost > 1.5 * risk && c->longest.lost < 2 * risk, "%g s were lost, of at most %g",
           c->longest.lost, 2 * risk);
    c->now = few;
    c->link.bandwidth = seems;
    for (unsigned i = 0; i < 200; i++, c->step += 20) ti_control_heed(c); /* in time all may have changed, */
    assert_true(!c->view.misled && c->longest.bandwidth == seems);
    c->longest.bandwidth = 1e7; /* but what was lost was lost */
    assert_true(ti_control_bandwidth(c, longer, seems) == seems);
    c->took = 300 * risk; /* of which one more would not be more than a hundredth */
    assert_true(ti_control_bandwidth(c, longer, seems) == 1e7);
    c->took = 100 * risk; /* and as long as it is more than that, nobody forgets */
    for (unsigned i = 0; i < 200; i++, c->step += 20) ti_control_heed(c);
    assert_true(c->longest.bandwidth == 1e7 && ti_control_bandwidth(c, longer, seems) == 1e7);
    tithe_exchange_free(ex);
}

/* Where nobody tells what the link is, ranks look every ten steps, every second one while they are in doubt, and fewer where that would take more
 * than 2 % of the time. */
static void looks_at_the_link_are_paid_for(void **state)
{
    (void)state;
    enum { LONG = 300 };
    static float update[N];
    static const double latencies[] = {1e-6, 1e-4, 1e-2};
    static const struct {
        double newest;
        unsigned apart;
    } doubts[] = {{NAN, 10}, {1e7, 10}, {1e9, 2}, {1e5, 2}};
    for (unsigned l = 0; l < 3; l++)
        for (unsigned d = 0; d < 4; d++) {
            tithe_comm comm = ranks_here(RANKS);
            size_t few, many;
            tithe_exchange *ex = timed_exchange(&comm, &few, &many);
            exchange_control *c = ex->control;
            const tithe_link link = {.latency = latencies[l], .bandwidth = 1e7};
            unsigned looks = 0, last = 0;
            double spent = 0, took = 0;
            c->link = link;
            ti_control_price(c);
            ti_control_plan_watch(ex);
            const double cost = ti_link_meet_seconds(&comm, &link);
            for (unsigned k = 0; k < LONG; k++) {
                const bool look = c->watch == k;
                c->next = UINT32_MAX;
                c->left = 0; /* nothing is timed */
                c->estimate = (tithe_link_estimate){.now = link, .newest = doubts[d].newest};
                const double now = c->seconds[c->now];
                took += now;
                step(ex, k, false, update, NULL);
                const double a_step = fmax(now, c->seconds[c->now]); /* one more or less */
                if (!look) {                                         /* it could not be paid for */
                    expect(!looks || k - last < doubts[d].apart || spent + cost > 0.02 * (took - a_step),
                           "no look in step %u, the last one was in %u", k, last);
                    continue;
                }
                spent += cost;
                expect(spent <= 0.02 * (took + a_step), "looks took %g s of %g", spent, took);
                expect(!looks || k - last >= doubts[d].apart, "looks in steps %u and %u", last, k);
                looks++;
                last = k;
            }
            assert_true(looks > 0);
            tithe_exchange_free(ex);
        }
}

/* Also where no check-in is due any more, since all is sent as it is. */
static void a_link_that_drops_is_seen(void **state)
{
    (void)state;
    static float update[N];
    tithe_comm comm = ranks_here(RANKS);
    tithe_exchange *ex = exchange_of(&comm, "tuner=auto");
    tithe_error error = {0};
    char why[sizeof ex->control->reason] = "";
    bool told = false;
    exchange_control *c = ex->control;
    c->compute = 1e-3;
    c->live = true;
    c->estimate.now = (tithe_link){.latency = 1e-6, .bandwidth = 1e11};
    c->longest = (long_messages){.bytes = 1e9, .bandwidth = 1e11};
    expect(!ti_control_link(ex, &c->estimate.now, 0, &error), "%s", error.text);
    expect(c->settled && c->next == UINT32_MAX && strstr(setting_of(ex), "dense"), "settled is %d, %s",
           c->settled, setting_of(ex));
    for (unsigned k = 0; k < 3 * 10; k++) {
        if (k == 10) c->estimate.now = (tithe_link){.latency = 1e-2, .bandwidth = 1e5};
        c->left = 0; /* nothing is timed */
        step(ex, k, false, update, NULL);
        expect(k > 9 || !c->changes, "another setting in step %u: %s", k, c->reason);
        if (c->changes && !told) snprintf(why, sizeof why, "%s", c->reason);
        told = c->changes > 0;
    }
    expect(c->changes && !strstr(setting_of(ex), "dense"), "%s on a slow link", setting_of(ex));
    expect(strncmp(why, "another link: ", 14) == 0, "the reason is '%s'", why);
    tithe_exchange_free(ex);
}

/* Check-ins come as often as on a link that stays as it is, or nearly: a decision about the link puts none off. */
static void a_restless_link_puts_off_no_check_in(void **state)
{
    (void)state;
    enum { LONG = 600 };
    static float update[N];
    tithe_comm comm = ranks_here(RANKS);
    unsigned met[2] = {0};
    for (unsigned restless = 0; restless < 2; restless++) {
        size_t few, many;
        tithe_exchange *ex = timed_exchange(&comm, &few, &many);
        exchange_control *c = ex->control;
        c->estimate.now = c->link;
        c->took = 1e3; /* looks and check-ins can be paid for */
        ti_control_plan_watch(ex);
        unsigned decisions = 0;
        for (unsigned k = 0; k < LONG; k++) {
            const bool look = c->watch == k;
            const double decided_on = c->decided_on;
            if (look && restless) c->estimate.now.bandwidth = c->estimate.now.bandwidth == 1e5 ? 1e7 : 1e5;
            c->left = 0; /* nothing is timed */
            step(ex, k, false, update, NULL);
            met[restless] += c->checked;
            decisions += !c->checked && c->decided_on != decided_on;
        }
        expect(!restless || decisions > 10, "%u decisions apart from check-ins", decisions);
        tithe_exchange_free(ex);
    }
    expect(met[0] > 4 && 2 * met[1] >= met[0], "%u check-ins, and %u on a restless link", met[0], met[1]);
}

/* Whoever could not learn from a check-in, since a rank had nothing to say, has another one. */
static void a_check_in_in_vain_is_not_the_last(void **state)
{
    (void)state;
    static float update[N];
    tithe_comm comm = ranks_here(RANKS);
    tithe_exchange *ex = exchange_of(&comm, "tuner=auto");
    exchange_control *c = ex->control;
    tithe_error error = {0};
    unsigned met = 0, vain = 0;
    tell(ex, 1e-3, 1e6);
    c->took = 1e3; /* so much that check-ins can be paid for */
    for (size_t i = 0; i < c->settings.count; i++) c->so_far[i] = 1e3;
    for (unsigned k = 0; k < 200; k++) {
        float *x = gradients_make(RANKS, N, k);
        const bool skips = c->next == k && !vain;
        for (unsigned r = 0; r < RANKS; r++)
            expect(!(skips && r == 1 ? tithe_exchange_skip(ex, r, GAMMA, &error)
                                     : tithe_exchange_put(ex, r, 0, x + (size_t)r * N, GAMMA, &error)),
                   "%s", error.text);
        expect(!tithe_exchange_finish(ex, update, &error), "%s", error.text);
        vain += skips;
        met += c->checked && !skips;
        free(x);
    }
    expect(vain == 1 && met > 3, "%u check-ins after one in vain", met);
    tithe_exchange_free(ex);
}

/* Who tells what the link is, even late, is believed: nobody looks any more. */
static void a_link_that_is_told_is_not_watched(void **state)
{
    (void)state;
    static float update[N];
    tithe_comm comm = ranks_here(RANKS);
    size_t few, many;
    tithe_exchange *ex = timed_exchange(&comm, &few, &many);
    exchange_control *c = ex->control;
    const tithe_link link = c->link;
    ti_control_price(c);
    c->decided_on = c->seconds[c->now];
    c->took = 1e3; /* a look can be paid for */
    ti_control_plan_watch(ex);
    assert_true(c->watch < 30);
    c->estimate.now = (tithe_link){.latency = 1e-6, .bandwidth = 1e11};
    for (unsigned k = 0; k < 30; k++) {
        c->next = UINT32_MAX;                               /* no check-in, which looks, too */
        if (k == 3) tell(ex, link.latency, link.bandwidth); /* nothing that asks for a decision */
        step(ex, k, false, update, NULL);
        expect(c->link.bandwidth == link.bandwidth, "step %u: a link of %g bytes/s", k, c->link.bandwidth);
    }
    tithe_exchange_free(ex);
}

/* After a setting that relies on what was never tried the next look comes two steps later; who goes on from a checkpoint looks after its first
 * step; and after a jump it is as far ahead as it was. */
static void looks_come_when_they_are_due(void **state)
{
    (void)state;
    static float update[N];
    tithe_comm comm = ranks_here(RANKS);
    size_t few, many;
    tithe_error error = {0};
    tithe_exchange *ex = timed_exchange(&comm, &few, &many), *again = timed_exchange(&comm, &few, &many);
    exchange_control *c = ex->control;
    c->took = 1e3;
    c->longest.claim = 1;
    ti_control_plan_watch(ex);
    assert_int_equal(c->watch, STEPS_TRIED - 1);
    for (unsigned k = 0; k < 4; k++) step(ex, k, false, update, NULL);
    const uint32_t ahead = c->watch - ex->step;
    tithe_exchange_continue(ex, 100, NULL, NULL);
    assert_int_equal(c->watch, 100 + ahead);
    double *numbers = calloc(ti_control_save(ex, NULL), sizeof *numbers);
    assert_non_null(numbers);
    ti_control_save(ex, numbers);
    expect(!ti_control_load(again, numbers, 100, &error), "%s", error.text);
    tithe_exchange_continue(again, 100, NULL, NULL);
    assert_int_equal(again->control->watch, 100);
    assert_true(again->control->watched == c->watched);
    free(numbers);
    tithe_exchange_free(ex);
    tithe_exchange_free(again);
}

/* A codec that takes longer in steps than it did alone does so with every setting. Seconds are those that are counted, in steps of nearly none: so
 * many times what was timed, within limits; and not under a leader, who alone selects. */
static void codecs_are_as_slow_as_in_steps(void **state)
{
    (void)state;
    enum { LOOKS = 12 };
    static float update[N];
    static const double timed = 10, factors[] = {3, 0.75, 1e-3, 1e3},
                        expected[] = {3, 0.75, SLOW_MIN, SLOW_MAX};
    static const char *const schemes[] = {"gather", "artopk"};
    for (unsigned s = 0; s < 2; s++)
        for (unsigned i = 0; i < sizeof factors / sizeof *factors; i++) {
            char options[80];
            snprintf(options, sizeof options, "tuner=auto;codec=topk;scheme=%s", schemes[s]);
            tithe_comm comm = ranks_here(RANKS);
            tithe_exchange *ex = exchange_of(&comm, options);
            exchange_control *c = ex->control;
            tell(ex, 1e-6, 1); /* dense takes hours */
            expect(strstr(setting_of(ex), schemes[s]), "%s", setting_of(ex));
            c->live = true;
            for (unsigned k = 0; k < LOOKS; k++) {
                for (size_t p = 0; p < c->settings.count; p++) c->settings.all[p].codec = timed;
                c->next = c->step;
                ex->totals.encode += 0.75 * factors[i] * timed;
                ex->totals.decode += 0.25 * factors[i] * timed;
                step(ex, k, false, update, NULL);
                expect(c->compute >= 0 && isfinite(c->compute), "compute is %g", c->compute);
            }
            const double right = s == 0 ? expected[i] : 1;
            expect(fabs(c->slow - right) < 0.01 * right, "%s, %g times: %g in place of %g", options,
                   factors[i], c->slow, right);
            tithe_exchange_free(ex);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(short_messages_promise_little),
                                       cmocka_unit_test(looks_at_the_link_are_paid_for),
                                       cmocka_unit_test(a_link_that_drops_is_seen),
                                       cmocka_unit_test(a_restless_link_puts_off_no_check_in),
                                       cmocka_unit_test(a_check_in_in_vain_is_not_the_last),
                                       cmocka_unit_test(a_link_that_is_told_is_not_watched),
                                       cmocka_unit_test(looks_come_when_they_are_due),
                                       cmocka_unit_test(codecs_are_as_slow_as_in_steps)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
