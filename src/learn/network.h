/* network.h - a network that is computed, not used: a clock driven by latency and bandwidth, which may change by epoch. */
#ifndef LEARN_NETWORK_H
#define LEARN_NETWORK_H

#include <stddef.h>

#include "tithe/link.h"

typedef struct network_phase {
    double from, to; /* epochs: from <= passes < to */
    tithe_link link;
} network_phase;

typedef struct network {
    network_phase *phases; /* without a gap; the last one goes on for ever. NULL: a real network */
    size_t count;
    double compute; /* seconds that the gradient of a step takes */
} network;

/* "latency=1ms,bandwidth=100Mbit,compute=10ms", "C1" or "C2" (tyagi2023artopk), or a file with lines
 * "FROM-TO LATENCY BANDWIDTH" or "FROM+ LATENCY BANDWIDTH", in epochs; the last two take ",compute=10ms" behind them. */
tithe_status ti_network_read(const char *text, network *n, tithe_error *error);
void ti_network_free(network *n);
const network_phase *ti_network_at(const network *n, double epochs);

#endif
