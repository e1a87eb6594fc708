/* test_aggregation.c - the scheme 'switch', over one that is simulated: sums as they would be without it, bytes as stated, and
 * nothing lost but what the switch itself rounds. */
#include "codec/integers.h"
#include "exchange/group.h"

enum { STEPS = 4 };

/* ---- the generator of docs/format.md, written once more ---------------------------------------------------- */

static uint64_t mix(uint64_t z)
{
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static const uint64_t golden = UINT64_C(0x9e3779b97f4a7c15), silver = UINT64_C(0xd1342543de82ef95);

static uint64_t draw_of(uint64_t step, uint64_t ranks)
{
    const uint64_t words[] = {SEED, step << 32 | ranks, 2};
    uint64_t a = 0, b = silver;
    for (int i = 0; i < 3; i++) {
        a = mix((a ^ words[i]) + golden);
        b = mix((b ^ words[i]) + golden);
    }
    return mix(a + b);
}

/* ---- sums -------------------------------------------------------------------------------------------------- */

/* The frames of all ranks, added in doubles, which is exact for powers of two, and rounded as the page says: the same bits. */
static void natural_is_the_reduction_of_its_frames(void **state)
{
    (void)state;
    static const unsigned sizes[] = {1, 2, 3, 4, 7};
    enum { N = 5000 };
    static float v[N];
    for (unsigned z = 0; z < 5; z++) {
        const unsigned ranks = sizes[z];
        const wanted w = {.codec = "all|natural", .scheme = "switch", .ranks = ranks, .n = N};
        group *g = group_make(&w);
        for (unsigned k = 0; k < STEPS; k++) {
            float *x = gradients_make(ranks, N, k);
            double *sum = calloc(N, sizeof *sum);
            for (unsigned r = 0; r < ranks; r++) {
                message(g->codec, k, r, 0, x + r * N, N, v);
                for (size_t i = 0; i < N; i++) sum[i] += (double)v[i];
            }
            group_put_all(g, x, 0.25);
            group_finish(g);
            for (size_t i = 0; i < N; i++) {
                double largest = 0;
                for (unsigned r = 0; r < ranks; r++)
                    for (size_t j = i / 256 * 256; j < N && j < i / 256 * 256 + 256; j++)
                        largest = fmax(largest, fabs((double)x[r * N + j]));
                /* exponents up to that of `largest`, rounded up: 31 - ceil(log2 ranks) of them */
                const double unit = exp2(ceil(log2(largest)) + 1 - integers_window(ranks));
                const double t = fabs(sum[i]) / unit;
                assert_true(t == floor(t));
                double value = 0;
                if (t > 0) {
                    const int h = ilogb(t);
                    const uint64_t r = mix(draw_of(k, ranks) + i * golden) & ((UINT64_C(1) << h) - 1);
                    value = copysign(ldexp(unit, h + ((double)r < t - ldexp(1, h))), sum[i]);
                }
                const float expected = (float)(0.25 / ranks) * (float)value;
                expect(g->update[i] == expected, "%u ranks, step %u: %g at %zu, not %g", ranks, k,
                       (double)g->update[i], i, (double)expected);
            }
            free(sum);
            free(x);
        }
        group_free(g);
    }
}

/* N times what is applied, and what ranks keep, are all gradients, where the switch adds without rounding. */
static void nothing_is_lost(void **state)
{
    (void)state;
    static const char *const codecs[] = {"all|int32", "all|int32:block=50", "all|dither:s=7",
                                         "all|dither:s=3,bucket=64"};
    for (unsigned c = 0; c < 4; c++)
        for (unsigned ranks = 1; ranks <= 7; ranks++) {
            const wanted w = {
                .codec = codecs[c], .feedback = "ec", .scheme = "switch", .ranks = ranks, .n = 777};
            group *g = group_make(&w);
            double applied[777] = {0}, given[777] = {0};
            for (unsigned k = 0; k < STEPS; k++) {
                float *x = gradients_make(ranks, w.n, k);
                group_put_all(g, x, 0.25);
                group_finish(g);
                for (size_t i = 0; i < w.n; i++) applied[i] += ranks * (double)g->update[i];
                for (size_t i = 0; i < ranks * w.n; i++) given[i % w.n] += 0.25 * (double)x[i];
                free(x);
            }
            for (size_t i = 0; i < w.n; i++) {
                double kept = 0;
                for (unsigned r = 0; r < ranks; r++) kept += (double)tithe_exchange_residual(g->ex, r)[i];
                expect(fabs(applied[i] + kept - given[i]) <= 1e-4, "%s, %u ranks: %g + %g, not %g", codecs[c],
                       ranks, applied[i], kept, given[i]);
            }
            group_free(g);
        }
}

/* Of one gradient in many steps the mean update is the mean gradient: two roundings, and no bias. */
static void the_mean_is_the_mean(void **state)
{
    (void)state;
    enum { N = 64, RANKS = 3, TRIALS = 6000 };
    static const char *const codecs[] = {"all|natural", "all|dither:s=2", "all|int32"};
    for (unsigned c = 0; c < 3; c++) {
        const wanted w = {.codec = codecs[c], .scheme = "switch", .ranks = RANKS, .n = N};
        group *g = group_make(&w);
        float *x = gradients_make(RANKS, N, 1);
        double total[N] = {0}, squares[N] = {0};
        for (unsigned t = 0; t < TRIALS; t++) {
            group_put_all(g, x, 1);
            group_finish(g);
            for (size_t i = 0; i < N; i++) {
                total[i] += (double)g->update[i];
                squares[i] += (double)g->update[i] * (double)g->update[i];
            }
        }
        for (size_t i = 0; i < N; i++) {
            double mean = 0;
            for (unsigned r = 0; r < RANKS; r++) mean += (double)x[r * N + i] / RANKS;
            const double got = total[i] / TRIALS,
                         spread = sqrt(fmax(0, squares[i] / TRIALS - got * got) / TRIALS);
            expect(fabs(got - mean) <= 6.5 * spread + 1e-6 * fabs(mean), "%s: %g, not %g, give or take %g",
                   codecs[c], got, mean, spread);
        }
        free(x);
        group_free(g);
    }
}

/* ---- bytes ------------------------------------------------------------------------------------------------- */

/* What is counted is what is stated; natural stays below nine bits each way, whatever the number of ranks; what dithering gets
 * back grows with its logarithm. */
static void bytes_are_as_stated(void **state)
{
    (void)state;
    enum { N = 20000 };
    double natural = 0, before = 0;
    for (unsigned ranks = 1; ranks <= 64; ranks *= 2)
        for (unsigned c = 0; c < 3; c++) {
            static const char *const codecs[] = {"all|natural", "all|dither:s=7", "all|int32"};
            const wanted w = {.codec = codecs[c], .scheme = "switch", .ranks = ranks, .n = N};
            group *g = group_make(&w);
            float *x = gradients_make(ranks, N, 0);
            group_put_all(g, x, 1);
            group_finish(g);
            const tithe_exchange_totals t = totals_of(g->ex);
            tithe_rounds rounds;
            tithe_exchange_rounds(g->ex, 0, &rounds);
            assert_true(t.sent_bytes == tithe_rounds_sent(&rounds));
            assert_true(t.sent_messages == tithe_rounds_messages(&rounds));
            assert_true(t.uplink_bytes + t.downlink_bytes == t.sent_bytes);
            const double up = t.uplink_bytes / ranks, down = t.downlink_bytes / ranks;
            const double heads = 36 * t.sent_messages / 2 / ranks;
            if (c == 0) {
                assert_true(up == down && up - heads <= 9.0 / 8 * N);
                assert_true(ranks == 1 || up == natural);
                natural = up;
            } else if (c == 1) {
                const double bits = ceil(log2(14.0 * ranks + 1)), packed = ceil(bits * N / 8);
                assert_true(down - heads == packed + 4 && up - heads == 4.0 * N / 8 + 4);
                assert_true(down > before);
                before = down;
            }
            free(x);
            group_free(g);
        }
}

/* A thousand workers, as `train --network` asks for them: bytes of each as with two. */
static void a_thousand_workers(void **state)
{
    (void)state;
    enum { RANKS = 1000, N = 600 };
    const wanted w = {.codec = "all|natural", .scheme = "switch", .ranks = RANKS, .n = N};
    group *g = group_make(&w);
    float *x = gradients_make(RANKS, N, 0);
    group_put_all(g, x, 1);
    group_finish(g);
    const tithe_link link = {.latency = 1e-3, .bandwidth = 1e6};
    const double bytes = N + 36 + 3 + 36;
    assert_true(totals_of(g->ex).uplink_bytes == RANKS * bytes);
    const double seconds = tithe_exchange_seconds(g->ex, &link);
    expect(fabs(seconds - (4e-3 + 2 * bytes / 1e6)) < 1e-12, "%g s", seconds);
    double off = 0, size = 0;
    for (size_t i = 0; i < N; i++) {
        double mean = 0;
        for (unsigned r = 0; r < RANKS; r++) mean += (double)x[r * N + i] / RANKS;
        off += pow((double)g->update[i] - mean, 2);
        size += mean * mean;
    }
    assert_true(off < 0.25 * size);
    free(x);
    group_free(g);
}

/* ---- all else ---------------------------------------------------------------------------------------------- */

/* Threads, buckets and what was measured change no bit; a bucket has numbers of its own. */
static void threads_change_nothing(void **state)
{
    (void)state;
    tithe_pool *pool = NULL;
    assert_int_equal(tithe_pool_create(3, &pool, NULL), TITHE_OK);
    wanted w = {.codec = "all|natural", .feedback = "ec", .scheme = "switch", .ranks = 5, .n = 30000};
    group *one = group_make(&w);
    w.pool = pool;
    w.lanes = 3;
    w.measure = true;
    group *more = group_make(&w);
    for (unsigned k = 0; k < STEPS; k++) {
        float *x = gradients_make(w.ranks, w.n, k);
        group_put_all(one, x, 0.5);
        group_put_all(more, x, 0.5);
        group_finish(one);
        group_finish(more);
        assert_true(same_floats(one->update, more->update, w.n));
        for (unsigned r = 0; r < w.ranks; r++)
            assert_true(
                same_floats(tithe_exchange_residual(one->ex, r), tithe_exchange_residual(more->ex, r), w.n));
        const tithe_exchange_record last = last_of(more->ex);
        assert_true(last.kept > 0.5 && last.kept <= 1 && last.unsent > 0 && last.unsent < last.energy);
        free(x);
    }
    group_free(one);
    group_free(more);
    tithe_pool_free(pool);
    tithe_comm comm = ranks_here(2);
    tithe_exchange *ex = NULL;
    tithe_error error = {0};
    static float g[3000], update[3000];
    expect(tithe_exchange_open(&comm, "codec=all|int32;scheme=switch;bucket=4kB", 3000, &ex, &error) ==
               TITHE_OK,
           "%s", error.text);
    assert_int_equal(tithe_exchange_buckets(ex), 3);
    gradient_fill(g, 3000, 0, 0);
    for (unsigned r = 0; r < 2; r++) assert_int_equal(tithe_exchange_put(ex, r, 0, g, 1, NULL), TITHE_OK);
    assert_int_equal(tithe_exchange_finish(ex, update, NULL), TITHE_OK);
    for (size_t i = 0; i < 3000; i++) assert_true(fabsf(update[i] - g[i]) <= 1e-6f * fabsf(g[i]) + 1e-6f);
    tithe_exchange_free(ex);
}

static void expect_refused(const char *options, const char *word)
{
    tithe_comm comm = ranks_here(4);
    tithe_exchange *ex = NULL;
    tithe_error error = {0};
    const tithe_status status = tithe_exchange_open(&comm, options, 1000, &ex, &error);
    expect(status == TITHE_E_SPEC && strstr(error.text, word), "%s: %d, %s", options, status, error.text);
}

static void what_cannot_be_summed_is_refused(void **state)
{
    (void)state;
    expect_refused("scheme=switch", "whole numbers");
    expect_refused("scheme=switch;codec=topk:keep=0.1", "whole numbers");
    expect_refused("scheme=switch;codec=topk:keep=0.1|natural", "whole numbers");
    expect_refused("scheme=switch;codec=all|natural:bits=8", "bits=8");
    expect_refused("scheme=switch;codec=all|dither:code=elias", "elias");
    expect_refused("scheme=switch;codec=all|dither:norm=natural", "norm=natural");
    expect_refused("scheme=switch;codec=all|natural;downlink=natural", "downlink");
    expect_refused("scheme=switch;codec=all|natural;feedback=ef21", "ef21");
    expect_refused("scheme=switch;codec=all|dither:s=20,scale=unbiased;feedback=ec", "contractive");
    const wanted w = {.codec = "all|natural", .scheme = "switch", .ranks = 2, .n = 10};
    group *g = group_make(&w);
    const float x[10] = {0, 1};
    assert_int_equal(tithe_exchange_put(g->ex, 0, 0, x, 1, &g->error), TITHE_OK);
    assert_int_equal(tithe_exchange_skip(g->ex, 1, 1, &g->error), TITHE_OK);
    assert_int_equal(tithe_exchange_finish(g->ex, g->update, &g->error), TITHE_E_ARGUMENT);
    group_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(natural_is_the_reduction_of_its_frames),
        cmocka_unit_test(nothing_is_lost),
        cmocka_unit_test(the_mean_is_the_mean),
        cmocka_unit_test(bytes_are_as_stated),
        cmocka_unit_test(a_thousand_workers),
        cmocka_unit_test(threads_change_nothing),
        cmocka_unit_test(what_cannot_be_summed_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
