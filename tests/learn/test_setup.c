/* test_setup.c - what a run finds out before its first step: the same numbers for any workers, split and transport, found by rank 0
 * while the others wait, for longer than any one wait may take. */
#include <unistd.h>

#include "queues.h"

#include "tithe/learn.h"

enum { RANKS = 3, CALLS = 12 };

typedef struct process {
    pthread_t thread;
    tithe_comm *comm;
    tithe_train_options options;
    tithe_train_result result;
    tithe_status status;
    tithe_error error;
    unsigned calls; /* of progress, while the set-up looks for something */
} process;

static tithe_train_options options_of(unsigned workers)
{
    tithe_train_options o = {.size = sizeof o};
    tithe_train_defaults(&o);
    o.data = "a9a-like:scale=0.01";
    o.workers = workers;
    o.steps = 2;
    o.threads = 1;
    o.cache = "";
    o.tuner = "fixed"; /* over a link it would be auto, whose steps are others */
    return o;
}

static void *train(void *argument)
{
    process *p = argument;
    p->status = tithe_train_run(&p->options, &p->result, &p->error);
    tithe_comm_free(p->comm);
    return NULL;
}

/* Rank 0 is slow: half a second for each of its first steps. */
static bool be_slow(void *context, const char *what, double done)
{
    (void)done;
    process *p = context;
    if (strstr(what, "smoothness") && p->calls++ < CALLS)
        nanosleep(&(struct timespec){.tv_nsec = 500000000}, NULL);
    return true;
}

/* Rank 0 is told to stop in the middle of it. */
static bool stop(void *context, const char *what, double done)
{
    (void)done;
    process *p = context;
    return !strstr(what, "smoothness") || p->calls++ < 3;
}

typedef bool show(void *context, const char *what, double done);

static void run_all(process *all, double timeout, bool exact, show *first, const char *checkpoint)
{
    network net;
    network_open(&net, RANKS);
    for (unsigned r = 0; r < RANKS; r++) {
        const tithe_place place = {
            .size = sizeof place, .ranks = RANKS, .first = r, .local = 1, .timeout = timeout};
        all[r] = (process){.options = options_of(RANKS)};
        assert_int_equal(tithe_comm_custom(&queues, &net, &place, &all[r].comm, NULL), TITHE_OK);
        all[r].options.comm = all[r].comm;
        all[r].options.exact = exact;
        all[r].options.context = &all[r];
        all[r].options.checkpoint = checkpoint;
        if (r == 0) all[r].options.progress = first;
    }
    for (unsigned r = 0; r < RANKS; r++)
        assert_int_equal(pthread_create(&all[r].thread, NULL, train, &all[r]), 0);
    for (unsigned r = 0; r < RANKS; r++) pthread_join(all[r].thread, NULL);
    network_close(&net);
    for (unsigned r = 0; r < RANKS; r++)
        expect(all[r].status == TITHE_OK, "rank %u: %s", r, all[r].error.text);
}

static void waiting_is_no_failure(void **state)
{
    (void)state;
    static process all[RANKS];
    run_all(all, 4, false, be_slow, NULL); /* CALLS / 2 = 6 seconds */
    assert_true(all[0].calls >= CALLS);
}

static bool same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

/* Of the whole data: neither workers nor split nor processes make a difference, to the last bit. */
static void numbers_are_those_of_the_data(void **state)
{
    (void)state;
    static process all[RANKS];
    static tithe_train_result one, other;
    tithe_error error = {0};
    tithe_train_options o = options_of(1);
    assert_int_equal(tithe_train_run(&o, &one, &error), TITHE_OK);
    assert_true(one.facts.constants.L > 0 && one.facts.l2 > 0 && isfinite(one.facts.optimum));
    static const tithe_split splits[] = {TITHE_SPLIT_SHUFFLED, TITHE_SPLIT_CONTIGUOUS, TITHE_SPLIT_SORTED};
    for (unsigned workers = 1; workers <= 7; workers += 2)
        for (unsigned s = 0; s < 3; s++) {
            o = options_of(workers);
            o.split = splits[s];
            o.threads = 1 + s;
            assert_int_equal(tithe_train_run(&o, &other, &error), TITHE_OK);
            assert_true(other.facts.constants.L == one.facts.constants.L);
            assert_true(other.facts.l2 == one.facts.l2);
            assert_true(other.facts.optimum == one.facts.optimum);
        }
    o = options_of(RANKS);
    assert_int_equal(tithe_train_run(&o, &other, &error), TITHE_OK);
    run_all(all, 60, true, NULL, NULL);
    for (unsigned r = 0; r < RANKS; r++) {
        const tithe_train_facts *here = &all[r].result.facts, *there = &other.facts;
        assert_true(same(here->constants.L, there->constants.L));
        assert_true(same(here->constants.L_US, there->constants.L_US));
        assert_true(same(here->constants.L_IS, there->constants.L_IS));
        assert_true(same(here->constants.sigma_star, there->constants.sigma_star));
        assert_true(same(here->constants.zeta_star, there->constants.zeta_star));
        assert_true(same(here->optimum, there->optimum) && same(here->l2, there->l2));
        assert_true(same(here->step_size, there->step_size));
        assert_string_equal(all[r].result.model_hash, other.model_hash);
        assert_true(all[r].result.last.setup_bytes > 0);
        assert_true(all[r].result.last.setup_bytes < 20000);
    }
}

/* Without a question nobody looks for an answer. */
static void what_is_not_needed_is_not_found(void **state)
{
    (void)state;
    static process all[RANKS];
    run_all(all, 60, false, NULL, NULL);
    for (unsigned r = 0; r < RANKS; r++) {
        assert_true(isnan(all[r].result.facts.optimum) && isnan(all[r].result.last.gap));
        assert_true(all[r].result.facts.constants.L > 0);
    }
    tithe_train_options o = options_of(2);
    static tithe_train_result result;
    tithe_error error = {0};
    o.no_optimum = true;
    o.l2 = 1e-3;
    o.step_size = "0.1";
    assert_int_equal(tithe_train_run(&o, &result, &error), TITHE_OK);
    assert_true(isnan(result.facts.constants.L) && isnan(result.facts.optimum));
    o.exact = true;
    assert_int_equal(tithe_train_run(&o, &result, &error), TITHE_E_ARGUMENT);
    assert_non_null(strstr(error.text, "`exact`"));
}

/* What was not found is not known; and nobody goes on from a checkpoint with half of it. */
static void what_was_not_found_is_not_kept(void **state)
{
    (void)state;
    static process all[RANKS], one;
    char folder[] = "/tmp/tithe-setup-XXXXXX", file[64];
    assert_non_null(mkdtemp(folder));
    snprintf(file, sizeof file, "%s/file", folder);
    run_all(all, 60, true, stop, file);
    one = (process){.options = options_of(2)};
    one.options.checkpoint = file;
    one.options.average = "weighted";
    one.options.progress = stop;
    one.options.context = &one;
    assert_int_equal(tithe_train_run(&one.options, &one.result, &one.error), TITHE_OK);
    for (unsigned r = 0; r <= RANKS; r++) {
        const tithe_train_result *result = r < RANKS ? &all[r].result : &one.result;
        assert_true(result->stopped && result->steps == 0 && isfinite(result->last.loss));
        assert_true(isnan(result->facts.constants.L) && isnan(result->facts.l2));
        assert_true(isnan(result->facts.step_size));
    }
    assert_int_equal(rmdir(folder), 0); /* it is empty */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waiting_is_no_failure), cmocka_unit_test(numbers_are_those_of_the_data),
        cmocka_unit_test(what_is_not_needed_is_not_found), cmocka_unit_test(what_was_not_found_is_not_kept)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
