/* sample.c - where few of many entries matter, look at those alone.
 *
 * A sample of the vector gives a guess of its curve, and with that of the best level; one pass keeps what is as large
 * as the entries of about twice that level. All that is known of the others is that they are smaller, and what they
 * add up to: if that is enough to prove that no level among them is better, the search is over. Otherwise the sample
 * was wrong, and the whole vector is looked at. It decides the time, never the result. */
#include <math.h>

#include "base/rng.h"
#include "kernels/kernels.h"
#include "tuner/forming.h"
#include "tuner/search.h"

enum {
    SAMPLE = 4096,
    BESIDE = 4,    /* neighbours that are taken together */
    MIN = 1 << 14, /* shorter vectors are counted as fast */
    MARGIN = 8,    /* of sampled entries, for levels that a sample does not resolve */
    SPARED =
        9, /* bits of a sampled magnitude that make no difference: a sort of the others takes a pass less */
    LOOKS = 400 /* at stretches of the levels beyond the entries that were kept */
};

static size_t sample_size(size_t n)
{
    return n / 32 < SAMPLE ? n / 32 / BESIDE * BESIDE : SAMPLE;
}

/* A few neighbours from each of equal stretches: they share a line, and waiting for lines is most of what a sample takes. So all of them are
 * asked for before the first is looked at. */
static void take_sample(const tithe_tuner_call *call, size_t size, uint32_t *keys, uint32_t *room)
{
    const forming *f = call->forming; /* nobody was here before */
    const size_t places = size / BESIDE;
    const uint64_t stretch = ((uint64_t)call->n << 32) / places; /* with 32 bits behind the point */
    for (uint64_t i = 0; i < places; i++) {
        const uint64_t begin = i * stretch >> 32, choices = ((i + 1) * stretch >> 32) - begin - BESIDE;
        room[i] = (uint32_t)(begin + (choices * (rng_mix(i) >> 32) >> 32)) / BESIDE * BESIDE;
        __builtin_prefetch(call->x + room[i]);
        if (f) __builtin_prefetch(f->g + room[i]);
    }
    for (size_t i = 0; i < places * BESIDE; i++) {
        const size_t at = room[i / BESIDE] + i % BESIDE;
        const float x = f ? call->x[at] + f->gamma * f->g[at] : call->x[at];
        keys[i] = (f32_bits(x) & 0x7fffffffu) >> SPARED;
    }
    ti_ranks_sort(keys, size, 31 - SPARED, room);
    for (size_t i = 0; i < size; i++) keys[i] <<= SPARED;
}

/* The rank in the sample that seems best, by looking at ranks that grow by a sixteenth. */
static size_t guess_rank(const cat_search *s, const uint32_t *keys, size_t size)
{
    const double each = (double)s->call->n / (double)size;
    size_t best_rank = 0, next = 1;
    double best = 0, s1 = 0, s2 = 0;
    for (size_t i = 0; i < size && keys[i] > 0; i++) {
        const double a = key_value(keys[i]);
        s1 += a;
        s2 += a * a;
        if (i + 1 < next) continue;
        next = i + 2 + (i + 1) / 16;
        const top_sums sums = {each * (double)(i + 1), each * s1, each * s2};
        const double level = fmin(sums.count, (double)s->call->n - 1),
                     value = ti_progress_at(s, &sums) / ti_search_cost(s, level);
        if (value > best) {
            best = value;
            best_rank = i + 1;
        }
    }
    return best_rank;
}

/* Can a level in [first, last] be better, all entries beyond `residual` being smaller than `high`? */
static bool rest_is_worth(const cat_search *s, const top_sums *kept, double high, double first, double last,
                          int *looks)
{
    if (first > last) return false;
    top_sums all = s->total;
    all.count = (double)s->call->n;
    progress_lines above = ti_lines_between(s, kept, &all, high, 0, first, last);
    if (s->kind == PROGRESS_SIGN) { /* Cauchy and Schwarz: the others add at most so much */
        const double max =
            kept->s1 + sqrt((last - kept->count) * fmax(0, s->total.s2 - kept->s2) * (1 + CAT_EQUAL));
        above.value[1][0] = above.value[1][1] = fmin(above.value[1][1], max);
    }
    if (!ti_search_worth(s, first, last, &above)) return false;
    if (--*looks < 0 || first == last) return true;
    const double middle = fmin(floor(sqrt(first * last)), last - 1);
    return rest_is_worth(s, kept, high, first, middle, looks) ||
           rest_is_worth(s, kept, high, middle + 1, last, looks);
}

/* A threshold that takes all n is possible only if none is zero: nobody looked, so its worth is a bound. */
static bool all_is_worth(const cat_search *s)
{
    if (!s->ends_only) return false; /* was tried */
    top_sums all = s->total;
    all.count = (double)s->call->n;
    return ti_progress_at(s, &all) / ti_search_cost(s, all.count) >= s->best * (1 - CAT_EQUAL);
}

/* The entries from `least` on, and a proof that the others do not matter. */
static bool search_above(cat_search *s, ranks *r, uint32_t min)
{
    const tithe_tuner_call *call = s->call;
    top_sums kept;
    if (!ti_ranks_count_above(call, r, min, call->n / 2, &kept)) return false;
    s->total = (top_sums){.count = INFINITY, .s2 = r->squares};
    if (s->kind == PROGRESS_SIGN) s->total.s1 = ti_kernels()->sum_abs(call->x, call->n);
    ti_search_top(s, r);
    int looks = LOOKS;
    return !s->failed && !all_is_worth(s) &&
           !rest_is_worth(s, &kept, key_value(min - 1), kept.count + 1, (double)call->n - 1, &looks);
}

bool ti_search_sampled(cat_search *s, ranks *r)
{
    const tithe_tuner_call *call = s->call;
    if (call->n < MIN) return false;
    uint32_t keys[SAMPLE], room[SAMPLE];
    const size_t size = sample_size(call->n);
    take_sample(call, size, keys, room);
    if (keys[size / 2] == 0 && ti_ranks_count_above(call, r, 1, call->n, &s->total)) {
        /* Zeros mostly: without them the vector is short. */
        if (!(s->total.s2 > 0)) return true;
        if (s->kind == PROGRESS_WATER)
            ti_search_water(s, r);
        else
            ti_search_top(s, r);
        return true;
    }
    if (s->kind == PROGRESS_WATER || keys[0] >= 0x7f800000u) return false;
    const size_t rank = 2 * guess_rank(s, keys, size) + MARGIN;
    if (rank > size / 4) return false;
    /* The better the smaller entries are known, the easier the proof: a second try keeps more. */
    const size_t tries[] = {rank, size / 6};
    for (int i = 0; i < 2; i++) {
        if (keys[tries[i]] > 0 && search_above(s, r, keys[tries[i]])) return true;
        ti_search_start(s, call);
        if (tries[1] <= rank || (call->forming && call->forming->wrong)) break;
    }
    return false;
}
