/* test_lost_apart.c - one rank alone lacks a sum that the others have, where ranks are apart: nobody waits for it, and all agree
 * that the step went nowhere. And what asking each other takes is what the scheme states. */
#include "aggregate/reduction.h"
#include "exchange/control.h"
#include "exchange/group.h"
#include "queues.h"

enum { RANKS = 3, N = 1000, FAILS = 1, NEVER = 1000000, MOST_STEPS = 8 };
static const double gamma_of_all = 0.25;

/* ---- a switch that one rank loses ---------------------------------------------------------------------------- */

/* A simulated one to which each rank comes for itself. */
typedef struct meeting {
    pthread_mutex_t lock;
    pthread_cond_t news;
    void *inner;
    const uint8_t *up[RANKS];
    uint8_t sums[N * sizeof(uint32_t)];
    unsigned came, turn;
    bool left; /* somebody did, and does not come again */
} meeting;

typedef struct seat {
    meeting *at;
    unsigned rank, done, fails_at; /* its sum of this number gets lost, from 0 */
} seat;

static tithe_status join(void *self, uint64_t job, unsigned ranks, unsigned first, unsigned local,
                         double timeout, tithe_error *error)
{
    (void)local;
    const seat *s = self;
    return first ? TITHE_OK
                 : ti_aggregator_simulated.join(s->at->inner, job, ranks, 0, ranks, timeout, error);
}

/* By one rank, with the lock. False: one of the others does not come. */
static bool meet(meeting *m, unsigned rank, const agg_reduction *r, const uint8_t *up)
{
    const unsigned turn = m->turn;
    m->up[rank] = up;
    if (++m->came == RANKS) {
        m->left = ti_aggregator_simulated.reduce(m->inner, r, m->up, m->sums, 0, NULL) != TITHE_OK;
        m->came = 0;
        m->turn += !m->left;
        pthread_cond_broadcast(&m->news);
    }
    while (m->turn == turn && !m->left) pthread_cond_wait(&m->news, &m->lock);
    return m->turn != turn;
}

static tithe_status reduce(void *self, const agg_reduction *r, const uint8_t *const *up, uint8_t *down,
                           double timeout, tithe_error *error)
{
    (void)timeout;
    seat *s = self;
    meeting *m = s->at;
    const bool fails = s->done++ >= s->fails_at;
    pthread_mutex_lock(&m->lock);
    const bool met = meet(m, s->rank, r, up[0]);
    if (met && !fails) memcpy(down, m->sums, (r->n * r->down + 7) / 8);
    m->left |= fails;
    pthread_cond_broadcast(&m->news);
    pthread_mutex_unlock(&m->lock);
    if (fails) return ti_fail(error, TITHE_E_PEER, 0, "The switch at 1.2.3.4:5 is gone: start it.");
    return met ? TITHE_OK : ti_fail(error, TITHE_E_TIMEOUT, 0, "Another rank has sent nothing: wait for it.");
}

static packet_limits limits(const void *self)
{
    return ti_aggregator_simulated.limits(((const seat *)self)->at->inner);
}

static void leave(void *self)
{
    (void)self; /* which is the setup's */
}

static const aggregator apart = {
    .name = "apart", .join = join, .reduce = reduce, .limits = limits, .close = leave};

/* ---- ranks, each a thread that shares nothing but queues and the switch -------------------------------------- */

typedef struct process {
    pthread_t thread;
    group *g;
    seat seat;
    unsigned steps;        /* until the switch was lost, that one included */
    float last[N];         /* the update of that one, */
    float after[N];        /* of the last one, */
    double applied[N];     /* and of all */
    double given[N];       /* gradients */
    double sent, messages; /* in the second step: at the first one they agree on a name for the job */
    tithe_rounds rounds;   /* that are stated for it */
    tithe_status status;
} process;

static void make_step(process *p, unsigned k, float *update)
{
    float x[N];
    group *g = p->g;
    gradient_fill(x, N, p->seat.rank, k);
    const uint64_t sent = g->comm.sent_bytes, messages = g->comm.sent_messages;
    p->status = tithe_exchange_put(g->ex, p->seat.rank, 0, x, gamma_of_all, &g->error);
    if (!p->status) p->status = tithe_exchange_finish(g->ex, update, &g->error);
    for (size_t i = 0; i < N && !p->status; i++) {
        p->given[i] += gamma_of_all * (double)x[i];
        p->applied[i] += (double)update[i];
    }
    if (k != 1) return;
    p->sent = (double)(g->comm.sent_bytes - sent);
    p->messages = (double)(g->comm.sent_messages - messages);
    tithe_exchange_rounds(g->ex, 0, &p->rounds);
}

static void *run_process(void *argument)
{
    process *p = argument;
    unsigned k = 0;
    while (k < MOST_STEPS && !p->status && !p->g->comm.lost) make_step(p, k++, p->last);
    p->steps = k;
    if (!p->status && p->g->comm.lost)
        p->status = tithe_exchange_switch_scheme(p->g->ex, "gather", NULL, &p->g->error);
    for (const unsigned end = k + 2; k < end && !p->status; k++) make_step(p, k, p->after);
    return NULL;
}

typedef struct setup {
    meeting m;
    network net;
    process all[RANKS];
} setup;

static void place(setup *s, unsigned r, unsigned fails_at)
{
    process *p = &s->all[r];
    tithe_comm *comm = &p->g->comm;
    p->seat = (seat){.at = &s->m, .rank = r, .fails_at = r == FAILS ? fails_at : NEVER};
    comm->first = r;
    comm->local = 1;
    comm->transport = &queues;
    comm->self = &s->net;
    comm->timeout = 60;
    ti_comm_attach(comm, &apart, &p->seat);
}

static setup *set_up(const char *codec, size_t bucket_bytes, unsigned fails_at)
{
    setup *s = calloc(1, sizeof *s);
    assert_non_null(s);
    pthread_mutex_init(&s->m.lock, NULL);
    pthread_cond_init(&s->m.news, NULL);
    assert_int_equal(ti_simulated_switch(RANKS, &s->m.inner, NULL), TITHE_OK);
    network_open(&s->net, RANKS);
    const wanted w = {.codec = codec, .feedback = "ec", .scheme = "switch", .ranks = RANKS, .n = N};
    for (unsigned r = 0; r < RANKS; r++) {
        tithe_exchange_config config;
        group *g = s->all[r].g = group_start(&w, &config);
        place(s, r, fails_at);
        config.bucket_bytes = bucket_bytes;
        expect(!tithe_exchange_create(&config, N, &g->ex, &g->error), "%s", g->error.text);
        ti_control_let_go(g->ex, true);
    }
    return s;
}

static void run_all(setup *s)
{
    for (unsigned r = 0; r < RANKS; r++)
        assert_int_equal(pthread_create(&s->all[r].thread, NULL, run_process, &s->all[r]), 0);
    for (unsigned r = 0; r < RANKS; r++) pthread_join(s->all[r].thread, NULL);
    for (unsigned r = 0; r < RANKS; r++) expect(!s->all[r].status, "rank %u: %s", r, s->all[r].g->error.text);
    expect(network_is_empty(&s->net), "a message is left over");
}

static void tear_down(setup *s)
{
    for (unsigned r = 0; r < RANKS; r++) {
        ti_comm_detach(&s->all[r].g->comm);
        group_free(s->all[r].g);
    }
    ti_aggregator_simulated.close(s->m.inner);
    network_close(&s->net);
    pthread_cond_destroy(&s->m.news);
    pthread_mutex_destroy(&s->m.lock);
    free(s);
}

/* ---- what is asked of it ------------------------------------------------------------------------------------- */

static void check_agreement(const setup *s)
{
    const process *first = &s->all[0];
    for (unsigned r = 0; r < RANKS; r++) {
        const process *p = &s->all[r];
        expect(p->g->comm.lost && p->steps == first->steps, "rank %u lost it in step %u, rank 0 in %u", r,
               p->steps, first->steps);
        assert_true(same_floats(p->last, first->last, N) && same_floats(p->after, first->after, N));
        const char *how = r == FAILS ? "1.2.3.4:5 is gone" : "Another rank has ";
        expect(strstr(p->g->comm.lost_as, how) != NULL, "rank %u: %s", r, p->g->comm.lost_as);
    }
}

/* What was put is applied or kept: nobody has used a sum that another one lacks. */
static void check_nothing_is_lost(const setup *s)
{
    static double missing[N];
    memset(missing, 0, sizeof missing);
    for (unsigned r = 0; r < RANKS; r++) {
        const process *p = &s->all[r];
        const float *kept = tithe_exchange_residual(p->g->ex, r);
        for (size_t i = 0; i < N; i++) missing[i] += p->given[i] - p->applied[i] - (double)kept[i];
    }
    for (size_t i = 0; i < N; i++)
        expect(fabs(missing[i]) < 1e-4, "number %zu: %g is missing", i, missing[i]);
}

/* At every reduction of some steps: scales that the others then have, and a sum that they would apply. */
static void all_agree_when_one_lacks_a_sum(void **state)
{
    (void)state;
    static const char *const codecs[] = {"all|int32", "all|dither:s=7,scale=contractive"};
    for (unsigned c = 0; c < 2; c++)
        for (unsigned buckets = 1; buckets <= 2; buckets++)
            for (unsigned at = 0; at < 9; at++) {
                setup *s = set_up(codecs[c], buckets == 1 ? 0 : 4 * N / 2, at);
                run_all(s);
                check_agreement(s);
                check_nothing_is_lost(s);
                tear_down(s);
            }
}

/* Rounds of the setting that a tuner would choose from, before there is a step. */
static double foretold(group *g)
{
    tithe_exchange *steered = NULL;
    const tithe_exchange_config config = {.size = sizeof config,
                                          .comm = &g->comm,
                                          .codec = g->codec,
                                          .tuner = tuner_of("auto"),
                                          .scheme = "switch",
                                          .seed = SEED};
    expect(!tithe_exchange_create(&config, N, &steered, &g->error), "%s", g->error.text);
    const setting_list *list = &steered->control->settings;
    size_t i = 0;
    while (i < list->count && !list->all[i].switched) i++;
    assert_true(i < list->count);
    const double rounds = list->all[i].rounds;
    tithe_exchange_free(steered);
    return rounds;
}

/* Whoever asks has messages for it: what is sent is what is stated, and what a tuner reckons with. Ranks in one place need none. */
static void asking_is_stated(void **state)
{
    (void)state;
    setup *s = set_up("all|int32", 0, NEVER);
    const double before = foretold(s->all[0].g);
    double sent = 0, messages = 0;
    run_all(s);
    for (unsigned r = 0; r < RANKS; r++) {
        sent += s->all[r].sent;
        messages += s->all[r].messages;
    }
    const tithe_rounds *rounds = &s->all[0].rounds;
    expect(sent == tithe_rounds_sent(rounds), "%g bytes, not %g", sent, tithe_rounds_sent(rounds));
    expect(messages == tithe_rounds_messages(rounds), "%g messages, not %g", messages,
           tithe_rounds_messages(rounds));
    expect(before == tithe_rounds_count(rounds), "%g rounds, not %g", before, tithe_rounds_count(rounds));
    s->all[0].g->comm.local = RANKS;
    const double in_one_place = foretold(s->all[0].g);
    expect(in_one_place == before - 2, "%g rounds, and %g where ranks are apart", in_one_place, before);
    s->all[0].g->comm.local = 1;
    tear_down(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_agree_when_one_lacks_a_sum),
                                       cmocka_unit_test(asking_is_stated)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
