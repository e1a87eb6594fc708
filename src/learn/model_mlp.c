#include "learn/models.h"
const tithe_model ti_model_mlp = {.name = "mlp", .summary = "", .paper = "-"};
