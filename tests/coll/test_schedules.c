/* test_schedules.c - what the schedules of all collectives have in common, and what is special to each: asked of the
 * schedules alone, without running them. */
#include "support.h"

static const unsigned sizes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 32, 33, 64};
enum { SIZES = sizeof sizes / sizeof *sizes, MOST = 64 };

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
            tithe_move moves[MOST];
            const unsigned rounds = (*c)->reduce ? (*c)->reduce_rounds(size) : 0;
            for (unsigned round = 0; round < rounds; round++) {
                for (unsigned r = 0; r < size; r++) moves[r] = move_of((*c)->reduce, size, r, round);
                check_round((*c)->name, moves, size, (*c)->parts(size), round);
            }
            for (unsigned round = 0; (*c)->gather && round < (*c)->gather_rounds(size); round++) {
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
            static uint64_t has[MOST][MOST], before[MOST][MOST]; /* bit q: rank q is in */
            for (unsigned r = 0; r < size; r++)
                for (unsigned p = 0; p < parts; p++) has[r][p] = UINT64_C(1) << r;
            for (unsigned round = 0; round < (*c)->reduce_rounds(size); round++) {
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
            uint64_t has[MOST], before[MOST];
            for (unsigned r = 0; r < size; r++) has[r] = UINT64_C(1) << r;
            for (unsigned round = 0; round < (*c)->gather_rounds(size); round++) {
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

/* What a schedule sends, added up move by move, is what the collective says that it sends. */
static void bytes_are_those_of_the_schedule(void **state)
{
    (void)state;
    static const size_t lengths[] = {0, 1, 2, 7, 63, 64, 65, 1000};
    for (const tithe_collective *const *c = tithe_collectives(); *c; c++)
        for (unsigned s = 0; (*c)->reduce && s < SIZES; s++)
            for (unsigned r = 0; r < sizes[s]; r++) {
                const unsigned size = sizes[s], parts = (*c)->parts(size);
                for (unsigned l = 0; l < sizeof lengths / sizeof *lengths; l++) {
                    uint64_t bytes = 0;
                    for (unsigned round = 0; round < (*c)->reduce_rounds(size); round++) {
                        const tithe_move m = move_of((*c)->reduce, size, r, round);
                        if (m.to == TITHE_NOBODY) continue;
                        bytes += 4 * (tithe_part_begin(lengths[l], parts, m.send_end) -
                                      tithe_part_begin(lengths[l], parts, m.send));
                    }
                    expect((*c)->reduce_bytes(size, r, lengths[l]) == bytes,
                           "%s %u/%u, n = %zu: not %llu bytes", (*c)->name, r, size, lengths[l],
                           (unsigned long long)bytes);
                }
                if (!(*c)->gather) continue;
                size_t blocks[MOST];
                uint64_t bytes = 0;
                for (unsigned q = 0; q < size; q++) blocks[q] = (q * 37 + 5) % 50 * (q % 3 != 1);
                for (unsigned round = 0; round < (*c)->gather_rounds(size); round++) {
                    const tithe_move m = move_of((*c)->gather, size, r, round);
                    for (unsigned p = m.send; m.to != TITHE_NOBODY && p < m.send_end; p++) bytes += blocks[p];
                }
                expect((*c)->gather_bytes(size, r, blocks) == bytes, "%s %u/%u: not %llu bytes", (*c)->name,
                       r, size, (unsigned long long)bytes);
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

/* The formulas of tyagi2023artopk (its table of costs), written down again. */
static void seconds_follow_the_paper(void **state)
{
    (void)state;
    const double M = 1e6, a = 1e-3, b = 1 / 1.25e8;
    for (unsigned s = 0; s < SIZES; s++) {
        const double N = sizes[s], log_N = log(N) / log(2);
        const double ring = tithe_collective_find("ring")->reduce_seconds(sizes[s], M, a, 1 / b);
        const double tree = tithe_collective_find("tree")->reduce_seconds(sizes[s], M, a, 1 / b);
        const double star = tithe_collective_find("star")->reduce_seconds(sizes[s], M, a, 1 / b);
        assert_true(fabs(ring - (2 * (N - 1) * a + 2 * (N - 1) / N * M * b)) <= 1e-12 * ring);
        assert_true(fabs(tree - (2 * a * log_N + 2 * log_N * M * b)) <= 1e-12 * tree);
        assert_true(fabs(star - (2 * a + 2 * (N - 1) * M * b)) <= 1e-12 * star);
        const double broadcast = tithe_broadcast_seconds(sizes[s], M, a, 1 / b);
        assert_true(fabs(broadcast - (a * log_N + log_N * M * b)) <= 1e-12 * broadcast);
        const double direct = tithe_collective_find("direct")->reduce_seconds(sizes[s], M, a, 1 / b);
        const double rounds = N > 2 && M / N > 65536 ? 4 * N - 5 : 2; /* long parts go in turns */
        assert_true(fabs(direct - (rounds * a + 2 * (N - 1) / N * M * b)) <= 1e-12 * direct);
    }
}

static void names_are_found(void **state)
{
    (void)state;
    for (const tithe_collective *const *c = tithe_collectives(); *c; c++)
        assert_ptr_equal(tithe_collective_find((*c)->name), *c);
    assert_null(tithe_collective_find("rings"));
    assert_null(tithe_collective_find(""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_send_has_its_receive),      cmocka_unit_test(sums_count_everybody_once),
        cmocka_unit_test(blocks_reach_everybody),          cmocka_unit_test(parts_cover_the_vector),
        cmocka_unit_test(seconds_follow_the_paper),        cmocka_unit_test(names_are_found),
        cmocka_unit_test(bytes_are_those_of_the_schedule),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
