/* test_remote.c - an exchange whose ranks live elsewhere: threads that share nothing but the queues of
 * queues.h. Same updates as with all ranks in one place, to the bit, and the same bytes. */
#include "exchange/group.h"
#include "queues.h"

enum { RANKS_HERE = 4, LENGTH = 701, STEPS = 5 };

typedef struct method {
    const char *codec, *feedback, *downlink, *downlink_feedback, *scheme, *collective, *leader;
    bool skips; /* ranks 1 and 3, in odd steps, or 0 and 2 */
} method;

static const method methods[] = {
    {.codec = "all|raw", .collective = "ring"},
    {.codec = "all|raw", .collective = "tree"},
    {.codec = "all|raw", .collective = "star"},
    {.codec = "all|raw", .collective = "direct"},
    {.codec = "topk:k=10", .feedback = "ec", .collective = "tree"},
    {.codec = "natural", .scheme = "gather", .collective = "tree"},
    {.codec = "topk:k=10", .feedback = "ec", .scheme = "artopk"},
    {.codec = "topk:k=10", .feedback = "ec", .scheme = "artopk", .leader = "variance", .collective = "tree"},
    {.codec = "topk:k=3", .feedback = "ec", .scheme = "artopk", .leader = "auto", .collective = "direct"},
    {.codec = "topk:keep=0.2|natural", .feedback = "ec", .scheme = "artopk", .leader = "variance"},
    {.codec = "topk:k=3|f16", .feedback = "ec", .scheme = "artopk"},
    {.codec = "mstopk:k=10", .feedback = "ec", .scheme = "artopk"},
    {.codec = "topk:k=10", .feedback = "ec"}, /* few bytes: frames are gathered */
    {.codec = "natural", .scheme = "gather"},
    {.codec = "natural"}, /* many: by the owners of parts */
    {.codec = "natural", .feedback = "ec", .collective = "ring"},
    {.codec = "all|raw", .scheme = "shards"},
    {.codec = "all|dither:s=7,bucket=64", .feedback = "ec", .collective = "ring"},
    {.codec = "all|dither:s=7", .downlink = "all|raw", .scheme = "shards"},
    {.codec = "topk:k=40", .feedback = "ec", .scheme = "shards"},
    {.codec = "topk:k=40|natural", .feedback = "ec", .scheme = "shards", .collective = "ring"},
    {.codec = "topk:k=40|natural", .feedback = "ef21", .scheme = "shards"},
    {.codec = "threshold:lambda=2", .feedback = "ec", .scheme = "shards", .collective = "ring"},
    {.codec = "randk:k=30", .feedback = "ec", .downlink = "topk:k=20", .scheme = "shards"},
    {.codec = "natural", .downlink = "threshold:lambda=4", .downlink_feedback = "ec", .scheme = "shards"},
    {.codec = "all|raw", .scheme = "gather"},
    {.codec = "topk:k=40|natural", .feedback = "ef21"},
    {.codec = "threshold:lambda=2", .feedback = "ec"},
    {.codec = "randk:k=30", .feedback = "ec"},
    {.codec = "natural", .downlink = "natural"},
    {.codec = "topk:k=10", .feedback = "ec", .downlink = "topk:k=20", .downlink_feedback = "ec"},
    {.codec = "topk:k=10", .feedback = "ec", .downlink = "threshold:lambda=4", .downlink_feedback = "ec"},
    {.codec = "natural", .scheme = "star"},
    {.codec = "topk:k=10", .feedback = "ec", .skips = true},
    {.codec = "all|raw", .skips = true},
    {.codec = "natural", .scheme = "star", .skips = true},
    {.codec = "natural", .feedback = "ec", .scheme = "shards", .skips = true},
    {.codec = "topk:k=40", .feedback = "ec", .scheme = "shards", .collective = "ring", .skips = true},
};

static wanted wanted_of(const method *m)
{
    return (wanted){.codec = m->codec,
                    .feedback = m->feedback,
                    .downlink = m->downlink,
                    .downlink_feedback = m->downlink_feedback,
                    .scheme = m->scheme,
                    .collective = m->collective,
                    .leader = m->leader,
                    .taking_part = m->skips ? RANKS_HERE / 2 : 0,
                    .ranks = RANKS_HERE,
                    .n = LENGTH};
}

static double gamma_at(unsigned step)
{
    return step < 3 ? 0.3 : 0.1;
}

static bool skips(const method *m, unsigned rank, unsigned step)
{
    return m->skips && rank % 2 == step % 2;
}

typedef struct process {
    pthread_t thread;
    const method *m;
    group *g;
    unsigned rank;
    float updates[STEPS][LENGTH];
    tithe_status status;
} process;

static void *run_process(void *argument)
{
    process *p = argument;
    tithe_exchange *ex = p->g->ex;
    tithe_error *error = &p->g->error;
    for (unsigned k = 0; k < STEPS && !p->status; k++) {
        float x[LENGTH];
        gradient_fill(x, LENGTH, p->rank, k);
        p->status = skips(p->m, p->rank, k) ? tithe_exchange_skip(ex, p->rank, gamma_at(k), error)
                                            : tithe_exchange_put(ex, p->rank, 0, x, gamma_at(k), error);
        if (!p->status) p->status = tithe_exchange_finish(ex, p->updates[k], error);
    }
    return NULL;
}

/* What a rank keeps of the part that it owns is what that part keeps where all are in one place. */
static void check_owned(tithe_exchange *apart, tithe_exchange *here, unsigned rank)
{
    size_t begin;
    const size_t count = tithe_exchange_owned(apart, rank, 0, &begin);
    const float *kept = tithe_exchange_server_residual(apart);
    if (count && kept)
        assert_true(same_floats(kept + begin, tithe_exchange_server_residual(here) + begin, count));
}

static void check_method(const method *m)
{
    network net;
    network_open(&net, RANKS_HERE + 1);
    static process all[RANKS_HERE];
    const wanted w = wanted_of(m);
    for (unsigned r = 0; r < RANKS_HERE; r++) {
        tithe_exchange_config config;
        group *g = group_start(&w, &config);
        g->comm.first = r;
        g->comm.local = 1;
        g->comm.transport = &queues;
        g->comm.self = &net;
        g->comm.timeout = 60;
        all[r] = (process){.m = m, .g = g, .rank = r};
        expect(tithe_exchange_create(&config, LENGTH, &g->ex, &g->error) == TITHE_OK, "%s: %s", m->codec,
               g->error.text);
    }
    for (unsigned r = 0; r < RANKS_HERE; r++)
        assert_int_equal(pthread_create(&all[r].thread, NULL, run_process, &all[r]), 0);
    for (unsigned r = 0; r < RANKS_HERE; r++) pthread_join(all[r].thread, NULL);

    group *here = group_make(&w);
    for (unsigned k = 0; k < STEPS; k++) {
        float x[LENGTH];
        for (unsigned r = 0; r < RANKS_HERE; r++) {
            gradient_fill(x, LENGTH, r, k);
            const tithe_status status =
                skips(m, r, k) ? tithe_exchange_skip(here->ex, r, gamma_at(k), &here->error)
                               : tithe_exchange_put(here->ex, r, 0, x, gamma_at(k), &here->error);
            assert_int_equal(status, TITHE_OK);
        }
        group_finish(here);
        for (unsigned r = 0; r < RANKS_HERE; r++) {
            expect(all[r].status == TITHE_OK, "%s: rank %u: %s", m->codec, r, all[r].g->error.text);
            for (size_t i = 0; i < LENGTH; i++)
                expect(all[r].updates[k][i] == here->update[i],
                       "%s %s: rank %u, step %u: %.9g at %zu, not %.9g", m->codec, last_of(here->ex).scheme,
                       r, k, (double)all[r].updates[k][i], i, (double)here->update[i]);
        }
    }
    const tithe_exchange_totals wanted_total = totals_of(here->ex);
    double up = 0, down = 0, sent = 0, cost = 0;
    for (unsigned r = 0; r < RANKS_HERE; r++) {
        const tithe_exchange_totals t = totals_of(all[r].g->ex);
        up += t.uplink_bytes;
        down += t.downlink_bytes;
        sent += t.sent_bytes;
        cost += t.cost;
        if (here->feedback->keeps)
            assert_true(same_floats(tithe_exchange_residual(all[r].g->ex, r),
                                    tithe_exchange_residual(here->ex, r), LENGTH));
        assert_null(tithe_exchange_residual(all[r].g->ex, (r + 1) % RANKS_HERE));
        check_owned(all[r].g->ex, here->ex, r);
    }
    expect(up == wanted_total.uplink_bytes && down == wanted_total.downlink_bytes &&
               cost == wanted_total.cost,
           "%s: up %g (%g), down %g (%g)", m->codec, up, wanted_total.uplink_bytes, down,
           wanted_total.downlink_bytes);
    expect(sent == wanted_total.sent_bytes, "%s: %g sent, not %g", m->codec, sent, wanted_total.sent_bytes);
    expect(network_is_empty(&net), "%s: a message is left over", m->codec);
    for (unsigned r = 0; r < RANKS_HERE; r++) group_free(all[r].g);
    group_free(here);
    network_close(&net);
}

static void updates_are_the_same_over_a_transport(void **state)
{
    (void)state;
    for (size_t m = 0; m < sizeof methods / sizeof *methods; m++) check_method(&methods[m]);
}

/* Rank 1 never comes: whoever waits is told whom for, and may say so to the others. */
static void absence_is_noticed(void **state)
{
    (void)state;
    static const char *const schemes[] = {"dense", "gather", "star", "shards"};
    for (unsigned s = 0; s < 4; s++) {
        network net;
        network_open(&net, 3);
        tithe_exchange_config config;
        group *g =
            group_start(&(wanted){.codec = "all|raw", .scheme = schemes[s], .ranks = 2, .n = 8}, &config);
        g->comm.local = 1;
        g->comm.transport = &queues;
        g->comm.self = &net;
        g->comm.timeout = 0.01;
        assert_int_equal(tithe_exchange_create(&config, 8, &g->ex, &g->error), TITHE_OK);
        float x[8] = {1, 2, 3};
        assert_int_equal(tithe_exchange_step(g->ex, x, 0.5, &g->error), TITHE_E_TIMEOUT);
        assert_non_null(strstr(g->error.text, "Rank 1"));
        group_free(g);
        network_close(&net);
    }
}

/* Frames travel between processes with one rank each; whole gradients between any. */
static void several_ranks_in_a_process_are_refused(void **state)
{
    (void)state;
    static const char *const schemes[] = {"dense", "gather", "star", "shards"};
    for (unsigned s = 0; s < 4; s++) {
        tithe_exchange_config config;
        group *g =
            group_start(&(wanted){.codec = "all|raw", .scheme = schemes[s], .ranks = 4, .n = 8}, &config);
        g->comm.local = 2;
        g->comm.transport = &queues;
        const tithe_status status = tithe_exchange_create(&config, 8, &g->ex, &g->error);
        assert_int_equal(status, s == 0 ? TITHE_OK : TITHE_E_SPEC);
        if (s) assert_non_null(strstr(g->error.text, "one rank"));
        group_free(g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(several_ranks_in_a_process_are_refused),
        cmocka_unit_test(updates_are_the_same_over_a_transport),
        cmocka_unit_test(absence_is_noticed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
