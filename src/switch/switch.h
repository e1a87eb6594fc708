/* switch.h - what the backends of a switch share. */
#ifndef SWITCH_SWITCH_H
#define SWITCH_SWITCH_H

#include "switch/net.h"
#include "switch/seal.h"
#include "tithe/switch.h"

/* A switch that listens. */
typedef struct switch_state {
    const tithe_switch_options *options;
    net_address at;
    int socket;
    seal seal;
    agg_shape shape;
    void *memory;
    aggregate *a;
    /* Called before and after a packet is handed to `a`, by a backend that has more to do then; NULL: it has not. */
    void (*before)(struct switch_state *s);
    void (*after)(struct switch_state *s);
    void *own; /* the backend's */
} switch_state;

/* Slots, where nothing is said. All workers' packets under way at once have to fit into the socket: what does not is lost, and sent
 * again. */
uint32_t ti_switch_slots(int socket, unsigned workers, uint32_t datagram);
/* Key, socket and a shape that the backend may change; then memory. Closed also after a failure. */
tithe_status ti_switch_open(switch_state *s, const tithe_switch_options *options, tithe_error *error);
tithe_status ti_switch_start(switch_state *s, tithe_error *error);
void ti_switch_close(switch_state *s);
/* The address that workers come to is told, and datagrams are moved until it is stopped (udp.c). */
tithe_status ti_switch_run(switch_state *s, tithe_error *error);
void ti_switch_count(const switch_state *s, tithe_switch_counts *counts);
static inline bool switch_is_stopped(const tithe_switch_options *o)
{
    return o->stop && o->stop(o->stop_context);
}

extern const tithe_switch_backend ti_switch_udp, ti_switch_bpf;

#endif
