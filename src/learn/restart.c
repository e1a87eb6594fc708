/* restart.c - the automatic step size where no constant one is known that is safe and useful.
 *
 * Under a scheme whose ranks send what one of them selected (tithe_scheme.led) nothing bounds what the others keep: it may be
 * many steps' worth of gradients when it comes out at last. So the run begins with the step that the theory has for messages
 * that are on time, and remembers the lowest loss and where it was. A loss above that by more than a fourth of what had been gained sends it back
 * there, with nothing kept and half the step. docs/theory.md, "A leader's indices", says why no constant one would do.
 *
 * The loss is the sum over all ranks in their order, so all processes go back in the same step. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "exchange/exchange.h"
#include "learn/run.h"

static const double SHARE_OF_GAIN = 0.25,
                    NOISE = 0.01; /* the latter of the first loss: a step or two may cost it */

static bool is_led(const run *r) /* now: under a tuner that steers it may change */
{
    return ti_exchange_part(r->exchange, 0)->scheme->led;
}

tithe_status ti_restart_open(run *r, tithe_error *error)
{
    /* with any step size: a checkpoint has it, and the next part of the run may have another one */
    if ((!is_led(r) && !r->methods.tuner->steer) || !run_has_free_loss(r)) return TITHE_OK;
    r->restart = (run_restart){.x = calloc(r->size, sizeof *r->restart.x), .lowest = INFINITY};
    if (r->restart.x) return TITHE_OK;
    return ti_fail(error, TITHE_E_MEMORY, 0,
                   "There is not enough memory to remember the best of %zu numbers.", r->size);
}

void ti_restart_close(run *r)
{
    free(r->restart.x);
    r->restart.x = NULL;
}

double ti_restart_share(const run *r)
{
    return r->steps.automatic ? ldexp(1, -(int)r->restart.count) : 1;
}

static bool has_lost_ground(const run *r, double loss)
{
    const double lowest = r->restart.lowest, gained = r->first_loss - lowest;
    return !(loss <= lowest + fmax(SHARE_OF_GAIN * gained, NOISE * fabs(r->first_loss)));
}

bool ti_restart_wanted(run *r, double loss)
{
    run_restart *s = &r->restart;
    if (!s->x) return false;
    if (loss < s->lowest) {
        s->lowest = loss;
        memcpy(s->x, r->x, r->size * sizeof *s->x);
    }
    return is_led(r) && r->steps.automatic && s->count < MAX_RESTARTS && has_lost_ground(r, loss);
}

void ti_restart(run *r)
{
    memcpy(r->x, r->restart.x, r->size * sizeof *r->x);
    for (unsigned w = 0; w < r->share->local; w++)
        memset(tithe_exchange_residual(r->exchange, r->comm->first + w), 0, r->size * sizeof(float));
    if (r->momentum) memset(r->momentum, 0, r->size * r->share->local * sizeof *r->momentum);
    r->restart.count++;
}
