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
#include "kernels/kernels.h"

enum {
    BLOCK = 64,
    TOGETHER = 16,     /* of them, where none is left out */
    LANES = 16,        /* sums that run side by side, so that a processor need not wait for one of them */
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

/* The part of a few blocks that lies in [begin, begin + length); false: nothing does. */
static bool part_of_blocks(size_t block, size_t count, size_t begin, size_t length, size_t *from, size_t *to)
{
    const size_t first = block * BLOCK, last = first + count * BLOCK;
    *from = first < begin ? begin : first;
    *to = last < begin + length ? last : begin + length;
    return *from < *to;
}

static size_t first_block(const sample *s, size_t begin)
{
    const size_t block = begin / BLOCK;
    return block <= s->first ? s->first : s->first + (block - s->first + s->apart - 1) / s->apart * s->apart;
}

/* Of a few blocks: floats do for so few numbers. */
static double product(const float *a, const float *b, size_t count)
{
    float lane[LANES] = {0}, sum = 0;
    const size_t whole = count - count % LANES;
    for (size_t i = 0; i < whole; i += LANES)
        for (size_t j = 0; j < LANES; j++) lane[j] += a[i + j] * b[i + j];
    for (size_t i = whole; i < count; i++) lane[i - whole] += a[i] * b[i];
    for (size_t j = 0; j < LANES; j++) sum += lane[j];
    return (double)sum;
}

static void look_back(const exchange_control *c, control_rank *r, size_t n, const float *g, size_t begin,
                      size_t length)
{
    const sample s = sample_of(n, c->step, BACK);
    const size_t together = s.apart == 1 ? TOGETHER : 1;
    for (size_t block = first_block(&s, begin); block * BLOCK < begin + length; block += together * s.apart) {
        size_t from, to;
        if (part_of_blocks(block, together, begin, length, &from, &to))
            r->gained += s.weight * product(g + (from - begin), c->before + from, to - from);
    }
}

void ti_control_remember(tithe_exchange *ex, const float *update)
{
    exchange_control *c = ex->control;
    const sample s = sample_of(ex->n, c->step, BACK);
    c->stepped = c->next >= c->step && c->next - c->step < LOOKS;
    if (!c->stepped) return;
    for (size_t block = s.first; block * BLOCK < ex->n; block += s.apart) {
        size_t from, to;
        if (part_of_blocks(block, 1, 0, ex->n, &from, &to))
            memcpy(c->before + from, update + from, (to - from) * sizeof *update);
    }
}

/* What was kept that this rank answers for: its own, and what it owns of sums. */
typedef struct kept {
    const float *own, *of_sums;
    size_t begin, end; /* of the latter */
} kept;

/* A block of a vector that begins at `from`, as if zeros stood around [from, to). */
static void take_block(float place[BLOCK], const float *x, size_t from, size_t to)
{
    memset(place, 0, BLOCK * sizeof *place);
    memcpy(place + from % BLOCK, x, (to - from) * sizeof *x);
}

/* What is kept of it. */
static void take_kept(float place[BLOCK], const kept *k, size_t from, size_t to)
{
    if (k->own)
        take_block(place, k->own + from, from, to);
    else
        memset(place, 0, BLOCK * sizeof *place);
    const size_t first = k->begin > from ? k->begin : from, last = k->end < to ? k->end : to;
    for (size_t i = first; i < last; i++) place[i % BLOCK] += k->of_sums[i];
}

/* A block has a sign for each of its numbers, and the group that its first one is added to; the next goes to the next group. */
typedef struct toss {
    float sign[BLOCK];
    size_t group;
} toss;

static toss toss_at(uint64_t salt, size_t block)
{
#define ROW(n)                                                           \
    {                                                                    \
        (n) & 1 ? -1 : 1, (n)&2 ? -1 : 1, (n)&4 ? -1 : 1, (n)&8 ? -1 : 1 \
    }
    static const float four[16][4] = {ROW(0), ROW(1), ROW(2),  ROW(3),  ROW(4),  ROW(5),  ROW(6),  ROW(7),
                                      ROW(8), ROW(9), ROW(10), ROW(11), ROW(12), ROW(13), ROW(14), ROW(15)};
#undef ROW
    const uint64_t dice = rng_mix(salt + block);
    toss t = {.group = (size_t)(dice * RNG_GOLDEN >> 32) % SKETCH};
    for (size_t i = 0; i < BLOCK; i += 4) memcpy(t.sign + i, four[dice >> i & 15], sizeof four[0]);
    return t;
}

/* Groups are told apart at the end, so that neighbours can be added at once. */
typedef struct sketch {
    float sum[SKETCH + BLOCK];
} sketch;

static void add_block(sketch *restrict s, const toss *restrict t, const float *restrict x)
{
    float *sum = s->sum + t->group;
    for (size_t i = 0; i < BLOCK; i++) sum[i] += t->sign[i] * x[i];
}

static void end_sketch(const sketch *s, float groups[SKETCH])
{
    for (size_t i = 0; i < SKETCH + BLOCK; i++) groups[i % SKETCH] += s->sum[i];
}

/* What is sent, where it is another vector than g, is made of as many entries as that; the loss falls by the gradient. */
static void look_closely(const exchange_control *c, control_rank *r, size_t n, const kept *k, const float *g,
                         const float *sent, size_t begin, size_t length, double gamma)
{
    const kernels *of = ti_kernels();
    const sample s = sample_of(n, c->step, CHECK_IN);
    const uint64_t salt = rng_mix(c->step ^ RNG_SILVER);
    sketch of_g = {0}, of_e = {0};
    for (size_t block = first_block(&s, begin); block * BLOCK < begin + length; block += s.apart) {
        size_t from, to;
        if (!part_of_blocks(block, 1, begin, length, &from, &to)) continue;
        float x[BLOCK]; /* each of these in turn */
        const toss t = toss_at(salt, block);
        take_block(x, g + (from - begin), from, to);
        add_block(&of_g, &t, x);
        const float *v = sent + (from - begin);
        r->g1 += s.weight * of->sum_abs(v, to - from);
        r->g2 += s.weight * of->sum_squares(v, to - from);
        take_kept(x, k, from, to);
        add_block(&of_e, &t, x);
        of->add_scaled(x + from % BLOCK, v, (float)gamma, to - from);
        r->x1 += s.weight * of->sum_abs(x, BLOCK);
        r->x2 += s.weight * of->sum_squares(x, BLOCK);
    }
    end_sketch(&of_g, r->seen + SEEN_SKETCHES);
    end_sketch(&of_e, r->seen + SEEN_SKETCHES + SKETCH);
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
    r->seen[SEEN_CODEC] = c->timed ? (float)c->coding : 0;
    r->seen[SEEN_GAIN] = c->gains ? (float)(c->gain / c->gains) : 0;
    r->seen[SEEN_DESCENT] = c->since ? (float)(r->descent / c->since) : 0;
    for (unsigned i = SEEN_SKETCHES; i < SEEN; i++) r->seen[i] *= (float)sqrt(s.weight);
}
