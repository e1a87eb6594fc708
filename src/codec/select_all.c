/* select_all.c - every coordinate goes. */
#include "codec/select.h"

static size_t all_max_count(const double *params, size_t n)
{
    (void)params;
    return n;
}

static void all_claims(const double *params, size_t n, bool contractive, tithe_claims *claims)
{
    (void)params, (void)n, (void)contractive;
    claims->traits = TITHE_UNBIASED | TITHE_FIXED_SIZE;
    claims->omega = 0;
    claims->delta = 1;
}

static const tithe_param all_params[] = {{0}};

const tithe_selector ti_select_all = {
    .name = "all",
    .summary = "every coordinate",
    .params = all_params,
    .id = 0,
    .source = TITHE_INDICES_ALL,
    .projection = true,
    .max_count = all_max_count,
    .claims = all_claims,
};
