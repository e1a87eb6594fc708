/* restart.c - the automatic step size where no constant one is known that is safe and useful.
 *
 * Where ranks keep what they did not send, it may be many steps' worth of gradients when it comes out at last. So the run begins with
 * the step that the theory has for messages that are on time, and remembers the lowest loss and where it was. A loss that is too high sends
 * it back there, with nothing kept and half the step. Too high is a twentieth above the first one, which a rise that passes did not reach in what was measured. Under a scheme
 * whose ranks send what one of them selected (tithe_scheme.led) nothing bounds what the others keep, and it is too high already
 * when a fourth of what had been gained is lost. docs/theory.md, "A leader's indices", says why no constant step would do.
 *
 * The loss is the sum over all ranks in their order, so all processes go back in the same step. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "exchange/control.h"
#include "learn/run.h"

/* Of what was gained; of the first loss: a step or two may cost it, and without a leader some more. */
static const double SHARE_OF_GAIN = 0.25, NOISE = 0.01, PASSING = 0.05;

/* Now, all of it: under a tuner that steers it may change. */
static bool is_led(const run *r)
{
    return ti_exchange_part(r->exchange, 0)->scheme->led;
}

/* Do ranks keep what they did not send, and can all of it be forgotten? A server may be elsewhere, with what it keeps; owners of parts are
 * ranks. */
static bool keeps(const run *r)
{
    const tithe_exchange *part = ti_exchange_part(r->exchange, 0);
    return part->up.feedback->keeps && !part->scheme->whole &&
           (part->scheme->cuts || !part->config.downlink_feedback->keeps);
}

tithe_status ti_restart_open(run *r, tithe_error *error)
{
    /* with any step size: a checkpoint has it, and the next part of the run may have another one */
    if ((!is_led(r) && !keeps(r) && !r->methods.tuner->steer) || !run_has_free_loss(r)) return TITHE_OK;
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
    const double first = fabs(r->first_loss);
    return !(loss <= (is_led(r) ? lowest + fmax(SHARE_OF_GAIN * gained, NOISE * first)
                                : r->first_loss + PASSING * first));
}

bool ti_restart_wanted(run *r, double loss)
{
    run_restart *s = &r->restart;
    if (!s->x) return false;
    if (loss < s->lowest) {
        s->lowest = loss;
        memcpy(s->x, r->x, r->size * sizeof *s->x);
    }
    return (is_led(r) || keeps(r)) && r->steps.automatic && s->count < MAX_RESTARTS &&
           has_lost_ground(r, loss);
}

/* The next step does not come from where the last one went. */
static void look_back_at_nothing(tithe_exchange *ex)
{
    for (unsigned p = 0; p < ti_exchange_parts(ex); p++) ti_exchange_forget(ti_exchange_part(ex, p));
    if (ex->control) ex->control->stepped = false;
}

void ti_restart(run *r)
{
    memcpy(r->x, r->restart.x, r->size * sizeof *r->x);
    /* Estimates of gradients (ef21), which are corrected with each message, stay. */
    for (unsigned w = 0; w < r->share->local && !tithe_exchange_aggregate(r->exchange); w++)
        memset(tithe_exchange_residual(r->exchange, r->comm->first + w), 0, r->size * sizeof(float));
    float *owned = tithe_exchange_server_residual(r->exchange);
    if (owned) memset(owned, 0, r->size * sizeof *owned);
    if (r->momentum) memset(r->momentum, 0, r->size * r->share->local * sizeof *r->momentum);
    look_back_at_nothing(r->exchange);
    r->restart.count++;
}
