/* serve.c - a switch from its options: the table of backends, and what all of them need. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/family.h"
#include "base/sized.h"
#include "switch/switch.h"

enum {
    DEFAULT_JOBS = 4,
    MOST_SLOTS = 256, /* where nothing is said: more do not help */
    LEAST_SLOTS = 4,
    SYSTEM_BYTES = 1024,  /* that the system needs for a packet in a socket, about */
    UNDER_WAY = 512 << 10 /* bytes of a worker: more only leave the processor's cache */
};

static const tithe_switch_backend *const backends[] = {&ti_switch_udp, &ti_switch_bpf, NULL};

const tithe_switch_backend *const *tithe_switch_backends(void)
{
    return backends;
}

_Static_assert((int)AGG_REASONS <= (int)TITHE_SWITCH_REASONS, "switch.h has too few places for reasons");

const char *tithe_switch_reason(unsigned number)
{
    return number < AGG_REASONS ? ti_agg_reason_name((agg_reason)number) : NULL;
}

uint32_t ti_switch_slots(int socket, unsigned workers, uint32_t datagram)
{
    const size_t each = (size_t)workers * (datagram + SYSTEM_BYTES);
    const size_t fit = ti_net_room(socket) / each;
    uint32_t slots = LEAST_SLOTS;
    while (2 * slots <= fit && 2 * slots * datagram <= UNDER_WAY && slots < MOST_SLOTS) slots *= 2;
    return slots;
}

static void choose_shape(switch_state *s)
{
    const tithe_switch_options *o = s->options;
    s->shape = (agg_shape){.workers = o->workers,
                           .jobs = o->jobs ? o->jobs : DEFAULT_JOBS,
                           .datagram = o->datagram ? o->datagram : ti_net_datagram(s->socket, &s->at, false),
                           .lease = AGG_LEASE};
    s->shape.slots = o->slots ? o->slots : ti_switch_slots(s->socket, o->workers, s->shape.datagram);
    const uint32_t room =
        packet_room(s->shape.datagram, seal_bytes(&s->seal), 4); /* narrower ones fill it less */
    s->shape.values = room < 65528 ? room : 65528;
}

static tithe_status expect_trust(const switch_state *s, tithe_error *error)
{
    char text[NET_TEXT];
    if (ti_net_is_loopback(&s->at) || s->seal.keyed || s->options->trusted) return TITHE_OK;
    ti_net_write(&s->at, text);
    return ti_fail(
        error, TITHE_E_ARGUMENT, 0,
        "Everybody who reaches %s could add to the sums: take `key` FILE, or `trusted` if nobody else "
        "is there.",
        text);
}

tithe_status ti_switch_open(switch_state *s, const tithe_switch_options *options, tithe_error *error)
{
    *s = (switch_state){.options = options, .socket = -1};
    socklen_t length = sizeof s->at;
    tithe_status status = ti_net_resolve(options->address, &s->at, error);
    if (!status) status = ti_seal_open(&s->seal, options->key, error);
    if (!status) status = expect_trust(s, error);
    if (status) return status;
    s->socket = ti_net_listen(&s->at, error);
    if (s->socket < 0) return TITHE_E_FILE;
    getsockname(s->socket, &s->at.any, &length); /* a port that was free */
    choose_shape(s);
    return TITHE_OK;
}

tithe_status ti_switch_start(switch_state *s, tithe_error *error)
{
    const char *why = ti_aggregate_refuse(&s->shape);
    if (why) return ti_fail(error, TITHE_E_ARGUMENT, 0, "%s", why);
    s->memory = calloc(1, ti_aggregate_size(&s->shape));
    if (!s->memory)
        return ti_fail(error, TITHE_E_MEMORY, 0,
                       "There is not enough memory for %u jobs with %u slots each: take fewer.",
                       s->shape.jobs, s->shape.slots);
    s->a = ti_aggregate_start(s->memory, &s->shape);
    return TITHE_OK;
}

void ti_switch_close(switch_state *s)
{
    if (s->socket >= 0) close(s->socket);
    ti_seal_close(&s->seal);
    free(s->memory);
}

void ti_switch_count(const switch_state *s, tithe_switch_counts *counts)
{
    tithe_switch_counts all = {.size = sizeof all};
    if (!counts) return;
    if (s->a) {
        const agg_counts *c = ti_aggregate_counts(s->a);
        all.packets = c->packets;
        all.aggregated = c->aggregated;
        all.retransmitted = c->retransmitted;
        for (unsigned r = 1; r < AGG_REASONS; r++) all.dropped += all.reasons[r] = c->dropped[r];
    }
    sized_copy(counts, &all);
}

tithe_status tithe_switch_serve(const tithe_switch_options *o, tithe_switch_counts *counts,
                                tithe_error *error)
{
    if (!o || o->size < sizeof *o || !o->address)
        return ti_fail(error, TITHE_E_ARGUMENT, 0,
                       "Options with their size in `size`, and an address, are needed.");
    if (o->workers < 1 || o->workers > PACKET_WORKERS)
        return ti_fail(error, TITHE_E_ARGUMENT, 0, "A switch adds for 1 to %d workers, not %u.",
                       PACKET_WORKERS, o->workers);
    const tithe_switch_backend *const *b = backends;
    while (*b && o->backend && strcmp((*b)->name, o->backend) != 0) b++;
    if (!*b) {
        char list[80] = "";
        for (b = backends; *b; b++) ti_list_add(list, sizeof list, ", ", (*b)->name);
        return ti_fail(error, TITHE_E_ARGUMENT, 0, "There is no backend '%.40s' for a switch; there is %s.",
                       o->backend, list);
    }
    const char *why = (*b)->refuse ? (*b)->refuse(o) : NULL;
    if (why) return ti_fail(error, TITHE_E_ARGUMENT, 0, "%s", why);
    return (*b)->serve(o, counts, error);
}
