/* exact.h - what the right answer is, found another way than the library finds it. A time is worth nothing where the
 * result is wrong. */
#ifndef BENCH_EXACT_H
#define BENCH_EXACT_H

#include <stddef.h>
#include <stdint.h>

/* As keep=share: max(1, round(share * n)). */
size_t ti_bench_share_of(size_t n, double share);

/* The k-th largest magnitude of x, by partitioning a copy in `room`. */
float ti_bench_kth_magnitude(const float *x, size_t n, size_t k, float *room);

/* NULL if these are, ascending, the positions and values of x above `least` and the first `ties` that equal it; else
 * a sentence. */
const char *ti_bench_wrong_selection(const float *x, size_t n, double min, size_t ties,
                                     const uint32_t *indices, const float *values, size_t count);

/* How many magnitudes equal to the k-th largest belong to the k largest. */
size_t ti_bench_ties_among(const float *x, size_t n, size_t k, float kth);

/* log2 of the number of sets of k positions out of n, for each of the k. */
double ti_bench_entropy(size_t n, size_t k);

#endif
