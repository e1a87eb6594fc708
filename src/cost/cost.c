/* cost.c - the table of cost models, and a cost from its spec. */
#include "cost/cost.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/spec.h"

static const tithe_cost_model *const models[] = {&ti_cost_bits, &ti_cost_affine, &ti_cost_packet, NULL};

/* Names for settings that people ask for. */
static const struct {
    const char *name, *spec;
} presets[] = {
    {"802.15.4", "packet:c0=64,c1=576,payload=512"}, /* the slides' 512-byte packets, with 64 of header */
};

const tithe_cost_model *const *tithe_cost_models(void)
{
    return models;
}

static tithe_status fail_name(spec_piece name, tithe_error *error)
{
    char known[160] = "";
    for (size_t i = 0; models[i]; i++) {
        strcat(known, i ? ", " : "");
        strcat(known, models[i]->name);
    }
    for (size_t i = 0; i < sizeof presets / sizeof *presets; i++) {
        strcat(known, ", ");
        strcat(known, presets[i].name);
    }
    return ti_fail(error, TITHE_E_SPEC, name.start, "There is no cost '%.*s': take one of %s.",
                   (int)(name.end - name.start), name.text + name.start, known);
}

static const char *expand(const char *spec)
{
    for (size_t i = 0; i < sizeof presets / sizeof *presets; i++)
        if (strcmp(spec, presets[i].name) == 0) return presets[i].spec;
    return spec;
}

tithe_status tithe_cost_create(const char *spec, tithe_cost **cost, tithe_error *error)
{
    if (!spec || !cost) return ti_fail(error, TITHE_E_ARGUMENT, 0, "A spec and a place for the cost are needed.");
    spec = expand(spec);
    spec_piece name, arguments;
    ti_spec_split((spec_piece){spec, 0, strlen(spec)}, &name, &arguments);
    size_t i = 0;
    while (models[i] && !ti_spec_is(name, models[i]->name)) i++;
    if (!models[i]) return fail_name(name, error);

    tithe_cost made = {.model = models[i]};
    const tithe_param *table = made.model->params;
    tithe_status status = ti_spec_read(made.model->name, arguments, table, made.params, error);
    if (status) return status;
    ti_spec_defaults(table, made.params);
    for (size_t p = 0; table[p].name; p++)
        if (isnan(made.params[p]))
            return ti_fail(error, TITHE_E_SPEC, arguments.end, "The cost '%s' needs %s= (%s).", made.model->name,
                           table[p].name, table[p].doc);
    const char *why = made.model->refuse ? made.model->refuse(made.params) : NULL;
    if (why) return ti_fail(error, TITHE_E_SPEC, name.start, "%s", why);
    ti_spec_write(made.spec, sizeof made.spec, made.model->name, table, made.params);

    *cost = malloc(sizeof **cost);
    if (!*cost) return ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory for a cost.");
    **cost = made;
    return TITHE_OK;
}

void tithe_cost_free(tithe_cost *cost)
{
    free(cost);
}

double tithe_cost_of(const tithe_cost *cost, double bits)
{
    return cost ? cost->model->of(cost, bits) : bits;
}

const char *tithe_cost_spec(const tithe_cost *cost)
{
    return cost ? cost->spec : ti_cost_bits.name;
}

const char *tithe_cost_unit(const tithe_cost *cost)
{
    return cost ? cost->model->unit : ti_cost_bits.unit;
}

const double *tithe_cost_params(const tithe_cost *cost)
{
    return cost ? cost->params : NULL;
}
