/* cost.h - the kinds of cost, and what they know of a cost. */
#ifndef COST_COST_H
#define COST_COST_H

#include "base/status.h"
#include "tithe/cost.h"

struct tithe_cost {
    const tithe_cost_model *model;
    double params[TITHE_MAX_PARAMS];
    char spec[256];
};

extern const tithe_cost_model ti_cost_bits, ti_cost_affine, ti_cost_packet;

#endif
