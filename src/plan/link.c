/* link.c - latency and bandwidth of a measured cost, so that what is said of links can be said of it too. */
#include <math.h>
#include <string.h>

#include "cost/cost.h"
#include "tithe/plan.h"
#include "tithe/probe.h"

/* Between which lengths it was measured; any other cost is a formula, and asked at those that a probe would take. */
static void range_of(const tithe_cost *cost, double *from, double *to)
{
    *from = 64;
    *to = 1 << 24;
    if (cost->point_count == 0) return;
    *from = fmax(1, cost->points[0].bytes);
    *to = fmax(*from, cost->points[cost->point_count - 1].bytes);
}

static tithe_status expect_time(const tithe_cost *cost, tithe_error *error)
{
    if (strcmp(cost->model->unit, "s") != 0)
        return ti_fail(error, TITHE_E_ARGUMENT, 0,
                       "A plan needs seconds, but '%.100s' counts in %s: take table:FILE, as tithe probe "
                       "--out writes it.",
                       cost->spec, cost->model->unit);
    for (size_t i = 0; i < cost->point_count; i++)
        if (!(cost->points[i].seconds > 0))
            return ti_fail(error, TITHE_E_DATA, i,
                           "'%.100s': a message of %.12g bytes takes no time, so this was not measured on a "
                           "link.",
                           cost->spec, cost->points[i].bytes);
    return TITHE_OK;
}

tithe_status tithe_link_of_cost(const tithe_cost *cost, tithe_link *link, tithe_error *error)
{
    const tithe_status status = expect_time(cost, error);
    if (status) return status;
    /* One byte for the latency, and lengths of a constant ratio for the bandwidth. */
    tithe_probe_link l = {.points = {{1, tithe_cost_of(cost, 8)}}, .count = 1};
    double from, to;
    range_of(cost, &from, &to);
    for (int i = 0; i < TITHE_PROBE_POINTS - 1; i++) {
        const double bytes = from * pow(to / from, i / (TITHE_PROBE_POINTS - 2.0));
        l.points[l.count++] = (tithe_probe_point){bytes, tithe_cost_of(cost, 8 * bytes)};
    }
    l.points[0].bytes = 1;
    tithe_probe_fit(&l);
    if (!(l.bandwidth > 0) || !isfinite(l.bandwidth))
        return ti_fail(error, TITHE_E_DATA, 0,
                       "'%.100s': longer messages take no longer, so there is no bandwidth in it: measure "
                       "longer ones.",
                       cost->spec);
    *link = (tithe_link){.latency = fmax(0, l.latency), .bandwidth = l.bandwidth};
    return TITHE_OK;
}
