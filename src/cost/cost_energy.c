/* cost_energy.c - joules of a radio: so much for a bit on the air, and so much to get a packet out at all (start-up,
 * contention, acknowledgement).
 *
 * The defaults are a low-power 2.4 GHz radio at 250 kbit/s, 17.4 mA and 3 V: 0.21 microjoule a bit; half a millisecond
 * of start-up and turning around, and an acknowledgement of 11 bytes, make about 45 microjoule a packet. */
#include <math.h>

#include "cost/cost.h"

enum { BIT, PACKET, PAYLOAD };

static double packet_bits(const tithe_cost *cost)
{
    return 8 * cost->params[PAYLOAD];
}

static double of_energy(const tithe_cost *cost, double bits)
{
    return cost->params[BIT] * bits + cost->params[PACKET] * ceil(bits / packet_bits(cost));
}

static void below_energy(const tithe_cost *cost, double from, double to, double line[2])
{
    const double slope = cost->params[BIT] + cost->params[PACKET] / packet_bits(cost);
    line[0] = slope * from;
    line[1] = slope * to;
}

static const tithe_param params[] = {
    [BIT] = {.name = "bit", .doc = "joules for each bit", .fallback = 2.1e-7, .min = 0, .max = 1e6},
    [PACKET] = {.name = "packet", .doc = "joules for each packet", .fallback = 4.5e-5, .min = 0, .max = 1e6},
    [PAYLOAD] = {.name = "payload",
                 .doc = "bytes that a packet can carry",
                 .fallback = 116,
                 .min = 1,
                 .max = 1e9,
                 .unit = TITHE_UNIT_BYTES},
    {.name = NULL},
};

const tithe_cost_model ti_cost_energy = {
    .name = "energy",
    .summary = "joules for each bit and for each packet",
    .unit = "J",
    .params = params,
    .of = of_energy,
    .below = below_energy,
    .packet = packet_bits,
};
