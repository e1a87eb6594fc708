/* trials.c - what an exchange keeps, put back after trials: residuals, what owners and servers keep, and the number of the step. */
#include <string.h>

#include "exchange/control.h"

struct control_copy {
    float **residuals; /* of the local ranks */
    float *of_sums;
    uint32_t step;
};

tithe_status ti_trials_open(tithe_exchange *ex, tithe_error *error)
{
    bool enough = true;
    const unsigned local = ex->config.comm->local;
    struct control_copy *copy = ex->control->copy = exchange_room(1, sizeof *copy, &enough);
    if (copy)
        copy->residuals = exchange_room(local + 1, sizeof *copy->residuals, &enough); /* ends with NULL */
    if (enough && ex->server.residual) copy->of_sums = exchange_room(ex->n, sizeof(float), &enough);
    for (unsigned i = 0; enough && i < local; i++)
        copy->residuals[i] = exchange_room(ex->n, sizeof(float), &enough);
    return enough
               ? TITHE_OK
               : ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory for the trials of a tuner.");
}

void ti_trials_close(exchange_control *c)
{
    struct control_copy *copy = c->copy;
    for (float **r = copy ? copy->residuals : NULL; r && *r; r++) free(*r);
    if (copy) {
        free(copy->residuals);
        free(copy->of_sums);
    }
    free(copy);
    c->copy = NULL;
}

static void move(float *from, float *to, size_t n, bool back)
{
    if (from && to && n) memcpy(back ? from : to, back ? to : from, n * sizeof *from);
}

void ti_trials_change(tithe_exchange *ex, unsigned trial)
{
    exchange_control *c = ex->control;
    const bool back = c->trial != 0;
    for (unsigned i = 0; i < ex->config.comm->local; i++)
        move(ex->workers[i].residual, c->copy->residuals[i], ex->n, back);
    move(ex->server.residual, c->copy->of_sums, ex->n, back);
    if (back)
        tithe_exchange_continue(ex, c->copy->step, NULL, NULL);
    else
        c->copy->step = ex->step;
    c->trial = trial;
}

void ti_trials_stop(tithe_exchange *ex)
{
    if (!ex->control->trial) return;
    ti_trials_change(ex, 0);
    ex->control->tries_again = true;
}
