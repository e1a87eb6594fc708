/* switch.h - what the backends of a switch share. */
#ifndef SWITCH_SWITCH_H
#define SWITCH_SWITCH_H

#include "switch/net.h"
#include "switch/seal.h"
#include "tithe/switch.h"

/* A switch that listens. */
typedef struct switch_state {
    const tithe_switch_options *options;
    int socket;
    seal seal;
    agg_shape shape;
    void *memory;
    aggregate *a;
} switch_state;

/* Key, socket, shape and memory; the address that workers come to is told. Closed also after a failure. */
tithe_status ti_switch_open(switch_state *s, const tithe_switch_options *options, tithe_error *error);
void ti_switch_close(switch_state *s);
void ti_switch_count(const switch_state *s, tithe_switch_counts *counts);
static inline bool switch_is_stopped(const tithe_switch_options *o)
{
    return o->stop && o->stop(o->stop_context);
}

extern const tithe_switch_backend ti_switch_udp;

#endif
