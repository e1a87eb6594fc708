/* steered.h - for tests: an exchange that a tuner steers, the link that it is told, and steps. */
#ifndef TESTS_STEERED_H
#define TESTS_STEERED_H

#include "exchange/control.h"
#include "exchange/group.h"

enum { RANKS = 3, N = 5000, STEPS = 40 };
static const double GAMMA = 0.1;

static inline tithe_exchange *exchange_of(tithe_comm *comm, const char *options)
{
    tithe_exchange *ex = NULL;
    tithe_error error = {0};
    expect(!tithe_exchange_open(comm, options, N, &ex, &error), "%s", error.text);
    return ex;
}

static inline void tell(tithe_exchange *ex, double latency, double bandwidth)
{
    tithe_error error = {0};
    const tithe_link link = {.latency = latency, .bandwidth = bandwidth};
    expect(!tithe_exchange_tell_link(ex, &link, 1e-3, &error), "%s", error.text);
}

static inline tithe_status step(tithe_exchange *ex, unsigned k, bool bad, float *update, double *due)
{
    tithe_error error = {0};
    const unsigned ranks = ex->config.comm->size;
    float *x = gradients_make(ranks, N, k);
    if (bad) x[(k % ranks) * N + k] = NAN;
    for (unsigned r = 0; r < ranks; r++) {
        expect(!tithe_exchange_put(ex, r, 0, x + (size_t)r * N, GAMMA, &error), "%s", error.text);
        for (size_t i = 0; due && !bad && i < N; i++) due[i] += GAMMA * (double)x[r * N + i];
    }
    const tithe_status status = tithe_exchange_finish(ex, update, &error);
    expect(status == (bad ? TITHE_E_SKIPPED : TITHE_OK), "step %u: %s", k, error.text);
    free(x);
    return status;
}

static inline const char *setting_of(const tithe_exchange *ex)
{
    tithe_steering now = {.size = sizeof now};
    assert_true(tithe_exchange_steering(ex, &now));
    return now.options;
}

#endif
