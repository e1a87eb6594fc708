/* data.c - see data.h. */
#include "bench/data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "bench/exact.h"
#include "codec/select.h"
#include "tithe/bench.h"

/* ---- random numbers ----------------------------------------------------------------------------------- */

/* In (0, 1]: its logarithm is finite. */
static float uniform(uint32_t random)
{
    return ((float)(random >> 8) + 1) * 0x1p-24f;
}

/* Box and Muller: two normal numbers from two uniform ones. */
static void normals(float *x, size_t n, uint64_t stream)
{
    const tithe_key key = {stream, UINT64_C(0x62656e636821)};
    for (size_t first = 0; first < n; first += TITHE_BLOCK) {
        uint32_t random[TITHE_BLOCK];
        tithe_random_block(key, first / TITHE_BLOCK, random);
        const size_t many = n - first < TITHE_BLOCK ? n - first : TITHE_BLOCK;
        for (size_t i = 0; i < many; i += 2) {
            const float radius = sqrtf(-2 * logf(uniform(random[i])));
            const float angle = 6.2831853f * uniform(random[i + 1]);
            x[first + i] = radius * cosf(angle);
            if (i + 1 < many) x[first + i + 1] = radius * sinf(angle);
        }
    }
}

/* ---- shapes ------------------------------------------------------------------------------------------- */

static void gaussian(float *x, size_t n, tithe_key key)
{
    (void)key;
    normals(x, n, 1);
}

/* Magnitudes over many binades, as in the gradients of deep networks. */
static void lognormal(float *x, size_t n, tithe_key key)
{
    (void)key;
    normals(x, n, 2);
    for (size_t i = 0; i < n; i++) {
        const float size = expf(2 * x[i]);
        x[i] = rng_mix(i) >> 63 ? -size : size;
    }
}

/* Every element is a candidate. */
static void ties(float *x, size_t n, tithe_key key)
{
    (void)key;
    for (size_t i = 0; i < n; i++) x[i] = 1;
}

/* Fewer than k are not zero, as in the gradients of embeddings: most of what is sent is a tie. */
static void zeros(float *x, size_t n, tithe_key key)
{
    (void)key;
    normals(x, n, 3);
    for (size_t i = 0; i < n; i++)
        if (rng_mix(i) % 2000) x[i] = 0;
}

/* All survivors at one end: the quantiles of an exponential distribution, ascending. */
static void sorted(float *x, size_t n, tithe_key key)
{
    (void)key;
    for (size_t i = 0; i < n; i++) x[i] = -logf((float)(((double)(n - i) - 0.5) / (double)n));
}

/* One binade, or little more: the leading digits of all magnitudes are the same. */
static void narrow(float *x, size_t n, tithe_key key)
{
    (void)key;
    for (size_t i = 0; i < n; i++) x[i] = 1 + 0.1f * uniform((uint32_t)rng_mix(i));
}

/* What top-k looks at first is far smaller than the rest, so its guess of the k-th largest is far too low, and nearly
 * everything survives its pass. */
static void sample_defeating(float *x, size_t n, tithe_key key)
{
    normals(x, n, 4);
    if (n < SELECT_SAMPLE_MIN) return;
    const size_t size = select_sample_size(n, ti_bench_share_of(n, 0.01));
    for (size_t i = 0; i < size; i++) x[select_sample_at(key, n, size, i)] *= 0x1p-30f;
}

static const char *const names[] = {"gaussian", "lognormal",        "ties", "zeros", "sorted",
                                    "narrow",   "sample-defeating", NULL};
static const struct {
    void (*fill)(float *x, size_t n, tithe_key key);
    bool hard;
} shapes[] = {{gaussian, false}, {lognormal, false},      {ties, true}, {zeros, true}, {sorted, true},
              {narrow, true},    {sample_defeating, true}};

enum { SHAPES = sizeof shapes / sizeof *shapes };
_Static_assert(sizeof names / sizeof *names == SHAPES + 1, "a name for every shape");

static size_t shape_of(const char *name)
{
    size_t i = 0;
    while (i < SHAPES && strcmp(names[i], name) != 0) i++;
    return i;
}

bool ti_bench_data_exists(const char *name)
{
    return shape_of(name) < SHAPES;
}

bool ti_bench_data_is_hard(const char *name)
{
    const size_t i = shape_of(name);
    return i < SHAPES && shapes[i].hard;
}

const char *const *tithe_bench_data(void)
{
    return names;
}

tithe_key ti_bench_select_key(const tithe_call *call)
{
    return ti_rng_key(call->seed, call->step, call->rank, call->tensor, RNG_SELECT);
}

/* ---- vectors ------------------------------------------------------------------------------------------ */

/* What error compensation finds in e: another draw of the same distribution, without the hundredth that was sent. */
static void leave_rest(bench_vectors *v)
{
    const float min = ti_bench_kth_magnitude(v->x, v->n, ti_bench_share_of(v->n, 0.01), v->e);
    for (size_t i = 0; i < v->n; i++) {
        const float value = v->x[(i + v->n / 3) % v->n];
        v->start[i] = fabsf(value) < min ? value : 0;
    }
    memcpy(v->e, v->start, v->n * sizeof *v->e);
}

static float *vector_of(size_t n)
{
    enum { LINE = 64 };
    float *made = aligned_alloc(LINE, (n * sizeof *made + LINE - 1) / LINE * LINE);
    if (made)
        memset(made, 0, n * sizeof *made); /* so that no page is touched for the first time in a timed call */
    return made;
}

tithe_status ti_bench_vectors_make(const char *data, size_t n, const tithe_call *call, bench_vectors *v,
                                   tithe_error *error)
{
    const size_t shape = shape_of(data);
    *v = (bench_vectors){.data = names[shape], .n = n};
    v->x = vector_of(n);
    v->y = vector_of(n);
    v->start = shapes[shape].hard ? NULL : vector_of(n);
    v->e = shapes[shape].hard ? NULL : vector_of(n);
    if (!v->x || !v->y || (!shapes[shape].hard && (!v->start || !v->e))) {
        ti_bench_vectors_free(v);
        return ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory for vectors of %zu numbers.", n);
    }
    shapes[shape].fill(v->x, n, ti_bench_select_key(call));
    if (v->e) leave_rest(v);
    return TITHE_OK;
}

void ti_bench_vectors_free(bench_vectors *v)
{
    free(v->x);
    free(v->y);
    free(v->start);
    free(v->e);
    *v = (bench_vectors){0};
}
