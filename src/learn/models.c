/* models.c - the table of models, and how a spec finds one. */
#include "learn/models.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/spec.h"
#include "base/status.h"
#include "learn/linear.h"

static const tithe_model *const models[] = {
    &ti_model_logistic, &ti_model_least_squares, &ti_model_nonconvex, &ti_model_mlp, NULL,
};

const tithe_model *const *tithe_models(void)
{
    return models;
}

const linear_loss *ti_linear_loss(const tithe_model *model)
{
    if (model == &ti_model_logistic || model == &ti_model_nonconvex) return &ti_loss_logistic;
    return model == &ti_model_least_squares ? &ti_loss_squares : NULL;
}

tithe_status tithe_model_find(const char *spec, const tithe_model **model, double *params, tithe_error *error)
{
    if (!spec || !model || !params)
        return ti_fail(error, TITHE_E_ARGUMENT, 0,
                       "A spec, and places for the model and its parameters, are needed.");
    spec_piece name, arguments;
    ti_spec_split((spec_piece){spec, 0, strlen(spec)}, &name, &arguments);
    const tithe_model *found = NULL;
    for (int i = 0; models[i] && !found; i++)
        if (ti_spec_is(name, models[i]->name)) found = models[i];
    if (!found) {
        char list[160] = "";
        size_t used = 0;
        for (int i = 0; models[i] && used < sizeof list; i++)
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", models[i]->name);
        const size_t length = name.end - name.start;
        return ti_fail(error, TITHE_E_SPEC, name.start, "There is no model \"%.*s\"; there are %s.",
                       (int)(length < 30 ? length : 30), name.text + name.start, list);
    }
    double values[TITHE_MAX_PARAMS];
    const tithe_status status = ti_spec_read(found->name, arguments, found->params, values, error);
    if (status) return status;
    ti_spec_defaults(found->params, values);
    for (size_t i = 0; i < TITHE_MAX_PARAMS; i++)
        params[i] = i < ti_spec_count(found->params) ? values[i] : NAN;
    *model = found;
    return TITHE_OK;
}
