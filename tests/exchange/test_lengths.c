/* test_lengths.c - announced lengths have 64 bits: a frame of 4 GiB and more is announced as it is, and who announces one that
 * cannot be is told so, whatever the scheme. */
#include "coll/coll.h"
#include "exchange/exchange.h"
#include "exchange/group.h"
#include "queues.h"

enum { N = 5003 };
static const uint64_t LARGE = UINT64_C(1) << 32;

/* Queues, but whatever `who` says first gets 4 GiB longer on its way, if it is a length. */
typedef struct boaster {
    network net;
    unsigned who;
    bool spoke;
} boaster;

static tithe_status boasting_send(void *self, unsigned from, unsigned to, const void *bytes, size_t length,
                                  tithe_error *error)
{
    boaster *b = self;
    const bool is_head = length == TITHE_LENGTH_BYTES || length == TITHE_LENGTH_BYTES + 8;
    if (from != b->who || b->spoke || !is_head) return queue_send(&b->net, from, to, bytes, length, error);
    uint8_t head[TITHE_LENGTH_BYTES + 8];
    memcpy(head, bytes, length);
    put_u64(head, get_u64(head) + LARGE);
    b->spoke = true;
    return queue_send(&b->net, from, to, head, length, error);
}

static tithe_status boasting_receive(void *self, unsigned at, unsigned from, void *bytes, size_t length,
                                     double timeout, tithe_error *error)
{
    return queue_receive(&((boaster *)self)->net, at, from, bytes, length, timeout, error);
}

static void boasting_give_up(void *self, const char *why)
{
    queue_give_up(&((boaster *)self)->net, why);
}

static const tithe_transport boasts = {
    .size = sizeof(tithe_transport),
    .name = "boasts",
    .summary = "queues, but for one length",
    .send = boasting_send,
    .receive = boasting_receive,
    .flush = queue_flush,
    .give_up = boasting_give_up,
};

typedef struct process {
    pthread_t thread;
    group *g;
    unsigned rank;
    tithe_status status;
} process;

static void open_processes(const wanted *w, const tithe_transport *transport, void *self, process *all)
{
    for (unsigned r = 0; r < w->ranks; r++) {
        tithe_exchange_config config;
        group *g = group_start(w, &config);
        g->comm = (tithe_comm){
            .size = w->ranks, .first = r, .local = 1, .transport = transport, .self = self, .timeout = 60};
        all[r] = (process){.g = g, .rank = r};
        expect(tithe_exchange_create(&config, N, &g->ex, &g->error) == TITHE_OK, "%s", g->error.text);
    }
}

static void run_processes(process *all, unsigned ranks, void *(*run)(void *))
{
    for (unsigned r = 0; r < ranks; r++)
        assert_int_equal(pthread_create(&all[r].thread, NULL, run, &all[r]), 0);
    for (unsigned r = 0; r < ranks; r++) pthread_join(all[r].thread, NULL);
}

/* ---- a length that cannot be ------------------------------------------------------------------------------- */

static void *take_a_step(void *argument)
{
    process *p = argument;
    float x[N], update[N];
    gradient_fill(x, N, p->rank, 0);
    p->status = tithe_exchange_put(p->g->ex, p->rank, 0, x, 0.3, &p->g->error);
    if (!p->status) p->status = tithe_exchange_finish(p->g->ex, update, &p->g->error);
    if (p->status) tithe_comm_give_up(&p->g->comm, p->g->error.text);
    return NULL;
}

/* Did one of them say how long? */
static bool is_told(const process *all, unsigned ranks)
{
    for (unsigned r = 0; r < ranks; r++) {
        const char *says = strstr(all[r].g->error.text, "announces a ");
        const char *of = says ? strstr(says, " of ") : NULL;
        if (all[r].status == TITHE_E_CORRUPT && of && strtoull(of + 4, NULL, 10) >= LARGE) return true;
    }
    return false;
}

static void a_length_beyond_4_gib_is_told(void **state)
{
    (void)state;
    static const struct {
        wanted w;
        unsigned who;
    } ways[] = {
        {{.scheme = "gather", .codec = "topk:keep=0.05", .collective = "ring"}, 1},
        {{.scheme = "gather", .codec = "topk:keep=0.05", .collective = "tree"}, 1},
        {{.scheme = "star", .codec = "natural"}, 1}, /* to the server, */
        {{.scheme = "star", .codec = "natural"}, 0}, /* and back */
        {{.scheme = "shards", .codec = "topk:keep=0.05", .collective = "direct"}, 1},
        {{.scheme = "shards", .codec = "topk:keep=0.05", .collective = "ring"}, 1},
        {{.scheme = "artopk", .codec = "topk:keep=0.05", .feedback = "ec"}, 0},
    };
    for (unsigned i = 0; i < sizeof ways / sizeof *ways; i++) {
        process all[3];
        boaster b = {.who = ways[i].who};
        wanted w = ways[i].w;
        w.ranks = 3;
        w.n = N;
        network_open(&b.net, w.ranks);
        open_processes(&w, &boasts, &b, all);
        run_processes(all, w.ranks, take_a_step);
        expect(is_told(all, w.ranks), "%s over %s: %s", w.scheme, w.collective ? w.collective : "its own",
               all[0].g->error.text);
        for (unsigned r = 0; r < w.ranks; r++) group_free(all[r].g);
        network_close(&b.net);
    }
}

/* ---- a length that is true --------------------------------------------------------------------------------- */

static size_t length_of(unsigned rank)
{
    return (size_t)(LARGE * rank + 7);
}

static void *gather_lengths(void *argument)
{
    process *p = argument;
    p->g->ex->lengths[p->rank] = length_of(p->rank);
    p->status = ti_exchange_gather_lengths(p->g->ex, &p->g->error);
    return NULL;
}

static void all_hear_a_length_beyond_4_gib(void **state)
{
    (void)state;
    const wanted w = {.scheme = "gather", .codec = "topk:keep=0.05", .ranks = 3, .n = N};
    process all[3];
    network net;
    network_open(&net, w.ranks);
    open_processes(&w, &queues, &net, all);
    run_processes(all, w.ranks, gather_lengths);
    for (unsigned r = 0; r < w.ranks; r++) {
        expect(all[r].status == TITHE_OK, "rank %u: %s", r, all[r].g->error.text);
        for (unsigned from = 0; from < w.ranks; from++)
            expect(all[r].g->ex->lengths[from] == length_of(from), "rank %u heard %zu from %u", r,
                   all[r].g->ex->lengths[from], from);
        group_free(all[r].g);
    }
    network_close(&net);
}

int main(void)
{
    if (sizeof(size_t) < 8) {
        puts("SKIP: memory here ends at 4 GiB");
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_length_beyond_4_gib_is_told),
        cmocka_unit_test(all_hear_a_length_beyond_4_gib),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
