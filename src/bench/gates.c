/* gates.c - the gates, and who meets them.
 *
 * They hold for vectors that no cache keeps; shorter ones are reported and not judged, since a memcpy
 * that stays in the cache is another reference every time. A gate is about three quarters of what was shown to be
 * possible, so that a busy neighbour does not make it fail. */
#include "bench/gates.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SHORTEST = 1 << 24 };

typedef enum measure {
    XM,          /* at least so many of these in one memcpy */
    XR,          /* ... in one read */
    OVER_BF16,   /* ... in one bf16.encode */
    READS,       /* at most so many reads */
    NANOSECONDS, /* at most, for an index */
    ENTROPY      /* bits of an index: at most so many times the entropy */
} measure;

typedef struct gate {
    const char *row, *isa;
    measure what;
    double bound;
} gate;

static const gate gates[] = {
    {"natural.encode", "avx512", XM, 1.0},
    {"natural.encode", "avx512", OVER_BF16, 1.1},
    {"natural.encode", "avx2", XM, 0.6},
    {"natural.encode", "ref", XM, 0.5},
    {"natural.decode_add", "avx512", XM, 0.75},
    {"topk.select@0.001", "avx512", XR, 1.0},
    {"topk.select@0.01", "avx512", XR, 0.8},
    {"topk.select@0.1", "avx512", XR, 0.45},
    {"threshold.select@0.01", "avx512", XR, 1.0},
    {"threshold.select@0.01", "avx2", XR, 0.7},
    {"dither4.encode", "avx512", XM, 0.6},
    {"dither4.decode_add", "avx512", XM, 0.7},
    {"natdither4.encode", "avx512", XM, 0.5},
    {"ec+natural", "avx512", XM, 0.6},
    {"ec+threshold@0.01", "avx512", XM, 0.65},
    {"ec+topk@0.01", "avx512", XM, 0.42},
    {"indices.encode@0.01", "avx512", NANOSECONDS, 2.5},
    {"indices.encode@0.01", "avx512", ENTROPY, 1.03},
    {"indices.decode@0.01", "avx512", NANOSECONDS, 4},
};

static const gate hard_gate = {"topk.select@0.01", "avx512", READS, 10};

/* Two threads against one. A second core that is busy, or a memory that is, helps nobody, so they are judged only
 * where reading gains enough. */
#define READS_THAT_GAIN 1.6
static const struct {
    const char *row;
    double bound;
} two_threads[] = {
    {"natural.encode", 1.4},   {"natural.decode_add", 1.4}, {"topk.select@0.001", 1.3},
    {"topk.select@0.01", 1.3}, {"topk.select@0.1", 1.15},   {"threshold.select@0.01", 1.4},
    {"dither4.encode", 1.4},   {"dither4.decode_add", 1.4}, {"natdither4.encode", 1.4},
    {"ec+natural", 1.4},       {"ec+threshold@0.01", 1.4},  {"ec+topk@0.01", 1.3},
};

static void judge(const gate *g, const bench_context *c, tithe_bench_row *row)
{
    const size_t used = strlen(row->gate);
    char *to = row->gate + used;
    const size_t room = sizeof row->gate - used;
    const char *comma = used ? ", " : "";
    bool met = true;
    switch (g->what) {
    case XM:
        snprintf(to, room, "%s%.4g xM", comma, g->bound);
        met = row->xM >= g->bound;
        break;
    case XR:
        snprintf(to, room, "%s%.4g xR", comma, g->bound);
        met = row->xR >= g->bound;
        break;
    case READS:
        snprintf(to, room, "%s<= %.4g reads", comma, g->bound);
        met = row->xR * g->bound >= 1;
        break;
    case OVER_BF16:
        if (isnan(c->over_bf16)) return;
        snprintf(to, room, "%s%.4g x bf16", comma, g->bound);
        met = c->over_bf16 >= g->bound;
        break;
    case NANOSECONDS:
        snprintf(to, room, "%s<= %.4g ns", comma, g->bound);
        met = row->seconds * 1e9 <= g->bound * row->indices;
        break;
    case ENTROPY:
        snprintf(to, room, "%s<= %.4g x entropy", comma, g->bound);
        met = row->bits_per_index <= g->bound * row->entropy_bits;
        break;
    }
    if (row->verdict != TITHE_GATE_MISSED) row->verdict = met ? TITHE_GATE_MET : TITHE_GATE_MISSED;
}

static void judge_two(const bench_context *c, tithe_bench_row *row)
{
    if (!(c->read_alone >= READS_THAT_GAIN) || isnan(c->over_alone) || c->hard_input) return;
    for (size_t i = 0; i < sizeof two_threads / sizeof *two_threads; i++) {
        if (strcmp(two_threads[i].row, row->name) != 0) continue;
        snprintf(row->gate, sizeof row->gate, "%.4g x one thread", two_threads[i].bound);
        row->verdict = c->over_alone >= two_threads[i].bound ? TITHE_GATE_MET : TITHE_GATE_MISSED;
    }
}

void ti_bench_gate(tithe_bench_row *row, const bench_context *c)
{
    row->gate[0] = 0;
    row->verdict = TITHE_NO_GATE;
    if (row->n < SHORTEST) return;
    if (row->threads == 2) judge_two(c, row);
    if (row->threads != 1) return;
    const gate *table = c->hard_input ? &hard_gate : gates;
    const size_t count = c->hard_input ? 1 : sizeof gates / sizeof *gates;
    for (size_t i = 0; i < count; i++)
        if (strcmp(table[i].row, row->name) == 0 && strcmp(table[i].isa, row->isa) == 0)
            judge(&table[i], c, row);
}
