/* share.c - the rows of some workers, copied out of the whole.
 *
 * An order of all rows is made from split and seed, and cut into equal pieces; worker w gets the w-th piece. Every
 * process makes the same order, so that no rows have to travel and none is lost or held twice. */
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/status.h"
#include "data/data.h"
#include "kernels/stream.h"

static void shuffle(uint32_t *order, size_t rows, uint64_t seed)
{
    rng_stream random;
    ti_rng_stream_start(&random, ti_rng_key(seed, 0, 0, 0, RNG_SPLIT));
    for (size_t i = rows; i > 1; i--) { /* Fisher and Yates, from the end */
        const uint32_t j = ti_rng_stream_below(&random, (uint32_t)i);
        const uint32_t swap = order[i - 1];
        order[i - 1] = order[j];
        order[j] = swap;
    }
}

/* Merge runs of length 1, 2, 4, ...: stable, and bounded whatever the labels are. */
static void sort_by_label(uint32_t *order, uint32_t *other, size_t rows, const double *labels)
{
    uint32_t *from = order, *to = other;
    for (size_t run = 1; run < rows; run *= 2) {
        for (size_t begin = 0; begin < rows; begin += 2 * run) {
            const size_t middle = begin + run < rows ? begin + run : rows;
            const size_t end = begin + 2 * run < rows ? begin + 2 * run : rows;
            size_t a = begin, b = middle;
            for (size_t i = begin; i < end; i++) {
                const bool left = a < middle && (b == end || labels[from[a]] <= labels[from[b]]);
                to[i] = from[left ? a++ : b++];
            }
        }
        uint32_t *swap = from;
        from = to;
        to = swap;
    }
    if (from != order) memcpy(order, from, rows * sizeof *order);
}

static bool make_order(const tithe_data *all, tithe_split split, uint64_t seed, uint32_t *order)
{
    for (size_t i = 0; i < all->rows; i++) order[i] = (uint32_t)i;
    if (split == TITHE_SPLIT_SHUFFLED) shuffle(order, all->rows, seed);
    if (split != TITHE_SPLIT_SORTED) return true;
    uint32_t *other = malloc(all->rows * sizeof *other);
    if (!other) return false;
    sort_by_label(order, other, all->rows, all->labels);
    free(other);
    return true;
}

/* The first `rows % workers` workers have one row more. */
static size_t begin_of(size_t rows, unsigned workers, unsigned worker)
{
    const size_t longer = rows % workers;
    return rows / workers * worker + (worker < longer ? worker : longer);
}

static size_t row_length(const tithe_data *d, size_t row)
{
    return d->offsets ? d->offsets[row + 1] - d->offsets[row] : d->features;
}

static bool copy_rows(const tithe_data *all, const uint32_t *order, tithe_data *share)
{
    size_t count = 0;
    for (size_t i = 0; i < share->rows; i++) count += row_length(all, order[i]);
    size_t *offsets = all->offsets ? malloc((share->rows + 1) * sizeof *offsets) : NULL;
    uint32_t *indices = all->offsets ? malloc((count + 1) * sizeof *indices) : NULL;
    float *values = malloc((count + 1) * sizeof *values);
    double *labels = malloc((share->rows + 1) * sizeof *labels);
    share->offsets = offsets;
    share->indices = indices;
    share->values = values;
    share->labels = labels;
    share->nonzeros = count;
    if (!values || !labels || (all->offsets && (!offsets || !indices))) return false;

    size_t at = 0;
    for (size_t i = 0; i < share->rows; i++) {
        const size_t row = order[i], length = row_length(all, row);
        const size_t from = all->offsets ? all->offsets[row] : row * all->features;
        if (offsets) {
            offsets[i] = at;
            memcpy(indices + at, all->indices + from, length * sizeof *indices);
        }
        memcpy(values + at, all->values + from, length * sizeof *values);
        labels[i] = all->labels[row];
        at += length;
    }
    if (offsets) offsets[share->rows] = at;
    return true;
}

static tithe_data *make_share(const tithe_data *all, const uint32_t *order, unsigned workers, unsigned first,
                              unsigned local)
{
    tithe_data *share = malloc(sizeof *share);
    size_t *begin = malloc(((size_t)local + 1) * sizeof *begin);
    if (!share || !begin) {
        free(share);
        free(begin);
        return NULL;
    }
    *share = *all;
    share->offsets = NULL; /* what follows is its own */
    share->indices = NULL;
    share->values = NULL;
    share->labels = NULL;
    share->workers = workers;
    share->first = first;
    share->local = local;
    const size_t start = begin_of(all->rows, workers, first);
    for (unsigned w = 0; w <= local; w++) begin[w] = begin_of(all->rows, workers, first + w) - start;
    share->begin = begin;
    share->rows = begin[local];
    uint32_t *original = malloc((share->rows + 1) * sizeof *original);
    if (original) memcpy(original, order + start, share->rows * sizeof *original);
    share->original = original;
    if (original && copy_rows(all, order + start, share)) return share;
    tithe_data_free(share);
    return NULL;
}

tithe_status tithe_data_share(const tithe_data *all, unsigned workers, tithe_split split, uint64_t seed,
                              unsigned first, unsigned local, tithe_data **share, tithe_error *error)
{
    if (!all || !share) return ti_fail(error, TITHE_E_ARGUMENT, 0, "There is no data to share.");
    if (all->workers)
        return ti_fail(error, TITHE_E_ARGUMENT, 0, "The data is a share already: share the whole set.");
    if (workers == 0 || local == 0 || first >= workers || local > workers - first)
        return ti_fail(error, TITHE_E_ARGUMENT, 0,
                       "Workers %u to %u are not among %u workers, counted from 0.", first, first + local - 1,
                       workers);
    if (all->rows < workers)
        return ti_fail(error, TITHE_E_ARGUMENT, 0,
                       "%zu rows are not enough for %u workers: take fewer workers.", all->rows, workers);
    if ((unsigned)split > TITHE_SPLIT_SORTED)
        return ti_fail(error, TITHE_E_ARGUMENT, 0, "The split is none of those that tithe_split names.");

    uint32_t *order = malloc(all->rows * sizeof *order);
    tithe_data *made = NULL;
    if (order && make_order(all, split, seed, order)) made = make_share(all, order, workers, first, local);
    free(order);
    if (!made)
        return ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory to copy the share of a worker.");
    *share = made;
    return TITHE_OK;
}
