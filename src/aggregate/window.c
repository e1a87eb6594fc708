/* window.c - see window.h. */
#include "aggregate/window.h"

#include <string.h>

/* Seconds. */
static const double first_timeout = 0.02, least_timeout = 0.004, most_timeout = 1, longest_silence = 0.5;
static const double never = -1e300;
enum { NARROWEST = 4 };

static double least(double a, double b)
{
    return a < b ? a : b;
}

static double most(double a, double b)
{
    return a > b ? a : b;
}

size_t ti_window_size(uint32_t slots)
{
    return slots * (sizeof(window_slot) + sizeof(uint32_t));
}

void ti_window_open(window *w, void *memory, uint32_t slots, uint32_t limit)
{
    *w = (window){.slots = slots,
                  .limit = limit < slots ? limit : slots,
                  .timeout = first_timeout,
                  .patience = 1,
                  .of = memory,
                  .ready = (uint32_t *)((window_slot *)memory + slots)};
    memset(w->of, 0, slots * sizeof *w->of);
}

static uint32_t slot_of(const window *w, uint32_t chunk)
{
    return (w->number + chunk) & (w->slots - 1);
}

/* ---- chunks that may go, the lowest on top ------------------------------------------------------------------- */

static void make_ready(window *w, uint32_t chunk)
{
    uint32_t i = w->waiting++;
    for (; i && w->ready[(i - 1) / 2] > chunk; i = (i - 1) / 2) w->ready[i] = w->ready[(i - 1) / 2];
    w->ready[i] = chunk;
}

static uint32_t take_ready(window *w)
{
    const uint32_t lowest = w->ready[0], last = w->ready[--w->waiting];
    uint32_t i = 0;
    for (uint32_t child; (child = 2 * i + 1) < w->waiting; i = child) {
        child += child + 1 < w->waiting && w->ready[child + 1] < w->ready[child];
        if (w->ready[child] >= last) break;
        w->ready[i] = w->ready[child];
    }
    w->ready[i] = last;
    return lowest;
}

void ti_window_begin(window *w, uint32_t chunks)
{
    w->number += w->chunks;
    w->chunks = chunks;
    w->done = w->flying = w->waiting = w->beyond = 0;
    w->heard = never;
    w->patience = 1;
    w->look_at = 0;
    for (uint32_t c = 0; c < chunks && c < w->slots; c++) {
        w->of[slot_of(w, c)] = (window_slot){.chunk = c};
        make_ready(w, c);
    }
}

/* ---- what goes ----------------------------------------------------------------------------------------------- */

static uint32_t launch(window *w, window_slot *s, double now)
{
    s->again = s->flying;
    w->resent += s->flying;
    w->flying += !s->flying;
    s->flying = true;
    s->early = w->done == 0;
    s->sent = now;
    return s->chunk;
}

/* Of those under way, the one that was sent first. NULL: none is. */
static window_slot *oldest(const window *w)
{
    window_slot *found = NULL;
    for (window_slot *s = w->of; w->flying && s < w->of + w->slots; s++)
        if (s->flying && (!found || s->sent < found->sent)) found = s;
    return found;
}

/* Seconds after which a packet goes again: sums come, or nothing does. */
static double wait_for(const window *w, bool flows)
{
    return flows ? w->timeout : least(w->timeout * w->patience, longest_silence);
}

static bool resend(window *w, double now, uint32_t *chunk)
{
    if (now < w->look_at) return false;
    const bool flows = now - w->heard < w->timeout;
    window_slot *s = oldest(w);
    if (!s) return false;
    const double due = s->sent + wait_for(w, flows);
    if (now < due) {
        w->look_at = due;
        return false;
    }
    if (!flows) {
        w->patience = least(2 * w->patience, longest_silence / least_timeout);
        w->look_at = now + wait_for(w, false);
    } else if (now > w->narrowed + most(w->srtt, least_timeout)) { /* once in a round trip */
        w->limit = most(w->limit / 2, NARROWEST);
        w->narrowed = now;
    }
    *chunk = launch(w, s, now);
    return true;
}

bool ti_window_next(window *w, double now, uint32_t *chunk)
{
    if (w->waiting && (w->flying < w->limit || w->ready[0] < w->beyond)) {
        *chunk = launch(w, &w->of[slot_of(w, take_ready(w))], now);
        if (*chunk >= w->beyond) w->beyond = *chunk + 1;
        return true;
    }
    return resend(w, now, chunk);
}

/* ---- what comes ---------------------------------------------------------------------------------------------- */

/* A packet that went while others may still have been at work tells how long a round trip takes at least, and that only as long as
 * nothing better is known: once packets flow, they wait for each other in the switch, too. */
static void learn(window *w, const window_slot *s, double now)
{
    const double took = now - s->sent;
    if (s->again || (s->early && (w->flowed || (w->srtt > 0 && took > w->srtt)))) return;
    if (!(w->srtt > 0) || s->early || !w->flowed) {
        w->srtt = took;
        w->rttvar = took / 2;
    } else {
        const double off = took > w->srtt ? took - w->srtt : w->srtt - took;
        w->rttvar += (off - w->rttvar) / 4;
        w->srtt += (took - w->srtt) / 8;
    }
    w->flowed |= !s->early;
    const double late = most(w->srtt + 4 * w->rttvar, 2 * w->srtt); /* a busy processor is no loss */
    w->timeout = least(most(late, least_timeout), most_timeout);
}

bool ti_window_take(window *w, uint32_t number, double now, uint32_t *chunk)
{
    window_slot *s = &w->of[number & (w->slots - 1)];
    if (!s->flying || number != w->number + s->chunk) return false;
    learn(w, s, now);
    *chunk = s->chunk;
    s->flying = false;
    w->flying--;
    w->done++;
    w->heard = now;
    w->patience = 1;
    w->look_at = now; /* some may be due that were left alone in the silence */
    if (w->limit < w->slots) w->limit += 1 / w->limit;
    if (w->chunks - s->chunk > w->slots) {
        s->chunk += w->slots;
        make_ready(w, s->chunk);
    }
    return true;
}

double ti_window_wake(const window *w, double now)
{
    return most(w->look_at, now);
}
