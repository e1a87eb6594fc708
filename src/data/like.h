/* like.h - look-alikes: generated sets with the size and the constants of well-known ones.
 *
 * They are for machines that do not have the real files. What they imitate is what matters to the methods: rows,
 * features, density, lengths of rows, how often a feature occurs, the smoothness constants that follow from these, the
 * share of positive labels, and that a linear model can learn them, but not perfectly. */
#ifndef DATA_LIKE_H
#define DATA_LIKE_H

#include "data/data.h"
#include "data/draw.h"

enum { LIKE_SCALE, LIKE_SEED }; /* places in the table of parameters, the same for all look-alikes */

/* clang-format off */
#define LIKE_PARAMS(default_scale)                                                                            \
    {{.name = "scale", .doc = "share of the rows of the real set", .fallback = (default_scale), .min = 0.001,  \
      .max = 1},                                                                                               \
     {.name = "seed", .doc = "another seed is another set with the same statistics", .max = 4294967295.0,      \
      .whole = true},                                                                                          \
     {.name = NULL}}
/* clang-format on */

/* A curve through points with ascending `at`. */
typedef struct like_point {
    double at, value;
} like_point;
double ti_like_curve(const like_point *points, double at);

size_t ti_like_rows(size_t rows, double scale);

/* Labels: the `positive` share of rows whose margin, with `noise` times its deviation added, is largest. Frees
 * margins. */
tithe_status ti_like_label(data_rows *d, double *margins, double positive, double noise, double seed,
                           tithe_error *error);

/* ---- bags of words: w8a, RCV1, URL ---------------------------------------------------------------------------- */

/* Features by rank, most frequent first: those from `first` to the next bin share `weight` evenly. */
typedef struct like_bin {
    uint32_t first;
    double weight; /* in any unit; the list ends with the number of features and weight 0 */
} like_bin;

typedef struct like_bag {
    size_t rows, features, longest; /* one row has the longest length */
    const like_point *lengths;      /* of a row, over a uniform number in [0, 1) */
    const like_bin *bins;
    double positive, noise;
    /* How labels come about. Planted words: the margin of a row is the sum over its words of value * weight. Every
     * planted_each-th word from rank planted_from on has a weight, bell-shaped around 2; all others have `rest`. */
    uint32_t planted_from, planted_each;
    double rest;
    /* Leaning words: the margin of a row is a number c between -1 and 1, and a word whose leaning is b = lean, 0 or -lean
     * (0 for all but leaning_share of them) is picked 1 + c b times as often. Topics of texts are like that. */
    double lean, leaning_share;
    bool unit_rows;
    double (*value)(const struct like_bag *bag, draw *random, uint32_t rank, uint32_t bin);
} like_bag;

tithe_status ti_like_make_bag(const like_bag *bag, const double *params, data_rows *d, tithe_error *error);

#endif
