/* late.c - see late.h. */
#include "tuner/late.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/kernels.h"

enum { KNOWN, GAIN, MOVED, ENTRIES };

static const double MIN_RHO = 1e-6, KEEP_UP = 2, DOWN = 1.5, UP = 2;

bool ti_late_open(late_memory *m, size_t n)
{
    *m = (late_memory){.vector = calloc(n ? n : 1, sizeof *m->vector), .lost = 1};
    return m->vector;
}

void ti_late_close(late_memory *m)
{
    free(m->vector);
    *m = (late_memory){0};
}

void ti_late_forget(late_memory *m)
{
    memset(m->numbers, 0, sizeof m->numbers);
}

double ti_late_min(double before)
{
    return ceil(before / DOWN);
}

double ti_late_max(double before)
{
    return fmax(before + 1, floor(before * UP));
}

static double clamp(double value, double min, double max)
{
    return value > min ? fmin(value, max) : min;
}

bool ti_late_look(late_memory *m, const float *g, const float *e, float step_size, size_t n)
{
    double sums[3];
    const double *s = m->numbers, gamma = (double)step_size;
    ti_kernels()->drift(g, m->vector, e, step_size, n, sums);
    m->energy = sums[2];
    m->lost = 1;
    m->pace = m->before = 0;
    if (!(s[KNOWN] > 0) || !(s[MOVED] > 0) || !(sums[1] > 0))
        return isfinite(sums[1]); /* squares of floats do not overflow a double */
    const double rho = clamp(gamma * (s[GAIN] - sums[0]) / s[MOVED], MIN_RHO, 1);
    const double lost = rho * sqrt(sums[2]) / (gamma * sqrt(sums[1]));
    if (!isfinite(s[GAIN]) || !isfinite(sums[0]) || !isfinite(s[MOVED]) || !isfinite(lost))
        return isfinite(sums[1]);
    m->lost = fmin(1, lost);
    m->pace = KEEP_UP * rho;
    m->before = s[ENTRIES];
    return true;
}

void ti_late_learn(late_memory *m, const float *update, size_t entries, size_t n)
{
    double sums[2];
    ti_kernels()->gains(m->vector, update, n, sums);
    m->numbers[KNOWN] = 1;
    m->numbers[GAIN] = sums[0];
    m->numbers[MOVED] = sums[1];
    m->numbers[ENTRIES] = (double)entries;
}
