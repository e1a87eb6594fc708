/* test_remote.c - collectives over a transport: queues, with threads in place of processes
 * that hold one rank or several. Same bits and same bytes as with all ranks in one place. */
#include "coll/coll.h"
#include "coll/ranks.h"
#include "queues.h"

enum { MAX_RANKS = 17 };

typedef struct process {
    pthread_t thread;
    tithe_comm comm;
    const tithe_collective *how;
    size_t n;
    float *vectors[MAX_RANKS], *scratch_vector;
    uint8_t *blocks[MAX_RANKS];
    size_t lengths[MAX_RANKS];
    tithe_status status;
    tithe_error error;
} process;

static void *reduce_here(void *argument)
{
    process *p = argument;
    p->status = tithe_all_reduce(&p->comm, p->how, p->vectors, p->n, p->scratch_vector, &p->error);
    return NULL;
}

static void *gather_here(void *argument)
{
    process *p = argument;
    p->status = tithe_all_gather(&p->comm, p->how, p->blocks, p->lengths, &p->error);
    return NULL;
}

/* Processes with 1, 2, ... `most`, 1, 2, ... ranks. Returns how many there are. */
static unsigned deal(process *all, network *net, unsigned size, unsigned max)
{
    unsigned count = 0;
    for (unsigned first = 0; first < size; count++) {
        unsigned local = 1 + count % max;
        if (local > size - first) local = size - first;
        all[count] = (process){.comm = {.size = size,
                                        .first = first,
                                        .local = local,
                                        .transport = &queues,
                                        .self = net,
                                        .timeout = 60}};
        first += local;
    }
    return count;
}

static void run_all(process *all, unsigned count, void *(*job)(void *))
{
    for (unsigned p = 0; p < count; p++)
        assert_int_equal(pthread_create(&all[p].thread, NULL, job, &all[p]), 0);
    for (unsigned p = 0; p < count; p++) pthread_join(all[p].thread, NULL);
    for (unsigned p = 0; p < count; p++)
        expect(all[p].status == TITHE_OK, "%s: %s", all[p].how->name, all[p].error.text);
}

static void check_reduce(const tithe_collective *how, unsigned size, size_t n, unsigned max)
{
    network net;
    process all[MAX_RANKS];
    network_open(&net, size);
    const unsigned count = deal(all, &net, size, max);
    float *x = vectors_make(size, n, 2), *y = malloc((size * n + 1) * sizeof *y);
    assert_non_null(y);
    memcpy(y, x, size * n * sizeof *y);
    for (unsigned p = 0; p < count; p++) {
        all[p].how = how;
        all[p].n = n;
        all[p].scratch_vector = malloc((n + 1) * sizeof(float));
        for (unsigned i = 0; i < all[p].comm.local; i++) all[p].vectors[i] = y + (all[p].comm.first + i) * n;
    }
    run_all(all, count, reduce_here);
    uint64_t bytes = 0, messages = 0;
    for (unsigned p = 0; p < count; p++) {
        bytes += all[p].comm.sent_bytes;
        messages += all[p].comm.sent_messages;
        free(all[p].scratch_vector);
    }
    tithe_rounds stated;
    tithe_rounds_start(&stated);
    how->reduce_rounds(size, (double)n, &stated);
    const bool turns = strcmp(how->name, "direct") == 0 && ti_direct_in_turns(size, n);
    const uint64_t told = turns ? (uint64_t)size * (2 * size - 3) : 0; /* a byte ahead of all but the first */
    expect(bytes == reduce_bytes(size, n) + told && (double)messages == tithe_rounds_messages(&stated),
           "%s, %u ranks: %llu bytes in %llu messages", how->name, size, (unsigned long long)bytes,
           (unsigned long long)messages);
    for (size_t i = 0; i < n; i++)
        for (unsigned r = 0; r < size; r++)
            expect(bits_of_float(y[r * n + i]) == bits_of_float(replayed(how->name, x, size, n, i)),
                   "%s, %u ranks, at most %u together: rank %u differs at %zu", how->name, size, max, r, i);
    assert_true(network_is_empty(&net)); /* nothing is left over */
    network_close(&net);
    free(x);
    free(y);
}

static void sums_are_the_same_over_a_transport(void **state)
{
    (void)state;
    static const unsigned sizes[] = {2, 3, 4, 5, 8, 13, 17};
    static const size_t lengths[] = {0, 1, 2, 7, 1000};
    for (const tithe_collective *const *how = tithe_collectives(); *how; how++)
        for (unsigned s = 0; (*how)->ordered && s < sizeof sizes / sizeof *sizes; s++)
            for (unsigned l = 0; l < sizeof lengths / sizeof *lengths; l++)
                for (unsigned max = 1; max <= 3; max++) check_reduce(*how, sizes[s], lengths[l], max);
}

/* Parts of several pieces, the last of which is short, and of one that is just full; parts differ by one number. Processes
 * with other numbers of ranks send the same messages. */
static void long_parts_go_in_pieces(void **state)
{
    (void)state;
    static const size_t parts[] = {COLL_PIECE + 1, 2 * COLL_PIECE, 2 * COLL_PIECE + 1000};
    const tithe_collective *ring = collective_of("ring");
    for (unsigned size = 2; size <= 5; size++)
        for (unsigned i = 0; i < 3; i++)
            for (unsigned max = 1; max <= 3; max++) check_reduce(ring, size, size * parts[i] + (i == 2), max);
}

static void long_parts_take_turns(void **state)
{
    (void)state;
    const size_t part = TITHE_DIRECT_AT_ONCE / sizeof(float) + 1;
    const tithe_collective *direct = collective_of("direct");
    for (unsigned size = 3; size <= 7; size++)
        for (unsigned max = 1; max <= 3; max++) {
            assert_true(ti_direct_in_turns(size, size * part + 1));
            check_reduce(direct, size, size * part + 1, max);
        }
}

static void check_gather(const tithe_collective *how, unsigned size, unsigned max)
{
    network net;
    process all[MAX_RANKS];
    network_open(&net, size);
    const unsigned count = deal(all, &net, size, max);
    for (unsigned p = 0; p < count; p++) {
        all[p].how = how;
        for (unsigned r = 0; r < size; r++) { /* block r is all r + 1, and only where r lives */
            all[p].lengths[r] = (r * 37 + 5) % 50 * (r % 3 != 1);
            all[p].blocks[r] = malloc(all[p].lengths[r] + 1);
            const bool here = r >= all[p].comm.first && r < all[p].comm.first + all[p].comm.local;
            memset(all[p].blocks[r], here ? (int)r + 1 : 0, all[p].lengths[r]);
            all[p].blocks[r][all[p].lengths[r]] = 0xee;
        }
    }
    run_all(all, count, gather_here);
    uint64_t bytes = 0;
    for (unsigned p = 0; p < count; p++) {
        bytes += all[p].comm.sent_bytes;
        for (unsigned r = 0; r < size; r++) {
            expect(bytes_are(all[p].blocks[r], all[p].lengths[r], (uint8_t)(r + 1)) &&
                       all[p].blocks[r][all[p].lengths[r]] == 0xee,
                   "%s, %u ranks, at most %u together: block %u did not arrive", how->name, size, max, r);
            free(all[p].blocks[r]);
        }
    }
    expect(bytes == gather_bytes(how->name, size, all[0].lengths), "%s, %u ranks: %llu bytes", how->name,
           size, (unsigned long long)bytes);
    network_close(&net);
}

static void blocks_arrive_over_a_transport(void **state)
{
    (void)state;
    for (const tithe_collective *const *how = tithe_collectives(); *how; how++)
        for (unsigned size = 2; (*how)->gather && size <= MAX_RANKS; size++)
            for (unsigned max = 1; max <= 3; max++) check_gather(*how, size, max);
}

static void *broadcast_here(void *argument)
{
    process *p = argument;
    p->status = tithe_broadcast(&p->comm, (unsigned)p->n, p->blocks, 64, &p->lengths[0], &p->error);
    return NULL;
}

/* `n` is the root. Nobody else knows the length; a root that says too much is stopped by the first who hears it. */
static void check_broadcast(unsigned size, unsigned root, unsigned max)
{
    network net;
    process all[MAX_RANKS];
    network_open(&net, size);
    const unsigned count = deal(all, &net, size, max);
    for (unsigned p = 0; p < count; p++) {
        const tithe_comm *c = &all[p].comm;
        const bool here = root >= c->first && root < c->first + c->local;
        all[p].how = collective_of("tree"); /* named in messages */
        all[p].n = root;
        all[p].lengths[0] = here ? 41 : 0;
        for (unsigned i = 0; i < c->local; i++) {
            all[p].blocks[i] = calloc(64, 1);
            if (c->first + i == root) memset(all[p].blocks[i], 0x5a, 41);
        }
    }
    run_all(all, count, broadcast_here);
    uint64_t sent = 0;
    for (unsigned p = 0; p < count; p++) {
        assert_int_equal(all[p].lengths[0], 41);
        for (unsigned i = 0; i < all[p].comm.local; i++) {
            expect(bytes_are(all[p].blocks[i], 41, 0x5a), "%u ranks, root %u: rank %u", size, root,
                   all[p].comm.first + i);
            free(all[p].blocks[i]);
        }
        sent += all[p].comm.sent_bytes;
    }
    assert_true(sent == (size - 1) * (TITHE_LENGTH_BYTES +
                                      41u)); /* everybody but the root gets a length and the block */
    network_close(&net);
}

static void a_block_reaches_everybody_over_a_transport(void **state)
{
    (void)state;
    static const unsigned sizes[] = {2, 3, 4, 7, 8, 13};
    for (unsigned s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (unsigned root = 0; root < sizes[s]; root++)
            for (unsigned max = 1; max <= 3; max++) check_broadcast(sizes[s], root, max);
}

/* A length that nobody could have meant is refused before anything is written. */
static void too_long_a_block_is_refused(void **state)
{
    (void)state;
    network net;
    network_open(&net, 2);
    const uint8_t head[TITHE_LENGTH_BYTES] = {65};
    assert_int_equal(queues.send(&net, 1, 0, head, sizeof head, NULL), TITHE_OK);
    process p[2];
    deal(p, &net, 2, 1);
    uint8_t block[64];
    p[0].n = 1;
    p[0].blocks[0] = block;
    broadcast_here(&p[0]);
    assert_int_equal(p[0].status, TITHE_E_CORRUPT);
    assert_non_null(strstr(p[0].error.text, "65"));
    network_close(&net);
}

/* Rank 1 never comes. */
static void whoever_waits_in_vain_is_told(void **state)
{
    (void)state;
    for (const tithe_collective *const *how = tithe_collectives(); *how; how++) {
        if (!(*how)->ordered) continue;
        network net;
        process p[2];
        network_open(&net, 2);
        deal(p, &net, 2, 1);
        float x = 1, scratch;
        p[0].how = *how;
        p[0].n = 1;
        p[0].vectors[0] = &x;
        p[0].scratch_vector = &scratch;
        p[0].comm.timeout = 0.01;
        reduce_here(&p[0]);
        assert_int_equal(p[0].status, TITHE_E_TIMEOUT);
        assert_non_null(strstr(p[0].error.text, "Rank 1"));
        assert_true(p[0].comm.waited >= 0.009);
        assert_string_equal(net.gave_up, p[0].error.text); /* the others were told at once */
        *net.gave_up = 0;
        queues.give_up(&net, "it ran out of memory");
        p[0].comm.timeout = 60;
        reduce_here(&p[0]); /* once is enough: it does not wait again */
        assert_int_equal(p[0].status, TITHE_E_TIMEOUT);
        p[0].comm.failed = (tithe_error){.code = TITHE_OK};
        reduce_here(&p[0]);
        assert_int_equal(p[0].status, TITHE_E_PEER);
        assert_non_null(strstr(p[0].error.text, "out of memory"));
        network_close(&net);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_the_same_over_a_transport),
        cmocka_unit_test(long_parts_go_in_pieces),
        cmocka_unit_test(long_parts_take_turns),
        cmocka_unit_test(blocks_arrive_over_a_transport),
        cmocka_unit_test(a_block_reaches_everybody_over_a_transport),
        cmocka_unit_test(too_long_a_block_is_refused),
        cmocka_unit_test(whoever_waits_in_vain_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
