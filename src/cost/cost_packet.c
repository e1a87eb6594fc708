/* cost_packet.c - packets of a fixed size, the last one padded (CAT, c0 + c1 ceil(P(T) / P_max)). */
#include <float.h>
#include <math.h>

#include "cost/cost.h"

enum { C0, C1, PAYLOAD };

static double packet_bits(const tithe_cost *cost)
{
    return 8 * cost->params[PAYLOAD];
}

static double of_packets(const tithe_cost *cost, double bits)
{
    return cost->params[C0] + cost->params[C1] * ceil(bits / packet_bits(cost));
}

static void below_packets(const tithe_cost *cost, double from, double to, double line[2])
{
    line[0] = cost->params[C0] + cost->params[C1] * (from / packet_bits(cost));
    line[1] = cost->params[C0] + cost->params[C1] * (to / packet_bits(cost));
}

static const tithe_param params[] = {
    [C0] = {.name = "c0",
            .doc = "bytes of a message besides its packets",
            .fallback = 0,
            .min = 0,
            .max = 1e15,
            .unit = TITHE_UNIT_BYTES},
    [C1] = {.name = "c1",
            .doc = "bytes of a packet, header included",
            .fallback = NAN,
            .min = 0,
            .max = 1e15,
            .unit = TITHE_UNIT_BYTES},
    [PAYLOAD] = {.name = "payload",
                 .doc = "bytes that a packet can carry",
                 .fallback = NAN,
                 .min = 1,
                 .max = 1e9,
                 .unit = TITHE_UNIT_BYTES},
    {.name = NULL},
};

const tithe_cost_model ti_cost_packet = {
    .name = "packet",
    .summary = "c0 bytes for a message and c1 bytes for each packet that it fills or begins",
    .paper = "khirirat2021cat",
    .unit = "B",
    .params = params,
    .of = of_packets,
    .below = below_packets,
    .packet = packet_bits,
};
