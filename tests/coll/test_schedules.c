/* test_schedules.c - what the schedules of all collectives have in common, and what is special to each: asked of the
 * schedules alone, without running them. */
#include "support.h"

static const unsigned sizes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 32, 33, 64};
enum { SIZES = sizeof sizes / sizeof *sizes, MAX = 64 };

typedef void (*schedule)(unsigned, unsigned, unsigned, tithe_move *);

static tithe_move move_of(schedule s, unsigned size, unsigned rank, unsigned round)
{
    tithe_move m = {.to = TITHE_NOBODY, .from = TITHE_NOBODY};
    s(size, rank, round, &m);
    return m;
}

/* Questions about one round: moves[r] is what rank r does. */
static void check_round(const char *name, const tithe_move *moves, unsigned size, unsigned parts,
                        unsigned round)
{
    for (unsigned r = 0; r < size; r++) {
        const tithe_move *m = &moves[r];
        const bool sends = m->to != TITHE_NOBODY, receives = m->from != TITHE_NOBODY;
        expect(!sends || (m->to >= 0 && m->to < (int)size && m->to != (int)r),
               "%s %u/%u round %u: sends to %d", name, r, size, round, m->to);
        expect(!sends || (m->send <= m->send_end && m->send_end <= parts), "%s %u/%u round %u: sends [%u,%u)",
               name, r, size, round, m->send, m->send_end);
        expect(!receives || (m->receive <= m->receive_end && m->receive_end <= parts),
               "%s %u/%u round %u: receives [%u,%u)", name, r, size, round, m->receive, m->receive_end);
        expect(!(sends && receives) || m->send_end <= m->receive || m->receive_end <= m->send,
               "%s %u/%u round %u: sends [%u,%u) while it receives [%u,%u)", name, r, size, round, m->send,
               m->send_end, m->receive, m->receive_end);
        if (sends) {
            const tithe_move *other = &moves[m->to];
            expect(other->from == (int)r && other->receive == m->send && other->receive_end == m->send_end,
                   "%s %u/%u round %u: %d does not expect what it is sent", name, r, size, round, m->to);
        }
        if (receives)
            expect(moves[m->from].to == (int)r, "%s %u/%u round %u: waits for %d, which sends nothing", name,
                   r, size, round, m->from);
    }
}

static void every_send_has_its_receive(void **state)
{
    (void)state;
    for (const tithe_collective *const *c = tithe_collectives(); *c; c++)
        for (unsigned s = 0; s < SIZES; s++) {
            const unsigned size = sizes[s];
            tithe_move moves[MAX];
            const unsigned rounds = (*c)->reduce ? (*c)->reduce_steps(size) : 0;
            for (unsigned round = 0; round < rounds; round++) {
                for (unsigned r = 0; r < size; r++) moves[r] = move_of((*c)->reduce, size, r, round);
                check_round((*c)->name, moves, size, (*c)->parts(size), round);
            }
            for (unsigned round = 0; (*c)->gather && round < (*c)->gather_steps(size); round++) {
                for (unsigned r = 0; r < size; r++) moves[r] = move_of((*c)->gather, size, r, round);
                check_round((*c)->name, moves, size, size, round);
            }
        }
}

/* Follow each part through the rounds: which ranks' numbers are in the copy of rank r? A rank may send only what was
 * there when the round began. */
static void sums_count_everybody_once(void **state)
{
    (void)state;
    for (const tithe_collective *const *c = tithe_collectives(); *c; c++)
        for (unsigned s = 0; (*c)->reduce && s < SIZES; s++) {
            const unsigned size = sizes[s], parts = (*c)->parts(size);
            static uint64_t has[MAX][MAX], before[MAX][MAX]; /* bit q: rank q is in */
            for (unsigned r = 0; r < size; r++)
                for (unsigned p = 0; p < parts; p++) has[r][p] = UINT64_C(1) << r;
            for (unsigned round = 0; round < (*c)->reduce_steps(size); round++) {
                memcpy(before, has, sizeof before);
                for (unsigned r = 0; r < size; r++) {
                    const tithe_move m = move_of((*c)->reduce, size, r, round);
                    for (unsigned p = m.receive; m.from != TITHE_NOBODY && p < m.receive_end; p++) {
                        const uint64_t theirs = before[m.from][p];
                        expect(!m.add || !(has[r][p] & theirs), "%s, %u ranks: rank %u adds somebody twice",
                               (*c)->name, size, r);
                        has[r][p] = m.add ? has[r][p] | theirs : theirs;
                    }
                }
            }
            const uint64_t everybody = size == 64 ? UINT64_MAX : (UINT64_C(1) << size) - 1;
            for (unsigned r = 0; r < size; r++)
                for (unsigned p = 0; p < parts; p++)
                    expect(has[r][p] == everybody, "%s, %u ranks: rank %u has not the whole sum of part %u",
                           (*c)->name, size, r, p);
        }
}

static void blocks_reach_everybody(void **state)
{
    (void)state;
    for (const tithe_collective *const *c = tithe_collectives(); *c; c++)
        for (unsigned s = 0; (*c)->gather && s < SIZES; s++) {
            const unsigned size = sizes[s];
            uint64_t has[MAX], before[MAX];
            for (unsigned r = 0; r < size; r++) has[r] = UINT64_C(1) << r;
            for (unsigned round = 0; round < (*c)->gather_steps(size); round++) {
                memcpy(before, has, sizeof before);
                for (unsigned r = 0; r < size; r++) {
                    const tithe_move m = move_of((*c)->gather, size, r, round);
                    for (unsigned p = m.receive; m.from != TITHE_NOBODY && p < m.receive_end; p++) {
                        expect(before[m.from] >> p & 1,
                               "%s, %u ranks: rank %d sends block %u, which it does not have", (*c)->name,
                               size, m.from, p);
                        has[r] |= UINT64_C(1) << p;
                    }
                }
            }
            for (unsigned r = 0; r < size; r++)
                expect(has[r] == (size == 64 ? UINT64_MAX : (UINT64_C(1) << size) - 1),
                       "%s, %u ranks: rank %u lacks a block", (*c)->name, size, r);
        }
}

/* What a schedule sends, added up move by move, is what the collective states; and where every step waits for the one before,
 * so are the longest messages of the steps. */
typedef struct moved {
    double sent, messages, slowest;
} moved;

static void expect_stated(const tithe_collective *c, unsigned size, const tithe_rounds *stated, moved m,
                          const char *what)
{
    expect(tithe_rounds_sent(stated) == m.sent && tithe_rounds_messages(stated) == m.messages,
           "%s, %u ranks, %s: %g bytes in %g messages, not %g in %g", c->name, size, what,
           tithe_rounds_sent(stated), tithe_rounds_messages(stated), m.sent, m.messages);
    expect(strcmp(c->name, "star") == 0 || tithe_rounds_bytes(stated) == m.slowest,
           "%s, %u ranks, %s: %g bytes in a row, not %g", c->name, size, what, tithe_rounds_bytes(stated),
           m.slowest);
}

static void check_reduce(const tithe_collective *c, unsigned size, size_t n)
{
    moved m = {0};
    tithe_rounds stated;
    const unsigned parts = c->parts(size);
    for (unsigned step = 0; step < c->reduce_steps(size); step++) {
        double slowest = 0;
        for (unsigned r = 0; r < size; r++) {
            const tithe_move move = move_of(c->reduce, size, r, step);
            if (move.to == TITHE_NOBODY) continue;
            const double bytes = 4.0 * (double)(tithe_part_begin(n, parts, move.send_end) -
                                                tithe_part_begin(n, parts, move.send));
            m.sent += bytes;
            m.messages++;
            slowest = fmax(slowest, bytes);
        }
        m.slowest += slowest;
    }
    tithe_rounds_start(&stated);
    c->reduce_rounds(size, (double)n, &stated);
    expect_stated(c, size, &stated, m, "reduce");
}

static void check_gather(const tithe_collective *c, unsigned size, bool equal)
{
    moved m = {0};
    tithe_rounds stated;
    size_t blocks[MAX];
    for (unsigned q = 0; q < size; q++) blocks[q] = equal ? 11 : (q * 37 + 5) % 50 * (q % 3 != 1);
    for (unsigned step = 0; step < c->gather_steps(size); step++) {
        double slowest = 0;
        for (unsigned r = 0; r < size; r++) {
            const tithe_move move = move_of(c->gather, size, r, step);
            double bytes = 0;
            for (unsigned p = move.send; move.to != TITHE_NOBODY && p < move.send_end; p++) {
                bytes += (double)blocks[p];
                m.messages++;
            }
            m.sent += bytes;
            slowest = fmax(slowest, bytes);
        }
        m.slowest += slowest;
    }
    tithe_rounds_start(&stated);
    c->gather_rounds(&(tithe_blocks){.count = size, .length = 11, .lengths = equal ? NULL : blocks}, &stated);
    expect_stated(c, size, &stated, m, equal ? "gather of equal blocks" : "gather");
}

static void rounds_are_those_of_the_schedule(void **state)
{
    (void)state;
    static const size_t lengths[] = {0, 1, 2, 7, 63, 64, 65, 1000};
    for (const tithe_collective *const *c = tithe_collectives(); *c; c++)
        for (unsigned s = 0; (*c)->reduce && s < SIZES; s++) {
            for (unsigned l = 0; l < sizeof lengths / sizeof *lengths; l++)
                check_reduce(*c, sizes[s], lengths[l]);
            for (int equal = 0; (*c)->gather && equal < 2; equal++) check_gather(*c, sizes[s], equal);
        }
}

/* A million ranks are as quickly asked as two, and need no more room. */
static void rounds_of_many_ranks_are_few(void **state)
{
    (void)state;
    for (const tithe_collective *const *c = tithe_collectives(); *c; c++) {
        tithe_rounds stated;
        tithe_rounds_start(&stated);
        (*c)->reduce_rounds(1000000, 1e9, &stated);
        if ((*c)->gather) (*c)->gather_rounds(&(tithe_blocks){.count = 1000000, .length = 100}, &stated);
        expect(stated.length > 0 && stated.length <= 24, "%s: %u entries", (*c)->name, stated.length);
    }
}

static void parts_cover_the_vector(void **state)
{
    (void)state;
    static const size_t lengths[] = {0, 1, 2, 7, 63, 64, 65, 1000};
    for (unsigned i = 0; i < sizeof lengths / sizeof *lengths; i++)
        for (unsigned parts = 1; parts <= 65; parts++) {
            assert_int_equal(tithe_part_begin(lengths[i], parts, 0), 0);
            assert_int_equal(tithe_part_begin(lengths[i], parts, parts), lengths[i]);
            for (unsigned p = 0; p < parts; p++) {
                const size_t from = tithe_part_begin(lengths[i], parts, p),
                             to = tithe_part_begin(lengths[i], parts, p + 1);
                expect(to >= from && to - from - lengths[i] / parts <= 1,
                       "%zu numbers, part %u of %u: %zu to %zu", lengths[i], p, parts, from, to);
            }
        }
}

static double seconds_of(const char *name, unsigned size, double n, const tithe_link *link)
{
    tithe_rounds rounds;
    tithe_rounds_start(&rounds);
    collective_of(name)->reduce_rounds(size, n, &rounds);
    return tithe_rounds_seconds(&rounds, link);
}

/* The formulas of tyagi2023artopk (its table of costs), written down again: exact where levels of a tree are whole, and parts
 * are of one length. */
static void seconds_follow_the_paper(void **state)
{
    (void)state;
    const double a = 1e-3, b = 1 / 1.25e8;
    const tithe_link link = {.latency = a, .bandwidth = 1 / b};
    for (unsigned size = 1; size <= 64; size++) {
        const double N = size, n = 4000 * N, M = 4 * n, levels = ceil(log(N) / log(2) - 1e-9);
        const double ring = seconds_of("ring", size, n, &link), tree = seconds_of("tree", size, n, &link);
        const double star = seconds_of("star", size, n, &link), direct = seconds_of("direct", size, n, &link);
        const double apart = N > 1; /* one rank has nobody to talk to */
        assert_true(fabs(ring - (2 * (N - 1) * a + 2 * (N - 1) / N * M * b)) <= 1e-12 * ring);
        assert_true(fabs(tree - (2 * a * levels + 2 * levels * M * b)) <= 1e-12 * tree);
        assert_true(fabs(star - apart * (2 * a + 2 * (N - 1) * M * b)) <= 1e-12 * star);
        assert_true(fabs(direct - apart * (2 * a + 2 * (N - 1) / N * M * b)) <= 1e-12 * direct);
        tithe_rounds broadcast;
        tithe_rounds_start(&broadcast);
        tithe_broadcast_rounds(size, M, &broadcast);
        const double seconds = tithe_rounds_seconds(&broadcast, &link);
        assert_true(fabs(seconds - levels * (a + (TITHE_LENGTH_BYTES + M) * b)) <= 1e-12 * seconds);
    }
}

static void names_are_found(void **state)
{
    (void)state;
    for (const tithe_collective *const *c = tithe_collectives(); *c; c++)
        assert_ptr_equal(collective_of((*c)->name), *c);
    const tithe_collective *none = NULL;
    tithe_error error = {0};
    assert_int_equal(tithe_collective_find("rings", &none, NULL, &error), TITHE_E_SPEC);
    assert_non_null(strstr(error.text, "ring, tree, star, direct, native"));
    assert_int_equal(tithe_collective_find("", &none, NULL, NULL), TITHE_E_SPEC);
    assert_null(none);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_send_has_its_receive),       cmocka_unit_test(sums_count_everybody_once),
        cmocka_unit_test(blocks_reach_everybody),           cmocka_unit_test(parts_cover_the_vector),
        cmocka_unit_test(seconds_follow_the_paper),         cmocka_unit_test(names_are_found),
        cmocka_unit_test(rounds_are_those_of_the_schedule), cmocka_unit_test(rounds_of_many_ranks_are_few),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
