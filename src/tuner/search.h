/* search.h - the search for the level with the most progress per cost, and what its parts share.
 *
 * Levels are whole numbers T from 1 to n. A stretch of levels is left out when a bound says that none of them beats
 * the best one found so far: an upper bound of progress, from sums over entries that are known to lie between two
 * magnitudes, over a lower bound of cost, from its ends. What cannot be left out is looked at more closely, in the end
 * level by level. So the result is that of a full sort and scan, whatever the data and whatever the cost. */
#ifndef TUNER_SEARCH_H
#define TUNER_SEARCH_H

#include <stdint.h>

#include "codec/codec.h"
#include "tithe/tuner.h"

/* How a codec's progress depends on the T largest magnitudes; docs/design.md derives each. */
typedef enum progress_kind {
    PROGRESS_NONE,
    PROGRESS_SQUARES, /* q(T) S2(T): SG and every quantizer with a relative error */
    PROGRESS_SIGN,    /* S1(T)^2 / T: S+Q */
    PROGRESS_WATER,   /* |x|^4 / E|C(x)|^2 with optimal probabilities: SS */
    PROGRESS_LEVELS   /* `all`: 1/(1 + omega(s)) */
} progress_kind;

progress_kind ti_progress_kind(const tithe_codec *codec);
/* NULL, or why there is no level to choose. */
const char *ti_progress_refuse(const tithe_codec *codec);
/* What the quantizer leaves of the progress of `count` entries: never more for more entries. */
double ti_progress_factor(const tithe_codec *codec, size_t count);

/* Sums over the largest magnitudes, as far as they were added up. */
typedef struct top_sums {
    double count, s1, s2;
} top_sums;

typedef struct cat_search {
    const tithe_tuner_call *call;
    progress_kind kind;
    bool ends_only; /* a threshold cannot separate equal magnitudes */
    bool even;      /* the factor of the quantizer is the same for every count */
    double factor;  /* of one entry */
    double slack;   /* bits by which the length exceeds a concave function of T, at most */
    top_sums total; /* of all magnitudes that are not zero */
    double best;    /* progress |x|^2 per cost */
    double level, level_value, level_progress, level_cost; /* the smallest level that is as good as that */
    float
        magnitude; /* selectors by magnitude: the entries of that level are at least so large, all others smaller or
                      * as large */
    const char *failed; /* a cost that is none */
    /* Where entries can wait (late.h): the value of a level is not progress per cost, but share * progress - rate * cost, for
     * levels from `floor` to `limit` that make the progress `least`. rate 0: it is. */
    double share, rate, floor, limit, least;
    double most; /* the level of all that CAT would send */
} cat_search;

/* Efficiencies closer than this are equal: the sums are not more exact. */
#define CAT_EQUAL 2e-13

void ti_search_start(cat_search *s, const tithe_tuner_call *call);
double ti_search_bits(const tithe_tuner_call *call, double level);
double ti_search_cost(const cat_search *s, double level);

/* Look at one level, whose progress times |x|^2 is known. True: it is the one to take, so far. */
bool ti_search_try(cat_search *s, double level, double progress);

/* Progress on [first, last], as straight lines above it (PROGRESS_SIGN: above S1): value[i][0] at first, [1] at last.
 * False: nothing on [first, last] can be better than what was found. */
typedef struct progress_lines {
    double value[2][2];
} progress_lines;
bool ti_search_worth(const cat_search *s, double first, double last, const progress_lines *above);

/* Levels (from.count, to.count] take entries with magnitudes from `high` down to `low`. */
progress_lines ti_lines_between(const cat_search *s, const top_sums *from, const top_sums *to, double high,
                                double low, double first, double last);
double ti_progress_at(const cat_search *s, const top_sums *sums);

/* ---- the ways through the magnitudes (ranks.c) ----------------------------------------------------------- */

/* A bin of magnitudes: bits [0, 12) of the 31 that order them. */
enum {
    BIN_BITS = 12,
    BIN_SHIFT = 31 - BIN_BITS,
    BINS = 1 << BIN_BITS,
    FIRST_NONFINITE_BIN = 0x7f800000 >> BIN_SHIFT
};
enum { SORT_ALL = 4096 /* shorter vectors are sorted as a whole */ };

typedef struct rank_bin {
    double s1, s2;
    uint32_t count;
    uint32_t place; /* of its keys in the scratch; NOT_KEPT */
} rank_bin;
#define NOT_KEPT UINT32_MAX

typedef struct ranks {
    rank_bin *bins;        /* BINS of them; NULL: keys holds all non-zero magnitudes, descending */
    uint32_t *keys, *room; /* n each */
    size_t kept;
    const float *source; /* what was counted: the vector, or those of its entries that are not too small */
    size_t source_count;
    float *survivors;    /* room for n */
    uint32_t *positions; /* of the survivors; NULL: written over */
    double squares;      /* of the whole vector, where survivors were counted */
} ranks;

size_t ti_ranks_scratch(size_t n);
/* One pass. The position of a number that is not finite, or n. */
size_t ti_ranks_count(const tithe_tuner_call *call, ranks *r, top_sums *total);
/* The same for the entries whose bits are at least `least` alone, if there are no more than `most` of them; false: there
 * are, or something is not finite. The total is that of these entries. */
bool ti_ranks_count_above(const tithe_tuner_call *call, ranks *r, uint32_t min, size_t max, top_sums *total);
/* The keys of all bins whose place is not NOT_KEPT, each bin descending from its place on; one more pass. */
void ti_ranks_gather(ranks *r);
/* Positions of the entries that are at least `magnitude`, ascending, where they are known: *count of them. Spoils the
 * survivors. */
const uint32_t *ti_ranks_above(ranks *r, float magnitude, size_t *count);
/* Sort what differs in the low `bits` bits, descending. */
void ti_ranks_sort(uint32_t *keys, size_t count, unsigned bits, uint32_t *room);

static inline double key_value(uint32_t key)
{
    return (double)f32_from_bits(key);
}

static inline double bin_low(size_t bin)
{
    return key_value((uint32_t)bin << BIN_SHIFT);
}

static inline double bin_high(size_t bin) /* nothing in it is larger */
{
    return key_value(((uint32_t)(bin + 1) << BIN_SHIFT) - 1);
}

/* ---- the searches ---------------------------------------------------------------------------------------- */

/* For a long vector of which probably few entries matter: a sample says which. False: it was wrong, and nothing is
 * known yet. sample.c */
bool ti_search_sampled(cat_search *s, ranks *r);
void ti_search_top(cat_search *s, ranks *r); /* search_top.c */
/* After one of the searches for the largest: the level to take where entries can wait. */
void ti_search_late(cat_search *s, ranks *r);
void ti_search_water(cat_search *s, ranks *r); /* search_water.c */
/* search_levels.c; the vector is known to be finite and not zero. */
void ti_search_levels(const tithe_tuner_call *call, cat_search *s);

/* E|C(x)|^2 of SS with budget T, when the `exact` largest always go. */
static inline double water_moment(const top_sums *total, const top_sums *exact, double budget)
{
    const double rest = total->s1 - exact->s1;
    return exact->s2 + (rest > 0 ? rest * rest / (budget - exact->count) : 0);
}

extern const tithe_tuner ti_tuner_fixed, ti_tuner_cat, ti_tuner_warmup, ti_tuner_auto, ti_tuner_moo;

#endif
