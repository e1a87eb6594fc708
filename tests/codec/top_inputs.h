/* top_inputs.h - vectors that make a search for the largest hard, and the answer by sorting. */
#ifndef TESTS_CODEC_TOP_INPUTS_H
#define TESTS_CODEC_TOP_INPUTS_H

#include "codec/select.h"
#include "support.h"

/* ---- inputs -------------------------------------------------------------------------------------------- */

/* The places that the sample of a search with `key` looks at. */
static inline void mark_sampled(bool *sampled, size_t n, tithe_key key)
{
    memset(sampled, 0, n);
    for (int many = 0; many < 2 && n >= SELECT_SAMPLE_MIN; many++) { /* for a small k, and for a large one */
        const size_t size = select_sample_size(n, many ? n : 1);
        for (size_t i = 0; i < size; i++) sampled[select_sample_at(key, n, size, i)] = true;
    }
}

typedef enum shape {
    RANDOM,
    LOGNORMAL,
    NARROW,
    ASCENDING,
    DESCENDING,
    HOT_BLOCK,
    GEOMETRIC,
    EQUAL,
    ZERO,
    SPARSE,
    TWO_VALUES,
    FEW_VALUES,
    MANY_TIES,
    TINY,
    SAMPLE_LARGE,
    SAMPLE_SMALL,
    SAMPLE_EQUAL,
    SAMPLE_BLIND,
    SHAPES
} shape;

static const char *const shape_names[] = {"random",
                                          "lognormal",
                                          "narrow range",
                                          "ascending",
                                          "descending",
                                          "one hot block",
                                          "geometric",
                                          "all equal",
                                          "all zero",
                                          "99.95 % zeros",
                                          "two values",
                                          "few values",
                                          "ties at every level",
                                          "denormal",
                                          "the sample is large",
                                          "the sample is small",
                                          "the sample is one value",
                                          "the sample misses the large"};

static inline float shape_number(shape s, size_t i, size_t n, bool is_sampled, dice *d)
{
    const float sign = roll(d) & 1 ? 1 : -1, g = (float)roll_gauss(d);
    switch (s) {
    case LOGNORMAL: return sign * expf(3 * g);
    case NARROW: return sign * (1 + 0.1f * (float)roll_unit(d));
    case ASCENDING: return (float)i;
    case DESCENDING: return -(float)(n - i);
    case HOT_BLOCK: return i >= n / 3 && i < n / 3 + n / 50 ? 100 * g : g;
    case GEOMETRIC: return sign * ldexpf(1 + 0.5f * (float)roll_unit(d), 60 - (int)(i * 120 / n));
    case EQUAL: return sign * 0.7f;
    case ZERO: return sign * 0;
    case SPARSE: return roll_below(d, 2000) ? sign * 0 : g;
    case TWO_VALUES: return sign * (roll_below(d, 20) ? 1 : 2);
    case FEW_VALUES: return sign * (float)roll_below(d, 6);
    case MANY_TIES: return (float)(int)(g * 40);
    case TINY: return float_of_bits((uint32_t)roll(d) & 0x8000ffffu);
    case SAMPLE_LARGE: return is_sampled ? 1000 + g : g;
    case SAMPLE_SMALL: return is_sampled ? 0.001f * g : 1000 + g;
    case SAMPLE_EQUAL: return is_sampled ? 3 : sign * (2.5f + (float)roll_unit(d));
    case SAMPLE_BLIND: return is_sampled || roll_below(d, 400) ? g : 1000 + g; /* a few more than n / 500 */
    default: return g;
    }
}

static inline void fill_shape(float *x, size_t n, shape s, tithe_key key)
{
    dice d = {n * SHAPES + (uint64_t)s};
    bool *sampled = malloc(n + 1);
    assert_non_null(sampled);
    mark_sampled(sampled, n, key);
    for (size_t i = 0; i < n; i++) x[i] = shape_number(s, i, n, sampled[i], &d);
    free(sampled);
}

/* ---- the answer, by sorting ---------------------------------------------------------------------------- */

typedef struct rank {
    uint64_t magnitude;
    size_t position;
} rank;

static inline int by_rank(const void *a, const void *b)
{
    const rank *p = a, *q = b;
    if (p->magnitude != q->magnitude) return p->magnitude > q->magnitude ? -1 : 1;
    return p->position < q->position ? -1 : p->position > q->position;
}

/* Places in the order in which top-k takes them. */
static inline rank *ranked_places(tithe_type type, const void *x, size_t n)
{
    rank *order = malloc((n + 1) * sizeof *order);
    assert_non_null(order);
    for (size_t i = 0; i < n; i++) {
        const double magnitude = fabs(get_number(type, x, i)); /* of doubles, too, the bits are in order */
        memcpy(&order[i].magnitude, &magnitude, sizeof magnitude);
        order[i].position = i;
    }
    qsort(order, n, sizeof *order, by_rank);
    return order;
}

#endif
