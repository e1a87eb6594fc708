/* state.c - what an exchange keeps from step to step, for those who write it down and go on later. */
#include "base/sized.h"
#include "base/status.h"
#include "exchange/control.h"
#include "exchange/shards.h"

float *tithe_exchange_residual(tithe_exchange *ex, unsigned rank)
{
    return comm_is_local(ex->config.comm, rank) ? ex->workers[rank - ex->config.comm->first].residual : NULL;
}

float *tithe_exchange_aggregate(tithe_exchange *ex)
{
    return ex->aggregate;
}

float *tithe_exchange_server_residual(tithe_exchange *ex)
{
    return ex->server.residual;
}

/* Of a part: what its scheme learned, then its tuner, then what ranks remember. */
static size_t learned(const tithe_exchange *part, double *numbers)
{
    const tithe_tuner *tuner = part->up.tuner;
    size_t count = part->scheme->learned ? part->scheme->learned(part, numbers) : 0;
    if (tuner->save) count += tuner->save(part->up.tuner_state, numbers ? numbers + count : NULL);
    return count + ti_exchange_remembered(part, numbers ? numbers + count : NULL);
}

size_t tithe_exchange_owned(const tithe_exchange *ex, unsigned rank, unsigned bucket, size_t *begin)
{
    *begin = ex->n;
    if (rank >= ex->config.comm->size || bucket >= ti_exchange_parts(ex)) return 0;
    const tithe_exchange *part = ti_exchange_part(ex, bucket);
    size_t before = 0, within = 0;
    for (unsigned b = 0; b < bucket; b++) before += ti_exchange_part(ex, b)->n;
    const size_t count = part->scheme->cuts ? ti_shards_owned(part, rank, &within) : 0;
    if (count) *begin = before + within;
    return count;
}

size_t tithe_exchange_learned(const tithe_exchange *ex, double *numbers)
{
    size_t count = 0;
    for (unsigned p = 0; p < ti_exchange_parts(ex); p++)
        count += learned(ti_exchange_part(ex, p), numbers ? numbers + count : NULL);
    return count;
}

void tithe_exchange_relearn(tithe_exchange *ex, const double *numbers)
{
    for (unsigned p = 0; p < ti_exchange_parts(ex); p++) {
        tithe_exchange *part = ti_exchange_part(ex, p);
        const tithe_tuner *tuner = part->up.tuner;
        size_t own = part->scheme->learned ? part->scheme->learned(part, NULL) : 0;
        if (part->scheme->relearn) part->scheme->relearn(part, numbers);
        if (tuner->load) tuner->load(part->up.tuner_state, numbers + own);
        if (tuner->save) own += tuner->save(part->up.tuner_state, NULL);
        ti_exchange_remember(part, numbers + own);
        numbers += learned(part, NULL);
    }
}

float *tithe_exchange_moved(tithe_exchange *ex, unsigned rank, unsigned bucket, size_t *count)
{
    *count = 0;
    if (rank >= ex->config.comm->size || bucket >= ti_exchange_parts(ex)) return NULL;
    const tithe_exchange *part = ti_exchange_part(ex, bucket);
    if (!part->up.waits) return NULL;
    *count = part->n;
    if (!comm_is_local(ex->config.comm, rank)) return NULL;
    return ti_late_update(&part->workers[rank - ex->config.comm->first].late, part->n);
}

/* ---- under a tuner that steers ------------------------------------------------------------------------------ */

size_t tithe_exchange_steered(const tithe_exchange *ex, double *numbers)
{
    if (!ex->control) return 0;
    const unsigned local = ex->config.comm->local;
    const size_t count = ti_control_save(ex, numbers);
    for (unsigned i = 0; numbers && i < local; i++) numbers[count + i] = ex->control->ranks[i].descent;
    return count + local;
}

tithe_status tithe_exchange_steer_on(tithe_exchange *ex, const double *numbers, size_t count, uint32_t step,
                                     tithe_error *error)
{
    const size_t own = tithe_exchange_steered(ex, NULL);
    if (count != own)
        return ti_fail(
            error, TITHE_E_SPEC, 0,
            "A tuner knew %zu numbers, and knows %zu here: open the exchange with the same options "
            "and ranks.",
            count, own);
    if (!own) return TITHE_OK;
    const tithe_status status = ti_control_load(ex, numbers, step, error);
    const unsigned local = ex->config.comm->local;
    for (unsigned i = 0; i < local && !status; i++) ex->control->ranks[i].descent = numbers[own - local + i];
    return status;
}

float *tithe_exchange_before(tithe_exchange *ex)
{
    return ex->control ? ex->control->before : NULL;
}

/* ---- going on ------------------------------------------------------------------------------------------------ */

/* The next check-in is as far ahead as it was, and the next step, after a jump, looks back at nothing. */
static void move_on(exchange_control *c, uint32_t step)
{
    if (c->step == step) return;
    if (c->next != UINT32_MAX) c->next += step - c->step;
    if (c->watch != UINT32_MAX) c->watch += step - c->step;
    c->step = c->longest.heeded = step;
    c->stepped = false;
}

void tithe_exchange_continue(tithe_exchange *ex, uint32_t step, const tithe_exchange_totals *totals,
                             const tithe_exchange_record *last)
{
    ex->step = step;
    if (ex->control) move_on(ex->control, step);
    for (unsigned p = 0; p < ti_exchange_parts(ex); p++) ti_exchange_part(ex, p)->step = step;
    if (totals) sized_copy(&ex->totals, totals);
    if (totals && ex->control) ex->control->left = 0; /* no step took what was added there */
    if (!last) return;
    const tithe_exchange_record before = ex->last; /* the names are its own */
    sized_copy(&ex->last, last);
    ex->last.scheme = before.scheme;
    ex->last.collective = before.collective;
    ex->last.reason = "";
}
