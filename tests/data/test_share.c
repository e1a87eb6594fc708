/* test_share.c - shares of workers: every row is somebody's and nobody's twice, sizes, orders, refusals. */
#include "data/kit.h"

/* Labels are numbers that no two rows share, so they tell rows apart. */
static tithe_data *numbered(const char *source)
{
    return kit_open_with(source, (tithe_data_options){.task = TITHE_TASK_NUMBER});
}

static tithe_data *share_of(const tithe_data *all, unsigned workers, tithe_split split, uint64_t seed,
                            unsigned first, unsigned local)
{
    tithe_data *share = NULL;
    tithe_error error = {0};
    if (tithe_data_share(all, workers, split, seed, first, local, &share, &error)) fail_msg("%s", error.text);
    return share;
}

static size_t row_with_label(const tithe_data *d, double label)
{
    size_t row = 0;
    while (row < d->rows && d->labels[row] != label) row++;
    return row;
}

static void expect_same_row(const tithe_data *a, size_t i, const tithe_data *b, size_t j)
{
    for (size_t f = 0; f < a->features; f++)
        expect(kit_value(a, i, f) == kit_value(b, j, f), "row %zu differs from row %zu in %zu", i, j, f);
}

static void check_partition(const char *source, unsigned workers, tithe_split split)
{
    tithe_data *all = numbered(source);
    bool *taken = calloc(all->rows, 1);
    assert_non_null(taken);
    size_t last = SIZE_MAX;
    for (unsigned w = 0; w < workers; w++) {
        tithe_data *share = share_of(all, workers, split, 7, w, 1);
        assert_int_equal(share->workers, workers);
        assert_int_equal(share->first, w);
        assert_int_equal(share->local, 1);
        assert_int_equal(share->total_rows, all->rows);
        assert_int_equal(share->features, all->features);
        assert_true(share->hash == all->hash);
        assert_string_equal(share->name, all->name);
        assert_true(share->begin[0] == 0 && share->begin[1] == share->rows);
        assert_true(share->rows == all->rows / workers + (w < all->rows % workers));
        assert_true(share->rows <= last);
        last = share->rows;
        for (size_t i = 0; i < share->rows; i++) {
            const size_t row = row_with_label(all, share->labels[i]);
            expect(row < all->rows && !taken[row], "a row of worker %u is nobody's or taken", w);
            taken[row] = true;
            expect_same_row(share, i, all, row);
        }
        tithe_data_free(share);
    }
    for (size_t i = 0; i < all->rows; i++) assert_true(taken[i]);
    free(taken);
    tithe_data_free(all);
}

static void shares_are_a_partition(void **state)
{
    (void)state;
    static const char *const sources[] = {"gen:sparse:rows=103,features=40,density=0.1",
                                          "gen:dense:rows=50,features=7"};
    static const unsigned workers[] = {1, 2, 7, 50};
    for (size_t s = 0; s < 2; s++)
        for (size_t w = 0; w < 4; w++)
            for (int split = 0; split < 3; split++)
                check_partition(sources[s], workers[w], (tithe_split)split);
}

static void several_workers_live_together(void **state)
{
    (void)state;
    tithe_data *all = numbered("gen:sparse:rows=100,features=30,density=0.2");
    tithe_data *three = share_of(all, 7, TITHE_SPLIT_SHUFFLED, 3, 2, 3);
    assert_int_equal(three->local, 3);
    for (unsigned w = 0; w < 3; w++) {
        tithe_data *one = share_of(all, 7, TITHE_SPLIT_SHUFFLED, 3, 2 + w, 1);
        assert_int_equal(one->rows, three->begin[w + 1] - three->begin[w]);
        for (size_t i = 0; i < one->rows; i++) {
            assert_true(one->labels[i] == three->labels[three->begin[w] + i]);
            expect_same_row(one, i, three, three->begin[w] + i);
        }
        tithe_data_free(one);
    }
    tithe_data_free(three);
    tithe_data_free(all);
}

static void orders_are_what_they_are_called(void **state)
{
    (void)state;
    tithe_data *all = numbered("gen:dense:rows=200,features=3");
    tithe_data *plain = share_of(all, 3, TITHE_SPLIT_CONTIGUOUS, 1, 0, 3);
    assert_memory_equal(plain->labels, all->labels, all->rows * sizeof *all->labels);
    tithe_data *sorted = share_of(all, 3, TITHE_SPLIT_SORTED, 1, 0, 3);
    for (size_t i = 1; i < sorted->rows; i++) assert_true(sorted->labels[i - 1] <= sorted->labels[i]);
    tithe_data_free(plain);
    tithe_data_free(sorted);
    tithe_data_free(all);

    /* Two labels, rows told apart by their value: equal labels keep their order. */
    char text[4000];
    size_t used = 0;
    for (int i = 0; i < 101; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%d 1:%d 9:1\n", i % 3 == 0, i);
    all = kit_open(kit_text("stable", text));
    sorted = share_of(all, 1, TITHE_SPLIT_SORTED, 1, 0, 1);
    for (size_t i = 1; i < sorted->rows; i++)
        expect(sorted->labels[i - 1] < sorted->labels[i] ||
                   (sorted->labels[i - 1] == sorted->labels[i] &&
                    kit_value(sorted, i - 1, 0) < kit_value(sorted, i, 0)),
               "row %zu is out of order", i);
    tithe_data_free(sorted);
    tithe_data_free(all);
}

static bool same_order(const tithe_data *all, uint64_t one_seed, uint64_t other_seed)
{
    tithe_data *a = share_of(all, 4, TITHE_SPLIT_SHUFFLED, one_seed, 0, 4);
    tithe_data *b = share_of(all, 4, TITHE_SPLIT_SHUFFLED, other_seed, 0, 4);
    const bool same = memcmp(a->labels, b->labels, a->rows * sizeof *a->labels) == 0;
    tithe_data_free(a);
    tithe_data_free(b);
    return same;
}

static void the_seed_decides_the_order(void **state)
{
    (void)state;
    tithe_data *all = numbered("gen:dense:rows=300,features=2");
    assert_true(same_order(all, 5, 5));
    assert_false(same_order(all, 5, 6));
    assert_false(same_order(all, 0, 1));

    /* Each row is equally likely to come first. */
    enum { TRIALS = 30000, ROWS = 10 };
    tithe_data *few = numbered("gen:dense:rows=10,features=1");
    unsigned first[ROWS] = {0};
    for (uint64_t seed = 0; seed < TRIALS; seed++) {
        tithe_data *share = share_of(few, ROWS, TITHE_SPLIT_SHUFFLED, seed, 0, 1);
        first[row_with_label(few, share->labels[0])]++;
        tithe_data_free(share);
    }
    for (int i = 0; i < ROWS; i++)
        expect(fabs(first[i] - TRIALS / (double)ROWS) < count_slack(TRIALS, 1.0 / ROWS),
               "row %d came first %u times", i, first[i]);
    tithe_data_free(few);
    tithe_data_free(all);
}

static void expect_refused(const tithe_data *all, unsigned workers, int split, unsigned first, unsigned local,
                           const char *part)
{
    tithe_data *share = NULL;
    tithe_error error = {0};
    assert_int_equal(tithe_data_share(all, workers, (tithe_split)split, 0, first, local, &share, &error),
                     TITHE_E_ARGUMENT);
    assert_null(share);
    expect(strstr(error.text, part) != NULL, "%s lacks %s", error.text, part);
}

static void what_cannot_be_shared(void **state)
{
    (void)state;
    tithe_data *all = kit_open("gen:dense:rows=10,features=2");
    expect_refused(all, 11, 0, 0, 1, "10 rows are not enough for 11 workers");
    expect_refused(all, 0, 0, 0, 1, "not among 0 workers");
    expect_refused(all, 4, 0, 4, 1, "Workers 4 to 4 are not among 4");
    expect_refused(all, 4, 0, 2, 3, "Workers 2 to 4 are not among 4");
    expect_refused(all, 4, 0, 1, UINT32_MAX, "not among 4");
    expect_refused(all, 4, 0, 0, 0, "not among 4");
    expect_refused(all, 4, 3, 0, 1, "tithe_split");
    expect_refused(NULL, 4, 0, 0, 1, "no data");
    tithe_data *share = share_of(all, 2, TITHE_SPLIT_SHUFFLED, 0, 0, 1);
    expect_refused(share, 2, 0, 0, 1, "a share already");
    tithe_data_free(share);
    tithe_data_free(all);
    tithe_data_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_are_a_partition),          cmocka_unit_test(several_workers_live_together),
        cmocka_unit_test(orders_are_what_they_are_called), cmocka_unit_test(the_seed_decides_the_order),
        cmocka_unit_test(what_cannot_be_shared),
    };
    return cmocka_run_group_tests(tests, kit_setup, kit_teardown);
}
