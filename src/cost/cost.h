/* cost.h - the kinds of cost, and what they know of a cost. */
#ifndef COST_COST_H
#define COST_COST_H

#include "base/status.h"
#include "tithe/cost.h"

struct tithe_cost {
    const tithe_cost_model *model;
    double params[TITHE_MAX_PARAMS];
    tithe_link_point *points; /* of a table, which owns them */
    tithe_link link;          /* of a table */
    char spec[1024];
};

extern const tithe_cost_model ti_cost_bits, ti_cost_affine, ti_cost_packet, ti_cost_frames, ti_cost_energy,
    ti_cost_table, ti_cost_alphabeta;

/* Read a file of points (cost_points.c); the caller frees *points. */
tithe_status ti_cost_read_points(const char *path, tithe_link_point **points, size_t *count,
                                 tithe_error *error);

/* A model whose cost is a straight line itself. */
static inline void cost_line(const tithe_cost *cost, double from, double to, double line[2])
{
    line[0] = cost->model->of(cost, from);
    line[1] = cost->model->of(cost, to);
}

#endif
