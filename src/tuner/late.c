/* late.c - see late.h. */
#define _GNU_SOURCE /* madvise */
#include "tuner/late.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "kernels/kernels.h"

enum { KNOWN, GAIN, MOVED, ENTRIES, GAINED, EXPECTED, BEGUN };

enum {
    LINE = 64,
    LARGE_PAGE = 1 << 21,
    FEW = 16,    /* an update of which one in so many is not zero, or fewer, is kept without the zeros */
    BEYOND = 16, /* entries that a kernel may store too many */
    TOGETHER = 1 << 17 /* numbers of an update to look at, before it is known that there are not too many */
};

static const double MIN_RHO = 1e-6, MIN_GAINED = 1e-9, KEEP_UP = 1.5, DOWN = 1.5, UP = 1.2, FRESH = 0.2;

/* Zeros, on a boundary of lines; where it is long and the system has them, in large pages: a store past the caches waits for the place of its page,
 * too. */
static float *vector_of(size_t n)
{
    const size_t bytes = n * sizeof(float), unit = bytes < LARGE_PAGE ? (size_t)LINE : (size_t)LARGE_PAGE;
    const size_t size = (bytes + unit - (bytes > 0)) / unit * unit;
    float *vector = aligned_alloc(unit, size);
#ifdef MADV_HUGEPAGE
    if (vector && unit == LARGE_PAGE) madvise(vector, size, MADV_HUGEPAGE); /* or not: then it is slower */
#endif
    if (vector) memset(vector, 0, bytes);
    return vector;
}

bool ti_late_open(late_memory *m, size_t n)
{
    const size_t room = n / FEW;
    *m = (late_memory){.vector = vector_of(n),
                       .indices = malloc((room + BEYOND) * sizeof *m->indices),
                       .values = malloc((room + BEYOND) * sizeof *m->values),
                       .room = room,
                       .lost = 1};
    if (m->vector && m->indices && m->values) return true;
    ti_late_close(m);
    return false;
}

void ti_late_close(late_memory *m)
{
    free(m->vector);
    free(m->indices);
    free(m->values);
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

void ti_late_join(const late_memory *m, size_t first, form_job *job)
{
    job->memory = m->vector + first;
    job->drift = m->full;
}

void ti_late_note(late_memory *m, const float *g, size_t first, size_t n, const double sums[2])
{
    if (first == 0) {
        m->along = m->squares = 0;
        m->seen = 0;
    }
    size_t end = m->seen;
    while (!m->full && end < m->moved && m->indices[end] < first + n) end++;
    m->along += m->full ? sums[0] : ti_dot_few(m->indices + m->seen, m->values + m->seen, end - m->seen, g);
    m->squares += sums[1];
    m->seen = end;
}

bool ti_late_look(late_memory *m, const float *g, size_t first, size_t n)
{
    double sums[2] = {0};
    if (m->full)
        ti_kernels()->drift(m->vector + first, g + first, n, sums);
    else
        sums[1] = ti_kernels()->keep(m->vector + first, g + first, n);
    ti_late_note(m, g, first, n, sums);
    return isfinite(sums[1]); /* squares of floats do not overflow a double */
}

void ti_late_judge(late_memory *m, double gamma, double energy)
{
    const double *s = m->numbers;
    m->energy = energy;
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

/* What of the update is not zero; false: that is too much. */
static bool gather(late_memory *m, const float *update, size_t n)
{
    m->moved = 0;
    for (size_t first = 0; first < n && m->moved <= m->room; first += TOGETHER) {
        const select_job job = {.source = {(float *)update + first, NULL, 0},
                                .n = n - first < TOGETHER ? n - first : TOGETHER,
                                .first = (uint32_t)first,
                                .min = 1,
                                .indices = m->indices + m->moved,
                                .values = m->values + m->moved,
                                .capacity = m->room - m->moved};
        bool finite; /* what is not is kept, too */
        m->moved += ti_kernels()->select(&job, &finite);
    }
    return m->moved <= m->room;
}

float *ti_late_update(late_memory *m, size_t n)
{
    if (!m->full) {
        memset(m->vector, 0, n * sizeof *m->vector);
        for (size_t i = 0; i < m->moved; i++) m->vector[m->indices[i]] = m->values[i];
        m->full = true;
    }
    return m->vector;
}

void ti_late_learn(late_memory *m, const float *update, size_t entries, size_t n)
{
    double sums[2];
    m->full = !gather(m, update, n);
    if (m->full) {
        ti_kernels()->drift(m->vector, update, n, sums);
    } else {
        sums[0] = ti_dot_few(m->indices, m->values, m->moved, m->vector);
        sums[1] = ti_dot_few(m->indices, m->values, m->moved, update);
    }
    const double fresh = m->numbers[KNOWN] > 0 ? FRESH : 1;
    m->numbers[GAINED] += fresh * (sums[0] - m->numbers[GAINED]);
    m->numbers[BEGUN] += (1 - m->numbers[BEGUN]) * clamp(m->kept, 0, 1);
    m->numbers[EXPECTED] += fresh * (m->numbers[BEGUN] * m->expected - m->numbers[EXPECTED]);
    m->numbers[KNOWN] = 1;
    m->numbers[GAIN] = sums[0];
    m->numbers[MOVED] = sums[1];
    m->numbers[ENTRIES] = (double)entries;
}
