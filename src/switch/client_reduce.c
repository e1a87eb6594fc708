/* client_reduce.c - a reduction by a switch: one loop that moves the packets of all ranks of this process, and looks whether the switch
 * is still there. */
#include <string.h>

#include "base/clock.h"
#include "switch/client.h"

enum { CLOSED = 3 }; /* answers that nobody listens, from which on it is believed */
static const double look_every = 0.2, silence = 1; /* seconds */

/* ---- packets ----------------------------------------------------------------------------------------------- */

/* Its head, and where its numbers lie; under a key all of it in one piece. Returns how many pieces it has. */
static unsigned write_chunk(const client *c, unsigned i, uint32_t chunk, uint8_t *to,
                            struct iovec pieces[MAIL_PIECES])
{
    packet_head h = ti_reduction_head(c->r, &c->cut, chunk);
    h.job = c->job;
    h.place = c->place;
    h.worker = (uint16_t)(c->first + i);
    h.number = window_number(&c->of[i].w, chunk);
    packet_write(to, &h);
    const uint8_t *numbers = c->up[i] + reduction_place(&c->cut, chunk, h.up);
    const size_t bytes = packet_bytes(h.values, h.up);
    pieces[0] = (struct iovec){to, PACKET_HEAD};
    pieces[1] = (struct iovec){(void *)numbers, bytes}; /* which are only read */
    if (!c->seal.keyed) return 2;
    memcpy(to + PACKET_HEAD, numbers, bytes);
    pieces[0].iov_len = ti_seal_close_packet(&c->seal, to, PACKET_HEAD + bytes);
    return 1;
}

/* All that the window of a rank lets go. */
static void send_chunks(client *c, unsigned i)
{
    const int socket = c->of[i].socket;
    uint32_t chunk;
    unsigned count;
    do {
        const double now = clock_now();
        for (count = 0; count < MAIL_DATAGRAMS && ti_window_next(&c->of[i].w, now, &chunk); count++) {
            struct iovec pieces[MAIL_PIECES];
            const unsigned many = write_chunk(c, i, chunk, c->written + count * c->room, pieces);
            ti_outbox_add(c->out, pieces, many, true);
        }
        for (unsigned l = 0; l < ti_outbox_letters(c->out); l++)
            c->closed += ti_outbox_post(c->out, socket, l, NULL);
        c->closed += ti_outbox_flush(c->out, socket);
    } while (count == MAIL_DATAGRAMS);
}

void ti_client_take_sum(client *c, unsigned i, const packet_head *h, const uint8_t *body, size_t length,
                        double now)
{
    uint32_t chunk;
    const agg_reduction *r = c->r;
    if (!r || length != packet_bytes(h->values, r->down)) return;
    window *w = &c->of[i].w;
    const uint32_t at = h->number - w->number;
    if (at >= c->cut.packets || h->values != reduction_values(r, &c->cut, at) ||
        h->operation != r->operation || h->down != r->down || !ti_window_take(w, h->number, now, &chunk))
        return;
    memcpy(c->down + reduction_place(&c->cut, chunk, r->down), body, length);
    c->advanced = now;
}

/* ---- the loop ---------------------------------------------------------------------------------------------- */

static bool is_done(const client *c)
{
    for (unsigned i = 0; i < c->local; i++)
        if (!window_is_done(&c->of[i].w)) return false;
    return true;
}

static double next_wake(const client *c, double now)
{
    double wake = now + look_every;
    for (unsigned i = 0; i < c->local; i++)
        if (!window_is_done(&c->of[i].w)) {
            const double own = ti_window_wake(&c->of[i].w, now);
            if (own < wake) wake = own;
        }
    return wake;
}

/* Is the switch there still? After a while without a sum it is asked. */
static tithe_status look_around(client *c, double now, double *asked, double timeout, tithe_error *error)
{
    if (c->closed >= CLOSED)
        return ti_fail(error, TITHE_E_PEER, 0, "The switch at %s is gone: start it again, and then this run.",
                       c->where);
    if (now > c->advanced + timeout)
        return now > c->heard + timeout / 2
                   ? ti_fail(error, TITHE_E_TIMEOUT, 0,
                             "The switch at %s has not answered for %g seconds: is it still running?",
                             c->where, timeout)
                   : ti_fail(
                         error, TITHE_E_TIMEOUT, 0,
                         "The switch at %s is there, but another rank has sent it nothing for %g seconds.",
                         c->where, timeout);
    if (now < c->advanced + silence) return TITHE_OK; /* a signal is for the run, which ends after a step */
    if (now > *asked + silence) {
        ti_client_send(c, 0, KIND_ASK);
        *asked = now;
    }
    return ti_client_stopped(c, error);
}

tithe_status ti_client_reduce(void *self, const agg_reduction *r, const uint8_t *const *up, uint8_t *down,
                              double timeout, tithe_error *error)
{
    client *c = self;
    if (!(timeout > 0)) timeout = CLIENT_TIMEOUT;
    c->r = r;
    c->up = up;
    c->down = down;
    c->cut = reduction_cut(r, &c->limits);
    for (unsigned i = 0; i < c->local; i++) ti_window_begin(&c->of[i].w, c->cut.packets);
    double asked = c->heard = c->advanced = clock_now(), looked = asked;
    tithe_status status = TITHE_OK;
    double quiet = asked; /* since when nothing has come */
    while (!status && !is_done(c)) {
        bool some = false;
        for (unsigned i = 0; i < c->local; i++) send_chunks(c, i);
        for (unsigned i = 0; i < c->local && !status; i++) status = ti_client_receive(c, i, &some, error);
        const double now = clock_now();
        if (!status && (now > looked + look_every || c->closed)) {
            status = look_around(c, now, &asked, timeout, error);
            looked = now;
        }
        if (some) quiet = now;
        if (!some && !status && now > quiet + c->patience.spin && !is_done(c)) {
            ti_client_wait(c, next_wake(c, now));
            patience_learn(&c->patience, clock_now() - quiet);
        }
    }
    c->r = NULL;
    return status;
}
