/* Buckets: a step in several messages is several exchanges side by side, whoever sends them and when. */
#include "group.h"

#include "exchange/buckets.h"
#include "exchange/courier.h"

#include <stdatomic.h>
#include <time.h>

enum { RANKS = 3, STEPS = 4 };

static const size_t layers[] = {500, 20, 7, 1300, 1, 172};
enum { LAYERS = 6, N = 2000 };

/* ---- where they begin ------------------------------------------------------------------------------------- */

/* Every number is in one bucket, in order; whole layers are fused while they fit, and only what is too long is cut. */
static void test_layout(void **state)
{
    (void)state;
    dice d = {5};
    for (int trial = 0; trial < 2000; trial++) {
        size_t lengths[12], begins[4000], n = 0;
        const size_t count = 1 + roll_below(&d, 12), most = 1 + roll_below(&d, 90);
        for (size_t l = 0; l < count; l++) n += lengths[l] = roll_below(&d, 8) ? roll_below(&d, 300) : 0;
        const size_t buckets = ti_buckets_layout(n, lengths, count, 4 * most, NULL);
        assert_int_equal(ti_buckets_layout(n, lengths, count, 4 * most, begins), buckets);
        assert_int_equal(begins[0], 0);
        assert_int_equal(begins[buckets], n);
        for (size_t b = 0; b < buckets; b++) {
            assert_true(begins[b] <= begins[b + 1]);
            assert_true(begins[b + 1] - begins[b] <= most);
        }
        /* a layer that fits is never cut */
        for (size_t l = 0, at = 0; l < count; at += lengths[l++])
            for (size_t b = 1; b < buckets && lengths[l] <= most; b++)
                assert_false(begins[b] > at && begins[b] < at + lengths[l]);
    }
    size_t begins[16];
    assert_int_equal(ti_buckets_layout(N, layers, LAYERS, 0, begins), 1);
    assert_int_equal(ti_buckets_layout(N, layers, LAYERS, TITHE_EACH_LAYER, begins), LAYERS);
    assert_int_equal(begins[3], 527);
    assert_int_equal(ti_buckets_layout(N, layers, LAYERS, 4 * 600, begins), 5); /* 527, 3 pieces, 173 */
    assert_int_equal(begins[1], 527);
    assert_int_equal(begins[2] - begins[1], 434);
    assert_int_equal(begins[4], 1827);
    assert_int_equal(ti_buckets_layout(10, NULL, 0, 16, begins), 3);
}

/* ---- the same as exchanges side by side ---------------------------------------------------------------------- */

typedef struct variant {
    const char *codec, *feedback, *scheme, *downlink, *leader;
} variant;

static const variant variants[] = {
    {"all|raw", "none", "dense", NULL, NULL},
    {"topk:keep=0.05", "ec", "gather", NULL, NULL},
    {"topk:keep=0.2|natural", "ef21", "gather", NULL, NULL},
    {"randk:keep=0.1", "ec", "star", "all|natural", NULL},
    {"topk:keep=0.05", "ec", "artopk", NULL, "auto"},
    {"all|natural", "none", "gather", NULL, NULL},
};
enum { VARIANTS = sizeof variants / sizeof variants[0] };

static group *make_over(const variant *v, size_t bucket_bytes, bool overlap, tithe_pool *pool, bool one_thread)
{
    const wanted w = {.codec = v->codec,
                      .feedback = v->feedback,
                      .scheme = v->scheme,
                      .downlink = v->downlink,
                      .leader = v->leader,
                      .ranks = RANKS,
                      .n = N,
                      .measure = true,
                      .lanes = 1,
                      .pool = pool,
                      .cost = "packet:payload=127,c0=0,c1=127"};
    tithe_exchange_config config;
    group *g = group_start(&w, &config);
    g->comm.one_thread = one_thread;
    config.layers = layers;
    config.layer_count = LAYERS;
    config.bucket_bytes = bucket_bytes;
    config.overlap = overlap;
    if (tithe_exchange_create(&config, N, &g->ex, &g->error)) fail_msg("%s: %s", v->codec, g->error.text);
    return g;
}

static group *make(const variant *v, size_t bucket_bytes, bool overlap, tithe_pool *pool)
{
    return make_over(v, bucket_bytes, overlap, pool, false);
}

static void expect_same(group *a, group *b)
{
    assert_true(same_floats(a->update, b->update, N));
    for (unsigned r = 0; r < RANKS; r++)
        if (tithe_exchange_kept(a->ex, r))
            assert_true(same_floats(tithe_exchange_kept(a->ex, r), tithe_exchange_kept(b->ex, r), N));
    const tithe_exchange_totals x = tithe_exchange_total(a->ex), y = tithe_exchange_total(b->ex);
    assert_true(x.uplink_bytes == y.uplink_bytes && x.sent_bytes == y.sent_bytes && x.cost == y.cost &&
                x.sent_messages == y.sent_messages && x.paper_bits == y.paper_bits &&
                x.downlink_bytes == y.downlink_bytes && x.unsent == y.unsent);
    const tithe_exchange_record p = tithe_exchange_last(a->ex), q = tithe_exchange_last(b->ex);
    assert_true(p.level == q.level && p.level_least == q.level_least && p.unsent == q.unsent &&
                p.leader == q.leader);
}

/* Overlap, threads and layers that come one by one, last one first, change no bit and no count. */
static void test_overlap_changes_nothing(void **state)
{
    (void)state;
    tithe_pool *pool;
    assert_int_equal(tithe_pool_create(2, &pool, NULL), TITHE_OK);
    for (int v = 0; v < VARIANTS; v++) {
        group *plain = make(&variants[v], 4 * 600, false, NULL);
        group *side = make(&variants[v], 4 * 600, true, NULL), *threads = make(&variants[v], 4 * 600, true, pool);
        group *layered = make(&variants[v], 4 * 600, true, NULL);
        group *alone = make_over(&variants[v], 4 * 600, true, NULL, true); /* ranks that only this thread may use */
        assert_int_equal(tithe_exchange_buckets(side->ex), 5);
        for (unsigned s = 0; s < STEPS; s++) {
            float *x = gradients_make(RANKS, N, s);
            group_put_all(plain, x, 0.5);
            group_finish(plain);
            group_put_all(side, x, 0.5);
            group_finish(side);
            group_put_all(threads, x, 0.5);
            group_finish(threads);
            group_put_all(alone, x, 0.5);
            group_finish(alone);
            for (unsigned r = 0; r < RANKS; r++)
                for (size_t l = LAYERS, at = N; l-- > 0;) {
                    at -= layers[l];
                    if (tithe_exchange_put_layer(layered->ex, r, 0, l, x + r * N + at, 0.5, &layered->error))
                        fail_msg("%s", layered->error.text);
                }
            group_finish(layered);
            expect_same(plain, side);
            expect_same(plain, threads);
            expect_same(plain, layered);
            expect_same(plain, alone);
            free(x);
        }
        assert_true(tithe_exchange_total(plain->ex).overlap == 0 && tithe_exchange_total(alone->ex).overlap == 0);
        assert_true(tithe_exchange_total(side->ex).overlap >= 0);
        group_free(plain);
        group_free(side);
        group_free(threads);
        group_free(layered);
        group_free(alone);
    }
    tithe_pool_free(pool);
}

/* Without random numbers, a bucket is an exchange of that part of the vector alone. */
static void test_bucket_is_an_exchange(void **state)
{
    (void)state;
    size_t begins[8];
    const size_t count = ti_buckets_layout(N, layers, LAYERS, 4 * 600, begins);
    for (int v = 0; v < 3; v++) {
        group *all = make(&variants[v], 4 * 600, true, NULL);
        if (strstr(variants[v].codec, "natural")) { /* which draws */
            group_free(all);
            continue;
        }
        group *parts[8];
        double uplink = 0, sent = 0, level = 0;
        for (size_t b = 0; b < count; b++)
            parts[b] = group_make(&(wanted){.codec = variants[v].codec,
                                            .feedback = variants[v].feedback,
                                            .scheme = variants[v].scheme,
                                            .ranks = RANKS,
                                            .n = begins[b + 1] - begins[b],
                                            .lanes = 1,
                                            .measure = true});
        for (unsigned s = 0; s < STEPS; s++) {
            float *x = gradients_make(RANKS, N, s);
            group_put_all(all, x, 0.5);
            group_finish(all);
            level = 0;
            for (size_t b = 0; b < count; b++) {
                for (unsigned r = 0; r < RANKS; r++)
                    assert_int_equal(
                        tithe_exchange_put(parts[b]->ex, r, 0, x + r * N + begins[b], 0.5, NULL), TITHE_OK);
                group_finish(parts[b]);
                assert_true(same_floats(all->update + begins[b], parts[b]->update, parts[b]->n));
                level += tithe_exchange_last(parts[b]->ex).level;
            }
            free(x);
        }
        for (size_t b = 0; b < count; b++) {
            uplink += tithe_exchange_total(parts[b]->ex).uplink_bytes;
            sent += tithe_exchange_total(parts[b]->ex).sent_bytes;
            group_free(parts[b]);
        }
        assert_true(tithe_exchange_total(all->ex).uplink_bytes == uplink);
        assert_true(tithe_exchange_total(all->ex).sent_bytes == sent);
        assert_float_equal(tithe_exchange_last(all->ex).level, level, 1e-9);
        group_free(all);
    }
}

/* What fusing is for: fewer messages for the same layers. */
static void test_fusing_saves_messages(void **state)
{
    (void)state;
    group *each = make(&variants[1], TITHE_EACH_LAYER, false, NULL), *fused = make(&variants[1], 4 * N, false, NULL);
    float *x = gradients_make(RANKS, N, 0);
    group_put_all(each, x, 1);
    group_finish(each);
    group_put_all(fused, x, 1);
    group_finish(fused);
    assert_int_equal(tithe_exchange_buckets(fused->ex), 1);
    /* more still, for layers so short that their frames would be longer than they are */
    assert_true(tithe_exchange_total(each->ex).sent_messages >=
                LAYERS * tithe_exchange_total(fused->ex).sent_messages);
    free(x);
    group_free(each);
    group_free(fused);
}

/* ---- what goes wrong ------------------------------------------------------------------------------------------- */

/* A gradient that is refused has sent nothing: it can be put again. */
static void test_refused_before_anything_left(void **state)
{
    (void)state;
    group *a = make(&variants[1], 4 * 600, true, NULL), *b = make(&variants[1], 4 * 600, true, NULL);
    float *x = gradients_make(RANKS, N, 0);
    x[N - 1] = NAN;
    assert_int_equal(tithe_exchange_put(a->ex, 0, 0, x, 1, &a->error), TITHE_E_NONFINITE);
    assert_int_equal(a->error.position, N - 1);
    x[N - 1] = 1;
    group_put_all(a, x, 1);
    group_finish(a);
    group_put_all(b, x, 1);
    group_finish(b);
    expect_same(a, b);
    assert_int_equal(tithe_exchange_put(a->ex, 0, 0, x, 1, &a->error), TITHE_OK);
    assert_int_equal(tithe_exchange_put(a->ex, 0, 0, x, 1, &a->error), TITHE_E_ARGUMENT); /* twice */
    free(x);
    group_free(a);
    group_free(b);
}

/* A bucket that cannot be written after others have left: an error, and an end. */
static void test_failure_half_way(void **state)
{
    (void)state;
    const variant v = {"all|f16", "none", "gather", NULL, NULL};
    group *g = make(&v, 4 * 600, true, NULL);
    float *x = gradients_make(RANKS, N, 0);
    x[2 * N + 1900] = 1e6f; /* of the last rank, in the last bucket */
    assert_int_equal(tithe_exchange_put(g->ex, 0, 0, x, 1, &g->error), TITHE_OK);
    assert_int_equal(tithe_exchange_put(g->ex, 1, 0, x + N, 1, &g->error), TITHE_OK);
    assert_int_not_equal(tithe_exchange_put(g->ex, 2, 0, x + 2 * N, 1, &g->error), TITHE_OK);
    assert_int_not_equal(tithe_exchange_finish(g->ex, g->update, &g->error), TITHE_OK);
    free(x);
    group_free(g);
}

static void test_bad_input(void **state)
{
    (void)state;
    tithe_exchange_config config;
    group *g = group_start(&(wanted){.codec = "topk:k=3", .feedback = "ec", .ranks = 2, .n = N}, &config);
    config.layers = layers;
    config.layer_count = LAYERS - 1; /* not all of the vector */
    config.bucket_bytes = 64;
    assert_int_equal(tithe_exchange_create(&config, N, &g->ex, &g->error), TITHE_E_ARGUMENT);
    config.layer_count = LAYERS;
    assert_int_equal(tithe_exchange_create(&config, N, &g->ex, &g->error), TITHE_OK);
    assert_int_equal(tithe_exchange_put_layer(g->ex, 0, 0, LAYERS, g->update, 1, &g->error), TITHE_E_ARGUMENT);
    assert_int_equal(tithe_exchange_put_layer(g->ex, 2, 0, 0, g->update, 1, &g->error), TITHE_E_ARGUMENT);
    assert_int_equal(tithe_exchange_put_layer(g->ex, 0, 0, 0, NULL, 1, &g->error), TITHE_E_ARGUMENT);
    assert_int_not_equal(tithe_exchange_finish(g->ex, g->update, &g->error), TITHE_OK); /* nobody was put */
    group_free(g);
}

/* ---- the courier ------------------------------------------------------------------------------------------------ */

typedef struct trip {
    atomic_uint next;
    unsigned fails_at;
} trip;

static tithe_status note_trip(void *context, unsigned bucket, tithe_error *error)
{
    trip *t = context;
    const struct timespec moment = {.tv_nsec = 2000000};
    nanosleep(&moment, NULL);
    if (atomic_fetch_add(&t->next, 1) != bucket) return TITHE_E_CORRUPT; /* not in order */
    if (bucket != t->fails_at) return TITHE_OK;
    snprintf(error->text, sizeof error->text, "no way");
    return TITHE_E_PEER;
}

/* In order, whatever the order in which they become ready; a failure ends the round; the next one is fresh. */
static void test_courier(void **state)
{
    (void)state;
    trip t = {.fails_at = 99};
    courier *c;
    double hidden;
    tithe_error error;
    assert_int_equal(ti_courier_start(4, note_trip, &t, &c, NULL), TITHE_OK);
    for (int round = 0; round < 5; round++) {
        static const unsigned order[] = {2, 0, 3, 1};
        atomic_store(&t.next, 0);
        for (int i = 0; i < 4; i++) ti_courier_ready(c, order[i]);
        const struct timespec work = {.tv_nsec = 20000000};
        nanosleep(&work, NULL);
        assert_int_equal(ti_courier_await(c, &hidden, &error), TITHE_OK);
        assert_int_equal(atomic_load(&t.next), 4);
        assert_true(hidden > 0); /* it worked while we did */
    }
    t.fails_at = 1;
    atomic_store(&t.next, 0);
    for (unsigned i = 0; i < 4; i++) ti_courier_ready(c, i);
    assert_int_equal(ti_courier_await(c, &hidden, &error), TITHE_E_PEER);
    assert_string_equal(error.text, "no way");
    assert_int_equal(atomic_load(&t.next), 2);
    ti_courier_ready(c, 0);
    ti_courier_break(c);
    assert_int_not_equal(ti_courier_await(c, &hidden, &error), TITHE_OK);
    ti_courier_stop(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layout),
        cmocka_unit_test(test_overlap_changes_nothing),
        cmocka_unit_test(test_bucket_is_an_exchange),
        cmocka_unit_test(test_fusing_saves_messages),
        cmocka_unit_test(test_refused_before_anything_left),
        cmocka_unit_test(test_failure_half_way),
        cmocka_unit_test(test_bad_input),
        cmocka_unit_test(test_courier),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
