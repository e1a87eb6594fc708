/* Buckets: a step in several messages is several exchanges side by side, whoever sends them and when. */
#include "group.h"

#include "exchange/buckets.h"
#include "exchange/counters.h"

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
        const size_t count = 1 + roll_below(&d, 12), max = 1 + roll_below(&d, 90);
        for (size_t l = 0; l < count; l++) n += lengths[l] = roll_below(&d, 8) ? roll_below(&d, 300) : 0;
        const size_t buckets = ti_buckets_layout(n, lengths, count, 4 * max, NULL);
        assert_int_equal(ti_buckets_layout(n, lengths, count, 4 * max, begins), buckets);
        assert_int_equal(begins[0], 0);
        assert_int_equal(begins[buckets], n);
        for (size_t b = 0; b < buckets; b++) {
            assert_true(begins[b] <= begins[b + 1]);
            assert_true(begins[b + 1] - begins[b] <= max);
        }
        /* a layer that fits is never cut */
        for (size_t l = 0, at = 0; l < count; at += lengths[l++])
            for (size_t b = 1; b < buckets && lengths[l] <= max; b++)
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

static const char COST[] = "packet:payload=127,c0=0,c1=127";

static group *make_like(const variant *v, size_t bucket_bytes, bool overlap, tithe_pool *pool,
                        bool one_thread, bool skips)
{
    const wanted w = {.codec = v->codec,
                      .feedback = v->feedback,
                      .scheme = v->scheme,
                      .downlink = v->downlink,
                      .leader = v->leader,
                      .ranks = RANKS,
                      .n = N,
                      .measure = true,
                      .skip_nonfinite = skips,
                      .lanes = 1,
                      .pool = pool,
                      .downlink_feedback = v->downlink && strstr(v->codec, "topk") ? "ec" : NULL,
                      .cost = COST};
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

static group *make_over(const variant *v, size_t bucket_bytes, bool overlap, tithe_pool *pool,
                        bool one_thread)
{
    return make_like(v, bucket_bytes, overlap, pool, one_thread, false);
}

static group *make_skipping(const variant *v, size_t bucket_bytes, bool overlap)
{
    return make_like(v, bucket_bytes, overlap, NULL, false, true);
}

static group *make(const variant *v, size_t bucket_bytes, bool overlap, tithe_pool *pool)
{
    return make_over(v, bucket_bytes, overlap, pool, false);
}

static void expect_same(group *a, group *b)
{
    assert_true(same_floats(a->update, b->update, N));
    for (unsigned r = 0; r < RANKS; r++)
        if (tithe_exchange_residual(a->ex, r))
            assert_true(same_floats(tithe_exchange_residual(a->ex, r), tithe_exchange_residual(b->ex, r), N));
    const tithe_exchange_totals x = totals_of(a->ex), y = totals_of(b->ex);
    assert_true(x.uplink_bytes == y.uplink_bytes && x.sent_bytes == y.sent_bytes && x.cost == y.cost &&
                x.sent_messages == y.sent_messages && x.paper_bits == y.paper_bits &&
                x.downlink_bytes == y.downlink_bytes && x.unsent == y.unsent);
    const tithe_exchange_record p = last_of(a->ex), q = last_of(b->ex);
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
        group *side = make(&variants[v], 4 * 600, true, NULL),
              *threads = make(&variants[v], 4 * 600, true, pool);
        group *layered = make(&variants[v], 4 * 600, true, NULL);
        group *alone =
            make_over(&variants[v], 4 * 600, true, NULL, true); /* ranks that only this thread may use */
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
        assert_true(totals_of(plain->ex).overlap == 0 && totals_of(alone->ex).overlap == 0);
        assert_true(totals_of(side->ex).overlap >= 0);
        group_free(plain);
        group_free(side);
        group_free(threads);
        group_free(layered);
        group_free(alone);
    }
    tithe_pool_free(pool);
}

/* Without random numbers, a bucket is an exchange of that part of the vector alone, and the whole is their sum: updates, all
 * that is kept, all totals, and the record. */
static const variant plain_ones[] = {
    {"all|raw", "none", "dense", NULL, NULL},
    {"topk:keep=0.05", "ec", "gather", NULL, NULL},
    {"topk:keep=0.1", "ef21", "gather", NULL, NULL},
    {"topk:keep=0.1", "ec", "star", "topk:keep=0.3", NULL},
    {"topk:keep=0.05", "ec", "artopk", NULL, "variance"},
};

static void near(double a, double b, const char *what)
{
    expect(fabs(a - b) <= 1e-9 * fabs(b), "%s: %.17g, not %.17g", what, a, b);
}

static void expect_sum(group *all, group *const *parts, const size_t *begins, size_t count)
{
    tithe_exchange_totals sum = {.size = sizeof sum};
    double level = 0, energy = 0, unsent = 0;
    for (size_t b = 0; b < count; b++) {
        const tithe_exchange_totals t = totals_of(parts[b]->ex);
        const tithe_exchange_record r = last_of(parts[b]->ex);
        const size_t n = parts[b]->n, at = begins[b];
        ti_counters_add(&sum, &t);
        level += r.level;
        energy += r.energy;
        unsent += r.unsent;
        assert_true(t.encode > 0 && t.transfer >= 0);
        assert_true(same_floats(all->update + at, parts[b]->update, n));
        for (unsigned rank = 0; rank < RANKS && tithe_exchange_residual(all->ex, rank); rank++)
            assert_true(same_floats(tithe_exchange_residual(all->ex, rank) + at,
                                    tithe_exchange_residual(parts[b]->ex, rank), n));
        if (tithe_exchange_aggregate(all->ex))
            assert_true(same_floats(tithe_exchange_aggregate(all->ex) + at,
                                    tithe_exchange_aggregate(parts[b]->ex), n));
        if (tithe_exchange_server_residual(all->ex))
            assert_true(same_floats(tithe_exchange_server_residual(all->ex) + at,
                                    tithe_exchange_server_residual(parts[b]->ex), n));
    }
    const tithe_exchange_totals t = totals_of(all->ex);
    const tithe_exchange_record r = last_of(all->ex);
    for (const tithe_counter *c = tithe_counters(); c->name; c++) /* seconds are others each time */
        if (strcmp(c->unit, "s") != 0) near(tithe_counter_of(&t, c), tithe_counter_of(&sum, c), c->name);
    near(r.level, level, "level");
    near(r.energy, energy, "energy");
    near(r.unsent, unsent, "unsent in the last step");
    assert_true(t.encode > 0 && t.decode >= 0 && t.transfer > 0);
}

static void test_bucket_is_an_exchange(void **state)
{
    (void)state;
    size_t begins[8];
    const size_t count = ti_buckets_layout(N, layers, LAYERS, 4 * 600, begins);
    for (size_t v = 0; v < sizeof plain_ones / sizeof *plain_ones; v++) {
        const variant *p = &plain_ones[v];
        group *all = make(p, 4 * 600, true, NULL), *parts[8];
        for (size_t b = 0; b < count; b++)
            parts[b] = group_make(&(wanted){.codec = p->codec,
                                            .feedback = p->feedback,
                                            .scheme = p->scheme,
                                            .downlink = p->downlink,
                                            .downlink_feedback = p->downlink ? "ec" : NULL,
                                            .leader = p->leader,
                                            .ranks = RANKS,
                                            .n = begins[b + 1] - begins[b],
                                            .lanes = 1,
                                            .measure = true,
                                            .cost = COST});
        for (unsigned s = 0; s < STEPS; s++) {
            float *x = gradients_make(RANKS, N, s);
            group_put_all(all, x, 0.5);
            group_finish(all);
            for (size_t b = 0; b < count; b++) {
                for (unsigned r = 0; r < RANKS; r++)
                    assert_int_equal(tithe_exchange_put(parts[b]->ex, r, 0, x + r * N + begins[b], 0.5, NULL),
                                     TITHE_OK);
                group_finish(parts[b]);
            }
            expect_sum(all, parts, begins, count);
            free(x);
        }
        for (size_t b = 0; b < count; b++) group_free(parts[b]);
        group_free(all);
    }
}

/* The same numbers in two buckets, and other coordinates of them are drawn. */
static void test_buckets_draw_apart(void **state)
{
    (void)state;
    static const size_t halves[] = {400, 400};
    tithe_exchange_config config;
    group *g =
        group_start(&(wanted){.codec = "randk:k=40", .feedback = "none", .ranks = 1, .n = 800}, &config);
    config.layers = halves;
    config.layer_count = 2;
    config.bucket_bytes = TITHE_EACH_LAYER;
    assert_int_equal(tithe_exchange_create(&config, 800, &g->ex, &g->error), TITHE_OK);
    float x[800];
    for (int i = 0; i < 800; i++) x[i] = 1;
    group_put_all(g, x, 1);
    group_finish(g);
    int both = 0;
    for (int i = 0; i < 400; i++) both += g->update[i] > 0 && g->update[400 + i] > 0;
    assert_in_range(both, 0, 20); /* 4 on average; 40 if they drew the same */
    group_free(g);
}

/* What fusing is for: fewer messages for the same layers. */
static void test_fusing_saves_messages(void **state)
{
    (void)state;
    group *each = make(&variants[1], TITHE_EACH_LAYER, false, NULL),
          *fused = make(&variants[1], 4 * N, false, NULL);
    float *x = gradients_make(RANKS, N, 0);
    group_put_all(each, x, 1);
    group_finish(each);
    group_put_all(fused, x, 1);
    group_finish(fused);
    assert_int_equal(tithe_exchange_buckets(fused->ex), 1);
    /* more still, for layers so short that their frames would be longer than they are */
    assert_true(totals_of(each->ex).sent_messages >= LAYERS * totals_of(fused->ex).sent_messages);
    free(x);
    group_free(each);
    group_free(fused);
}

/* Layers of no length, in front, between and behind, one by one and as a whole; and all in one bucket. */
static void test_empty_layers(void **state)
{
    (void)state;
    static const size_t lengths[] = {0, 3, 0, 4, 50, 0};
    static const size_t sizes[] = {28, 16, 1 << 20, TITHE_EACH_LAYER};
    for (int s = 0; s < 8; s++) {
        tithe_exchange_config config;
        group *g =
            group_start(&(wanted){.codec = "all|raw", .feedback = "none", .ranks = 2, .n = 57}, &config);
        config.layers = lengths;
        config.layer_count = 6;
        config.bucket_bytes = sizes[s % 4];
        config.overlap = s < 4;
        assert_int_equal(tithe_exchange_create(&config, 57, &g->ex, &g->error), TITHE_OK);
        for (unsigned step = 0; step < 3; step++) {
            float *x = gradients_make(2, 57, step);
            for (unsigned r = 0; r < 2; r++)
                for (size_t l = 0, at = 0; l < 6; at += lengths[l++])
                    if (tithe_exchange_put_layer(g->ex, r, 0, l, lengths[l] ? x + r * 57 + at : NULL, 1,
                                                 &g->error))
                        fail_msg("%s", g->error.text);
            group_finish(g);
            for (int i = 0; i < 57; i++) assert_float_equal(g->update[i], (x[i] + x[57 + i]) / 2, 1e-5);
            free(x);
        }
        group_free(g);
    }
}

/* Layers in somebody else's buckets, in any order: the same as each on its own, and back to where they were. */
static void test_layers_in_foreign_buckets(void **state)
{
    (void)state;
    static const size_t sizes[] = {4 * 600, 1 << 20, TITHE_EACH_LAYER};
    for (int s = 0; s < 3; s++) {
        group *plain = make(&variants[1], sizes[s], true, NULL),
              *foreign = make(&variants[1], sizes[s], true, NULL);
        size_t first[LAYERS], rest[LAYERS], count[2] = {0, 0}, begins[LAYERS + 1] = {0};
        for (size_t l = 0; l < LAYERS; l++) begins[l + 1] = begins[l] + layers[l];
        for (size_t l = LAYERS; l-- > 0;) /* every other one, from the end */
            *(l % 2 ? &first[count[0]++] : &rest[count[1]++]) = l;
        float *x = gradients_make(RANKS, N, 0), bucket[N], back[N];
        group_put_all(plain, x, 0.5);
        group_finish(plain);
        for (unsigned r = 0; r < RANKS; r++)
            for (int b = 0; b < 2; b++) {
                const size_t *list = b ? rest : first;
                size_t used = 0;
                for (size_t i = 0; i < count[b]; used += layers[list[i++]])
                    memcpy(bucket + used, x + r * N + begins[list[i]], layers[list[i]] * sizeof *x);
                expect(!tithe_exchange_put_layers(foreign->ex, r, 0, list, count[b], bucket, 0.5,
                                                  &foreign->error),
                       "%s", foreign->error.text);
            }
        group_finish(foreign);
        expect_same(plain, foreign);
        assert_int_equal(
            tithe_exchange_copy_layers(foreign->ex, foreign->update, first, count[0], back, &foreign->error),
            TITHE_OK);
        for (size_t i = 0, used = 0; i < count[0]; used += layers[first[i++]])
            assert_true(same_floats(back + used, foreign->update + begins[first[i]], layers[first[i]]));
        assert_int_equal(tithe_exchange_copy_layers(foreign->ex, foreign->update, (size_t[]){LAYERS}, 1, back,
                                                    &foreign->error),
                         TITHE_E_ARGUMENT);
        assert_int_equal(
            tithe_exchange_put_layers(foreign->ex, 0, 0, (size_t[]){LAYERS}, 1, x, 1, &foreign->error),
            TITHE_E_ARGUMENT);
        free(x);
        group_free(plain);
        group_free(foreign);
    }
}

/* What it says of itself has all counters by name, and is JSON that a decoder takes (tests/python reads it with one). */
static void test_described(void **state)
{
    (void)state;
    group *g = make(&variants[1], 4 * 600, true, NULL);
    char *text = tithe_exchange_describe(g->ex);
    expect(strstr(text, "\"steps\": 0") && !strstr(text, "\"last\""), "%s", text);
    tithe_text_free(text);
    float *x = gradients_make(RANKS, N, 0);
    group_put_all(g, x, 0.5);
    group_finish(g);
    text = tithe_exchange_describe(g->ex);
    for (const tithe_counter *c = tithe_counters(); c->name; c++) {
        char key[60];
        snprintf(key, sizeof key, "\"%s\": ", c->name);
        expect(strstr(text, key) != NULL, "%s is not in %s", key, text);
    }
    char bytes[60];
    snprintf(bytes, sizeof bytes, "\"uplink_bytes\": %.15g,", totals_of(g->ex).uplink_bytes);
    expect(strstr(text, bytes) && strstr(text, "\"buckets\": 5, \"steps\": 1"), "%s", text);
    tithe_text_free(text);
    free(x);
    group_free(g);
}

/* ---- what goes wrong ------------------------------------------------------------------------------------------- */

/* A bucket that cannot be written after others have left ends all of it, and says so again. */
static void test_failure_half_way(void **state)
{
    (void)state;
    const variant v = {"all|f16", "none", "gather", NULL, NULL};
    for (int overlap = 0; overlap < 2; overlap++) {
        group *g = make(&v, 4 * 600, overlap, NULL);
        float *x = gradients_make(RANKS, N, 0);
        x[2 * N + 1900] = 1e6f; /* of the last rank, in the last bucket */
        group_put_all(g, x, 1);
        assert_int_equal(tithe_exchange_put(g->ex, 0, 0, x, 1, &g->error), TITHE_E_ARGUMENT); /* twice */
        assert_int_equal(tithe_exchange_finish(g->ex, g->update, &g->error), TITHE_E_RANGE);
        assert_non_null(strstr(g->error.text, "Rank 2 has a gradient that is too large for all|f16"));
        x[2 * N + 1900] = 1;
        g->error.text[0] = 0;
        assert_int_equal(tithe_exchange_put(g->ex, 2, 0, x + 2 * N, 1, &g->error), TITHE_E_RANGE);
        assert_non_null(strstr(g->error.text, "Rank 2"));
        assert_int_equal(tithe_exchange_finish(g->ex, g->update, &g->error), TITHE_E_RANGE);
        assert_int_equal(tithe_exchange_skip(g->ex, 0, 1, &g->error), TITHE_E_RANGE);
        free(x);
        group_free(g);
    }
}

/* Layers that are put one by one: a NaN in one of them, whenever it comes, skips the step, whatever has left by then. */
static void test_a_layer_is_not_finite(void **state)
{
    (void)state;
    for (unsigned v = 0; v < VARIANTS; v++)
        for (int overlap = 0; overlap < 2; overlap++)
            for (size_t bad = 0; bad < LAYERS; bad++) {
                group *g = make_skipping(&variants[v], 4 * 600, overlap),
                      *clean = make_skipping(&variants[v], 4 * 600, overlap);
                for (unsigned k = 0; k < 3; k++) {
                    float *x = gradients_make(RANKS, N, k);
                    size_t begin = 0;
                    for (size_t l = 0; l < bad; l++) begin += layers[l];
                    if (k == 1) x[N + begin] = NAN;
                    for (size_t i = 0; i < LAYERS; i++) /* backwards in odd ones */
                        for (unsigned r = 0; r < RANKS; r++) {
                            const size_t l = bad % 2 ? LAYERS - 1 - i : i;
                            size_t at = 0;
                            for (size_t b = 0; b < l; b++) at += layers[b];
                            assert_int_equal(
                                tithe_exchange_put_layer(g->ex, r, 0, l, x + r * N + at, 1, &g->error),
                                TITHE_OK);
                        }
                    if (k == 1) {
                        char words[80];
                        snprintf(words, sizeof words,
                                 "Rank 1 has a gradient that is not finite at position %zu", begin);
                        assert_int_equal(tithe_exchange_finish(g->ex, g->update, &g->error), TITHE_E_SKIPPED);
                        expect(strstr(g->error.text, words), "%s: %s", variants[v].codec, g->error.text);
                        tithe_exchange_continue(clean->ex, 2, NULL, NULL);
                    } else {
                        group_finish(g);
                        group_put_all(clean, x, 1);
                        group_finish(clean);
                        assert_true(same_floats(g->update, clean->update, N));
                    }
                    free(x);
                }
                for (unsigned r = 0; r < RANKS && tithe_exchange_residual(g->ex, r); r++)
                    assert_true(same_floats(tithe_exchange_residual(g->ex, r),
                                            tithe_exchange_residual(clean->ex, r), N));
                const tithe_exchange_totals a = totals_of(g->ex), b = totals_of(clean->ex);
                assert_true(a.uplink_bytes == b.uplink_bytes && a.cost == b.cost && a.unsent == b.unsent &&
                            a.paper_bits == b.paper_bits && a.downlink_bytes == b.downlink_bytes &&
                            a.skipped == 1);
                group_free(g);
                group_free(clean);
            }
}

static void refused(tithe_status status, const tithe_error *error, const char *words)
{
    assert_int_equal(status, TITHE_E_ARGUMENT);
    expect(strstr(error->text, words) != NULL, "'%s' does not say '%s'", error->text, words);
}

/* Everything that is put twice, not at all, or in two ways; what is refused can be mended, with and without overlap. */
static void test_bad_order(void **state)
{
    (void)state;
    for (int overlap = 0; overlap < 2; overlap++) {
        group *g = make(&variants[1], 4 * 600, overlap, NULL),
              *same = make(&variants[1], 4 * 600, overlap, NULL);
        float *x = gradients_make(RANKS, N, 0);
        tithe_error *e = &g->error;
        refused(tithe_exchange_finish(g->ex, g->update, e), e, "Rank 0 was neither put nor skipped");
        assert_int_equal(tithe_exchange_put_layer(g->ex, 0, 0, 0, x, 1, e), TITHE_OK);
        refused(tithe_exchange_put_layer(g->ex, 0, 0, 0, x, 1, e), e, "Layer 0 of rank 0 was put twice");
        refused(tithe_exchange_put_layer(g->ex, 0, 0, 1, x + 500, 2, e), e, "step size 2, another one 1");
        refused(tithe_exchange_put_layer(g->ex, 0, 9, 1, x + 500, 1, e), e, "lane");
        refused(tithe_exchange_put(g->ex, 0, 0, x, 1, e), e, "one by one");
        refused(tithe_exchange_skip(g->ex, 0, 1, e), e, "one by one");
        refused(tithe_exchange_finish(g->ex, g->update, e), e, "Layer 1 of rank 0 was not put");
        for (size_t l = 1, at = 500; l < LAYERS; at += layers[l++])
            assert_int_equal(tithe_exchange_put_layer(g->ex, 0, 0, l, x + at, 1, e), TITHE_OK);
        refused(tithe_exchange_put_layer(g->ex, 0, 0, 3, x, 1, e), e, "Rank 0 was put twice");
        assert_int_equal(tithe_exchange_put(g->ex, 1, 0, x + N, 1, e), TITHE_OK);
        refused(tithe_exchange_put(g->ex, 1, 0, x + N, 1, e), e, "Rank 1 was put twice");
        refused(tithe_exchange_switch(g->ex, "tree", e), e, "A step has begun");
        refused(tithe_exchange_finish(g->ex, g->update, e), e, "Rank 2 was neither put nor skipped");
        assert_int_equal(tithe_exchange_put(g->ex, 2, 0, x + 2 * N, 1, e), TITHE_OK);
        group_finish(g);
        group_put_all(same, x, 1);
        group_finish(same);
        expect_same(g, same);
        assert_int_equal(tithe_exchange_switch(g->ex, "tree", e), TITHE_OK);
        group_put_all(g, x, 1);
        group_finish(g);
        assert_string_equal(last_of(g->ex).collective, "tree");
        free(x);
        group_free(g);
        group_free(same);
    }
}

static void test_bad_input(void **state)
{
    (void)state;
    tithe_exchange_config config;
    group *g = group_start(&(wanted){.codec = "topk:k=3", .feedback = "ec", .ranks = 2, .n = N}, &config);
    config.layers = layers;
    config.layer_count = LAYERS - 1; /* not all of the vector */
    config.bucket_bytes = 64;
    refused(tithe_exchange_create(&config, N, &g->ex, &g->error), &g->error, "The layers have 1828 numbers");
    config.bucket_bytes = 1 << 20;
    refused(tithe_exchange_create(&config, N, &g->ex, &g->error), &g->error, "The layers have 1828 numbers");
    config.bucket_bytes = 64;
    config.layer_count = LAYERS;
    assert_int_equal(tithe_exchange_create(&config, N, &g->ex, &g->error), TITHE_OK);
    refused(tithe_exchange_put_layer(g->ex, 0, 0, LAYERS, g->update, 1, &g->error), &g->error,
            "There are 6 layers");
    refused(tithe_exchange_put_layer(g->ex, 2, 0, 0, g->update, 1, &g->error), &g->error, "does not live");
    refused(tithe_exchange_put_layer(g->ex, 0, 0, 0, NULL, 1, &g->error), &g->error, "A gradient");
    group_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layout),
        cmocka_unit_test(test_overlap_changes_nothing),
        cmocka_unit_test(test_bucket_is_an_exchange),
        cmocka_unit_test(test_buckets_draw_apart),
        cmocka_unit_test(test_fusing_saves_messages),
        cmocka_unit_test(test_empty_layers),
        cmocka_unit_test(test_a_layer_is_not_finite),
        cmocka_unit_test(test_layers_in_foreign_buckets),
        cmocka_unit_test(test_described),
        cmocka_unit_test(test_failure_half_way),
        cmocka_unit_test(test_bad_order),
        cmocka_unit_test(test_bad_input),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
