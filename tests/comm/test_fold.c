/* test_fold.c - sums among processes, on a network whose clocks are computed: the bits of adding in rank order, two latencies however
 * many ranks there are, and as few messages as can be. Who asks for the latency as well has N of them. */
#include "comm/comm.h"
#include "queues.h"

enum { MAX = 17, NUMBERS = 5 };

typedef struct process {
    pthread_t thread;
    tithe_comm comm;
    comm_fold how;
    double values[NUMBERS];
    tithe_status status;
    tithe_error error;
} process;

static double number(unsigned rank, unsigned i)
{
    return (i % 2 ? -1 : 1) * (1 + rank * 0.1 + i) / (3.0 + rank); /* sums depend on the order */
}

static double expected(comm_fold how, unsigned size, unsigned i)
{
    const bool max = how == COMM_MAX || (how == COMM_ASK && i + 1 == NUMBERS);
    double all = number(0, i);
    for (unsigned r = 1; r < size; r++) all = max ? fmax(all, number(r, i)) : all + number(r, i);
    return all;
}

static void *fold(void *argument)
{
    process *p = argument;
    p->status = ti_comm_fold(&p->comm, p->how, p->values, NUMBERS, &p->error);
    return NULL;
}

static void check(comm_fold how, unsigned size, double latencies)
{
    network net;
    process all[MAX];
    uint64_t bytes = 0, messages = 0;
    network_start(&net, size, (tithe_link){.latency = 1, .bandwidth = INFINITY});
    for (unsigned r = 0; r < size; r++) {
        all[r] = (process){
            .comm = {.size = size, .first = r, .local = 1, .transport = &queues, .self = &net, .timeout = 60},
            .how = how};
        for (unsigned i = 0; i < NUMBERS; i++) all[r].values[i] = number(r, i);
        assert_int_equal(pthread_create(&all[r].thread, NULL, fold, &all[r]), 0);
    }
    for (unsigned r = 0; r < size; r++) pthread_join(all[r].thread, NULL);
    for (unsigned r = 0; r < size; r++) {
        expect(all[r].status == TITHE_OK, "%u ranks: %s", size, all[r].error.text);
        for (unsigned i = 0; i < NUMBERS; i++)
            expect(all[r].values[i] == expected(how, size, i), "%u ranks, rank %u: %.17g, not %.17g", size, r,
                   all[r].values[i], expected(how, size, i));
        bytes += all[r].comm.sent_bytes;
        messages += all[r].comm.sent_messages;
    }
    assert_true(network_is_empty(&net));
    expect(network_time(&net) == latencies, "%u ranks: %g latencies, not %g", size, network_time(&net),
           latencies);
    const uint64_t counted = how == COMM_ASK ? 0 : 2 * (size - 1);
    expect(messages == counted && bytes == counted * NUMBERS * sizeof(double),
           "%u ranks: %d messages, %d bytes", size, (int)messages, (int)bytes);
    network_close(&net);
}

static void all_add_in_rank_order_within_two_latencies(void **state)
{
    (void)state;
    for (unsigned size = 2; size <= MAX; size++) {
        check(COMM_SUM, size, 2);
        check(COMM_MAX, size, 2);
        check(COMM_ASK, size, size);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_add_in_rank_order_within_two_latencies)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
