/* test_matrix.c - every scheme over every collective, for many numbers of ranks and elements, with all ranks in one place
 * and with a thread for each: the sum is right against doubles, all ranks hold the same bits, and what was sent is what the
 * scheme states. */
#include "exchange/group.h"
#include "queues.h"

/* A watched run is ten and a hundred times slower, and asks about threads and memory, not about lengths. */
#if defined __SANITIZE_THREAD__ || defined __SANITIZE_ADDRESS__
enum { MAX = 8, STEPS = 2, MANY = 100000 };
#else
enum { MAX = 8, STEPS = 2, MANY = 1000000 };
#endif
static const unsigned sizes[] = {2, 3, 4, 7, 8};
static const size_t lengths[] = {1, 7, 1000, MANY};

static float *gradients[sizeof lengths / sizeof *lengths][STEPS]; /* of MOST ranks, made once */

static const float *gradient_of(size_t n, unsigned step, unsigned r)
{
    unsigned l = 0;
    while (lengths[l] != n) l++;
    return gradients[l][step] + r * n;
}

typedef struct process {
    pthread_t thread;
    group *g;
    unsigned rank;
    size_t n;
    float *updates[STEPS];
    tithe_status status;
} process;

static void *run_process(void *argument)
{
    process *p = argument;
    for (unsigned k = 0; k < STEPS && !p->status; k++) {
        memcpy(p->updates[k], gradient_of(p->n, k, p->rank), p->n * sizeof **p->updates);
        p->status = tithe_exchange_step(p->g->ex, p->updates[k], 0.25, &p->g->error);
    }
    return NULL;
}

/* With a rank in each process: all[r] afterwards has its updates. */
static void run_apart(const wanted *w, network *net, process *all)
{
    network_open(net, w->ranks + 1);
    for (unsigned r = 0; r < w->ranks; r++) {
        tithe_exchange_config config;
        group *g = group_start(w, &config);
        g->comm.first = r;
        g->comm.local = 1;
        g->comm.transport = &queues;
        g->comm.self = net;
        g->comm.timeout = 60;
        all[r] = (process){.g = g, .rank = r, .n = w->n};
        for (unsigned k = 0; k < STEPS; k++) all[r].updates[k] = malloc(w->n * sizeof(float));
        expect(tithe_exchange_create(&config, w->n, &g->ex, &g->error) == TITHE_OK, "%s", g->error.text);
    }
    for (unsigned r = 0; r < w->ranks; r++)
        assert_int_equal(pthread_create(&all[r].thread, NULL, run_process, &all[r]), 0);
    for (unsigned r = 0; r < w->ranks; r++) pthread_join(all[r].thread, NULL);
    for (unsigned r = 0; r < w->ranks; r++) expect(all[r].status == TITHE_OK, "%s", all[r].g->error.text);
}

static void check_case(const wanted *w)
{
    network net;
    static process all[MAX];
    run_apart(w, &net, all);
    group *here = group_make(w);
    double *applied = calloc(w->n, sizeof *applied), *given = calloc(w->n, sizeof *given);
    assert_true(applied && given);
    const char *scheme = last_of(here->ex).scheme, *name = last_of(here->ex).collective;
    double sent = 0;
    for (unsigned k = 0; k < STEPS; k++) {
        const float *x = gradient_of(w->n, k, 0);
        group_put_all(here, x, 0.25);
        group_finish(here);
        for (unsigned r = 0; r < w->ranks; r++) {
            expect(same_floats(all[r].updates[k], here->update, w->n),
                   "%s over %s, %u ranks, n = %zu: rank %u has other bits", scheme, name, w->ranks, w->n, r);
            for (size_t i = 0; i < w->n; i++) given[i] += 0.25 * (double)x[r * w->n + i];
        }
        tithe_rounds rounds;
        tithe_exchange_rounds(here->ex, 0, &rounds);
        sent += tithe_rounds_sent(&rounds);
        for (size_t i = 0; i < w->n; i++) applied[i] += w->ranks * (double)here->update[i];
    }
    const float *server = tithe_exchange_server_residual(here->ex);
    for (size_t i = 0; i < w->n; i++) { /* what was not applied is kept */
        double kept = server ? (double)server[i] : 0;
        for (unsigned r = 0; r < w->ranks && here->feedback->keeps; r++)
            kept += (double)tithe_exchange_residual(here->ex, r)[i];
        expect(fabs(applied[i] + kept - given[i]) <= 1e-4,
               "%s over %s, %u ranks, n = %zu: %g + %g, not %g at %zu", scheme, name, w->ranks, w->n,
               applied[i], kept, given[i], i);
    }
    double apart = 0;
    for (unsigned r = 0; r < w->ranks; r++) apart += totals_of(all[r].g->ex).sent_bytes;
    expect(apart == sent && totals_of(here->ex).sent_bytes == sent,
           "%s over %s, %u ranks, n = %zu: sent %g bytes, stated %g", scheme, name, w->ranks, w->n, apart,
           sent);
    for (unsigned r = 0; r < w->ranks; r++) {
        group_free(all[r].g);
        for (unsigned k = 0; k < STEPS; k++) free(all[r].updates[k]);
    }
    group_free(here);
    network_close(&net);
    free(applied);
    free(given);
}

static void check_collectives(const tithe_scheme *scheme, wanted w)
{
    for (const char *const *name = scheme->collectives; *name; name++) {
        if (!tithe_scheme_collective(scheme, *name)->ordered) continue; /* `native` is MPI's */
        w.scheme = scheme->name;
        w.collective = *name;
        for (unsigned s = 0; s < sizeof sizes / sizeof *sizes; s++)
            for (unsigned l = 0; l < sizeof lengths / sizeof *lengths; l++) {
                w.ranks = sizes[s];
                w.n = lengths[l];
                check_case(&w);
            }
    }
}

static void sums_are_right_everywhere(void **state)
{
    (void)state;
    for (unsigned l = 0; l < sizeof lengths / sizeof *lengths; l++)
        for (unsigned k = 0; k < STEPS; k++) gradients[l][k] = gradients_make(MAX, lengths[l], k);
    for (const tithe_scheme *const *s = tithe_schemes(); *s; s++) {
        const bool artopk = strcmp((*s)->name, "artopk") == 0;
        if ((*s)->integers) continue; /* through a switch, not from rank to rank: test_aggregation.c */
        if (!artopk) check_collectives(*s, (wanted){.codec = "all|raw"});
        if (!(*s)->whole) check_collectives(*s, (wanted){.codec = "topk:keep=0.05", .feedback = "ec"});
        if ((*s)->cuts) check_collectives(*s, (wanted){.codec = "natural", .feedback = "ec"});
        if (artopk)
            check_collectives(*s,
                              (wanted){.codec = "topk:keep=0.05", .feedback = "ec", .leader = "variance"});
    }
    for (unsigned l = 0; l < sizeof lengths / sizeof *lengths; l++)
        for (unsigned k = 0; k < STEPS; k++) free(gradients[l][k]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_right_everywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
