/* test_serve.c - a server that is no trainer: it opens what the workers open from text, and the sum is that of ranks in one
 * place, to the bit. Processes are threads over the queues of queues.h. */
#include "aggregate/reduction.h"
#include "exchange/group.h"
#include "queues.h"

enum { RANKS = 3, N = 500, STEPS = 4, EXCHANGES = 2 };

static const char *const options[][EXCHANGES] = {
    {"codec=natural;downlink=natural", "codec=topk:keep=0.1;scheme=star"},
    {"codec=topk:k=20;downlink=topk:k=40;downlink-feedback=ec;bucket=400B", ""},
    {"codec=topk|sign;cost=802.15.4;downlink=topk|sign;downlink-feedback=ec", "codec=topk:keep=0.1"},
    {"codec=threshold:lambda=2;scheme=star", "codec=natural;scheme=star;seed=9"},
};
static const size_t layers[] = {100, 250, 0, 150};

typedef struct process {
    pthread_t thread;
    tithe_comm *comm;
    unsigned rank;
    const char *const *options;
    float updates[EXCHANGES][STEPS][N];
    tithe_status status;
    tithe_error error;
} process;

static void *work(void *argument)
{
    process *p = argument;
    tithe_exchange *ex[EXCHANGES] = {NULL};
    for (unsigned e = 0; e < EXCHANGES && !p->status; e++)
        p->status = tithe_exchange_open_layers(p->comm, p->options[e], layers, 4, &ex[e], &p->error);
    for (unsigned k = 0; k < STEPS; k++)
        for (unsigned e = EXCHANGES;
             e-- > 0 && !p->status;) { /* not in the order in which they were opened */
            gradient_fill(p->updates[e][k], N, p->rank, k);
            p->status = tithe_exchange_step(ex[e], p->updates[e][k], 0.25, &p->error);
        }
    if (p->status) tithe_comm_give_up(p->comm, p->error.text); /* must not drown what the handshake says */
    for (unsigned e = 0; e < EXCHANGES; e++) tithe_exchange_free(ex[e]);
    tithe_comm_free(p->comm); /* the first one sends the server home */
    return NULL;
}

static void *serve(void *argument)
{
    process *p = argument;
    p->status = tithe_serve(p->comm, &p->error);
    tithe_comm_free(p->comm);
    return NULL;
}

/* Ranks below `switches` have one. */
static void run_all(process *all, const char *const *const *each, unsigned switches)
{
    network net;
    network_open(&net, RANKS + 1);
    for (unsigned r = 0; r <= RANKS; r++) {
        const tithe_place place = {.size = sizeof place,
                                   .ranks = RANKS,
                                   .first = r,
                                   .local = r < RANKS,
                                   .server = RANKS,
                                   .timeout = 60};
        all[r] = (process){.rank = r, .options = each[r]};
        assert_int_equal(tithe_comm_custom(&queues, &net, &place, &all[r].comm, NULL), TITHE_OK);
        void *self = NULL;
        if (r >= switches) continue;
        assert_int_equal(ti_simulated_switch(RANKS, &self, NULL), TITHE_OK);
        ti_comm_attach(all[r].comm, &ti_aggregator_simulated, self);
    }
    for (unsigned r = 0; r <= RANKS; r++)
        assert_int_equal(pthread_create(&all[r].thread, NULL, r < RANKS ? work : serve, &all[r]), 0);
    for (unsigned r = 0; r <= RANKS; r++) pthread_join(all[r].thread, NULL);
    network_close(&net);
}

static void expect_sum(const process *all, unsigned e)
{
    tithe_comm comm = ranks_here(RANKS);
    tithe_exchange *ex = NULL;
    tithe_error error = {0};
    static float update[N];
    expect(tithe_exchange_open_layers(&comm, all[0].options[e], layers, 4, &ex, &error) == TITHE_OK, "%s",
           error.text);
    for (unsigned k = 0; k < STEPS; k++) {
        float *x = gradients_make(RANKS, N, k);
        for (unsigned r = 0; r < RANKS; r++)
            assert_int_equal(tithe_exchange_put(ex, r, 0, x + (size_t)r * N, 0.25, &error), TITHE_OK);
        assert_int_equal(tithe_exchange_finish(ex, update, &error), TITHE_OK);
        for (unsigned r = 0; r < RANKS; r++)
            expect(same_floats(update, all[r].updates[e][k], N), "%s: rank %u has another update in step %u",
                   all[0].options[e], r, k);
        free(x);
    }
    tithe_exchange_free(ex);
}

static void a_server_opens_what_the_workers_open(void **state)
{
    (void)state;
    static process all[RANKS + 1];
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        const char *const *const each[] = {options[i], options[i], options[i], NULL};
        run_all(all, each, i % 2 ? RANKS : 0);
        for (unsigned r = 0; r <= RANKS; r++)
            expect(all[r].status == TITHE_OK, "%s: %s", options[i][0], all[r].error.text);
        for (unsigned e = 0; e < EXCHANGES; e++) expect_sum(all, e);
    }
}

/* One rank means something else: everybody hears the same, and at once. */
static void everybody_hears_what_differs(void **state)
{
    (void)state;
    static process all[RANKS + 1];
    static const char *const other[] = {"codec=natural;downlink=natural:bits=8", ""};
    const char *const *const each[] = {options[0], options[0], other, NULL};
    run_all(all, each, 0);
    for (unsigned r = 0; r <= RANKS; r++) {
        assert_int_equal(all[r].status, TITHE_E_MISMATCH);
        assert_string_equal(all[r].error.text, all[0].error.text);
    }
    assert_non_null(strstr(all[0].error.text, "downlink"));
    assert_non_null(strstr(all[0].error.text, "bits=8"));
}

/* What there is to choose from is another list where there is a switch. */
static void a_switch_is_everybodys(void **state)
{
    (void)state;
    static process all[RANKS + 1];
    const char *const *const each[] = {options[0], options[0], options[0], NULL};
    run_all(all, each, 1);
    for (unsigned r = 0; r <= RANKS; r++) {
        assert_int_equal(all[r].status, TITHE_E_MISMATCH);
        assert_non_null(strstr(all[r].error.text, "Rank 0 has switch attached, but rank 1"));
    }
}

static void a_server_has_no_ranks(void **state)
{
    (void)state;
    tithe_comm comm = ranks_here(2);
    tithe_error error = {0};
    assert_int_equal(tithe_serve(&comm, &error), TITHE_E_ARGUMENT);
    assert_int_equal(tithe_serve(NULL, &error), TITHE_E_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_server_opens_what_the_workers_open),
        cmocka_unit_test(everybody_hears_what_differs),
        cmocka_unit_test(a_switch_is_everybodys),
        cmocka_unit_test(a_server_has_no_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
