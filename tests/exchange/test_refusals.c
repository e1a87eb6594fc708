/* Gradients that cannot be sent: all ranks hear of it in the same step and in the same words, and a step that is skipped leaves
 * everything as it was, to the bit. Ranks are in one place, or threads that share nothing but the queues of queues.h. */
#include "exchange/group.h"
#include "queues.h"
#include "tithe/serve.h"

#include "exchange/exchange.h"

enum { STEPS = 6, MAX_RANKS = 7, MAX_N = 1700 };

typedef enum place { HERE, APART, SERVED } place; /* served: by a process without a rank, as over ZeroMQ */

/* What happens in a step of the plan. */
typedef struct event {
    unsigned step, rank;
    size_t position;
    float value;
} event;

typedef struct plan {
    const char *options;
    unsigned ranks;
    size_t n;
    place where;
    const event *events;
    size_t event_count;
} plan;

/* What a process, or one rank of it, has seen. */
typedef struct seen {
    tithe_status status[STEPS];
    tithe_error said[STEPS];
    float update[STEPS][MAX_N];
    float residual[MAX_N], aggregate[MAX_N], of_server[MAX_N];
    bool keeps, aggregates;
    size_t owned, begin;
    double learned[64];
    size_t learned_count;
    tithe_exchange_totals totals;
} seen;

static const size_t layers_of_two[] = {900, 800};

static bool is_bad(const plan *p, unsigned step)
{
    bool bad = false;
    for (size_t e = 0; e < p->event_count; e++) bad = bad || p->events[e].step == step;
    return bad;
}

static void fill(const plan *p, float *x, unsigned rank, unsigned step, bool with_events)
{
    gradient_fill(x, p->n, rank, step);
    for (size_t e = 0; with_events && e < p->event_count; e++)
        if (p->events[e].step == step && p->events[e].rank == rank)
            x[p->events[e].position] = p->events[e].value;
}

static void look_at(tithe_exchange *ex, unsigned rank, size_t n, seen *s)
{
    const float *residual = tithe_exchange_residual(ex, rank), *aggregate = tithe_exchange_aggregate(ex),
                *of_server = tithe_exchange_server_residual(ex);
    s->keeps = residual != NULL;
    s->aggregates = aggregate != NULL;
    if (residual) memcpy(s->residual, residual, n * sizeof *residual);
    if (aggregate) memcpy(s->aggregate, aggregate, n * sizeof *aggregate);
    if (of_server) memcpy(s->of_server, of_server, n * sizeof *of_server);
    s->owned = of_server ? tithe_exchange_owned(ex, rank, 0, &s->begin) : 0;
    s->learned_count = tithe_exchange_learned(ex, NULL);
    assert_true(s->learned_count <= 64);
    tithe_exchange_learned(ex, s->learned);
    s->totals = totals_of(ex);
}

static tithe_exchange *open_over(tithe_comm *comm, const plan *p)
{
    tithe_exchange *ex = NULL;
    tithe_error error = {0};
    const bool two = p->n == MAX_N;
    const tithe_status status =
        two ? tithe_exchange_open_layers(comm, p->options, layers_of_two, 2, &ex, &error)
            : tithe_exchange_open(comm, p->options, p->n, &ex, &error);
    if (status) fprintf(stderr, "%s: %s\n", p->options, error.text);
    return status ? NULL : ex;
}

/* ---- in one place ------------------------------------------------------------------------------------------ */

/* `events`: with what the plan says; otherwise such a step is left out, as if nobody had thought of it. */
static void run_here(const plan *p, bool events, seen *all)
{
    tithe_comm *comm = NULL;
    assert_int_equal(tithe_comm_local(p->ranks, &comm, NULL), TITHE_OK);
    tithe_exchange *ex = open_over(comm, p);
    assert_non_null(ex);
    for (unsigned k = 0; k < STEPS; k++) {
        if (!events && is_bad(p, k)) {
            tithe_exchange_continue(ex, k + 1, NULL, NULL);
            continue;
        }
        for (unsigned r = 0; r < p->ranks; r++) {
            static float x[MAX_RANKS][MAX_N]; /* with a shared level they are needed until the end */
            fill(p, x[r], r, k, events);
            const tithe_status put = tithe_exchange_put(ex, r, 0, x[r], 0.3, &all->said[k]);
            if (put) all->status[k] = put;
        }
        if (!all->status[k]) all->status[k] = tithe_exchange_finish(ex, all->update[k], &all->said[k]);
    }
    for (unsigned r = 0; r < p->ranks; r++) look_at(ex, r, p->n, &all[r]);
    for (unsigned r = 1; r < p->ranks; r++) {
        memcpy(all[r].status, all->status, sizeof all->status);
        memcpy(all[r].said, all->said, sizeof all->said);
        memcpy(all[r].update, all->update, sizeof all->update);
    }
    tithe_exchange_free(ex);
    tithe_comm_free(comm);
}

/* ---- apart ------------------------------------------------------------------------------------------------- */

typedef struct process {
    pthread_t thread;
    const plan *p;
    network *net;
    unsigned rank; /* p->ranks: the server */
    seen *s;
    bool fine, goes_on;
} process;

static tithe_comm *join(const process *me)
{
    tithe_comm *comm = NULL;
    const unsigned ranks = me->p->ranks;
    const tithe_place mine = {.size = sizeof mine,
                              .ranks = ranks,
                              .first = me->rank,
                              .local = me->rank < ranks,
                              .server = me->p->where == SERVED ? ranks : 0,
                              .timeout = 60};
    tithe_comm_custom(&queues, me->net, &mine, &comm, NULL);
    return comm;
}

static void *serve(void *argument)
{
    process *me = argument;
    tithe_comm *comm = join(me);
    me->fine = tithe_serve(comm, &me->s->said[0]) == TITHE_OK;
    tithe_comm_free(comm);
    return NULL;
}

/* After a step that failed the group is as good as before: another exchange can be opened. */
static bool opens_another(tithe_comm *comm, const plan *p)
{
    tithe_exchange *ex = open_over(comm, p);
    float x[MAX_N] = {1};
    const tithe_status status = ex ? tithe_exchange_step(ex, x, 1, NULL) : TITHE_E_PEER;
    tithe_exchange_free(ex);
    return !status;
}

static void *work(void *argument)
{
    process *me = argument;
    const plan *p = me->p;
    seen *s = me->s;
    tithe_comm *comm = join(me);
    tithe_exchange *ex = open_over(comm, p);
    if (!ex) return NULL;
    for (unsigned k = 0; k < STEPS; k++) {
        fill(p, s->update[k], me->rank, k, true);
        if (k % 2) { /* in place, or not */
            s->status[k] = tithe_exchange_step(ex, s->update[k], 0.3, &s->said[k]);
        } else {
            float x[MAX_N];
            memcpy(x, s->update[k], sizeof x);
            s->status[k] = tithe_exchange_put(ex, me->rank, 0, x, 0.3, &s->said[k]);
            if (!s->status[k]) s->status[k] = tithe_exchange_finish(ex, s->update[k], &s->said[k]);
        }
        if (s->status[k] && s->status[k] != TITHE_E_SKIPPED) break;
    }
    me->fine = true;
    look_at(ex, me->rank, p->n, s);
    me->goes_on = opens_another(comm, p);
    tithe_exchange_free(ex);
    tithe_comm_free(comm);
    return NULL;
}

static void run_apart(const plan *p, seen *all)
{
    network net;
    network_open(&net, p->ranks + 1);
    process processes[MAX_RANKS + 1];
    const unsigned count = p->ranks + (p->where == SERVED);
    for (unsigned r = 0; r < count; r++)
        processes[r] = (process){.p = p, .net = &net, .rank = r, .s = &all[r]};
    for (unsigned r = 0; r < count; r++)
        pthread_create(&processes[r].thread, NULL, r < p->ranks ? work : serve, &processes[r]);
    for (unsigned r = 0; r < count; r++) pthread_join(processes[r].thread, NULL);
    for (unsigned r = 0; r < count; r++)
        expect(processes[r].fine && (r == p->ranks || processes[r].goes_on), "%s: rank %u of %u: %s",
               p->options, r, p->ranks, all[r].said[0].text);
    expect(network_is_empty(&net), "%s: a message is left over", p->options);
    network_close(&net);
}

static seen *run(const plan *p, bool events)
{
    seen *all = calloc(MAX_RANKS + 1, sizeof *all);
    assert_non_null(all);
    if (p->where == HERE || !events)
        run_here(p, events, all);
    else
        run_apart(p, all);
    return all;
}

/* ---- what is to come of it --------------------------------------------------------------------------------- */

static bool all_nan(const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isnan(x[i])) return false;
    return true;
}

/* "Rank 2 ... position 17" of the lowest rank that has an event; `words` NULL: that. */
static void check_words(const plan *p, unsigned step, const char *words, const tithe_error *said)
{
    const event *first = NULL;
    for (size_t e = 0; e < p->event_count; e++)
        if (p->events[e].step == step &&
            (!first || p->events[e].rank < first->rank ||
             (p->events[e].rank == first->rank && p->events[e].position < first->position)))
            first = &p->events[e];
    char expected[80];
    snprintf(expected, sizeof expected, "Rank %u has a gradient that is not finite at position %zu",
             first->rank, first->position);
    expect(strstr(said->text, words ? words : expected), "%s: '%s', not '%s'", p->options, said->text,
           words ? words : expected);
    if (!words) assert_int_equal(said->position, first->position);
}

static void check_kept(const plan *p, const seen *a, const seen *b, unsigned rank)
{
    const char *const text = p->options;
    expect(same_floats(a->residual, b->residual, p->n), "%s: residual of rank %u", text, rank);
    expect(same_floats(a->aggregate, b->aggregate, p->n), "%s: aggregate at rank %u", text, rank);
    if (p->where == HERE)
        expect(same_floats(a->of_server, b->of_server, p->n), "%s: residual of the server", text);
    if (a->owned)
        expect(same_floats(a->of_server + a->begin, b->of_server + a->begin, a->owned), "%s: owner", text);
    expect(a->learned_count == b->learned_count &&
               memcmp(a->learned, b->learned, a->learned_count * sizeof *a->learned) == 0,
           "%s: what was learned at rank %u", text, rank);
}

/* Steps that are skipped are as if they had not been. */
static void check_skips(const plan *p, const char *words)
{
    seen *here = run(p, true), *clean = run(p, false);
    double up = 0, clean_up = 0, skipped = 0, events = 0;
    for (unsigned k = 0; k < STEPS; k++) events += is_bad(p, k);
    for (unsigned r = 0; r < p->ranks; r++) {
        for (unsigned k = 0; k < STEPS; k++) {
            const seen *s = &here[r];
            if (!is_bad(p, k)) {
                expect(s->status[k] == TITHE_OK, "%s: step %u: %s", p->options, k, s->said[k].text);
                expect(same_floats(s->update[k], clean->update[k], p->n), "%s: rank %u, step %u", p->options,
                       r, k);
                continue;
            }
            expect(s->status[k] == TITHE_E_SKIPPED, "%s: rank %u of %u, step %u: status %d, %s", p->options,
                   r, p->ranks, k, (int)s->status[k], s->said[k].text);
            expect(all_nan(s->update[k], p->n), "%s: rank %u has no NaN", p->options, r);
            assert_string_equal(s->said[k].text, here->said[k].text);
            check_words(p, k, words, &s->said[k]);
        }
        check_kept(p, &here[r], &clean[r], r);
    }
    for (unsigned r = 0; r < (p->where == HERE ? 1 : p->ranks); r++) {
        up += here[r].totals.uplink_bytes;
        skipped += here[r].totals.skipped;
    }
    clean_up = clean->totals.uplink_bytes;
    expect(up == clean_up && skipped == events, "%s: up %g, not %g; skipped %g", p->options, up, clean_up,
           skipped);
    free(here);
    free(clean);
}

/* A step that fails fails everywhere, and so does the next. */
static void check_fails(const plan *p, tithe_status status, const char *words)
{
    seen *all = run(p, true);
    unsigned first = 0;
    while (!is_bad(p, first)) first++;
    for (unsigned r = 0; r < p->ranks; r++) {
        for (unsigned k = 0; k < first; k++)
            expect(!all[r].status[k], "%s: %s", p->options, all[r].said[k].text);
        expect(all[r].status[first] == status, "%s: rank %u of %u has status %d: %s", p->options, r, p->ranks,
               (int)all[r].status[first], all[r].said[first].text);
        assert_string_equal(all[r].said[first].text, all->said[first].text);
        check_words(p, first, words, &all[r].said[first]);
        if (p->where == HERE && first + 1 < STEPS) {
            assert_int_equal(all[r].status[first + 1], status);
            assert_string_equal(all[r].said[first + 1].text, all->said[first].text);
        }
    }
    free(all);
}

/* ---- every scheme ------------------------------------------------------------------------------------------ */

/* Without `on-nonfinite`. */
static const char *const methods[] = {
    "codec=all|raw;collective=ring",
    "codec=all|raw;collective=tree",
    "codec=all|raw;collective=star",
    "codec=all|raw;collective=direct",
    "codec=topk:keep=0.05;feedback=ec",
    "codec=topk:keep=0.05|sign;feedback=ec;scheme=gather;collective=tree",
    "codec=natural;scheme=gather",
    "codec=threshold:lambda=2;feedback=ec",
    "codec=randk:keep=0.1;feedback=ec",
    "codec=topk:keep=0.2|natural;feedback=ef21",
    "codec=topk:keep=0.05;feedback=ec:decay=0.7",
    "codec=natural;feedback=ec:decay=0.7;scheme=shards",
    "codec=topk:keep=0.05;feedback=ec:decay=0.7;scheme=artopk",
    "codec=topk|sign;feedback=ec:decay=0.7;level=shared;scheme=star",
    "codec=all|dither:s=7,bucket=64;feedback=ec;scheme=gather",
    "codec=topk;feedback=ec;cost=packet:payload=127,c0=0,c1=127",
    "codec=topk|sign;feedback=ec;level=shared;cost=packet:payload=127,c0=0,c1=127",
    "codec=topk;feedback=none;level=shared;scheme=gather",
    "codec=topk|sign;feedback=ec;level=shared;scheme=star",
    "codec=natural;scheme=shards",
    "codec=natural;feedback=ec;scheme=shards;collective=ring",
    "codec=topk:keep=0.1;feedback=ec;scheme=shards",
    "codec=topk:keep=0.1|natural;feedback=ef21;scheme=shards;collective=ring",
    "codec=all|raw;scheme=shards",
    "codec=threshold:lambda=2;feedback=ec;downlink=topk:keep=0.2;downlink-feedback=ec;scheme=shards",
    "codec=topk:keep=0.05;feedback=ec;scheme=artopk",
    "codec=topk:keep=0.05;feedback=ec;scheme=artopk;leader=variance;collective=tree",
    "codec=topk:keep=0.05;feedback=ec;scheme=artopk;leader=auto;collective=direct",
    "codec=topk:keep=0.1|natural;feedback=ec;scheme=artopk;leader=variance",
    "codec=mstopk:keep=0.05|f16;feedback=ec;scheme=artopk",
    "codec=natural;downlink=natural",
    "codec=topk:keep=0.05;feedback=ec;downlink=topk:keep=0.1;downlink-feedback=ec",
    "codec=topk:keep=0.1|natural;feedback=ef21;scheme=star",
    "codec=natural;scheme=switch",
    "codec=all|int32:block=64;feedback=ec;scheme=switch",
    "codec=all|dither:s=7,bucket=64;feedback=ec;scheme=switch",
};
enum { METHODS = sizeof methods / sizeof *methods };

static bool is_star(const char *options)
{
    return strstr(options, "scheme=star") ||
           (strstr(options, "downlink=") && !strstr(options, "scheme=shards"));
}

/* A switch is simulated where all ranks are in one place; tests/transport/test_switch.py has a real one. */
static bool goes(const char *options, place where)
{
    return (where != SERVED || is_star(options)) && (where == HERE || !strstr(options, "scheme=switch"));
}

/* As it is, in buckets, and in buckets that are sent while the next one is put. */
static const char *const ways[] = {"", ";bucket=1200;overlap=off", ";bucket=1200;overlap=on",
                                   ";bucket=layer"};

static const char *with(const char *options, const char *way, const char *policy, char room[static 240])
{
    snprintf(room, 240, "%s%s%s", options, way, policy);
    return room;
}

/* Each combination of scheme, buckets and place, with another rank, value and position each time. */
static void try_all(unsigned ranks, const char *policy, void (*check)(const plan *p, unsigned number))
{
    static const float values[] = {NAN, INFINITY, -INFINITY};
    unsigned number = ranks;
    for (unsigned m = 0; m < METHODS; m++)
        for (unsigned w = 0; w < 4; w++)
            for (place where = HERE; where <= SERVED; where++, number++) {
                if (!goes(methods[m], where)) continue;
                char text[240];
                const size_t positions[] = {0, MAX_N - 1, 950, 333};
                const event events[] = {
                    {2, number % ranks, positions[number % 4], values[number % 3]},
                    {3, (number / 3) % ranks, positions[number / 5 % 4], values[number / 2 % 3]},
                    {3, ranks - 1, positions[number / 7 % 4], NAN},
                };
                /* of two in one step the lower rank is named where both travel alike; a leader speaks before others */
                const plan p = {.options = with(methods[m], ways[w], policy, text),
                                .ranks = ranks,
                                .n = MAX_N,
                                .where = where,
                                .events = events,
                                .event_count = w == 0 && !strstr(methods[m], "artopk") ? 3 : 2};
                check(&p, number);
            }
}

static void skip_one(const plan *p, unsigned number)
{
    (void)number;
    check_skips(p, NULL);
}

static void fail_one(const plan *p, unsigned number)
{
    (void)number;
    check_fails(p, TITHE_E_NONFINITE, NULL);
}

static void steps_are_skipped_by_all(void **state)
{
    (void)state;
    for (unsigned ranks = 2; ranks <= 4; ranks++) try_all(ranks, ";on-nonfinite=skip", skip_one);
}

static void steps_fail_for_all(void **state)
{
    (void)state;
    for (unsigned ranks = 2; ranks <= 4; ranks++)
        try_all(ranks, ranks == 3 ? ";on_nonfinite=fail" : "", fail_one);
}

/* Also where a frame is shorter than what there is to say, and where a rank owns nothing. */
static void short_vectors(void **state)
{
    (void)state;
    for (unsigned m = 0; m < METHODS; m++)
        for (unsigned ranks = 1; ranks <= MAX_RANKS; ranks += 2)
            for (size_t n = 1; n <= 5; n += 2)
                for (place where = HERE; where <= APART; where++) {
                    if ((where == APART && ranks == 1) || !goes(methods[m], where)) continue;
                    char text[240], words[80];
                    const event events[] = {{1, ranks - 1, n - 1, NAN}, {4, ranks / 2, 0, INFINITY}};
                    const plan p = {
                        with(methods[m], "", ";on-nonfinite=skip", text), ranks, n, where, events, 2};
                    snprintf(words, sizeof words, " has a gradient that is not finite");
                    check_skips(&p, words);
                }
}

/* ---- numbers that are finite, and too large ---------------------------------------------------------------- */

static void too_large_for_the_codec(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "codec=topk:keep=0.05|f16;feedback=ec",
        "codec=topk:keep=0.05|f16;feedback=ec:decay=0.7",
        "codec=topk:keep=0.05|f16;feedback=ef21",
        "codec=all|f16;feedback=ec;scheme=shards",
        "codec=topk:keep=0.1|f16;feedback=ef21;scheme=shards",
        "codec=all|f16;scheme=gather",
        "codec=all|f16;downlink=natural",
        "codec=topk|f16;feedback=ec;level=shared",
        "codec=all|dither:s=7;feedback=none;scheme=switch",
    };
    for (unsigned t = 0; t < sizeof texts / sizeof *texts; t++)
        for (unsigned w = 0; w < 3; w++)
            for (place where = HERE; where <= SERVED; where++) {
                if (!goes(texts[t], where)) continue;
                char text[240];
                const event e = {2, t % 3, 1650,
                                 strstr(texts[t], "f16") ? 1e9f : 3e38f}; /* in the last bucket */
                plan p = {with(texts[t], ways[w], ";on-nonfinite=skip", text), 3, MAX_N, where, &e, 1};
                char words[80];
                snprintf(words, sizeof words, "Rank %u has a gradient that is too large for ", t % 3);
                check_skips(&p, words);
                p.options = with(texts[t], ways[w], "", text);
                check_fails(&p, TITHE_E_RANGE, words);
            }
}

/* Every rank can write its own, but not the server, or the owner, the sum of all. */
static void too_large_together(void **state)
{
    (void)state;
    static const struct {
        const char *options, *words;
        float value;
    } rows[] = {
        {"codec=natural;downlink=all|f16", "for all|f16", 3e5f},
        {"codec=topk:keep=0.05;feedback=ec;downlink=topk:keep=0.1|f16;downlink-feedback=ec",
         "for topk:keep=0.1|f16", 8e5f},
        {"codec=natural;downlink=all|f16;scheme=shards", "for all|f16", 3e5f},
        {"codec=natural;feedback=ec;downlink=all|f16;downlink-feedback=ec;scheme=shards;collective=ring",
         "for all|f16", 4e6f},
        {"codec=topk:keep=0.05|f16;feedback=ec;scheme=artopk", "for topk:keep=0.05|f16", 8e5f},
    };
    for (unsigned t = 0; t < sizeof rows / sizeof *rows; t++)
        for (unsigned w = 0; w < 3; w++)
            for (place where = HERE; where <= SERVED; where++) {
                if (where == SERVED && !is_star(rows[t].options)) continue;
                char text[240], words[120];
                const float v = rows[t].value;
                const event events[] = {{2, 0, 1650, v}, {2, 1, 1650, v}, {2, 2, 1650, v}};
                plan p = {
                    with(rows[t].options, ways[w], ";on-nonfinite=skip", text), 3, MAX_N, where, events, 3};
                snprintf(words, sizeof words, "%s too large %s",
                         where == SERVED ? "The sum of all gradients is"
                                         : " has a sum of all gradients that is",
                         rows[t].words);
                check_skips(&p, words);
                p.options = with(rows[t].options, ways[w], "", text);
                check_fails(&p, TITHE_E_RANGE, words);
            }
}

/* What is kept and what is new are numbers, and both together are none. */
static void too_large_with_the_rest(void **state)
{
    (void)state;
    static const char *const texts[] = {"codec=topk:k=1;feedback=ec",
                                        "codec=topk:k=1;feedback=ec;scheme=artopk",
                                        "codec=topk:k=1;feedback=ec;scheme=shards"};
    for (unsigned t = 0; t < 3; t++) {
        char text[240];
        const plan p = {with(texts[t], "", ";on-nonfinite=skip", text), 2, 20, HERE, NULL, 0};
        tithe_comm *comm = NULL;
        assert_int_equal(tithe_comm_local(2, &comm, NULL), TITHE_OK);
        tithe_exchange *ex = open_over(comm, &p);
        float x[2][20] = {{0}}, update[20], before[20];
        tithe_error said = {0};
        x[0][7] = x[0][8] = x[1][8] = x[1][7] = 1.7e38f; /* the sum of two is a number */
        for (unsigned r = 0; r < 2; r++) assert_int_equal(tithe_exchange_put(ex, r, 0, x[r], 0.9, &said), 0);
        assert_int_equal(tithe_exchange_finish(ex, update, &said), TITHE_OK);
        memcpy(before, tithe_exchange_residual(ex, 1), sizeof before);
        x[0][8] = x[1][8] = 3.3e38f;
        for (unsigned r = 0; r < 2; r++) assert_int_equal(tithe_exchange_put(ex, r, 0, x[r], 0.9, &said), 0);
        expect(tithe_exchange_finish(ex, update, &said) == TITHE_E_SKIPPED, "%s", p.options);
        expect(strstr(said.text, " has a gradient that is too large for topk:k=1"), "%s", said.text);
        assert_true(all_nan(update, 20) && same_floats(before, tithe_exchange_residual(ex, 1), 20));
        tithe_exchange_free(ex);
        tithe_comm_free(comm);
    }
}

/* ---- a frame of it ----------------------------------------------------------------------------------------- */

static void frames_tell_it(void **state)
{
    (void)state;
    dice d = {17};
    for (int trial = 0; trial < 3000; trial++) {
        const exchange_refusal r = {.code = (tithe_status)(1 + roll_below(&d, 15)),
                                    .sum = roll_below(&d, 2),
                                    .rank = (uint32_t)roll_below(&d, REFUSAL_NOBODY + 1),
                                    .position = (uint32_t)roll(&d)};
        uint8_t frame[40];
        const size_t length = 8 + roll_below(&d, 30);
        exchange_refusal back = {0};
        assert_int_equal(ti_refusal_write(&r, frame, length), length);
        assert_true(ti_refusal_read(frame, length, &back));
        assert_true(back.code == r.code && back.sum == r.sum && back.rank == r.rank);
        assert_true(back.position == (length < REFUSAL_BYTES ? REFUSAL_NOWHERE : r.position));
        const size_t bit = roll_below(&d, 8 * (length < REFUSAL_BYTES ? 8 : REFUSAL_BYTES));
        frame[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_false(ti_refusal_read(frame, length, &back));
        assert_false(ti_refusal_read(frame, roll_below(&d, 8), &back));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_tell_it),          cmocka_unit_test(steps_are_skipped_by_all),
        cmocka_unit_test(steps_fail_for_all),      cmocka_unit_test(short_vectors),
        cmocka_unit_test(too_large_for_the_codec), cmocka_unit_test(too_large_together),
        cmocka_unit_test(too_large_with_the_rest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
