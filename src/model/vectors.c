/* vectors.c - see vectors.h. */
#include "model/vectors.h"

enum { LANES = 8 };

double ti_dot(size_t n, const double *a, const double *b)
{
    double lane[LANES] = {0};
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (size_t j = 0; j < LANES; j++) lane[j] += a[i + j] * b[i + j];
    for (size_t j = 0; i < n; i++, j++) lane[j] += a[i] * b[i];
    for (int width = LANES / 2; width; width /= 2)
        for (int j = 0; j < width; j++) lane[j] += lane[j + width];
    return lane[0];
}

void ti_add(size_t n, double scale, const double *restrict x, double *restrict y)
{
    for (size_t i = 0; i < n; i++) y[i] += scale * x[i];
}

double ti_add_dot(size_t n, double scale, const double *restrict x, double *restrict y)
{
    double lane[LANES] = {0};
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (size_t j = 0; j < LANES; j++) {
            y[i + j] += scale * x[i + j];
            lane[j] += x[i + j] * x[i + j];
        }
    for (size_t j = 0; i < n; i++, j++) {
        y[i] += scale * x[i];
        lane[j] += x[i] * x[i];
    }
    for (int width = LANES / 2; width; width /= 2)
        for (int j = 0; j < width; j++) lane[j] += lane[j + width];
    return lane[0];
}
