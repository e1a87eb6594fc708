/* exact.c - see exact.h. */
#include "bench/exact.h"

#include <math.h>

#include "base/bytes.h"

size_t ti_bench_share_of(size_t n, double share)
{
    const double k = round(share * (double)n);
    return k >= 1 ? (size_t)k : 1;
}

/* Hoare's selection: partition, and search on in the part that holds the k-th. The median of three as the pivot makes
 * both parts smaller than the whole; equal numbers are swapped, which splits a row of ties in the middle. */
float ti_bench_kth_magnitude(const float *x, size_t n, size_t k, float *room)
{
    for (size_t i = 0; i < n; i++) room[i] = fabsf(x[i]);
    size_t low = 0, high = n - 1;
    const size_t place = k - 1; /* in descending order */
    while (low < high) {
        const float a = room[low], b = room[low + (high - low) / 2], c = room[high];
        const float pivot = fmaxf(fminf(a, b), fminf(fmaxf(a, b), c));
        size_t i = low, j = high;
        for (;; i++, j--) {
            while (room[i] > pivot) i++;
            while (room[j] < pivot) j--;
            if (i >= j) break;
            const float swap = room[i];
            room[i] = room[j];
            room[j] = swap;
        }
        /* room[low..j] >= pivot >= room[j+1..high] */
        if (place <= j)
            high = j;
        else
            low = j + 1;
    }
    return room[place];
}

size_t ti_bench_ties_among(const float *x, size_t n, size_t k, float kth)
{
    size_t above = 0;
    for (size_t i = 0; i < n; i++) above += fabsf(x[i]) > kth;
    return k - above;
}

const char *ti_bench_wrong_selection(const float *x, size_t n, double min, size_t ties,
                                     const uint32_t *indices, const float *values, size_t count)
{
    size_t found = 0;
    for (size_t i = 0; i < n; i++) {
        const double size = (double)fabsf(x[i]);
        if (!(size > min || (size == min && ties > 0))) continue;
        ties -= size == min;
        if (found == count) return "a coordinate that belongs to the selection is missing at its end";
        if (indices[found] != i)
            return "a coordinate is missing from the selection, or one is in it that should not be";
        if (f32_bits(values[found]) != f32_bits(x[i])) return "a selected value is not that of the vector";
        found++;
    }
    return found == count ? NULL : "more was selected than there is to select";
}

double ti_bench_entropy(size_t n, size_t k)
{
    const double all = lgamma((double)n + 1) - lgamma((double)k + 1) - lgamma((double)(n - k) + 1);
    return all / log(2) / (double)k;
}
