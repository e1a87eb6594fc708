/* models.c - the table of models, and how a spec finds one. */
#include "learn/models.h"

#include "base/family.h"
#include "base/status.h"

static const tithe_model *const models[] = {
    &ti_model_logistic, &ti_model_least_squares, &ti_model_nonconvex, &ti_model_mlp, NULL,
};

const tithe_model *const *tithe_models(void)
{
    return models;
}

static family_row row(size_t i)
{
    return models[i] ? (family_row){models[i]->name, models[i]->params} : (family_row){0};
}

tithe_status tithe_model_find(const char *spec, const tithe_model **model, double *params, tithe_error *error)
{
    static const family all = {.what = "model", .row = row};
    if (!model || !params)
        return ti_fail(error, TITHE_E_ARGUMENT, 0,
                       "A spec, and places for the model and its parameters, are needed.");
    size_t place;
    const tithe_status status = ti_family_find(&all, spec, &place, params, error);
    if (status) return status;
    *model = models[place];
    ti_spec_defaults((*model)->params, params);
    return TITHE_OK;
}
