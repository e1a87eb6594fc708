/* ranks.h - the sums that collectives should come to, by a plain replay of their documented order, and their bytes. */
#ifndef TESTS_COLL_RANKS_H
#define TESTS_COLL_RANKS_H

#include "support.h"

/* vectors[r][i] for all ranks, one after the other. Numbers of many sizes, so that every order rounds its own way. */
static inline float *vectors_make(unsigned size, size_t n, uint64_t seed)
{
    float *x = malloc(((size_t)size * n + 1) * sizeof *x);
    assert_non_null(x);
    dice d = {seed * 31 + size * 7 + n};
    for (size_t i = 0; i < size * n; i++) x[i] = (float)(roll_gauss(&d) * exp(3 * roll_gauss(&d)));
    return x;
}

/* Ranks [first, first + bit) of a binomial tree, as they nest. */
static inline float nested(const float *x, unsigned size, size_t n, size_t i, unsigned first, unsigned bit)
{
    if (bit == 1) return x[first * n + i];
    const unsigned half = bit / 2;
    const float left = nested(x, size, n, i, first, half);
    return first + half < size ? left + nested(x, size, n, i, first + half, half) : left;
}

static inline float replayed(const char *name, const float *x, unsigned size, size_t n, size_t i)
{
    if (strcmp(name, "tree") == 0) {
        unsigned bit = 1;
        while (bit < size) bit *= 2;
        return nested(x, size, n, i, 0, bit);
    }
    unsigned first =
        0; /* star and direct: rank order; ring: the order that begins with the part's own rank */
    if (strcmp(name, "ring") == 0) {
        const size_t longer = n % size, each = n / size;
        const size_t in_longer = longer * (each + 1);
        first = (unsigned)(i < in_longer ? i / (each + 1) : longer + (i - in_longer) / each);
    }
    float sum = x[first * n + i];
    for (unsigned k = 1; k < size; k++) sum += x[(first + k) % size * n + i];
    return sum;
}

/* All bytes that all ranks send for one all-reduce: each of them moves 2(N-1) whole vectors. */
static inline uint64_t reduce_bytes(unsigned size, size_t n)
{
    return 2 * (uint64_t)(size - 1) * n * sizeof(float);
}

static inline uint64_t reduce_messages(const char *name, unsigned size)
{
    const bool by_parts = strcmp(name, "ring") == 0 || strcmp(name, "direct") == 0;
    return 2 * (uint64_t)(size - 1) * (by_parts ? size : 1);
}

static inline uint64_t gather_bytes(const char *name, unsigned size, const size_t *lengths)
{
    uint64_t total = 0, up = 0;
    for (unsigned r = 0; r < size; r++) total += lengths[r];
    if (strcmp(name, "ring") == 0) return (size - 1) * total; /* every block visits every other rank */
    for (unsigned r = 1; r < size; r++)                       /* a child brings its run, once */
        for (unsigned q = r; q < r + (r & -r) && q < size; q++) up += lengths[q];
    return up + (size - 1) * total; /* and everybody but the root is given all */
}

#endif
