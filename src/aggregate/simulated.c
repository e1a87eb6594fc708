/* simulated.c - a switch in this process: the packets of all ranks, one after the other, through the same function. */
#include <stdlib.h>
#include <string.h>

#include "aggregate/aggregate.h"
#include "aggregate/reduction.h"
#include "base/rng.h"
#include "base/status.h"

typedef struct simulated {
    aggregate *a;
    unsigned ranks;
    uint64_t job;
    uint32_t number; /* of the next packet */
    uint8_t *packet, *out;
} simulated;

packet_head ti_reduction_head(const agg_reduction *r, const packet_cut *cut, uint32_t c)
{
    return (packet_head){.kind = KIND_PART,
                         .operation = (uint8_t)r->operation,
                         .up = r->up,
                         .down = r->down,
                         .most = r->most,
                         .values = reduction_values(r, cut, c),
                         .draw = r->draw + (uint64_t)c * cut->values * RNG_GOLDEN};
}

static packet_limits limits(const void *self)
{
    const simulated *s = self;
    const agg_shape *shape = ti_aggregate_shape(s->a);
    return (packet_limits){.datagram = shape->datagram, .values = shape->values};
}

static void close_switch(void *self)
{
    simulated *s = self;
    if (!s) return;
    free(s->a);
    free(s->packet);
    free(s->out);
    free(s);
}

tithe_status ti_simulated_switch(unsigned ranks, void **self, tithe_error *error)
{
    const agg_shape shape = {.workers = ranks,
                             .slots = 2,
                             .values = packet_room(PACKET_ETHERNET, 0, 1),
                             .jobs = 1,
                             .datagram = PACKET_ETHERNET,
                             .lease = AGG_LEASE};
    const char *why = ti_aggregate_refuse(&shape);
    if (why) return ti_fail(error, TITHE_E_ARGUMENT, 0, "%s", why);
    simulated *s = calloc(1, sizeof *s);
    void *memory = calloc(1, ti_aggregate_size(&shape));
    if (s && memory) {
        *s = (simulated){.a = ti_aggregate_start(memory, &shape),
                         .ranks = ranks,
                         .packet = malloc(shape.datagram),
                         .out = malloc(ti_aggregate_room(&shape))};
        memory = NULL;
    }
    free(memory);
    if (!s || !s->packet || !s->out) {
        close_switch(s);
        return ti_fail(error, TITHE_E_MEMORY, 0, "There is not enough memory to simulate a switch.");
    }
    *self = s;
    return TITHE_OK;
}

/* Ranks are told apart by an address that is their number. */
static agg_answer give(simulated *s, unsigned rank, size_t length)
{
    const agg_address from = {{rank, 0, 0}};
    return ti_aggregate(s->a, &from, 0, s->packet, length, s->out);
}

static tithe_status fail(const agg_answer *answer, tithe_error *error)
{
    return ti_fail(error, TITHE_E_ARGUMENT, 0, "The simulated switch drops a packet as '%s'.",
                   ti_agg_reason_name(answer->reason));
}

static tithe_status join(void *self, uint64_t job, unsigned ranks, unsigned first, unsigned local,
                         double timeout, tithe_error *error)
{
    (void)first;
    (void)local;
    (void)timeout;
    simulated *s = self;
    s->job = job;
    for (unsigned r = 0; r < ranks; r++) {
        const packet_head h = {.kind = KIND_JOIN, .job = job, .worker = (uint16_t)r};
        packet_write(s->packet, &h);
        put_u16(s->packet + PACKET_HEAD, (uint16_t)ranks);
        put_u16(s->packet + PACKET_HEAD + 2, 0);
        put_u32(s->packet + PACKET_HEAD + 4, PACKET_ETHERNET);
        const agg_answer answer = give(s, r, PACKET_HEAD + PACKET_JOIN);
        if (answer.reason) return fail(&answer, error);
    }
    return TITHE_OK;
}

static tithe_status reduce(void *self, const agg_reduction *r, const uint8_t *const *up, uint8_t *down,
                           double timeout, tithe_error *error)
{
    (void)timeout;
    simulated *s = self;
    const packet_limits allowed = limits(s);
    const packet_cut cut = reduction_cut(r, &allowed);
    for (uint32_t c = 0; c < cut.packets; c++, s->number++) {
        packet_head h = ti_reduction_head(r, &cut, c);
        const size_t bytes = packet_bytes(h.values, r->up), back = packet_bytes(h.values, r->down);
        h.job = s->job;
        h.number = s->number;
        for (unsigned i = 0; i < s->ranks; i++) {
            h.worker = (uint16_t)i;
            packet_write(s->packet, &h);
            memcpy(s->packet + PACKET_HEAD, up[i] + reduction_place(&cut, c, r->up), bytes);
            const agg_answer answer = give(s, i, PACKET_HEAD + bytes);
            if (answer.reason) return fail(&answer, error);
        }
        memcpy(down + reduction_place(&cut, c, r->down), s->out + PACKET_HEAD, back);
    }
    return TITHE_OK;
}

const aggregator ti_aggregator_simulated = {
    .name = "simulated",
    .join = join,
    .reduce = reduce,
    .limits = limits,
    .close = close_switch,
};
