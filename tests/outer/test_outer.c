/* test_outer.c - the outer loop: what ranks have moved, its mean, the outer step, and where each goes on, beside the same in doubles. */
#include "exchange/group.h"
#include "tithe/outer.h"

enum { RANKS = 3, N = 700, ROUNDS = 5 };
static const size_t lengths[] = {300, 0, 1, 399};
enum { LAYERS = sizeof lengths / sizeof *lengths };

/* A model whose layers lie in different places. */
typedef struct model {
    float numbers[N], *layers[LAYERS];
} model;

static void place(model *m)
{
    static const size_t begins[LAYERS] = {400, 0, 399, 0}; /* not in the order of the layers */
    for (size_t l = 0; l < LAYERS; l++) m->layers[l] = m->numbers + begins[l];
}

/* In the order of the layers. */
static float *number(model *m, size_t i)
{
    size_t l = 0;
    while (i >= lengths[l]) i -= lengths[l++];
    return m->layers[l] + i;
}

typedef struct loop {
    tithe_comm comm;
    tithe_exchange *ex;
    tithe_outer *outer;
    model models[RANKS];
} loop;

static loop *open_loop(const char *exchange, const char *options)
{
    loop *l = calloc(1, sizeof *l);
    tithe_error error = {0};
    l->comm = ranks_here(RANKS);
    expect(!tithe_exchange_open_layers(&l->comm, exchange, lengths, LAYERS, &l->ex, &error), "%s",
           error.text);
    expect(!tithe_outer_open(l->ex, options, &l->outer, &error), "%s", error.text);
    for (unsigned r = 0; r < RANKS; r++) {
        place(&l->models[r]);
        for (size_t i = 0; i < N; i++) *number(&l->models[r], i) = (float)i / N;
    }
    assert_int_equal(tithe_outer_begin(l->outer, (const float *const *)l->models[0].layers, NULL), TITHE_OK);
    return l;
}

static void close_loop(loop *l)
{
    tithe_outer_free(l->outer);
    tithe_exchange_free(l->ex);
    free(l);
}

/* Steps of a rank's own: something that depends on where it is. */
static void compute(model *m, unsigned rank, unsigned round)
{
    float step[N];
    gradient_fill(step, N, rank, round);
    for (size_t i = 0; i < N; i++) *number(m, i) -= 0.1f * (step[i] + *number(m, i));
}

static void put(loop *l, unsigned rank)
{
    tithe_error error = {0};
    expect(!tithe_outer_put(l->outer, rank, (const float *const *)l->models[rank].layers, &error), "%s",
           error.text);
}

static void get(loop *l)
{
    for (unsigned r = 0; r < RANKS; r++)
        assert_int_equal(tithe_outer_get(l->outer, r, l->models[r].layers, NULL), TITHE_OK);
    for (unsigned r = 1; r < RANKS; r++)
        assert_memory_equal(l->models[0].numbers, l->models[r].numbers, sizeof l->models[0].numbers);
}

static void round_of_all(loop *l, unsigned round)
{
    tithe_error error = {0};
    for (unsigned r = 0; r < RANKS; r++) {
        compute(&l->models[r], r, round);
        put(l, r);
    }
    expect(!tithe_outer_exchange(l->outer, &error), "%s", error.text);
    get(l);
}

/* Dense messages: the shared model is that of the formula. */
static void the_outer_step_is_the_formula(void **state)
{
    (void)state;
    static const struct {
        const char *options;
        double lr, momentum;
        bool nesterov;
    } kinds[] = {{NULL, 1, 0, false},
                 {"lr=0.5", 0.5, 0, false},
                 {"lr=0.7;momentum=0.9", 0.7, 0.9, false},
                 {"lr=0.7;momentum=0.9;nesterov=yes", 0.7, 0.9, true}};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        loop *l = open_loop("codec=all|raw", kinds[k].options);
        double shared[N], m[N] = {0};
        for (size_t i = 0; i < N; i++) shared[i] = (double)i / N;
        for (unsigned t = 0; t < ROUNDS; t++) {
            round_of_all(l, t);
            for (size_t i = 0; i < N; i++) {
                double mean = 0;
                for (unsigned r = 0; r < RANKS; r++) {
                    float step[N];
                    gradient_fill(step, N, r, t);
                    mean += 0.1 * ((double)step[i] + shared[i]) / RANKS;
                }
                m[i] = kinds[k].momentum * m[i] + mean;
                shared[i] -= kinds[k].lr * (kinds[k].nesterov ? mean + kinds[k].momentum * m[i] : m[i]);
                assert_float_equal(*number(&l->models[0], i), (float)shared[i], 1e-4f);
            }
        }
        assert_true((tithe_outer_momentum(l->outer) != NULL) == (kinds[k].momentum > 0));
        close_loop(l);
    }
}

/* Whatever is sent, what is not sent is kept: shared + lr (residuals in the mean) is what dense messages would have made of it. */
static void nothing_is_lost(void **state)
{
    (void)state;
    loop *l = open_loop("codec=topk:k=20;feedback=ec", "lr=1");
    double moved[N] = {0};
    for (unsigned t = 0; t < ROUNDS; t++) {
        float start[N];
        for (size_t i = 0; i < N; i++) start[i] = *number(&l->models[0], i);
        for (unsigned r = 0; r < RANKS; r++) {
            compute(&l->models[r], r, t);
            for (size_t i = 0; i < N; i++)
                moved[i] += ((double)start[i] - (double)*number(&l->models[r], i)) / RANKS;
            put(l, r);
        }
        assert_int_equal(tithe_outer_exchange(l->outer, NULL), TITHE_OK);
        get(l);
    }
    for (size_t i = 0; i < N; i++) {
        double kept = 0;
        for (unsigned r = 0; r < RANKS; r++) kept += (double)tithe_exchange_residual(l->ex, r)[i] / RANKS;
        assert_float_equal(*number(&l->models[0], i), (float)((double)i / N - moved[i] + kept), 1e-4f);
    }
    close_loop(l);
}

/* Without waiting: each rank is at the shared model with its own last round on top, and the shared model is one round late. */
static void going_on_keeps_what_is_under_way(void **state)
{
    (void)state;
    loop *l = open_loop("codec=all|raw", "lr=0.5");
    for (unsigned t = 0; t < ROUNDS; t++) {
        float before[RANKS][N], moved[RANKS][N], shared[N];
        memcpy(shared, tithe_outer_shared(l->outer), sizeof shared);
        for (unsigned r = 0; r < RANKS; r++) {
            for (size_t i = 0; i < N; i++) before[r][i] = *number(&l->models[r], i);
            compute(&l->models[r], r, t);
            for (size_t i = 0; i < N; i++) moved[r][i] = before[r][i] - *number(&l->models[r], i);
            put(l, r);
            assert_int_equal(tithe_outer_go_on(l->outer, r, l->models[r].layers, NULL), TITHE_OK);
            for (size_t i = 0; i < N; i++) {
                assert_float_equal(*number(&l->models[r], i), shared[i] - 0.5f * moved[r][i], 1e-6f);
                assert_true(tithe_outer_start(l->outer, r)[i] == *number(&l->models[r], i));
            }
        }
        assert_int_equal(tithe_outer_exchange(l->outer, NULL), TITHE_OK);
        for (size_t i = 0; i < N; i++) {
            double mean = 0;
            for (unsigned r = 0; r < RANKS; r++) mean += (double)moved[r][i] / RANKS;
            assert_float_equal(tithe_outer_shared(l->outer)[i], (float)((double)shared[i] - 0.5 * mean),
                               1e-5f);
        }
    }
    get(l);
    assert_null(tithe_outer_start(l->outer, 0));
    close_loop(l);
}

/* A rank whose model is of no use any more: nobody moves, and all go on from where they were. */
static void a_skipped_round_brings_all_back(void **state)
{
    (void)state;
    loop *l = open_loop("codec=topk:k=20;feedback=ec:decay=0.9;on-nonfinite=skip", "momentum=0.9");
    round_of_all(l, 0);
    float shared[N], residual[N];
    memcpy(shared, tithe_outer_shared(l->outer), sizeof shared);
    memcpy(residual, tithe_exchange_residual(l->ex, 0), sizeof residual);
    for (unsigned r = 0; r < RANKS; r++) {
        compute(&l->models[r], r, 1);
        if (r == 1) *number(&l->models[r], 5) = NAN;
        put(l, r);
        assert_int_equal(tithe_outer_go_on(l->outer, r, l->models[r].layers, NULL), TITHE_OK);
        for (size_t i = 0; i < N; i++) assert_true(isfinite(*number(&l->models[r], i)));
    }
    assert_int_equal(tithe_outer_exchange(l->outer, NULL), TITHE_E_SKIPPED);
    assert_memory_equal(shared, tithe_outer_shared(l->outer), sizeof shared);
    assert_memory_equal(residual, tithe_exchange_residual(l->ex, 0), sizeof residual);
    get(l);
    round_of_all(l, 2);
    close_loop(l);
}

/* From what a checkpoint has: the same bits. */
static void it_goes_on_from_a_checkpoint(void **state)
{
    (void)state;
    const char *exchange = "codec=topk:k=20|sign;feedback=ec:decay=0.9", *options = "lr=0.7;momentum=0.5";
    loop *one = open_loop(exchange, options), *two = open_loop(exchange, options);
    for (unsigned t = 0; t < 4; t++)
        for (unsigned r = 0; r < RANKS; r++) {
            compute(&one->models[r], r, t);
            put(one, r);
            assert_int_equal(tithe_outer_go_on(one->outer, r, one->models[r].layers, NULL), TITHE_OK);
            if (r == RANKS - 1) assert_int_equal(tithe_outer_exchange(one->outer, NULL), TITHE_OK);
        }
    memcpy(tithe_outer_shared(two->outer), tithe_outer_shared(one->outer), N * sizeof(float));
    memcpy(tithe_outer_momentum(two->outer), tithe_outer_momentum(one->outer), N * sizeof(float));
    tithe_exchange_continue(two->ex, 4, NULL, NULL);
    for (unsigned r = 0; r < RANKS; r++) {
        memcpy(tithe_exchange_residual(two->ex, r), tithe_exchange_residual(one->ex, r), N * sizeof(float));
        assert_int_equal(tithe_outer_start_at(two->outer, r, tithe_outer_start(one->outer, r), NULL),
                         TITHE_OK);
        memcpy(two->models[r].numbers, one->models[r].numbers, sizeof one->models[r].numbers);
    }
    round_of_all(one, 4);
    round_of_all(two, 4);
    assert_memory_equal(one->models[0].numbers, two->models[0].numbers, sizeof one->models[0].numbers);
    close_loop(one);
    close_loop(two);
}

static void what_makes_no_sense_is_refused(void **state)
{
    (void)state;
    loop *l = open_loop("codec=all|raw", NULL);
    tithe_outer *outer = NULL;
    static const char *const wrong[] = {"lr=0",         "lr=-1",     "momentum=1.5",
                                        "nesterov=yes", "decay=0.9", "lr=nan"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        expect(tithe_outer_open(l->ex, wrong[i], &outer, NULL) != TITHE_OK, "%s is taken", wrong[i]);
    assert_int_equal(tithe_outer_open(NULL, "", &outer, NULL), TITHE_E_ARGUMENT);
    assert_int_equal(tithe_outer_exchange(l->outer, NULL), TITHE_E_ARGUMENT);
    assert_int_equal(tithe_outer_go_on(l->outer, 0, l->models[0].layers, NULL), TITHE_E_ARGUMENT);
    assert_int_equal(tithe_outer_put(l->outer, RANKS, (const float *const *)l->models[0].layers, NULL),
                     TITHE_E_ARGUMENT);
    assert_int_equal(tithe_outer_put(l->outer, 0, NULL, NULL), TITHE_E_ARGUMENT);
    close_loop(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_outer_step_is_the_formula),    cmocka_unit_test(nothing_is_lost),
        cmocka_unit_test(going_on_keeps_what_is_under_way), cmocka_unit_test(a_skipped_round_brings_all_back),
        cmocka_unit_test(it_goes_on_from_a_checkpoint),     cmocka_unit_test(what_makes_no_sense_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
