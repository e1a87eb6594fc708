/* late.c - see late.h. */
#include "tuner/late.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/kernels.h"

enum { KNOWN, GAIN, MOVED, ENTRIES, GAINED, EXPECTED };

static const double MIN_RHO = 1e-6, MIN_GAINED = 1e-9, KEEP_UP = 2, DOWN = 1.5, UP = 1.2, FRESH = 0.1;

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
    return fmax(1, floor(before / DOWN));
}

double ti_late_max(double before)
{
    return fmax(before + 1, floor(before * UP));
}

static double clamp(double value, double min, double max)
{
    return value > min ? fmin(value, max) : min;
}

bool ti_late_look(late_memory *m, const float *g, const float *e, float gamma, size_t first, size_t n)
{
    double sums[3];
    ti_kernels()->drift(g + first, m->vector + first, e + first, gamma, n, sums);
    if (first == 0) m->along = m->squares = m->energy = 0;
    m->along += sums[0];
    m->squares += sums[1];
    m->energy += sums[2];
    return isfinite(sums[1]); /* squares of floats do not overflow a double */
}

void ti_late_judge(late_memory *m, double gamma)
{
    const double *s = m->numbers;
    m->expected = gamma * m->squares;
    m->lost = 1;
    m->pace = m->before = 0;
    if (!(s[KNOWN] > 0) || !(s[MOVED] > 0) || !(m->squares > 0)) return;
    const double rho = clamp(gamma * (s[GAIN] - m->along) / s[MOVED], MIN_RHO, 1);
    const double gained = s[EXPECTED] > 0 ? clamp(s[GAINED] / s[EXPECTED], MIN_GAINED, 1) : 1;
    const double rate = rho / sqrt(sqrt(gained));
    const double lost = rate * sqrt(m->energy) / (gamma * sqrt(m->squares));
    if (!isfinite(s[GAIN]) || !isfinite(m->along) || !isfinite(s[MOVED]) || !isfinite(lost)) return;
    m->lost = fmin(1, lost);
    m->pace = KEEP_UP * rate;
    m->before = s[ENTRIES];
}

void ti_late_learn(late_memory *m, const float *update, size_t entries, size_t n)
{
    double sums[2];
    ti_kernels()->gains(m->vector, update, n, sums);
    const double fresh = m->numbers[KNOWN] > 0 ? FRESH : 1;
    m->numbers[GAINED] += fresh * (sums[0] - m->numbers[GAINED]);
    m->numbers[EXPECTED] += fresh * (m->expected - m->numbers[EXPECTED]);
    m->numbers[KNOWN] = 1;
    m->numbers[GAIN] = sums[0];
    m->numbers[MOVED] = sums[1];
    m->numbers[ENTRIES] = (double)entries;
}
