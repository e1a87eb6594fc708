/* steps.h - the step size of each step, by a rule: constant, harmonic, decay. */
#ifndef LEARN_STEPS_H
#define LEARN_STEPS_H

#include "tithe/learn.h"

typedef struct step_plan {
    const tithe_step_rule *rule;
    double params[TITHE_MAX_PARAMS];
    double start;   /* NAN: auto, which the caller fills in */
    bool automatic; /* it has, by what the theory says */
} step_plan;

tithe_status ti_steps_read(const char *text, step_plan *plan, tithe_error *error);
double ti_steps_at(const step_plan *plan, uint64_t step);
bool ti_steps_constant(const step_plan *plan);

#endif
