/* models.h - the models that come with Tithe, one file each. */
#ifndef MODEL_MODELS_H
#define MODEL_MODELS_H

#include "tithe/model.h"

extern const tithe_model ti_model_logistic, ti_model_least_squares, ti_model_nonconvex, ti_model_mlp;

#endif
