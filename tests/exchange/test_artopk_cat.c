/* test_artopk_cat.c - a tuner under AR-Top-k: the level is the one that a scan finds for the leader's own vector and message; who
 * leads by variance has the most energy for its cost; and layers under one message go as they would in messages of their own. */
#include "exchange/group.h"

enum { RANKS = 4, N = 400 };

static tithe_exchange *open_exchange(tithe_comm *comm, const char *options, const size_t *layers,
                                     size_t count)
{
    tithe_exchange *ex = NULL;
    tithe_error error = {0};
    const size_t one = N;
    const tithe_status status =
        tithe_exchange_open_layers(comm, options, layers ? layers : &one, layers ? count : 1, &ex, &error);
    expect(status == TITHE_OK, "%s: %s", options, error.text);
    return ex;
}

static void step(tithe_exchange *ex, const float *x, double gamma, float *update)
{
    tithe_error error = {0};
    for (unsigned r = 0; r < RANKS; r++)
        expect(tithe_exchange_put(ex, r, 0, x + r * N, gamma, &error) == TITHE_OK, "%s", error.text);
    expect(tithe_exchange_finish(ex, update, &error) == TITHE_OK, "%s", error.text);
}

/* ---- the level of the leader ---------------------------------------------------------------------------------- */

typedef struct message_cost {
    const char *spec;
    bool paper, gathers; /* the papers count the energy that ranks gather */
} message_cost;

/* What the leader pays for T entries: its indices, a frame without values, and its values, a frame without indices. */
static double pays(const message_cost *m, const tithe_cost *cost, size_t t)
{
    tithe_codec *top = codec_with("topk|raw", (tithe_codec_options){.open_level = true}),
                *given = codec_of("given|raw");
    const double bytes = (double)(tithe_codec_length(top, N, t, TITHE_EXCHANGE) - 4 * t +
                                  tithe_codec_length(given, N, t, TITHE_EXCHANGE));
    tithe_codec_free(top);
    tithe_codec_free(given);
    return tithe_cost_of(cost, m->paper ? 32.0 * (2 * (double)t + m->gathers) : 8 * bytes);
}

static int falling(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/* The level with the most energy for its cost, the smallest among equals; and how much that is. */
static size_t best_level(const float *v, const double *prices, double *value)
{
    double squares[N], kept = 0;
    size_t best = 0;
    *value = -1;
    for (size_t i = 0; i < N; i++) squares[i] = (double)v[i] * (double)v[i];
    qsort(squares, N, sizeof *squares, falling);
    for (size_t t = 1; t <= N; t++) {
        kept += squares[t - 1];
        if (kept / prices[t] > *value * (1 + 1e-12)) {
            *value = kept / prices[t];
            best = t;
        }
    }
    return best;
}

static void check_levels(const message_cost *m, const char *leader)
{
    char options[200];
    snprintf(options, sizeof options, "codec=topk;scheme=artopk;leader=%s;count=%s;cost=%s", leader,
             m->paper ? "paper" : "frame", m->spec);
    tithe_comm comm = ranks_here(RANKS);
    tithe_exchange *ex = open_exchange(&comm, options, NULL, 0);
    tithe_cost *cost = NULL;
    assert_int_equal(tithe_cost_create(m->spec, &cost, NULL), TITHE_OK);
    static float e[RANKS][N], update[N];
    static double given[N], applied[N], prices[N + 1];
    memset(e, 0, sizeof e);
    memset(given, 0, sizeof given);
    memset(applied, 0, sizeof applied);
    for (size_t t = 1; t <= N; t++) prices[t] = pays(m, cost, t);
    for (unsigned k = 0; k < 20; k++) {
        float *x = gradients_make(RANKS, N, k);
        size_t levels[RANKS];
        double values[RANKS];
        unsigned most = 0;
        for (unsigned r = 0; r < RANKS; r++) {
            for (size_t i = 0; i < N; i++) {
                const float added = 0.25f * x[r * N + i];
                e[r][i] += added;
                given[i] += (double)added;
            }
            levels[r] = best_level(e[r], prices, &values[r]);
            if (values[r] > values[most]) most = r;
        }
        step(ex, x, 0.25, update);
        const tithe_exchange_record last = last_of(ex);
        const unsigned who = (unsigned)last.leader;
        if (strcmp(last.reason, "variance") == 0)
            expect(values[who] >= values[most] * (1 - 1e-12),
                   "%s: rank %u leads, but rank %u has more for its cost", options, who, most);
        expect(last.level_least == (double)levels[who] && last.level_most == (double)levels[who],
               "%s, step %u: level %g to %g, and the scan has %zu", options, k, last.level_least,
               last.level_most, levels[who]);
        for (unsigned r = 0; r < RANKS; r++) memcpy(e[r], tithe_exchange_residual(ex, r), sizeof e[r]);
        for (size_t i = 0; i < N; i++) { /* nothing is lost */
            double kept = 0;
            applied[i] += RANKS * (double)update[i];
            for (unsigned r = 0; r < RANKS; r++) kept += (double)e[r][i];
            expect(fabs(applied[i] + kept - given[i]) <= 1e-4, "%s: %g applied, %g kept, %g given", options,
                   applied[i], kept, given[i]);
        }
        free(x);
    }
    tithe_cost_free(cost);
    tithe_exchange_free(ex);
}

static void the_level_is_that_of_the_leader(void **state)
{
    (void)state;
    static const char *const leaders[] = {"round-robin", "variance"},
                             *const costs[] = {"bits", "affine:c0=432,c1=1", "802.15.4", "802.15.4-127",
                                               "alphabeta:latency=1ms,bandwidth=10Mbit"};
    for (size_t i = 0; i < 2 * 5 * 2; i++)
        check_levels(&(message_cost){costs[i / 2 % 5], i >= 10, i % 2 == 1}, leaders[i % 2]);
}

/* An index frame and a frame of values have a header more than a plain message, and nothing else. */
static void it_is_plain_cat_with_that_overhead(void **state)
{
    (void)state;
    tithe_codec *codec =
        codec_with("topk|raw", (tithe_codec_options){.contractive = true, .open_level = true});
    const message_cost m = {"bits", false, false};
    tithe_cost *bits = NULL, *more = NULL;
    assert_int_equal(tithe_cost_create("bits", &bits, NULL), TITHE_OK);
    const double extra = pays(&m, bits, 5) - 8 * (double)tithe_codec_length(codec, N, 5, TITHE_EXCHANGE);
    char spec[60];
    snprintf(spec, sizeof spec, "affine:c0=%.17g,c1=1", extra);
    assert_int_equal(tithe_cost_create(spec, &more, NULL), TITHE_OK);
    tithe_comm comm = ranks_here(RANKS);
    tithe_exchange *ex = open_exchange(&comm, "codec=topk;scheme=artopk;cost=bits", NULL, 0);
    const tithe_tuner *cat = tuner_of("cat");
    const size_t room = cat->scratch(codec, N);
    void *scratch = malloc(room);
    static float update[N], v[N];
    size_t checked = 0;
    for (unsigned k = 0; k < 12; k++) {
        float *x = gradients_make(RANKS, N, k);
        const unsigned who = k % RANKS;
        for (size_t i = 0; i < N; i++) v[i] = tithe_exchange_residual(ex, who)[i] + 0.5f * x[who * N + i];
        const tithe_tuner_call call = {.codec = codec,
                                       .cost = more,
                                       .form = TITHE_EXCHANGE,
                                       .x = v,
                                       .n = N,
                                       .gamma = 1,
                                       .scratch = scratch,
                                       .scratch_size = room};
        tithe_choice plain;
        assert_int_equal(cat->choose(&call, &plain, NULL), TITHE_OK);
        step(ex, x, 0.5, update);
        if (plain.level < 128) { /* from there on the given frame says its count with a byte more */
            expect(last_of(ex).level == plain.level, "step %u: level %g, plain CAT has %g", k,
                   last_of(ex).level, plain.level);
            checked++;
        }
        free(x);
    }
    assert_true(checked >= 6);
    free(scratch);
    tithe_cost_free(bits);
    tithe_cost_free(more);
    tithe_codec_free(codec);
    tithe_exchange_free(ex);
}

/* ---- layers ---------------------------------------------------------------------------------------------------- */

/* One message with a level for each layer, and a message for each layer: the same entries, step after step. */
static void layers_go_as_in_messages_of_their_own(void **state)
{
    (void)state;
    static const size_t layers[] = {200, 1, 150, 49};
    static const char *const costs[] = {"bits", "802.15.4", "802.15.4-127"};
    for (size_t i = 0; i < 3; i++) {
        char one[120], several[120];
        snprintf(one, sizeof one, "codec=topk:per=layer;cost=%s", costs[i]);
        snprintf(several, sizeof several, "codec=topk;bucket=layer;cost=%s", costs[i]);
        tithe_comm here = ranks_here(RANKS), there = ranks_here(RANKS);
        tithe_exchange *a = open_exchange(&here, one, layers, 4),
                       *b = open_exchange(&there, several, layers, 4);
        static float first[N], second[N];
        for (unsigned k = 0; k < 10; k++) {
            float *x = gradients_make(RANKS, N, k);
            step(a, x, 0.25, first);
            step(b, x, 0.25, second);
            expect(same_floats(first, second, N), "%s, step %u: another update", one, k);
            for (unsigned r = 0; r < RANKS; r++)
                assert_true(same_floats(tithe_exchange_residual(a, r), tithe_exchange_residual(b, r), N));
            free(x);
        }
        assert_true(totals_of(a).uplink_bytes < totals_of(b).uplink_bytes); /* one header, not four */
        tithe_exchange_free(a);
        tithe_exchange_free(b);
    }
}

/* A vector without layers is one. */
static void one_layer_is_the_whole(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {"codec=topk:per=layer,keep=0.05", "codec=topk:keep=0.05"},
        {"codec=topk:per=layer", "codec=topk"},
        {"codec=topk:per=layer;scheme=artopk", "codec=topk;scheme=artopk"}};
    for (size_t i = 0; i < 3; i++) {
        tithe_comm here = ranks_here(RANKS), there = ranks_here(RANKS);
        tithe_exchange *a = open_exchange(&here, pairs[i][0], NULL, 0),
                       *b = open_exchange(&there, pairs[i][1], NULL, 0);
        static float first[N], second[N];
        for (unsigned k = 0; k < 6; k++) {
            float *x = gradients_make(RANKS, N, k);
            step(a, x, 0.25, first);
            step(b, x, 0.25, second);
            expect(same_floats(first, second, N), "%s, step %u: another update", pairs[i][0], k);
            free(x);
        }
        tithe_exchange_free(a);
        tithe_exchange_free(b);
    }
}

static void what_does_not_go_together_is_refused(void **state)
{
    (void)state;
    static const char *const rows[][2] = {{"codec=topk;scheme=artopk;level=shared", "level"},
                                          {"codec=topk|sign;scheme=artopk", "natural"},
                                          {"codec=topk:per=layer|sign", "bucket=layer"},
                                          {"codec=topk:per=layer;level=shared", "level=local"},
                                          {"codec=topk:per=layer;scheme=shards", "per=layer"}};
    for (size_t i = 0; i < 5; i++) {
        tithe_comm comm = ranks_here(RANKS);
        tithe_exchange *ex = NULL;
        tithe_error error = {0};
        assert_int_equal(tithe_exchange_open(&comm, rows[i][0], N, &ex, &error), TITHE_E_SPEC);
        expect(strstr(error.text, rows[i][1]) != NULL, "%s: %s", rows[i][0], error.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_level_is_that_of_the_leader),
        cmocka_unit_test(it_is_plain_cat_with_that_overhead),
        cmocka_unit_test(layers_go_as_in_messages_of_their_own),
        cmocka_unit_test(one_layer_is_the_whole),
        cmocka_unit_test(what_does_not_go_together_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
