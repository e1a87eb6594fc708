/* test_restart.c - the automatic step where ranks keep what they did not send, under a leader's indices and without: on data where 1/L
 * diverges it goes back to the lowest loss with half the step, as often as it takes; everywhere else it is 1/L, to the bit.
 * docs/theory.md says why. */
#include "learn/runs.h"

#include <unistd.h>

#include "exchange/control.h"
#include "learn/run.h"

/* Every worker has another model in mind, and one entry of 60 goes in a step. */
#define APART "gen:dense:rows=210,features=60,heterogeneity=5"
#define ALIKE "gen:sparse:rows=150,features=40,density=0.2,noise=0.5"

static trial *led(const char *data, const char *codec, unsigned workers, uint64_t steps)
{
    trial *t = trial_of(data);
    t->o.scheme = "artopk";
    t->o.codec = codec;
    t->o.workers = workers;
    t->o.split = TITHE_SPLIT_SORTED;
    t->o.steps = steps;
    t->o.no_optimum = true;
    return t;
}

/* 1/L, as text: what `auto` is, without its care. */
static const char *one_over_L(const trial *t)
{
    static char text[40];
    snprintf(text, sizeof text, "%.17g", t->facts.step_size);
    return text;
}

/* One that every rank selects from by itself. */
static trial *apart(const char *scheme, const char *feedback, unsigned workers, uint64_t steps)
{
    /* Each owner of a part answers with one entry at least: here one owns all of it. */
    const char *data = strcmp(scheme, "shards") == 0 ? "gen:dense:rows=300,features=60,heterogeneity=5"
                                                     : "gen:dense:rows=300,features=200,heterogeneity=5";
    trial *t = led(data, "topk:k=1", workers, steps);
    t->o.scheme = scheme;
    t->o.feedback = feedback;
    return t;
}

/* ---- it does not diverge ------------------------------------------------------------------------------------- */

static void a_leader_at_one_over_L_diverges(void **state)
{
    (void)state;
    trial *t = led(APART, "topk:k=1", 7, 80);
    trial_run(t);
    t->o.step_size = one_over_L(t);
    assert_int_equal(trial_try(t), TITHE_E_DIVERGED);
    assert_int_equal(t->result.restarts, 0);
    free(t);
}

static void the_automatic_step_does_not(void **state)
{
    (void)state;
    static const char *const sets[] = {APART, "gen:dense:rows=200,features=100", ALIKE},
                             *const rules[] = {"round-robin", "variance", "auto"},
                             *const codecs[] = {"topk:k=1", "topk:keep=0.1", "topk:k=1|natural"};
    static const unsigned workers[] = {2, 4, 7, 20};
    unsigned restarted = 0;
    for (size_t i = 0; i < 3 * 3 * 3 * 4 * 2; i++) {
        trial *t = led(sets[i % 3], codecs[i / 3 % 3], workers[i / 9 % 4], 120);
        t->o.leader = rules[i / 36 % 3];
        if (i / 108) t->o.split = TITHE_SPLIT_SHUFFLED;
        trial_run(t);
        const double first = t->records[0].loss, last = t->result.last.loss;
        expect(last < 0.95 * first, "%s, %s, %u workers, %s: from %g to %g", t->o.data, t->o.codec,
               t->o.workers, t->o.leader, first, last);
        restarted += t->result.restarts > 0;
        free(t);
    }
    print_message("%u of 216 runs went back at least once\n", restarted);
    assert_in_range(restarted, 20, 200);
}

/* ---- what it does instead -------------------------------------------------------------------------------------- */

/* No record is above the lowest one by more than a fourth of the gain, or a hundredth of the first loss; each restart halves. */
static void no_ground_is_lost(void **state)
{
    (void)state;
    trial *t = led(APART, "topk:k=1", 7, 200);
    trial_run(t);
    double lowest = INFINITY, gamma = t->facts.step_size;
    unsigned halved = 0;
    for (size_t i = 0; i < t->count; i++) {
        const double first = t->records[0].loss, loss = t->records[i].loss;
        lowest = fmin(lowest, loss);
        expect(loss <= lowest + fmax((first - lowest) / 4, first / 100), "step %zu: %g, and %g before", i,
               loss, lowest);
        if (t->records[i].step_size == gamma) continue;
        halved++;
        gamma /= 2;
        expect(t->records[i].step_size == gamma, "step %zu: %g, not %g", i, t->records[i].step_size, gamma);
    }
    assert_int_equal(halved, t->result.restarts);
    assert_in_range(halved, 2, 10);
    /* each of them took gradients once more */
    assert_true(t->result.last.epochs == 200 + halved);
    free(t);
}

static void a_run_that_loses_no_ground_has_one_over_L(void **state)
{
    (void)state;
    trial *t = led(ALIKE, "topk:keep=0.1", 4, 100);
    trial_run(t);
    char hash[17];
    assert_int_equal(t->result.restarts, 0);
    snprintf(hash, sizeof hash, "%s", t->result.model_hash);
    t->o.step_size = one_over_L(t);
    trial_run(t);
    assert_string_equal(hash, t->result.model_hash);
    free(t);
}

/* Gradients that bring no loss are left alone, and so is who keeps nothing, or has a server that does, which may be elsewhere. */
static void others_are_left_alone(void **state)
{
    (void)state;
    trial *t = led(APART, "topk:k=1", 7, 60);
    t->o.estimator = "sgd";
    t->o.steps = 2000;
    trial_run(t);
    assert_int_equal(t->result.restarts, 0);
    assert_true(t->result.last.loss < t->records[0].loss);
    free(t);
    t = apart("gather", "ec", 1, 60);
    t->o.feedback = "none";
    trial_try(t);
    assert_int_equal(t->result.restarts, 0);
    t->o.feedback = "ec";
    t->o.scheme = "star";
    t->o.downlink = "topk:k=1";
    t->o.downlink_feedback = "ec";
    trial_try(t);
    assert_int_equal(t->result.restarts, 0);
    free(t);
}

/* ---- without a leader ------------------------------------------------------------------------------------------ */

static const char *const schemes_of_all[] = {"gather", "shards", "star"};

static void without_a_leader_one_over_L_diverges_and_the_automatic_step_does_not(void **state)
{
    (void)state;
    static const unsigned workers[] = {1, 4, 20};
    for (size_t i = 0; i < 3 * 3; i++) {
        const char *scheme = schemes_of_all[i % 3];
        trial *t = apart(scheme, "ec", workers[i / 3], 150);
        trial_run(t);
        const double first = t->records[0].loss;
        double gamma = t->facts.step_size, lowest = first;
        unsigned halved = 0;
        for (size_t k = 0; k < t->count; k++) {
            const tithe_trace_record *record = &t->records[k];
            lowest = fmin(lowest, record->loss);
            expect(record->loss <= 1.05 * first, "%s, step %zu: %g from %g", scheme, k, record->loss, first);
            if (record->step_size == gamma) continue;
            gamma /= 2;
            halved++;
            expect(record->step_size == gamma && record->loss == lowest,
                   "%s, step %zu: step size %g, loss %g, lowest %g", scheme, k, record->step_size,
                   record->loss, lowest);
        }
        expect(halved > 0 && halved < 10 && halved == t->result.restarts, "%s, %u workers: %u of %u", scheme,
               t->o.workers, halved, t->result.restarts);
        t->o.step_size = one_over_L(t);
        expect(trial_try(t) == TITHE_E_DIVERGED && !t->result.restarts, "%s, %u workers at 1/L: %g", scheme,
               t->o.workers, t->result.last.loss);
        free(t);
    }
}

/* What ef21 keeps is an estimate, which the next messages correct: it stays. */
static void an_estimate_stays(void **state)
{
    (void)state;
    trial *t = apart("gather", "ef21", 1, 300);
    trial_run(t);
    assert_in_range(t->result.restarts, 1, 10);
    t->o.step_size = one_over_L(t);
    assert_int_equal(trial_try(t), TITHE_E_DIVERGED);
    free(t);
}

/* ---- what looks back ------------------------------------------------------------------------------------------- */

enum { RANKS = 3, N = 200 };

static void put(tithe_exchange *ex, unsigned k)
{
    tithe_error error = {0};
    float g[N];
    for (unsigned r = 0; r < RANKS; r++) {
        for (unsigned i = 0; i < N; i++) g[i] = (float)((i * 7 + r * 5 + k) % 31 + 1) / (float)(i + 1);
        expect(!tithe_exchange_put(ex, r, 0, g, 0.1, &error), "%s", error.text);
    }
}

/* A step, a jump and the start of a second one: does a rank look back in it? */
static bool looks_back(const char *options, bool goes_back)
{
    tithe_comm comm = ranks_here(RANKS);
    tithe_error error = {0};
    tithe_exchange *ex = NULL;
    float update[N];
    double x[N] = {0}, lowest[N] = {0};
    expect(!tithe_exchange_open(&comm, options, N, &ex, &error), "%s: %s", options, error.text);
    const tithe_link slow = {.latency = 1e-3,
                             .bandwidth = 1e4}; /* on a fast one there is nothing to choose */
    expect(!tithe_exchange_tell_link(ex, &slow, 1e-3, &error), "%s", error.text);
    put(ex, 0);
    expect(!tithe_exchange_finish(ex, update, &error), "%s", error.text);
    tithe_data share = {.local = RANKS};
    run r = {.exchange = ex, .comm = &comm, .share = &share, .size = N, .x = x, .restart.x = lowest};
    if (goes_back) ti_restart(&r);
    put(ex, 1);
    unsigned found = ex->control && ex->control->ranks[0].gained != 0;
    for (unsigned p = 0; p < ti_exchange_parts(ex); p++)
        found += ti_exchange_part(ex, p)->workers[0].late.before > 0;
    tithe_exchange_free(ex);
    return found;
}

/* Over a jump there is nothing to see: the update is not what the gradients are apart by. */
static void nobody_looks_back_over_a_jump(void **state)
{
    (void)state;
    static const char *const all[] = {"tuner=auto", "codec=topk;feedback=ec;tuner=cat:late=on;scheme=gather",
                                      "codec=topk;feedback=ec;tuner=cat:late=on;scheme=gather;bucket=400B"};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        expect(looks_back(all[i], false), "%s: it never looks back", all[i]);
        expect(!looks_back(all[i], true), "%s: it looks back", all[i]);
    }
}

/* ---- in parts ------------------------------------------------------------------------------------------------ */

static void a_run_in_two_parts_goes_back_as_the_whole_one(void **state)
{
    (void)state;
    enum { STEPS = 70, WAYS = 3 };
    static const char *const schemes[WAYS] = {"artopk", "gather", "shards"};
    char file[] = "/tmp/tithe-test-restart-XXXXXX";
    const int made = mkstemp(file);
    assert_true(made >= 0);
    close(made);
    for (int i = 0; i < 2 * WAYS; i++) {
        trial *whole = led(APART, "topk:k=1", 3, STEPS);
        whole->o.momentum = i < WAYS ? 0 : 0.3;
        whole->o.scheme = schemes[i % WAYS];
        trial_run(whole);
        assert_in_range(whole->result.restarts, 1, 10);
        for (uint64_t at = 1; at < STEPS; at += at < 40 ? 1 : 7) {
            trial *first = led(APART, "topk:k=1", 3, at), *second = led(APART, "topk:k=1", 3, STEPS);
            first->o.momentum = second->o.momentum = whole->o.momentum;
            first->o.scheme = second->o.scheme = whole->o.scheme;
            first->o.checkpoint = second->o.resume = file;
            trial_try(first); /* a short one may end above its start */
            trial_run(second);
            expect(strcmp(whole->result.model_hash, second->result.model_hash) == 0 &&
                       whole->result.restarts == second->result.restarts &&
                       whole->result.last.epochs == second->result.last.epochs,
                   "cut at %d: %u restarts in %g epochs, not %u in %g", (int)at, second->result.restarts,
                   second->result.last.epochs, whole->result.restarts, whole->result.last.epochs);
            free(first);
            free(second);
        }
        free(whole);
    }
    unlink(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_leader_at_one_over_L_diverges),
        cmocka_unit_test(the_automatic_step_does_not),
        cmocka_unit_test(no_ground_is_lost),
        cmocka_unit_test(a_run_that_loses_no_ground_has_one_over_L),
        cmocka_unit_test(others_are_left_alone),
        cmocka_unit_test(without_a_leader_one_over_L_diverges_and_the_automatic_step_does_not),
        cmocka_unit_test(an_estimate_stays),
        cmocka_unit_test(nobody_looks_back_over_a_jump),
        cmocka_unit_test(a_run_in_two_parts_goes_back_as_the_whole_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
