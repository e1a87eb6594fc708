/* select_mstopk.c - about the k largest, by bisection for a threshold; exactly k in the end.
 *
 * `rounds` halvings between mean|x| and max|x| leave the best threshold with at most k survivors and the
 * best with more. What is missing to k is taken from the band between the two: a run of neighbours that
 * starts at a random place and wraps around, so each entry of the band has the same chance. Hence
 * E|C(x)|^2 >= k/n |x|^2 as for exact top-k. Key: shi2021mstopk, as described in tyagi2023artopk. */
#include "codec/select.h"
#include "kernels/kernels.h"
#include "kernels/stream.h"

enum { ROUNDS = 2 };

static const tithe_param mstopk_params[] = {SELECT_K_AND_KEEP,
                                            {.name = "rounds",
                                             .doc = "halvings of the threshold's interval",
                                             .fallback = 25,
                                             .min = 0,
                                             .max = 64,
                                             .whole = true},
                                            {0}};

/* What is counted: the whole vector, until a threshold leaves few enough to be gathered in the selection. Later
 * thresholds are higher, so the others do not matter any more. */
typedef struct band {
    const tithe_select_call *c;
    tithe_selection *s;
    size_t room;
    bool gathered;
    size_t count; /* of those that were gathered */
} band;

static size_t room_of(const double *params, size_t n)
{
    const size_t k = ti_select_count(params, n), room = 4 * k + 1024;
    return room < n ? room : n;
}

static size_t count_from(const band *b, double threshold)
{
    const tithe_select_call *c = b->c;
    size_t count = 0;
    if (c->type == TITHE_F32) {
        const float *x = b->gathered ? b->s->values : c->x;
        ti_kernels()->sum_below(x, b->gathered ? b->count : c->n, select_min_float(threshold), &count);
        return count;
    }
    for (size_t i = 0; i < c->n; i++) count += select_magnitude(c, i) >= threshold;
    return count;
}

static void gather_from(band *b, double threshold, size_t survivors)
{
    const tithe_select_call *c = b->c;
    if (b->gathered || survivors > b->room || c->type != TITHE_F32) return;
    const select_job job = {
        .source = {(float *)c->x, NULL, 0},
        .n = c->n,
        .min = f32_bits(select_min_float(threshold)),
        .indices = b->s->indices,
        .values = b->s->values,
        .capacity = b->room,
    };
    bool finite;
    b->count = ti_kernels()->select(&job, &finite);
    b->gathered = true;
}

static double magnitude_at(const band *b, size_t i)
{
    return b->gathered ? (double)fabsf(((const float *)b->s->values)[i]) : select_magnitude(b->c, i);
}

static tithe_status mstopk_select(const tithe_select_call *c, tithe_selection *s, tithe_error *error)
{
    (void)error;
    s->count = 0;
    if (c->n == 0) return TITHE_OK;

    const size_t k = ti_select_count(c->params, c->n);
    const double mean = ti_norm1(c->type, c->x, c->n) / (double)c->n;
    const double max = ti_norm_max(c->type, c->x, c->n);
    double high = INFINITY, low = 0;  /* at most k survive `high`, at least k survive `low` */
    size_t above = 0, between = c->n; /* survivors of high; survivors of low that are below high */
    double left = 0, right = 1;
    band b = {.c = c, .s = s, .room = room_of(c->params, c->n)};
    for (int round = 0; round < (int)c->params[ROUNDS] && above < k;
         round++) { /* exactly k: nothing is left to find */
        const double middle = left + (right - left) / 2;
        const double threshold = mean + middle * (max - mean);
        const size_t survivors = count_from(&b, threshold);
        if (survivors <= k) {
            right = middle;
            if (survivors > above) {
                above = survivors;
                high = threshold;
            }
        } else {
            left = middle;
            if (survivors < between) {
                between = survivors;
                low = threshold;
                gather_from(&b, low, survivors);
            }
        }
    }
    between -= above;

    /* Places begin, begin + 1, ... of what lies between, counted round and round, fill up to k. */
    const size_t missing = k - above, candidates = b.gathered ? b.count : c->n;
    rng_stream random;
    ti_rng_stream_start(&random, c->key);
    const size_t begin = between ? ti_rng_stream_below(&random, (uint32_t)between) : 0;
    size_t place = 0;
    for (size_t i = 0; i < candidates; i++) {
        const double magnitude = magnitude_at(&b, i);
        bool take = magnitude >= high;
        if (!take && magnitude >= low) {
            const size_t turn = place >= begin ? place - begin : place + between - begin;
            take = turn < missing;
            place++;
        }
        if (!take) continue;
        if (b.gathered) {
            float *values = s->values;
            values[s->count] = values[i];
        }
        s->indices[s->count++] = b.gathered ? s->indices[i] : (uint32_t)i;
    }
    s->gathered = b.gathered;
    return TITHE_OK;
}

static void mstopk_claims(const double *params, size_t n, bool contractive, tithe_claims *claims)
{
    (void)contractive;
    claims->traits = 0;
    claims->omega = 0;
    claims->delta = n && ti_select_has_k_or_keep(params) ? (double)ti_select_count(params, n) / (double)n
                                                         : 1.0 / (double)(n ? n : 1);
}

const tithe_selector ti_select_mstopk = {
    .name = "mstopk",
    .summary = "about the k largest magnitudes, by bisection",
    .paper = "shi2021mstopk",
    .params = mstopk_params,
    .id = 3,
    .source = TITHE_INDICES_SENT,
    .picks = TITHE_PICKS_LARGEST,
    .projection = true,
    .refuse = ti_select_refuse_k_and_keep,
    .has_level = ti_select_has_k_or_keep,
    .set_level = ti_select_set_k,
    .max_count = ti_select_count,
    .room = room_of,
    .select = mstopk_select,
    .claims = mstopk_claims,
};
