/* select_given.c - indices that the call hands in, on both ends: a leader's choice in AR-Top-k. */
#include "codec/select.h"

static const tithe_param given_params[] = {{0}};

static size_t given_max_count(const double *params, size_t n)
{
    (void)params;
    return n;
}

tithe_status ti_select_take_given(const tithe_call *call, size_t n, uint32_t *indices, tithe_error *error)
{
    const uint32_t *given = call->given;
    if (call->given_count && !given)
        return ti_fail(error, TITHE_E_ARGUMENT, 0, "The codec `given` needs the indices in the call.");
    for (size_t i = 0; i < call->given_count; i++) {
        if (given[i] >= n || (i && given[i] <= given[i - 1]))
            return ti_fail(error, TITHE_E_ARGUMENT, i,
                           "Given index %u at place %zu is not above the one before it and below n = %zu.",
                           (unsigned)given[i], i, n);
        indices[i] = given[i];
    }
    return TITHE_OK;
}

static tithe_status given_select(const tithe_select_call *c, tithe_selection *s, tithe_error *error)
{
    /* As many as n at most: they ascend below it, which is checked before there is room for no more. */
    if (c->call->given_count > c->n)
        return ti_fail(error, TITHE_E_ARGUMENT, 0, "%zu indices were given for %zu numbers.",
                       c->call->given_count, c->n);
    s->count = c->call->given_count;
    return ti_select_take_given(c->call, c->n, s->indices, error);
}

static void given_claims(const double *params, size_t n, bool contractive, tithe_claims *claims)
{
    (void)params, (void)n, (void)contractive;
    claims->traits = TITHE_FIXED_SIZE;
    claims->omega = 0;
    claims->delta = 0; /* nothing is known of somebody else's choice */
}

const tithe_selector ti_select_given = {
    .name = "given",
    .summary = "indices that both ends were handed",
    .paper = "tyagi2023artopk",
    .params = given_params,
    .id = 6,
    .source = TITHE_INDICES_GIVEN,
    .projection = true,
    .max_count = given_max_count,
    .select = given_select,
    .claims = given_claims,
};
