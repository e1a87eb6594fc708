/* test_artopk.c - AR-Top-k against its recursion, computed here without the library: who leads, what is applied, what every
 * rank keeps, and what is counted. */
#include "exchange/group.h"

enum { MAX = 8, LONGEST = 1000 };
static const unsigned sizes[] = {1, 2, 3, 4, 7, 8};
static const size_t lengths[] = {1, 7, 1000};
static const char *const collectives[] = {"ring", "tree", "star", "direct"};

/* The same group of ranks, without an exchange. */
typedef struct twin {
    unsigned ranks;
    size_t n, k;
    float e[MAX][LONGEST];
    double applied[LONGEST],
        given[LONGEST];         /* sums over all steps: ranks * update, and gamma * g of all ranks */
    uint32_t top[MAX][LONGEST]; /* indices of each rank, ascending */
    double energy[MAX];
} twin;

static const float *sorted_by;

static int by_magnitude(const void *a, const void *b)
{
    const uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
    const float x = fabsf(sorted_by[i]), y = fabsf(sorted_by[j]);
    return x != y ? (x < y ? 1 : -1) : (i > j) - (i < j);
}

static int by_position(const void *a, const void *b)
{
    const uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
    return (i > j) - (i < j);
}

/* e + gamma g, and what each rank would select. */
static void twin_form(twin *t, const float *x, double gamma)
{
    for (unsigned r = 0; r < t->ranks; r++) {
        for (size_t i = 0; i < t->n; i++) {
            const float added = (float)gamma * x[r * t->n + i];
            t->e[r][i] += added;
            t->given[i] += (double)added;
            t->top[r][i] = (uint32_t)i;
        }
        sorted_by = t->e[r];
        qsort(t->top[r], t->n, sizeof **t->top, by_magnitude);
        qsort(t->top[r], t->k, sizeof **t->top, by_position);
        t->energy[r] = 0;
        for (size_t j = 0; j < t->k; j++)
            t->energy[r] += (double)t->e[r][t->top[r][j]] * (double)t->e[r][t->top[r][j]];
    }
}

static unsigned max_energy(const twin *t)
{
    unsigned best = 0;
    for (unsigned r = 1; r < t->ranks; r++)
        if (t->energy[r] > t->energy[best]) best = r;
    return best;
}

/* Sums at the leader's indices, and zeros there for everybody. */
static void twin_apply(twin *t, unsigned leader, double *sum)
{
    memset(sum, 0, t->n * sizeof *sum);
    for (size_t j = 0; j < t->k; j++) {
        const uint32_t at = t->top[leader][j];
        for (unsigned r = 0; r < t->ranks; r++) {
            sum[at] += (double)t->e[r][at];
            t->e[r][at] = 0;
        }
    }
}

/* ranks * applied + all residuals = all gradients. */
static void check_nothing_is_lost(group *g, twin *t, const char *what)
{
    for (size_t i = 0; i < t->n; i++) {
        double kept = 0;
        t->applied[i] += t->ranks * (double)g->update[i];
        for (unsigned r = 0; r < t->ranks; r++) kept += (double)tithe_exchange_residual(g->ex, r)[i];
        expect(fabs(t->applied[i] + kept - t->given[i]) <= 1e-4,
               "%s: %u ranks, n = %zu: %g applied, %g kept, %g given", what, t->ranks, t->n, t->applied[i],
               kept, t->given[i]);
    }
}

typedef enum rule { ROUND_ROBIN, VARIANCE } rule;

/* Bytes and bits of one step, from frames that are written here. */
typedef struct account {
    double up, sent, paper;
} account;

static void add_to_account(account *a, const twin *t, const group *g, unsigned leader, rule how,
                           bool automatic)
{
    static float v[LONGEST];
    const tithe_frame_info full = message(g->codec, 0, leader, 0, t->e[leader], t->n, v);
    const double index = (double)(full.bytes - (full.value_bits + 7) / 8); /* the frame without its values */
    tithe_codec *given = codec_of("given|raw");
    const double values = (double)tithe_codec_length(given, t->n, t->k, TITHE_EXCHANGE);
    tithe_codec_free(given);
    const tithe_collective *c = collective_of(last_of(g->ex).collective);
    a->up += t->ranks * values + index;
    a->paper += 32.0 * (double)((t->ranks + 1) * t->k + (how == VARIANCE ? t->ranks : 0));
    const tithe_blocks stats = {.count = t->ranks, .length = automatic ? 16 : 8};
    tithe_rounds rounds;
    tithe_rounds_start(&rounds);
    c->reduce_rounds(t->ranks, (double)t->k, &rounds);
    if (how == VARIANCE || automatic) (c->gather ? c : collective_of("ring"))->gather_rounds(&stats, &rounds);
    a->sent += tithe_rounds_sent(&rounds) +
               (t->ranks - 1) * (TITHE_LENGTH_BYTES + index); /* everybody is sent the indices */
}

static void check_account(const group *g, const account *a, const char *what)
{
    const tithe_exchange_totals t = totals_of(g->ex);
    expect(t.uplink_bytes == a->up && t.sent_bytes == a->sent && t.paper_bits == a->paper,
           "%s: up %g (%g), sent %g (%g), paper %g (%g)", what, t.uplink_bytes, a->up, t.sent_bytes, a->sent,
           t.paper_bits, a->paper);
    assert_true(t.cost == 8 * t.uplink_bytes); /* bits */
}

static twin *twin_make(unsigned ranks, size_t n, double keep)
{
    twin *t = calloc(1, sizeof *t);
    assert_non_null(t);
    t->ranks = ranks;
    t->n = n;
    t->k = (size_t)round(keep * (double)n);
    if (t->k == 0) t->k = 1;
    return t;
}

static void check_run(unsigned ranks, size_t n, const char *leader, const char *collective, unsigned steps)
{
    group *g = group_make(&(wanted){.codec = "topk:keep=0.05",
                                    .feedback = "ec",
                                    .scheme = "artopk",
                                    .leader = leader,
                                    .collective = collective,
                                    .ranks = ranks,
                                    .n = n,
                                    .measure = true});
    twin *t = twin_make(ranks, n, 0.05);
    double sum[LONGEST];
    unsigned led[MAX] = {0}, turns = 0;
    account a = {0};
    for (unsigned k = 0; k < steps; k++) {
        const double gamma = k < 4 ? 0.25 : 0.0625;
        float *x = gradients_make(ranks, n, k);
        twin_form(t, x, gamma);
        group_put_all(g, x, gamma);
        group_finish(g);
        const tithe_exchange_record last = last_of(g->ex);
        const rule how = strcmp(last.reason, "variance") == 0 ? VARIANCE : ROUND_ROBIN;
        if (strcmp(leader, "auto") != 0) assert_string_equal(last.reason, leader);
        const unsigned wanted_leader = how == VARIANCE ? max_energy(t) : turns++ % ranks;
        expect(last.leader == (int)wanted_leader, "%s, %u ranks, step %u: rank %d leads, not %u", leader,
               ranks, k, last.leader, wanted_leader);
        led[last.leader]++;
        add_to_account(&a, t, g, wanted_leader, how, strcmp(leader, "auto") == 0);
        twin_apply(t, wanted_leader, sum);
        for (size_t i = 0; i < n; i++)
            expect(fabs((double)g->update[i] - sum[i] / ranks) <= 1e-6 * (1 + fabs(sum[i])),
                   "%s, %u ranks, step %u: %g at %zu, not %g", leader, ranks, k, (double)g->update[i], i,
                   sum[i] / ranks);
        for (unsigned r = 0; r < ranks; r++)
            expect(same_floats(tithe_exchange_residual(g->ex, r), t->e[r], n),
                   "%s, %u ranks, step %u: rank %u keeps else", leader, ranks, k, r);
        check_nothing_is_lost(g, t, leader);
        check_account(g, &a, leader);
        assert_true(last.level_least == (double)t->k && last.level_most == (double)t->k);
        free(x);
    }
    for (unsigned r = 0; r < ranks && strcmp(leader, "round-robin") == 0; r++)
        expect(led[r] == steps / ranks || led[r] == steps / ranks + 1, "rank %u led %u of %u", r, led[r],
               steps);
    group_free(g);
    free(t);
}

static void runs_follow_the_recursion(void **state)
{
    (void)state;
    static const char *const leaders[] = {"round-robin", "variance", "auto"};
    for (unsigned s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (unsigned l = 0; l < sizeof lengths / sizeof *lengths; l++)
            for (unsigned c = 0; c < 4; c++)
                for (unsigned h = 0; h < 3; h++)
                    check_run(sizes[s], lengths[l], leaders[h], collectives[c], 24);
}

/* Equal energies go to the lowest rank, and the rank with the largest gradient leads otherwise. */
static void variance_finds_the_loudest(void **state)
{
    (void)state;
    group *g = group_make(&(wanted){
        .codec = "topk:k=2", .feedback = "ec", .scheme = "artopk", .leader = "variance", .ranks = 3, .n = 4});
    const float equal[] = {1, -2, 0, 0, 0, 2, 1, 0, -1, 0, 0, 2};
    group_put_all(g, equal, 1);
    group_finish(g);
    assert_int_equal(last_of(g->ex).leader, 0);
    /* applied at 0 and 1; left: rank 1 has 1 at 2, rank 2 has 2 at 3 */
    const float zeros[12] = {0};
    group_put_all(g, zeros, 1);
    group_finish(g);
    assert_int_equal(last_of(g->ex).leader, 2);
    assert_true(g->update[3] == (float)(2.0 / 3));
    group_free(g);
}

/* Both rules are tried in turn, then the better one is kept, and the other one tried again from time to time. */
static void auto_tries_both(void **state)
{
    (void)state;
    enum { RANKS = 4, N = 200, STEPS = 200 };
    for (unsigned loud = 0; loud < 2; loud++) {
        group *g = group_make(&(wanted){.codec = "topk:keep=0.05",
                                        .feedback = "ec",
                                        .scheme = "artopk",
                                        .leader = "auto",
                                        .ranks = RANKS,
                                        .n = N});
        unsigned variance = 0;
        for (unsigned k = 0; k < STEPS; k++) {
            float x[RANKS * N];
            dice d = {k + 1};
            for (unsigned r = 0; r < RANKS; r++) /* one rank has nearly all there is, or all have the same */
                for (unsigned i = 0; i < N; i++)
                    x[r * N + i] =
                        loud ? (float)(roll_gauss(&d) * (r == 2 ? 10 : 0.01)) : (float)((i + k) % 7);
            group_put_all(g, x, 0.5);
            group_finish(g);
            const bool by_variance = strcmp(last_of(g->ex).reason, "variance") == 0;
            if (k < 16) assert_int_equal(by_variance, k % 2);
            variance += k >= 16 && by_variance;
        }
        const unsigned retries = STEPS / 32; /* steps 31, 63, ... */
        expect(variance == (loud ? STEPS - 16 - retries : retries), "%u steps by variance", variance);
        group_free(g);
    }
}

/* Owners quantize sums, and keep what the frame does not say: nobody else keeps anything there, and nothing is lost. */
static void check_quantized(const char *spec, unsigned ranks, size_t n, const char *leader)
{
    group *g = group_make(&(wanted){
        .codec = spec, .feedback = "ec", .scheme = "artopk", .leader = leader, .ranks = ranks, .n = n});
    twin *t = twin_make(ranks, n, 0.1);
    double sum[LONGEST];
    for (unsigned k = 0; k < 12; k++) {
        float *x = gradients_make(ranks, n, k);
        twin_form(t, x, 0.25);
        group_put_all(g, x, 0.25);
        group_finish(g);
        const unsigned who = (unsigned)last_of(g->ex).leader;
        assert_string_equal(last_of(g->ex).collective, "direct");
        assert_int_equal(who, strcmp(leader, "variance") == 0 ? max_energy(t) : k % ranks);
        uint32_t at[LONGEST];
        memcpy(at, t->top[who], sizeof at);
        twin_apply(t, who, sum);
        for (size_t j = 0; j < t->k; j++) {
            unsigned owner = 0;
            while (tithe_part_begin(t->k, ranks, owner + 1) <= j) owner++;
            const double said = ranks * (double)g->update[at[j]];
            expect(fabs(said - sum[at[j]]) <= fabs(sum[at[j]]) + 1e-6, "%s: %g, not %g", spec, said,
                   sum[at[j]]);
            for (unsigned r = 0; r < ranks; r++) {
                const float kept = tithe_exchange_residual(g->ex, r)[at[j]];
                expect(r == owner || kept == 0, "%s: rank %u keeps %g of what rank %u owns", spec, r,
                       (double)kept, owner);
                t->e[r][at[j]] = kept; /* the twin cannot quantize */
            }
        }
        for (unsigned r = 0; r < ranks; r++)
            expect(same_floats(tithe_exchange_residual(g->ex, r), t->e[r], n), "%s: rank %u keeps else", spec,
                   r);
        check_nothing_is_lost(g, t, spec);
        free(x);
    }
    group_free(g);
    free(t);
}

static void owners_quantize_once(void **state)
{
    (void)state;
    for (unsigned s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (unsigned l = 0; l < sizeof lengths / sizeof *lengths; l++) {
            check_quantized("topk:keep=0.1|natural", sizes[s], lengths[l], "round-robin");
            check_quantized("topk:keep=0.1|f16", sizes[s], lengths[l], "variance");
            check_quantized("topk:keep=0.1|bf16", sizes[s], lengths[l], "round-robin");
        }
}

/* Ring, tree and direct in one run: what is kept is the same as with any of them alone, and a step that has begun is not
 * disturbed. */
static void collectives_change_between_steps(void **state)
{
    (void)state;
    enum { RANKS = 5, N = 300 };
    const wanted w = {
        .codec = "topk:keep=0.05", .feedback = "ec", .scheme = "artopk", .ranks = RANKS, .n = N};
    group *changing = group_make(&w), *constant = group_make(&w);
    for (unsigned k = 0; k < 12; k++) {
        float *x = gradients_make(RANKS, N, k);
        const char *name = collectives[k % 4];
        assert_int_equal(tithe_exchange_switch(changing->ex, name, &changing->error), TITHE_OK);
        group_put_all(changing, x, 0.25);
        assert_int_equal(tithe_exchange_switch(changing->ex, "ring", &changing->error), TITHE_E_ARGUMENT);
        group_finish(changing);
        group_put_all(constant, x, 0.25);
        group_finish(constant);
        assert_string_equal(last_of(changing->ex).collective, name);
        for (unsigned r = 0; r < RANKS; r++)
            assert_true(same_floats(tithe_exchange_residual(changing->ex, r),
                                    tithe_exchange_residual(constant->ex, r), N));
        for (size_t i = 0; i < N; i++)
            assert_true(fabs((double)changing->update[i] - (double)constant->update[i]) <= 1e-5);
        free(x);
    }
    assert_int_equal(tithe_exchange_switch(changing->ex, "allgather", &changing->error), TITHE_E_SPEC);
    assert_int_equal(tithe_exchange_switch(changing->ex, "native", &changing->error), TITHE_E_SPEC);
    assert_string_equal(last_of(changing->ex).collective, collectives[3]);
    group_free(changing);
    group_free(constant);
}

/* However many threads put and select. */
static void threads_change_nothing(void **state)
{
    (void)state;
    enum { RANKS = 7, N = 1000 };
    tithe_pool *pool = NULL;
    assert_int_equal(tithe_pool_create(4, &pool, NULL), TITHE_OK);
    wanted w = {.codec = "topk:keep=0.05|natural",
                .feedback = "ec",
                .scheme = "artopk",
                .leader = "auto",
                .ranks = RANKS,
                .n = N};
    group *one = group_make(&w);
    w.pool = pool;
    w.lanes = 4;
    group *four = group_make(&w);
    for (unsigned k = 0; k < 20; k++) {
        float *x = gradients_make(RANKS, N, k);
        group_put_all(one, x, 0.25);
        group_finish(one);
        group_put_all(four, x, 0.25);
        group_finish(four);
        assert_true(same_floats(one->update, four->update, N));
        free(x);
    }
    assert_true(totals_of(one->ex).sent_bytes == totals_of(four->ex).sent_bytes);
    group_free(one);
    group_free(four);
    tithe_pool_free(pool);
}

/* A rank that skips would have nothing to say at the leader's indices; numbers that are none stop before they are kept. */
static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    group *g =
        group_make(&(wanted){.codec = "topk:k=2", .feedback = "ec", .scheme = "artopk", .ranks = 2, .n = 4});
    const float x[] = {1, 2, 3, 4}, huge[] = {3e38f, 0, 0, 0};
    assert_int_equal(tithe_exchange_put(g->ex, 0, 0, x, 1, &g->error), TITHE_OK);
    assert_int_equal(tithe_exchange_skip(g->ex, 1, 1, &g->error), TITHE_OK);
    assert_int_equal(tithe_exchange_finish(g->ex, g->update, &g->error), TITHE_E_ARGUMENT);
    assert_non_null(strstr(g->error.text, "rank 1 skips"));
    group_free(g);

    g = group_make(&(wanted){.codec = "topk:k=1", .feedback = "ec", .scheme = "artopk", .ranks = 2, .n = 4});
    const float small[] = {1, 0, 0, 0};
    assert_int_equal(tithe_exchange_put(g->ex, 0, 0, small, 4, &g->error), TITHE_OK);
    assert_int_equal(tithe_exchange_put(g->ex, 1, 0, huge, 4, &g->error),
                     TITHE_OK); /* 4 * huge is no number */
    assert_int_equal(tithe_exchange_finish(g->ex, g->update, &g->error), TITHE_E_RANGE);
    assert_non_null(strstr(g->error.text, "Rank 1 has a gradient that is too large"));
    group_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_follow_the_recursion), cmocka_unit_test(variance_finds_the_loudest),
        cmocka_unit_test(auto_tries_both),           cmocka_unit_test(owners_quantize_once),
        cmocka_unit_test(what_cannot_be_is_refused), cmocka_unit_test(collectives_change_between_steps),
        cmocka_unit_test(threads_change_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
