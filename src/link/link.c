/* link.c - how long a message takes on a link. */
#include "link/link.h"

#include <math.h>
#include <stdlib.h>

#include "base/median.h"

size_t ti_link_segment(const tithe_link *link, double bytes)
{
    size_t low = 0, high = link->count - 2;
    while (low < high) {
        const size_t middle = low + (high - low + 1) / 2;
        if (link->points[middle].bytes <= bytes)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* Ahead of the first point the line could fall below nothing, which no message takes: there it never falls faster than
 * the bytes do. */
static double interpolate(const tithe_link *link, double bytes)
{
    const tithe_link_point *a = link->points + ti_link_segment(link, bytes), *b = a + 1;
    const double share = (bytes - a->bytes) / (b->bytes - a->bytes);
    const double seconds = a->seconds + share * (b->seconds - a->seconds);
    return share < 0 ? fmax(seconds, a->seconds * (bytes / a->bytes)) : seconds;
}

double tithe_link_seconds(const tithe_link *link, double bytes)
{
    return link->points ? interpolate(link, bytes) : link->latency + bytes / link->bandwidth;
}

/* ---- the fit ------------------------------------------------------------------------------------------------ */

/* Pairs of lengths at least a factor of two apart, both in the upper part of what was sent. */
static double slope(const tithe_link_point *points, size_t count)
{
    double slopes[TITHE_LINK_POINTS * TITHE_LINK_POINTS];
    size_t pairs = 0;
    const double max = count ? points[count - 1].bytes : 0;
    for (size_t i = 0; i < count; i++)
        for (size_t j = i + 1; j < count; j++) {
            const tithe_link_point *a = &points[i], *b = &points[j];
            if (a->bytes * 32 < max || b->bytes < 2 * a->bytes || !(b->seconds > a->seconds)) continue;
            slopes[pairs++] = (b->bytes - a->bytes) / (b->seconds - a->seconds);
        }
    return pairs ? median(slopes, pairs) : NAN;
}

void tithe_link_fit(const tithe_link_point *points, size_t count, tithe_link *link)
{
    double shortest[TITHE_LINK_POINTS];
    size_t few = 0;
    if (count > TITHE_LINK_POINTS) count = TITHE_LINK_POINTS;
    for (size_t i = 0; i < count; i++)
        if (points[i].bytes <= 64) shortest[few++] = points[i].seconds;
    *link = (tithe_link){.latency = few ? median(shortest, few) : 0, .bandwidth = slope(points, count)};
}
