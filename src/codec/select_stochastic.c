/* select_stochastic.c - coordinate i goes with probability p_i and then as x_i / p_i, where sum p_i = T.
 *
 * The probabilities that minimise the variance are p_i = min(1, |x_i| / M) with one M for all
 * (water-filling): the large entries go always and exactly, the others all have the magnitude x_i / p_i =
 * M, which is therefore written once. M is the root of h(M) = M * (T - #{|x_i| >= M}) - sum of the |x_i|
 * below M, which is continuous, convex and rising where it matters: Newton's method from above needs a few
 * passes, and bisection over the bits of M ends what Newton has not. Then E|C(x)|^2 = sum of the exact
 * squares + M * (sum of the other magnitudes). Keys: khirirat2021cat (SS), wangni2018. */
#include "base/rng.h"
#include "codec/select.h"
#include "kernels/kernels.h"

static const tithe_param stochastic_params[] = {
    {.name = "k", .doc = "expected number of entries, T", .fallback = NAN, .min = 1e-9, .max = 4294967295.0},
    {.name = "keep",
     .doc = "T as a share of the coordinates: T = keep*n",
     .fallback = NAN,
     .min = 1e-9,
     .max = 1},
    {.name = "scale",
     .doc = "unbiased, or contractive: multiplied by |x|^2 / E|C(x)|^2",
     .fallback = 0,
     .max = 1,
     .choices = "unbiased|contractive"},
    {0}};

static double expected_count(const double *params, size_t n)
{
    const double expected = isnan(params[SELECT_K]) ? params[SELECT_KEEP] * (double)n : params[SELECT_K];
    return expected < (double)n ? expected : (double)n;
}

typedef struct water {
    double from;  /* entries of at least this magnitude are exact */
    size_t exact; /* how many those are */
    double rest;  /* sum of the magnitudes of the others */
} water;

static water measure(const tithe_select_call *c, double from)
{
    water w = {.from = from};
    if (c->type == TITHE_F32) {
        const float min = select_min_float(from > 0 ? from : 0x1p-149); /* zeros are no entries */
        w.rest = ti_kernels()->sum_below(c->x, c->n, min, &w.exact);
        return w;
    }
    for (size_t i = 0; i < c->n; i++) {
        const double magnitude = select_magnitude(c, i);
        if (magnitude >= from)
            w.exact += magnitude > 0;
        else
            w.rest += magnitude;
    }
    return w;
}

/* M if the exact set is right. */
static double shared_magnitude(const water *w, double budget)
{
    return w->rest / (budget - (double)w->exact);
}

static double value_of_key(const tithe_select_call *c, uint64_t key)
{
    return c->type == TITHE_F32 ? (double)f32_from_bits((uint32_t)key) : f64_from_bits(key);
}

static water fill(const tithe_select_call *c, double budget)
{
    water w = measure(c, INFINITY);
    for (int round = 0; round < 32; round++) {
        if (!(w.rest > 0)) return w;
        const water next = measure(c, shared_magnitude(&w, budget));
        /* Only rounding can make more entries exact than the budget has room for. */
        if (next.rest > 0 && (double)next.exact >= budget) return w;
        if (next.exact == w.exact) return next;
        w = next;
    }
    /* h is not negative at w.from: find the smallest magnitude where that is so. */
    uint64_t low = 0, high = c->type == TITHE_F32 ? f32_bits((float)w.from) + 1 : f64_bits(w.from);
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        const water tried = measure(c, value_of_key(c, middle));
        const bool enough = tried.from * (budget - (double)tried.exact) >= tried.rest;
        if (enough) {
            high = middle;
            w = tried;
        } else {
            low = middle + 1;
        }
    }
    return w;
}

/* |x|^2 / E|C(x)|^2, in units of the norm, since the square of a double may be none. */
static double contraction(const tithe_select_call *c, const water *w, double shared)
{
    const double norm = ti_norm2(c->type, c->x, c->n);
    double expected = shared / norm * (w->rest / norm);
    for (size_t i = 0; i < c->n; i++) {
        const double share = select_magnitude(c, i) / norm;
        if (select_magnitude(c, i) >= w->from) expected += share * share;
    }
    return 1 / expected;
}

static bool is_drawn(const tithe_select_call *c, const tithe_selection *s, size_t i, uint32_t random)
{
    const double magnitude = select_magnitude(c, i);
    return magnitude > 0 &&
           (magnitude >= s->exact_from || tithe_random_below(magnitude / s->shared, random, c->key, i));
}

/* Which of up to a block of floats may be drawn? Compared are 31 random bits and a probability that is a little too
 * high, so that rounding never hides one; without a branch, which vectorises. */
static void look(const float *x, const uint32_t *random, size_t n, float steps, float exact_from,
                 uint8_t *may)
{
    for (size_t i = 0; i < n; i++) {
        const float magnitude = fabsf(x[i]);
        may[i] = (uint8_t)((magnitude >= exact_from) |
                           ((float)(int32_t)(random[i] >> 1) <= magnitude * steps + 1));
    }
}

/* Positions [first, end) of a block, where as a rule few are drawn. */
static void draw_block(const tithe_select_call *c, const uint32_t *random, size_t first, size_t end,
                       tithe_selection *s)
{
    uint8_t may[TITHE_BLOCK];
    if (c->type == TITHE_F32 && s->shared > 0x1p-90) /* so that `steps` is a float */
        look((const float *)c->x + first, random, end - first, (float)(0x1p31 / s->shared * (1 + 0x1p-18)),
             select_min_float(s->exact_from), may);
    else
        memset(may, 1, end - first);
    for (size_t i = first; i < end; i++) {
        if (end - i >= 8 && get_u64(may + (i - first)) == 0)
            i += 7;
        else if (may[i - first] && is_drawn(c, s, i, random[i - first]))
            s->indices[s->count++] = (uint32_t)i;
    }
}

static tithe_status stochastic_select(const tithe_select_call *c, tithe_selection *s, tithe_error *error)
{
    (void)error;
    s->count = 0;
    if (c->n == 0) return TITHE_OK;
    const double budget = expected_count(c->params, c->n);
    const water w = fill(c, budget);
    double shared = w.rest > 0 ? shared_magnitude(&w, budget) : 0;
    /* The probabilities have to fit the magnitude that is written, and that is a float. */
    if (c->type == TITHE_F32) shared = (double)(float)shared;

    s->exact_from = w.rest > 0 ? w.from : 0;
    s->shared = shared;
    if (c->contractive && w.rest > 0) s->factor = contraction(c, &w, shared);
    for (size_t first = 0; first < c->n; first += TITHE_BLOCK) {
        uint32_t random[TITHE_BLOCK];
        tithe_random_block(c->key, first / TITHE_BLOCK, random);
        const size_t end = c->n - first < TITHE_BLOCK ? c->n : first + TITHE_BLOCK;
        draw_block(c, random, first, end, s);
    }
    return TITHE_OK;
}

static size_t stochastic_max_count(const double *params, size_t n)
{
    (void)params;
    return n; /* T is what is expected, not what is drawn */
}

static void stochastic_claims(const double *params, size_t n, bool contractive, tithe_claims *claims)
{
    /* The worst vector is a flat one: p_i = T/n for all. */
    const double expected = ti_select_has_k_or_keep(params) ? expected_count(params, n) : 1;
    const double share = n ? expected / (double)n : 1;
    claims->traits = contractive && share < 1 ? 0 : TITHE_UNBIASED;
    claims->omega = contractive ? 0 : 1 / share - 1;
    claims->delta = contractive ? share : 1 - claims->omega;
}

const tithe_selector ti_select_stochastic = {
    .name = "stochastic",
    .summary = "each coordinate with its optimal probability",
    .paper = "khirirat2021cat",
    .params = stochastic_params,
    .id = 5,
    .source = TITHE_INDICES_SENT,
    .picks = TITHE_PICKS_OPTIMAL,
    .shares = true,
    .refuse = ti_select_refuse_k_and_keep,
    .has_level = ti_select_has_k_or_keep,
    .set_level = ti_select_set_k,
    .max_count = stochastic_max_count,
    .select = stochastic_select,
    .claims = stochastic_claims,
};
