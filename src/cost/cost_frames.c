/* cost_frames.c - the bytes of the message and a header for each frame that it takes; the last frame is not padded.
 * ethernet-udp and 802.15.4-127 are presets of it (cost.c). */
#include <math.h>

#include "cost/cost.h"

enum { HEADER, PAYLOAD };

static double frame_bits(const tithe_cost *cost)
{
    return 8 * cost->params[PAYLOAD];
}

static double of_frames(const tithe_cost *cost, double bits)
{
    return ceil(bits / 8) + cost->params[HEADER] * ceil(bits / frame_bits(cost));
}

static void below_frames(const tithe_cost *cost, double from, double to, double line[2])
{
    const double slope = 1.0 / 8 + cost->params[HEADER] / frame_bits(cost);
    line[0] = slope * from;
    line[1] = slope * to;
}

static const tithe_param params[] = {
    [HEADER] = {.name = "header",
                .doc = "bytes that a frame takes besides its payload",
                .fallback = NAN,
                .min = 0,
                .max = 1e9,
                .unit = TITHE_UNIT_BYTES},
    [PAYLOAD] = {.name = "payload",
                 .doc = "bytes of the message that a frame can carry",
                 .fallback = NAN,
                 .min = 1,
                 .max = 1e9,
                 .unit = TITHE_UNIT_BYTES},
    {.name = NULL},
};

const tithe_cost_model ti_cost_frames = {
    .name = "frames",
    .summary = "the bytes of the message and a header for each frame that it takes, the last one not padded",
    .paper = "khirirat2021cat",
    .unit = "B",
    .params = params,
    .of = of_frames,
    .below = below_frames,
    .packet = frame_bits,
};
