/* median.h - sorted numbers, and the one in the middle. */
#ifndef BASE_MEDIAN_H
#define BASE_MEDIAN_H

#include <stdlib.h>

static inline int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static inline void sort_ascending(double *values, size_t count)
{
    qsort(values, count, sizeof *values, ascending);
}

/* Sorts the values. Of an even number, the mean of the two in the middle. */
static inline double median(double *values, size_t count)
{
    sort_ascending(values, count);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

#endif
