/* steps.c - reads and evaluates step sizes. */
#include "learn/steps.h"

#include <math.h>
#include <string.h>

#include "base/spec.h"
#include "base/status.h"

enum { START, FACTOR, EVERY };
static const tithe_param params[] = {
    [START] = {.name = "start",
               .doc = "first step size; without it, auto",
               .fallback = NAN,
               .min = 1e-300,
               .max = 1e300},
    [FACTOR] =
        {.name = "factor", .doc = "what it is multiplied with", .fallback = 0.1, .min = 1e-9, .max = 1},
    [EVERY] = {.name = "every",
               .doc = "steps between two changes",
               .fallback = NAN,
               .min = 1,
               .max = 1e18,
               .whole = true},
    {.name = NULL},
};

static tithe_status fail(const char *text, tithe_error *error)
{
    return ti_fail(error, TITHE_E_SPEC, 0,
                   "--step-size takes auto, a positive number X, X/k or auto/k for X/(k+1), or "
                   "decay:start=X,factor=F,every=STEPS, not '%s'.",
                   text);
}

/* The parser of specs reads the number, so that it does not depend on the locale. */
static bool read_number(const char *text, size_t length, double *value)
{
    static const tithe_param number[] = {
        {.name = "x", .doc = "", .fallback = NAN, .min = 1e-300, .max = 1e300}, {.name = NULL}};
    char spec[64];
    if (length == 0 || length > sizeof spec - 3) return false;
    memcpy(spec, "x=", 2);
    memcpy(spec + 2, text, length);
    spec[length + 2] = 0;
    return ti_spec_read("step", (spec_piece){spec, 0, length + 2}, number, value, NULL) == TITHE_OK;
}

tithe_status ti_steps_read(const char *text, step_plan *plan, tithe_error *error)
{
    *plan = (step_plan){.start = NAN, .factor = 1, .every = 1};
    size_t length = strlen(text);
    if (strncmp(text, "decay", 5) == 0 && (text[5] == ':' || text[5] == 0)) {
        spec_piece name, arguments;
        double values[TITHE_MAX_PARAMS];
        ti_spec_split((spec_piece){text, 0, length}, &name, &arguments);
        const tithe_status status = ti_spec_read("decay", arguments, params, values, error);
        if (status) return status;
        ti_spec_defaults(params, values);
        if (isnan(values[EVERY])) return fail(text, error);
        plan->start = values[START];
        plan->factor = values[FACTOR];
        plan->every = (uint64_t)values[EVERY];
        return TITHE_OK;
    }
    if (length > 2 && strcmp(text + length - 2, "/k") == 0) {
        plan->harmonic = true;
        length -= 2;
    }
    if (length == 4 && strncmp(text, "auto", 4) == 0) return TITHE_OK;
    return read_number(text, length, &plan->start) ? TITHE_OK : fail(text, error);
}

double ti_steps_at(const step_plan *plan, uint64_t step)
{
    if (plan->harmonic) return plan->start / (double)(step + 1);
    if (ti_steps_constant(plan)) return plan->start;
    const uint64_t falls = step / plan->every;
    return plan->start * pow(plan->factor, (double)falls);
}

bool ti_steps_constant(const step_plan *plan)
{
    return !plan->harmonic && plan->factor == 1;
}
