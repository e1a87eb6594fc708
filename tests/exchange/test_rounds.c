/* test_rounds.c - what schemes and collectives state (rounds.h) is what they do: every scheme over every collective, with 1
 * to 9 ranks, runs on a network whose clocks are computed (queues.h), and takes as many latencies, as many bytes one after
 * the other and as many bytes in all as it says. */
#include "exchange/exchange.h"
#include "exchange/group.h"
#include "queues.h"

enum { MOST = 9, STEPS = 3 };

static const tithe_link latencies = {.latency = 1, .bandwidth = INFINITY}; /* counts rounds */
static const tithe_link bytes = {.latency = 0, .bandwidth = 1};            /* counts bytes */
static const tithe_link both = {.latency = 1000, .bandwidth = 1};

typedef struct process {
    pthread_t thread;
    group *g;
    float *gradient;
    bool serves;
    pthread_barrier_t *together; /* of the ranks, after each step; NULL: they just go on */
    tithe_status status;
} process;

static tithe_status serve_step(void *context, tithe_error *error)
{
    process *p = context;
    return tithe_exchange_serve(p->g->ex, error);
}

static void *run_process(void *argument)
{
    process *p = argument;
    tithe_comm *comm = &p->g->comm;
    const comm_service service = {.context = p, .step = serve_step};
    if (p->serves) {
        p->status = ti_comm_serve(comm, &service, &p->g->error);
        return NULL;
    }
    for (unsigned k = 0; k < STEPS && !p->status; k++) {
        gradient_fill(p->gradient, p->g->n, comm->first, k);
        p->status = tithe_exchange_step(p->g->ex, p->gradient, 0.25, &p->g->error);
        if (p->together) {
            if (pthread_barrier_wait(p->together) == PTHREAD_BARRIER_SERIAL_THREAD) network_align(comm->self);
            pthread_barrier_wait(p->together);
        }
    }
    return NULL;
}

/* The process of a rank, or with rank == w->ranks that of a server of its own. */
static void start(const wanted *w, network *net, unsigned rank, bool apart, pthread_barrier_t *together,
                  process *p)
{
    tithe_exchange_config config;
    group *g = group_start(w, &config);
    const bool serves = rank == w->ranks;
    g->comm = (tithe_comm){.size = w->ranks,
                           .first = rank,
                           .local = serves ? 0 : 1,
                           .server = apart ? w->ranks : 0,
                           .transport = &queues,
                           .self = net,
                           .timeout = 60};
    *p = (process){.g = g,
                   .serves = serves,
                   .together = apart ? NULL : together,
                   .gradient = malloc((w->n + 1) * sizeof(float))};
    expect(tithe_exchange_create(&config, w->n, &g->ex, &g->error) == TITHE_OK, "%s", g->error.text);
    assert_int_equal(pthread_create(&p->thread, NULL, run_process, p), 0);
}

typedef struct outcome {
    double time, sent, messages;
} outcome;

/* STEPS steps with a process for each rank; the server, where it is apart, is sent home before anything is read off. */
static outcome run_on(const wanted *w, bool apart, tithe_link link, tithe_rounds *stated)
{
    static process all[MOST + 1];
    network net;
    outcome o = {0};
    const unsigned count = w->ranks + apart;
    pthread_barrier_t together;
    network_start(&net, w->ranks + 1, link);
    assert_int_equal(pthread_barrier_init(&together, NULL, w->ranks), 0);
    for (unsigned p = 0; p < count; p++) start(w, &net, p, apart, &together, &all[p]);
    for (unsigned p = 0; p < w->ranks; p++) pthread_join(all[p].thread, NULL);
    for (unsigned p = 0; p < count; p++) {
        o.sent += (double)all[p].g->comm.sent_bytes;
        o.messages += (double)all[p].g->comm.sent_messages;
    }
    o.time = network_time(&net);
    if (apart) {
        assert_int_equal(ti_comm_dismiss_server(&all[0].g->comm, NULL), TITHE_OK);
        pthread_join(all[w->ranks].thread, NULL);
    }
    assert_true(network_is_empty(&net));
    for (unsigned p = 0; p < count; p++)
        expect(all[p].status == TITHE_OK, "%s, %s: %s", w->scheme, w->collective, all[p].g->error.text);
    /* a server knows the lengths of all frames, and so does everybody where there is none */
    tithe_exchange_rounds(all[apart ? w->ranks : 0].g->ex, 0, stated);
    for (unsigned p = 0; p < count; p++) {
        group_free(all[p].g);
        free(all[p].gradient);
    }
    network_close(&net);
    pthread_barrier_destroy(&together);
    return o;
}

/* The same steps with all ranks in one place, where the lengths of every step are known. */
static void state_all(const wanted *w, tithe_rounds *stated)
{
    group *g = group_make(w);
    for (unsigned k = 0; k < STEPS; k++) {
        float *x = gradients_make(w->ranks, w->n, k);
        group_put_all(g, x, 0.25);
        group_finish(g);
        tithe_exchange_rounds(g->ex, 0, &stated[k]);
        free(x);
    }
    group_free(g);
}

/* Does a step take every round that is stated? A tree whose ranks are no power of two has branches that need not wait for
 * their level, and so has a broadcast; where not all wait for all, a leader that is no root sends its values right behind
 * its indices. Such steps may be shorter than stated, never longer. */
static bool waits_everywhere(const wanted *w)
{
    const bool full = (w->ranks & (w->ranks - 1)) == 0, led = strcmp(w->scheme, "artopk") == 0;
    const bool rooted = strcmp(w->collective, "tree") == 0 || strcmp(w->collective, "star") == 0;
    return led ? full && !rooted : full || strcmp(w->collective, "tree") != 0;
}

/* Frames of different length up a tree: the longest of a level need not be on the way of the longest of the next. */
static bool longest_meet(const wanted *w)
{
    return strcmp(w->scheme, "gather") != 0 || strcmp(w->collective, "tree") != 0;
}

static void compare(const wanted *w, bool apart, const char *what, double did, double says, double slack,
                    bool exact)
{
    expect(did <= says * (1 + 1e-12) + slack && (!exact || did >= says * (1 - 1e-12) - slack),
           "%s %s over %s (%s), %u ranks%s, n = %zu: %s %.12g, stated %.12g", w->codec, w->scheme,
           w->collective, w->leader ? w->leader : "-", w->ranks, apart ? " and a server" : "", w->n, what,
           did, says);
}

static void check_case(const wanted *w, bool apart)
{
    tithe_rounds stated[STEPS], last;
    state_all(w, stated);
    double count = 0, path = 0, sent = 0, messages = 0, seconds = 0;
    for (unsigned k = 0; k < STEPS; k++) {
        count += tithe_rounds_count(&stated[k]);
        path += tithe_rounds_bytes(&stated[k]);
        sent += tithe_rounds_sent(&stated[k]);
        messages += tithe_rounds_messages(&stated[k]);
        seconds += tithe_rounds_seconds(&stated[k], &both);
    }
    const outcome rounds = run_on(w, apart, latencies, &last);
    if (apart) { /* a frame more each way, and a call: stated by the server itself, for its last step */
        count = STEPS * tithe_rounds_count(&last);
        assert_true(rounds.time == count && tithe_rounds_sent(&last) > tithe_rounds_sent(&stated[STEPS - 1]));
        return;
    }
    /* one number more or less in a part, where the longest part is not that of who was last, or comes between others */
    const bool even = w->n % w->ranks == 0 && strcmp(w->scheme, "artopk") != 0;
    const double slack = even ? 0 : 4 * count * w->ranks;
    const bool waits = waits_everywhere(w), exact = waits && longest_meet(w);
    compare(w, apart, "latencies", rounds.time, count, 0, waits);
    compare(w, apart, "bytes in a row", run_on(w, apart, bytes, &last).time, path, slack, exact);
    compare(w, apart, "seconds", run_on(w, apart, both, &last).time, seconds, slack, exact);
    expect(rounds.sent == sent && rounds.messages == messages,
           "%s over %s, %u ranks, n = %zu: %g bytes in %g messages, stated %g in %g", w->scheme,
           w->collective, w->ranks, w->n, rounds.sent, rounds.messages, sent, messages);
}

static void check_scheme(const tithe_scheme *scheme, wanted w)
{
    static const size_t lengths[] = {3, 720};
    w.scheme = scheme->name;
    for (const char *const *name = scheme->collectives; *name; name++) {
        if (!tithe_scheme_collective(scheme, *name)->ordered) continue;
        if (strchr(w.codec, '|') && strcmp(w.scheme, "artopk") == 0 && strcmp(*name, "direct") != 0) continue;
        w.collective = *name;
        for (w.ranks = 1; w.ranks <= MOST; w.ranks++)
            for (unsigned l = 0; l < sizeof lengths / sizeof *lengths; l++) {
                w.n = lengths[l];
                check_case(&w, false);
                if (scheme->back) check_case(&w, true);
            }
    }
}

static void what_is_stated_is_what_runs(void **state)
{
    (void)state;
    static const wanted frames[] = {{.codec = "topk:keep=0.05", .feedback = "ec"},
                                    {.codec = "natural"}, /* long frames: gather sums by parts */
                                    {.codec = "threshold:lambda=5", .feedback = "ec"}};
    static const wanted led[] = {
        {.codec = "topk:keep=0.05", .feedback = "ec"},
        {.codec = "topk:keep=0.05", .feedback = "ec", .leader = "variance"},
        {.codec = "topk:keep=0.05", .feedback = "ec", .leader = "auto"},
        {.codec = "topk:keep=0.3|natural", .feedback = "ec", .leader = "variance"},
    };
    for (const tithe_scheme *const *s = tithe_schemes(); *s; s++) {
        if ((*s)->whole) check_scheme(*s, (wanted){.codec = "all|raw"});
        for (unsigned i = 0; !(*s)->whole && !(*s)->forms && i < 3; i++) check_scheme(*s, frames[i]);
        for (unsigned i = 0; (*s)->forms && i < 4; i++) check_scheme(*s, led[i]);
    }
}

/* Parts of more than 64 KiB go in turns. */
static void long_parts_go_in_turns(void **state)
{
    (void)state;
    for (unsigned ranks = 2; ranks <= MOST; ranks++) {
        const wanted w = {.codec = "all|raw",
                          .scheme = "dense",
                          .collective = "direct",
                          .ranks = ranks,
                          .n = 20000 * (size_t)ranks};
        tithe_rounds stated;
        tithe_rounds_start(&stated);
        collective_of("direct")->reduce_rounds(ranks, (double)w.n, &stated);
        assert_true(tithe_rounds_count(&stated) == (ranks == 2 ? 2 : 4 * ranks - 5));
        check_case(&w, false);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_stated_is_what_runs),
        cmocka_unit_test(long_parts_go_in_turns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
