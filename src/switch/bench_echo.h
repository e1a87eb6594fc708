/* bench_echo.h - what the sockets of this machine can do at most: the packets of a reduction, sent back as they came. */
#ifndef SWITCH_BENCH_ECHO_H
#define SWITCH_BENCH_ECHO_H

#include "switch/net.h"

typedef struct echo_shape {
    unsigned workers;
    uint32_t length, packets; /* of each worker */
    uint32_t datagram; /* the longest packet of a switch, which has so many of them under way as here */
} echo_shape;

/* Seconds of each of `rounds` rounds, after one that is not counted. Nothing is sent again: a packet that is lost is TITHE_E_TIMEOUT. */
tithe_status ti_bench_echo(const echo_shape *shape, unsigned rounds, double *seconds, tithe_error *error);

#endif
