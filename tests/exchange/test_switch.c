/* test_switch.c - another scheme between two steps: from then on the exchange is the one that it would have been with that
 * scheme from the start and the same kept vectors, and what was counted goes on. */
#include "exchange/group.h"

enum { RANKS = 4, N = 600, EACH = 3 };

typedef struct phase {
    const char *scheme, *collective, *expected; /* the collective that it gets */
} phase;

static const phase phases[] = {{"gather", NULL, "allgather"},
                               {"artopk:leader=variance", "tree", "tree"},
                               {"star", NULL, "star"},
                               {"artopk", NULL, "ring"},
                               {"gather", "ring", "ring"}};
enum { PHASES = sizeof phases / sizeof *phases };

static group *group_of(const phase *p, size_t bucket_bytes, const tithe_tuner *tuner)
{
    tithe_exchange_config config;
    group *g = group_start(&(wanted){.codec = "topk:keep=0.05",
                                     .feedback = "ec",
                                     .scheme = p->scheme,
                                     .collective = p->collective,
                                     .ranks = RANKS,
                                     .n = N,
                                     .measure = true},
                           &config);
    config.bucket_bytes = bucket_bytes;
    config.overlap = true;
    config.tuner = tuner;
    expect(!tithe_exchange_create(&config, N, &g->ex, &g->error), "%s", g->error.text);
    return g;
}

static void step(group *g, unsigned k)
{
    float *x = gradients_make(RANKS, N, k);
    group_put_all(g, x, 0.25);
    group_finish(g);
    free(x);
}

static void expect_same(const group *a, const group *b, const phase *p)
{
    static const tithe_link link = {.latency = 1e-3, .bandwidth = 1e6};
    const tithe_exchange_record last = last_of(a->ex), other = last_of(b->ex);
    expect(same_floats(a->update, b->update, N), "%s: another update", p->scheme);
    for (unsigned r = 0; r < RANKS; r++)
        expect(same_floats(tithe_exchange_residual(a->ex, r), tithe_exchange_residual(b->ex, r), N),
               "%s: rank %u keeps else", p->scheme, r);
    assert_true(tithe_exchange_seconds(a->ex, &link) == tithe_exchange_seconds(b->ex, &link));
    assert_string_equal(last.scheme, other.scheme);
    assert_string_equal(last.collective, p->expected);
    assert_string_equal(last.collective, other.collective);
    assert_true(last.step == other.step && last.leader == other.leader && last.unsent == other.unsent);
}

static void check_phases(size_t bucket_bytes)
{
    static const tithe_link link = {.latency = 1e-3, .bandwidth = 1e6};
    group *g = group_of(&phases[0], bucket_bytes, NULL);
    double sent = 0;
    for (unsigned i = 0, k = 0; i < PHASES; i++) {
        const phase *p = &phases[i];
        const double before = k ? tithe_exchange_seconds(g->ex, &link) : 0;
        char name[40]; /* nobody keeps the caller's text */
        snprintf(name, sizeof name, "%s", p->scheme);
        expect(!tithe_exchange_switch_scheme(g->ex, name, p->collective, &g->error), "%s", g->error.text);
        memset(name, '-', sizeof name);
        if (k) assert_true(tithe_exchange_seconds(g->ex, &link) == before); /* of the step that was */
        group *anew = group_of(p, bucket_bytes, NULL);
        for (unsigned r = 0; r < RANKS; r++)
            memcpy(tithe_exchange_residual(anew->ex, r), tithe_exchange_residual(g->ex, r),
                   N * sizeof(float));
        tithe_exchange_continue(anew->ex, k, NULL, NULL);
        for (unsigned end = k + EACH; k < end; k++) {
            step(g, k);
            step(anew, k);
            expect_same(g, anew, p);
        }
        sent += totals_of(anew->ex).sent_bytes;
        group_free(anew);
    }
    assert_true(totals_of(g->ex).sent_bytes == sent);
    group_free(g);
}

static void schemes_change_between_steps(void **state)
{
    (void)state;
    check_phases(0);
    check_phases(800);
}

static void what_does_not_fit_changes_nothing(void **state)
{
    (void)state;
    group *g = group_of(&phases[0], 0, NULL), *same = group_of(&phases[0], 0, NULL);
    static const struct {
        const char *scheme, *collective, *word;
    } wrong[] = {{"dense", NULL, "dense"}, {"web", NULL, "gather"}, {"artopk", "allgather", "ring|tree"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        expect(tithe_exchange_switch_scheme(g->ex, wrong[i].scheme, wrong[i].collective, &g->error) ==
                   TITHE_E_SPEC,
               "%s is taken", wrong[i].scheme);
        expect(strstr(g->error.text, wrong[i].word) != NULL, "%s", g->error.text);
    }
    float *x = gradients_make(RANKS, N, 0);
    group_put_all(g, x, 0.25);
    assert_int_equal(tithe_exchange_switch_scheme(g->ex, "star", NULL, &g->error), TITHE_E_ARGUMENT);
    group_finish(g);
    group_put_all(same, x, 0.25);
    group_finish(same);
    expect_same(g, same, &phases[0]);
    free(x);

    g->comm.server = RANKS; /* a process of its own, which would not hear of it */
    assert_int_equal(tithe_exchange_switch_scheme(g->ex, "star", NULL, &g->error), TITHE_E_SPEC);
    assert_non_null(strstr(g->error.text, "server"));
    assert_int_equal(tithe_exchange_switch_scheme(g->ex, "artopk", NULL, &g->error), TITHE_OK);
    group_free(g);
    group_free(same);
}

/* Owners keep of the sums, too, and what they kept goes on with their ranks: N times what was applied and all that is kept
 * is the sum of all gamma g, whatever schemes there were. */
static void nothing_is_lost_by_a_change(void **state)
{
    (void)state;
    static const phase way[] = {{"gather", NULL, NULL}, {"shards", "ring", NULL}, {"artopk", NULL, NULL},
                                {"shards", NULL, NULL}, {"star", NULL, NULL},     {"gather", NULL, NULL}};
    static double due[N], applied[N];
    group *g = group_of(&way[0], 0, NULL);
    memset(due, 0, sizeof due);
    memset(applied, 0, sizeof applied);
    for (unsigned k = 0; k < 3 * sizeof way / sizeof *way; k++) {
        const phase *p = &way[k / 3];
        if (k % 3 == 0)
            expect(!tithe_exchange_switch_scheme(g->ex, p->scheme, p->collective, &g->error), "%s",
                   g->error.text);
        float *x = gradients_make(RANKS, N, k);
        group_put_all(g, x, 0.25);
        group_finish(g);
        const float *of_sums = tithe_exchange_server_residual(g->ex);
        for (size_t i = 0; i < N; i++) {
            double kept = of_sums ? (double)of_sums[i] : 0;
            applied[i] += RANKS * (double)g->update[i];
            for (unsigned r = 0; r < RANKS; r++) {
                due[i] += 0.25 * (double)x[r * N + i];
                kept += (double)tithe_exchange_residual(g->ex, r)[i];
            }
            expect(fabs(applied[i] + kept - due[i]) < 1e-4, "%s, step %u: %g and %g of %g at %zu", p->scheme,
                   k, applied[i], kept, due[i], i);
        }
        free(x);
    }
    group_free(g);
}

/* ---- by a tuner ------------------------------------------------------------------------------------------ */

static unsigned open_states;

static tithe_status open(const tithe_codec *codec, size_t n, const double *params, void **state,
                         tithe_error *error)
{
    (void)codec, (void)n, (void)params, (void)error;
    *state = calloc(1, sizeof(unsigned));
    open_states++;
    return *state ? TITHE_OK : TITHE_E_MEMORY;
}

static void close(void *state)
{
    free(state);
    open_states--;
}

/* One phase after the other; its state has to survive the change. */
static void after(void *state, const tithe_tuner_step *seen, tithe_tuner_plan *plan)
{
    unsigned *steps = state;
    const unsigned next = ++*steps / EACH;
    assert_int_equal(*steps, seen->step + 1);
    if (*steps % EACH || next >= PHASES) return;
    plan->scheme = phases[next].scheme;
    plan->collective = phases[next].collective;
}

static void a_tuner_changes_the_scheme(void **state)
{
    (void)state;
    tithe_tuner wandering = *tuner_of("fixed");
    wandering.open = open;
    wandering.close = close;
    wandering.after = after;
    group *told = group_of(&phases[0], 800, NULL), *g = group_of(&phases[0], 800, &wandering);
    for (unsigned k = 0; k < PHASES * EACH; k++) {
        const phase *p = &phases[k / EACH];
        if (k && k % EACH == 0)
            expect(!tithe_exchange_switch_scheme(told->ex, p->scheme, p->collective, &told->error), "%s",
                   told->error.text);
        step(told, k);
        step(g, k);
        expect_same(g, told, p);
        assert_int_equal(open_states, tithe_exchange_buckets(g->ex));
    }
    group_free(g);
    group_free(told);
    assert_int_equal(open_states, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(schemes_change_between_steps), cmocka_unit_test(what_does_not_fit_changes_nothing),
        cmocka_unit_test(nothing_is_lost_by_a_change), cmocka_unit_test(a_tuner_changes_the_scheme)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
