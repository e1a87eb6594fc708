/* average.c - running averages of the iterates, and their table. */
#include "learn/average.h"

#include <stdlib.h>
#include <string.h>

#include "base/family.h"
#include "base/status.h"

static void mix(double *mean, const double *x, size_t size, double share)
{
    for (size_t i = 0; i < size; i++) mean[i] += share * (x[i] - mean[i]);
}

/* ---- tail ------------------------------------------------------------------------------------------------- */

static void add_tail(average *a, const double *x)
{
    if (a->count == 0) memcpy(a->mean, x, a->size * sizeof *x);
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

static void get_tail(const average *a, double *x)
{
    memcpy(x, a->mean, a->size * sizeof *x);
    if (!a->earlier) return;
    const double share = (double)a->earlier / (double)(a->earlier + a->count);
    mix(x, a->before, a->size, share);
}

/* ---- weighted --------------------------------------------------------------------------------------------- */

/* The sum of all weights over the last weight obeys R = 1 + (1 - eta) R. */
static void add_weighted(average *a, const double *x)
{
    a->ratio = 1 + (1 - a->eta) * a->ratio;
    mix(a->mean, x, a->size, 1 / a->ratio);
}

static void get_weighted(const average *a, double *x)
{
    memcpy(x, a->mean, a->size * sizeof *x);
}

/* ---- the table -------------------------------------------------------------------------------------------- */

static const tithe_average none = {.name = "none", .summary = "the last iterate alone"};
static const tithe_average tail = {
    .name = "tail",
    .summary = "the plain mean of the last half of the iterates, or a bit more",
    .vectors = 2,
    .add = add_tail,
    .get = get_tail,
};
static const tithe_average weighted = {
    .name = "weighted",
    .summary = "all iterates, with the weights of the theorem: later ones weigh more",
    .paper = "danilova2022",
    .vectors = 1,
    .add = add_weighted,
    .get = get_weighted,
};
static const tithe_average *const averages[] = {&none, &tail, &weighted, NULL};

const tithe_average *const *tithe_averages(void)
{
    return averages;
}

static family_row row(size_t i)
{
    return averages[i] ? (family_row){averages[i]->name, averages[i]->params} : (family_row){0};
}

tithe_status tithe_average_find(const char *spec, const tithe_average **kind, double *params,
                                tithe_error *error)
{
    static const family all = {.what = "average", .row = row};
    size_t place;
    const tithe_status status = ti_family_find(&all, spec, &place, params, error);
    if (!status) *kind = averages[place];
    return status;
}

/* ---- one of them ------------------------------------------------------------------------------------------ */

tithe_status ti_average_make(const tithe_average *kind, size_t size, double eta, average *a,
                             tithe_error *error)
{
    *a = (average){.kind = kind, .size = size, .eta = eta};
    if (kind->vectors > 0) a->mean = calloc(size, sizeof *a->mean);
    if (kind->vectors > 1) a->before = calloc(size, sizeof *a->before);
    const bool enough = (a->mean || kind->vectors < 1) && (a->before || kind->vectors < 2);
    if (enough) return TITHE_OK;
    ti_average_free(a);
    return ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory for the average of the iterates.");
}

void ti_average_free(average *a)
{
    free(a->mean);
    free(a->before);
    *a = (average){0};
}

void ti_average_add(average *a, const double *x)
{
    if (!a->kind->add) return;
    a->kind->add(a, x);
    a->steps++;
}

bool ti_average_get(const average *a, double *x)
{
    if (!a->kind->add || a->steps == 0) return false;
    a->kind->get(a, x);
    return true;
}
