/* steps.c - the rules for the step size, and how they are read. */
#include "learn/steps.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/family.h"
#include "base/status.h"

/* clang-format off */
#define START {.name = "start", .doc = "first step size; without it, auto", .fallback = NAN, .min = 1e-300, .max = 1e300}
/* clang-format on */

/* ---- constant --------------------------------------------------------------------------------------------- */

static const tithe_param start_alone[] = {START, {.name = NULL}};

static double at_start(const double *params, double start, uint64_t step)
{
    (void)params, (void)step;
    return start;
}

static bool always(const double *params)
{
    (void)params;
    return true;
}

static const tithe_step_rule constant = {
    .name = "constant",
    .summary = "the same in every step; a number alone, or auto, means this one",
    .params = start_alone,
    .at = at_start,
    .constant = always,
};

/* ---- harmonic --------------------------------------------------------------------------------------------- */

static double at_harmonic(const double *params, double start, uint64_t step)
{
    (void)params;
    return start / (double)(step + 1);
}

static const tithe_step_rule harmonic = {
    .name = "harmonic",
    .summary = "start/(k+1) in step k, from 0; X/k and auto/k mean this one",
    .params = start_alone,
    .at = at_harmonic,
};

/* ---- decay ------------------------------------------------------------------------------------------------ */

enum { FACTOR = 1, EVERY };
static const tithe_param decay_params[] = {
    START,
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

static bool never_falls(const double *params)
{
    return params[FACTOR] == 1;
}

static double at_decay(const double *params, double start, uint64_t step)
{
    const uint64_t falls = step / (uint64_t)params[EVERY];
    return never_falls(params) ? start : start * pow(params[FACTOR], (double)falls);
}

static const tithe_step_rule decay = {
    .name = "decay",
    .summary = "multiplied by a factor every so many steps",
    .params = decay_params,
    .at = at_decay,
    .constant = never_falls,
};

/* ---- the table -------------------------------------------------------------------------------------------- */

static const tithe_step_rule *const rules[] = {&constant, &harmonic, &decay, NULL};

const tithe_step_rule *const *tithe_step_rules(void)
{
    return rules;
}

static family_row row(size_t i)
{
    return rules[i] ? (family_row){rules[i]->name, rules[i]->params} : (family_row){0};
}
static const family all = {.what = "step size", .also = "auto, a positive number X, auto/k, X/k", .row = row};

/* auto, X, auto/k and X/k. The parser of specs reads the number, so that it does not depend on the locale. */
static bool read_short(const char *text, const tithe_step_rule **rule, double *params)
{
    static const char by_k[] = "/k", automatic[] = "auto";
    size_t length = strlen(text);
    const size_t tail = sizeof by_k - 1;
    const bool falls = length > tail && strcmp(text + length - tail, by_k) == 0;
    if (falls) length -= tail;
    *rule = falls ? &harmonic : &constant;
    params[0] = NAN;
    if (length == sizeof automatic - 1 && memcmp(text, automatic, length) == 0) return true;
    char spec[64];
    if (length == 0 || length > sizeof spec - sizeof "start=") return false;
    const int written = snprintf(spec, sizeof spec, "start=%.*s", (int)length, text);
    return !ti_spec_read(all.what, (spec_piece){spec, 0, (size_t)written}, start_alone, params, NULL);
}

tithe_status tithe_step_rule_find(const char *spec, const tithe_step_rule **rule, double *params,
                                  tithe_error *error)
{
    double own[TITHE_MAX_PARAMS];
    if (!params) params = own;
    size_t place;
    spec_piece name, arguments;
    if (!spec) return ti_fail(error, TITHE_E_ARGUMENT, 0, "A step size is needed.");
    ti_spec_split((spec_piece){spec, 0, strlen(spec)}, &name, &arguments);
    if (!ti_family_place(&all, name, &place))
        return read_short(spec, rule, params) ? TITHE_OK : ti_family_refuse(&all, name, error);
    const tithe_status status = ti_family_find(&all, spec, &place, params, error);
    if (!status) *rule = rules[place];
    return status;
}

/* ---- one of them ------------------------------------------------------------------------------------------ */

tithe_status ti_steps_read(const char *text, step_plan *plan, tithe_error *error)
{
    const tithe_status status = tithe_step_rule_find(text, &plan->rule, plan->params, error);
    if (status) return status;
    const tithe_param *table = plan->rule->params;
    ti_spec_defaults(table, plan->params);
    plan->start = plan->params[0];
    for (size_t i = 1; table[i].name; i++)
        if (isnan(plan->params[i]))
            return ti_fail(error, TITHE_E_SPEC, 0, "The step size '%s' needs %s= (%s).", plan->rule->name,
                           table[i].name, table[i].doc);
    return TITHE_OK;
}

double ti_steps_at(const step_plan *plan, uint64_t step)
{
    return plan->rule->at(plan->params, plan->start, step);
}

bool ti_steps_constant(const step_plan *plan)
{
    return plan->rule->constant && plan->rule->constant(plan->params);
}
