/* test_local.c - collectives with all ranks in one place: sums to the bit, in the documented order, and the count. */
#include "coll/ranks.h"

static const unsigned sizes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 32, 33, 64};
static const size_t lengths[] = {0, 1, 2, 7, 1000};

static void check_reduce(const tithe_collective *how, unsigned size, size_t n)
{
    float *x = vectors_make(size, n, 1), *y = malloc((size * n + 1) * sizeof *y);
    float **vectors = malloc(size * sizeof *vectors);
    assert_true(y && vectors);
    memcpy(y, x, size * n * sizeof *y);
    for (unsigned r = 0; r < size; r++) vectors[r] = y + r * n;
    tithe_comm comm = ranks_here(size);
    tithe_error error = {0};
    expect(tithe_all_reduce(&comm, how, vectors, n, NULL, &error) == TITHE_OK, "%s", error.text);
    for (size_t i = 0; i < n; i++) {
        const float sum = replayed(how->name, x, size, n, i);
        double exact = 0, max = 0;
        for (unsigned r = 0; r < size; r++) {
            exact += (double)x[r * n + i];
            max += fabs((double)x[r * n + i]);
        }
        expect(fabs((double)sum - exact) <= size * (double)FLT_EPSILON * max,
               "%s: the replay itself is no sum", how->name);
        for (unsigned r = 0; r < size; r++)
            expect(bits_of_float(vectors[r][i]) == bits_of_float(sum),
                   "%s, %u ranks, n = %zu: rank %u has %.9g at %zu, not %.9g", how->name, size, n, r,
                   (double)vectors[r][i], i, (double)sum);
    }
    const uint64_t messages = size == 1 ? 0 : reduce_messages(how->name, size);
    tithe_rounds rounds;
    tithe_rounds_start(&rounds);
    how->reduce_rounds(size, (double)n, &rounds);
    expect(tithe_rounds_sent(&rounds) == (double)reduce_bytes(size, n),
           "%s, %u ranks, n = %zu: says %g bytes", how->name, size, n, tithe_rounds_sent(&rounds));
    expect(comm.sent_bytes == reduce_bytes(size, n) && comm.sent_messages == messages,
           "%s, %u ranks, n = %zu: %llu bytes in %llu messages", how->name, size, n,
           (unsigned long long)comm.sent_bytes, (unsigned long long)comm.sent_messages);
    free(x);
    free(y);
    free(vectors);
}

static void every_rank_has_the_sum_to_the_bit(void **state)
{
    (void)state;
    for (const tithe_collective *const *how = tithe_collectives(); *how; how++)
        for (size_t s = 0; (*how)->ordered && s < sizeof sizes / sizeof *sizes; s++)
            for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++)
                check_reduce(*how, sizes[s], lengths[l]);
}

/* The orders differ in the last bits, or the test above would be blind to them. */
static void orders_can_be_told_apart(void **state)
{
    (void)state;
    enum { SIZE = 8, N = 1000 };
    float *x = vectors_make(SIZE, N, 1);
    unsigned ring_tree = 0, tree_star = 0, ring_star = 0;
    for (size_t i = 0; i < N; i++) {
        const float ring = replayed("ring", x, SIZE, N, i), tree = replayed("tree", x, SIZE, N, i),
                    star = replayed("star", x, SIZE, N, i);
        ring_tree += ring != tree;
        tree_star += tree != star;
        ring_star += ring != star;
    }
    assert_true(ring_tree > 100 && tree_star > 100 && ring_star > 100);
    free(x);
}

static void gather_counts_what_travels(void **state)
{
    (void)state;
    for (const tithe_collective *const *how = tithe_collectives(); *how; how++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            const unsigned size = sizes[s];
            size_t bytes[64];
            uint8_t *blocks[64], block[64];
            for (unsigned r = 0; r < size; r++) {
                bytes[r] = (r * 37 + 5) % 50 * (r % 3 != 1);
                blocks[r] = block;
            }
            tithe_comm comm = ranks_here(size);
            tithe_error error = {0};
            const tithe_status status = tithe_all_gather(&comm, *how, blocks, bytes, &error);
            if (!(*how)->gather) {
                assert_int_equal(status, TITHE_E_SPEC);
                assert_non_null(strstr(error.text, (*how)->name));
                continue;
            }
            assert_int_equal(status, TITHE_OK);
            expect(comm.sent_bytes == (size == 1 ? 0 : gather_bytes((*how)->name, size, bytes)),
                   "%s, %u ranks: %llu bytes", (*how)->name, size, (unsigned long long)comm.sent_bytes);
        }
}

/* Every root, and blocks that ranks share or do not. */
static void broadcast_reaches_everybody(void **state)
{
    (void)state;
    for (unsigned size = 1; size <= 17; size++)
        for (unsigned root = 0; root < size; root++) {
            uint8_t rooms[17][8] = {0}, *blocks[17];
            for (unsigned r = 0; r < size; r++) blocks[r] = rooms[r];
            memcpy(rooms[root], "indices", 7);
            size_t length = 7;
            tithe_comm comm = ranks_here(size);
            tithe_error error = {0};
            assert_int_equal(tithe_broadcast(&comm, root, blocks, 8, &length, &error), TITHE_OK);
            for (unsigned r = 0; r < size; r++)
                expect(memcmp(rooms[r], "indices", 8) == 0, "%u ranks, root %u: rank %u has nothing", size,
                       root, r);
            tithe_rounds rounds;
            tithe_rounds_start(&rounds);
            tithe_broadcast_rounds(size, (double)length, &rounds);
            assert_true(comm.sent_bytes == (size - 1) * (TITHE_LENGTH_BYTES + 7u) &&
                        tithe_rounds_sent(&rounds) == (double)comm.sent_bytes);
            assert_true(comm.sent_messages == (size - 1) * 2u);
        }
    uint8_t room[4], *blocks[] = {room, room};
    tithe_comm comm = ranks_here(2);
    size_t length = 5;
    assert_int_equal(tithe_broadcast(&comm, 0, blocks, 4, &length, NULL), TITHE_E_ARGUMENT);
    length = 4;
    assert_int_equal(tithe_broadcast(&comm, 2, blocks, 4, &length, NULL), TITHE_E_ARGUMENT);
}

/* Not on every transport, and it says where it is. */
static void native_is_refused_here(void **state)
{
    (void)state;
    tithe_comm comm = ranks_here(2);
    float x = 1, y = 2, *vectors[] = {&x, &y};
    tithe_error error = {0};
    assert_int_equal(tithe_all_reduce(&comm, collective_of("native"), vectors, 1, NULL, &error),
                     TITHE_E_SPEC);
    assert_non_null(strstr(error.text, "inproc"));
    assert_true(x == 1 && y == 2 && comm.sent_bytes == 0);
}

static void scratch_is_asked_for(void **state)
{
    (void)state;
    static const tithe_transport none = {.name = "none"};
    tithe_comm comm = {.size = 2, .first = 0, .local = 1, .transport = &none};
    float x = 1, *vectors[] = {&x};
    tithe_error error = {0};
    assert_int_equal(tithe_all_reduce(&comm, collective_of("ring"), vectors, 1, NULL, &error),
                     TITHE_E_ARGUMENT);
    assert_non_null(strstr(error.text, "scratch"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_rank_has_the_sum_to_the_bit),
        cmocka_unit_test(orders_can_be_told_apart),
        cmocka_unit_test(gather_counts_what_travels),
        cmocka_unit_test(broadcast_reaches_everybody),
        cmocka_unit_test(native_is_refused_here),
        cmocka_unit_test(scratch_is_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
