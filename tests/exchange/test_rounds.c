/* test_rounds.c - what schemes and collectives state (rounds.h) is what they do: every scheme over every collective, with 1
 * to 9 ranks, runs on a network whose clocks are computed (queues.h), and takes as many latencies, as many bytes one after
 * the other and as many bytes in all as it says. */
#include "exchange/exchange.h"
#include "exchange/group.h"
#include "queues.h"
#include "serve/serve.h"

enum { MAX = 9, STEPS = 3 };

static const tithe_link latencies = {.latency = 1, .bandwidth = INFINITY}; /* counts rounds */
static const tithe_link bytes = {.latency = 0, .bandwidth = 1};            /* counts bytes */
static const tithe_link both = {.latency = 1000, .bandwidth = 1};

typedef struct process {
    pthread_t thread;
    group *g;
    float *gradient;
    bool serves, skips;
    unsigned steps;
    pthread_barrier_t *together; /* of the ranks, after each step; NULL: they just go on */
    tithe_rounds served;         /* what a server stated of its last step */
    tithe_status status;
} process;

/* Of every pair of ranks one takes part, the other one in the next step. */
static bool takes_part(unsigned rank, unsigned step)
{
    return (rank + step) % 2 == 0;
}

static tithe_status serve_step(void *context, unsigned exchange, tithe_error *error)
{
    (void)exchange;
    process *p = context;
    const tithe_status status = tithe_exchange_serve(p->g->ex, error);
    tithe_exchange_rounds(p->g->ex, 0, &p->served);
    return status;
}

static void *run_process(void *argument)
{
    process *p = argument;
    tithe_comm *comm = &p->g->comm;
    const comm_service service = {.context = p, .step = serve_step};
    if (p->serves) {
        p->status = ti_serve(comm, &service, &p->g->error);
        return NULL;
    }
    for (unsigned k = 0; k < p->steps && !p->status; k++) {
        gradient_fill(p->gradient, p->g->n, comm->first, k);
        if (p->skips && !takes_part(comm->first, k)) {
            p->status = tithe_exchange_skip(p->g->ex, comm->first, 0.25, &p->g->error);
            if (!p->status) p->status = tithe_exchange_finish(p->g->ex, p->gradient, &p->g->error);
        } else {
            p->status = tithe_exchange_step(p->g->ex, p->gradient, 0.25, &p->g->error);
        }
        if (p->together) {
            if (pthread_barrier_wait(p->together) == PTHREAD_BARRIER_SERIAL_THREAD) network_align(comm->self);
            pthread_barrier_wait(p->together);
        }
    }
    return NULL;
}

/* A case: with a server of its own, or with ranks that skip. */
typedef struct variant {
    wanted w;
    bool apart, skips;
    unsigned steps;
} variant;

/* The process of a rank, or behind the last one that of a server of its own. */
static void start(const variant *v, network *net, unsigned rank, pthread_barrier_t *together, process *p)
{
    const wanted *w = &v->w;
    tithe_exchange_config config;
    group *g = group_start(w, &config);
    const bool serves = rank == w->ranks;
    g->comm = (tithe_comm){.size = w->ranks,
                           .first = rank,
                           .local = serves ? 0 : 1,
                           .server = v->apart ? w->ranks : 0,
                           .transport = &queues,
                           .self = net,
                           .timeout = 60};
    *p = (process){.g = g,
                   .serves = serves,
                   .skips = v->skips,
                   .steps = v->steps,
                   .together = v->apart ? NULL : together,
                   .gradient = malloc((w->n + 1) * sizeof(float))};
    expect(tithe_exchange_create(&config, w->n, &g->ex, &g->error) == TITHE_OK, "%s", g->error.text);
    assert_int_equal(pthread_create(&p->thread, NULL, run_process, p), 0);
}

typedef struct outcome {
    double time, sent, messages;
    tithe_rounds served; /* by a server of its own */
} outcome;

/* With a process for each rank; the server, where it is apart, is sent home after all was read off. */
static outcome run_on(const variant *v, tithe_link link)
{
    static process all[MAX + 1];
    network net;
    outcome o = {0};
    const unsigned ranks = v->w.ranks, count = ranks + v->apart;
    pthread_barrier_t together;
    network_start(&net, ranks + 1, link);
    assert_int_equal(pthread_barrier_init(&together, NULL, ranks), 0);
    for (unsigned p = 0; p < count; p++) start(v, &net, p, &together, &all[p]);
    for (unsigned p = 0; p < ranks; p++) pthread_join(all[p].thread, NULL);
    for (unsigned p = 0; p < count; p++) {
        o.sent += (double)all[p].g->comm.sent_bytes;
        o.messages += (double)all[p].g->comm.sent_messages;
    }
    o.time = network_time(&net);
    if (v->apart) {
        assert_int_equal(ti_comm_dismiss_server(&all[0].g->comm, NULL), TITHE_OK);
        pthread_join(all[ranks].thread, NULL);
        o.served = all[ranks].served;
    }
    assert_true(network_is_empty(&net));
    for (unsigned p = 0; p < count; p++) {
        expect(all[p].status == TITHE_OK, "%s, %s: %s", v->w.scheme, v->w.collective, all[p].g->error.text);
        group_free(all[p].g);
        free(all[p].gradient);
    }
    network_close(&net);
    pthread_barrier_destroy(&together);
    return o;
}

/* The same steps with all ranks in one place, where the lengths of every step are known: all rounds together. */
typedef struct stated {
    double count, path, sent, messages, seconds;
} stated;

static void add_stated(const tithe_rounds *rounds, stated *s)
{
    s->count += tithe_rounds_count(rounds);
    s->path += tithe_rounds_bytes(rounds);
    s->sent += tithe_rounds_sent(rounds);
    s->messages += tithe_rounds_messages(rounds);
    s->seconds += tithe_rounds_seconds(rounds, &both);
}

static stated state_all(const variant *v)
{
    stated s = {0};
    tithe_rounds rounds;
    group *g = group_make(&v->w);
    for (unsigned k = 0; k < v->steps; k++) {
        float *x = gradients_make(v->w.ranks, v->w.n, k);
        for (unsigned r = 0; r < v->w.ranks; r++) {
            const bool skips = v->skips && !takes_part(r, k);
            const tithe_status status = skips
                                            ? tithe_exchange_skip(g->ex, r, 0.25, &g->error)
                                            : tithe_exchange_put(g->ex, r, 0, x + r * g->n, 0.25, &g->error);
            expect(status == TITHE_OK, "%s", g->error.text);
        }
        group_finish(g);
        tithe_exchange_rounds(g->ex, 0, &rounds);
        add_stated(&rounds, &s);
        free(x);
    }
    group_free(g);
    return s;
}

/* Do ranks own parts? And all of them? */
static bool is_cut(const wanted *w)
{
    return strcmp(w->scheme, "shards") == 0;
}

static bool all_own(const wanted *w)
{
    return (w->n + 255) / 256 >= w->ranks;
}

/* Does a step take every round that is stated? A tree whose ranks are no power of two has branches that need not wait for
 * their level, and so has a broadcast; where not all wait for all, a leader that is no root sends its values right behind
 * its indices; around a ring who owns nothing waits for nobody. Such steps may be shorter than stated, never longer. */
static bool waits_everywhere(const wanted *w)
{
    const bool full = (w->ranks & (w->ranks - 1)) == 0, led = strcmp(w->scheme, "artopk") == 0;
    const bool rooted = strcmp(w->collective, "tree") == 0 || strcmp(w->collective, "star") == 0;
    if (is_cut(w)) return all_own(w) || strcmp(w->collective, "direct") == 0;
    return led ? full && !rooted : full || strcmp(w->collective, "tree") != 0;
}

/* Frames of different length up a tree, or to owners: the longest of a level need not be on the way of the longest of the
 * next. */
static bool longest_meet(const variant *v)
{
    const wanted *w = &v->w;
    const bool fixed = !strstr(w->codec, "topk") && !strstr(w->codec, "threshold") && !w->downlink;
    if (is_cut(w)) return fixed && !v->skips && w->n % (256 * (size_t)w->ranks) == 0;
    return strcmp(w->scheme, "gather") != 0 || strcmp(w->collective, "tree") != 0;
}

/* Three ranks in a tree need half of the latencies that two whole levels have, and no step is further off. */
static void compare(const variant *v, const char *what, double did, double says, double slack, bool exact)
{
    const wanted *w = &v->w;
    const double min = exact ? says * (1 - 1e-12) : 0.45 * says;
    expect(did <= says * (1 + 1e-12) + slack && did >= min - slack,
           "%s %s over %s (%s), %u ranks%s, n = %zu: %s %.12g, stated %.12g", w->codec, w->scheme,
           w->collective, w->leader ? w->leader : "-", w->ranks,
           v->apart   ? " and a server"
           : v->skips ? ", of which half skip"
                      : "",
           w->n, what, did, says);
}

/* Are all parts of one length? Otherwise there is one number more or less in a part, where the longest one is not that of
 * who was last, or comes between others. */
static bool is_even(const wanted *w)
{
    const bool few = strncmp(w->codec, "topk:keep=0.05", 14) == 0, led = strcmp(w->scheme, "artopk") == 0;
    const size_t k = (size_t)fmax(1, round((few ? 0.05 : 0.3) * (double)w->n));
    return (led ? k : w->n) % w->ranks == 0;
}

static void check_case(const variant *given)
{
    variant whole = *given;
    const variant *v = &whole;
    whole.w.taking_part = v->skips ? v->w.ranks / 2 : 0;
    const bool waits = waits_everywhere(&v->w), exact = waits && longest_meet(v);
    const outcome counted = run_on(v, latencies);
    stated s = {0};
    if (v->apart)
        add_stated(&counted.served, &s);
    else
        s = state_all(v);
    const double slack = is_even(&v->w) ? 0 : 4 * s.count * v->w.ranks;
    compare(v, "latencies", counted.time, s.count, 0, waits);
    compare(v, "bytes in a row", run_on(v, bytes).time, s.path, slack, exact);
    compare(v, "seconds", run_on(v, both).time, s.seconds, slack, exact);
    expect(counted.sent == s.sent && counted.messages == s.messages,
           "%s over %s, %u ranks, n = %zu: %g bytes in %g messages, stated %g in %g", v->w.scheme,
           v->w.collective, v->w.ranks, v->w.n, counted.sent, counted.messages, s.sent, s.messages);
}

static void check_scheme(const tithe_scheme *scheme, wanted w)
{
    static const size_t lengths[] = {3, 720};
    w.scheme = scheme->name;
    for (const char *const *name = scheme->collectives; *name; name++) {
        if (!tithe_scheme_collective(scheme, *name)->ordered) continue;
        if (strchr(w.codec, '|') && scheme->forms && strcmp(*name, "direct") != 0) continue;
        w.collective = *name;
        for (w.ranks = 1; w.ranks <= MAX; w.ranks++)
            for (unsigned l = 0; l < sizeof lengths / sizeof *lengths; l++) {
                w.n = lengths[l];
                check_case(&(variant){.w = w, .steps = STEPS});
                if (scheme->served) check_case(&(variant){.w = w, .apart = true, .steps = 1});
                if (!scheme->forms && w.ranks % 2 == 0)
                    check_case(&(variant){.w = w, .skips = true, .steps = STEPS});
            }
    }
}

static void what_is_stated_is_what_runs(void **state)
{
    (void)state;
    static const wanted frames[] = {{.codec = "topk:keep=0.05", .feedback = "ec"},
                                    {.codec = "natural"},
                                    {.codec = "threshold:lambda=5", .feedback = "ec"}};
    static const wanted led[] = {
        {.codec = "topk:keep=0.05", .feedback = "ec"},
        {.codec = "topk:keep=0.05", .feedback = "ec", .leader = "variance"},
        {.codec = "topk:keep=0.05", .feedback = "ec", .leader = "auto"},
        {.codec = "topk:keep=0.3|natural", .feedback = "ec", .leader = "variance"},
    };
    for (const tithe_scheme *const *s = tithe_schemes(); *s; s++) {
        if ((*s)->integers) continue; /* through a switch, not from rank to rank: test_aggregation.c */
        if ((*s)->whole) check_scheme(*s, (wanted){.codec = "all|raw"});
        for (unsigned i = 0; !(*s)->whole && !(*s)->forms && i < 3; i++) check_scheme(*s, frames[i]);
        for (unsigned i = 0; (*s)->forms && i < 4; i++) check_scheme(*s, led[i]);
    }
}

/* Parts of more than 64 KiB go in turns. */
static void long_parts_go_in_turns(void **state)
{
    (void)state;
    for (unsigned ranks = 2; ranks <= MAX; ranks++) {
        const wanted w = {.codec = "all|raw",
                          .scheme = "dense",
                          .collective = "direct",
                          .ranks = ranks,
                          .n = 20000 * (size_t)ranks};
        tithe_rounds list;
        tithe_rounds_start(&list);
        collective_of("direct")->reduce_rounds(ranks, (double)w.n, &list);
        assert_true(tithe_rounds_count(&list) == (ranks == 2 ? 2 : 4 * ranks - 5));
        check_case(&(variant){.w = w, .steps = STEPS});
    }
}

/* Where ranks own parts: frames of fixed and of other lengths, parts that are even, that are not, that some ranks lack, and
 * parts so long that a byte tells whose turn it is. */
static void owners_state_theirs(void **state)
{
    (void)state;
    static const wanted frames[] = {{.codec = "natural"},
                                    {.codec = "all|dither:s=7,bucket=64", .feedback = "ec"},
                                    {.codec = "natural", .downlink = "topk:keep=0.05"},
                                    {.codec = "topk:keep=0.05", .feedback = "ec"},
                                    {.codec = "threshold:lambda=5", .feedback = "ec"},
                                    {.codec = "topk:keep=0.05", .feedback = "ec", .downlink = "all|raw"}};
    static const char *const collectives[] = {"ring", "direct"};
    for (size_t c = 0; c < sizeof frames / sizeof *frames; c++)
        for (unsigned over = 0; over < 2; over++)
            for (unsigned ranks = 1; ranks <= MAX; ranks++) {
                wanted w = frames[c];
                const size_t lengths[] = {1, (size_t)512 * ranks, (size_t)512 * ranks - 100};
                w.scheme = "shards";
                w.collective = collectives[over];
                w.ranks = ranks;
                for (unsigned l = 0; l < sizeof lengths / sizeof *lengths; l++) {
                    w.n = lengths[l];
                    check_case(&(variant){.w = w, .steps = STEPS});
                    if (ranks % 2 == 0) check_case(&(variant){.w = w, .skips = true, .steps = STEPS});
                }
                w.n = (size_t)16640 * ranks; /* 65 KiB each */
                if (c == 0 || c == 3) check_case(&(variant){.w = w, .steps = 1});
            }
}

/* Each bucket states its own. */
static void buckets_state_theirs(void **state)
{
    (void)state;
    tithe_comm comm = ranks_here(4);
    tithe_exchange *ex = NULL;
    static float x[4][600], update[600];
    assert_int_equal(
        tithe_exchange_open(&comm, "codec=topk:keep=0.1;bucket=800B;overlap=off", 600, &ex, NULL), TITHE_OK);
    assert_int_equal(tithe_exchange_buckets(ex), 3);
    for (unsigned r = 0; r < 4; r++) {
        gradient_fill(x[r], 600, r, 0);
        assert_int_equal(tithe_exchange_put(ex, r, 0, x[r], 1, NULL), TITHE_OK);
    }
    assert_int_equal(tithe_exchange_finish(ex, update, NULL), TITHE_OK);
    double sent = 0, seconds = 0;
    tithe_rounds rounds;
    for (unsigned b = 0; b < 3; b++) {
        tithe_exchange_rounds(ex, b, &rounds);
        sent += tithe_rounds_sent(&rounds);
        seconds += tithe_rounds_seconds(&rounds, &both);
        assert_true(tithe_rounds_count(&rounds) == 6);
    }
    assert_true(sent == (double)comm.sent_bytes && seconds == tithe_exchange_seconds(ex, &both));
    tithe_exchange_rounds(ex, 3, &rounds);
    assert_true(rounds.length == 0);
    tithe_exchange_free(ex);
}

/* What codecs do meanwhile, one after the other, for 5 ranks: it decides with the rounds who wins a plan. */
static void work_of_codecs(void **state)
{
    (void)state;
    static const struct {
        const char *scheme;
        double frame, encoded, decoded, formed;
    } expected[] = {{"dense", 0, 0, 0, 0},
                    {"gather", 10, 1, 5, 0},
                    {"shards", 10, 1.2, 2, 0},
                    {"star", 10, 2, 6, 0},
                    {"artopk", 10, 1, 2, 1}};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        for (const tithe_scheme *const *s = tithe_schemes(); *s; s++) {
            if (strcmp((*s)->name, expected[i].scheme) != 0) continue;
            tithe_rounds rounds;
            tithe_rounds_start(&rounds);
            const tithe_step_shape shape = {.ranks = 5,
                                            .collective = tithe_scheme_collective(*s, (*s)->collectives[0]),
                                            .n = 1000,
                                            .frames = {.count = 5, .length = expected[i].frame},
                                            .back = 10,
                                            .indices = 10,
                                            .values = 7};
            (*s)->rounds(&shape, &rounds);
            assert_true(rounds.encoded == expected[i].encoded && rounds.decoded == expected[i].decoded &&
                        rounds.formed == expected[i].formed);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_stated_is_what_runs),
        cmocka_unit_test(long_parts_go_in_turns),
        cmocka_unit_test(owners_state_theirs),
        cmocka_unit_test(buckets_state_theirs),
        cmocka_unit_test(work_of_codecs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
