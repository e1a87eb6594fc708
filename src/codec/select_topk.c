/* select_topk.c - the k largest magnitudes, exactly; ties go to the lowest position.
 *
 * per=layer takes k (or its share) of every segment that the call lists, and with whole=W all of those that have at most W numbers. rule=l2 lets the data choose: the
 * smallest top set whose l1 norm reaches the l2 norm of the whole, the level of Alistarh's S+Q.
 * Keys: khirirat2021cat, alistarh2017qsgd, tyagi2023artopk (LW-Top-k). */
#include "codec/select.h"
#include "kernels/kernels.h"

enum { RULE = 2, PER = 3, WHOLE = 4 };

static const tithe_param topk_params[] = {
    SELECT_K_AND_KEEP,
    {.name = "rule",
     .doc = "who says how many: k, or l2 (smallest top set whose l1 norm reaches the l2 norm)",
     .fallback = 0,
     .max = 1,
     .choices = "k|l2"},
    {.name = "per",
     .doc = "k of the whole vector, or of each layer that the call lists",
     .fallback = 0,
     .max = 1,
     .choices = "all|layer"},
    {.name = "whole",
     .doc = "with per=layer: layers of at most so many numbers go whole",
     .fallback = 0,
     .max = 1e9,
     .whole = true},
    {0}};

static bool topk_has_level(const double *params)
{
    return params[RULE] == 1 || ti_select_has_k_or_keep(params);
}

static const char *topk_refuse(const double *params)
{
    if (params[RULE] == 1 && ti_select_has_k_or_keep(params))
        return "rule=l2 finds its own k: leave k and keep out";
    if (params[WHOLE] > 0 && params[PER] == 0) return "whole is about layers: write per=layer, too";
    return ti_select_refuse_k_and_keep(params);
}

/* m = ceil(sqrt(n)) entries always do: with a_m the smallest of the top m, the others add at most (n-m)
 * a_m^2 to |x|_2^2, while the m(m-1) cross terms of S1(m)^2 add at least that much, since m^2 >= n. One
 * more for rounding. */
static size_t l2_limit(size_t n)
{
    size_t limit = (size_t)ceil(sqrt((double)n)) + 1;
    return limit < n ? limit : n;
}

static void topk_set_level(double *params, double level)
{
    ti_select_set_k(params, level);
    params[RULE] = 0;
}

static const char *topk_untunable(const double *params)
{
    if (params[RULE] == 1) return "rule=l2 finds its own level: leave it out, or use `tuner=fixed`.";
    return NULL;
}

static size_t topk_max_count(const double *params, size_t n)
{
    if (params[PER] == 1) return n; /* depends on the layers */
    return params[RULE] == 1 ? l2_limit(n) : ti_select_count(params, n);
}

static size_t topk_room(const double *params, size_t n)
{
    return params[PER] == 1 ? n : ti_select_top_room(n, topk_max_count(params, n));
}

static size_t topk_scratch(const double *params, size_t n)
{
    const size_t search = ti_select_top_scratch(n, topk_room(params, n));
    const size_t heap = params[RULE] == 1 ? l2_limit(n) * 2 * sizeof(uint64_t) : 0;
    return heap > search ? heap : search;
}

typedef struct ranked {
    uint64_t key;
    uint64_t position;
} ranked;

static bool is_before(ranked a, ranked b)
{
    return a.key != b.key ? a.key > b.key : a.position < b.position;
}

/* Let the entry at `at` sink to its place in the heap, whose first entry is the first of all. */
static void sift_down(ranked *heap, size_t count, size_t at)
{
    const ranked entry = heap[at];
    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && is_before(heap[child + 1], heap[child])) child++;
        if (!is_before(heap[child], entry)) break;
        heap[at] = heap[child];
    }
    heap[at] = entry;
}

/* Append the smallest top set of [first, first + n) whose l1 norm reaches the l2 norm. */
static bool select_l2(const tithe_select_call *c, size_t first, size_t n, tithe_selection *s)
{
    const size_t width = c->type == TITHE_F32 ? sizeof(float) : sizeof(double);
    const size_t start = s->count;
    if (!ti_select_top(c, first, n, l2_limit(n), s)) return false;
    const double goal = ti_norm2(c->type, (const char *)c->x + first * width, n);

    ranked *heap = c->scratch;
    size_t left = s->count - start;
    for (size_t i = 0; i < left; i++) {
        const size_t position = s->indices[start + i];
        heap[i] = (ranked){select_key(c, position), position};
    }
    for (size_t i = left / 2; i-- > 0;) sift_down(heap, left, i);

    double reached = 0;
    ranked last = {0};
    do {
        last = heap[0];
        reached += select_magnitude(c, (size_t)last.position);
        heap[0] = heap[--left];
        sift_down(heap, left, 0);
    } while (left && reached < goal);

    /* What comes after the last one goes; the others stand in ascending order already. */
    size_t kept = start;
    for (size_t i = start; i < s->count; i++) {
        const size_t position = s->indices[i];
        if (is_before(last, (ranked){select_key(c, position), position})) continue;
        if (s->gathered) ((float *)s->values)[kept] = ((const float *)s->values)[i];
        s->indices[kept++] = (uint32_t)position;
    }
    s->count = kept;
    return true;
}

static bool select_part(const tithe_select_call *c, size_t first, size_t n, tithe_selection *s)
{
    if (n == 0) return true;
    if (c->params[RULE] == 1) return select_l2(c, first, n, s);
    return ti_select_top(c, first, n, ti_select_count(c->params, n), s);
}

static bool select_layer(const tithe_select_call *c, size_t i, size_t first, tithe_selection *s)
{
    const size_t n = c->call->segments[i], *levels = c->call->segment_levels;
    if ((double)n <= c->params[WHOLE]) return n == 0 || ti_select_top(c, first, n, n, s);
    if (!levels) return select_part(c, first, n, s);
    const size_t k = levels[i] < n ? levels[i] : n;
    return k == 0 || ti_select_top(c, first, n, k, s);
}

static tithe_status topk_select(const tithe_select_call *c, tithe_selection *s, tithe_error *error)
{
    s->count = 0;
    if (c->params[PER] == 0) return select_part(c, 0, c->n, s) ? TITHE_OK : TITHE_E_NONFINITE;
    size_t total = 0;
    for (size_t i = 0; c->call->segments && i < c->call->segment_count; i++) {
        if (c->call->segments[i] > c->n - total) {
            total = SIZE_MAX; /* too many, even if those before it were just enough */
            break;
        }
        total += c->call->segments[i];
    }
    if (total != c->n || !c->call->segments || c->call->segment_count == 0)
        return ti_fail(
            error, TITHE_E_ARGUMENT, 0,
            "per=layer needs the lengths of the layers, and they must add up to the %zu numbers handed "
            "in.",
            c->n);
    /* Either all layers get the gradient or none, so it is added before the first is looked at. */
    if (!ti_select_top(c, 0, c->n, 0, s)) return TITHE_E_NONFINITE;
    tithe_select_call layer = *c;
    layer.gradient = NULL;
    size_t first = 0;
    for (size_t i = 0; i < c->call->segment_count; i++) {
        if (!select_layer(&layer, i, first, s)) return TITHE_E_NONFINITE;
        first += c->call->segments[i];
    }
    return TITHE_OK;
}

static void topk_claims(const double *params, size_t n, bool contractive, tithe_claims *claims)
{
    (void)contractive;
    claims->traits = 0;
    claims->omega = 0;
    if (n == 0 || params[RULE] == 1 || !ti_select_has_k_or_keep(params))
        claims->delta = n ? 1.0 / (double)n : 1; /* at least one entry, and the largest */
    else if (params[PER] == 1 && isnan(params[SELECT_K]))
        claims->delta =
            params[SELECT_KEEP] * 2 / 3; /* max(1, round(z)) >= 2/3 z, whatever the layer's length */
    else
        claims->delta = (double)ti_select_count(params, n) / (double)n;
}

const tithe_selector ti_select_topk = {
    .name = "topk",
    .summary = "the k largest magnitudes",
    .paper = "khirirat2021cat",
    .params = topk_params,
    .id = 1,
    .source = TITHE_INDICES_SENT,
    .picks = TITHE_PICKS_LARGEST,
    .projection = true,
    .refuse = topk_refuse,
    .has_level = topk_has_level,
    .set_level = topk_set_level,
    .untunable = topk_untunable,
    .fuses = true,
    .told = true,
    .max_count = topk_max_count,
    .room = topk_room,
    .scratch = topk_scratch,
    .select = topk_select,
    .claims = topk_claims,
};
