/* test_order.c - who puts when, on which lane and how many threads, makes no difference; ranks that skip a step; and
 * mistakes, which are told in a sentence and do no harm. */
#include <pthread.h>

#include "exchange/group.h"
#include "watch.h"

enum { RANKS = 6, N = 3001, STEPS = 4 };

typedef struct method {
    const char *codec, *feedback, *downlink, *downlink_feedback, *scheme;
} method;
static const method methods[] = {
    {"all|raw", NULL, NULL, NULL, NULL},
    {"natural", NULL, NULL, NULL, "gather"},
    {"topk:k=40", "ec", NULL, NULL, NULL},
    {"threshold:lambda=2", "ec", NULL, NULL, NULL},
    {"randk:k=200|natural", "ec", NULL, NULL, NULL},
    {"topk:k=40|sign", "ef21", NULL, NULL, NULL},
    {"natural", NULL, "natural", NULL, NULL},
    {"topk:k=40", "ec", "topk:k=90", "ec", NULL},
    {"natural", NULL, NULL, NULL, "shards"},
    {"natural", "ec", NULL, NULL, "shards"},
    {"topk:k=40", "ec", NULL, NULL, "shards"},
    {"all|dither:s=7,bucket=128", "ec", "threshold:lambda=2", NULL, "shards"},
    {"topk:k=40|sign", "ef21", NULL, NULL, "shards"},
};
enum { METHODS = sizeof methods / sizeof *methods };

static wanted wanted_of(const method *m)
{
    return (wanted){.codec = m->codec,
                    .feedback = m->feedback,
                    .downlink = m->downlink,
                    .downlink_feedback = m->downlink_feedback,
                    .scheme = m->scheme,
                    .ranks = RANKS,
                    .n = N};
}

/* ---- order, lanes, threads -------------------------------------------------------------------------------- */

typedef struct putter {
    pthread_t thread;
    group *g;
    const float *x;
    unsigned lane, lanes;
    tithe_status status;
} putter;

/* Backwards, and every lane its own ranks. */
static void *put_some(void *argument)
{
    putter *p = argument;
    for (unsigned r = RANKS; r-- > 0;)
        if (r % p->lanes == p->lane && !p->status)
            p->status = tithe_exchange_put(p->g->ex, r, p->lane, p->x + r * N, 0.3, NULL);
    return NULL;
}

static void order_and_threads_make_no_difference(void **state)
{
    (void)state;
    tithe_pool *pool = NULL;
    assert_int_equal(tithe_pool_create(2, &pool, NULL), TITHE_OK);
    for (unsigned m = 0; m < METHODS; m++)
        for (unsigned lanes = 1; lanes <= 3; lanes++) {
            wanted w = wanted_of(&methods[m]);
            group *plain = group_make(&w);
            w.lanes = lanes;
            w.pool = pool;
            w.measure = lanes == 2;
            group *other = group_make(&w);
            for (unsigned k = 0; k < STEPS; k++) {
                float *x = gradients_make(RANKS, N, k);
                group_put_all(plain, x, 0.3);
                group_finish(plain);
                putter putters[3];
                for (unsigned l = 0; l < lanes; l++) {
                    putters[l] = (putter){.g = other, .x = x, .lane = l, .lanes = lanes};
                    assert_int_equal(pthread_create(&putters[l].thread, NULL, put_some, &putters[l]), 0);
                }
                for (unsigned l = 0; l < lanes; l++) {
                    pthread_join(putters[l].thread, NULL);
                    assert_int_equal(putters[l].status, TITHE_OK);
                }
                group_finish(other);
                expect(same_floats(plain->update, other->update, N), "%s on %u lanes: step %u differs",
                       methods[m].codec, lanes, k);
                for (unsigned r = 0; r < RANKS && plain->feedback->keeps; r++)
                    assert_true(same_floats(tithe_exchange_residual(plain->ex, r),
                                            tithe_exchange_residual(other->ex, r), N));
                free(x);
            }
            assert_true(totals_of(plain->ex).uplink_bytes == totals_of(other->ex).uplink_bytes);
            group_free(plain);
            group_free(other);
        }
    tithe_pool_free(pool);
}

static void one_rank_may_step_in_place(void **state)
{
    (void)state;
    for (unsigned m = 0; m < METHODS; m++) {
        wanted w = wanted_of(&methods[m]);
        w.ranks = 1;
        group *a = group_make(&w), *b = group_make(&w);
        for (unsigned k = 0; k < STEPS; k++) {
            float *x = gradients_make(1, N, k);
            group_put_all(a, x, 0.3);
            group_finish(a);
            expect(tithe_exchange_step(b->ex, x, 0.3, &b->error) == TITHE_OK, "%s", b->error.text);
            assert_true(same_floats(a->update, x, N));
            free(x);
        }
        group_free(a);
        group_free(b);
    }
}

/* ---- ranks that skip --------------------------------------------------------------------------------------- */

/* Messages of parts are another matter (test_shards.c). */
static bool is_cut(const method *m)
{
    return m->scheme && strcmp(m->scheme, "shards") == 0;
}

/* A step that ranks 0 and 3 skip is the step of the others, and leaves what the two keep alone. */
static void check_skip(const method *m)
{
    wanted w = wanted_of(m);
    group *g = group_make(&w);
    float *x = gradients_make(RANKS, N, 0);
    group_put_all(g, x, 0.3);
    group_finish(g);
    const double before = totals_of(g->ex).uplink_bytes;
    float *kept[RANKS] = {0};
    for (unsigned r = 0; r < RANKS && g->feedback->keeps; r++) {
        kept[r] = malloc(N * sizeof(float));
        memcpy(kept[r], tithe_exchange_residual(g->ex, r), N * sizeof(float));
    }
    static double sum[N];
    memset(sum, 0, sizeof sum);
    double bytes = 0;
    for (unsigned r = 0; r < RANKS; r++) {
        static float to_send[N], v[N];
        const float *own = x + r * N;
        if (r == 0 || r == 3) {
            assert_int_equal(tithe_exchange_skip(g->ex, r, 0.25, &g->error), TITHE_OK);
            continue;
        }
        for (size_t i = 0; i < N; i++)
            to_send[i] = !kept[r]              ? own[i]
                         : g->feedback->scaled ? kept[r][i] + 0.25f * own[i]
                                               : own[i] - kept[r][i];
        const bool absolute = strncmp(m->codec, "threshold", 9) == 0;
        bytes += (double)message(g->codec, 1, r, absolute ? 0.5 : 0, to_send, N, v).bytes;
        for (size_t i = 0; i < N; i++) sum[i] += (double)v[i];
        assert_int_equal(tithe_exchange_put(g->ex, r, 0, own, 0.25, &g->error), TITHE_OK);
    }
    group_finish(g);
    for (size_t i = 0; i < N; i++) {
        double u = (g->feedback->scaled ? 1 : 0.25) * sum[i] / (RANKS - 2);
        if (g->feedback->aggregates) { /* the mean of what all keep, old and new */
            u = 0;
            for (unsigned r = 0; r < RANKS; r++)
                u += 0.25 * (double)tithe_exchange_residual(g->ex, r)[i] / RANKS;
        }
        expect(fabs((double)g->update[i] - u) <= 1e-4, "%s: %g at %zu, not %g", m->codec,
               (double)g->update[i], i, u);
    }
    assert_true(totals_of(g->ex).uplink_bytes - before == bytes);
    for (unsigned r = 0; r < RANKS; r += 3)
        if (kept[r]) assert_true(same_floats(kept[r], tithe_exchange_residual(g->ex, r), N));
    for (unsigned r = 0; r < RANKS; r++) free(kept[r]);
    free(x);
    group_free(g);
}

static void ranks_may_skip(void **state)
{
    (void)state;
    for (unsigned m = 0; m < METHODS; m++)
        if (!methods[m].downlink && !is_cut(&methods[m])) check_skip(&methods[m]);
}

static void skipped_frames_are_not_sent(void **state)
{
    (void)state;
    static const char *const schemes[] = {"gather", "star"};
    for (unsigned s = 0; s < 2; s++) {
        group *g = group_make(&(wanted){.codec = "topk:k=5", .scheme = schemes[s], .ranks = 3, .n = N});
        float *x = gradients_make(3, N, 0), v[N];
        group_put_all(g, x, 1);
        group_finish(g);
        const double before = totals_of(g->ex).sent_bytes;
        tithe_exchange_skip(g->ex, 0, 1, NULL);
        tithe_exchange_put(g->ex, 1, 0, x + N, 1, NULL);
        tithe_exchange_skip(g->ex, 2, 1, NULL);
        group_finish(g);
        const double frame = (double)message(g->codec, 1, 1, 0, x + N, N, v).bytes;
        tithe_codec *raw = codec_of("raw");
        const double back = (double)message(raw, 1, 3, 0, x, N, v).bytes;
        const double sent = totals_of(g->ex).sent_bytes - before;
        assert_true(sent == (s == 0 ? 2 * (3 * TITHE_LENGTH_BYTES + frame)
                                    : 2 * 16 + frame +
                                          2 * (8 + back))); /* with lengths, and step sizes on the way up */
        tithe_codec_free(raw);
        free(x);
        group_free(g);
    }
}

/* ---- mistakes ---------------------------------------------------------------------------------------------- */

#define refused(call, wanted_code, part)                                                             \
    do {                                                                                             \
        tithe_error said = {0};                                                                      \
        const tithe_status answer = (call);                                                          \
        expect(answer == (wanted_code), "%s: status %d", #call, (int)answer);                        \
        expect(strstr(said.text, part) && said.code == (wanted_code), "%s: '%s'", #call, said.text); \
    } while (0)

static void mistakes_are_told(void **state)
{
    (void)state;
    float *x = gradients_make(RANKS, N, 0);
    for (unsigned m = 0; m < METHODS; m++) {
        wanted w = wanted_of(&methods[m]);
        group *g = group_make(&w), *clean = group_make(&w);
        refused(tithe_exchange_finish(g->ex, g->update, &said), TITHE_E_ARGUMENT,
                "Rank 0 was neither put nor skipped");
        refused(tithe_exchange_step(g->ex, x, 0.3, &said), TITHE_E_ARGUMENT, "6 ranks");
        refused(tithe_exchange_put(g->ex, RANKS, 0, x, 0.3, &said), TITHE_E_ARGUMENT, "Rank 6");
        refused(tithe_exchange_skip(g->ex, RANKS, 0.3, &said), TITHE_E_ARGUMENT, "Rank 6");
        refused(tithe_exchange_put(g->ex, 0, 1, x, 0.3, &said), TITHE_E_ARGUMENT, "lane below 1");
        refused(tithe_exchange_put(g->ex, 0, 0, NULL, 0.3, &said), TITHE_E_ARGUMENT, "gradient");
        refused(tithe_exchange_put(g->ex, 0, 0, x, 0, &said), TITHE_E_ARGUMENT, "positive step size");
        refused(tithe_exchange_put(g->ex, 0, 0, x, -1, &said), TITHE_E_ARGUMENT, "positive step size");
        refused(tithe_exchange_put(g->ex, 0, 0, x, (double)NAN, &said), TITHE_E_ARGUMENT,
                "positive step size");
        refused(tithe_exchange_put(g->ex, 0, 0, x, (double)INFINITY, &said), TITHE_E_ARGUMENT,
                "positive step size");
        refused(tithe_exchange_skip(g->ex, 0, 0, &said), TITHE_E_ARGUMENT, "positive step size");
        for (unsigned r = 0; r + 1 < RANKS; r++) tithe_exchange_put(g->ex, r, 0, x + r * N, 0.3, NULL);
        refused(tithe_exchange_put(g->ex, 2, 0, x, 0.3, &said), TITHE_E_ARGUMENT, "Rank 2 was put twice");
        refused(tithe_exchange_skip(g->ex, 2, 0.3, &said), TITHE_E_ARGUMENT, "Rank 2");
        refused(tithe_exchange_finish(g->ex, g->update, &said), TITHE_E_ARGUMENT, "Rank 5 was neither");
        tithe_exchange_put(g->ex, RANKS - 1, 0, x + (RANKS - 1) * N, 0.3, NULL);
        group_finish(g); /* as if nothing had been wrong */
        group_put_all(clean, x, 0.3);
        group_finish(clean);
        assert_true(same_floats(g->update, clean->update, N));
        for (unsigned r = 0; r < RANKS; r++) tithe_exchange_skip(g->ex, r, 0.3, NULL);
        refused(tithe_exchange_finish(g->ex, g->update, &said), TITHE_E_ARGUMENT, "No rank takes part");
        assert_null(tithe_exchange_residual(g->ex, RANKS));
        group_free(g);
        group_free(clean);
    }
    free(x);
}

static void step_sizes_must_agree(void **state)
{
    (void)state;
    group *g = group_make(&(wanted){.codec = "all|raw", .ranks = 2, .n = 1});
    const float x = 1;
    tithe_exchange_put(g->ex, 0, 0, &x, 0.3, NULL);
    tithe_exchange_put(g->ex, 1, 0, &x, 0.4, NULL);
    refused(tithe_exchange_finish(g->ex, g->update, &said), TITHE_E_ARGUMENT, "step size 0.4");
    group_free(g);
}

/* A gradient that is not finite is skipped with its rank and position, and leaves no trace. */
static void bad_gradients_leave_no_trace(void **state)
{
    (void)state;
    static const double values[] = {(double)NAN, (double)INFINITY, -(double)INFINITY};
    for (unsigned m = 0; m < METHODS; m++)
        for (unsigned measure = 0; measure < 2; measure++) {
            wanted w = wanted_of(&methods[m]);
            w.measure = measure;
            w.skip_nonfinite = true;
            group *g = group_make(&w), *clean = group_make(&w);
            for (unsigned k = 0; k < 3; k++) {
                float *x = gradients_make(RANKS, N, k);
                const float good = x[2 * N + 777];
                x[2 * N + 777] = (float)values[k];
                group_put_all(g, x, 0.3);
                refused(tithe_exchange_finish(g->ex, g->update, &said), TITHE_E_SKIPPED,
                        "Rank 2 has a gradient that is not finite at position 777");
                x[2 * N + 777] = good;
                tithe_exchange_continue(clean->ex, 2 * k + 1, NULL, NULL);
                group_put_all(g, x, 0.3);
                group_finish(g);
                group_put_all(clean, x, 0.3);
                group_finish(clean);
                expect(same_floats(g->update, clean->update, N), "%s%s", methods[m].codec,
                       measure ? ", measured" : "");
                for (unsigned r = 0; r < RANKS && g->feedback->keeps; r++)
                    assert_true(same_floats(tithe_exchange_residual(g->ex, r),
                                            tithe_exchange_residual(clean->ex, r), N));
                assert_true(totals_of(g->ex).unsent == totals_of(clean->ex).unsent || !measure);
                free(x);
            }
            group_free(g);
            group_free(clean);
        }
}

/* A message that its quantizer cannot write is not sent, and what is kept is as before. */
static void a_failed_message_is_taken_back(void **state)
{
    (void)state;
    for (unsigned measure = 0; measure < 2; measure++) {
        group *g = group_make(&(wanted){.codec = "topk:k=2|f16",
                                        .feedback = "ec",
                                        .ranks = 1,
                                        .n = 4,
                                        .measure = measure,
                                        .skip_nonfinite = true});
        const float first[] = {1, 2, 3, 4}, large[] = {1e6f, 0, 0, 1};
        group_put_all(g, first, 0.5);
        group_finish(g);
        group_put_all(g, large, 0.5);
        refused(tithe_exchange_finish(g->ex, g->update, &said), TITHE_E_SKIPPED,
                "too large for topk:k=2|f16");
        const float *kept = tithe_exchange_residual(g->ex, 0);
        assert_true(kept[0] == 0.5f && kept[1] == 1 && kept[2] == 0 && kept[3] == 0);
        group_free(g);
    }
}

static void senseless_wishes_are_refused(void **state)
{
    (void)state;
    static const struct {
        wanted w;
        const char *says;
    } rows[] = {
        {{.codec = "natural", .scheme = "dense"}, "all|raw"},
        {{.codec = "all|raw", .feedback = "ec", .scheme = "dense"}, "none"},
        {{.codec = "all|raw", .downlink = "natural", .scheme = "dense"}, "star"},
        {{.codec = "natural", .downlink = "natural", .scheme = "gather"}, "star"},
        {{.codec = "topk:k=1", .feedback = "ef21", .downlink = "natural"}, "ef21"},
        {{.codec = "natural", .downlink = "topk:k=1", .downlink_feedback = "ef21"}, "none or ec"},
        {{.codec = "randk:k=1,scale=unbiased", .feedback = "ec"}, "contractive"},
        {{.codec = "randk:k=1,scale=unbiased", .feedback = "ef21"}, "contractive"},
        {{.codec = "natural", .downlink = "randk:k=1,scale=unbiased", .downlink_feedback = "ec"},
         "contractive"},
        {{.codec = "natural", .scheme = "gathre"}, "gather"},
        {{.codec = "natural", .collective = "star"}, "allgather"},
        {{.codec = "all|raw", .collective = "native"}, "inproc"},
        {{.codec = "topk:k=3", .feedback = "ec", .leader = "auto"}, "artopk"},
        {{.codec = "all|raw", .scheme = "artopk"}, "topk:keep"},
        {{.codec = "threshold:lambda=1", .feedback = "ec", .scheme = "artopk"}, "topk:keep"},
        {{.codec = "topk:k=3|sign", .feedback = "ec", .scheme = "artopk"}, "natural or f16"},
        {{.codec = "topk:k=3", .scheme = "artopk"}, "`feedback=ec`"},
        {{.codec = "topk:k=3", .feedback = "ef21", .scheme = "artopk"}, "`feedback=ec`"},
        {{.codec = "topk:k=3", .feedback = "ec", .scheme = "artopk", .leader = "best"}, "round-robin"},
        {{.codec = "topk:k=3", .feedback = "ec", .scheme = "artopk", .collective = "allgather"}, "ring|tree"},
        {{.codec = "topk:k=3|f16", .feedback = "ec", .scheme = "artopk", .collective = "ring"}, "direct"},
        {{.codec = "topk:k=3", .feedback = "ec", .scheme = "artopk", .downlink = "natural"}, "star"},
        {{.codec = "all|raw", .collective = "rin"}, "ring|tree|star"},
        {{.codec = "all|raw", .collective = "allgather"}, "ring|tree|star"},
        {{.codec = "topk:k=3", .feedback = "ec", .scheme = "shards", .collective = "tree"}, "ring|direct"},
        {{.codec = "topk:keep=0.5,per=layer", .feedback = "ec", .scheme = "shards"}, "per=layer"},
        {{.codec = "natural", .downlink = "topk:keep=0.5,per=layer", .scheme = "shards"}, "per=layer"},
        {{.codec = "given", .scheme = "shards"}, "given"},
        {{.codec = "topk:k=3", .feedback = "ef21", .downlink = "natural", .scheme = "shards"}, "drift"},
        {{.codec = "randk:k=1,scale=unbiased", .feedback = "ec", .scheme = "shards"}, "contractive"},
        {{.codec = "natural", .downlink = "natural", .downlink_feedback = "ef21", .scheme = "shards"},
         "none or ec"},
        {{.codec = "natural", .scheme = "shards", .leader = "auto"}, "artopk"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        wanted w = rows[i].w; /* feedback makes scale=contractive the default, so it has to be asked for */
        w.ranks = 2;
        w.n = 8;
        tithe_exchange_config config;
        group *g = group_start(&w, &config);
        refused(tithe_exchange_create(&config, w.n, &g->ex, &said), TITHE_E_SPEC, rows[i].says);
        assert_null(g->ex);
        group_free(g);
    }
    tithe_exchange *ex = NULL;
    refused(tithe_exchange_create(&(tithe_exchange_config){.size = sizeof(tithe_exchange_config), 0}, 3, &ex,
                                  &said),
            TITHE_E_ARGUMENT, "codec");
    tithe_exchange_free(NULL);
}

/* ---- memory ------------------------------------------------------------------------------------------------ */

static void no_step_allocates(void **state)
{
    (void)state;
    watch_check();
    for (unsigned m = 0; m < METHODS; m++)
        for (unsigned measure = 0; measure < 2; measure++) {
            wanted w = wanted_of(&methods[m]);
            w.measure = measure;
            group *g = group_make(&w);
            float *x = gradients_make(RANKS, N, 0);
            const size_t before = visits;
            for (unsigned k = 0; k < 3; k++) {
                for (unsigned r = 0; r < RANKS; r++)
                    (void)tithe_exchange_put(g->ex, r, 0, x + r * N, 0.3, &g->error);
                (void)tithe_exchange_finish(g->ex, g->update, &g->error);
            }
            const size_t during = visits - before;
            expect(during == 0, "%s goes to the allocator %zu times", methods[m].codec, during);
            assert_true(last_of(g->ex).step == 2);
            free(x);
            group_free(g);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_and_threads_make_no_difference),
        cmocka_unit_test(one_rank_may_step_in_place),
        cmocka_unit_test(ranks_may_skip),
        cmocka_unit_test(skipped_frames_are_not_sent),
        cmocka_unit_test(mistakes_are_told),
        cmocka_unit_test(step_sizes_must_agree),
        cmocka_unit_test(bad_gradients_leave_no_trace),
        cmocka_unit_test(a_failed_message_is_taken_back),
        cmocka_unit_test(senseless_wishes_are_refused),
        cmocka_unit_test(no_step_allocates),
    };
    return cmocka_run_group_tests(tests, watch, NULL);
}
