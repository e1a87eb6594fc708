/* cost_table.c - measured points, joined by straight lines (link.h). */
#include "cost/cost.h"
#include "link/link.h"

static double of_table(const tithe_cost *cost, double bits)
{
    return tithe_link_seconds(&cost->link, bits / 8);
}

static void below_table(const tithe_cost *cost, double from, double to, double line[2])
{
    line[0] = line[1] = of_table(cost, from);
    if (from / 8 >= cost->points->bytes &&
        ti_link_segment(&cost->link, from / 8) == ti_link_segment(&cost->link, to / 8))
        line[1] = of_table(cost, to);
}

static bool link_of_table(const tithe_cost *cost, tithe_link *link)
{
    *link = cost->link;
    return true;
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
    .link = link_of_table,
};
