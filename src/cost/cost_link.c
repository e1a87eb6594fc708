/* cost_link.c - the link that a cost in seconds is of, so that what is said of links can be said of it too. */
#include <math.h>
#include <string.h>

#include "cost/cost.h"

static tithe_status expect_time(const tithe_cost *cost, tithe_error *error)
{
    if (strcmp(cost->model->unit, "s") != 0)
        return ti_fail(error, TITHE_E_ARGUMENT, 0,
                       "A plan needs seconds, but '%.100s' counts in %s: take table:FILE, as `tithe probe` "
                       "writes it.",
                       cost->spec, cost->model->unit);
    for (size_t i = 0; i < cost->link.count; i++)
        if (!(cost->points[i].seconds > 0))
            return ti_fail(error, TITHE_E_DATA, i,
                           "'%.100s': a message of %.12g bytes takes no time, so this was not measured on a "
                           "link.",
                           cost->spec, cost->points[i].bytes);
    return TITHE_OK;
}

/* Latency and bandwidth of measured points: one byte for the first, and lengths of a constant ratio for the second. */
static void fit(tithe_link *link)
{
    const double from = fmax(1, link->points[0].bytes), to = fmax(from, link->points[link->count - 1].bytes);
    tithe_link_point points[TITHE_LINK_POINTS] = {{1, tithe_link_seconds(link, 1)}};
    for (int i = 1; i < TITHE_LINK_POINTS; i++) {
        const double bytes = from * pow(to / from, (i - 1) / (TITHE_LINK_POINTS - 2.0));
        points[i] = (tithe_link_point){bytes, tithe_link_seconds(link, bytes)};
    }
    tithe_link fitted;
    tithe_link_fit(points, TITHE_LINK_POINTS, &fitted);
    link->latency = fmax(0, fitted.latency);
    link->bandwidth = fitted.bandwidth;
}

tithe_status tithe_link_of_cost(const tithe_cost *cost, tithe_link *link, tithe_error *error)
{
    const tithe_status status = expect_time(cost, error);
    if (status) return status;
    if (!cost->model->link || !cost->model->link(cost, link))
        return ti_fail(error, TITHE_E_ARGUMENT, 0,
                       "'%.100s' is no message on a link: take table:FILE, or alphabeta: without a "
                       "collective.",
                       cost->spec);
    if (link->points) fit(link);
    if (link->bandwidth > 0 && isfinite(link->bandwidth)) return TITHE_OK;
    return ti_fail(error, TITHE_E_DATA, 0,
                   "'%.100s': longer messages take no longer, so there is no bandwidth in it: measure longer "
                   "ones.",
                   cost->spec);
}
