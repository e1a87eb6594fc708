/* steps.h - the step size of each step: auto, X, X/k, decay:start=X,factor=F,every=K. */
#ifndef LEARN_STEPS_H
#define LEARN_STEPS_H

#include <stdbool.h>
#include <stdint.h>

#include "tithe/status.h"

typedef struct step_plan {
    double start;  /* NAN: auto, which the caller fills in */
    bool harmonic; /* start / (k+1) */
    double factor; /* multiplied in every `every` steps; 1: never */
    uint64_t every;
} step_plan;

tithe_status ti_steps_read(const char *text, step_plan *plan, tithe_error *error);
double ti_steps_at(const step_plan *plan, uint64_t step);
bool ti_steps_constant(const step_plan *plan);

#endif
