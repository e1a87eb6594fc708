/* like.c - what look-alikes share: curves, labels, and rows that are bags of words. */
#include "data/like.h"

#include <stdlib.h>
#include <string.h>

#include "base/status.h"

double ti_like_curve(const like_point *p, double at)
{
    while (p[1].at <= at && p[1].at < 1) p++;
    return p->value + (p[1].value - p->value) * (at - p->at) / (p[1].at - p->at);
}

size_t ti_like_rows(size_t rows, double scale)
{
    const size_t scaled = (size_t)((double)rows * scale + 0.5);
    return scaled < 2 ? 2 : scaled;
}

/* ---- labels -------------------------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double deviation(const double *x, size_t n)
{
    double sum = 0, squares = 0;
    for (size_t i = 0; i < n; i++) sum += x[i];
    const double mean = sum / (double)n;
    for (size_t i = 0; i < n; i++) squares += (x[i] - mean) * (x[i] - mean);
    return sqrt(squares / (double)n);
}

tithe_status ti_like_label(data_rows *d, double *margins, double positive, double noise, double seed,
                           tithe_error *error)
{
    double *sorted = malloc(d->rows * sizeof *sorted);
    if (!sorted) {
        free(margins);
        return ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory for %zu labels.", d->rows);
    }
    const double unit = deviation(margins, d->rows) * noise;
    for (size_t i = 0; i < d->rows; i++) {
        draw random = draw_start(seed, DRAW_NOISE, i);
        margins[i] += unit * draw_bell(&random);
    }
    memcpy(sorted, margins, d->rows * sizeof *sorted);
    qsort(sorted, d->rows, sizeof *sorted, compare);
    size_t above = (size_t)((double)d->rows * positive + 0.5);
    above = above < 1 ? 1 : above >= d->rows ? d->rows - 1 : above;
    const double limit = sorted[d->rows - above];
    for (size_t i = 0; i < d->rows; i++) d->labels[i] = margins[i] >= limit ? 1 : -1;
    free(sorted);
    free(margins);
    return TITHE_OK;
}

/* ---- bags of words ---------------------------------------------------------------------------------------------- */

typedef struct bag_work {
    const like_bag *bag;
    double seed;
    uint32_t longest_row;
    uint64_t first_length;
    double total; /* of all weights */
    tithe_key model;
    uint32_t *seen; /* by rank: row + 1 in which it was last picked */
} bag_work;

/* Steps of the golden ratio fill [0, 1) evenly: the mean length is the same for every seed. */
static size_t length_of(const bag_work *w, size_t row)
{
    const uint64_t golden = w->first_length + row * RNG_GOLDEN;
    const double length = ti_like_curve(w->bag->lengths, (double)(golden >> 11) * 0x1p-53);
    return row == w->longest_row ? w->bag->longest : (size_t)(length + 0.5);
}

static uint32_t bin_of(const bag_work *w, double mass)
{
    uint32_t bin = 0;
    for (; w->bag->bins[bin + 1].weight > 0 && mass >= w->bag->bins[bin].weight; bin++)
        mass -= w->bag->bins[bin].weight;
    return bin;
}

/* Frequent features are spread over all indices, as in the real sets: rank r has index r * STRIDE mod features. It
 * is a prime that divides the number of features of none of them. */
#define STRIDE UINT64_C(1000003)

typedef struct word {
    uint32_t index, rank, bin;
} word;

/* Ascending by index. Rows have some dozens of words: Shell's gaps beat anything cleverer. */
static void sort_words(word *words, size_t n)
{
    static const size_t gaps[] = {132, 57, 23, 10, 4, 1};
    for (size_t g = 0; g < sizeof gaps / sizeof *gaps; g++) {
        const size_t gap = gaps[g];
        for (size_t i = gap; i < n; i++) {
            const word moving = words[i];
            size_t j = i;
            for (; j >= gap && words[j - gap].index > moving.index; j -= gap) words[j] = words[j - gap];
            words[j] = moving;
        }
    }
}

static double weight_of(const bag_work *w, uint32_t rank)
{
    const like_bag *bag = w->bag;
    if (rank < bag->planted_from || rank % bag->planted_each) return bag->rest;
    return bell_of_bits(rng_at(w->model, rank)) + 2;
}

static double leaning_of(const bag_work *w, uint32_t rank)
{
    const uint64_t bits = rng_at(w->model, rank);
    if ((double)(bits >> 11) * 0x1p-53 >= w->bag->leaning_share) return 0;
    return bits & 1 ? w->bag->lean : -w->bag->lean;
}

/* n different words, for a row that leans by c. */
static void pick_words(const bag_work *w, draw *random, size_t row, double c, word *words, size_t n)
{
    const like_bag *bag = w->bag;
    for (size_t i = 0; i < n;) {
        const uint32_t bin = bin_of(w, draw_unit(random) * w->total);
        const uint32_t first = bag->bins[bin].first;
        const uint32_t rank = first + draw_below(random, bag->bins[bin + 1].first - first);
        if (w->seen[rank] == row + 1) continue;
        if (bag->lean > 0 && draw_unit(random) * (1 + bag->lean) > 1 + c * leaning_of(w, rank)) continue;
        w->seen[rank] = (uint32_t)row + 1;
        words[i++] = (word){(uint32_t)(rank * STRIDE % bag->features), rank, bin};
    }
    sort_words(words, n);
}

/* Returns what the planted words say. */
static double fill_row(const bag_work *w, draw *random, const word *words, size_t n, uint32_t *indices,
                       float *values)
{
    double margin = 0, squares = 0;
    for (size_t i = 0; i < n; i++) {
        const double value = w->bag->value ? w->bag->value(w->bag, random, words[i].rank, words[i].bin) : 1;
        indices[i] = words[i].index;
        values[i] = (float)value;
        squares += value * value;
        if (w->bag->lean == 0) margin += value * weight_of(w, words[i].rank);
    }
    const double scale = w->bag->unit_rows && squares > 0 ? 1 / sqrt(squares) : 1;
    for (size_t i = 0; i < n && scale != 1; i++) values[i] = (float)((double)values[i] * scale);
    return margin;
}

/* More rows that lean clearly than rows that hardly do: the density grows with |c|. */
static double draw_lean(draw *random)
{
    const double u = 2 * draw_unit(random) - 1;
    return u < 0 ? -sqrt(-u) : sqrt(u);
}

static void fill_rows(const bag_work *w, data_rows *d, size_t rows, word *words, double *margins)
{
    for (size_t i = 0; i < rows; i++) {
        draw random = draw_start(w->seed, DRAW_ROWS, i);
        const size_t n = length_of(w, i);
        const double c = draw_lean(&random);
        pick_words(w, &random, i, c, words, n);
        const double planted = fill_row(w, &random, words, n, d->indices + d->count, d->values + d->count);
        margins[i] = w->bag->lean > 0 ? c : planted;
        d->count += n;
        d->offsets[i + 1] = d->count;
    }
    d->rows = rows;
}

tithe_status ti_like_make_bag(const like_bag *bag, const double *params, data_rows *d, tithe_error *error)
{
    const double seed = params[LIKE_SEED];
    const size_t rows = ti_like_rows(bag->rows, params[LIKE_SCALE]);
    bag_work w = {.bag = bag, .seed = seed, .model = draw_start(seed, DRAW_MODEL, 0).key};
    draw chosen = draw_start(seed, DRAW_OTHER_MODEL, 0);
    w.longest_row = draw_below(&chosen, (uint32_t)rows);
    w.first_length = draw_bits(&chosen);
    for (const like_bin *b = bag->bins; b->weight > 0; b++) w.total += b->weight;

    size_t count = 0;
    for (size_t i = 0; i < rows; i++) count += length_of(&w, i);
    tithe_status status = ti_data_make_room(d, rows, count, false, error);
    double *margins = malloc(rows * sizeof *margins);
    word *words = malloc((bag->longest + 1) * sizeof *words);
    w.seen = calloc(bag->features, sizeof *w.seen);
    if (!status && (!margins || !words || !w.seen))
        status = ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory to make %zu rows.", rows);
    if (!status) {
        fill_rows(&w, d, rows, words, margins);
        d->features = bag->features;
        status = ti_like_label(d, margins, bag->positive, bag->noise, seed, error);
        margins = NULL;
    }
    free(w.seen);
    free(words);
    free(margins);
    return status;
}
