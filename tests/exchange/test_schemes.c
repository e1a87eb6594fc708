/* test_schemes.c - one step under every scheme, against the same step by codec calls alone: the update, and the four
 * numbers that are never mixed. */
#include "exchange/group.h"

enum { RANKS = 5, N = 1003, STEPS = 3 };
static const double gamma_of_step[STEPS] = {0.25, 0.25, 0.03125};

static const char *const codecs[] = {"all|raw",           "natural",
                                     "topk:k=40|natural", "topk:keep=0.05|sign",
                                     "randk:k=100",       "threshold:lambda=3",
                                     "all|dither:s=7",    "stochastic:k=60"};

/* What should have been counted so far. */
typedef struct account {
    double up, down, cost, down_cost, paper;
} account;

static double packets(double bytes)
{
    return 64 + 576 * ceil(bytes / 512);
}

static void check_totals(const group *g, const account *a, const char *what)
{
    const tithe_exchange_totals t = totals_of(g->ex);
    expect(t.uplink_bytes == a->up && t.downlink_bytes == a->down && t.cost == a->cost &&
               t.downlink_cost == a->down_cost && fabs(t.paper_bits - a->paper) <= 1e-9 * a->paper,
           "%s: up %g (%g), down %g (%g), cost %g (%g), %g (%g), paper %g (%g)", what, t.uplink_bytes, a->up,
           t.downlink_bytes, a->down, t.cost, a->cost, t.downlink_cost, a->down_cost, t.paper_bits, a->paper);
}

static double raw_bytes(void)
{
    static float zeros[N], v[N];
    tithe_codec *raw = codec_of("all|raw");
    const tithe_frame_info info = message(raw, 0, 0, 0, zeros, N, v);
    tithe_codec_free(raw);
    return (double)info.bytes;
}

/* Without a codec in between, the update is the mean of the gradients times gamma. */
static void dense_is_the_mean(void **state)
{
    (void)state;
    static const char *const collectives[] = {"ring", "tree", "star", NULL};
    for (unsigned c = 0; c < 4; c++) {
        group *g = group_make(&(wanted){.codec = "all|raw",
                                        .ranks = RANKS,
                                        .n = N,
                                        .collective = collectives[c],
                                        .cost = "packet:c0=64,c1=576,payload=512"});
        account a = {0};
        for (unsigned k = 0; k < STEPS; k++) {
            float *x = gradients_make(RANKS, N, k);
            double mean[N] = {0};
            for (unsigned r = 0; r < RANKS; r++)
                for (size_t i = 0; i < N; i++) mean[i] += gamma_of_step[k] * (double)x[r * N + i] / RANKS;
            group_put_all(g, x, gamma_of_step[k]);
            group_finish(g);
            assert_true(near_floats(g->update, mean, N, RANKS + 2, 40));
            a.up += RANKS * raw_bytes();
            a.down += 2.0 * (RANKS - 1) * N * sizeof(float); /* what all send, all receive */
            a.cost += RANKS * packets(raw_bytes());
            /* parts of a fifth around the ring; whole vectors up and down a tree, and to and from one rank */
            const bool ring = !collectives[c] || strcmp(collectives[c], "ring") == 0;
            a.down_cost += ring ? RANKS * 2.0 * (RANKS - 1) * packets(ceil(N * sizeof(float) / (double)RANKS))
                                : 2.0 * (RANKS - 1) * packets(N * sizeof(float));
            a.paper += RANKS * 32.0 * N;
            check_totals(g, &a, "dense");
            const tithe_exchange_record last = last_of(g->ex);
            assert_string_equal(last.scheme, "dense");
            assert_string_equal(last.collective, collectives[c] ? collectives[c] : "ring");
            assert_true(last.step == k && last.level == N && last.level_least == N && last.level_most == N);
            free(x);
        }
        const double sent = totals_of(g->ex).sent_bytes;
        assert_true(sent == STEPS * 2.0 * (RANKS - 1) * N * sizeof(float));
        group_free(g);
    }
}

/* gather: u = sum in rank order of (gamma / ranks) C(g_r). Everybody gets everybody's frame, lengths first. */
static void check_gather(const char *spec, unsigned ranks)
{
    group *g = group_make(&(wanted){.codec = spec,
                                    .ranks = ranks,
                                    .n = N,
                                    .scheme = "gather",
                                    .cost = "packet:c0=64,c1=576,payload=512"});
    account a = {0};
    double sent = 0;
    for (unsigned k = 0; k < STEPS; k++) {
        float *x = gradients_make(ranks, N, k), v[N], u[N] = {0};
        double step_bytes = 0, step_cost = 0, entries = 0, min = INFINITY, max = 0;
        const float weight = (float)(gamma_of_step[k] / ranks);
        for (unsigned r = 0; r < ranks; r++) {
            const tithe_frame_info info = message(g->codec, k, r, 0, x + r * N, N, v);
            for (size_t i = 0; i < N; i++) u[i] += weight * v[i];
            step_bytes += (double)info.bytes;
            step_cost += packets((double)info.bytes);
            a.paper += tithe_codec_paper_bits(g->codec, N, info.entries);
            entries += (double)info.entries;
            min = fmin(min, (double)info.entries);
            max = fmax(max, (double)info.entries);
        }
        group_put_all(g, x, gamma_of_step[k]);
        group_finish(g);
        for (size_t i = 0; i < N; i++)
            expect(g->update[i] == u[i], "%s step %u: %.9g at %zu, not %.9g", spec, k, (double)g->update[i],
                   i, (double)u[i]);
        a.up += step_bytes;
        a.down += (ranks - 1) * step_bytes; /* each frame comes to all others */
        a.cost += step_cost;
        a.down_cost += (ranks - 1) * step_cost;
        check_totals(g, &a, spec);
        sent += (ranks - 1) * (TITHE_LENGTH_BYTES * (double)ranks + step_bytes);
        const tithe_exchange_record last = last_of(g->ex);
        assert_true(fabs(last.level - entries / ranks) < 1e-9 && last.level_least == min &&
                    last.level_most == max);
        assert_true(isnan(last.energy) && isnan(last.unsent) && isnan(last.residual)); /* was not asked for */
        assert_string_equal(last.collective, "allgather");
        free(x);
    }
    expect(totals_of(g->ex).sent_bytes == sent, "%s, %u ranks: %g sent, not %g", spec, ranks,
           totals_of(g->ex).sent_bytes, sent);
    group_free(g);
}

static void gather_adds_frames_in_rank_order(void **state)
{
    (void)state;
    for (size_t c = 0; c < sizeof codecs / sizeof *codecs; c++) {
        check_gather(codecs[c], 1);
        check_gather(codecs[c], 2);
        check_gather(codecs[c], RANKS);
    }
}

/* star: S = sum in rank order of C(g_r), u = (gamma / ranks) C_M(S), drawn as the rank behind the last. */
static void check_star(const char *spec, const char *downlink)
{
    group *g = group_make(&(wanted){.codec = spec,
                                    .ranks = RANKS,
                                    .n = N,
                                    .downlink = downlink,
                                    .scheme = downlink ? NULL : "star",
                                    .cost = "packet:c0=64,c1=576,payload=512"});
    tithe_codec *down = codec_of(downlink ? downlink : "all|raw");
    account a = {0};
    double sent = 0;
    for (unsigned k = 0; k < STEPS; k++) {
        float *x = gradients_make(RANKS, N, k), v[N], sum[N] = {0};
        for (unsigned r = 0; r < RANKS; r++) {
            const tithe_frame_info info = message(g->codec, k, r, 0, x + r * N, N, v);
            for (size_t i = 0; i < N; i++) sum[i] += v[i];
            a.up += (double)info.bytes;
            a.cost += packets((double)info.bytes);
            a.paper += tithe_codec_paper_bits(g->codec, N, info.entries);
            if (r > 0) sent += 16 + (double)info.bytes; /* the server is rank 0, and sends itself nothing */
        }
        const tithe_frame_info info = message(down, k, RANKS, 0, sum, N, v);
        a.down += RANKS * (double)info.bytes;
        a.down_cost += RANKS * packets((double)info.bytes);
        sent += (RANKS - 1) * (8 + (double)info.bytes);
        group_put_all(g, x, gamma_of_step[k]);
        group_finish(g);
        const float weight = (float)(gamma_of_step[k] / RANKS);
        for (size_t i = 0; i < N; i++)
            expect(g->update[i] == weight * v[i], "%s and %s, step %u: %.9g at %zu, not %.9g", spec,
                   downlink ? downlink : "nothing", k, (double)g->update[i], i, (double)(weight * v[i]));
        check_totals(g, &a, spec);
        assert_string_equal(last_of(g->ex).scheme, "star");
        free(x);
    }
    assert_true(totals_of(g->ex).sent_bytes == sent);
    tithe_codec_free(down);
    group_free(g);
}

static void star_compresses_the_sum(void **state)
{
    (void)state;
    for (size_t c = 0; c < sizeof codecs / sizeof *codecs; c++) {
        check_star(codecs[c], NULL);
        check_star(codecs[c], "natural");
        check_star(codecs[c], "topk:k=30");
    }
}

/* The papers' bits in place of the frames', and bits in place of packets. */
static void costs_can_be_the_papers(void **state)
{
    (void)state;
    group *g = group_make(&(wanted){.codec = "topk:k=40",
                                    .downlink = "topk:k=10",
                                    .feedback = "ec",
                                    .ranks = RANKS,
                                    .n = N,
                                    .count_paper = true});
    float *x = gradients_make(RANKS, N, 0);
    group_put_all(g, x, 0.5);
    group_finish(g);
    const tithe_exchange_totals t = totals_of(g->ex);
    const double entry = 32 + 10; /* ceil(log2 1003) */
    assert_true(t.cost == RANKS * 40 * entry && t.paper_bits == t.cost &&
                t.downlink_cost == RANKS * 10 * entry);
    assert_true(t.uplink_bytes < t.cost / 8 * 1.5 && t.uplink_bytes > 0);
    free(x);
    group_free(g);
}

/* Two exchanges over the same ranks, as for two tensors: each counts its own. */
static void totals_are_of_one_exchange(void **state)
{
    (void)state;
    group *g = group_make(&(wanted){.codec = "all|raw", .ranks = RANKS, .n = N});
    tithe_exchange *other = NULL;
    assert_int_equal(tithe_exchange_create(&(tithe_exchange_config){.size = sizeof(tithe_exchange_config),
                                                                    .comm = &g->comm,
                                                                    .codec = g->codec},
                                           N, &other, NULL),
                     TITHE_OK);
    float *x = gradients_make(RANKS, N, 0);
    for (unsigned k = 0; k < 2; k++) {
        group_put_all(g, x, 0.5);
        group_finish(g);
        for (unsigned r = 0; r < RANKS; r++) tithe_exchange_put(other, r, 0, x, 0.5, NULL);
        assert_int_equal(tithe_exchange_finish(other, g->update, NULL), TITHE_OK);
    }
    const double each = 2 * 2.0 * (RANKS - 1) * N * sizeof(float);
    assert_true(totals_of(g->ex).sent_bytes == each && totals_of(other).sent_bytes == each);
    assert_true((double)g->comm.sent_bytes == 2 * each);
    tithe_exchange_free(other);
    free(x);
    group_free(g);
}

static void auto_follows_the_contract(void **state)
{
    (void)state;
    static const struct {
        const char *codec, *downlink, *feedback, *scheme;
    } rows[] = {{"all|raw", NULL, NULL, "dense"},     {"raw", NULL, NULL, "dense"},
                {"all|raw", NULL, "ec", "shards"},    {"natural", NULL, NULL, "shards"},
                {"topk:k=3", NULL, "ec", "gather"},   {"topk:k=3", NULL, "ef21", "gather"},
                {"topk:k=9", NULL, "ec", "shards"},   {"threshold:lambda=1", NULL, "ec", "gather"},
                {"randk:k=3", NULL, NULL, "gather"},  {"stochastic:k=1", NULL, NULL, "gather"},
                {"all|raw", "all|raw", NULL, "star"}, {"topk:k=3", "natural", "ec", "star"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (unsigned named = 0; named < 2; named++) {
            group *g = group_make(&(wanted){.codec = rows[i].codec,
                                            .downlink = rows[i].downlink,
                                            .feedback = rows[i].feedback,
                                            .scheme = named ? "auto" : NULL,
                                            .collective = named ? "auto" : NULL,
                                            .ranks = 3,
                                            .n = 10});
            assert_string_equal(last_of(g->ex).scheme, rows[i].scheme);
            group_free(g);
        }
}

static void empty_vectors_are_fine(void **state)
{
    (void)state;
    static const char *const schemes[] = {"dense", "gather", "star"};
    for (unsigned s = 0; s < 6; s++) {
        group *g = group_make(
            &(wanted){.codec = "all|raw", .scheme = schemes[s % 3], .ranks = 3, .n = 0, .measure = s >= 3});
        for (unsigned r = 0; r < 3; r++)
            assert_int_equal(tithe_exchange_put(g->ex, r, 0, NULL, 1, NULL), TITHE_OK);
        group_finish(g);
        group_free(g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dense_is_the_mean),          cmocka_unit_test(gather_adds_frames_in_rank_order),
        cmocka_unit_test(star_compresses_the_sum),    cmocka_unit_test(costs_can_be_the_papers),
        cmocka_unit_test(totals_are_of_one_exchange), cmocka_unit_test(auto_follows_the_contract),
        cmocka_unit_test(empty_vectors_are_fine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
