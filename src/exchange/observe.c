/* observe.c - what a rank sees of its gradients: how many entries they are made of, whether they still point where the last
 * update went, and how much of the loss is still to come from what is kept.
 *
 * Long vectors are looked at in blocks that lie evenly all over them, other ones in each step, so that the time for it does
 * not grow with their length. <mean g, mean e> over the ranks is not known to any of them. A sketch is: a few sums of all
 * numbers with random signs, in random groups, the same ones for g and e; sketches add up, and the product of two is, on
 * average, that of what they were made of. Groups and signs are other ones at each check-in. */
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "exchange/control.h"

enum {
    BLOCK = 64,
    LANES = 8,         /* sums that run side by side, so that a processor need not wait for one of them */
    LOOKS = 8,         /* steps before a check-in from which a rank looks back, */
    BACK = 1 << 14,    /* numbers that it looks at then, */
    CHECK_IN = 1 << 16 /* and at a check-in */
};

/* Which blocks: each `apart`-th, from `first` on. */
typedef struct sample {
    size_t first, apart;
    double weight; /* numbers that one of them stands for */
} sample;

static sample sample_of(size_t n, uint32_t step, size_t max)
{
    const size_t blocks = (n + BLOCK - 1) / BLOCK, wanted = max / BLOCK;
    if (blocks <= wanted) return (sample){0, 1, 1};
    const size_t apart = (blocks + wanted - 1) / wanted;
    const size_t first = (size_t)(rng_mix(step + RNG_GOLDEN) % apart);
    return (sample){first, apart, (double)apart};
}

/* The part of a block that lies in [begin, begin + length); false: nothing does. */
static bool part_of_block(size_t block, size_t begin, size_t length, size_t *from, size_t *to)
{
    *from = block * BLOCK < begin ? begin : block * BLOCK;
    *to = (block + 1) * BLOCK < begin + length ? (block + 1) * BLOCK : begin + length;
    return *from < *to;
}

static size_t first_block(const sample *s, size_t begin)
{
    const size_t block = begin / BLOCK;
    return block <= s->first ? s->first : s->first + (block - s->first + s->apart - 1) / s->apart * s->apart;
}

static double fold(const double lane[LANES])
{
    double sum = 0;
    for (unsigned j = 0; j < LANES; j++) sum += lane[j];
    return sum;
}

static void look_back(const exchange_control *c, control_rank *r, size_t n, const float *g, size_t begin,
                      size_t length)
{
    const sample s = sample_of(n, c->step, BACK);
    double lane[LANES] = {0};
    for (size_t block = first_block(&s, begin); block * BLOCK < begin + length; block += s.apart) {
        size_t from, to;
        if (!part_of_block(block, begin, length, &from, &to)) continue;
        const float *now = g + (from - begin), *before = c->before + from;
        const size_t count = to - from, whole = count - count % LANES;
        for (size_t i = 0; i < whole; i += LANES)
            for (size_t j = 0; j < LANES; j++) lane[j] += (double)now[i + j] * (double)before[i + j];
        for (size_t i = whole; i < count; i++) lane[i - whole] += (double)now[i] * (double)before[i];
    }
    r->gained += s.weight * fold(lane);
}

void ti_control_remember(tithe_exchange *ex, const float *update)
{
    exchange_control *c = ex->control;
    const sample s = sample_of(ex->n, c->step, BACK);
    c->stepped = c->next >= c->step && c->next - c->step < LOOKS;
    if (!c->stepped) return;
    for (size_t block = s.first; block * BLOCK < ex->n; block += s.apart) {
        size_t from, to;
        if (part_of_block(block, 0, ex->n, &from, &to))
            memcpy(c->before + from, update + from, (to - from) * sizeof *update);
    }
}

/* What was kept that this rank answers for: its own, and what it owns of sums. */
typedef struct kept {
    const float *own, *of_sums;
    size_t begin, end; /* of the latter */
} kept;

/* Of [from, to), at most a block. */
static void kept_in(const kept *k, size_t from, size_t to, double e[BLOCK])
{
    for (size_t i = from; i < to; i++) e[i - from] = k->own ? (double)k->own[i] : 0;
    const size_t first = k->begin > from ? k->begin : from, last = k->end < to ? k->end : to;
    for (size_t i = first; i < last; i++) e[i - from] += (double)k->of_sums[i];
}

typedef struct throw
{
    unsigned group;
    double sign;
}
throw;

static throw throw_at(uint64_t salt, size_t i)
{
    const uint64_t dice = (i ^ salt) * RNG_GOLDEN;
    return (throw){(unsigned)((dice >> 40) * SKETCH >> 24), dice >> 39 & 1 ? -1 : 1};
}

/* What is sent, where it is another vector than g, is made of as many entries as that; the loss falls by the gradient. */
static void look_closely(const exchange_control *c, control_rank *r, size_t n, const kept *k, const float *g,
                         const float *sent, size_t begin, size_t length, double gamma)
{
    const sample s = sample_of(n, c->step, CHECK_IN);
    const uint64_t salt = rng_mix(c->step ^ RNG_SILVER);
    double g1[LANES] = {0}, g2[LANES] = {0}, x1[LANES] = {0}, x2[LANES] = {0};
    float *sketch_g = r->seen + SEEN_SKETCHES, *sketch_e = sketch_g + SKETCH;
    for (size_t block = first_block(&s, begin); block * BLOCK < begin + length; block += s.apart) {
        size_t from, to;
        if (!part_of_block(block, begin, length, &from, &to)) continue;
        double e[BLOCK] = {0}, v[BLOCK] = {0}; /* what is behind the end adds nothing */
        kept_in(k, from, to, e);
        for (size_t i = from; i < to; i++) v[i - from] = (double)sent[i - begin];
        for (size_t i = 0; i < BLOCK; i += LANES)
            for (size_t j = 0; j < LANES; j++) {
                const double x = e[i + j] + gamma * v[i + j];
                g1[j] += fabs(v[i + j]);
                g2[j] += v[i + j] * v[i + j];
                x1[j] += fabs(x);
                x2[j] += x * x;
            }
        for (size_t i = from; i < to; i++) {
            const throw t = throw_at(salt, i);
            sketch_g[t.group] += (float)(t.sign * (double)g[i - begin]);
            sketch_e[t.group] += (float)(t.sign * e[i - from]);
        }
    }
    r->g1 += s.weight * fold(g1);
    r->g2 += s.weight * fold(g2);
    r->x1 += s.weight * fold(x1);
    r->x2 += s.weight * fold(x2);
}

static kept kept_of(const tithe_exchange *ex, unsigned rank)
{
    const tithe_comm *comm = ex->config.comm;
    kept k = {.own = ex->workers[rank - comm->first].residual, .of_sums = ex->server.residual};
    if (!k.of_sums || ti_exchange_parts(ex) > 1) return k; /* which is little, and in many pieces */
    if (ex->scheme->served && rank == comm->server) k.end = ex->n;
    if (ex->scheme->cuts) k.end = tithe_exchange_owned(ex, rank, 0, &k.begin);
    if (ex->scheme->cuts) k.end += k.begin;
    return k;
}

void ti_control_observe(tithe_exchange *ex, unsigned rank, const float *g, const float *sent, size_t begin,
                        size_t length, double gamma)
{
    const exchange_control *c = ex->control;
    control_rank *r = &c->ranks[rank - ex->config.comm->first];
    if (c->stepped) look_back(c, r, ex->n, g, begin, length);
    if (c->step != c->next) return;
    const kept k = kept_of(ex, rank);
    look_closely(c, r, ex->n, &k, g, sent, begin, length, gamma);
}

void ti_control_tell(const tithe_exchange *ex, unsigned local)
{
    const exchange_control *c = ex->control;
    control_rank *r = &c->ranks[local];
    const sample s = sample_of(ex->n, c->step, CHECK_IN);
    r->seen[SEEN_RANKS] = 1;
    r->seen[SEEN_SETTING] = (float)c->now;
    r->seen[SEEN_SPREAD] = r->g2 > 0 ? (float)(r->g1 * r->g1 / r->g2) : 0;
    r->seen[SEEN_SPREAD_KEPT] = r->x2 > 0 ? (float)(r->x1 * r->x1 / r->x2) : 0;
    r->seen[SEEN_SECONDS] = c->timed ? (float)c->usual : 0;
    r->seen[SEEN_GAIN] = c->gains ? (float)(c->gain / c->gains) : 0;
    r->seen[SEEN_DESCENT] = c->since ? (float)(r->descent / c->since) : 0;
    for (unsigned i = SEEN_SKETCHES; i < SEEN; i++) r->seen[i] *= (float)sqrt(s.weight);
}
