/* test_long.c - dense vectors of several pieces: the bits of one process, whether gradients are copied, stay or become the update; and
 * a number that is not finite, which is found only when its piece leaves, is known to all ranks. */
#include "coll/coll.h"
#include "exchange/group.h"
#include "queues.h"

enum { MAX = 5, STEPS = 2 };
static const double GAMMA = 0.3;

typedef enum way { COPIED, STAYS, IN_PLACE, WAYS } way;

typedef struct plan {
    unsigned ranks, bad_rank; /* bad_rank in the first step; `ranks`: nobody's */
    size_t n, bad_at;
    float bad;
    way how;
    bool skips;
} plan;

typedef struct process {
    pthread_t thread;
    const plan *p;
    group *g;
    unsigned rank;
    float *x, *update[STEPS];
    tithe_status status[STEPS];
    tithe_error said[STEPS];
} process;

static void fill(const plan *p, float *x, unsigned rank, unsigned step)
{
    dice d = {step * 7919 + rank * 104729 + 11};
    for (size_t i = 0; i < p->n; i++) x[i] = (float)roll(&d) / 1e9f - 1;
    if (step == 0 && rank == p->bad_rank) x[p->bad_at] = x[p->n - 1] = p->bad;
}

static void *work(void *argument)
{
    process *me = argument;
    const plan *p = me->p;
    for (unsigned k = 0; k < STEPS; k++) {
        fill(p, me->x, me->rank, k);
        if (p->how == IN_PLACE) {
            memcpy(me->update[k], me->x, p->n * sizeof *me->x);
            me->status[k] = tithe_exchange_step(me->g->ex, me->update[k], GAMMA, &me->said[k]);
            continue;
        }
        me->status[k] = tithe_exchange_put(me->g->ex, me->rank, 0, me->x, GAMMA, &me->said[k]);
        if (p->how == COPIED) memset(me->x, 0, p->n * sizeof *me->x);
        if (!me->status[k]) me->status[k] = tithe_exchange_finish(me->g->ex, me->update[k], &me->said[k]);
    }
    return NULL;
}

static process *run(const plan *p, network *net)
{
    process *all = calloc(MAX, sizeof *all);
    network_open(net, p->ranks);
    for (unsigned r = 0; r < p->ranks; r++) {
        const wanted w = {.codec = "all|raw",
                          .scheme = "dense",
                          .collective = "ring",
                          .ranks = p->ranks,
                          .n = p->n,
                          .skip_nonfinite = p->skips};
        tithe_exchange_config config;
        all[r] = (process){.p = p, .rank = r, .g = group_start(&w, &config)};
        all[r].g->comm = (tithe_comm){
            .size = p->ranks, .first = r, .local = 1, .transport = &queues, .self = net, .timeout = 60};
        config.stays = p->how == STAYS;
        assert_int_equal(tithe_exchange_create(&config, p->n, &all[r].g->ex, &all[r].g->error), TITHE_OK);
        all[r].x = malloc(p->n * sizeof(float));
        for (unsigned k = 0; k < STEPS; k++) all[r].update[k] = malloc(p->n * sizeof(float));
    }
    for (unsigned r = 0; r < p->ranks; r++) pthread_create(&all[r].thread, NULL, work, &all[r]);
    for (unsigned r = 0; r < p->ranks; r++) pthread_join(all[r].thread, NULL);
    return all;
}

static void stop(const plan *p, process *all, network *net)
{
    assert_true(network_is_empty(net));
    for (unsigned r = 0; r < p->ranks; r++) {
        group_free(all[r].g);
        free(all[r].x);
        for (unsigned k = 0; k < STEPS; k++) free(all[r].update[k]);
    }
    free(all);
    network_close(net);
}

/* The same step with all ranks in one process. */
static void check_bits(const plan *p, const process *all, unsigned step)
{
    group *here = group_make(
        &(wanted){.codec = "all|raw", .scheme = "dense", .collective = "ring", .ranks = p->ranks, .n = p->n});
    float *x = malloc(p->n * sizeof *x);
    for (unsigned r = 0; r < p->ranks; r++) {
        fill(p, x, r, step);
        assert_int_equal(tithe_exchange_put(here->ex, r, 0, x, GAMMA, NULL), TITHE_OK);
    }
    group_finish(here);
    for (unsigned r = 0; r < p->ranks; r++)
        expect(same_floats(all[r].update[step], here->update, p->n),
               "%u ranks, way %d: rank %u differs in step %u", p->ranks, (int)p->how, r, step);
    free(x);
    group_free(here);
}

static const size_t parts[] = {COLL_PIECE + 1, 3 * COLL_PIECE - 7};

static void bits_are_those_of_one_process(void **state)
{
    (void)state;
    for (unsigned ranks = 2; ranks <= MAX; ranks++)
        for (unsigned i = 0; i < 2; i++)
            for (way how = COPIED; how < WAYS; how++) {
                const plan p = {.ranks = ranks, .bad_rank = ranks, .n = ranks * parts[i] + 1, .how = how};
                network net;
                process *all = run(&p, &net);
                for (unsigned r = 0; r < ranks; r++)
                    for (unsigned k = 0; k < STEPS; k++)
                        expect(all[r].status[k] == TITHE_OK, "%s", all[r].said[k].text);
                for (unsigned k = 0; k < STEPS; k++) check_bits(&p, all, k);
                if (how == STAYS) { /* as it was put */
                    float *x = malloc(p.n * sizeof *x);
                    fill(&p, x, 0, STEPS - 1);
                    assert_true(same_floats(all[0].x, x, p.n));
                    free(x);
                }
                stop(&p, all, &net);
            }
}

/* Wherever it stands: in a piece that is sent at once, or in one that is added to first. */
static void check_bad(const plan *p)
{
    network net;
    process *all = run(p, &net);
    char place[40], who[20];
    snprintf(place, sizeof place, "position %zu,", p->bad_at);
    snprintf(who, sizeof who, "Rank %u ", p->bad_rank);
    for (unsigned r = 0; r < p->ranks; r++) {
        const tithe_error *said = &all[r].said[0];
        expect(all[r].status[0] == (p->skips ? TITHE_E_SKIPPED : TITHE_E_NONFINITE) &&
                   strstr(said->text, place) && strstr(said->text, who),
               "rank %u of %u, way %d, bad at %zu: %d, '%s'", r, p->ranks, (int)p->how, p->bad_at,
               (int)all[r].status[0], said->text);
        expect((all[r].status[1] == TITHE_OK) == p->skips, "rank %u: %s", r, all[r].said[1].text);
    }
    if (p->skips) check_bits(p, all, 1);
    stop(p, all, &net);
}

static void bad_numbers_are_known_to_all(void **state)
{
    (void)state;
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    unsigned turn = 0;
    for (unsigned ranks = 2; ranks <= 3; ranks++)
        for (way how = COPIED; how < WAYS; how++)
            for (unsigned part = 0; part < ranks; part++)
                for (unsigned piece = 0; piece < 2; piece++) {
                    const size_t n = ranks * parts[0] + 1;
                    const size_t at = tithe_part_begin(n, ranks, part) + (piece ? COLL_PIECE : 99);
                    const plan p = {.ranks = ranks,
                                    .bad_rank = turn % ranks,
                                    .n = n,
                                    .bad_at = at,
                                    .bad = bad[turn % 3],
                                    .how = how,
                                    .skips = turn % 2};
                    turn++;
                    check_bad(&p);
                }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bits_are_those_of_one_process),
        cmocka_unit_test(bad_numbers_are_known_to_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
