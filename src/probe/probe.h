/* probe.h - what tests see of the probe besides tithe/probe.h. */
#ifndef TITHE_PROBE_PROBE_H
#define TITHE_PROBE_PROBE_H

#include "tithe/probe.h"

/* From the middle round trip of each length, and the shortest of all, to times one way, latency and bandwidth. The latency is
 * never below half of the shortest. */
void ti_probe_one_way(tithe_probe_link *link, double shortest);

#endif
