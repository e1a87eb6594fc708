/* define_late.h - sums of squares and products for a tuner that asks how much waiting costs (tuner/late.h), in the pass that keeps a vector
 * for the next step. They run over twice as many lanes as others do, so that additions need not wait for each other. */
#ifndef KERNELS_DEFINE_LATE_H
#define KERNELS_DEFINE_LATE_H

#include <string.h>

#include "kernels/define_sums.h"
#include "kernels/kernels.h"

enum { WIDE_LANES = 2 * LANES };

static inline double define_fold_wide(double lane[WIDE_LANES])
{
    for (int j = 0; j < LANES; j++) lane[j] += lane[j + LANES];
    return define_fold(lane);
}

/* The end of a vector, for those who take all lanes at once: zeros add nothing. */
static inline const float *padded_wide(const float *x, size_t n, float room[WIDE_LANES])
{
    memset(room, 0, WIDE_LANES * sizeof *room);
    memcpy(room, x, n * sizeof *x);
    return room;
}

static inline void define_drift(float *before, const float *now, size_t n, double sums[2])
{
    double along[WIDE_LANES] = {0}, squares[WIDE_LANES] = {0};
    for (size_t i = 0; i < n; i += WIDE_LANES) {
        const int many = n - i < WIDE_LANES ? (int)(n - i) : WIDE_LANES;
        for (int j = 0; j < many; j++) {
            const size_t at = i + (size_t)j;
            const double v = (double)now[at];
            along[j] += (double)before[at] * v;
            squares[j] += v * v;
            before[at] = now[at];
        }
    }
    sums[0] = define_fold_wide(along);
    sums[1] = define_fold_wide(squares);
}

static inline double define_keep(float *copy, const float *x, size_t n)
{
    double lane[WIDE_LANES] = {0};
    size_t i = 0;
    for (; i + WIDE_LANES <= n; i += WIDE_LANES)
        for (int j = 0; j < WIDE_LANES; j++) {
            const double v = (double)x[i + (size_t)j];
            lane[j] += v * v;
        }
    for (int j = 0; i < n; i++, j++) lane[j] += (double)x[i] * (double)x[i];
    if (copy && n) memcpy(copy, x, n * sizeof *x);
    return define_fold_wide(lane);
}

/* The definition of `form`, out of a table's own kernels. */
static inline size_t form_by(const form_job *job, size_t (*select)(const select_job *, bool *),
                             void (*drift)(float *, const float *, size_t, double[2]),
                             double (*keep)(float *, const float *, size_t), double sums[3], bool *finite)
{
    const kernel_source *source = &job->select.source;
    const size_t n = job->select.n;
    sums[1] = sums[2] = 0;
    if (job->memory && job->drift)
        drift(job->memory, source->g, n, sums + 1);
    else if (job->memory)
        sums[2] = keep(job->memory, source->g, n);
    const size_t count = select(&job->select, finite);
    sums[0] = keep(NULL, source->x, n);
    return count;
}

#define DEFINE_LATE .drift = define_drift, .keep = define_keep

#endif
