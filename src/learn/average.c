/* average.c - running averages of the iterates. */
#include "learn/average.h"

#include <stdlib.h>
#include <string.h>

#include "base/status.h"

tithe_status ti_average_make(const char *kind, size_t size, double eta, average *a, tithe_error *error)
{
    static const char *const names[] = {"none", "tail", "weighted"};
    *a = (average){.size = size, .eta = eta};
    int found = -1;
    for (int i = 0; i < 3; i++)
        if (strcmp(kind, names[i]) == 0) found = i;
    if (found < 0)
        return ti_fail(error, TITHE_E_SPEC, 0, "There is no average '%s': take none, tail or weighted.",
                       kind);
    a->kind = (average_kind)found;
    if (a->kind == AVERAGE_NONE) return TITHE_OK;
    a->mean = calloc(size, sizeof *a->mean);
    a->before = calloc(size, sizeof *a->before);
    if (!a->mean || !a->before) {
        ti_average_free(a);
        return ti_fail(error, TITHE_E_MEMORY, 0,
                       "There is not enough memory for the average of the iterates.");
    }
    return TITHE_OK;
}

void ti_average_free(average *a)
{
    free(a->mean);
    free(a->before);
    *a = (average){0};
}

static void mix(double *mean, const double *x, size_t size, double share)
{
    for (size_t i = 0; i < size; i++) mean[i] += share * (x[i] - mean[i]);
}

static void add_tail(average *a, const double *x)
{
    const bool power_of_two = a->steps > 1 && (a->steps & (a->steps - 1)) == 0;
    if (power_of_two) { /* a window is full */
        double *old = a->before;
        a->before = a->mean;
        a->mean = old;
        a->earlier = a->count;
        a->count = 0;
    }
    a->count++;
    mix(a->mean, x, a->size, 1 / (double)a->count);
}

void ti_average_add(average *a, const double *x)
{
    if (a->kind == AVERAGE_NONE) return;
    if (a->kind == AVERAGE_TAIL) {
        if (a->count == 0) memcpy(a->mean, x, a->size * sizeof *x);
        add_tail(a, x);
    } else { /* the sum of all weights over the last weight obeys R = 1 + (1 - eta) R */
        a->ratio = 1 + (1 - a->eta) * a->ratio;
        mix(a->mean, x, a->size, 1 / a->ratio);
    }
    a->steps++;
}

bool ti_average_get(const average *a, double *x)
{
    if (a->kind == AVERAGE_NONE || a->steps == 0) return false;
    memcpy(x, a->mean, a->size * sizeof *x);
    if (a->kind == AVERAGE_TAIL && a->earlier) {
        const double share = (double)a->earlier / (double)(a->earlier + a->count);
        mix(x, a->before, a->size, share);
    }
    return true;
}
