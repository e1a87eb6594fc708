/* cost_table.c - measured points, joined by straight lines; beyond the last one, and ahead of the first, the line of
 * the outermost two goes on. Ahead of the first it could fall below nothing, which no message costs: there it never
 * falls faster than the bytes do. */
#include <math.h>

#include "cost/cost.h"

/* The place of the line that holds at so many bytes: points[i] to points[i+1]. */
static size_t segment_at(const tithe_cost *cost, double bytes)
{
    size_t low = 0, high = cost->point_count - 2;
    while (low < high) {
        const size_t middle = low + (high - low + 1) / 2;
        if (cost->points[middle].bytes <= bytes)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

static double of_table(const tithe_cost *cost, double bits)
{
    const cost_point *a = cost->points + segment_at(cost, bits / 8), *b = a + 1;
    const double share = (bits / 8 - a->bytes) / (b->bytes - a->bytes);
    const double seconds = a->seconds + share * (b->seconds - a->seconds);
    return share < 0 ? fmax(seconds, a->seconds * (bits / 8 / a->bytes)) : seconds;
}

static void below_table(const tithe_cost *cost, double from, double to, double line[2])
{
    line[0] = line[1] = of_table(cost, from);
    if (from / 8 >= cost->points->bytes && segment_at(cost, from / 8) == segment_at(cost, to / 8))
        line[1] = of_table(cost, to);
}

static const tithe_param params[] = {{.name = NULL}};

const tithe_cost_model ti_cost_table = {
    .name = "table",
    .summary =
        "table:FILE, measured points (bytes,seconds in lines, or the JSON of tithe probe), interpolated",
    .paper = "khirirat2021cat",
    .unit = "s",
    .params = params,
    .takes_file = true,
    .of = of_table,
    .below = below_table,
};
